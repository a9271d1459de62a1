//! Digits drawn from strokes, for use without downloads.

use super::uniform;
use crate::Rng;

/// Pixels on a side.
pub(super) const SIDE: usize = 28;

/// A point of a glyph: x to the right, y downwards, the glyph one high and centred on the origin.
type Point = (f64, f64);

/// One stroke of a glyph.
enum Stroke {
    /// Line segments through these points.
    Line(&'static [Point]),
    /// An arc of an ellipse; degrees run clockwise from the right.
    Arc { centre: Point, radii: Point, degrees: (f64, f64) },
}

use Stroke::{Arc, Line};

#[rustfmt::skip]
const GLYPHS: [&[Stroke]; 10] = [
    &[Arc { centre: (0.0, 0.0), radii: (0.3, 0.5), degrees: (0.0, 360.0) }],
    &[Line(&[(-0.12, -0.32), (0.04, -0.5), (0.04, 0.5)])],
    &[
        Arc { centre: (0.0, -0.22), radii: (0.27, 0.28), degrees: (190.0, 390.0) },
        Line(&[(0.234, -0.08), (-0.28, 0.5), (0.3, 0.5)]),
    ],
    &[
        Arc { centre: (-0.02, -0.25), radii: (0.26, 0.25), degrees: (205.0, 450.0) },
        Arc { centre: (-0.02, 0.25), radii: (0.3, 0.25), degrees: (270.0, 515.0) },
    ],
    &[Line(&[(0.12, 0.5), (0.12, -0.5), (-0.3, 0.17), (0.3, 0.17)])],
    &[
        Line(&[(0.25, -0.5), (-0.2, -0.5), (-0.24, -0.02)]),
        Arc { centre: (-0.01, 0.17), radii: (0.28, 0.33), degrees: (215.0, 500.0) },
    ],
    &[
        Arc { centre: (0.2, 0.2), radii: (0.47, 0.7), degrees: (268.0, 180.0) },
        Arc { centre: (0.0, 0.22), radii: (0.27, 0.28), degrees: (0.0, 360.0) },
    ],
    &[Line(&[(-0.28, -0.5), (0.28, -0.5), (-0.08, 0.5)])],
    &[
        Arc { centre: (0.0, -0.26), radii: (0.23, 0.24), degrees: (0.0, 360.0) },
        Arc { centre: (0.0, 0.24), radii: (0.28, 0.26), degrees: (0.0, 360.0) },
    ],
    &[
        Arc { centre: (0.0, -0.22), radii: (0.26, 0.28), degrees: (0.0, 360.0) },
        Line(&[(0.26, -0.22), (0.24, 0.1), (0.12, 0.5)]),
    ],
];

/// The random style of one digit.
struct Handwriting {
    /// The horizontal shift per height.
    slant: f64,
    /// The horizontal bow of the middle.
    bow: f64,
    /// Size in pixels, across and down.
    scale: Point,
    /// Centre in pixels.
    offset: Point,
    /// Half the stroke's width in pixels.
    half_width: f64,
}

impl Handwriting {
    fn draw(rng: &mut Rng) -> Self {
        let height = uniform(rng, 16.0, 20.0);
        let middle = (SIDE as f64 - 1.0) / 2.0;
        Self {
            slant: uniform(rng, -0.1, 0.3),
            bow: uniform(rng, -0.12, 0.12),
            scale: (height * uniform(rng, 0.8, 1.05), height),
            offset: (middle + uniform(rng, -1.0, 1.0), middle + uniform(rng, -1.0, 1.0)),
            half_width: uniform(rng, 0.9, 1.9),
        }
    }

    /// The position of a point of the glyph on the image, in pixels.
    fn place(&self, (x, y): Point) -> Point {
        let x = x - self.slant * y + self.bow * (0.25 - y * y);
        (self.offset.0 + self.scale.0 * x, self.offset.1 + self.scale.1 * y)
    }
}

/// The digit `label` in a random handwriting, with pixels in 0..=255.
///
/// # Shapes
/// `[28, 28]`.
pub(super) fn draw_digit(label: usize, rng: &mut Rng) -> Vec<u8> {
    let hand = Handwriting::draw(rng);
    let strokes: Vec<Vec<Point>> = GLYPHS[label].iter().map(|stroke| placed(stroke, &hand)).collect();
    let shade = |i: usize| {
        let at = ((i % SIDE) as f64, (i / SIDE) as f64);
        let pieces = strokes.iter().flat_map(|stroke| stroke.windows(2));
        let square = pieces.map(|ends| square_distance(at, ends[0], ends[1])).fold(f64::INFINITY, f64::min);
        let ink = (hand.half_width + 0.5 - square.sqrt()).clamp(0.0, 1.0);
        (255.0 * ink).round() as u8
    };
    (0..SIDE * SIDE).map(shade).collect()
}

/// The stroke as line segments on the image.
fn placed(stroke: &Stroke, hand: &Handwriting) -> Vec<Point> {
    match stroke {
        // divided into shorter segments, so that they can bow
        Line(points) => {
            let cut = |ends: &[Point]| -> Vec<Point> {
                let ((ax, ay), (bx, by)) = (ends[0], ends[1]);
                (0..=4)
                    .map(|k| f64::from(k) / 4.0)
                    .map(|u| (ax + u * (bx - ax), ay + u * (by - ay)))
                    .collect()
            };
            points.windows(2).flat_map(cut).map(|point| hand.place(point)).collect()
        }
        Arc { centre, radii, degrees: (from, to) } => {
            let pieces = 24;
            let point = |k| {
                let angle = (from + (to - from) * f64::from(k) / f64::from(pieces)).to_radians();
                hand.place((centre.0 + radii.0 * angle.cos(), centre.1 + radii.1 * angle.sin()))
            };
            (0..=pieces).map(point).collect()
        }
    }
}

/// The squared distance from `at` to the segment between `a` and `b`.
fn square_distance(at: Point, a: Point, b: Point) -> f64 {
    let (along, off) = ((b.0 - a.0, b.1 - a.1), (at.0 - a.0, at.1 - a.1));
    let length = along.0 * along.0 + along.1 * along.1;
    let u = if length > 0.0 { ((off.0 * along.0 + off.1 * along.1) / length).clamp(0.0, 1.0) } else { 0.0 };
    (off.0 - u * along.0).powi(2) + (off.1 - u * along.1).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;

    #[test]
    fn digits_have_the_mean_pixel_of_mnist_and_stay_inside() {
        let mut rng = stream(1, &["glyphs"]);
        let mut means = Vec::new();
        for i in 0..500 {
            let digit = draw_digit(i % 10, &mut rng);
            let outermost = |place: usize| place == 0 || place == SIDE - 1;
            let border = |i: &usize| outermost(i % SIDE) || outermost(i / SIDE);
            let edge: usize = (0..SIDE * SIDE).filter(border).map(|i| usize::from(digit[i])).sum();
            assert_eq!(edge, 0, "digit {} touches the border", i % 10);
            means.push(digit.iter().map(|&pixel| f64::from(pixel)).sum::<f64>() / (SIDE * SIDE) as f64);
        }
        let mean = means.iter().sum::<f64>() / means.len() as f64;
        // the distribution of T is centred on 33, the mean of MNIST
        assert!((28.0..38.0).contains(&mean), "{mean}");
    }
}
