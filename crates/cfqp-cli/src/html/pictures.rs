//! Units that are images: as pictures.

use std::fmt::Write as _;

use cfqp::UnitSummary;

use super::Page;
use super::text::{escape, number, paragraph, short, table};
use crate::png::data_uri;

/// Pixels along a side that are drawn, at most: of larger images every second, third, ... pixel.
const SIDE: usize = 160;

/// An image `[channels, height, width]` of values.
struct Picture {
    shape: [usize; 3],
    values: Vec<f64>,
}

impl Picture {
    fn new(shape: &[usize], values: Vec<f64>) -> Option<Self> {
        let shape: [usize; 3] = shape.try_into().ok()?;
        (values.len() == shape.iter().product::<usize>()).then_some(Self { shape, values })
    }

    /// The address of the picture with `low` as black and `high` as white; three channels are red, green and blue, of any
    /// other number the mean is drawn.
    fn uri(&self, low: f64, high: f64) -> String {
        let [channels, height, width] = self.shape;
        let step = height.max(width).div_ceil(SIDE);
        let (rows, columns) = (height.div_ceil(step), width.div_ceil(step));
        let at = |c: usize, i: usize, j: usize| self.values[(c * height + i * step) * width + j * step];
        let shade =
            |value: f64| (255.0 * ((value - low) / (high - low).max(1e-12)).clamp(0.0, 1.0)).round() as u8;
        let mut rgb = Vec::with_capacity(3 * rows * columns);
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            let mean = || (0..channels).map(|c| at(c, i, j)).sum::<f64>() / channels as f64;
            match channels {
                3 => rgb.extend((0..3).map(|c| shade(at(c, i, j)))),
                _ => rgb.extend([shade(mean()); 3]),
            }
        }
        data_uri(columns, rows, &rgb)
    }
}

impl Page<'_> {
    /// What a unit had, showed and would have shown, and where the two differ.
    pub(super) fn images(&self, unit: &UnitSummary) -> String {
        let shape = &self.report.data.y_shape;
        let ends = self.report.data.outcomes.iter().map(|outcome| outcome.range);
        let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), [least, _, most]| {
            (low.min(least), high.max(most))
        });
        let seen =
            |values: &[Option<f32>]| values.iter().map(|v| v.map_or(low, f64::from)).collect::<Vec<_>>();
        let told = |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
        let gap = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>();
        let (factual, answer) = (seen(&unit.factual), told(&unit.answer));
        let change = gap(&answer, &factual);
        let width = gap(&told(&unit.upper), &told(&unit.lower));
        let most = |values: &[f64]| values.iter().map(|v| v.abs()).fold(1e-12, f64::max);
        let (far, wide) = (most(&change), most(&width));
        let mut pictures = vec![
            ("showed", Picture::new(shape, factual), (low, high)),
            ("would have shown", Picture::new(shape, answer), (low, high)),
            ("change: grey none, bright more, dark less", Picture::new(shape, change), (-far, far)),
            ("width of the band: bright is unsure", Picture::new(shape, width), (0.0, wide)),
        ];
        if self.report.data.x_shape.len() == 3 {
            let x = seen(&unit.before);
            let ends = x
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
            pictures.insert(0, ("had before", Picture::new(&self.report.data.x_shape, x), ends));
        }
        let mut out = "<div class=\"pictures\">".to_owned();
        for (what, picture, (low, high)) in pictures {
            let Some(picture) = picture else { continue };
            let alt = escape(&format!("Unit {}: what it {what}", unit.id));
            let uri = picture.uri(low, high);
            let _ = write!(
                out,
                "<figure><img alt=\"{alt}\" src=\"{uri}\"/><figcaption>{what}</figcaption></figure>"
            );
        }
        out + "</div>" + &self.channel_means(unit)
    }

    /// The pictures in words: means of each channel.
    fn channel_means(&self, unit: &UnitSummary) -> String {
        let mut start = 0;
        let mut rows = Vec::new();
        for outcome in &self.report.data.outcomes {
            let own = start..start + outcome.elements;
            start = own.end;
            let mean = |values: &[f32]| {
                values[own.clone()].iter().map(|v| f64::from(*v)).sum::<f64>() / own.len() as f64
            };
            let seen: Vec<f64> = unit.factual[own.clone()].iter().flatten().map(|v| f64::from(*v)).collect();
            let was = seen.iter().sum::<f64>() / seen.len() as f64;
            let told = [was, mean(&unit.answer), mean(&unit.lower), mean(&unit.upper)].map(number);
            rows.push(std::iter::once(short(&outcome.name)).chain(told).collect::<Vec<_>>());
        }
        let head = ["mean of", "showed", "would have shown", "lower", "upper"];
        let words = paragraph("Means over the pixels of each channel:");
        format!("<details><summary>The numbers</summary>{words}{}</details>", table(&head, &rows))
    }
}
