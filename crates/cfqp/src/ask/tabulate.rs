//! Answers as the rows of a table.

use super::answer::{Answers, Diagnosis, Flag};
use super::distribution::ValueProbabilities;
use super::kind_columns::{CategoryColumn, push_counts, push_levels};
use super::rho::{RhoBound, UsedRho};
use crate::data::table::{
    Block, DateEncoding, Ids, Layout, OutputBatch, OutputColumn, TableForm, TreatmentColumn, TreatmentValue,
    UnitBatch, absolute,
};
use crate::data::{OutcomeKind, Units};
use crate::model::Model;

/// Names that the columns of a tabulation may have besides outcomes.
const RESERVED_NAMES: [&str; 8] = ["t", "t_new", "from", "to", "class", "flag", "rho", "rho_source"];
/// Prefixes of the other columns.
const RESERVED_PREFIXES: [&str; 7] = ["t_", "from_", "to_", "posterior_", "lower_", "upper_", "set_"];

/// The treatments that answers are about.
#[derive(Clone, Copy, Debug)]
pub enum AskedTreatments<'a> {
    /// Outcomes under these treatments, one per unit or one for all.
    Outcome(&'a Units),
    /// Effects: differences between the outcomes under `to` and under `from`.
    Effect {
        /// The treatments to compare with, one per unit or one for all.
        from: &'a Units,
        /// The treatments whose effects are asked for, one per unit or one for all.
        to: &'a Units,
    },
}

/// The columns in which the answers of a model are written.
///
/// There is one row per unit: its id, `t` (missing if it is unknown), `t_new` (for effects `from` and `to`), every outcome with
/// `lower_` and `upper_` (of a category Y the probability of every level, `Y=level`, then Y, the most probable level, and `set_Y`,
/// the smallest set of levels with the probability of an interval),
/// `class`, `posterior_0`, ..., `flag`, `rho` (missing if it is unknown) and `rho_source`. If the model was fitted to a table
/// of samples over time, there is one row per unit and time.
///
/// ```
/// use cfqp::ask::{AskedTreatments, Tabulation};
/// use cfqp::data::table::{Ids, UnitBatch};
/// use cfqp::sim::Oscillator;
/// use cfqp::{Base, Classes, Fit, FitConfig, Units};
///
/// # fn main() -> cfqp::Result<()> {
/// let data = Oscillator::default().simulate(200, 1)?.data;
/// let config = FitConfig { classes: Classes::Given(2), base: Base::Linear, ..FitConfig::default() };
/// let model = Fit::new(config).run(&data)?;
///
/// let treatment = Units::new("t", vec![1], vec![0.5])?;
/// let answers = model.ask(&data).under(&treatment).answers()?;
/// let units = UnitBatch::from(data);
/// let rows = Tabulation::new(&model).output(&units, &AskedTreatments::Outcome(&treatment), &answers);
/// assert_eq!(rows.names()[..6], ["row", "t", "t_new", "y0", "lower_y0", "upper_y0"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Tabulation {
    id: String,
    treatments: Vec<TreatmentColumn>,
    outcomes: Vec<OutcomeColumn>,
    categories: Vec<CategoryColumn>,
    /// The kind of every element of y.
    kinds: Vec<OutcomeKind>,
    /// If there is a row per point in time.
    times: Option<TimeColumn>,
    classes: usize,
    /// Whether an outcome has the name of another column.
    has_name_clash: bool,
}

/// The elements of y in one column.
#[derive(Clone, Debug)]
struct OutcomeColumn {
    name: String,
    start: usize,
    count: usize,
    /// What is added to its values.
    origin: Option<f64>,
}

/// The column of times: point `first + j` of row `j`, in steps of `step` from the treatment.
#[derive(Clone, Debug)]
struct TimeColumn {
    name: String,
    first: i64,
    step: f64,
    /// How times are written, if they are dates.
    dates: Option<DateEncoding>,
}

impl Tabulation {
    /// The columns for answers of `model`.
    pub fn new(model: &Model) -> Self {
        let layout = model.layout();
        let id = layout.and_then(|layout| layout.id.clone()).unwrap_or("row".to_owned());
        let times = match layout.map(|layout| &layout.form) {
            Some(TableForm::Long(long)) => {
                let (first, step) = (long.grid.y.first, long.grid.step);
                Some(TimeColumn { name: long.time.clone(), first, step, dates: long.dates })
            }
            _ => None,
        };
        let outcomes = outcome_columns(layout, &model.shapes().y);
        let has_name_clash = outcomes.iter().any(|outcome| {
            let name = outcome.name.as_str();
            name == id
                || times.as_ref().is_some_and(|times| times.name == name)
                || RESERVED_NAMES.contains(&name)
                || RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        });
        let treatments = model.treatment_columns();
        let (categories, kinds) = (CategoryColumn::of_layout(layout), model.outcome_kinds());
        Self { id, treatments, outcomes, categories, kinds, times, classes: model.classes(), has_name_clash }
    }

    /// The rows of `answers`, which are those of the units of `batch` to the question about `asked`.
    ///
    /// # Panics
    /// If `answers` are not those of the model about the units of `batch`.
    pub fn output(&self, batch: &UnitBatch, asked: &AskedTreatments<'_>, answers: &Answers) -> OutputBatch {
        let rows = self.rows_per_unit();
        let mut output = OutputBatch::default();
        output.push(&self.id, id_column(&batch.ids, rows));
        if let Some(times) = &self.times {
            output.push(&times.name, times.column(batch, rows));
        }
        self.push_treatments(&mut output, batch, asked);
        self.push_outcomes(&mut output, asked, answers, "");
        let class = answers.diagnoses.iter().flat_map(|d| std::iter::repeat_n(d.class as i64, rows));
        output.push("class", OutputColumn::Integers(class.collect()));
        for k in 0..self.classes {
            let posterior = answers.posterior.iter().skip(k).step_by(self.classes);
            let posterior = posterior.flat_map(|p| std::iter::repeat_n(*p, rows));
            output.push(format!("posterior_{k}"), OutputColumn::Numbers(posterior.collect()));
        }
        let flag = answers.diagnoses.iter().flat_map(|d| std::iter::repeat_n(d.flag(), rows));
        output.push("flag", OutputColumn::Text(flag.collect()));
        push_rho(&mut output, answers.rho);
        output
    }

    /// Adds the answers of the same units to the same question under `bound`: every outcome, with `lower_`, `upper_` and
    /// `width_`, with names that end in `_rho0` or `_rho1`.
    ///
    /// # Panics
    /// If `answers` are not those of the model about the units of `output`.
    pub fn add_bound(
        &self,
        output: &mut OutputBatch,
        asked: &AskedTreatments<'_>,
        bound: RhoBound,
        answers: &Answers,
    ) {
        self.push_outcomes(output, asked, answers, bound.suffix());
        for outcome in &self.outcomes {
            let (lower, upper) = (outcome.values(&answers.lower), outcome.values(&answers.upper));
            let widths = lower.iter().zip(upper).map(|(lower, upper)| upper - lower).collect();
            let widths = self.column(outcome, widths, None);
            output.push(format!("width_{}{}", outcome.name, bound.suffix()), widths);
        }
    }

    /// One, or the number of points in time.
    fn rows_per_unit(&self) -> usize {
        match self.times {
            Some(_) => self.outcomes.first().map_or(1, |outcome| outcome.count),
            None => 1,
        }
    }

    fn push_treatments(&self, output: &mut OutputBatch, batch: &UnitBatch, asked: &AskedTreatments<'_>) {
        let t = batch.data.t();
        let blocks: Vec<(&str, &Units)> = match asked {
            AskedTreatments::Outcome(to) => vec![("t", t), ("t_new", to)],
            AskedTreatments::Effect { from, to } => vec![("t", t), ("from", from), ("to", to)],
        };
        let rows = self.rows_per_unit();
        for (prefix, units) in blocks {
            let mut start = 0;
            for column in &self.treatments {
                let name = match self.treatments.len() {
                    1 => prefix.to_owned(),
                    _ => format!("{prefix}_{}", column.name),
                };
                let range = start..start + column.elements();
                let value = |i: usize| {
                    let i = if units.len() == 1 { 0 } else { i };
                    // missing for units that were not treated
                    let is_known = units.mask_row(i).is_none_or(|mask| !mask[range.clone()].contains(&false));
                    is_known.then(|| column.value(&units.row(i)[range.clone()]))
                };
                output.push(name, treatment_column(column, (0..t.len()).map(value), rows));
                start = range.end;
            }
        }
    }

    fn push_outcomes(
        &self,
        output: &mut OutputBatch,
        asked: &AskedTreatments<'_>,
        answers: &Answers,
        suffix: &str,
    ) {
        let point_prefix = match asked {
            AskedTreatments::Effect { .. } => "effect_",
            AskedTreatments::Outcome(_) if self.has_name_clash => "answer_",
            AskedTreatments::Outcome(_) => "",
        };
        for outcome in &self.outcomes {
            let blocks =
                [(point_prefix, &answers.point), ("lower_", &answers.lower), ("upper_", &answers.upper)];
            for (prefix, units) in blocks {
                let origin = outcome.origin.filter(|_| matches!(asked, AskedTreatments::Outcome(_)));
                let column = self.column(outcome, outcome.values(units), origin);
                output.push(format!("{prefix}{}{suffix}", outcome.name), column);
            }
        }
        if let AskedTreatments::Outcome(_) = asked {
            self.categories.iter().for_each(|category| category.push(output, answers, suffix));
        }
    }

    /// Adds the probabilities of the values of counts and ordered levels: `Y=0`, `Y=1`, ..., `Y=19` and `Y>=20` for a count Y, one
    /// column per level for ordered levels.
    ///
    /// # Panics
    /// If `distributions` are not those of the model about the units of `output`.
    pub fn add_distributions(&self, output: &mut OutputBatch, distributions: &[ValueProbabilities]) {
        for distribution in distributions {
            let j = distribution.element;
            let (name, _) =
                self.outcomes().find(|(_, range)| range.contains(&j)).expect("an outcome of the model");
            let push = if self.kinds[j] == OutcomeKind::Count { push_counts } else { push_levels };
            push(output, name, distribution);
        }
    }

    /// The column of values that are relative to `origin`.
    fn column(&self, outcome: &OutcomeColumn, values: Vec<f32>, origin: Option<f64>) -> OutputColumn {
        match (outcome.count, origin) {
            (1, Some(origin)) => {
                OutputColumn::Precise(values.into_iter().map(|value| absolute(origin, value)).collect())
            }
            (1, None) => OutputColumn::Numbers(values),
            _ if self.times.is_some() => OutputColumn::Numbers(values),
            (count, _) => OutputColumn::Lists { length: count, values },
        }
    }

    /// The name and the elements in y of every outcome.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = (&str, std::ops::Range<usize>)> {
        self.outcomes.iter().map(|o| (o.name.as_str(), o.start..o.start + o.count))
    }
}

impl OutcomeColumn {
    /// The elements of this outcome, unit after unit.
    fn values(&self, units: &Units) -> Vec<f32> {
        let elements = |i: usize| units.row(i)[self.start..self.start + self.count].to_vec();
        (0..units.len()).flat_map(elements).collect()
    }
}

impl TimeColumn {
    fn column(&self, batch: &UnitBatch, rows: usize) -> OutputColumn {
        let treated_at = |i: usize| batch.treated_at.as_ref().map_or(0.0, |times| times[i]);
        let times =
            |i: usize| (0..rows).map(move |j| treated_at(i) + (self.first + j as i64) as f64 * self.step);
        let times = (0..batch.data.len()).flat_map(times);
        match self.dates {
            None => OutputColumn::Precise(times.collect()),
            Some(dates) => OutputColumn::Text(times.map(|time| dates.format(time)).collect()),
        }
    }
}

/// The values of one treatment, or nothing where they are unknown, each in `rows` rows.
fn treatment_column(
    column: &TreatmentColumn,
    values: impl Iterator<Item = Option<TreatmentValue>>,
    rows: usize,
) -> OutputColumn {
    let (mut numbers, mut precise, mut levels) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        match value {
            Some(TreatmentValue::Level(level)) => levels.extend(std::iter::repeat_n(level, rows)),
            Some(TreatmentValue::Number(number)) => numbers.extend(std::iter::repeat_n(number, rows)),
            Some(TreatmentValue::Precise(number)) => precise.extend(std::iter::repeat_n(number, rows)),
            None if column.levels.is_some() => levels.extend(std::iter::repeat_n(String::new(), rows)),
            None if column.origin.is_some() => precise.extend(std::iter::repeat_n(f64::NAN, rows)),
            None => numbers.extend(std::iter::repeat_n(f32::NAN, rows)),
        }
    }
    match column {
        TreatmentColumn { levels: Some(_), .. } => OutputColumn::Text(levels),
        TreatmentColumn { origin: Some(_), .. } => OutputColumn::Precise(precise),
        _ => OutputColumn::Numbers(numbers),
    }
}

/// The columns `rho`, missing if it is unknown, and `rho_source`.
fn push_rho(output: &mut OutputBatch, used: UsedRho) {
    let rows = output.rows();
    let rho = used.rho.map_or(f32::NAN, |rho| rho as f32);
    output.push("rho", OutputColumn::Numbers(vec![rho; rows]));
    output.push("rho_source", OutputColumn::Text(vec![used.source.name().to_owned(); rows]));
}

/// The ids, each in `rows` rows.
fn id_column(ids: &Ids, rows: usize) -> OutputColumn {
    let repeat = |n: usize| (0..n).flat_map(|i| std::iter::repeat_n(i, rows));
    match ids {
        Ids::Rows(ids) => OutputColumn::Integers(repeat(ids.len()).map(|i| ids[i] as i64).collect()),
        Ids::Numbers(ids) => OutputColumn::Integers(repeat(ids.len()).map(|i| ids[i]).collect()),
        Ids::Text(ids) => OutputColumn::Text(repeat(ids.len()).map(|i| ids[i].clone()).collect()),
    }
}

impl Diagnosis {
    /// The text of the column `flag`: `ok`, or the names of the flags joined by `|`.
    pub fn flag(&self) -> String {
        Flag::join(self.flags())
    }
}

/// The columns of outcomes of this shape: those of the table, or one per feature or channel.
fn outcome_columns(layout: Option<&Layout>, shape: &[usize]) -> Vec<OutcomeColumn> {
    let elements: usize = shape.iter().product();
    let equal_columns = |names: Vec<String>| -> Vec<OutcomeColumn> {
        let count = elements / names.len().max(1);
        let column =
            |(i, name): (usize, String)| OutcomeColumn { name, start: i * count, count, origin: None };
        names.into_iter().enumerate().map(column).collect()
    };
    match layout.map(|layout| &layout.form) {
        Some(TableForm::Wide { y: Block::Features(features), .. }) => {
            let mut columns = equal_columns(features.iter().flat_map(|feature| feature.names()).collect());
            let origins = features.iter().flat_map(|f| std::iter::repeat_n(f.origin, f.elements()));
            columns.iter_mut().zip(origins).for_each(|(column, origin)| column.origin = origin);
            columns
        }
        Some(TableForm::Wide { y: Block::Lists { columns, .. }, .. }) => equal_columns(columns.clone()),
        Some(TableForm::Long(long)) => equal_columns(long.outcomes.clone()),
        None if shape == [1] => equal_columns(vec!["y".to_owned()]),
        None => equal_columns((0..shape[0]).map(|k| format!("y{k}")).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{AskOptions, Averages, EffectGroup, Grade};
    use crate::config::{Base, Classes, FitConfig};
    use crate::fit::Fit;
    use crate::sim::Oscillator;

    fn treatment(value: f32) -> Units {
        Units::new("t", vec![1], vec![value]).unwrap()
    }

    #[test]
    fn answers_effects_averages_and_verdicts_agree_with_each_other() {
        let data = Oscillator::default().simulate(300, 1).unwrap().data;
        let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
        let model = Fit::new(config).run(&data).unwrap();
        let ask = AskOptions::default();
        let (low, high) = (treatment(0.3), treatment(0.7));
        let units = UnitBatch::from(data.clone());
        let answers = model.outcomes(&data, &high, ask).unwrap();
        let tabulation = Tabulation::new(&model);
        let output = tabulation.output(&units, &AskedTreatments::Outcome(&high), &answers);
        let names =
            ["row", "t", "t_new", "y0", "lower_y0", "upper_y0", "y1", "lower_y1", "upper_y1", "class"];
        assert_eq!((output.rows(), &output.names()[..10]), (300, &names[..]));
        let last = ["posterior_0", "posterior_1", "posterior_2", "flag", "rho", "rho_source"];
        assert_eq!(output.names()[10..], last);

        for bound in RhoBound::ALL {
            let answers = model.outcomes(&data, &high, AskOptions { rho: bound.rho(), ..ask }).unwrap();
            let mut output = output.clone();
            tabulation.add_bound(&mut output, &AskedTreatments::Outcome(&high), bound, &answers);
            let names = ["y0", "lower_y0", "upper_y0", "y1", "lower_y1", "upper_y1", "width_y0", "width_y1"];
            assert_eq!(output.names()[16..], names.map(|name| format!("{name}{}", bound.suffix())));
        }

        let effects = model.effects(&data, &low, &high, ask).unwrap();
        let mut averages = Averages::new(&model, ask.level);
        averages.add(&effects);
        let averages = averages.finish();
        let mean = effects.point.values().chunks(40).map(|unit| unit[..20].iter().sum::<f32>()).sum::<f32>();
        assert!((averages[1].effect - f64::from(mean / 20.0 / 300.0)).abs() < 1e-4);
        assert!(averages.iter().all(|a| a.lower < a.effect && a.effect < a.upper));
        let classes: usize = averages
            .iter()
            .filter(|a| a.outcome == "y0" && matches!(a.group, EffectGroup::Class(_)))
            .map(|a| a.units)
            .sum();
        assert_eq!(classes, 300);

        let verdicts = model.verdicts(&data, ask).unwrap();
        assert_eq!(verdicts.len(), 7);
        assert_eq!(verdicts[0].grade, Grade::Ok, "{verdicts:?}");
        assert!(verdicts.iter().all(|verdict| verdict.figure.is_none_or(f64::is_finite)));
    }
}
