//! Covariates x, treatment t and outcome y of n units, and views of some of them.

use std::borrow::Cow;

use super::values::Values;
use crate::{Error, Result};

/// One array per unit: `n` units, each of the same shape, stored one after the other.
///
/// # Shapes
/// A table has `[features]`, a series `[channels, steps]`, an image `[channels, height, width]`. Images with at most
/// 256 different values are held as bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    shape: Vec<usize>,
    values: Values,
    mask: Option<Vec<bool>>,
}

impl Units {
    /// Units of `shape`; `values` has a whole number of them and all are finite.
    /// `name` is what errors call the array.
    pub fn new(name: &str, shape: Vec<usize>, values: Vec<f32>) -> Result<Self> {
        Self::with_mask(name, shape, values, None)
    }

    /// As [`new`](Self::new), with a mask: `true` where a value was observed. What is not observed may hold
    /// anything, a NaN included, and is stored as zero. A mask that hides nothing is dropped.
    pub fn with_mask(
        name: &str,
        shape: Vec<usize>,
        mut values: Vec<f32>,
        mask: Option<Vec<bool>>,
    ) -> Result<Self> {
        let each: usize = shape.iter().product();
        if each == 0 || !values.len().is_multiple_of(each) {
            let problem = format!("{} values do not make units of shape {shape:?}", values.len());
            return Err(Error::data(name, problem, "give every unit the same, non-empty shape"));
        }
        if let Some(mask) = &mask
            && mask.len() != values.len()
        {
            let problem = format!("the mask has {} elements, the values {}", mask.len(), values.len());
            return Err(Error::data(name, problem, "give the mask the shape of its array"));
        }
        for (i, value) in values.iter_mut().enumerate() {
            if mask.as_ref().is_some_and(|mask| !mask[i]) {
                *value = 0.0;
            } else if !value.is_finite() {
                let place = format!("{name}, unit {}, element {}", i / each, i % each);
                let hint = format!("mend the value, or mark it as missing in `{name}_mask`");
                return Err(Error::data(place, format!("the value is {value}"), hint));
            }
        }
        let mask = mask.filter(|mask| mask.contains(&false));
        Ok(Self::held(shape, values, mask))
    }

    fn held(shape: Vec<usize>, values: Vec<f32>, mask: Option<Vec<bool>>) -> Self {
        let values = if shape.len() == 3 { Values::coded(values) } else { Values::Plain(values) };
        Self { shape, values, mask }
    }

    /// Units of several arrays, one after the other.
    fn concat(name: &str, parts: &[&Self]) -> Result<Self> {
        let shape = &parts[0].shape;
        if let Some(other) = parts.iter().find(|part| part.shape != *shape) {
            let problem = format!("units of shape {shape:?} and of shape {:?}", other.shape);
            return Err(Error::data(name, problem, "give files of the same kind of unit"));
        }
        let mut values = Vec::with_capacity(parts.iter().map(|part| part.values.len()).sum());
        let units = parts.iter().flat_map(|part| (0..part.len()).map(|i| part.unit(i)));
        units.for_each(|unit| values.extend_from_slice(&unit));
        let mask = parts.iter().any(|part| part.mask.is_some()).then(|| {
            let mut mask = Vec::with_capacity(values.len());
            for part in parts {
                match &part.mask {
                    Some(own) => mask.extend_from_slice(own),
                    None => mask.resize(mask.len() + part.values.len(), true),
                }
            }
            mask
        });
        Ok(Self::held(shape.clone(), values, mask))
    }

    /// The units at `rows`, in that order.
    fn pick(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.each());
        rows.iter().for_each(|&row| values.extend_from_slice(&self.unit(row)));
        let mask: Option<Vec<bool>> = self
            .mask
            .as_ref()
            .map(|_| rows.iter().filter_map(|&row| self.mask_row(row)).flatten().copied().collect());
        let mask = mask.filter(|mask| mask.contains(&false));
        Self::held(self.shape.clone(), values, mask)
    }

    /// How many units.
    pub fn len(&self) -> usize {
        self.values.len() / self.each()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.len() == 0
    }

    /// The shape of one unit.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How many elements one unit has.
    pub fn each(&self) -> usize {
        self.shape.iter().product()
    }

    /// All values, unit after unit. Of images that are held as bytes this makes a copy, which stays.
    pub fn values(&self) -> &[f32] {
        self.values.all()
    }

    /// Where values were observed, if not everywhere.
    pub fn mask(&self) -> Option<&[bool]> {
        self.mask.as_deref()
    }

    /// The values of unit `i`; of images that are held as bytes, as [`values`](Self::values).
    pub fn row(&self, i: usize) -> &[f32] {
        let each = self.each();
        &self.values.all()[i * each..(i + 1) * each]
    }

    /// The values of unit `i`, and no more memory than that takes.
    pub fn unit(&self, i: usize) -> Cow<'_, [f32]> {
        let each = self.each();
        self.values.part(i * each..(i + 1) * each)
    }

    /// Where unit `i` was observed, if not everywhere.
    pub fn mask_row(&self, i: usize) -> Option<&[bool]> {
        let each = self.each();
        self.mask.as_ref().map(|mask| &mask[i * each..(i + 1) * each])
    }
}

/// What was seen of n units: covariates `x`, treatment `t`, outcome `y`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    x: Units,
    t: Units,
    y: Units,
}

impl Dataset {
    /// A data set of at least one unit; `t` is a vector per unit and has no mask.
    pub fn new(x: Units, t: Units, y: Units) -> Result<Self> {
        for (name, units) in [("t", &t), ("y", &y)] {
            if units.len() != x.len() {
                let problem = format!("{} units, but x has {}", units.len(), x.len());
                return Err(Error::data(name, problem, "give x, t and y of the same units"));
            }
        }
        if x.is_empty() {
            return Err(Error::data("x", "there are no units", "give at least one unit"));
        }
        for (name, units) in [("x", &x), ("y", &y)] {
            if units.shape().len() > 3 {
                let problem = format!("a unit has shape {:?}", units.shape());
                let hint = "give vectors, series [channels, steps] or images [channels, height, width]";
                return Err(Error::data(name, problem, hint));
            }
        }
        if t.shape().len() != 1 || t.mask().is_some() {
            let hint = "give t as [units] or [units, treatments], with no value missing";
            return Err(Error::data("t", format!("a unit has shape {:?}", t.shape()), hint));
        }
        Ok(Self { x, t, y })
    }

    /// Covariates.
    pub fn x(&self) -> &Units {
        &self.x
    }

    /// Treatments, `[d_t]` per unit.
    pub fn t(&self) -> &Units {
        &self.t
    }

    /// Outcomes.
    pub fn y(&self) -> &Units {
        &self.y
    }

    /// How many units.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Never: a data set has at least one unit.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// These units and, behind them, those of `other`, which must have the same shapes.
    pub fn join(&self, other: &Self) -> Result<Self> {
        Self::concat(&[self, other])
    }

    /// The units of all `parts`, at least one, which must have the same shapes.
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        if parts.is_empty() {
            return Err(Error::data("x", "there are no units", "give at least one unit"));
        }
        let join = |name, units: fn(&Self) -> &Units| {
            Units::concat(name, &parts.iter().map(|part| units(part)).collect::<Vec<_>>())
        };
        Ok(Self { x: join("x", Self::x)?, t: join("t", Self::t)?, y: join("y", Self::y)? })
    }

    /// A data set of the units at `rows`, at least one, in that order.
    pub fn pick(&self, rows: &[usize]) -> Result<Self> {
        if let Some(row) = rows.iter().find(|&&row| row >= self.len()) {
            return Err(Error::data("x", format!("there is no unit {row}"), "name units that are there"));
        }
        Self::new(self.x.pick(rows), self.t.pick(rows), self.y.pick(rows))
    }

    /// All units.
    pub fn all(&self) -> View<'_> {
        self.view((0..self.len()).collect())
    }

    /// The units `rows`, in that order.
    pub fn view(&self, rows: Vec<usize>) -> View<'_> {
        assert!(rows.iter().all(|&row| row < self.len()), "a row is out of range");
        View { data: self, rows }
    }
}

/// Some units of a data set, by reference.
#[derive(Clone, Debug)]
pub struct View<'a> {
    data: &'a Dataset,
    rows: Vec<usize>,
}

impl<'a> View<'a> {
    /// The data set behind the view.
    pub fn data(&self) -> &'a Dataset {
        self.data
    }

    /// The units, as rows of the data set.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// How many units.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether the view has no unit.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The units of this view at `positions`.
    pub fn pick(&self, positions: &[usize]) -> Self {
        Self { data: self.data, rows: positions.iter().map(|&i| self.rows[i]).collect() }
    }

    /// The view in pieces of at most `size` units.
    pub fn chunks(&self, size: usize) -> impl Iterator<Item = Self> + '_ {
        self.rows.chunks(size).map(|rows| Self { data: self.data, rows: rows.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_is_refused_with_its_place_unless_it_is_masked() {
        let values = vec![1.0, 2.0, f32::NAN, 4.0];
        let error = Units::new("x", vec![2], values.clone()).unwrap_err();
        assert_eq!(error.to_string(), "x, unit 1, element 0: the value is NaN");
        assert!(error.hint().unwrap().contains("x_mask"));

        let mask = vec![true, true, false, true];
        let units = Units::with_mask("x", vec![2], values, Some(mask)).unwrap();
        assert_eq!(units.row(1), [0.0, 4.0]);
        assert_eq!(units.mask_row(1), Some(&[false, true][..]));
    }

    #[test]
    fn a_full_mask_is_no_mask() {
        let units = Units::with_mask("y", vec![1], vec![1.0], Some(vec![true])).unwrap();
        assert_eq!(units.mask(), None);
    }

    #[test]
    fn x_t_and_y_must_be_of_the_same_units() {
        let units = |n: usize| Units::new("a", vec![1], vec![0.0; n]).unwrap();
        let error = Dataset::new(units(3), units(2), units(3)).unwrap_err();
        assert_eq!(error.to_string(), "t: 2 units, but x has 3");
        assert!(Dataset::new(units(0), units(0), units(0)).is_err());
    }
}
