//! Units whose outcomes are series: a row of panels per unit.

use maud::{Markup, html};

use cfqp_cli::format::format_short;
use cfqp_html::chart::{Anchor, Chart, Frame, padded_range, standalone};

use super::Gallery;
use crate::reproduce::figures::line_class;

const WIDTH: f64 = 1080.0;
/// The height of the title and the legend.
const HEAD_HEIGHT: f64 = 72.0;
const PANEL_HEIGHT: f64 = 200.0;
/// The width of a letter of the legend, about.
const LETTER: f64 = 6.2;

impl Gallery {
    pub(super) fn draw_series(&self) -> String {
        let height = HEAD_HEIGHT + PANEL_HEIGHT * self.units.len() as f64 + 14.0;
        let content = html! {
            text class="title" x="50" y="30" { (self.title()) }
            (self.legend())
            @for unit in 0..self.units.len() {
                @for column in 0..self.treatments.len() { (self.panel(unit, column)) }
            }
        };
        standalone((WIDTH, height), 1.0, &self.title(), &content)
    }

    fn legend(&self) -> Markup {
        let mut left = 50.0 + 46.0 + LETTER * 5.0;
        let methods = self.answers.iter().map(|(method, _)| {
            let at = left;
            left += 46.0 + LETTER * method.name().len() as f64;
            (at, *method)
        });
        let methods: Vec<_> = methods.collect();
        html! {
            @for x in [52, 60, 68] { circle class="dot ink" cx=(x) cy="54" r="2" {} }
            text class="heading" x="77" y="58" { "truth" }
            @for (left, method) in methods {
                path class=(format_args!("line {}", line_class(method))) d=(format_args!("M{left:.1} 54h20")) {}
                text class="heading" x=(format_args!("{:.1}", left + 27.0)) y="58" { (method.name()) }
            }
        }
    }

    /// One unit under one treatment, in the channel with the largest effect.
    fn panel(&self, unit: usize, column: usize) -> Markup {
        let (width, shown) = (WIDTH / self.treatments.len() as f64, &self.units[unit]);
        let (left, top) = (column as f64 * width, HEAD_HEIGHT + unit as f64 * PANEL_HEIGHT);
        let frame = Frame {
            left: left + 50.0,
            right: left + width - 14.0,
            top: top + 30.0,
            bottom: top + PANEL_HEIGHT - 26.0,
        };
        let steps = self.shape[self.shape.len() - 1];
        let channel = channel_with_largest_effect(&shown.truth, steps);
        let mut chart = Chart::in_frame(frame, (0.5, steps as f64 + 0.5), self.value_range(unit, channel));
        chart.draw_y_axis(4.0);
        chart.draw_x_axis(6.0);
        for (method, answers) in &self.answers {
            chart.line(line_class(*method), self.series(&answers[column], unit, channel));
        }
        for (x, y) in points(&shown.truth[column], channel, steps) {
            chart.circle("dot ink", x, y, 2.0);
        }
        if column == 0 {
            let (class, t) = (shown.class, format_short(f64::from(shown.t)));
            let title = format!("unit of class {class}: got t = {t}, channel {}", channel + 1);
            chart.text("heading", frame.left, top + 20.0, Anchor::Start, &title);
        }
        let asked = format!("t' = {}", self.treatments[column]);
        chart.text("note", frame.right, top + 20.0, Anchor::End, &asked);
        if unit + 1 == self.units.len() {
            let middle = 0.5 * (frame.left + frame.right);
            chart.text("", middle, frame.bottom + 34.0, Anchor::Middle, "step");
        }
        chart.into_marks()
    }

    /// The points of one unit in `answers`, which holds all units.
    fn series<'a>(
        &self,
        answers: &'a [f32],
        unit: usize,
        channel: usize,
    ) -> impl Iterator<Item = (f64, f64)> + use<'a> {
        let size: usize = self.shape.iter().product();
        points(&answers[unit * size..(unit + 1) * size], channel, self.shape[self.shape.len() - 1])
    }

    /// The range of all series of a unit, under all treatments.
    fn value_range(&self, unit: usize, channel: usize) -> (f64, f64) {
        let steps = self.shape[self.shape.len() - 1];
        let truth = self.units[unit].truth.iter().flat_map(|truth| points(truth, channel, steps));
        let answers = self.answers.iter().flat_map(|(_, answers)| answers);
        let answers = answers.flat_map(|answers| self.series(answers, unit, channel));
        padded_range(truth.chain(answers).map(|(_, y)| y))
    }
}

/// One channel of an outcome as points; the first step is 1.
fn points(outcome: &[f32], channel: usize, steps: usize) -> impl Iterator<Item = (f64, f64)> {
    let series = &outcome[channel * steps..(channel + 1) * steps];
    series.iter().enumerate().map(|(i, &y)| ((i + 1) as f64, f64::from(y)))
}

/// The channel in which outcomes under the first and the last treatment differ most.
fn channel_with_largest_effect(truth: &[Vec<f32>], steps: usize) -> usize {
    let (first, last) = (&truth[0], &truth[truth.len() - 1]);
    let squared_effect = |channel: &usize| -> f32 {
        let range = channel * steps..(channel + 1) * steps;
        first[range.clone()].iter().zip(&last[range]).map(|(a, b)| (a - b).powi(2)).sum()
    };
    let channels = first.len() / steps;
    (0..channels).max_by(|a, b| squared_effect(a).total_cmp(&squared_effect(b))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channel_with_the_largest_effect_is_selected() {
        let truth = [vec![0.0, 0.0, 1.0, 1.0], vec![0.0, 0.1, 3.0, 1.0]];
        assert_eq!(channel_with_largest_effect(&truth, 2), 1);
        assert_eq!(channel_with_largest_effect(&truth, 4), 0);
    }
}
