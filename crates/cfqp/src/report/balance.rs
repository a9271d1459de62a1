//! Whether units that received different treatments are alike in their covariates, before and after weighting.

use serde::Serialize;

use super::ReportContext;
use super::covariates::Covariates;
use crate::Result;
use crate::plain::{ContrastWeights, TreatmentRatio, treatment_levels};

/// The largest number of covariates in the summary: those with the largest differences.
const MAX_COVARIATES: usize = 12;
/// The smallest number of units in each group that is compared.
const MIN_UNITS: usize = 5;

/// How much covariates go with the treatment received, as observed and with units weighted so that they should not.
#[derive(Clone, Debug, Serialize)]
pub struct Balance {
    /// What is measured.
    pub measure: BalanceMeasure,
    /// The number of units that received either treatment that the report compares; empty for correlations.
    pub units: Vec<usize>,
    /// The covariates that go most with the treatment, in falling order.
    pub covariates: Vec<CovariateBalance>,
    /// The number of covariates that were compared.
    pub count: usize,
}

/// What a balance measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BalanceMeasure {
    /// The difference of the means of units that received the second and the first treatment, in standard deviations (the
    /// root of the mean of the variances of both).
    MeanDifference,
    /// The correlation of the covariate and the amount received.
    Correlation,
}

/// The balance of one covariate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CovariateBalance {
    /// The name of the covariate.
    pub name: String,
    /// The difference or correlation as observed.
    pub before: f64,
    /// The same with units weighted by the inverse of the probability of the treatment that they received; none without weights.
    pub after: Option<f64>,
}

impl ReportContext<'_> {
    /// The balance of the treatments that the report compares; none if too few units received them, or if several amounts vary.
    pub(super) fn balance(&self) -> Result<Option<Balance>> {
        let covariates = Covariates::new(self.model, self.data.x());
        if covariates.len() == 0 || self.compares_equal() {
            return Ok(None);
        }
        if treatment_levels(self.data.t()).is_some() {
            return self.balance_of_arms(&covariates);
        }
        Ok((self.data.t().elements() == 1).then(|| self.balance_of_amounts(&covariates)))
    }

    fn balance_of_arms(&self, covariates: &Covariates<'_>) -> Result<Option<Balance>> {
        let (from, to) = (self.from.row(0), self.to.row(0));
        let received = |level: &[f32]| -> Vec<usize> {
            (0..self.data.len()).filter(|&i| self.data.t().row(i)[..] == *level).collect()
        };
        let arms = [received(&from), received(&to)];
        if arms.iter().any(|arm| arm.len() < MIN_UNITS) {
            return Ok(None);
        }
        let weights = ContrastWeights::fit(self.data, &from, &to, self.model.config().seed)?;
        let compare = |j: usize| {
            let own = |weights: [&dyn Fn(usize) -> f64; 2]| {
                let [low, high] = [0, 1].map(|a| {
                    let values =
                        arms[a].iter().filter_map(|&i| Some((weights[a](i), covariates.value(i, j)?)));
                    Moments::of(values)
                });
                high.mean - low.mean
            };
            let spread = [0, 1].map(|a| {
                let values = arms[a].iter().filter_map(|&i| Some((1.0, covariates.value(i, j)?)));
                Moments::of(values).variance
            });
            let deviation = (0.5 * (spread[0] + spread[1])).sqrt();
            let before = own([&|_| 1.0, &|_| 1.0]) / deviation;
            let after = weights.as_ref().map(|w| own([&|i| w.from[i], &|i| w.to[i]]) / deviation);
            CovariateBalance { name: covariates.name(j).to_owned(), before, after }
        };
        let units = arms.iter().map(Vec::len).collect();
        Ok(Some(Balance::new(BalanceMeasure::MeanDifference, units, (0..covariates.len()).map(compare))))
    }

    fn balance_of_amounts(&self, covariates: &Covariates<'_>) -> Balance {
        let ratio = TreatmentRatio::fit(self.data, self.model.config().seed);
        let amount = |i: usize| f64::from(self.data.t().row(i)[0]);
        let weight = |i: usize| ratio.as_ref().map(|own| own.value(self.data.x(), i, &self.data.t().row(i)));
        let weights: Option<Vec<f64>> = (0..self.data.len()).map(weight).collect();
        let compare = |j: usize| {
            let correlation = |weight: &dyn Fn(usize) -> f64| {
                let pairs = (0..self.data.len())
                    .filter_map(|i| Some((weight(i), amount(i), covariates.value(i, j)?)))
                    .collect::<Vec<_>>();
                weighted_correlation(&pairs)
            };
            CovariateBalance {
                name: covariates.name(j).to_owned(),
                before: correlation(&|_| 1.0),
                after: weights.as_ref().map(|weights| correlation(&|i| weights[i])),
            }
        };
        Balance::new(BalanceMeasure::Correlation, Vec::new(), (0..covariates.len()).map(compare))
    }
}

impl Balance {
    fn new(
        measure: BalanceMeasure,
        units: Vec<usize>,
        covariates: impl Iterator<Item = CovariateBalance>,
    ) -> Self {
        // constant covariates have no difference
        let is_finite =
            |own: &CovariateBalance| own.before.is_finite() && own.after.is_none_or(f64::is_finite);
        let mut covariates: Vec<CovariateBalance> = covariates.filter(is_finite).collect();
        let count = covariates.len();
        let size = |own: &CovariateBalance| own.before.abs().max(own.after.map_or(0.0, f64::abs));
        covariates.sort_by(|a, b| size(b).total_cmp(&size(a)));
        covariates.truncate(MAX_COVARIATES);
        Self { measure, units, covariates, count }
    }

    /// The largest difference or correlation before and after weighting, of any sign.
    pub fn largest(&self) -> (f64, Option<f64>) {
        let before = self.covariates.iter().map(|own| own.before.abs()).fold(0.0, f64::max);
        let after = self.covariates.iter().map(|own| own.after.map(f64::abs)).collect::<Option<Vec<_>>>();
        (before, after.map(|after| after.into_iter().fold(0.0, f64::max)))
    }
}

/// A weighted mean and variance; NaN without values.
struct Moments {
    mean: f64,
    variance: f64,
}

impl Moments {
    fn of(values: impl Iterator<Item = (f64, f64)>) -> Self {
        let (n, sum, squares) = values
            .fold((0.0, 0.0, 0.0), |(n, sum, squares), (w, v)| (n + w, sum + w * v, squares + w * v * v));
        let mean = sum / n;
        Self { mean, variance: (squares / n - mean * mean).max(0.0) }
    }
}

/// The correlation of the last two of `(weight, a, b)`.
fn weighted_correlation(pairs: &[(f64, f64, f64)]) -> f64 {
    let total: f64 = pairs.iter().map(|(w, ..)| w).sum();
    let mean = |value: &dyn Fn(&(f64, f64, f64)) -> f64| {
        pairs.iter().map(|pair| pair.0 * value(pair)).sum::<f64>() / total
    };
    let (a, b) = (mean(&|pair| pair.1), mean(&|pair| pair.2));
    let product = mean(&|pair| (pair.1 - a) * (pair.2 - b));
    product / (mean(&|pair| (pair.1 - a).powi(2)) * mean(&|pair| (pair.2 - b).powi(2))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_correlations_are_weighted() {
        let own = Moments::of([(1.0, 0.0), (3.0, 4.0)].into_iter());
        assert_eq!((own.mean, own.variance), (3.0, 3.0));
        let line = [(1.0, 0.0, 1.0), (2.0, 1.0, 3.0), (1.0, 2.0, 5.0)];
        assert!((weighted_correlation(&line) - 1.0).abs() < 1e-12);
        // a weight of zero leaves a unit out
        let outlier = [&line[..], &[(0.0, 9.0, -9.0)]].concat();
        assert!((weighted_correlation(&outlier) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn constant_covariates_are_left_out_and_the_largest_come_first() {
        let own = |name: &str, before: f64, after: Option<f64>| CovariateBalance {
            name: name.to_owned(),
            before,
            after,
        };
        let all = [own("a", 0.1, Some(0.0)), own("b", f64::NAN, None), own("c", -0.5, Some(0.02))];
        let balance = Balance::new(BalanceMeasure::Correlation, Vec::new(), all.into_iter());
        let names: Vec<&str> = balance.covariates.iter().map(|own| &own.name[..]).collect();
        assert_eq!((names, balance.count), (vec!["c", "a"], 2));
        assert_eq!(balance.largest(), (0.5, Some(0.02)));
    }
}
