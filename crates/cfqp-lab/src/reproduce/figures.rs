//! Charts of the error against the setting that an experiment sweeps, as SVG.

use cfqp::rivals::Method;
use maud::{Markup, html};

use cfqp_html::chart::{Anchor, Chart, Frame, LineName, padded_log_range, padded_range, standalone};

use super::Outcome;
use super::class_search::ClassSearch;
use super::tables::{Column, columns, spread};

const WIDTH: f64 = 560.0;
const ZOOM: f64 = 1.6;
/// The height of the title of the figure.
const HEAD_HEIGHT: f64 = 26.0;
/// The space above a panel's frame, for the title of the y axis, and below it, for the x axis and its title.
const PANEL_MARGINS: (f64, f64) = (24.0, 46.0);
/// The left and the right end of a frame; names of lines are at its right.
const FRAME_ENDS: (f64, f64) = (54.0, 452.0);
/// The smallest ratio of the largest and the smallest swept value that is drawn on a logarithmic axis.
const MIN_LOG_RATIO: f64 = 20.0;

/// The style class of a method's lines, dots and name: the same in all figures, and that of the demo for cfqp and Deep-ITE.
pub(super) fn line_class(method: Method) -> &'static str {
    match method {
        Method::Cfqp => "wide k0",
        Method::DeepIte => "k1",
        Method::Sc => "k2",
        Method::DeepScm => "k3",
        Method::DiffScm => "k4",
        Method::CfqpKmeans => "k5",
        Method::CfqpGmm => "k6",
        Method::Oracle => "dashed ink",
        Method::Regression
        | Method::Residual
        | Method::ShrunkResidual
        | Method::Conformal
        | Method::Process => "dashed faint",
    }
}

/// A line of points.
struct Line {
    name: &'static str,
    class: &'static str,
    points: Vec<(f64, f64)>,
}

/// One set of axes and its lines.
struct Panel {
    title: &'static str,
    /// The height of the frame.
    height: f64,
    is_log: bool,
    lines: Vec<Line>,
    /// A point to mark by a ring.
    chosen: Option<(f64, f64)>,
}

/// The errors of methods by the swept value. If that is the number of classes, its held-out scores are a second panel.
pub(super) struct SweepFigure {
    title: String,
    x_title: &'static str,
    panels: Vec<Panel>,
}

impl SweepFigure {
    /// None if fewer than two values were run.
    pub(super) fn new(
        title: &str,
        x_title: &'static str,
        outcomes: &[Outcome],
        search: Option<&ClassSearch>,
    ) -> Option<Self> {
        let lines = error_lines(outcomes);
        if lines.is_empty() {
            return None;
        }
        let scores = search.map(score_panel);
        let errors = Panel {
            title: "counterfactual mean squared error (lower is better)",
            height: if scores.is_some() { 150.0 } else { 240.0 },
            is_log: true,
            lines,
            chosen: None,
        };
        let panels = std::iter::once(errors).chain(scores).collect();
        Some(Self { title: title.to_owned(), x_title, panels })
    }

    /// The figure as an SVG file.
    pub(super) fn draw(&self) -> String {
        let mut values: Vec<f64> = self
            .panels
            .iter()
            .flat_map(|panel| &panel.lines)
            .flat_map(|line| &line.points)
            .map(|p| p.0)
            .collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let mut bottom = HEAD_HEIGHT;
        let mut panels: Vec<Markup> = Vec::new();
        for panel in &self.panels {
            let top = bottom + PANEL_MARGINS.0;
            panels.push(panel.draw(top, &values, self.x_title));
            bottom = top + panel.height + PANEL_MARGINS.1;
        }
        let content = html! {
            text class="heading" x="8" y="18" { (self.title) }
            @for panel in panels { (panel) }
        };
        standalone((WIDTH, bottom), ZOOM, &format!("{}: error by {}", self.title, self.x_title), &content)
    }
}

/// The mean error of every method against the swept value, for methods with at least two values.
fn error_lines(outcomes: &[Outcome]) -> Vec<Line> {
    let columns = columns(outcomes);
    let line = |method: Method| {
        let point = |column: &Column| {
            let error = spread(outcomes, method, column, |scores| Some(scores.cf_mse))?.mean;
            Some((column.swept_value?, error))
        };
        let points: Vec<(f64, f64)> = columns.iter().filter_map(point).collect();
        (points.len() > 1).then(|| Line { name: method.name(), class: line_class(method), points })
    };
    Method::PAPER.into_iter().filter_map(line).collect()
}

/// The penalised scores of the selected base model, with the selected number of classes marked.
fn score_panel(search: &ClassSearch) -> Panel {
    let tried = search.with_selected_base();
    let points: Vec<(f64, f64)> = tried.iter().map(|tried| (tried.classes as f64, tried.score())).collect();
    let chosen = tried.iter().position(|tried| tried.chosen).map(|i| points[i]);
    let line = Line { name: "held-out units", class: "k1", points };
    let title = "penalised score on held-out units (lower is better)";
    Panel { title, height: 110.0, is_log: false, lines: vec![line], chosen }
}

impl Panel {
    /// Draws the panel with ticks at the swept values `values`.
    fn draw(&self, top: f64, values: &[f64], x_title: &str) -> Markup {
        let frame = Frame { left: FRAME_ENDS.0, right: FRAME_ENDS.1, top, bottom: top + self.height };
        let mut chart = self.empty_chart(frame, values);
        chart.draw_y_axis(if self.is_log { 6.0 } else { 4.0 });
        let ticks: Vec<(f64, String)> =
            values.iter().map(|&value| (value, (value as f32).to_string())).collect();
        chart.draw_x_ticks(&ticks);
        chart.draw_x_title(x_title);
        chart.text("", 8.0, top - 10.0, Anchor::Start, self.title);
        let end = |line: &Line| line.points.iter().rev().find(|point| point.1.is_finite()).copied();
        let names: Vec<LineName<'_>> = self
            .lines
            .iter()
            .filter_map(|line| Some(LineName { class: line.class, name: line.name, end: end(line)? }))
            .collect();
        chart.name_lines(&names);
        for line in &self.lines {
            chart.line(line.class, line.points.iter().copied());
            for &(x, y) in &line.points {
                chart.circle(&format!("dot {}", line.class), x, y, 3.0);
            }
        }
        if let (Some((x, y)), Some(line)) = (self.chosen, self.lines.first()) {
            chart.circle(&format!("ring {}", line.class), x, y, 8.0);
        }
        chart.into_marks()
    }

    /// The scales: all points fit, and so do their dots.
    fn empty_chart(&self, frame: Frame, values: &[f64]) -> Chart {
        let is_log_x = values[0] > 0.0 && values[values.len() - 1] >= MIN_LOG_RATIO * values[0];
        let x = range(values.iter().copied(), is_log_x);
        let y = range(self.lines.iter().flat_map(|line| &line.points).map(|p| p.1), self.is_log);
        let chart = Chart::in_frame(frame, x, y);
        let chart = if is_log_x { chart.with_log_x() } else { chart };
        if self.is_log { chart.with_log_y() } else { chart }
    }
}

fn range(values: impl Iterator<Item = f64>, is_log: bool) -> (f64, f64) {
    if is_log { padded_log_range(values) } else { padded_range(values) }
}

#[cfg(test)]
mod tests {
    use cfqp::ClassScore;

    use super::*;

    #[test]
    fn the_chosen_number_of_classes_has_a_ring_and_every_line_a_name() {
        let tried = |classes: usize, chosen| ClassScore {
            base: cfqp::Base::Mlp,
            classes,
            nll: 1.0,
            full_nll: 10.0 / classes as f64,
            penalty: 2.0,
            mse: Some(1.0),
            gain_error: None,
            chosen,
        };
        let tried = vec![tried(1, false), tried(2, true), tried(3, false)];
        let search = ClassSearch { data: "digits".to_owned(), seed: 1, candidates: tried };
        let points = vec![(1.0, 0.1), (3.0, 0.001)];
        let errors = Line { name: "cfqp", class: line_class(Method::Cfqp), points };
        let errors = Panel { title: "error", height: 100.0, is_log: true, lines: vec![errors], chosen: None };
        let figure = SweepFigure {
            title: "digits".to_owned(),
            x_title: "number of classes",
            panels: vec![errors, score_panel(&search)],
        };
        let svg = figure.draw();
        assert!(svg.contains(">cfqp</text>") && svg.contains(">held-out units</text>"));
        assert_eq!(svg.matches("class=\"ring").count(), 1);
        assert!(svg.contains(">0.01</text>"), "a logarithmic axis");
        // both panels have a tick at every number of classes
        assert_eq!(svg.matches(">2</text>").count(), 2);
    }
}
