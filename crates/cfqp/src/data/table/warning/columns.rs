//! The columns that warnings are about.

use std::ops::Range;

use super::super::layout::{Block, Feature, Layout, TableForm};
use crate::data::Dataset;

/// A column and its elements in x or y.
pub(super) struct Column {
    pub name: String,
    pub elements: Range<usize>,
    /// The number of 0/1 elements per category, if the column is categorical.
    pub category: Option<usize>,
}

/// Cuts `elements` into columns of these names and sizes.
pub(super) fn cut(sizes: impl IntoIterator<Item = (String, usize, Option<usize>)>) -> Vec<Column> {
    let mut start = 0;
    let column = |(name, size, category): (String, usize, Option<usize>)| {
        start += size;
        Column { name, elements: start - size..start, category }
    };
    sizes.into_iter().map(column).collect()
}

/// Columns of equal size.
pub(super) fn equal(names: &[String], elements: usize) -> Vec<Column> {
    let size = elements / names.len().max(1);
    cut(names.iter().map(|name| (name.clone(), size, None)))
}

/// The name, the number of elements and that of elements per category of a column with one value per unit.
fn feature_size(feature: &Feature, points: usize) -> (String, usize, Option<usize>) {
    let category = feature.categories.as_ref().map(|_| points);
    (feature.name.clone(), feature.elements() * points, category)
}

/// The columns, of dates only the days without the months and weekdays.
fn without_parts(mut columns: Vec<Column>, features: &[Feature], points: usize) -> Vec<Column> {
    for column in &mut columns {
        if features.iter().any(|feature| feature.name == column.name && feature.date.is_some()) {
            column.elements.end = column.elements.start + points;
        }
    }
    columns
}

/// The names of arrays: `x`, or `x0`, `x1`, ... by feature or channel.
pub(super) fn array_names(name: &str, shape: &[usize]) -> Vec<String> {
    if shape == [1] {
        return vec![name.to_owned()];
    }
    (0..shape[0]).map(|i| format!("{name}{i}")).collect()
}

/// The columns of x; none for images.
pub(super) fn covariate_columns(data: &Dataset, layout: Option<&Layout>) -> Vec<Column> {
    let (shape, elements) = (data.x().shape(), data.x().elements());
    match layout.map(|layout| &layout.form) {
        _ if shape.len() > 2 => Vec::new(),
        Some(TableForm::Wide { x: Block::Features(features), .. }) => {
            without_parts(cut(features.iter().map(|feature| feature_size(feature, 1))), features, 1)
        }
        Some(TableForm::Wide { x: Block::Lists { columns, .. }, .. }) => equal(columns, elements),
        Some(TableForm::Long(samples)) => {
            let points = samples.grid.x.points();
            let series = samples.series.iter().map(|name| (name.clone(), points, None));
            let columns =
                cut(series.chain(samples.fixed.iter().map(|feature| feature_size(feature, points))));
            without_parts(columns, &samples.fixed, points)
        }
        None => equal(&array_names("x", shape), elements),
    }
}

/// The columns of y; none for images.
pub(super) fn outcome_columns(data: &Dataset, layout: Option<&Layout>) -> Vec<Column> {
    let (shape, elements) = (data.y().shape(), data.y().elements());
    match layout.map(|layout| &layout.form) {
        _ if shape.len() > 2 => Vec::new(),
        Some(TableForm::Wide { y, .. }) => equal(&y.columns(), elements),
        Some(TableForm::Long(samples)) => equal(&samples.outcomes, elements),
        None => equal(&array_names("y", shape), elements),
    }
}

/// The treatments.
pub(super) fn treatment_columns(data: &Dataset, layout: Option<&Layout>) -> Vec<Column> {
    match layout {
        Some(layout) => cut(layout.t.iter().map(|column| (column.name.clone(), column.elements(), None))),
        None => equal(&array_names("t", data.t().shape()), data.t().elements()),
    }
}
