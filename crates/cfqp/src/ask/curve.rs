//! The treatments of dose-response curves: one treatment varies, the others are held.

use super::stream::UnitStream;
use crate::data::table::TreatmentColumn;
use crate::data::{Dataset, Units};
use crate::model::Model;
use crate::{Error, Result};

/// The shares of units that received less than the first and the last amount of a curve whose amounts are not given.
const CURVE_SHARES: [f64; 2] = [0.05, 0.95];

/// Which treatments a dose-response curve goes through.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CurveSpec<'a> {
    /// The name of the treatment that varies. `None` is the only one; of several, the only one of numbers if `amounts` are
    /// given, else the only one with levels.
    pub over: Option<&'a str>,
    /// Its amounts; `None` is all its levels, the reference first.
    pub amounts: Option<&'a [f64]>,
    /// The values of other treatments, such as `drug=B`, separated by commas. Those that are not named are the ones that each
    /// unit received.
    pub held: Option<&'a str>,
}

impl Model {
    /// The treatments of a curve, in which elements are missing that are those of each unit's own treatment.
    ///
    /// # Errors
    /// [`Error::Config`] if there is no such treatment, or if it cannot vary in this way.
    pub fn curve_grid(&self, spec: &CurveSpec<'_>) -> Result<Units> {
        curve_points(&self.treatment_columns(), spec)
    }

    /// `points` amounts of the treatment `over`, which may be left out if there is one only, in even steps over the middle 90%
    /// of those that `units` received; `None` if it has levels.
    ///
    /// # Errors
    /// [`Error::Config`] if there is no such treatment or no unit has one, or the error of reading `units`.
    pub fn curve_amounts(
        &self,
        units: UnitStream,
        over: Option<&str>,
        points: usize,
    ) -> Result<Option<Vec<f64>>> {
        let columns = self.treatment_columns();
        let over = varying_column(&columns, &CurveSpec { over, ..CurveSpec::default() })?;
        if columns[over].levels.is_some() {
            return Ok(None);
        }
        let mut received = Vec::new();
        for batch in units {
            let data = batch?.units.data;
            let treated = (0..data.len()).filter(|&i| data.has_treatment(i));
            received.extend(treated.filter_map(|i| self.treatment_values(&data.t().row(i))[over].number()));
        }
        received.sort_by(f64::total_cmp);
        let Some(last) = received.len().checked_sub(1) else {
            let hint = "give the amounts of the curve, or units that were treated";
            return Err(Error::config("grid", "no unit has a treatment", hint));
        };
        let [low, high] = CURVE_SHARES.map(|share| received[(last as f64 * share).round() as usize]);
        let step = (high - low) / points.saturating_sub(1).max(1) as f64;
        Ok(Some((0..points).map(|i| low + i as f64 * step).collect()))
    }
}

/// The points of a curve of a model with the treatments `columns`.
pub(crate) fn curve_points(columns: &[TreatmentColumn], spec: &CurveSpec<'_>) -> Result<Units> {
    let over = varying_column(columns, spec)?;
    let held = held_values(columns, over, spec.held)?;
    let points = match (spec.amounts, &columns[over].levels) {
        (Some(amounts), None) => amounts.iter().map(|&amount| vec![columns[over].element(amount)]).collect(),
        (None, Some(_)) => columns[over].level_elements(),
        (Some(_), Some(_)) => {
            let problem = "the treatment has levels, which have no amounts between them";
            return Err(Error::config("grid", problem, "leave it out for one answer per level"));
        }
        (None, None) => {
            let hint = "give LO:HI:N, for example 0.2:1:9";
            return Err(Error::config("grid", "no treatments are given", hint));
        }
    };
    let elements: usize = columns.iter().map(TreatmentColumn::elements).sum();
    let (mut values, mut mask) = (Vec::new(), Vec::new());
    for point in &points {
        for (j, column) in columns.iter().enumerate() {
            let own = if j == over { Some(point) } else { held[j].as_ref() };
            values.extend(own.cloned().unwrap_or_else(|| vec![0.0; column.elements()]));
            mask.extend(std::iter::repeat_n(own.is_some(), column.elements()));
        }
    }
    Units::with_mask("grid", vec![elements], values, Some(mask))
}

/// The position of the treatment that varies.
fn varying_column(columns: &[TreatmentColumn], spec: &CurveSpec<'_>) -> Result<usize> {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    if let Some(name) = spec.over {
        let at = names.iter().position(|own| *own == name);
        return at.ok_or_else(|| {
            let hint = format!("the treatments are {}", names.join(", ").replace('`', "'"));
            Error::config("over", format!("there is no treatment `{name}`"), hint)
        });
    }
    let may_vary = |j: &usize| columns[*j].levels.is_none() == spec.amounts.is_some();
    match (&(0..columns.len()).filter(may_vary).collect::<Vec<_>>()[..], columns.len()) {
        (_, 1) => Ok(0),
        ([only], _) => Ok(*only),
        _ => {
            let problem = format!("the model has {} treatments, of which one varies in a curve", names.len());
            let hint = format!("name one of {}", names.join(", ").replace('`', "'"));
            Err(Error::config("over", problem, hint))
        }
    }
}

/// The elements at which treatments are held; none for the one that varies and for those that are not named in `text`.
fn held_values(
    columns: &[TreatmentColumn],
    over: usize,
    text: Option<&str>,
) -> Result<Vec<Option<Vec<f32>>>> {
    let mut held = vec![None; columns.len()];
    for part in text.into_iter().flat_map(|text| text.split(',')) {
        let (name, value) = part.split_once('=').ok_or_else(|| {
            let problem = format!("`{part}` is not the value of a treatment");
            Error::config("hold", problem, "write its name and its value, for example drug=B")
        })?;
        match columns.iter().position(|column| column.name == name.trim()) {
            Some(j) if j == over => {
                let problem = format!("the treatment `{}` is the one that varies", name.trim());
                return Err(Error::config(
                    "hold",
                    problem,
                    "hold the others, or let another one vary: `over`",
                ));
            }
            Some(j) => {
                let value = columns[j].parse(value);
                held[j] = Some(value.map_err(|wrong| Error::config("hold", wrong.problem, wrong.hint))?);
            }
            None => {
                let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                let hint = format!("the treatments are {}", names.join(", ").replace('`', "'"));
                return Err(Error::config("hold", format!("there is no treatment `{}`", name.trim()), hint));
            }
        }
    }
    Ok(held)
}

/// Point `p` of `grid` for unit `i`: elements that are missing there are those that the unit received. `None` if it is unknown
/// what the unit received.
pub(super) fn point_of_unit(grid: &Units, p: usize, data: &Dataset, i: usize) -> Option<Vec<f32>> {
    let Some(given) = grid.mask_row(p) else { return Some(grid.row(p).into_owned()) };
    let (point, received, known) = (grid.row(p), data.t().row(i), data.t().mask_row(i));
    let element = |j: usize| match given[j] {
        true => Some(point[j]),
        false => known.is_none_or(|known| known[j]).then(|| received[j]),
    };
    (0..point.len()).map(element).collect()
}

/// The error for a unit whose treatment is unknown, but kept.
pub(super) fn unknown_treatment(unit: impl std::fmt::Display) -> Error {
    let problem = "its treatment is unknown, so that the others cannot be held at it";
    Error::data(format!("unit {unit}"), problem, "give values of the treatments that do not vary: `hold`")
}

/// Point `p` of `grid` for all units: one treatment, or one per unit if a part of it is that of each unit.
pub(super) fn treatments_at(grid: &Units, p: usize, data: &Dataset) -> Result<Units> {
    let own = |i: usize| point_of_unit(grid, p, data, i).ok_or_else(|| unknown_treatment(i));
    let units = if grid.mask().is_some() { data.len() } else { 1 };
    let values = (0..units).map(own).collect::<Result<Vec<_>>>()?.concat();
    Units::new("grid", grid.shape().to_vec(), values)
}
