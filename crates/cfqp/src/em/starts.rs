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

/// What a guess is made from.
#[derive(Clone, Copy)]
pub(crate) struct Clues<'a> {
    /// What one model for all leaves unexplained of outcomes of this `shape`, `[n, y elements]`, flat.
    pub residuals: &'a [f32],
    /// The outcomes themselves, standardised.
    pub outcomes: &'a (dyn Fn() -> Vec<f32> + Sync),
    pub shape: &'a [usize],
}

/// A class for every unit; `choice` picks among restarts.
pub(crate) fn guess(
    start: Start,
    clues: Clues<'_>,
    classes: usize,
    choice: Choice,
    rng: &mut Rng,
) -> Result<Vec<usize>> {
    let Clues { residuals, outcomes, shape } = clues;
    let width = shape.iter().product();
    let n = residuals.len() / width;
    let kmeans = |values: &[f32], rng: &mut Rng| -> Result<Vec<usize>> {
        let rows = Rows::new(values, values.len() / n)?;
        Ok(KMeans { choice, ..KMeans::new(classes) }.fit(&rows, rng)?.labels)
    };
    match start {
        Start::Kmeans => kmeans(residuals, rng),
        Start::KmeansScaled => kmeans(&scaled(residuals, width), rng),
        Start::KmeansUnit => kmeans(&unit_length(residuals, width), rng),
        Start::KmeansOutcome => kmeans(&forms(outcomes(), shape), rng),
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

/// How strong each channel of an outcome is beside the others; of one channel, the outcome at unit length.
fn forms(outcomes: Vec<f32>, shape: &[usize]) -> Vec<f32> {
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
    fn channels_tell_classes_apart_whatever_is_drawn_in_them() {
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
        let clues = Clues { residuals: &outcomes, outcomes: &|| outcomes.clone(), shape: &[2, 3, 3] };
        let labels = guess(Start::KmeansOutcome, clues, 3, Choice::BestFit, &mut stream(1, &[])).unwrap();
        assert!(
            (0..90).all(|i| labels[i] == labels[i % 3]) && labels[0] != labels[1] && labels[1] != labels[2]
        );
    }

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
        let clues = Clues { residuals: &residuals, outcomes: &|| residuals.clone(), shape: &[2] };
        let guess = |start| guess(start, clues, 2, Choice::BestFit, &mut stream(1, &[])).unwrap();
        let labels = guess(Start::KmeansUnit);
        let same = labels.iter().zip(&truth).filter(|(a, b)| a == b).count();
        assert!(same == 400 || same == 0, "{same} of 400");
        assert_eq!(guess(Start::KmeansOutcome), labels, "of outcomes that are such residuals");
        let raw = guess(Start::Kmeans);
        let same = raw.iter().zip(&truth).filter(|(a, b)| a == b).count();
        assert!(same > 0 && same < 400);
    }
}
