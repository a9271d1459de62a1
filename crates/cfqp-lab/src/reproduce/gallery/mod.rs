//! Figures of a few units and the answers of every method: series as lines, images as pixels, a column per treatment.

mod images;
mod series;

use cfqp::Dataset;
use cfqp::eval::{ExampleUnits, MethodRun};
use cfqp::rivals::Method;
use cfqp::sim::Simulated;

use super::scenario::Scenario;
use cfqp_cli::error::Result;

/// Maximum number of units whose images are shown.
const MAX_IMAGE_UNITS: usize = 2;

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

    /// The figure as an SVG file.
    pub(super) fn draw(&self) -> String {
        if self.shape.len() == 3 { self.draw_images() } else { self.draw_series() }
    }

    fn title(&self) -> String {
        format!("{}: true counterfactual outcomes and the answers of methods", self.scenario.name())
    }
}
