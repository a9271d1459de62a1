//! Figures of a few units and the answers of every method: series as lines, images as pixels, a column per treatment.

use std::error::Error;

use cfqp::Dataset;
use cfqp::eval::{ExampleUnits, MethodRun};
use cfqp::rivals::Method;
use cfqp::sim::Simulated;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::scenario::Scenario;
use crate::text::{FAINT, GRID, INK, text};
use cfqp_cli::error::Result;
use cfqp_cli::format::format_short;
use cfqp_cli::png::{data_uri, png};

/// Width and height of a panel with lines, in pixels.
const PANEL_SIZE: (u32, u32) = (330, 190);
/// Side of the square that one pixel of an image is drawn as.
const ZOOM: usize = 3;
/// Height of the titles.
const HEAD_HEIGHT: u32 = 64;
/// Width of the names of methods at the left of images.
const NAME_WIDTH: u32 = 112;
/// Maximum number of units whose images are shown.
const MAX_IMAGE_UNITS: usize = 2;

type DrawResult = Result<(), Box<dyn Error>>;

/// A few units of a data set under several treatments: the truth and the answers of each method.
pub(super) struct Gallery {
    pub scenario: Scenario,
    /// The shape of an outcome.
    shape: Vec<usize>,
    treatments: Vec<f32>,
    units: Vec<Unit>,
    answers: Vec<(Method, Vec<Vec<f32>>)>,
}

struct Unit {
    row: usize,
    class: usize,
    t: f32,
    /// One outcome per treatment.
    truth: Vec<Vec<f32>>,
}

impl Gallery {
    /// The first unit of each class of `test`.
    pub(super) fn new(scenario: &Scenario, test: &Simulated) -> Self {
        let (shape, treatments) = (test.data.y().shape().to_vec(), scenario.gallery_treatments());
        let first = |class: usize| test.truth.z.iter().position(|&z| z == class);
        let unit = |row: usize| Unit {
            row,
            class: test.truth.z[row],
            t: test.data.t().row(row)[0],
            truth: treatments.iter().map(|&t| test.outcome(row, &[t])).collect(),
        };
        let max_units = if shape.len() == 3 { MAX_IMAGE_UNITS } else { usize::MAX };
        let units = (0..scenario.classes()).filter_map(first).take(max_units).map(unit).collect();
        Self { scenario: *scenario, shape, treatments, units, answers: Vec::new() }
    }

    /// The questions to the methods; none if the scenario has no gallery.
    pub(super) fn showcase(&self, test: &Dataset) -> Result<Option<ExampleUnits>> {
        if self.treatments.is_empty() {
            return Ok(None);
        }
        let rows: Vec<usize> = self.units.iter().map(|unit| unit.row).collect();
        Ok(Some(ExampleUnits { units: test.pick(&rows)?, treatments: self.treatments.clone() }))
    }

    /// Adds the answers of `runs`.
    pub(super) fn with_answers(self, runs: &[MethodRun]) -> Self {
        let shown = runs.iter().filter(|run| !run.example_answers.is_empty());
        Self { answers: shown.map(|run| (run.method, run.example_answers.clone())).collect(), ..self }
    }

    /// The figure as SVG text and as the bytes of a PNG file.
    pub(super) fn draw(&self) -> Result<(String, Vec<u8>), Box<dyn Error>> {
        if self.shape.len() == 3 { self.images() } else { self.lines() }
    }

    fn lines(&self) -> Result<(String, Vec<u8>), Box<dyn Error>> {
        let size = (
            PANEL_SIZE.0 * self.treatments.len() as u32,
            HEAD_HEIGHT + PANEL_SIZE.1 * self.units.len() as u32,
        );
        let mut svg = String::new();
        self.draw_lines(&SVGBackend::with_string(&mut svg, size).into_drawing_area())?;
        let mut pixels = vec![0; (size.0 * size.1 * 3) as usize];
        self.draw_lines(&BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area())?;
        Ok((svg, png(size.0, size.1, &pixels)))
    }

    fn draw_lines<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> DrawResult
    where
        D::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        let (head, body) = area.split_vertically(HEAD_HEIGHT);
        self.title(&head)?;
        let mut left = 12;
        for (name, style) in self.legend() {
            head.draw(&PathElement::new(vec![(left, 48), (left + 18, 48)], style))?;
            head.draw(&Text::new(name.to_owned(), (left + 24, 41), text(13, INK)))?;
            left += 44 + 7 * name.len() as i32;
        }
        let panels = body.split_evenly((self.units.len(), self.treatments.len()));
        for (i, panel) in panels.iter().enumerate() {
            self.panel(panel, i / self.treatments.len(), i % self.treatments.len())?;
        }
        area.present()?;
        Ok(())
    }

    fn legend(&self) -> Vec<(&'static str, ShapeStyle)> {
        let methods = self.answers.iter().enumerate();
        let mut legend = vec![("truth", INK.stroke_width(3))];
        legend.extend(methods.map(|(i, (method, _))| (method.name(), colour(i).stroke_width(2))));
        legend
    }

    fn title<D: DrawingBackend>(&self, head: &DrawingArea<D, Shift>) -> DrawResult
    where
        D::ErrorType: 'static,
    {
        let title =
            format!("{}: true counterfactual outcomes and the answers of methods", self.scenario.name());
        head.draw(&Text::new(title, (12, 10), text(18, INK)))?;
        Ok(())
    }

    /// One unit under one treatment, in the channel with the largest effect.
    fn panel<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>, unit: usize, column: usize) -> DrawResult
    where
        D::ErrorType: 'static,
    {
        let (shown, size) = (&self.units[unit], self.shape.iter().product::<usize>());
        let steps = self.shape[self.shape.len() - 1];
        let channel = channel_with_largest_effect(&shown.truth, steps);
        let range = channel * steps..(channel + 1) * steps;
        let answer = |answers: &Vec<Vec<f32>>, c: usize| answers[c][unit * size..][range.clone()].to_vec();
        let mut drawn: Vec<f32> =
            shown.truth.iter().flat_map(|truth| truth[range.clone()].to_vec()).collect();
        for (_, answers) in &self.answers {
            (0..self.treatments.len()).for_each(|c| drawn.extend(answer(answers, c)));
        }
        let (low, high) = drawn
            .into_iter()
            .filter(|v| v.is_finite())
            .fold((f32::MAX, f32::MIN), |(low, high), v| (low.min(v), high.max(v)));
        let room = 0.05 * (high - low).max(1e-6);
        let title = format!(
            "class {}, factual {}, counterfactual {}, channel {}",
            shown.class,
            format_short(f64::from(shown.t)),
            self.treatments[column],
            channel + 1
        );
        let mut chart = ChartBuilder::on(area)
            .margin(6)
            .margin_right(14)
            .caption(title, text(13, FAINT))
            .x_label_area_size(22)
            .y_label_area_size(44)
            .build_cartesian_2d(1.0..steps as f32, low - room..high + room)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .bold_line_style(GRID)
            .axis_style(FAINT)
            .label_style(text(11, FAINT))
            .x_labels(6)
            .y_labels(5)
            .x_label_formatter(&|step| format!("{step:.0}"))
            .y_label_formatter(&|value| format_short(f64::from(*value)))
            .draw()?;
        let points = |series: Vec<f32>| series.into_iter().enumerate().map(|(i, y)| ((i + 1) as f32, y));
        let truth = shown.truth[column][range.clone()].to_vec();
        chart.draw_series(LineSeries::new(points(truth), INK.stroke_width(4)))?;
        for (i, (_, answers)) in self.answers.iter().enumerate() {
            chart.draw_series(LineSeries::new(points(answer(answers, column)), colour(i).stroke_width(1)))?;
        }
        Ok(())
    }

    /// A row for the truth and one per method, a block of columns per unit. The SVG embeds the PNG.
    fn images(&self) -> Result<(String, Vec<u8>), Box<dyn Error>> {
        let side = (self.shape[2] * ZOOM) as u32 + 4;
        let columns = (self.units.len() * self.treatments.len()) as u32;
        let rows = self.answers.len() as u32 + 1;
        let size = (NAME_WIDTH + columns * side + 16 * self.units.len() as u32, HEAD_HEIGHT + rows * side);
        let mut pixels = vec![0; (size.0 * size.1 * 3) as usize];
        self.draw_images(&BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area(), side)?;
        let (width, height) = size;
        let uri = data_uri(width as usize, height as usize, &pixels);
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\"><title>{}: images by method and treatment</title>\
             <image width=\"{width}\" height=\"{height}\" href=\"{uri}\"/></svg>\n",
            self.scenario.name()
        );
        Ok((svg, png(width, height, &pixels)))
    }

    fn draw_images(&self, area: &DrawingArea<BitMapBackend<'_>, Shift>, side: u32) -> DrawResult {
        area.fill(&WHITE)?;
        self.title(area)?;
        let size = self.shape.iter().product::<usize>();
        let mut rows: Vec<(&str, Vec<&[f32]>)> = Vec::new();
        let cells = || (0..self.units.len()).flat_map(|u| (0..self.treatments.len()).map(move |c| (u, c)));
        rows.push(("truth", cells().map(|(u, c)| &self.units[u].truth[c][..]).collect()));
        for (method, answers) in &self.answers {
            rows.push((method.name(), cells().map(|(u, c)| &answers[c][u * size..(u + 1) * size]).collect()));
        }
        let left = |i: usize| {
            let unit = i / self.treatments.len();
            (NAME_WIDTH + i as u32 * side + 16 * unit as u32) as i32
        };
        let middle = Pos::new(HPos::Center, VPos::Top);
        for (i, (_, c)) in cells().enumerate() {
            let t = format!("{}°", self.treatments[c]);
            area.draw(&Text::new(t, (left(i) + side as i32 / 2, 42), text(13, FAINT).pos(middle)))?;
        }
        for (row, (name, images)) in rows.iter().enumerate() {
            let top = (HEAD_HEIGHT + row as u32 * side) as i32;
            let at = (12, top + side as i32 / 2 - 8);
            area.draw(&Text::new((*name).to_owned(), at, text(13, INK)))?;
            for (i, image) in images.iter().enumerate() {
                self.image(area, image, (left(i), top))?;
            }
        }
        area.present()?;
        Ok(())
    }

    fn image(
        &self,
        area: &DrawingArea<BitMapBackend<'_>, Shift>,
        values: &[f32],
        (left, top): (i32, i32),
    ) -> DrawResult {
        let (height, width, zoom) = (self.shape[1], self.shape[2], ZOOM as i32);
        let shade = |channel: usize, pixel: usize| {
            let channel = channel.min(self.shape[0] - 1);
            (255.0 * values[channel * height * width + pixel].clamp(0.0, 1.0)).round() as u8
        };
        for pixel in 0..height * width {
            let at = (left + (pixel % width) as i32 * zoom, top + (pixel / width) as i32 * zoom);
            let colour = RGBColor(shade(0, pixel), shade(1, pixel), shade(2, pixel));
            area.draw(&Rectangle::new([at, (at.0 + zoom, at.1 + zoom)], colour.filled()))?;
        }
        Ok(())
    }
}

fn colour(i: usize) -> RGBAColor {
    Palette99::pick(i).to_rgba()
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
