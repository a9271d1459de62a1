//! Units whose outcomes are images.

use cfqp::report::UnitSummary;
use maud::{Markup, html};

use super::Page;
use super::elements::{details, number, short_name, table};
use crate::png::data_uri;

/// Larger images are subsampled to at most this many pixels along a side.
const MAX_SIDE: usize = 160;

/// An image `[channels, height, width]`; `black` and `white` are the values drawn in these colours.
struct Picture {
    caption: &'static str,
    shape: [usize; 3],
    values: Vec<f64>,
    black: f64,
    white: f64,
}

impl Picture {
    /// None if the shape is not that of an image.
    fn new(
        caption: &'static str,
        shape: &[usize],
        values: Vec<f64>,
        (black, white): (f64, f64),
    ) -> Option<Self> {
        let shape: [usize; 3] = shape.try_into().ok()?;
        (values.len() == shape.iter().product::<usize>()).then_some(Self {
            caption,
            shape,
            values,
            black,
            white,
        })
    }

    /// A PNG as a data URI. Three channels are red, green and blue; of any other number, the mean is drawn.
    fn uri(&self) -> String {
        let [channels, height, width] = self.shape;
        let step = height.max(width).div_ceil(MAX_SIDE);
        let (rows, columns) = (height.div_ceil(step), width.div_ceil(step));
        let at = |c: usize, i: usize, j: usize| self.values[(c * height + i * step) * width + j * step];
        let span = (self.white - self.black).max(1e-12);
        let shade = |value: f64| (255.0 * ((value - self.black) / span).clamp(0.0, 1.0)).round() as u8;
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
    /// The factual and the counterfactual outcome, their difference, and the width of the intervals.
    pub(super) fn images(&self, unit: &UnitSummary) -> Markup {
        html! {
            div {
                div.pictures {
                    @for picture in self.unit_pictures(unit) {
                        figure {
                            img alt=(format_args!("Unit {}: {}", unit.id, picture.caption)) src=(picture.uri());
                            figcaption { (picture.caption) }
                        }
                    }
                }
                (self.channel_means(unit))
            }
        }
    }

    fn unit_pictures(&self, unit: &UnitSummary) -> Vec<Picture> {
        let data = &self.report.data;
        let (low, high) =
            min_max(data.outcomes.iter().flat_map(|outcome| [outcome.range.min, outcome.range.max]));
        let observed =
            |values: &[Option<f32>]| values.iter().map(|v| v.map_or(low, f64::from)).collect::<Vec<_>>();
        let widen = |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
        let (factual, answer) = (observed(&unit.factual), widen(&unit.answer));
        let change = subtract(&answer, &factual);
        let width = subtract(&widen(&unit.upper), &widen(&unit.lower));
        let covariates = observed(&unit.before);
        let (x_low, x_high) = min_max(covariates.iter().copied());
        let (max_change, max_width) = (max_size(&change), max_size(&width));
        let y = &data.y_shape;
        let pictures = [
            Picture::new("covariates", &data.x_shape, covariates, (x_low, x_high)),
            Picture::new("factual outcome", y, factual, (low, high)),
            Picture::new("counterfactual outcome", y, answer, (low, high)),
            Picture::new("change: grey none, bright more, dark less", y, change, (-max_change, max_change)),
            Picture::new("interval width: bright is uncertain", y, width, (0.0, max_width)),
        ];
        pictures.into_iter().flatten().collect()
    }

    /// The pictures as numbers: the mean of each channel.
    fn channel_means(&self, unit: &UnitSummary) -> Markup {
        let mut start = 0;
        let mut rows = Vec::new();
        for outcome in &self.report.data.outcomes {
            let elements = start..start + outcome.elements;
            start = elements.end;
            let mean = |values: &[f32]| mean(values[elements.clone()].iter().copied());
            let factual = self::mean(unit.factual[elements.clone()].iter().copied().flatten());
            let means = [factual, mean(&unit.answer), mean(&unit.lower), mean(&unit.upper)].map(number);
            rows.push(std::iter::once(short_name(&outcome.name)).chain(means).collect::<Vec<_>>());
        }
        let head = ["mean of", "factual", "counterfactual", "lower", "upper"];
        let numbers = html! { p { "Means over the pixels of each channel:" } (table(&head, &rows)) };
        details("The numbers", &numbers)
    }
}

fn mean(values: impl Iterator<Item = f32>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + f64::from(value), n + 1.0));
    sum / n
}

fn min_max(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

fn max_size(values: &[f64]) -> f64 {
    values.iter().map(|v| v.abs()).fold(1e-12, f64::max)
}

fn subtract(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
