//! Units as every method answers for them: series as lines, images as pictures, a column per treatment.

use std::error::Error;

use cfqp::sim::Simulated;
use cfqp::{Dataset, Method, Run, Showcase};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::plan::World;
use crate::error::Result;
use crate::png::{data_uri, png};
use crate::table::small;
use crate::text::{FAINT, GRID, INK, text};

/// Width and height of a panel with lines.
const PANEL: (u32, u32) = (330, 190);
/// Pixels that a pixel of an image is drawn with.
const ZOOM: usize = 3;
/// Room for titles above, and for the names of methods at the left of images.
const HEAD: u32 = 64;
const NAMES: u32 = 112;
/// Units whose images are shown.
const IMAGES: usize = 2;

type Drawn = Result<(), Box<dyn Error>>;

/// Some units of a data set under some treatments: the truth, and what each method answered.
pub struct Gallery {
    pub world: World,
    /// Of an outcome.
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
    pub fn new(world: &World, test: &Simulated) -> Self {
        let (shape, treatments) = (test.data.y().shape().to_vec(), world.shown_treatments());
        let first = |class: usize| test.truth.z.iter().position(|&z| z == class);
        let unit = |row: usize| Unit {
            row,
            class: test.truth.z[row],
            t: test.data.t().row(row)[0],
            truth: treatments.iter().map(|&t| test.outcome(row, &[t])).collect(),
        };
        let most = if shape.len() == 3 { IMAGES } else { usize::MAX };
        let units = (0..world.classes()).filter_map(first).take(most).map(unit).collect();
        Self { world: *world, shape, treatments, units, answers: Vec::new() }
    }

    /// What methods are asked; none where there is nothing to look at.
    pub fn showcase(&self, test: &Dataset) -> Result<Option<Showcase>> {
        if self.treatments.is_empty() {
            return Ok(None);
        }
        let rows: Vec<usize> = self.units.iter().map(|unit| unit.row).collect();
        Ok(Some(Showcase { units: test.pick(&rows)?, treatments: self.treatments.clone() }))
    }

    /// With the answers of `runs`.
    pub fn hang(self, runs: &[Run]) -> Self {
        let shown = runs.iter().filter(|run| !run.shown.is_empty());
        Self { answers: shown.map(|run| (run.method, run.shown.clone())).collect(), ..self }
    }

    /// SVG text and the bytes of a PNG file.
    pub fn draw(&self) -> Result<(String, Vec<u8>), Box<dyn Error>> {
        if self.shape.len() == 3 { self.images() } else { self.lines() }
    }

    fn lines(&self) -> Result<(String, Vec<u8>), Box<dyn Error>> {
        let size = (PANEL.0 * self.treatments.len() as u32, HEAD + PANEL.1 * self.units.len() as u32);
        let mut svg = String::new();
        self.draw_lines(&SVGBackend::with_string(&mut svg, size).into_drawing_area())?;
        let mut pixels = vec![0; (size.0 * size.1 * 3) as usize];
        self.draw_lines(&BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area())?;
        Ok((svg, png(size.0, size.1, &pixels)))
    }

    fn draw_lines<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Drawn
    where
        D::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        let (head, body) = area.split_vertically(HEAD);
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

    fn title<D: DrawingBackend>(&self, head: &DrawingArea<D, Shift>) -> Drawn
    where
        D::ErrorType: 'static,
    {
        let title = format!("{}: what units would have shown, and what methods answer", self.world.name());
        head.draw(&Text::new(title, (12, 10), text(18, INK)))?;
        Ok(())
    }

    /// One unit under one treatment, in the channel that the treatment moves most.
    fn panel<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>, unit: usize, column: usize) -> Drawn
    where
        D::ErrorType: 'static,
    {
        let (own, each) = (&self.units[unit], self.shape.iter().product::<usize>());
        let steps = self.shape[self.shape.len() - 1];
        let channel = channel_that_moves(&own.truth, steps);
        let part = channel * steps..(channel + 1) * steps;
        let answer = |answers: &Vec<Vec<f32>>, c: usize| answers[c][unit * each..][part.clone()].to_vec();
        let mut drawn: Vec<f32> = own.truth.iter().flat_map(|truth| truth[part.clone()].to_vec()).collect();
        for (_, answers) in &self.answers {
            (0..self.treatments.len()).for_each(|c| drawn.extend(answer(answers, c)));
        }
        let (low, high) = drawn
            .into_iter()
            .filter(|v| v.is_finite())
            .fold((f32::MAX, f32::MIN), |(low, high), v| (low.min(v), high.max(v)));
        let room = 0.05 * (high - low).max(1e-6);
        let title = format!(
            "class {}, given {}, asked {}, channel {}",
            own.class,
            small(f64::from(own.t)),
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
            .y_label_formatter(&|value| small(f64::from(*value)))
            .draw()?;
        let points = |series: Vec<f32>| series.into_iter().enumerate().map(|(i, y)| ((i + 1) as f32, y));
        let truth = own.truth[column][part.clone()].to_vec();
        chart.draw_series(LineSeries::new(points(truth), INK.stroke_width(4)))?;
        for (i, (_, answers)) in self.answers.iter().enumerate() {
            chart.draw_series(LineSeries::new(points(answer(answers, column)), colour(i).stroke_width(1)))?;
        }
        Ok(())
    }

    /// A row for the truth and one per method, a block of columns per unit. The SVG holds the same pixels.
    fn images(&self) -> Result<(String, Vec<u8>), Box<dyn Error>> {
        let side = (self.shape[2] * ZOOM) as u32 + 4;
        let columns = (self.units.len() * self.treatments.len()) as u32;
        let rows = self.answers.len() as u32 + 1;
        let size = (NAMES + columns * side + 16 * self.units.len() as u32, HEAD + rows * side);
        let mut pixels = vec![0; (size.0 * size.1 * 3) as usize];
        self.draw_images(&BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area(), side)?;
        let (width, height) = size;
        let uri = data_uri(width as usize, height as usize, &pixels);
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\"><title>{}: images by method and treatment</title>\
             <image width=\"{width}\" height=\"{height}\" href=\"{uri}\"/></svg>\n",
            self.world.name()
        );
        Ok((svg, png(width, height, &pixels)))
    }

    fn draw_images(&self, area: &DrawingArea<BitMapBackend<'_>, Shift>, side: u32) -> Drawn {
        area.fill(&WHITE)?;
        self.title(area)?;
        let each = self.shape.iter().product::<usize>();
        let mut rows: Vec<(&str, Vec<&[f32]>)> = Vec::new();
        let all = || (0..self.units.len()).flat_map(|u| (0..self.treatments.len()).map(move |c| (u, c)));
        rows.push(("truth", all().map(|(u, c)| &self.units[u].truth[c][..]).collect()));
        for (method, answers) in &self.answers {
            rows.push((method.name(), all().map(|(u, c)| &answers[c][u * each..(u + 1) * each]).collect()));
        }
        let left = |i: usize| {
            let unit = i / self.treatments.len();
            (NAMES + i as u32 * side + 16 * unit as u32) as i32
        };
        let middle = Pos::new(HPos::Center, VPos::Top);
        for (i, (_, c)) in all().enumerate() {
            let t = format!("{}°", self.treatments[c]);
            area.draw(&Text::new(t, (left(i) + side as i32 / 2, 42), text(13, FAINT).pos(middle)))?;
        }
        for (row, (name, images)) in rows.iter().enumerate() {
            let top = (HEAD + row as u32 * side) as i32;
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
    ) -> Drawn {
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
fn channel_that_moves(truth: &[Vec<f32>], steps: usize) -> usize {
    let (first, last) = (&truth[0], &truth[truth.len() - 1]);
    let moved = |channel: &usize| -> f32 {
        let part = channel * steps..(channel + 1) * steps;
        first[part.clone()].iter().zip(&last[part]).map(|(a, b)| (a - b).powi(2)).sum()
    };
    let channels = first.len() / steps;
    (0..channels).max_by(|a, b| moved(a).total_cmp(&moved(b))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channel_that_moves_is_found() {
        let truth = [vec![0.0, 0.0, 1.0, 1.0], vec![0.0, 0.1, 3.0, 1.0]];
        assert_eq!(channel_that_moves(&truth, 2), 1);
        assert_eq!(channel_that_moves(&truth, 4), 0);
    }
}
