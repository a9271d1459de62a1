//! Random functions of covariates.

use std::f64::consts::PI;

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use super::draw::{choose, choose_several, moments, sign, standard};
use crate::Rng;
use crate::sim::uniform;

/// Covariates are cut off here, in standard deviations, so that products stay finite in the tails.
const MAX_VALUE: f64 = 4.0;

/// The form of a function of covariates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SurfaceForm {
    /// A weighted sum.
    Linear,
    /// Sines of weighted sums.
    Smooth,
    /// Steps at thresholds.
    Thresholds,
    /// Products of two covariates.
    Products,
}

/// A function of covariates with mean 0 and standard deviation 1.
#[derive(Clone, Debug)]
pub(super) struct Surface {
    terms: Vec<Term>,
    mean: f64,
    sd: f64,
}

#[derive(Clone, Debug)]
enum Term {
    Linear { column: usize, weight: f64 },
    Wave { direction: Vec<(usize, f64)>, phase: f64, weight: f64 },
    Step { column: usize, at: f64, weight: f64 },
    Product { columns: [usize; 2], weight: f64 },
}

impl Surface {
    /// A function of the given columns, standardised over `pilot`.
    pub(super) fn new(rng: &mut Rng, form: SurfaceForm, columns: &[usize], pilot: &[Vec<f64>]) -> Self {
        let mut terms: Vec<Term> = Vec::new();
        let linear = if form == SurfaceForm::Linear { 1.0 } else { uniform(rng, 0.0, 0.8) };
        for &column in columns {
            terms.push(Term::Linear { column, weight: linear * (sign(rng) * uniform(rng, 0.3, 1.0)) });
        }
        for i in 0..columns.len().max(2) {
            let column = columns[i % columns.len()];
            let weight = sign(rng) * uniform(rng, 0.5, 1.0);
            match form {
                SurfaceForm::Linear => {}
                SurfaceForm::Smooth => {
                    let others = choose_several(rng, columns.len(), 2);
                    let mut direction = vec![(column, uniform(rng, 0.7, 1.8))];
                    direction.extend(others.iter().map(|&other| (columns[other], 0.5 * standard(rng))));
                    terms.push(Term::Wave { direction, phase: uniform(rng, 0.0, 2.0 * PI), weight });
                }
                SurfaceForm::Thresholds => {
                    terms.push(Term::Step { column, at: uniform(rng, -0.8, 0.8), weight });
                }
                SurfaceForm::Products => {
                    let other = columns[rng.random_range(0..columns.len())];
                    terms.push(Term::Product { columns: [column, other], weight: 0.7 * weight });
                }
            }
        }
        let raw = Self { terms, mean: 0.0, sd: 1.0 };
        let (mean, sd) = moments(pilot.iter().map(|values| raw.at(values)));
        Self { mean, sd, ..raw }
    }

    pub(super) fn at(&self, values: &[f64]) -> f64 {
        let value = |column: usize| values[column].clamp(-MAX_VALUE, MAX_VALUE);
        let term = |term: &Term| match term {
            Term::Linear { column, weight } => weight * value(*column),
            Term::Wave { direction, phase, weight } => {
                let sum: f64 = direction.iter().map(|&(column, w)| w * value(column)).sum();
                weight * (sum + phase).sin()
            }
            Term::Step { column, at, weight } => weight * f64::from(u8::from(value(*column) > *at)),
            Term::Product { columns: [one, other], weight } => weight * value(*one) * value(*other),
        };
        (self.terms.iter().map(term).sum::<f64>() - self.mean) / self.sd
    }
}

/// A form for covariates.
pub(super) fn surface_form(rng: &mut Rng) -> SurfaceForm {
    choose(
        rng,
        &[
            (0.3, SurfaceForm::Linear),
            (0.3, SurfaceForm::Smooth),
            (0.2, SurfaceForm::Thresholds),
            (0.2, SurfaceForm::Products),
        ],
    )
}
