//! How much more often a treatment is received at all than by units with these covariates.

use super::design::Columns;
use super::levels::treatment_levels;
use super::propensity::{Propensity, TreatmentDensity};
use crate::data::{Dataset, Units};
use crate::math::{mean, standard_deviation};
use crate::stream;

/// With more covariates than this, nothing is estimated.
const MAX_COVARIATES: usize = 256;
/// Ratios are at most this, and at least its inverse.
const MAX_RATIO: f64 = 20.0;

/// p(t) / p(t | x): a logistic regression per level, or two normal densities of an amount.
#[derive(Clone, Debug)]
pub(crate) struct TreatmentRatio {
    x: Columns,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    /// Level, share of units, probability given x.
    Levels(Vec<(Vec<f32>, f64, Propensity)>),
    Amount {
        mean: f64,
        deviation: f64,
        given_x: TreatmentDensity,
    },
}

impl TreatmentRatio {
    /// Fits the ratio to all units; none where it cannot be estimated: many covariates, several amounts at once.
    pub(crate) fn fit(data: &Dataset, seed: u64) -> Option<Self> {
        if data.x().elements() > MAX_COVARIATES {
            return None;
        }
        let x = Columns::fit(data.x(), &mut stream(seed, &["plain", "ratio"]));
        let rows: Vec<usize> = (0..data.len()).collect();
        let covariates: Vec<Vec<f32>> = rows.iter().map(|&i| x.row(data.x(), i)).collect();
        if let Some(levels) = treatment_levels(data.t()) {
            let level = |level: super::levels::TreatmentLevel| {
                let received: Vec<bool> = rows.iter().map(|&i| data.t().row(i)[..] == level.t[..]).collect();
                let share = level.units as f64 / rows.len() as f64;
                (level.t, share, Propensity::fit(&covariates, &received, &rows))
            };
            return Some(Self { x, form: Form::Levels(levels.into_iter().map(level).collect()) });
        }
        if data.t().elements() != 1 {
            return None;
        }
        let t: Vec<f64> = data.t().values().iter().map(|&t| t.into()).collect();
        let given_x = TreatmentDensity::fit(&covariates, &t, &rows)?;
        let form = Form::Amount { mean: mean(&t), deviation: standard_deviation(&t), given_x };
        Some(Self { x, form })
    }

    /// p(t) / p(t | x) of unit `i` of `x` and the treatment `t`; 1 for a level that nobody received.
    pub(crate) fn value(&self, x: &Units, i: usize, t: &[f32]) -> f64 {
        let x = self.x.row(x, i);
        let ratio = match &self.form {
            Form::Levels(levels) => levels
                .iter()
                .find(|(level, ..)| level[..] == *t)
                .map_or(1.0, |(_, share, propensity)| share / propensity.probability(&x)),
            Form::Amount { mean, deviation, given_x } => {
                let t = f64::from(t[0]);
                let overall = (-0.5 * ((t - mean) / deviation).powi(2)).exp() / deviation;
                overall * given_x.deviation() / given_x.relative(&x, t).max(f64::MIN_POSITIVE)
            }
        };
        if ratio.is_nan() { 1.0 } else { ratio.clamp(1.0 / MAX_RATIO, MAX_RATIO) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt as _;

    fn data(n: usize, treatment: impl Fn(f32, f32) -> f32) -> Dataset {
        let rng = &mut stream(1, &["ratio"]);
        let x: Vec<f32> = (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
        let t: Vec<f32> = x.iter().map(|x| treatment(*x, rng.random_range(-1.0..1.0))).collect();
        let units = |values: Vec<f32>| Units::new("a", vec![1], values).unwrap();
        Dataset::new(units(x), units(t.clone()), units(t)).unwrap()
    }

    #[test]
    fn units_that_rarely_receive_a_treatment_count_more() {
        let levels = data(2000, |x, e| f32::from(u8::from(x + e > 0.0)));
        let ratio = TreatmentRatio::fit(&levels, 1).unwrap();
        let asked = Units::new("x", vec![1], vec![-0.8, 0.0, 0.8]).unwrap();
        let [low, middle, high] = [0, 1, 2].map(|i| ratio.value(&asked, i, &[1.0]));
        assert!(low > 2.5 && (0.85..1.15).contains(&middle) && high < 0.7, "{low} {middle} {high}");
        assert_eq!(ratio.value(&asked, 0, &[7.0]), 1.0, "nobody received it");
        let amounts = data(2000, |x, e| 2.0 * x + e);
        let ratio = TreatmentRatio::fit(&amounts, 1).unwrap();
        assert!(ratio.value(&asked, 0, &[1.5]) > 3.0 && ratio.value(&asked, 2, &[1.5]) < 0.8);
        let random = data(2000, |_, e| e);
        let ratio = TreatmentRatio::fit(&random, 1).unwrap();
        assert!((0.85..1.15).contains(&ratio.value(&asked, 0, &[0.5])));
    }
}
