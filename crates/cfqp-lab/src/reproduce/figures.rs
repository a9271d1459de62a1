//! Charts of the error against the setting that an experiment sweeps, as SVG and PNG.

use std::error::Error;

use cfqp::eval::Scores;
use cfqp::rivals::Method;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use super::Outcome;
use super::class_search::ClassSearch;
use super::tables::{Column, columns, spread};
use crate::text::{GRID, INK, text};

const SIZE: (u32, u32) = (880, 520);
/// The width of the legend beside the plot.
const LEGEND_WIDTH: u32 = 140;

/// A line of points.
pub(super) struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// A chart of errors, with an optional second panel.
pub(super) struct Chart {
    pub title: String,
    pub x: &'static str,
    pub lines: Vec<Line>,
    /// The panel below: the held-out score by number of classes, and the index of the selected one.
    pub held_out: Option<(Line, usize)>,
}

/// The mean error of every method against the swept value; none if fewer than two values were run.
pub(super) fn error_chart(
    title: &str,
    x: &'static str,
    outcomes: &[Outcome],
    search: Option<&ClassSearch>,
) -> Option<Chart> {
    let error: fn(&Scores) -> Option<f64> = |scores| Some(scores.cf_mse);
    let columns = columns(outcomes);
    let line = |method: Method| {
        let point =
            |column: &Column| Some((column.swept_value?, spread(outcomes, method, column, error)?.mean));
        let points: Vec<(f64, f64)> = columns.iter().filter_map(point).collect();
        (points.len() > 1).then(|| Line { name: method.name().to_owned(), points })
    };
    let lines: Vec<Line> = Method::ALL.into_iter().filter_map(line).collect();
    let held_out = search.and_then(|search| {
        let tried = search.with_selected_base();
        let chosen = tried.iter().position(|tried| tried.chosen)?;
        let points = tried.iter().map(|tried| (tried.classes as f64, tried.score())).collect();
        Some((Line { name: "held-out units".to_owned(), points }, chosen))
    });
    (!lines.is_empty()).then(|| Chart { title: title.to_owned(), x, lines, held_out })
}

/// The chart as SVG text.
pub(super) fn svg(chart: &Chart) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    draw(SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), chart)?;
    Ok(text)
}

/// The chart as the bytes of a PNG file.
pub(super) fn png(chart: &Chart) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut pixels = vec![0; (SIZE.0 * SIZE.1 * 3) as usize];
    draw(BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area(), chart)?;
    Ok(cfqp_cli::png::png(SIZE.0, SIZE.1, &pixels))
}

/// The minimum and the maximum.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

fn draw<D: DrawingBackend>(
    area: DrawingArea<D, plotters::coord::Shift>,
    chart: &Chart,
) -> Result<(), Box<dyn Error>>
where
    D::ErrorType: 'static,
{
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let all = || chart.lines.iter().chain(chart.held_out.as_ref().map(|(line, _)| line));
    let (left, right) = range(all().flat_map(|line| &line.points).map(|p| p.0));
    let ticks = all().map(|line| line.points.len()).max().unwrap_or(2);
    let (low, high) = range(points().map(|p| p.1));
    let low = (0.7 * low).max(1e-9);
    area.fill(&WHITE)?;
    let (plot, key) = area.split_horizontally(SIZE.0 - LEGEND_WIDTH);
    let (above, below) =
        plot.split_vertically(if chart.held_out.is_some() { SIZE.1 * 3 / 5 } else { SIZE.1 });
    let mut builder = ChartBuilder::on(&above);
    builder.margin(14).x_label_area_size(44).y_label_area_size(76);
    builder.caption(&chart.title, text(18, INK));
    let panel = Panel {
        x: chart.x,
        y: "counterfactual error",
        lines: &chart.lines,
        ticks,
        first_colour: 0,
        marked: None,
    };
    panel.draw(&mut builder, left..right, (low..1.4 * high.max(2.0 * low)).log_scale())?;
    if let Some((line, chosen)) = &chart.held_out {
        let (low, high) = range(line.points.iter().map(|p| p.1));
        let margin = 0.1 * (high - low).max(1e-9);
        let mut builder = ChartBuilder::on(&below);
        builder.margin(14).x_label_area_size(44).y_label_area_size(76);
        let first_colour = chart.lines.len();
        let lines = std::slice::from_ref(line);
        let marked = Some(line.points[*chosen]);
        let panel = Panel { x: chart.x, y: "penalised score", lines, ticks, first_colour, marked };
        panel.draw(&mut builder, left..right, low - margin..high + margin)?;
    }
    for (i, line) in all().enumerate() {
        let (y, colour) = (60 + 22 * i as i32, Palette99::pick(i).to_rgba());
        key.draw(&PathElement::new(vec![(0, y), (18, y)], colour.stroke_width(2)))?;
        key.draw(&Text::new(line.name.clone(), (26, y - 7), text(14, INK)))?;
    }
    area.present()?;
    Ok(())
}

/// One set of axes and its lines.
struct Panel<'a> {
    x: &'static str,
    y: &'static str,
    lines: &'a [Line],
    /// The number of labels on the x axis.
    ticks: usize,
    /// The palette index of the first line.
    first_colour: usize,
    /// A point to mark by a circle.
    marked: Option<(f64, f64)>,
}

impl Panel<'_> {
    fn draw<D: DrawingBackend, X, Y>(
        &self,
        builder: &mut ChartBuilder<'_, '_, D>,
        x: X,
        y: Y,
    ) -> Result<(), Box<dyn Error>>
    where
        D::ErrorType: 'static,
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let mut plane = builder.build_cartesian_2d(x, y)?;
        let number = |value: &f64| {
            let is_whole = value.fract() == 0.0 && value.abs() < 1e6;
            if is_whole { format!("{value}") } else { cfqp_cli::format::format_short(*value) }
        };
        plane
            .configure_mesh()
            .x_desc(self.x)
            .x_labels(self.ticks)
            .y_desc(self.y)
            .light_line_style(WHITE)
            .bold_line_style(GRID)
            .label_style(text(14, INK))
            .axis_desc_style(text(14, INK))
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .draw()?;
        for (i, line) in self.lines.iter().enumerate() {
            let colour = Palette99::pick(self.first_colour + i).to_rgba();
            let series = LineSeries::new(line.points.iter().copied(), colour.stroke_width(2)).point_size(3);
            plane.draw_series(series)?;
        }
        let colour = Palette99::pick(self.first_colour).stroke_width(2);
        plane.draw_series(self.marked.map(|point| Circle::new(point, 8, colour)))?;
        Ok(())
    }
}
