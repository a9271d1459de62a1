//! From a layout back to a description of its table.

use super::layout::{Block, Feature, Layout, SampleLayout, TableForm};
use super::spec::{TableSpec, TreatedAt};
use super::treatment::{TreatmentColumn, TreatmentKind};
use super::y_kind::YKind;
use crate::data::OutcomeKind;

/// Part of a grid step by which `before` and `after` exceed the last grid point, so that samples that belong to that point
/// are included and those of the next one are not.
const HALF_STEP: f64 = 0.49;

impl Layout {
    /// A description by which the table that the layout was made from is read in the same way.
    pub fn spec(&self) -> TableSpec {
        let mut spec = TableSpec {
            id: self.id.clone(),
            group: self.group.clone(),
            t: self.treatment_names(),
            t_kind: treatment_kinds(&self.t),
            missing: self.missing.clone(),
            delimiter: self.delimiter,
            decimal: self.decimal,
            sheet: self.sheet.clone(),
            ..TableSpec::default()
        };
        match &self.form {
            TableForm::Wide { x, y } => {
                (spec.x, spec.y) = (x.columns(), y.columns());
                match x {
                    Block::Features(features) => describe_features(features, &mut spec),
                    Block::Lists { shape, .. } => spec.x_shape.clone_from(shape),
                }
                match y {
                    Block::Features(features) => spec.y_kind = outcome_kinds(features),
                    Block::Lists { shape, .. } => spec.y_shape.clone_from(shape),
                }
            }
            TableForm::Long(samples) => {
                let grid = &samples.grid;
                spec.time = Some(samples.time.clone());
                spec.series.clone_from(&samples.series);
                spec.x = samples.fixed.iter().map(|feature| feature.name.clone()).collect();
                describe_features(&samples.fixed, &mut spec);
                spec.y =
                    if samples.outcomes == samples.series { Vec::new() } else { samples.outcomes.clone() };
                spec.treated_at = Some(treatment_time(samples));
                spec.date_format = samples.dates.and_then(|dates| dates.order).or(spec.date_format);
                spec.step = Some(grid.step);
                spec.before = Some(grid_end(-grid.x.first, grid.step));
                spec.after = Some(grid_end(grid.y.last, grid.step));
            }
        }
        spec
    }
}

/// The kinds of outcome columns; none if all are numbers that look like ones.
fn outcome_kinds(features: &[Feature]) -> Vec<YKind> {
    match features.iter().any(|feature| feature.outcome.is_some()) {
        true => features.iter().map(outcome_kind).collect(),
        false => Vec::new(),
    }
}

/// The kind of an outcome column.
fn outcome_kind(feature: &Feature) -> YKind {
    match feature.outcome {
        None => YKind::Auto,
        Some(OutcomeKind::YesNo) => YKind::YesNo,
        Some(OutcomeKind::Count) => YKind::Count,
        Some(OutcomeKind::Ordered) => YKind::Ordered,
        Some(OutcomeKind::Amount) => YKind::Amount,
        Some(OutcomeKind::Level(_)) => YKind::Category,
        Some(_) => YKind::Number,
    }
}

/// The kinds of treatments that have to be declared: those with a level that looks like a number.
fn treatment_kinds(treatments: &[TreatmentColumn]) -> Vec<TreatmentKind> {
    let is_number = |level: &String| level.trim().parse::<f64>().is_ok();
    let is_declared = |column: &TreatmentColumn| column.levels.iter().flatten().any(is_number);
    if !treatments.iter().any(is_declared) {
        return Vec::new();
    }
    let kind = |column| if is_declared(column) { TreatmentKind::Category } else { TreatmentKind::Auto };
    treatments.iter().map(kind).collect()
}

/// The time of treatment, as a date if the times are dates.
fn treatment_time(samples: &SampleLayout) -> TreatedAt {
    match (&samples.treated_at, &samples.dates) {
        (TreatedAt::Number(days), Some(dates)) => TreatedAt::Column(dates.format(*days)),
        (treated_at, _) => treated_at.clone(),
    }
}

/// Describes covariates with one value per row.
fn describe_features(features: &[Feature], spec: &mut TableSpec) {
    spec.categorical = categorical(features);
    let dates = || features.iter().filter_map(|feature| feature.date);
    spec.date_parts = dates().any(|date| date.parts);
    spec.date_format = dates().find_map(|date| date.order);
}

/// The columns that have to be declared as categories: those with a category that looks like a number.
fn categorical(features: &[Feature]) -> Vec<String> {
    let is_number = |category: &String| category.trim().parse::<f64>().is_ok();
    let is_declared = |feature: &&Feature| feature.categories.iter().flatten().any(is_number);
    features.iter().filter(is_declared).map(|feature| feature.name.clone()).collect()
}

/// The length of time from the treatment to the end of the grid, which has `points` steps, to nine digits.
fn grid_end(points: i64, step: f64) -> f64 {
    let length = (points as f64 + HALF_STEP) * step;
    format!("{length:.8e}").parse().unwrap_or(length)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::read::Table;
    use super::*;

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn the_description_of_a_layout_reads_the_same_units() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let rows = |row: fn(usize) -> String| (0..40).map(row).collect::<String>();
        std::fs::write(
            &path,
            "c,w,t,y\n".to_owned() + &rows(|i| format!("{},{},{i},1\n", i % 3, ["a", "b"][i % 2])),
        )
        .unwrap();
        let wide = TableSpec {
            x: strings(&["c", "w"]),
            t: strings(&["t"]),
            y: strings(&["y"]),
            categorical: strings(&["c"]),
            ..TableSpec::default()
        };
        assert_same_units(&path, &wide, &strings(&["c"]));
        // irregular times, limited before and after the treatment
        let samples = |i: usize| {
            let time = |k: i32| f64::from(k) + 0.07 * (i % 7) as f64;
            (-9..9).map(|k| format!("{i},{},{k},{i},{}\n", time(k), i % 2)).collect::<String>()
        };
        std::fs::write(&path, "id,s,a,t,c\n".to_owned() + &rows(samples)).unwrap();
        let long = TableSpec {
            id: Some("id".to_owned()),
            time: Some("s".to_owned()),
            series: strings(&["a"]),
            x: strings(&["c"]),
            t: strings(&["t"]),
            treated_at: Some(TreatedAt::Number(0.0)),
            categorical: strings(&["c"]),
            ..TableSpec::default()
        };
        assert_same_units(&path, &long, &strings(&["c"]));
        assert_same_units(
            &path,
            &TableSpec { before: Some(5.2), after: Some(6.4), ..long },
            &strings(&["c"]),
        );
    }

    #[test]
    fn dates_are_described_as_they_were_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let samples = |i: usize| {
            let row =
                |day: usize| format!("{i},{day:02}/03/2024 06:00,{day},\"{},5\",{}/12/2023\n", i, 1 + i % 20);
            (10..20).map(row).collect::<String>()
        };
        std::fs::write(&path, "id,at,a,t,born\n".to_owned() + &(0..40).map(samples).collect::<String>())
            .unwrap();
        let long = TableSpec {
            id: Some("id".to_owned()),
            time: Some("at".to_owned()),
            series: strings(&["a"]),
            x: strings(&["born"]),
            t: strings(&["t"]),
            treated_at: Some(TreatedAt::Column("2024-03-14T12:00".to_owned())),
            decimal: Some(','),
            date_parts: true,
            ..TableSpec::default()
        };
        assert_same_units(&path, &long, &[]);
    }

    fn assert_same_units(path: &Path, spec: &TableSpec, categorical: &[String]) {
        let first = Table::read(path, spec).unwrap();
        let described = first.layout.spec();
        assert_eq!(described.categorical, categorical);
        let second = Table::read(path, &described).unwrap();
        assert_eq!((second.layout, second.data), (first.layout, first.data), "{described:?}");
    }
}
