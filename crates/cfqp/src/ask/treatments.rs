//! Typical treatments.

use crate::Result;
use crate::data::Units;

/// The quantile of the treatments at `share`, in every dimension.
pub(crate) fn treatment_quantiles(t: &Units, share: f64) -> Result<Units> {
    let at = |j: usize| {
        let mut values: Vec<f32> = (0..t.len()).map(|i| t.row(i)[j]).collect();
        values.sort_by(f32::total_cmp);
        values[((values.len() - 1) as f64 * share).round() as usize]
    };
    Units::new("treatment", vec![t.elements()], (0..t.elements()).map(at).collect())
}
