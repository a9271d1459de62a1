//! First guesses of the classes, from what one model for all leaves unexplained.
//!
//! EM has local optima, and no one guess serves all data: where the response scales with x, k-means on raw
//! residuals finds "large against small"; a mixture from scratch fails elsewhere. So several are tried.

use rand::RngExt as _;

use super::cluster::{Choice, GaussianMixture, KMeans, Rows};
use crate::config::Start;
use crate::{Result, Rng};

/// Units that a Gaussian mixture is fitted on, at most.
const MIXTURE_UNITS: usize = 1000;

/// A class for every row of `residuals`; `choice` picks among restarts.
///
/// # Shapes
/// residuals `[n, width]`, flat
pub(crate) fn guess(
    start: Start,
    residuals: &[f32],
    width: usize,
    classes: usize,
    choice: Choice,
    rng: &mut Rng,
) -> Result<Vec<usize>> {
    let n = residuals.len() / width;
    let kmeans = |values: &[f32], rng: &mut Rng| -> Result<Vec<usize>> {
        Ok(KMeans { choice, ..KMeans::new(classes) }.fit(&Rows::new(values, width)?, rng)?.labels)
    };
    match start {
        Start::Kmeans => kmeans(residuals, rng),
        Start::KmeansScaled => kmeans(&scaled(residuals, width), rng),
        Start::KmeansUnit => kmeans(&unit_length(residuals, width), rng),
        Start::Gmm => {
            let some = &residuals[..n.min(MIXTURE_UNITS) * width];
            let fit = GaussianMixture { choice, ..GaussianMixture::new(classes) }
                .fit(&Rows::new(some, width)?, rng)?;
            Ok(fit.assign(&Rows::new(residuals, width)?))
        }
        Start::Annealed | Start::Scratch => Ok((0..n).map(|_| rng.random_range(0..classes)).collect()),
    }
}

/// Every element divided by its deviation over units.
fn scaled(residuals: &[f32], width: usize) -> Vec<f32> {
    let n = (residuals.len() / width) as f32;
    let mut squares = vec![0.0_f32; width];
    for row in residuals.chunks_exact(width) {
        squares.iter_mut().zip(row).for_each(|(sum, r)| *sum += r * r / n);
    }
    let divide = |(r, square): (&f32, &f32)| r / square.sqrt().max(1e-6);
    residuals.chunks_exact(width).flat_map(|row| row.iter().zip(&squares).map(divide)).collect()
}

/// Every unit's residual divided by its length.
fn unit_length(residuals: &[f32], width: usize) -> Vec<f32> {
    let mut out = residuals.to_vec();
    for row in out.chunks_exact_mut(width) {
        let length = row.iter().map(|r| r * r).sum::<f32>().sqrt().max(1e-6);
        row.iter_mut().for_each(|r| *r /= length);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;

    #[test]
    fn unit_length_finds_directions_where_raw_residuals_tell_sizes_apart() {
        let mut rng = stream(5, &["starts"]);
        let truth: Vec<usize> = (0..400).map(|i| i % 2).collect();
        let unit = |&z: &usize| {
            let size: f32 = rng.random_range(1.0..4.0);
            let noise: f32 = rng.random_range(-0.05..0.05);
            [size, size * if z == 0 { 0.3 } else { -0.3 } + noise]
        };
        let residuals: Vec<f32> = truth.iter().flat_map(unit).collect();
        let labels =
            guess(Start::KmeansUnit, &residuals, 2, 2, Choice::BestFit, &mut stream(1, &[])).unwrap();
        let same = labels.iter().zip(&truth).filter(|(a, b)| a == b).count();
        assert!(same == 400 || same == 0, "{same} of 400");
        let raw = guess(Start::Kmeans, &residuals, 2, 2, Choice::BestFit, &mut stream(1, &[])).unwrap();
        let same = raw.iter().zip(&truth).filter(|(a, b)| a == b).count();
        assert!(same > 0 && same < 400);
    }
}
