//! The correlation of the noise, and the levels at which intervals hold what they promise.

use serde::{Deserialize, Serialize};

use crate::math::UNIFORM_NODES;

/// Correlations that are calibrated; others are interpolated.
pub(super) const CORRELATIONS: [f64; 3] = [0.0, 0.5, 1.0];
/// The levels of the table.
pub(super) const LEVELS: [f64; 12] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];
/// The widening without a calibration, in standard deviations between members.
pub(super) const DEFAULT_SPREAD: f64 = 0.5;

/// The correlation of the noise under both treatments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Correlation {
    Known(f64),
    /// Uniform on [0, 1].
    Unknown,
}

impl Correlation {
    /// The mean of rho.
    pub(super) fn mean(self) -> f64 {
        match self {
            Self::Known(rho) => rho,
            Self::Unknown => 0.5,
        }
    }

    /// Weights and values.
    pub(super) fn nodes(self) -> Vec<(f64, f64)> {
        match self {
            Self::Known(rho) => vec![(1.0, rho)],
            Self::Unknown => UNIFORM_NODES.iter().map(|node| (node.weight, node.at)).collect(),
        }
    }
}

/// The levels to use for promised levels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LevelCalibration {
    /// For correlations 0, 0.5 and 1.
    pub known: Vec<LevelTable>,
    pub unknown: LevelTable,
}

/// The levels at one correlation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LevelTable {
    pub spread: f64,
    /// The level to use for each of [`LEVELS`].
    pub needed: Vec<f64>,
}

impl LevelTable {
    /// By linear interpolation; a table without entries changes nothing.
    fn level(&self, level: f64) -> f64 {
        let mut before = (0.0, 0.0);
        for (&promised, &needed) in LEVELS.iter().zip(&self.needed) {
            if level <= promised {
                let share = (level - before.0) / (promised - before.0);
                return before.1 + share * (needed - before.1);
            }
            before = (promised, needed);
        }
        1.0 - (1.0 - level) * (1.0 - before.1) / (1.0 - before.0)
    }

    fn is_sound(&self) -> bool {
        self.needed.len() == LEVELS.len()
            && self.needed.iter().all(|level| (0.0..1.0).contains(level))
            && self.spread.is_finite()
    }
}

impl LevelCalibration {
    fn tables(&self, rho: Correlation) -> (&LevelTable, &LevelTable, f64) {
        match rho {
            Correlation::Unknown => (&self.unknown, &self.unknown, 0.0),
            Correlation::Known(rho) => {
                let at = (rho * 2.0).clamp(0.0, 2.0);
                let low = (at.floor() as usize).min(1);
                (&self.known[low], &self.known[low + 1], at - low as f64)
            }
        }
    }

    /// The level to use for a promised level.
    pub(crate) fn level(&self, rho: Correlation, level: f64) -> f64 {
        if self.known.is_empty() {
            return level;
        }
        let (low, high, share) = self.tables(rho);
        ((1.0 - share) * low.level(level) + share * high.level(level)).clamp(1e-6, 1.0 - 1e-9)
    }

    /// The widening, in standard deviations between members.
    pub(crate) fn spread(&self, rho: Correlation) -> f64 {
        if self.known.is_empty() {
            return DEFAULT_SPREAD;
        }
        let (low, high, share) = self.tables(rho);
        (1.0 - share) * low.spread + share * high.spread
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.known.len() == CORRELATIONS.len()
            && self.known.iter().all(LevelTable::is_sound)
            && self.unknown.is_sound()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_calibration_changes_nothing() {
        let none = LevelCalibration::default();
        assert_eq!(none.level(Correlation::Known(0.3), 0.9), 0.9);
        assert!(!none.is_sound());
    }

    #[test]
    fn levels_are_interpolated_between_levels_and_correlations() {
        let table = |by: f64| LevelTable { spread: by, needed: LEVELS.map(|level| level * by).to_vec() };
        let calibration =
            LevelCalibration { known: vec![table(1.0), table(0.8), table(0.6)], unknown: table(0.5) };
        assert!(calibration.is_sound());
        let near = |rho: Correlation, level: f64, expected: f64| {
            let found = calibration.level(rho, level);
            assert!((found - expected).abs() < 1e-6, "{rho:?} {level}: {found}");
        };
        near(Correlation::Known(0.0), 0.9, 0.9);
        near(Correlation::Known(0.5), 0.85, 0.68);
        near(Correlation::Known(0.25), 0.9, 0.81);
        near(Correlation::Known(1.0), 0.02, 0.012);
        near(Correlation::Unknown, 0.5, 0.25);
        // above the last level the share outside shrinks in proportion
        near(Correlation::Known(0.0), 0.999, 0.999);
        assert!((calibration.spread(Correlation::Known(0.75)) - 0.7).abs() < 1e-9);
    }
}
