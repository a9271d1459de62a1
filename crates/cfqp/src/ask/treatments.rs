//! Typical treatments.

use crate::Result;
use crate::data::Units;
use crate::math::argmin;

/// The quantile of the treatments at `share`. Of several treatments, the combination received by a unit that is nearest to
/// the quantile of each: nobody may have received the combination of all quantiles.
pub(crate) fn treatment_quantiles(t: &Units, share: f64) -> Result<Units> {
    let quantile = |j: usize, share: f64| {
        let mut values: Vec<f32> = (0..t.len()).map(|i| t.row(i)[j]).collect();
        values.sort_by(f32::total_cmp);
        values[((values.len() - 1) as f64 * share).round() as usize]
    };
    let at: Vec<f32> = (0..t.elements()).map(|j| quantile(j, share)).collect();
    if t.elements() == 1 {
        return Units::new("treatment", vec![1], at);
    }
    let range: Vec<f32> = (0..t.elements()).map(|j| quantile(j, 1.0) - quantile(j, 0.0)).collect();
    let distance = |i: usize| -> f64 {
        let row = t.row(i);
        let scaled = |j: usize| f64::from((row[j] - at[j]) / range[j].max(f32::MIN_POSITIVE));
        (0..t.elements()).map(|j| scaled(j).powi(2)).sum()
    };
    let nearest = argmin((0..t.len()).map(distance)).unwrap_or(0);
    Units::new("treatment", vec![t.elements()], t.row(nearest).to_vec())
}
