//! What the verdicts rest on, as far as it can be drawn.

use serde::Serialize;

use super::{Histogram, Scene};
use crate::Result;
use crate::query::answer::Ask;
use crate::query::judge::held;

/// Levels at which intervals are held against what was seen.
const LEVELS: [f64; 6] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

/// Figures behind the verdicts; starts and numbers of classes are in the fit's own report.
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    /// How probable the most probable class of each unit is, in tenths from 0 to 1.
    pub certainty: Histogram,
    /// For every treatment of the dose curves, the share of units near which it was seen.
    pub overlap: Vec<f64>,
    /// Levels of intervals, and the share of seen outcomes that intervals of that level hold.
    pub calibration: Vec<(f64, f64)>,
}

impl Scene<'_> {
    pub(super) fn evidence(&self, overlap: Vec<f64>) -> Result<Evidence> {
        let classes = self.fitted.classes();
        let mut certainty = None;
        let mut calibration = Vec::new();
        for level in LEVELS {
            let answers = self.fitted.query(self.data, self.data.t(), &Ask { rho: 0.0, level })?;
            calibration.push((level, held(self.data.y(), &answers.lower, &answers.upper)?));
            certainty.get_or_insert_with(|| {
                let most =
                    answers.posterior.chunks(classes).map(|own| own.iter().copied().fold(0.0, f32::max));
                Histogram::between((0.0, 1.0), 10, 1, most.map(|p| (0, f64::from(p))))
            });
        }
        let certainty =
            certainty.unwrap_or_else(|| Histogram::between((0.0, 1.0), 10, 1, std::iter::empty()));
        Ok(Evidence { certainty, overlap, calibration })
    }
}
