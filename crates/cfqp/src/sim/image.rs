//! Rotation and blur of square grey images.

use serde::{Deserialize, Serialize};

/// The interpolation of a rotated image between pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interpolation {
    /// Weights the four nearest pixels: the image is continuous in the angle.
    #[default]
    Bilinear,
    /// Takes the nearest pixel: the image jumps as the angle changes.
    Nearest,
}

/// `image` rotated by `degrees` counter-clockwise about its centre; pixels from outside are black.
///
/// With pixel centres at whole numbers, y downwards and c = (side - 1)/2, the output at (x, y) is read at
///
/// ```text
/// x' = c + cos(a) (x - c) - sin(a) (y - c)
/// y' = c + sin(a) (x - c) + cos(a) (y - c)
/// ```
///
/// # Shapes
/// `[side, side]` to `[side, side]`
///
/// # Panics
/// If `image` is not `side` x `side`.
pub fn rotate(image: &[f32], side: usize, degrees: f64, interpolation: Interpolation) -> Vec<f32> {
    assert_eq!(image.len(), side * side, "the image is not {side} x {side}");
    let (mut sin, mut cos) = degrees.to_radians().sin_cos();
    if interpolation == Interpolation::Nearest {
        (sin, cos) = (fixed_point(sin), fixed_point(cos));
    }
    let c = (side as f64 - 1.0) / 2.0;
    let read = |i: usize| {
        let (dx, dy) = ((i % side) as f64 - c, (i / side) as f64 - c);
        let (x, y) = (c + cos * dx - sin * dy, c + sin * dx + cos * dy);
        match interpolation {
            Interpolation::Bilinear => bilinear(image, side, x, y),
            Interpolation::Nearest => pixel(image, side, (x + 0.5).floor(), (y + 0.5).floor()),
        }
    };
    (0..side * side).map(|i| read(i) as f32).collect()
}

/// Rounds to 16 binary places, as Pillow does: it decides between pixels that are equally near.
fn fixed_point(value: f64) -> f64 {
    (value * 65536.0 + 0.5).floor() / 65536.0
}

/// The pixel at whole (x, y); black outside.
fn pixel(image: &[f32], side: usize, x: f64, y: f64) -> f64 {
    let inside = 0.0..side as f64;
    if inside.contains(&x) && inside.contains(&y) {
        f64::from(image[y as usize * side + x as usize])
    } else {
        0.0
    }
}

/// The image at any (x, y), interpolated between the four nearest pixels.
fn bilinear(image: &[f32], side: usize, x: f64, y: f64) -> f64 {
    let (left, top) = (x.floor(), y.floor());
    let (u, v) = (x - left, y - top);
    let above = (1.0 - u) * pixel(image, side, left, top) + u * pixel(image, side, left + 1.0, top);
    let below =
        (1.0 - u) * pixel(image, side, left, top + 1.0) + u * pixel(image, side, left + 1.0, top + 1.0);
    (1.0 - v) * above + v * below
}

/// `image` blurred by a 5 x 5 Gaussian of standard deviation `sigma` pixels, mirrored at its edges without repeating the
/// edge pixels.
///
/// # Shapes
/// `[side, side]` to `[side, side]`
///
/// # Panics
/// If `image` is not `side` x `side`, or `side` is below 3.
pub fn blur(image: &[f32], side: usize, sigma: f64) -> Vec<f32> {
    assert!(side >= 3 && image.len() == side * side, "the image is not {side} x {side}");
    let kernel = kernel(sigma);
    let pixels: Vec<f64> = image.iter().map(|&pixel| f64::from(pixel)).collect();
    let across = filter(&pixels, side, |row, column, k| (row, mirrored(column + k, side)), &kernel);
    let both = filter(&across, side, |row, column, k| (mirrored(row + k, side), column), &kernel);
    both.iter().map(|&pixel| pixel as f32).collect()
}

/// exp(-d^2 / (2 sigma^2)) at d = -2..2, summing to one.
fn kernel(sigma: f64) -> [f64; 5] {
    let weights: [f64; 5] = std::array::from_fn(|k| (-0.5 * ((k as f64 - 2.0) / sigma).powi(2)).exp());
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

/// Replaces every pixel by the weighted sum of the five at `place(row, column, 0..5)`.
fn filter(
    image: &[f64],
    side: usize,
    place: impl Fn(usize, usize, usize) -> (usize, usize),
    kernel: &[f64; 5],
) -> Vec<f64> {
    let sum = |i: usize| {
        let weighted = kernel.iter().enumerate().map(|(k, weight)| {
            let (row, column) = place(i / side, i % side, k);
            weight * image[row * side + column]
        });
        weighted.sum()
    };
    (0..side * side).map(sum).collect()
}

/// Position `shifted - 2`, mirrored into `0..side`.
fn mirrored(shifted: usize, side: usize) -> usize {
    let inside = shifted.abs_diff(2);
    inside.min(2 * (side - 1) - inside)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn golden() -> Value {
        serde_json::from_str(include_str!("../../tests/golden/rotate_blur.json")).unwrap()
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }

    /// The golden image in [0, 1].
    fn source(golden: &Value) -> Vec<f32> {
        numbers(&golden["source"]).iter().map(|pixel| (pixel / 255.0) as f32).collect()
    }

    fn largest_difference(ours: &[f32], golden: &[f64]) -> f64 {
        assert_eq!(ours.len(), golden.len());
        ours.iter().zip(golden).map(|(ours, golden)| (f64::from(*ours) - golden).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn bilinear_rotations_agree_with_torchvision() {
        let golden = golden();
        for case in golden["rotate"].as_array().unwrap() {
            let degrees = case["angle"].as_f64().unwrap();
            let ours = rotate(&source(&golden), 28, degrees, Interpolation::Bilinear);
            let difference = largest_difference(&ours, &numbers(&case["tensor_bilinear"]));
            assert!(difference < 5e-6, "{degrees} degrees: {difference}");
        }
    }

    #[test]
    fn nearest_rotations_agree_with_pillow() {
        let golden = golden();
        for case in golden["rotate"].as_array().unwrap() {
            let degrees = case["angle"].as_f64().unwrap();
            let ours = rotate(&source(&golden), 28, degrees, Interpolation::Nearest);
            let pixels: Vec<f32> = ours.iter().map(|pixel| (pixel * 255.0).round()).collect();
            let difference = largest_difference(&pixels, &numbers(&case["pil_nearest"]));
            assert_eq!(difference, 0.0, "{degrees} degrees");
        }
    }

    #[test]
    fn blurs_agree_with_torchvision() {
        let golden = golden();
        for case in golden["blur"].as_array().unwrap() {
            let sigma = case["sigma"].as_f64().unwrap();
            for (ours, golden) in kernel(sigma).iter().zip(numbers(&case["kernel1d"])) {
                assert!((ours - golden).abs() < 1e-7);
            }
            let difference = largest_difference(&blur(&source(&golden), 28, sigma), &numbers(&case["float"]));
            assert!(difference < 1e-6, "sigma {sigma}: {difference}");
        }
    }
}
