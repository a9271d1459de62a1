//! Charts as SVG: axes, lines, bands, bars and dots.
//!
//! Colours come from style sheets, by class: `k0`, `k1`, ... for hidden classes, `ink`, `faint` and `accent` for the
//! rest. A chart on an HTML page uses the style of the page; [`standalone`] adds one for SVG files.

mod class_scores;
mod counterfactuals;
mod line_names;
mod scale;
mod standalone;

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, Render, html};

pub use class_scores::{base_models, chart_class_scores, draw_class_scores};
pub use counterfactuals::{Example, draw_counterfactuals};
pub use line_names::LineName;
use scale::Scale;
pub use scale::{padded_log_range, padded_range};
pub use standalone::standalone;

use crate::format::truncate;

/// The size of a chart on a page: narrow, so that its text is legible on a phone that is 360 wide.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 280.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 38.0;
const BOTTOM: f64 = 46.0;
/// The approximate width of a letter of the axis labels.
const LETTER: f64 = 7.0;
const ROW_HEIGHT: f64 = 30.0;
/// The same of the names of rows, which are larger on a phone, and the most room for them.
const ROW_LETTER: f64 = 8.0;
const MAX_ROW_NAMES: f64 = 230.0;
/// The least room for a tick of the x axis of a chart with rows.
const TICK_ROOM: f64 = 52.0;
const MAX_NAME_LETTERS: usize = 30;
const MAX_TITLE_LETTERS: usize = 52;
/// The share of the room of a level that its bars take.
pub(crate) const LEVEL_WIDTH: f64 = 0.7;
/// The least room for the name of a level.
const MIN_LEVEL_WIDTH: f64 = 28.0;

/// The rectangle of a drawing that the data are drawn in, in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The x of its left side.
    pub left: f64,
    /// The x of its right side.
    pub right: f64,
    /// The y of its upper side.
    pub top: f64,
    /// The y of its lower side.
    pub bottom: f64,
}

/// How a text is aligned to its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

impl Render for Anchor {
    fn render_to(&self, buffer: &mut String) {
        buffer.push_str(match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        });
    }
}

/// A coordinate, written to a tenth of a pixel.
#[derive(Clone, Copy, Debug)]
pub struct Pixels(pub f64);

impl Render for Pixels {
    fn render_to(&self, buffer: &mut String) {
        let _ = write!(buffer, "{:.1}", self.0);
    }
}

/// A chart under construction.
pub struct Chart {
    x: Scale,
    y: Scale,
    frame: Frame,
    height: f64,
    marks: String,
    /// Areas with tooltips; they lie on top of all marks.
    tooltips: String,
}

impl Chart {
    /// A chart for a page, with axes and their titles.
    pub fn new(x: (f64, f64), y: (f64, f64), x_title: &str, y_title: &str) -> Self {
        Self::with_ticks(7.0, x, y, x_title, y_title)
    }

    /// A chart for a page whose x axis has a place for each of `levels`; level `i` is at x = `i`.
    pub fn with_levels(levels: &[String], y: (f64, f64), x_title: &str, y_title: &str) -> Self {
        let ends = (-0.5, levels.len() as f64 - 0.5);
        let mut chart = Self::with_y_axis(ends, y, y_title);
        let room = (chart.frame.right - chart.frame.left) / levels.len().max(1) as f64;
        // names that would be shorter than a few letters are left out, all but every second, third, ...
        let step = (MIN_LEVEL_WIDTH / room).ceil().max(1.0);
        let letters = ((room * step / LETTER) as usize).clamp(2, MAX_NAME_LETTERS);
        let named = levels.iter().enumerate().step_by(step as usize);
        let ticks: Vec<(f64, String)> =
            named.map(|(i, level)| (i as f64, truncate(level, letters))).collect();
        chart.draw_x_ticks(&ticks);
        chart.draw_x_title(x_title);
        chart
    }

    /// The same with about `ticks` ticks on the x axis.
    fn with_ticks(ticks: f64, x: (f64, f64), y: (f64, f64), x_title: &str, y_title: &str) -> Self {
        let mut chart = Self::with_y_axis(x, y, y_title);
        chart.draw_x_axis(ticks);
        chart.draw_x_title(x_title);
        chart
    }

    /// A chart for a page with a y axis and its title.
    fn with_y_axis(x: (f64, f64), y: (f64, f64), y_title: &str) -> Self {
        let labels = Scale::new(y, HEIGHT - BOTTOM, TOP).ticks(6.0);
        let widest = labels.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(1);
        let left = 14.0 + LETTER * widest as f64;
        let frame = Frame { left, right: WIDTH - RIGHT, top: TOP, bottom: HEIGHT - BOTTOM };
        let mut chart = Self::in_frame(frame, x, y);
        chart.draw_y_axis(6.0);
        chart.text("", 4.0, 14.0, Anchor::Start, &truncate(y_title, MAX_TITLE_LETTERS));
        chart
    }

    /// A chart for a page with a named row for each of `names`; row `i` is at y = `i`.
    pub fn with_rows(x: (f64, f64), names: &[String], x_title: &str) -> Self {
        let names: Vec<String> = names.iter().map(|name| truncate(name, MAX_NAME_LETTERS)).collect();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(1);
        let left = (16.0 + ROW_LETTER * widest as f64).min(MAX_ROW_NAMES);
        let top = TOP - 26.0;
        let bottom = top + ROW_HEIGHT * names.len() as f64;
        let frame = Frame { left, right: WIDTH - RIGHT, top, bottom };
        // y grows downwards here
        let mut chart = Self::in_frame(frame, x, (0.0, 1.0));
        chart.y = Scale::new((-0.5, names.len() as f64 - 0.5), top, bottom);
        for (i, name) in names.iter().enumerate() {
            let y = chart.y.at(i as f64) + 4.0;
            chart.text("", left - 8.0, y, Anchor::End, name);
        }
        // long names leave less room
        chart.draw_x_axis(((frame.right - frame.left) / TICK_ROOM).min(7.0));
        chart.draw_x_title(x_title);
        chart
    }

    /// A chart without axes in a part of a drawing.
    pub fn in_frame(frame: Frame, x: (f64, f64), y: (f64, f64)) -> Self {
        let x = Scale::new(x, frame.left, frame.right);
        let y = Scale::new(y, frame.bottom, frame.top);
        Self { x, y, frame, height: frame.bottom + BOTTOM, marks: String::new(), tooltips: String::new() }
    }

    /// The same chart with a logarithmic x axis; to be called before anything is drawn.
    pub fn with_log_x(self) -> Self {
        Self { x: self.x.into_log(), ..self }
    }

    /// The same chart with a logarithmic y axis; to be called before anything is drawn.
    pub fn with_log_y(self) -> Self {
        Self { y: self.y.into_log(), ..self }
    }

    fn push(&mut self, element: &Markup) {
        self.marks.push_str(&element.0);
    }

    /// Draws horizontal grid lines at about `count` round values, with labels.
    pub fn draw_y_axis(&mut self, count: f64) {
        let Frame { left, right, .. } = self.frame;
        for (value, text) in self.y.ticks(count) {
            let y = self.y.at(value);
            self.path("grid", &format!("M{left:.1} {y:.1}H{right:.1}"));
            self.text("", left - 6.0, y + 4.0, Anchor::End, &text);
        }
    }

    /// Draws the x axis with about `count` ticks at round values.
    pub fn draw_x_axis(&mut self, count: f64) {
        self.draw_x_ticks(&self.x.ticks(count));
    }

    /// Draws the x axis with ticks at these values.
    pub fn draw_x_ticks(&mut self, ticks: &[(f64, String)]) {
        let Frame { left, right, bottom, .. } = self.frame;
        for (value, text) in ticks {
            let x = self.x.at(*value);
            self.path("grid", &format!("M{x:.1} {bottom:.1}v4"));
            self.text("", x, bottom + 18.0, Anchor::Middle, text);
        }
        self.path("axis", &format!("M{left:.1} {bottom:.1}H{right:.1}"));
    }

    /// Writes the title of the x axis below its labels.
    pub fn draw_x_title(&mut self, title: &str) {
        let Frame { left, right, bottom, .. } = self.frame;
        let title = truncate(title, MAX_TITLE_LETTERS);
        self.text("", 0.5 * (left + right), bottom + BOTTOM - 8.0, Anchor::Middle, &title);
    }

    /// Writes a text at a position in pixels.
    pub fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        let class = Some(class).filter(|class| !class.is_empty());
        self.push(&html! { text class=[class] x=(Pixels(x)) y=(Pixels(y)) text-anchor=(anchor) { (text) } });
    }

    fn path(&mut self, class: &str, path: &str) {
        self.push(&html! { path class=(class) d=(path) {} });
    }

    /// Draws a line through points; a point that is not finite interrupts it.
    pub fn line(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        let mut path = String::new();
        let mut drawing = false;
        for (x, y) in points {
            if !y.is_finite() {
                drawing = false;
                continue;
            }
            let command = if drawing { 'L' } else { 'M' };
            let _ = write!(path, "{command}{:.1} {:.1}", self.x.at(x), self.y.at(y));
            drawing = true;
        }
        self.path(&format!("line {class}"), &path);
    }

    /// Fills the area between two lines, given as x, lower and upper.
    pub fn band(&mut self, class: &str, points: &[(f64, f64, f64)]) {
        let finite = || points.iter().filter(|(_, low, high)| low.is_finite() && high.is_finite());
        let place = |x: f64, y: f64| format!("{:.1} {:.1}", self.x.at(x), self.y.at(y));
        let upper: Vec<String> = finite().map(|(x, _, high)| place(*x, *high)).collect();
        let lower: Vec<String> = finite().rev().map(|(x, low, _)| place(*x, *low)).collect();
        if !upper.is_empty() {
            self.path(&format!("band {class}"), &format!("M{}L{}Z", upper.join("L"), lower.join("L")));
        }
    }

    /// Draws a filled rectangle between two corners.
    pub fn bar(&mut self, class: &str, (x0, y0): (f64, f64), (x1, y1): (f64, f64)) {
        let (left, right) = (self.x.at(x0).min(self.x.at(x1)), self.x.at(x0).max(self.x.at(x1)));
        let (top, bottom) = (self.y.at(y0).min(self.y.at(y1)), self.y.at(y0).max(self.y.at(y1)));
        let (x, y) = (Pixels(left), Pixels(top));
        let (width, height) = (Pixels((right - left - 1.0).max(0.5)), Pixels(bottom - top));
        let class = format!("bar {class}");
        self.push(&html! { rect class=(class) x=(x) y=(y) width=(width) height=(height) {} });
    }

    /// Draws a circle; `class` says whether it is a `dot` or a `ring`.
    pub fn circle(&mut self, class: &str, x: f64, y: f64, radius: f64) {
        if x.is_finite() && y.is_finite() {
            let (x, y) = (Pixels(self.x.at(x)), Pixels(self.y.at(y)));
            self.push(&html! { circle class=(class) cx=(x) cy=(y) r=(radius) {} });
        }
    }

    /// Draws many small points as one element, so that the file stays small.
    pub fn points(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        let mut path = String::new();
        for (x, y) in points.filter(|(x, y)| x.is_finite() && y.is_finite()) {
            // a line without length and with round ends
            let _ = write!(path, "M{:.1} {:.1}h0", self.x.at(x), self.y.at(y));
        }
        if !path.is_empty() {
            self.path(&format!("points {class}"), &path);
        }
    }

    /// Draws a dashed vertical line at `x`, with a label above it.
    pub fn vertical_rule(&mut self, x: f64, label: &str) {
        let at = self.x.at(x);
        let Frame { left, right, top, bottom } = self.frame;
        if !(left - 0.5..=right + 0.5).contains(&at) {
            return;
        }
        self.path("rule", &format!("M{at:.1} {top:.1}V{bottom:.1}"));
        let anchor = match at {
            at if at > right + RIGHT - 60.0 => Anchor::End,
            at if at < left + 30.0 => Anchor::Start,
            _ => Anchor::Middle,
        };
        let shift = if anchor == Anchor::End { RIGHT - 2.0 } else { 0.0 };
        self.text("", at + shift, top - 4.0, anchor, label);
    }

    /// Adds a tooltip to the area between two values of x.
    pub fn tooltip(&mut self, x0: f64, x1: f64, text: &str) {
        let Frame { left, right, top, bottom } = self.frame;
        let (from, to) = (self.x.at(x0).max(left), self.x.at(x1).min(right));
        self.push_tooltip((from, top), ((to - from).max(1.0), bottom - top), text);
    }

    /// Adds a tooltip to row `i`.
    pub fn row_tooltip(&mut self, i: usize, text: &str) {
        let (top, bottom) = (self.y.at(i as f64 - 0.5), self.y.at(i as f64 + 0.5));
        self.push_tooltip((0.0, top), (WIDTH, bottom - top), text);
    }

    fn push_tooltip(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), text: &str) {
        let (x, y, width, height) = (Pixels(x), Pixels(y), Pixels(width), Pixels(height));
        let area = html! { rect class="hit" data-tip=(text) x=(x) y=(y) width=(width) height=(height) {} };
        self.tooltips.push_str(&area.0);
    }

    /// The marks alone, to be placed in a larger drawing.
    pub fn into_marks(self) -> Markup {
        PreEscaped(self.marks)
    }

    /// The SVG element for a page; `label` describes it to readers who cannot see it.
    pub fn into_svg(self, label: &str) -> Markup {
        let view = format!("0 0 {WIDTH} {}", self.height);
        html! {
            svg role="img" aria-label=(label) viewBox=(view) {
                (PreEscaped(self.marks)) (PreEscaped(self.tooltips))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_missing_points_and_texts_are_escaped() {
        let mut chart = Chart::new((0.0, 3.0), (0.0, 1.0), "<x>", "y");
        chart.line("k0", [(0.0, 0.0), (1.0, f64::NAN), (2.0, 1.0), (3.0, 1.0)].into_iter());
        chart.tooltip(0.0, 1.0, "\"quoted\"");
        let svg = chart.into_svg("a \"label\"").into_string();
        let path = svg.split("class=\"line k0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 1));
        assert!(svg.contains("&lt;x&gt;") && svg.contains("aria-label=\"a &quot;label&quot;\""));
        assert!(svg.contains("data-tip=\"&quot;quoted&quot;\""));
    }

    #[test]
    fn levels_have_named_places() {
        let levels = ["A", "B", "a level with a long name"].map(String::from);
        let mut chart = Chart::with_levels(&levels, (0.0, 1.0), "drug", "y");
        chart.bar("k0", (0.65, 0.0), (1.35, 0.5));
        let svg = chart.into_svg("bars").into_string();
        assert!(svg.contains(">A</text>") && svg.contains(">B</text>") && svg.contains("\u{2026}</text>"));
        let many: Vec<String> = (0..64).map(|i| format!("L{i}")).collect();
        let svg = Chart::with_levels(&many, (0.0, 1.0), "drug", "y").into_svg("many").into_string();
        assert!(svg.matches(">L").count() < 20, "names do not overlap");
    }

    #[test]
    fn rows_grow_downwards() {
        let mut chart = Chart::with_rows((0.0, 1.0), &["a".to_owned(), "b".to_owned()], "share");
        chart.circle("dot", 0.5, 0.0, 2.0);
        chart.circle("dot", 0.5, 1.0, 2.0);
        let marks = chart.into_marks().into_string();
        let heights: Vec<f64> =
            marks.split("cy=\"").skip(1).map(|m| m.split('"').next().unwrap().parse().unwrap()).collect();
        assert_eq!(heights, [27.0, 57.0]);
    }
}
