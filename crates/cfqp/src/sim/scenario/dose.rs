//! Random functions of treatments.

use std::f64::consts::PI;

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use super::draw::{choose, happens, moments, sign, standard};
use super::treatment::Coordinates;
use crate::Rng;
use crate::sim::uniform;

/// Amounts are cut off here, where 0 to 1 is the usual range.
const AMOUNT_RANGE: (f64, f64) = (-0.5, 1.5);

/// The form of a function of one treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveForm {
    /// A straight line.
    Linear,
    /// A sum of slow sines.
    Smooth,
    /// Steep at first, flat later.
    Saturating,
    /// One or two steps.
    Steps,
    /// With a maximum or a minimum inside.
    NotMonotone,
}

/// A form for an amount.
pub(super) fn curve_form(rng: &mut Rng) -> CurveForm {
    choose(
        rng,
        &[
            (0.25, CurveForm::Linear),
            (0.25, CurveForm::Smooth),
            (0.2, CurveForm::Saturating),
            (0.12, CurveForm::Steps),
            (0.18, CurveForm::NotMonotone),
        ],
    )
}

/// A function of one amount, of which 0 to 1 is the usual range.
#[derive(Clone, Debug)]
enum Curve {
    Line,
    /// Weight, frequency and phase of every sine.
    Waves(Vec<[f64; 3]>),
    /// 1 - exp(-c u)
    Saturating(f64),
    /// Places and heights.
    Steps(Vec<[f64; 2]>),
    /// -(u - p)^2
    Hump(f64),
}

impl Curve {
    fn new(rng: &mut Rng, form: CurveForm) -> Self {
        match form {
            CurveForm::Linear => Self::Line,
            CurveForm::Smooth => {
                let wave =
                    |rng: &mut Rng| [standard(rng), uniform(rng, 0.5, 2.5), uniform(rng, 0.0, 2.0 * PI)];
                Self::Waves((0..3).map(|_| wave(rng)).collect())
            }
            CurveForm::Saturating => Self::Saturating(uniform(rng, 2.0, 8.0)),
            CurveForm::Steps => {
                let step = |rng: &mut Rng| [uniform(rng, 0.2, 0.8), sign(rng) * uniform(rng, 0.4, 1.0)];
                Self::Steps((0..rng.random_range(1..=2)).map(|_| step(rng)).collect())
            }
            CurveForm::NotMonotone => Self::Hump(uniform(rng, 0.25, 0.75)),
        }
    }

    fn at(&self, amount: f64) -> f64 {
        let u = amount.clamp(AMOUNT_RANGE.0, AMOUNT_RANGE.1);
        match self {
            Self::Line => u,
            Self::Waves(waves) => waves.iter().map(|[w, f, phase]| w * (PI * f * u + phase).sin()).sum(),
            Self::Saturating(rate) => 1.0 - (-rate * u.max(0.0)).exp(),
            Self::Steps(steps) => {
                steps.iter().map(|[at, height]| height * f64::from(u8::from(u > *at))).sum()
            }
            Self::Hump(peak) => -(u - peak).powi(2),
        }
    }
}

/// A function of the treatment with mean 0 and standard deviation 1.
#[derive(Clone, Debug)]
pub(super) struct DoseFunction {
    parts: DoseParts,
    mean: f64,
    sd: f64,
}

#[derive(Clone, Debug)]
enum DoseParts {
    /// A curve and a weight per amount, and the weight of the product of two amounts.
    Amounts(Vec<(Curve, f64)>, f64),
    /// A number per arm.
    Arms(Vec<f64>),
}

impl DoseFunction {
    /// A function of the treatments `pilot`, standardised over them.
    pub(super) fn new(rng: &mut Rng, form: CurveForm, pilot: &[Coordinates]) -> Self {
        let arms = pilot.iter().filter_map(|at| at.arm).max().map_or(0, |arm| arm + 1);
        let parts = if arms > 0 {
            DoseParts::Arms((0..arms).map(|_| standard(rng)).collect())
        } else {
            let amounts = pilot[0].amounts.len();
            let curve = |rng: &mut Rng| (Curve::new(rng, form), sign(rng) * uniform(rng, 0.5, 1.0));
            let curves: Vec<_> = (0..amounts).map(|_| curve(rng)).collect();
            let product = if amounts > 1 && happens(rng, 0.5) { standard(rng) } else { 0.0 };
            DoseParts::Amounts(curves, product)
        };
        let raw = Self { parts, mean: 0.0, sd: 1.0 };
        let (mean, sd) = moments(pilot.iter().map(|at| raw.at(at)));
        if sd == 1.0 && form != CurveForm::Linear {
            // the curve is the same under all treatments that occur
            return Self::new(rng, CurveForm::Linear, pilot);
        }
        Self { mean, sd, ..raw }
    }

    /// The function times a factor.
    pub(super) fn times(self, factor: f64) -> Self {
        Self { sd: self.sd / factor, ..self }
    }

    pub(super) fn at(&self, at: &Coordinates) -> f64 {
        let raw = match &self.parts {
            DoseParts::Arms(values) => values[at.arm.unwrap_or(0)],
            DoseParts::Amounts(curves, product) => {
                let sum: f64 = curves
                    .iter()
                    .zip(&at.amounts)
                    .map(|((curve, weight), amount)| weight * curve.at(*amount))
                    .sum();
                sum + product * at.amounts.iter().map(|amount| amount - 0.5).product::<f64>()
            }
        };
        (raw - self.mean) / self.sd
    }
}
