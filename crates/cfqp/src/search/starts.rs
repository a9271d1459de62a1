//! Initial labels for EM, from the residuals of a single model.
//!
//! EM has local optima, and no single start suits all data. Where the response scales with x, for example, k-means on raw
//! residuals separates large from small residuals. So EM is run from several starts.

use rand::RngExt as _;

use crate::config::Start;
use crate::math::cluster::{Choice, GaussianMixture, KMeans, Rows};
use crate::{Error, Result, Rng};

/// The largest number of units that a Gaussian mixture is fitted to.
const MAX_MIXTURE_UNITS: usize = 1000;

/// The data that initial labels are computed from.
#[derive(Clone, Copy)]
pub(crate) struct StartInputs<'a> {
    /// Residuals of the single model, `[n, y elements]`, flat.
    pub residuals: &'a [f32],
    /// Computes the standardised outcomes, `[n, y elements]`, flat; called only by starts that need them.
    pub outcomes: &'a (dyn Fn() -> Vec<f32> + Sync),
    /// The shape of one outcome.
    pub shape: &'a [usize],
}

/// The initial class of every unit; `choice` selects among restarts.
///
/// # Errors
/// If there are fewer units than classes, or the clustering fails.
pub(crate) fn initial_labels(
    start: Start,
    inputs: StartInputs<'_>,
    classes: usize,
    choice: Choice,
    rng: &mut Rng,
) -> Result<Vec<usize>> {
    let StartInputs { residuals, outcomes, shape } = inputs;
    let width = shape.iter().product();
    let n = residuals.len() / width;
    if n < classes {
        let problem = format!("{n} training units cannot form {classes} classes");
        return Err(Error::fit(problem, "try fewer classes, or give more units"));
    }
    let kmeans = |values: &[f32], rng: &mut Rng| -> Result<Vec<usize>> {
        let rows = Rows::new(values, values.len() / n)?;
        Ok(KMeans { choice, ..KMeans::new(classes) }.fit(&rows, rng)?.labels)
    };
    match start {
        Start::Kmeans => kmeans(residuals, rng),
        Start::KmeansScaled => kmeans(&scaled(residuals, width), rng),
        Start::KmeansUnit => kmeans(&unit_length(residuals, width), rng),
        Start::KmeansOutcome => kmeans(&outcome_profile(outcomes(), shape), rng),
        Start::Gmm => {
            let first = &residuals[..n.min(MAX_MIXTURE_UNITS) * width];
            let fit = GaussianMixture { choice, ..GaussianMixture::new(classes) }
                .fit(&Rows::new(first, width)?, rng)?;
            Ok(fit.assign(&Rows::new(residuals, width)?))
        }
        Start::Annealed | Start::Scratch => Ok((0..n).map(|_| rng.random_range(0..classes)).collect()),
    }
}

/// Every element divided by its standard deviation over units.
fn scaled(residuals: &[f32], width: usize) -> Vec<f32> {
    let n = (residuals.len() / width) as f32;
    let mut squares = vec![0.0_f32; width];
    for row in residuals.chunks_exact(width) {
        squares.iter_mut().zip(row).for_each(|(sum, r)| *sum += r * r / n);
    }
    let divide = |(r, square): (&f32, &f32)| r / square.sqrt().max(1e-6);
    residuals.chunks_exact(width).flat_map(|row| row.iter().zip(&squares).map(divide)).collect()
}

/// The relative strengths of the channels of every outcome; if there is only one channel, the outcomes scaled to unit
/// length.
fn outcome_profile(outcomes: Vec<f32>, shape: &[usize]) -> Vec<f32> {
    let (channels, sites) = (shape[0], shape[1..].iter().product::<usize>());
    if channels == 1 || sites == 1 {
        return unit_length(&outcomes, channels * sites);
    }
    let strength = |channel: &[f32]| channel.iter().map(|y| y * y).sum::<f32>().sqrt();
    unit_length(&outcomes.chunks_exact(sites).map(strength).collect::<Vec<_>>(), channels)
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
    fn channel_strengths_identify_classes_of_different_images() {
        let mut rng = stream(6, &["starts"]);
        let unit = |i: usize| {
            let drawn: Vec<f32> = (0..9).map(|_| rng.random_range(0.0..1.0)).collect();
            let colour = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]][i % 3];
            colour
                .into_iter()
                .flat_map(|c| drawn.iter().map(move |v| c * v).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        };
        let outcomes: Vec<f32> = (0..90).flat_map(unit).collect();
        let inputs = StartInputs { residuals: &outcomes, outcomes: &|| outcomes.clone(), shape: &[2, 3, 3] };
        let labels =
            initial_labels(Start::KmeansOutcome, inputs, 3, Choice::BestFit, &mut stream(1, &[])).unwrap();
        assert!(
            (0..90).all(|i| labels[i] == labels[i % 3]) && labels[0] != labels[1] && labels[1] != labels[2]
        );
    }

    #[test]
    fn unit_length_residuals_separate_directions_and_raw_residuals_sizes() {
        let mut rng = stream(5, &["starts"]);
        let truth: Vec<usize> = (0..400).map(|i| i % 2).collect();
        let unit = |&z: &usize| {
            let size: f32 = rng.random_range(1.0..4.0);
            let noise: f32 = rng.random_range(-0.05..0.05);
            [size, size * if z == 0 { 0.3 } else { -0.3 } + noise]
        };
        let residuals: Vec<f32> = truth.iter().flat_map(unit).collect();
        let inputs = StartInputs { residuals: &residuals, outcomes: &|| residuals.clone(), shape: &[2] };
        let labels = |start| initial_labels(start, inputs, 2, Choice::BestFit, &mut stream(1, &[])).unwrap();
        let by_direction = labels(Start::KmeansUnit);
        let same = by_direction.iter().zip(&truth).filter(|(a, b)| a == b).count();
        assert!(same == 400 || same == 0, "{same} of 400");
        assert_eq!(labels(Start::KmeansOutcome), by_direction, "the outcomes are equal to the residuals");
        let raw = labels(Start::Kmeans);
        let same = raw.iter().zip(&truth).filter(|(a, b)| a == b).count();
        assert!(same > 0 && same < 400);
    }
}
