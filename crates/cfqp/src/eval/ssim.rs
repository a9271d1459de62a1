//! Structural similarity (SSIM) of images.
//!
//! With means m, variances v and the covariance c of two images a and b in a 7 x 7 window (sample moments, over
//! n - 1 = 48), SSIM = (2 m_a m_b + C_1) (2 c + C_2) / ((m_a^2 + m_b^2 + C_1) (v_a + v_b + C_2)), C_1 = 0.01^2 and
//! C_2 = 0.03^2 for values in [0, 1]; the mean over all windows inside the image, then over channels.

use rayon::prelude::*;

use super::measures::check_same_shape;
use crate::data::Units;
use crate::math::mean;
use crate::{Error, Result};

const WINDOW: usize = 7;
const C1: f64 = 0.01 * 0.01;
const C2: f64 = 0.03 * 0.03;

/// The mean SSIM of images with values in [0, 1].
///
/// # Shapes
/// units of `[channels, height, width]`, at least 7 x 7
pub fn ssim(truth: &Units, answer: &Units) -> Result<f64> {
    check_same_shape(truth, answer, "answer")?;
    let &[_, height, width] = truth.shape() else {
        return Err(not_images(truth));
    };
    if height < WINDOW || width < WINDOW || truth.is_empty() || truth.mask().is_some() {
        return Err(not_images(truth));
    }
    let planes = truth.values().par_chunks(height * width).zip(answer.values().par_chunks(height * width));
    let similarities: Vec<f64> = planes.map(|(a, b)| plane_ssim(a, b, width)).collect();
    Ok(mean(&similarities))
}

fn not_images(truth: &Units) -> Error {
    let missing = if truth.mask().is_some() { ", with missing values" } else { "" };
    let problem = format!("{} units of shape {:?}{missing}", truth.len(), truth.shape());
    let hint = "give whole images [channels, height, width] of at least 7 x 7 pixels";
    Error::data("truth", problem, hint)
}

/// Mean SSIM over the windows of one channel.
fn plane_ssim(a: &[f32], b: &[f32], width: usize) -> f64 {
    let pairs = || a.iter().zip(b).map(|(&a, &b)| (f64::from(a), f64::from(b)));
    let means = [
        window_means(pairs().map(|(a, _)| a), width),
        window_means(pairs().map(|(_, b)| b), width),
        window_means(pairs().map(|(a, _)| a * a), width),
        window_means(pairs().map(|(_, b)| b * b), width),
        window_means(pairs().map(|(a, b)| a * b), width),
    ];
    let sum: f64 = (0..means[0].len()).map(|i| window_ssim(means.each_ref().map(|mean| mean[i]))).sum();
    sum / means[0].len() as f64
}

/// SSIM from the means of a, b, a^2, b^2 and a b.
fn window_ssim([a, b, aa, bb, ab]: [f64; 5]) -> f64 {
    let n = (WINDOW * WINDOW) as f64;
    let sample = n / (n - 1.0);
    let (va, vb, c) = (sample * (aa - a * a), sample * (bb - b * b), sample * (ab - a * b));
    (2.0 * a * b + C1) * (2.0 * c + C2) / ((a * a + b * b + C1) * (va + vb + C2))
}

/// Means over all windows inside a plane: along rows, then along columns.
fn window_means(plane: impl Iterator<Item = f64>, width: usize) -> Vec<f64> {
    let plane: Vec<f64> = plane.collect();
    let along: Vec<f64> = plane
        .chunks_exact(width)
        .flat_map(|row| row.windows(WINDOW).map(|window| window.iter().sum()))
        .collect();
    let inner = width + 1 - WINDOW;
    let rows = along.len() / inner + 1 - WINDOW;
    let sum = |i: usize| (0..WINDOW).map(|row| along[i + row * inner]).sum::<f64>();
    (0..rows * inner).map(|i| sum(i) / (WINDOW * WINDOW) as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// 28 x 28 x 3 bytes, channels last, as one image `[3, 28, 28]`.
    fn image(value: &Value) -> Units {
        let bytes: Vec<f32> =
            value.as_array().unwrap().iter().map(|byte| byte.as_f64().unwrap() as f32 / 255.0).collect();
        let values = (0..bytes.len()).map(|i| bytes[i % 784 * 3 + i / 784]).collect();
        Units::new("image", vec![3, 28, 28], values).unwrap()
    }

    #[test]
    fn similarities_and_errors_agree_with_scikit_image() {
        let golden: Value = serde_json::from_str(include_str!("../../tests/golden/ssim.json")).unwrap();
        for pair in golden["pairs"].as_array().unwrap() {
            let (a, b) = (image(&pair["a"]), image(&pair["b"]));
            let close = |seen: f64, key: &str| (seen - pair[key].as_f64().unwrap()).abs() < 1e-6;
            assert!(close(ssim(&a, &b).unwrap(), "ssim_default"));
            assert!(close(crate::eval::mse(&a, &b).unwrap(), "mse"));
        }
    }

    #[test]
    fn series_and_small_images_are_refused() {
        for shape in [vec![3, 28], vec![1, 6, 9], vec![1, 9, 6]] {
            let units = Units::new("a", shape.clone(), vec![0.0; shape.iter().product()]).unwrap();
            let error = ssim(&units, &units).unwrap_err();
            assert_eq!(error.to_string(), format!("truth: 1 units of shape {shape:?}"));
        }
        let seven = Units::new("a", vec![1, 7, 7], vec![0.5; 49]).unwrap();
        assert!((ssim(&seven, &seven).unwrap() - 1.0).abs() < 1e-12);
    }
}
