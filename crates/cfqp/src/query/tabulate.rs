//! Answers as the rows of a table, in the columns that the units came in.

use super::answer::{Answers, Diagnosis};
use crate::data::{Block, Form, Ids, Layout, Part, Sheet, SheetCells};
use crate::em::Fitted;
use crate::{Result, Units};

/// What was asked of some units.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    /// Their outcome under these treatments, one per unit or one for all.
    Outcome(&'a Units),
    /// How much their outcome under the second lies above that under the first.
    Effect(&'a Units, &'a Units),
}

/// The columns that answers of a model are written in.
///
/// A row per unit: its id, `t`, `t_new` (for an effect `from` and `to`), every outcome with `lower_` and `upper_`,
/// `class`, `posterior_0`, ..., and `flag`. Where units came as samples over time, a row per unit and time.
#[derive(Clone, Debug)]
pub struct Tabulation {
    id: String,
    t: Vec<String>,
    outcomes: Vec<Outcome>,
    /// The column of times, the first point and the step, where there is a row per point.
    times: Option<(String, i64, f64)>,
    classes: usize,
    /// Whether outcomes bear the names of other columns.
    clash: bool,
}

/// Elements of y that make one column.
#[derive(Clone, Debug)]
struct Outcome {
    name: String,
    start: usize,
    count: usize,
}

impl Tabulation {
    /// The columns for answers of `fitted`.
    pub fn new(fitted: &Fitted) -> Self {
        let layout = fitted.layout();
        let id = layout.and_then(|layout| layout.id.clone()).unwrap_or("row".to_owned());
        let t = match layout {
            Some(layout) => layout.t.clone(),
            None => (0..fitted.shapes().t).map(|j| j.to_string()).collect(),
        };
        let times = match layout.map(|layout| &layout.form) {
            Some(Form::Long(long)) => Some((long.time.clone(), long.grid.y.0, long.grid.step)),
            _ => None,
        };
        let outcomes = outcomes(layout, &fitted.shapes().y);
        let classes = fitted.classes();
        let mut own = vec![id.as_str(), "t", "t_new", "from", "to", "class", "flag"];
        own.extend(times.iter().map(|(name, _, _)| name.as_str()));
        let starts = ["t_", "from_", "to_", "posterior_", "lower_", "upper_"];
        let clash = outcomes.iter().any(|outcome| {
            own.contains(&&outcome.name[..]) || starts.iter().any(|start| outcome.name.starts_with(start))
        });
        Self { id, t, outcomes, times, classes, clash }
    }

    /// The answers to `asked` for the units of `part`.
    pub fn sheet(&self, part: &Part, asked: &Asked<'_>, answers: &Answers) -> Sheet {
        // every unit has so many rows
        let rows = if self.times.is_some() { self.outcomes.first().map_or(1, |o| o.count) } else { 1 };
        let n = part.data.len();
        let each = |value: &dyn Fn(usize) -> f32| -> Vec<f32> {
            (0..n).flat_map(|i| std::iter::repeat_n(value(i), rows)).collect()
        };
        let mut sheet = Sheet::default();
        sheet.push(&self.id, self.ids(&part.ids, rows));
        if let Some((name, first, step)) = &self.times {
            let moment = |i: usize| part.moments.as_ref().map_or(0.0, |moments| moments[i]);
            let time = |i: usize| (0..rows).map(move |j| moment(i) + (first + j as i64) as f64 * step);
            sheet.push(name, SheetCells::Precise((0..n).flat_map(time).collect()));
        }
        let one = |units: &Units, i: usize, j: usize| units.row(if units.len() == 1 { 0 } else { i })[j];
        let treatments: Vec<(&str, &Units)> = match asked {
            Asked::Outcome(to) => vec![("t", part.data.t()), ("t_new", to)],
            Asked::Effect(from, to) => vec![("t", part.data.t()), ("from", from), ("to", to)],
        };
        for (start, units) in treatments {
            for (j, name) in self.t.iter().enumerate() {
                let name = if self.t.len() == 1 { start.to_owned() } else { format!("{start}_{name}") };
                sheet.push(name, SheetCells::Numbers(each(&|i| one(units, i, j))));
            }
        }
        self.push_outcomes(&mut sheet, asked, answers);
        let class = answers.diagnoses.iter().flat_map(|d| std::iter::repeat_n(d.class as i64, rows));
        sheet.push("class", SheetCells::Integers(class.collect()));
        for k in 0..self.classes {
            let posterior = each(&|i| answers.posterior[i * self.classes + k]);
            sheet.push(format!("posterior_{k}"), SheetCells::Numbers(posterior));
        }
        let flag = answers.diagnoses.iter().flat_map(|d| std::iter::repeat_n(d.flag(), rows));
        sheet.push("flag", SheetCells::Text(flag.collect()));
        sheet
    }

    fn ids(&self, ids: &Ids, rows: usize) -> SheetCells {
        let repeat = |n: usize| (0..n).flat_map(|i| std::iter::repeat_n(i, rows));
        match ids {
            Ids::Rows(ids) => SheetCells::Integers(repeat(ids.len()).map(|i| ids[i] as i64).collect()),
            Ids::Numbers(ids) => SheetCells::Integers(repeat(ids.len()).map(|i| ids[i]).collect()),
            Ids::Text(ids) => SheetCells::Text(repeat(ids.len()).map(|i| ids[i].clone()).collect()),
        }
    }

    fn push_outcomes(&self, sheet: &mut Sheet, asked: &Asked<'_>, answers: &Answers) {
        let start = match asked {
            Asked::Effect(_, _) => "effect_",
            Asked::Outcome(_) if self.clash => "answer_",
            Asked::Outcome(_) => "",
        };
        for outcome in &self.outcomes {
            let parts = [(start, &answers.point), ("lower_", &answers.lower), ("upper_", &answers.upper)];
            for (start, units) in parts {
                let own = |i: usize| &units.row(i)[outcome.start..outcome.start + outcome.count];
                let values: Vec<f32> = (0..units.len()).flat_map(own).copied().collect();
                let cells = match outcome.count {
                    1 => SheetCells::Numbers(values),
                    _ if self.times.is_some() => SheetCells::Numbers(values),
                    count => SheetCells::Lists(count, values),
                };
                sheet.push(format!("{start}{}", outcome.name), cells);
            }
        }
    }

    /// The names of the outcomes, and the elements of y that make each.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = (&str, std::ops::Range<usize>)> {
        self.outcomes.iter().map(|o| (o.name.as_str(), o.start..o.start + o.count))
    }
}

impl Diagnosis {
    /// `ok`, or what speaks against the answer, joined by `|`.
    pub fn flag(&self) -> String {
        let flags = [
            (self.off_support, "off_support"),
            (self.ambiguous_class, "ambiguous_class"),
            (self.starts_disagree, "starts_disagree"),
        ];
        let raised: Vec<&str> = flags.iter().filter(|(raised, _)| *raised).map(|(_, name)| *name).collect();
        if raised.is_empty() { "ok".to_owned() } else { raised.join("|") }
    }
}

fn outcomes(layout: Option<&Layout>, shape: &[usize]) -> Vec<Outcome> {
    let elements: usize = shape.iter().product();
    let even = |names: Vec<String>| -> Vec<Outcome> {
        let count = elements / names.len().max(1);
        let outcome = |(i, name): (usize, String)| Outcome { name, start: i * count, count };
        names.into_iter().enumerate().map(outcome).collect()
    };
    match layout.map(|layout| &layout.form) {
        Some(Form::Wide { y: Block::Features(features), .. }) => {
            even(features.iter().flat_map(|feature| feature.names()).collect())
        }
        Some(Form::Wide { y: Block::Lists { columns, .. }, .. }) => even(columns.clone()),
        Some(Form::Long(long)) => even(long.outcomes.clone()),
        None if shape == [1] => even(vec!["y".to_owned()]),
        // a column per feature or channel
        None => even((0..shape[0]).map(|k| format!("y{k}")).collect()),
    }
}

/// Units under every treatment of `grid`, one row each: the units, repeated, and their treatments.
pub fn repeat_over(part: &Part, grid: &Units) -> Result<(Part, Units)> {
    let (n, steps) = (part.data.len(), grid.len());
    let rows: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, steps)).collect();
    let to = Units::new("grid", grid.shape().to_vec(), grid.values().repeat(n))?;
    Ok((part.pick(&rows)?, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Oscillator;
    use crate::{Ask, Averages, Base, Classes, Dataset, FitConfig, Grade, Resources, fit};

    fn world() -> (Dataset, Fitted) {
        let data = Oscillator::default().simulate(300, 1).unwrap().data;
        let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
        let fitted = fit(&data, None, &config, &Resources::default(), &()).unwrap();
        (data, fitted)
    }

    fn number(value: f32) -> Units {
        Units::new("t", vec![1], vec![value]).unwrap()
    }

    #[test]
    fn answers_effects_averages_and_verdicts_agree_with_each_other() {
        let (data, fitted) = world();
        let ask = Ask::default();
        let (low, high) = (number(0.3), number(0.7));
        let ids = Ids::Rows((0..data.len()).collect());
        let part = Part { data: data.clone(), ids, moments: None };
        let answers = fitted.query(&data, &high, &ask).unwrap();
        let tabulation = Tabulation::new(&fitted);
        let sheet = tabulation.sheet(&part, &Asked::Outcome(&high), &answers);
        let names =
            ["row", "t", "t_new", "y0", "lower_y0", "upper_y0", "y1", "lower_y1", "upper_y1", "class"];
        assert_eq!((sheet.rows(), &sheet.names()[..10]), (300, &names[..]));
        assert_eq!(sheet.names()[10..], ["posterior_0", "posterior_1", "posterior_2", "flag"]);

        let effects = fitted.effect(&data, &low, &high, &ask).unwrap();
        let mut averages = Averages::new(&fitted, ask.level);
        averages.add(&effects);
        let averages = averages.finish();
        let mean = effects.point.values().chunks(40).map(|unit| unit[..20].iter().sum::<f32>()).sum::<f32>();
        assert!((averages[0].effect - f64::from(mean / 20.0 / 300.0)).abs() < 1e-4);
        assert!(averages.iter().all(|a| a.lower < a.effect && a.effect < a.upper));
        let classes: usize = averages
            .iter()
            .filter(|a| a.outcome == "y0" && a.group.starts_with("class"))
            .map(|a| a.units)
            .sum();
        assert_eq!(classes, 300);

        let verdicts = fitted.judge(&data, ask.level).unwrap();
        assert_eq!(verdicts.len(), 5);
        assert_eq!(verdicts[0].grade, Grade::Ok, "{verdicts:?}");
        assert!(verdicts.iter().all(|verdict| (0.0..=1.0).contains(&verdict.figure)));
    }

    #[test]
    fn a_grid_repeats_every_unit() {
        let (data, fitted) = world();
        let few = data.pick(&[4, 9]).unwrap();
        let part = Part { data: few.clone(), ids: Ids::Text(vec!["a".into(), "b".into()]), moments: None };
        let grid = Units::new("grid", vec![1], vec![0.3, 0.5, 0.7]).unwrap();
        let (repeated, to) = repeat_over(&part, &grid).unwrap();
        assert_eq!(repeated.ids.text(3), "b");
        let all = fitted.query(&repeated.data, &to, &Ask::default()).unwrap();
        let curve = fitted.curve(&few, &grid, &Ask::default()).unwrap();
        for (i, unit) in [(1, 0), (4, 1)] {
            let gap = all.point.row(i).iter().zip(curve[1].point.row(unit)).map(|(a, b)| (a - b).abs());
            assert!(gap.fold(0.0, f32::max) < 1e-5);
        }
    }
}
