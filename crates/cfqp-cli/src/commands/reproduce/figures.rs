//! Error against what an experiment sweeps, as SVG and PNG.

use std::error::Error;

use cfqp::{Method, Scores};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use super::Outcome;
use super::tables::{columns, spread};
use crate::text::{GRID, INK, text};

const SIZE: (u32, u32) = (760, 440);
/// A line of points.
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// What a chart shows.
pub struct Chart {
    pub title: String,
    pub x: &'static str,
    pub y: &'static str,
    pub lines: Vec<Line>,
}

/// Mean error of every method against the sweep; none where nothing is swept.
pub fn error_chart(title: &str, x: &'static str, outcomes: &[Outcome]) -> Option<Chart> {
    let error: fn(&Scores) -> Option<f64> = |scores| Some(scores.cf_mse);
    let columns = columns(outcomes);
    let line = |method: Method| {
        let point =
            |column: &(_, Option<f64>, _)| Some((column.1?, spread(outcomes, method, column, error)?.mean));
        let points: Vec<(f64, f64)> = columns.iter().filter_map(point).collect();
        (points.len() > 1).then(|| Line { name: method.name().to_owned(), points })
    };
    let lines: Vec<Line> = Method::ALL.into_iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| Chart {
        title: title.to_owned(),
        x,
        y: "counterfactual mean squared error",
        lines,
    })
}

/// SVG text.
pub fn svg(chart: &Chart) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    draw(SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), chart)?;
    Ok(text)
}

/// The bytes of a PNG file.
pub fn png(chart: &Chart) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut pixels = vec![0; (SIZE.0 * SIZE.1 * 3) as usize];
    draw(BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area(), chart)?;
    Ok(crate::png::png(SIZE.0, SIZE.1, &pixels))
}

fn draw<D: DrawingBackend>(
    area: DrawingArea<D, plotters::coord::Shift>,
    chart: &Chart,
) -> Result<(), Box<dyn Error>>
where
    D::ErrorType: 'static,
{
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let ends = |of: fn(&(f64, f64)) -> f64| {
        points().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let ((left, right), (low, high)) = (ends(|p| p.0), ends(|p| p.1));
    let low = (0.7 * low).max(1e-9);
    area.fill(&WHITE)?;
    let mut builder = ChartBuilder::on(&area);
    builder.margin(14).x_label_area_size(44).y_label_area_size(76);
    builder.caption(&chart.title, text(18, INK));
    lines(&mut builder, chart, left..right, (low..1.4 * high.max(2.0 * low)).log_scale())?;
    area.present()?;
    Ok(())
}

fn lines<D: DrawingBackend, X, Y>(
    builder: &mut ChartBuilder<'_, '_, D>,
    chart: &Chart,
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
    let number = |value: &f64| crate::table::small(*value);
    plane
        .configure_mesh()
        .x_desc(chart.x)
        .y_desc(chart.y)
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .label_style(text(14, INK))
        .axis_desc_style(text(14, INK))
        .x_label_formatter(&number)
        .y_label_formatter(&number)
        .draw()?;
    for (i, line) in chart.lines.iter().enumerate() {
        let colour = Palette99::pick(i).to_rgba();
        let series = LineSeries::new(line.points.iter().copied(), colour.stroke_width(2)).point_size(3);
        let key = move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(2));
        plane.draw_series(series)?.label(line.name.clone()).legend(key);
    }
    plane
        .configure_series_labels()
        .background_style(WHITE.mix(0.85))
        .border_style(GRID)
        .label_font(text(14, INK))
        .draw()?;
    Ok(())
}
