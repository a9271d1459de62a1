//! Units whose outcomes are images: a row for the truth and one per method, a block of columns per unit.

use maud::{Markup, html};

use cfqp_cli::format::format_short;
use cfqp_html::chart::{Pixels, standalone};
use cfqp_html::png::data_uri;

use super::Gallery;

/// The size of an image's pixel in the drawing.
const ZOOM: f64 = 3.0;
/// The distance between images.
const GAP: f64 = 4.0;
/// The additional distance between units.
const UNIT_GAP: f64 = 16.0;
/// The height of the titles.
const HEAD_HEIGHT: f64 = 92.0;
/// The width of the names of methods.
const NAME_WIDTH: f64 = 108.0;

impl Gallery {
    pub(super) fn draw_images(&self) -> String {
        let (image_width, row_height) = (self.shape[2] as f64 * ZOOM, self.shape[1] as f64 * ZOOM + GAP);
        let columns = self.treatments.len();
        let left = |unit: usize, column: usize| {
            let images = (unit * columns + column) as f64;
            NAME_WIDTH + images * (image_width + GAP) + unit as f64 * UNIT_GAP
        };
        let content = html! {
            text class="title" x="12" y="30" { (self.title()) }
            @for (u, unit) in self.units.iter().enumerate() {
                text class="heading" x=(Pixels(left(u, 0))) y="62" {
                    "unit of class " (unit.class) ": got " (format_short(f64::from(unit.t))) "°, asked about"
                }
                @for (c, treatment) in self.treatments.iter().enumerate() {
                    text class="note" x=(Pixels(left(u, c) + 0.5 * image_width)) y="83" text-anchor="middle" {
                        (treatment) "°"
                    }
                }
            }
            @for (row, (name, images)) in self.image_rows().into_iter().enumerate() {
                @let top = HEAD_HEIGHT + row as f64 * row_height;
                text class="heading" x="12" y=(Pixels(top + 0.5 * row_height + 2.0)) { (name) }
                @for (i, values) in images.into_iter().enumerate() {
                    (self.image(values, left(i / columns, i % columns), top))
                }
            }
        };
        let width = left(self.units.len(), 0) - UNIT_GAP + 8.0;
        let height = HEAD_HEIGHT + (self.answers.len() + 1) as f64 * row_height + 8.0;
        standalone((width, height), 1.0, &self.title(), &content)
    }

    /// The name of every row and its images, unit by unit.
    fn image_rows(&self) -> Vec<(&'static str, Vec<&[f32]>)> {
        let size: usize = self.shape.iter().product();
        let cells = || (0..self.units.len()).flat_map(|u| (0..self.treatments.len()).map(move |c| (u, c)));
        let mut rows = vec![("truth", cells().map(|(u, c)| &self.units[u].truth[c][..]).collect())];
        for (method, answers) in &self.answers {
            rows.push((method.name(), cells().map(|(u, c)| &answers[c][u * size..(u + 1) * size]).collect()));
        }
        rows
    }

    /// An image with values between 0 and 1.
    fn image(&self, values: &[f32], left: f64, top: f64) -> Markup {
        let (height, width) = (self.shape[1], self.shape[2]);
        let shade = |pixel: usize, channel: usize| {
            let channel = channel.min(self.shape[0] - 1);
            (255.0 * values[channel * height * width + pixel].clamp(0.0, 1.0)).round() as u8
        };
        let rgb: Vec<u8> = (0..height * width).flat_map(|pixel| [0, 1, 2].map(|c| shade(pixel, c))).collect();
        html! {
            image class="pixels" x=(Pixels(left)) y=(Pixels(top))
                width=(ZOOM * width as f64) height=(ZOOM * height as f64) href=(data_uri(width, height, &rgb)) {}
        }
    }
}
