//! The array that some columns of a wide table form.

use super::layout::{Block, Feature};
use super::levels::sort_levels;
use super::names::list_names;
use super::problem::Problem;
use super::scan::{ColumnContent, ColumnScan};
use super::spec::TableSpec;
use super::treatment::TreatmentColumn;

/// The columns `names`, which have one value per row, with their categories and dates.
pub(crate) fn scalar_features(
    scans: &[ColumnScan],
    names: &[String],
    categorical: &[String],
    spec: &TableSpec,
) -> Vec<Feature> {
    let feature = |name: &String| {
        let scan = scans.iter().find(|scan| scan.name == *name)?;
        let content = scan.content(categorical.contains(name));
        let is_category = content == ColumnContent::Categories;
        let categories = is_category.then(|| scan.levels().into_keys().collect());
        let is_date = content == ColumnContent::Dates;
        let date = is_date.then(|| scan.date_encoding(spec.date_format, spec.date_parts));
        Some(Feature { name: name.clone(), categories, date, outcome: None, origin: None })
    };
    names.iter().filter_map(feature).collect()
}

/// What the numbers of the column `name` are stored relative to, if they need it.
pub(crate) fn origin_of(name: &str, scans: &[ColumnScan]) -> Option<f64> {
    scans.iter().find(|scan| scan.name == name)?.origin()
}

impl Block {
    /// Sets the origins of columns of single numbers.
    pub(super) fn set_origins(&mut self, scans: &[ColumnScan]) {
        let Self::Features(features) = self else { return };
        for feature in features.iter_mut().filter(|feature| feature.is_number()) {
            feature.origin = origin_of(&feature.name, scans);
        }
    }
}

/// The treatments `names`, with their levels.
pub(crate) fn treatment_columns(
    names: &[String],
    scans: &[ColumnScan],
    categorical: &[String],
) -> Vec<TreatmentColumn> {
    let column = |name: &String| {
        let scan = scans.iter().find(|scan| scan.name == *name);
        let has_levels =
            |scan: &&ColumnScan| scan.content(categorical.contains(name)) == ColumnContent::Categories;
        let levels = scan.filter(has_levels).map(|scan| sort_levels(scan.levels().into_keys().collect()));
        TreatmentColumn { levels, ..TreatmentColumn::number(name) }
    };
    names.iter().map(column).collect()
}

/// The array that the columns `names` form; `field` is `x` or `y`.
pub(crate) fn array_block(
    field: &str,
    names: &[String],
    scans: &[ColumnScan],
    categorical: &[String],
    spec: &TableSpec,
) -> Result<Block, Problem> {
    let shape = if field == "x" { &spec.x_shape } else { &spec.y_shape };
    let scans_of_names: Vec<&ColumnScan> =
        names.iter().filter_map(|name| scans.iter().find(|scan| scan.name == *name)).collect();
    let lists: Vec<&Vec<usize>> = scans_of_names.iter().filter_map(|scan| scan.list_shape.as_ref()).collect();
    if lists.is_empty() {
        if !shape.is_empty() {
            let problem = format!("{field}_shape: the columns of {field} do not hold lists");
            return Err(Problem::new(problem, "leave it out, or use columns of lists"));
        }
        return Ok(Block::Features(scalar_features(scans, names, categorical, spec)));
    }
    if let Some(scalar) = scans_of_names.iter().find(|scan| scan.list_shape.is_none()) {
        let problem = format!("{field}: column `{}` holds single values, but others hold lists", scalar.name);
        return Err(Problem::new(problem, "use columns of lists only, or of single values only"));
    }
    if lists.iter().any(|list| list.len() != lists[0].len()) {
        let problem = format!("{field}: the lists have different numbers of axes: {}", list_names(names));
        return Err(Problem::new(problem, "use columns with the same number of axes"));
    }
    let largest = |axis: usize| lists.iter().map(|list| list[axis]).max().unwrap_or(0);
    let column_shape: Vec<usize> = (0..lists[0].len()).map(largest).collect();
    let shape = unit_shape(field, &column_shape, names.len(), shape)?;
    Ok(Block::Lists { columns: names.to_vec(), column_shape, shape })
}

/// The shape of a unit. The axes of a single column are kept, with a flat list as a series of one channel; each of
/// several columns is a channel.
fn unit_shape(
    field: &str,
    column_shape: &[usize],
    columns: usize,
    given: &[usize],
) -> Result<Vec<usize>, Problem> {
    let total = column_shape.iter().product::<usize>() * columns;
    if !given.is_empty() {
        if given.iter().product::<usize>() == total && given.len() <= 3 {
            return Ok(given.to_vec());
        }
        let problem = format!("{field}_shape: {given:?} is not the shape of {total} elements");
        return Err(Problem::new(problem, "give [channels, steps] or [channels, height, width]"));
    }
    let shape = if columns == 1 && column_shape.len() > 1 {
        column_shape.to_vec()
    } else {
        [&[columns], column_shape].concat()
    };
    if shape.len() > 3 {
        let problem = format!("{field}: arrays of shape {shape:?} have too many axes");
        return Err(Problem::new(problem, format!("give [channels, height, width] as `{field}_shape`")));
    }
    Ok(shape)
}
