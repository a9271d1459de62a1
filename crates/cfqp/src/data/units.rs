//! One array per unit, with a mask of the observed values.

use std::borrow::Cow;
use std::ops::Range;

use super::column_ranges::ColumnRanges;
use super::extremes::LostDigits;
use super::values::Values;
use crate::error::{Error, Result};

/// One array per unit: `n` units of the same shape, stored one after the other.
///
/// # Shapes
/// A unit of a table has shape `[features]`, a series `[channels, steps]`, an image `[channels, height, width]`.
/// Images with at most 256 distinct values are stored as bytes.
///
/// # Examples
/// ```
/// use cfqp::data::Units;
///
/// // three units of two features; the second feature of the last unit was not observed
/// let values = vec![1.0, 2.0, 3.0, 4.0, 5.0, f32::NAN];
/// let mask = vec![true, true, true, true, true, false];
/// let units = Units::with_mask("x", vec![2], values, Some(mask))?;
/// assert_eq!((units.len(), units.shape()), (3, &[2][..]));
/// assert_eq!(&units.row(1)[..], [3.0, 4.0]);
/// assert_eq!(units.mask_row(2), Some(&[true, false][..]));
/// # Ok::<(), cfqp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    shape: Vec<usize>,
    values: Values,
    mask: Option<Vec<bool>>,
    /// What single precision has lost of the values of a file.
    lost_digits: Option<Box<LostDigits>>,
}

impl Units {
    /// Units of the given shape, all observed. `name` identifies the array in error messages.
    ///
    /// # Errors
    /// If `values` is not a whole number of units, or a value is not finite.
    pub fn new(name: &str, shape: Vec<usize>, values: Vec<f32>) -> Result<Self> {
        Self::with_mask(name, shape, values, None)
    }

    /// Units of the given shape from numbers of double precision, in which NaN stands for a missing value. A fit refuses units
    /// whose values differ in digits only that single precision does not have.
    ///
    /// # Errors
    /// If `values` is not a whole number of units, or a value is infinite in single precision.
    ///
    /// ```
    /// let units = cfqp::Units::from_f64("y", vec![1], &[0.5, f64::NAN])?;
    /// assert_eq!(units.mask_row(1), Some(&[false][..]));
    /// # Ok::<(), cfqp::Error>(())
    /// ```
    pub fn from_f64(name: &str, shape: Vec<usize>, values: &[f64]) -> Result<Self> {
        let width: usize = shape.iter().product();
        let mut ranges = ColumnRanges::new(&[values.len() / width.max(1), width], false);
        values.iter().for_each(|&value| ranges.add(value));
        let mask = values.iter().map(|value| !value.is_nan()).collect();
        let single = values.iter().map(|&value| value as f32).collect();
        let units = Self::with_mask(name, shape, single, Some(mask))?;
        Ok(units.with_lost_digits(ranges.lost_digits()))
    }

    /// As [`new`](Self::new), with a mask that is `true` where a value was observed. Unobserved values may be
    /// anything, including NaN, and are stored as zero. A mask without `false` is discarded.
    ///
    /// # Errors
    /// If `values` is not a whole number of units, the mask has another length, or an observed value is not finite.
    pub fn with_mask(
        name: &str,
        shape: Vec<usize>,
        mut values: Vec<f32>,
        mask: Option<Vec<bool>>,
    ) -> Result<Self> {
        let size: usize = shape.iter().product();
        if size == 0 || !values.len().is_multiple_of(size) {
            let problem = format!("{} values do not make units of shape {shape:?}", values.len());
            return Err(Error::data(name, problem, "give every unit the same, non-empty shape"));
        }
        if let Some(mask) = &mask
            && mask.len() != values.len()
        {
            let problem = format!("the mask has {} elements, the values have {}", mask.len(), values.len());
            return Err(Error::data(name, problem, "give the mask the shape of its array"));
        }
        for (i, value) in values.iter_mut().enumerate() {
            if mask.as_ref().is_some_and(|mask| !mask[i]) {
                *value = 0.0;
            } else if !value.is_finite() {
                let place = format!("{name}, unit {}, element {}", i / size, i % size);
                let hint = format!("fix the value, or mark it as missing in `{name}_mask`");
                return Err(Error::data(place, format!("the value is {value}"), hint));
            }
        }
        Ok(Self::from_checked(shape, values, mask))
    }

    /// Stores images as bytes where possible, and discards a mask without `false`.
    fn from_checked(shape: Vec<usize>, values: Vec<f32>, mask: Option<Vec<bool>>) -> Self {
        let values = if shape.len() == 3 { Values::encode(values) } else { Values::Plain(values) };
        Self { shape, values, mask: mask.filter(|mask| mask.contains(&false)), lost_digits: None }
    }

    /// The same units, with what was lost when they were read.
    pub(super) fn with_lost_digits(self, lost: Option<LostDigits>) -> Self {
        Self { lost_digits: lost.map(Box::new), ..self }
    }

    /// What single precision has lost of the values of a file. Not known of units that were picked or joined.
    pub(super) fn lost_digits(&self) -> Option<&LostDigits> {
        self.lost_digits.as_deref()
    }

    /// The units of several arrays, one after the other.
    pub(super) fn concat(name: &str, arrays: &[&Self]) -> Result<Self> {
        let shape = &arrays[0].shape;
        if let Some(other) = arrays.iter().find(|units| units.shape != *shape) {
            let problem = format!("units of shape {shape:?} and of shape {:?}", other.shape);
            return Err(Error::data(name, problem, "give units of the same shape"));
        }
        let mut values = Vec::with_capacity(arrays.iter().map(|units| units.values.len()).sum());
        let rows = arrays.iter().flat_map(|units| (0..units.len()).map(|i| units.row(i)));
        rows.for_each(|row| values.extend_from_slice(&row));
        let mask = arrays.iter().any(|units| units.mask.is_some()).then(|| {
            let mut mask = Vec::with_capacity(values.len());
            for units in arrays {
                match &units.mask {
                    Some(observed) => mask.extend_from_slice(observed),
                    None => mask.resize(mask.len() + units.values.len(), true),
                }
            }
            mask
        });
        Ok(Self::from_checked(shape.clone(), values, mask))
    }

    /// The units at `rows`, in that order.
    pub(crate) fn pick(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.elements());
        rows.iter().for_each(|&row| values.extend_from_slice(&self.row(row)));
        let mask = self
            .mask
            .as_ref()
            .map(|_| rows.iter().filter_map(|&row| self.mask_row(row)).flatten().copied().collect());
        Self::from_checked(self.shape.clone(), values, mask)
    }

    /// The elements of several arrays side by side, as one element after the other. An array of one unit is repeated.
    ///
    /// # Errors
    /// If the numbers of units differ.
    pub(crate) fn side_by_side(arrays: &[&Self]) -> Result<Self> {
        let units = arrays.iter().map(|array| array.len()).max().unwrap_or(0);
        if let Some(other) = arrays.iter().find(|array| array.len() != units && array.len() != 1) {
            let problem = format!("{} values beside {units}", other.len());
            return Err(Error::data("treatment", problem, "give one treatment, or one per unit"));
        }
        let (mut values, mut mask) = (Vec::new(), Vec::new());
        for i in 0..units {
            for array in arrays {
                let row = i.min(array.len() - 1);
                values.extend_from_slice(&array.row(row));
                match array.mask_row(row) {
                    Some(known) => mask.extend_from_slice(known),
                    None => mask.resize(values.len(), true),
                }
            }
        }
        let elements = arrays.iter().map(|array| array.elements()).sum();
        Ok(Self::from_checked(vec![elements], values, Some(mask)))
    }

    /// Some elements of every unit.
    ///
    /// # Panics
    /// If there are fewer elements.
    pub(crate) fn part(&self, elements: Range<usize>) -> Self {
        let values = (0..self.len()).flat_map(|i| self.row(i)[elements.clone()].to_vec()).collect();
        let known = |i: usize| self.mask_row(i).map(|mask| mask[elements.clone()].to_vec());
        let mask = self.mask.as_ref().map(|_| (0..self.len()).filter_map(known).flatten().collect());
        Self::from_checked(vec![elements.len()], values, mask)
    }

    /// The number of units.
    pub fn len(&self) -> usize {
        self.values.len() / self.elements()
    }

    /// Whether there are no units.
    pub fn is_empty(&self) -> bool {
        self.values.len() == 0
    }

    /// The shape of one unit.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements of one unit.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// All values, unit after unit. For images stored as bytes, the first call decodes and keeps a copy of all of
    /// them; [`row`](Self::row) decodes one unit at a time.
    pub fn values(&self) -> &[f32] {
        self.values.as_slice()
    }

    /// Which values were observed; `None` if all were.
    pub fn mask(&self) -> Option<&[bool]> {
        self.mask.as_deref()
    }

    /// The values of unit `i`; an image stored as bytes is decoded, and no other.
    ///
    /// # Panics
    /// If there is no unit `i`.
    pub fn row(&self, i: usize) -> Cow<'_, [f32]> {
        let size = self.elements();
        self.values.slice(i * size..(i + 1) * size)
    }

    /// Units of which nothing was observed.
    pub(crate) fn all_missing(shape: Vec<usize>, units: usize) -> Self {
        let count = units * shape.iter().product::<usize>();
        Self::from_checked(shape, vec![0.0; count], Some(vec![false; count]))
    }

    /// Which values of unit `i` were observed; `None` if every value of every unit was.
    ///
    /// # Panics
    /// If there is no unit `i`.
    pub fn mask_row(&self, i: usize) -> Option<&[bool]> {
        let size = self.elements();
        self.mask.as_ref().map(|mask| &mask[i * size..(i + 1) * size])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_is_an_error_with_its_place_unless_it_is_masked() {
        let values = vec![1.0, 2.0, f32::NAN, 4.0];
        let error = Units::new("x", vec![2], values.clone()).unwrap_err();
        assert_eq!(error.to_string(), "x, unit 1, element 0: the value is NaN");
        assert!(error.hint().unwrap().contains("x_mask"));

        let mask = vec![true, true, false, true];
        let units = Units::with_mask("x", vec![2], values, Some(mask)).unwrap();
        assert_eq!(&units.row(1)[..], [0.0, 4.0]);
        assert_eq!(units.mask_row(1), Some(&[false, true][..]));
    }

    #[test]
    fn a_mask_without_missing_values_is_discarded() {
        let units = Units::with_mask("y", vec![1], vec![1.0], Some(vec![true])).unwrap();
        assert_eq!(units.mask(), None);
    }

    #[test]
    fn reading_one_image_does_not_decode_the_others() {
        let values: Vec<f32> = (0..600).map(|i| (i % 7) as f32).collect();
        let images = Units::new("x", vec![1, 2, 3], values.clone()).unwrap();
        assert!(!images.values.is_decoded(), "images of 7 distinct values are stored as bytes");
        assert_eq!(images.row(99), &values[594..]);
        assert_eq!(images.pick(&[3]).row(0), images.row(3));
        assert!(!images.values.is_decoded());
        assert_eq!(images.values(), values);
        assert!(images.values.is_decoded());
        assert!(matches!(images.row(99), Cow::Borrowed(row) if *row == values[594..]));
    }
}
