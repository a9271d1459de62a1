//! Evenly spaced treatments, given as `LO:HI:N`.

use std::str::FromStr;

use cfqp::ask::CurveSpec;
use cfqp::{Layout, Model, Units};

use crate::args::parse_precise;
use crate::error::{Failure, Result};

const MAX_STEPS: usize = 100_000;

/// Evenly spaced treatments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    low: f64,
    high: f64,
    steps: usize,
}

impl FromStr for Grid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let &[low, high, steps] = &parts[..] else {
            return Err("expected LO:HI:N, for example 0.2:1:9".to_owned());
        };
        let (low, high) = (parse_precise(low)?, parse_precise(high)?);
        match steps.parse() {
            Ok(steps @ 2..=MAX_STEPS) if low < high => Ok(Self { low, high, steps }),
            Ok(2..=MAX_STEPS) => Err(format!("LO must be below HI: {low}, {high}")),
            _ => Err(format!("N must be an integer from 2 to {MAX_STEPS}: {steps}")),
        }
    }
}

impl Grid {
    /// The amounts, both ends included.
    pub(super) fn amounts(&self) -> Vec<f64> {
        let step = (self.high - self.low) / (self.steps - 1) as f64;
        (0..self.steps).map(|i| self.low + i as f64 * step).collect()
    }

    /// The treatments, after checking that those of the model are single numbers.
    pub(super) fn resolve(&self, fitted: &Model) -> Result<Units> {
        let dimensions = fitted.shapes().t;
        if fitted.layout().is_some_and(Layout::has_levels) {
            let message = "--grid: the treatment has levels, which have no amounts between them";
            let hint = "for one answer per level: cfqp curve MODEL FILE --out FILE; of several treatments: cfqp curve \
                        --over dose --hold drug=B; for one treatment give --treatment";
            return Err(Failure::new(message, hint));
        }
        if dimensions != 1 {
            let message = format!("--grid: the treatments of this model have {dimensions} dimensions");
            let hint = "let one of them vary: cfqp curve --over NAME --grid LO:HI:N; or ask about one combination: \
                        cfqp query --treatment T1,T2";
            return Err(Failure::new(message, hint));
        }
        let amounts = self.amounts();
        Ok(fitted.curve_grid(&CurveSpec { amounts: Some(&amounts), ..CurveSpec::default() })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_includes_both_ends() {
        let grid: Grid = "-1:1:5".parse().unwrap();
        assert_eq!(grid.amounts(), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        for wrong in
            ["", "1", "1:2", "2:1:5", "0:1:1", "0:1:x", "nan:1:5", "0:inf:5", "0:1:5:6", "0:1:999999"]
        {
            assert!(wrong.parse::<Grid>().is_err(), "{wrong}");
        }
    }
}
