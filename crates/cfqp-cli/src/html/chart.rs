//! Charts as SVG: a frame with axes, and lines, bands, bars and dots in it.
//!
//! A drawing is 440 wide, so that its text can still be read where a telephone shows it at 360. Colours come from the
//! page's style, by class: `k0`, `k1`, ... for hidden classes, `ink`, `faint`, `accent` for the rest.

use std::fmt::Write as _;

use super::text::{cut, escape, short};

const WIDTH: f64 = 440.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 38.0;
const BOTTOM: f64 = 46.0;
/// The width of a letter of the axes, about.
const LETTER: f64 = 7.0;

/// Values laid out between two places.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn new((low, high): (f64, f64), from: f64, to: f64) -> Self {
        let (low, high) = if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 1.0) };
        let least = 1e-9 * low.abs().max(high.abs()).max(1e-9);
        let (low, high) = if high - low > least { (low, high) } else { (low - 0.5, high + 0.5) };
        Self { low, high, from, to }
    }

    /// Where `value` is drawn.
    pub fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Round values, about `count` of them, as they are written.
    fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / count;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        let written = |i: i64| (i as f64 * step, format!("{:.decimals$}", i as f64 * step));
        (first..=last).take(30).map(written).collect()
    }
}

/// A chart that is being drawn.
pub struct Chart {
    pub x: Scale,
    pub y: Scale,
    height: f64,
    body: String,
    /// What is felt by the pointer lies on top of everything.
    hits: String,
}

impl Chart {
    /// An empty frame, with `x` to the right and `y` upwards.
    pub fn new(x: (f64, f64), y: (f64, f64), x_title: &str, y_title: &str) -> Self {
        let height = 280.0;
        let y = Scale::new(y, height - BOTTOM, TOP);
        let labels = y.ticks(6.0);
        let widest = labels.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(1);
        let left = 14.0 + LETTER * widest as f64;
        let mut chart = Self::framed(Scale::new(x, left, WIDTH - RIGHT), y, height);
        for (value, text) in &labels {
            let at = chart.y.at(*value);
            let (x1, x2) = (left, WIDTH - RIGHT);
            let _ = write!(chart.body, "<path class=\"grid\" d=\"M{x1:.1} {at:.1}H{x2:.1}\"/>");
            chart.label(left - 6.0, at + 4.0, "end", text);
        }
        chart.x_axis(x_title);
        chart.label(4.0, 14.0, "start", &cut(y_title, 52));
        chart
    }

    /// A frame with a named row for each of `names`.
    pub fn rows(x: (f64, f64), names: &[String], x_title: &str) -> Self {
        let height = TOP - 26.0 + BOTTOM + 30.0 * names.len() as f64;
        let names: Vec<String> = names.iter().map(|name| short(name)).collect();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(1);
        let left = (16.0 + LETTER * widest as f64).min(200.0);
        // row i is at height i
        let y = Scale::new((-0.5, names.len() as f64 - 0.5), TOP - 26.0, height - BOTTOM);
        let mut chart = Self::framed(Scale::new(x, left, WIDTH - RIGHT), y, height);
        for (i, name) in names.iter().enumerate() {
            let at = chart.y.at(i as f64);
            chart.label(left - 8.0, at + 4.0, "end", name);
        }
        chart.x_axis(x_title);
        chart
    }

    fn framed(x: Scale, y: Scale, height: f64) -> Self {
        Self { x, y, height, body: String::new(), hits: String::new() }
    }

    fn x_axis(&mut self, title: &str) {
        let floor = self.height - BOTTOM;
        for (value, text) in self.x.ticks(7.0) {
            let at = self.x.at(value);
            let _ = write!(self.body, "<path class=\"grid\" d=\"M{at:.1} {floor:.1}v4\"/>");
            self.label(at, floor + 18.0, "middle", &text);
        }
        let (from, to) = (self.x.from, self.x.to);
        let _ = write!(self.body, "<path class=\"axis\" d=\"M{from:.1} {floor:.1}H{to:.1}\"/>");
        self.label(0.5 * (from + to), self.height - 8.0, "middle", &cut(title, 52));
    }

    /// A text at a place of the drawing.
    fn label(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escape(text);
        let _ = write!(self.body, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
    }

    /// A line through points; a point that is not finite breaks it.
    pub fn line(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        let mut path = String::new();
        let mut drawing = false;
        for (x, y) in points {
            if !y.is_finite() {
                drawing = false;
                continue;
            }
            let _ =
                write!(path, "{}{:.1} {:.1}", if drawing { 'L' } else { 'M' }, self.x.at(x), self.y.at(y));
            drawing = true;
        }
        let _ = write!(self.body, "<path class=\"line {class}\" d=\"{path}\"/>");
    }

    /// What lies between two lines, given as x, lower and upper.
    pub fn band(&mut self, class: &str, points: &[(f64, f64, f64)]) {
        let finite = || points.iter().filter(|(_, low, high)| low.is_finite() && high.is_finite());
        let place = |x: f64, y: f64| format!("{:.1} {:.1}", self.x.at(x), self.y.at(y));
        let up: Vec<String> = finite().map(|(x, _, high)| place(*x, *high)).collect();
        let down: Vec<String> = finite().rev().map(|(x, low, _)| place(*x, *low)).collect();
        if !up.is_empty() {
            let path = format!("M{}L{}Z", up.join("L"), down.join("L"));
            let _ = write!(self.body, "<path class=\"band {class}\" d=\"{path}\"/>");
        }
    }

    /// A filled rectangle between two corners.
    pub fn bar(&mut self, class: &str, (x0, y0): (f64, f64), (x1, y1): (f64, f64)) {
        let (left, right) = (self.x.at(x0).min(self.x.at(x1)), self.x.at(x0).max(self.x.at(x1)));
        let (top, foot) = (self.y.at(y0).min(self.y.at(y1)), self.y.at(y0).max(self.y.at(y1)));
        let (wide, high) = ((right - left - 1.0).max(0.5), foot - top);
        let _ = write!(
            self.body,
            "<rect class=\"bar {class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\"/>"
        );
    }

    /// A dot, or a ring where `class` says so.
    pub fn dot(&mut self, class: &str, x: f64, y: f64, radius: f64) {
        if x.is_finite() && y.is_finite() {
            let (x, y) = (self.x.at(x), self.y.at(y));
            let _ =
                write!(self.body, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>");
        }
    }

    /// A dashed line upwards at `x`, with a word on top.
    pub fn rule(&mut self, x: f64, word: &str) {
        let at = self.x.at(x);
        if !(self.x.from - 0.5..=self.x.to + 0.5).contains(&at) {
            return;
        }
        let (top, floor) = (TOP, self.height - BOTTOM);
        let _ = write!(self.body, "<path class=\"rule\" d=\"M{at:.1} {top:.1}V{floor:.1}\"/>");
        let anchor = match at {
            at if at > WIDTH - 60.0 => "end",
            at if at < self.x.from + 30.0 => "start",
            _ => "middle",
        };
        let nudge = if anchor == "end" { RIGHT - 2.0 } else { 0.0 };
        self.label(at + nudge, top - 4.0, anchor, word);
    }

    /// Where the pointer, between two values of x, brings up a text.
    pub fn hit(&mut self, x0: f64, x1: f64, tip: &str) {
        let (left, right) = (self.x.at(x0).max(self.x.from), self.x.at(x1).min(self.x.to));
        let (wide, high) = ((right - left).max(1.0), self.height - BOTTOM - TOP);
        self.tip(left, TOP, wide, high, tip);
    }

    /// Where the pointer, on row `i`, brings up a text.
    pub fn hit_row(&mut self, i: usize, tip: &str) {
        let (top, foot) = (self.y.at(i as f64 - 0.5), self.y.at(i as f64 + 0.5));
        self.tip(0.0, top, WIDTH, foot - top, tip);
    }

    fn tip(&mut self, x: f64, y: f64, wide: f64, high: f64, tip: &str) {
        let tip = escape(tip);
        let _ = write!(
            self.hits,
            "<rect class=\"hit\" data-tip=\"{tip}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\"/>"
        );
    }

    /// The SVG element; `label` says what a reader who cannot see it should know.
    pub fn finish(self, label: &str) -> String {
        let Self { height, body, hits, .. } = self;
        let label = escape(label);
        format!(
            "<svg role=\"img\" aria-label=\"{label}\" viewBox=\"0 0 {WIDTH} {height}\">{body}{hits}</svg>"
        )
    }
}

/// The least and the greatest of some values, with a margin.
pub fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let margin = 0.06 * (high - low);
    (low - margin, high + margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_has_round_ticks_and_survives_anything() {
        let texts = |scale: Scale| scale.ticks(5.0).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(texts(Scale::new((0.0, 1.0), 0.0, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(Scale::new((-120.0, 330.0), 0.0, 1.0)), ["-100", "0", "100", "200", "300"]);
        for ends in [(1.0, 1.0), (f64::NAN, 1.0), (f64::INFINITY, f64::NEG_INFINITY), (0.0, 0.0)] {
            assert!(Scale::new(ends, 0.0, 100.0).at(1.0).is_finite());
        }
    }

    #[test]
    fn lines_break_where_nothing_was_seen() {
        let mut chart = Chart::new((0.0, 3.0), (0.0, 1.0), "<x>", "y");
        chart.line("k0", [(0.0, 0.0), (1.0, f64::NAN), (2.0, 1.0), (3.0, 1.0)].into_iter());
        let svg = chart.finish("a \"label\"");
        let path = svg.split("class=\"line k0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 1));
        assert!(svg.contains("&lt;x&gt;") && svg.contains("a &quot;label&quot;"));
    }
}
