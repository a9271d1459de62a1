//! The figures behind the verdicts, in a form that can be plotted.

use serde::Serialize;

use super::{Histogram, ReportContext};
use crate::Result;
use crate::ask::{AskOptions, Rho};

/// The levels at which the coverage of intervals is computed.
const COVERAGE_LEVELS: [f64; 6] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95];
/// The number of bins of the histogram of class probabilities.
const CERTAINTY_BINS: usize = 10;

/// The figures behind the verdicts. Those on starts and numbers of classes are in [`FitReport`](crate::FitReport).
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    /// A histogram of the probability of each unit's most probable class, in ten bins from 0 to 1.
    pub certainty: Histogram,
    /// The share of units for which each treatment of [`Curves::grid`](super::Curves::grid) is within the support.
    pub overlap: Vec<f64>,
    /// The coverage of factual outcomes by intervals with fresh noise (rho = 0), by level. Empty if all answers are probabilities.
    pub calibration: Vec<LevelCoverage>,
}

/// The coverage of intervals at one level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelCoverage {
    /// The level of the intervals.
    pub level: f64,
    /// The share of observed outcome elements inside their interval.
    pub coverage: f64,
}

impl ReportContext<'_> {
    pub(super) fn collect_evidence(&self, overlap: Vec<f64>) -> Result<Evidence> {
        let mut posterior = Vec::new();
        let mut calibration = Vec::new();
        for level in COVERAGE_LEVELS {
            let options = AskOptions { rho: Rho::Given(0.0), level };
            let answers = self.model.outcomes(self.data, self.data.t(), options)?;
            let coverage = self.model.factual_coverage(self.data, &answers);
            calibration.extend(coverage.map(|coverage| LevelCoverage { level, coverage }));
            posterior = answers.posterior; // the same at every level
        }
        let units = posterior.chunks(self.model.classes());
        let certainty = units.map(|classes| classes.iter().copied().fold(0.0, f32::max));
        let certainty = certainty.map(|probability| (0, f64::from(probability)));
        Ok(Evidence {
            certainty: Histogram::between(0.0, 1.0, CERTAINTY_BINS, 1, certainty),
            overlap,
            calibration,
        })
    }
}
