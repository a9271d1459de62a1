//! The picture of the demo: factual outcomes, true counterfactuals, and the answers of two models.

use maud::{Markup, html};

use super::{Anchor, Chart, Frame, standalone};

/// One unit; every series is `[2 channels, steps]`, flat.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    /// Its number.
    pub unit: usize,
    /// Its true class.
    pub class: usize,
    /// The treatment that the unit received.
    pub factual_t: f32,
    /// The treatment asked about.
    pub new_t: f32,
    /// The series before the treatment.
    pub covariates: &'a [f32],
    /// The outcome that was observed.
    pub factual: &'a [f32],
    /// The outcome under the treatment asked about.
    pub truth: &'a [f32],
    /// The answer of the model.
    pub answer: &'a [f32],
    /// The lower end of its interval.
    pub lower: &'a [f32],
    /// The upper end of its interval.
    pub upper: &'a [f32],
    /// The answer of a model of individual treatment effects (ITE).
    pub ite_answer: &'a [f32],
}

const CHANNELS: usize = 2;
const WIDTH: f64 = 1080.0;
const HEAD_HEIGHT: f64 = 112.0;
const PANEL_WIDTH: f64 = WIDTH / CHANNELS as f64;
const PANEL_HEIGHT: f64 = 236.0;

const TITLE: &str = "What would this unit have shown under another treatment?";
const NOTE: &str = "Two oscillating channels; a hidden class decides which of them the treatment raises. The unit's noise \
                    is inferred from its outcome, so the bands are thinner than the lines.";

/// The SVG file: a row of panels per example, a panel per channel.
pub fn draw_counterfactuals(examples: &[Example<'_>]) -> String {
    let height = HEAD_HEIGHT + PANEL_HEIGHT * examples.len() as f64 + 8.0;
    let range = value_range(examples);
    let content = html! {
        text class="title" x="56" y="31" { (TITLE) }
        text class="note" x="56" y="57" { (NOTE) }
        (legend())
        @for (row, example) in examples.iter().enumerate() {
            @for channel in 0..CHANNELS {
                (panel(example, channel, row, range, row + 1 == examples.len()))
            }
        }
    };
    standalone((WIDTH, height), 1.0, TITLE, &content)
}

fn legend() -> Markup {
    let label = |x: u32, text: &str| html! { text class="heading" x=(x + 34) y="92" { (text) } };
    html! {
        path class="line faint" d="M56 88h26" {}
        (label(56, "factual outcome"))
        @for x in [242, 253, 264] { circle class="dot ink" cx=(x) cy="88" r="2" {} }
        (label(240, "true counterfactual"))
        rect class="band k0" x="440" y="82" width="26" height="12" {}
        path class="line wide k0" d="M440 88h26" {}
        (label(440, "answer of cfqp with its 90% interval"))
        path class="line dashed k1" d="M720 88h26" {}
        (label(720, "answer of an ITE model"))
    }
}

/// The smallest and the largest value of all series, with a margin.
fn value_range(examples: &[Example<'_>]) -> (f64, f64) {
    let series =
        |e: &Example<'_>| [e.covariates, e.factual, e.truth, e.lower, e.upper, e.ite_answer].concat();
    super::padded_range(examples.iter().flat_map(series).map(f64::from))
}

fn channel_of(series: &[f32], channel: usize) -> &[f32] {
    let steps = series.len() / CHANNELS;
    &series[channel * steps..(channel + 1) * steps]
}

fn panel(example: &Example<'_>, channel: usize, row: usize, range: (f64, f64), is_last: bool) -> Markup {
    let (left, top) = (channel as f64 * PANEL_WIDTH, HEAD_HEIGHT + row as f64 * PANEL_HEIGHT);
    let frame = Frame {
        left: left + 54.0,
        right: left + PANEL_WIDTH - 16.0,
        top: top + 30.0,
        bottom: top + PANEL_HEIGHT - 42.0,
    };
    let before = channel_of(example.covariates, channel).len();
    let steps = before + channel_of(example.factual, channel).len();
    let (treated, end) = (before as f64 - 0.5, steps as f64 - 0.5);
    let mut chart = Chart::in_frame(frame, (-0.5, end), range);
    chart.bar("shade", (treated, range.0), (end, range.1));
    chart.draw_y_axis(5.0);
    chart.draw_x_axis(8.0);
    chart.line("hair", [(treated, range.0), (treated, range.1)].into_iter());
    draw_series(&mut chart, example, channel);
    let treated = frame.left + (treated + 0.5) / (end + 0.5) * (frame.right - frame.left);
    chart.text("small", treated - 6.0, frame.top + 11.0, Anchor::End, "before");
    chart.text("small", treated + 6.0, frame.top + 11.0, Anchor::Start, "treated");
    if channel == 0 {
        let Example { unit, class, factual_t, new_t, .. } = example;
        let title =
            format!("unit {unit}, class {class}: received t = {factual_t:.2}, asked about t' = {new_t:.2}");
        chart.text("heading", frame.left, top + 18.0, Anchor::Start, &title);
    }
    let name = format!("channel {}", channel + 1);
    chart.text("note", frame.right - 2.0, top + 18.0, Anchor::End, &name);
    if is_last {
        let middle = 0.5 * (frame.left + frame.right);
        chart.text("note", middle, frame.bottom + 36.0, Anchor::Middle, "step");
    }
    html! {
        (chart.into_marks())
        @if channel == 0 { (vertical_title(left + 15.0, 0.5 * (frame.top + frame.bottom), "outcome")) }
    }
}

fn vertical_title(x: f64, y: f64, text: &str) -> Markup {
    let place = format!("translate({x} {y}) rotate(-90)");
    html! { text class="note" transform=(place) text-anchor="middle" { (text) } }
}

fn draw_series(chart: &mut Chart, example: &Example<'_>, channel: usize) {
    let covariates = channel_of(example.covariates, channel);
    let points = |series: &[f32], start: usize| -> Vec<(f64, f64)> {
        let at = |(i, &value): (usize, &f32)| ((start + i) as f64, f64::from(value));
        series.iter().enumerate().map(at).collect()
    };
    let after = |series: &[f32]| points(channel_of(series, channel), covariates.len());
    let (lower, upper) = (after(example.lower), after(example.upper));
    let band: Vec<(f64, f64, f64)> =
        lower.into_iter().zip(upper).map(|((x, low), (_, high))| (x, low, high)).collect();
    chart.band("k0", &band);
    chart.line("faint", points(covariates, 0).into_iter().chain(after(example.factual)));
    chart.line("dashed k1", after(example.ite_answer).into_iter());
    chart.line("wide k0", after(example.answer).into_iter());
    for (x, y) in after(example.truth) {
        chart.circle("dot ink", x, y, 2.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_a_panel_per_unit_and_channel() {
        let series = [0.0, 0.5, 1.0, 0.0, -0.5, -1.0];
        let s = &series[..];
        let example = Example {
            unit: 7,
            class: 1,
            factual_t: 0.25,
            new_t: 0.75,
            covariates: s,
            factual: s,
            truth: s,
            answer: s,
            lower: s,
            upper: s,
            ite_answer: s,
        };
        let svg = draw_counterfactuals(&[example, example]);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg.matches("unit 7, class 1: received t = 0.25, asked about t' = 0.75").count(), 2);
        // the legend has one line of each kind, and so has every panel
        assert_eq!(svg.matches("class=\"line wide k0\"").count(), 5);
    }
}
