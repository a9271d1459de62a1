//! k-means and diagonal Gaussian mixtures on as many rows as there are residuals of digits.

use cfqp::measure::stream;
use cfqp::measure::{GaussianMixture, KMeans, Rows};
use rand::RngExt as _;

use super::{Bench, Row, Topic, seconds};
use cfqp_cli::error::{Failure, Result};

const CLASSES: usize = 6;

pub(super) fn run(bench: &mut Bench) -> Result<Vec<Row>> {
    let (n, width, iterations, rounds) = if bench.quick { (600, 50, 2, 1) } else { (42_000, 2352, 8, 3) };
    let values = overlapping_groups(n, width);
    let rows = Rows::new(&values, width)?;
    let centers = values[..CLASSES * width].to_vec();
    let k_means = KMeans { max_iterations: iterations, tolerance: 0.0, ..KMeans::new(CLASSES) };
    let mixture =
        GaussianMixture { max_iterations: iterations, tolerance: 0.0, ..GaussianMixture::new(CLASSES) };
    let (weights, ones) = (vec![1.0 / CLASSES as f64; CLASSES], vec![1.0; CLASSES * width]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(bench.threads).build();
    let pool = pool.map_err(|error| Failure::new(error.to_string(), "reduce --threads"))?;
    let mut found = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let ours = [
            seconds(|| pool.install(|| k_means.fit_from(&rows, centers.clone()))).0,
            seconds(|| {
                pool.install(|| mixture.fit_from(&rows, weights.clone(), centers.clone(), ones.clone()))
            })
            .0,
        ];
        for (i, (kind, ours)) in ["kmeans", "mixture"].into_iter().zip(ours).enumerate() {
            let request = format!("{kind} {n} {width} {CLASSES} {iterations}");
            let peer =
                bench.peers.as_mut().map(|peers| peers.ask(&request, "seconds")).transpose()?.flatten();
            found[i].push((ours, peer));
        }
    }
    let names = ["k-means", "diagonal mixture"]
        .map(|what| format!("{what}, {n} x {width}, K = 6, {iterations} steps"));
    Ok(names
        .into_iter()
        .zip(&found)
        .map(|(name, rounds)| Row::from_rounds(Topic::Groups, name, rounds, "s"))
        .collect())
}

/// Rows scattered about as many centers as there are groups, overlapping enough that the iterations do not converge.
fn overlapping_groups(n: usize, width: usize) -> Vec<f32> {
    let mut rng = stream(4, &["measure", "clouds"]);
    let centers: Vec<f32> = (0..CLASSES * width).map(|_| rng.random_range(-0.1..0.1)).collect();
    (0..n * width)
        .map(|i| centers[i / width % CLASSES * width + i % width] + rng.random_range(-1.0..1.0))
        .collect()
}
