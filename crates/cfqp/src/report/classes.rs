//! The hidden classes: their sizes, their covariates and their responses. Every unit counts for each class by its posterior.
//!
//! A class that is seen only in units with some treatments would take on the covariates of these units. So profiles compare units
//! that received the same treatment, or similar ones: in strata s of n_s units,
//!
//! ```text
//! mean of class k = sum_s n_s (sum_i p_ik x_i / sum_i p_ik, over the units i of s) / sum_s n_s
//! ```
//!
//! If the model says that the class goes with the treatment (given covariates), all units are one stratum: then the treatment is a
//! trace of the class.

use serde::Serialize;

use super::ReportContext;
use super::covariates::Covariates;
use crate::Result;
use crate::ask::{Answers, PlainComparison};
use crate::data::Units;
use crate::density::ClassWeights;
use crate::math::normal_half_width;
use crate::plain::treatment_levels;

/// The largest number of covariates in the profiles: those in which classes differ most.
const MAX_CLASS_COVARIATES: usize = 8;
/// A treatment of at most so many values has a stratum per value.
const MAX_LEVELS: usize = 12;
/// The numbers of ranges of one amount, and of each of two.
const RANGES: usize = 5;
const RANGES_OF_TWO: usize = 3;
/// The smallest size of a class, and of all others, in a stratum, in units.
const MIN_STRATUM: f64 = 2.0;
/// The smallest difference, in standard deviations, that is called one.
const MIN_GAP: f64 = 0.2;
/// The level of the tests of differences, corrected for the number of covariates.
const TEST_LEVEL: f64 = 0.95;

/// What the profiles of classes compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileBasis {
    /// Units that received the same treatment, or similar ones.
    EqualTreatments,
    /// All units, because the class goes with the treatment or because treatments cannot be grouped.
    AllUnits,
    /// Nothing: the data do not show which class under one treatment is which under another.
    NotIdentified,
}

/// A summary of one hidden class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassSummary {
    /// The number of the class.
    pub class: usize,
    /// The number of units of the class: the sum of their probabilities, rounded.
    pub units: usize,
    /// The mean probability of the class.
    pub share: f64,
    /// The covariates in which classes differ most, in the same order for all classes; with one class, the first ones. Empty if
    /// classes are not identified.
    pub covariates: Vec<CovariateMeans>,
    /// The mean response of each outcome that the report draws. Empty if classes are not identified.
    pub responses: Vec<ClassResponse>,
}

/// The mean of one covariate in a class and in the other classes.
#[derive(Clone, Debug, Serialize)]
pub struct CovariateMeans {
    /// The name of the covariate; for a series or an image, of the mean over a channel.
    pub name: String,
    /// The mean over the units of the class.
    pub mean: f64,
    /// The mean over all other units.
    pub others: f64,
    /// The difference of the two, in standard deviations over all units.
    pub gap: f64,
    /// The standard error of the difference.
    pub standard_error: f64,
    /// Whether the difference is at least 0.2 and more than chance explains, allowing for the number of covariates.
    pub is_clear: bool,
}

/// The mean of one outcome over the units of a class, under three treatments; NaN for a class without units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassResponse {
    /// The name of the outcome.
    pub name: String,
    /// The mean under the low treatment.
    pub low: f64,
    /// The mean under the median treatment.
    pub median: f64,
    /// The mean under the high treatment.
    pub high: f64,
}

/// Weighted sums of values of a class in a stratum.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: f64,
    sum: f64,
}

impl Sums {
    fn add(&mut self, weight: f64, value: f64) {
        self.n += weight;
        self.sum += weight * value;
    }

    fn mean(self) -> f64 {
        self.sum / self.n
    }
}

/// Units that received the same treatment, or similar ones: the stratum of every unit, and their number.
struct Strata {
    of: Vec<usize>,
    count: usize,
}

impl Strata {
    fn one(units: usize) -> Self {
        Self { of: vec![0; units], count: 1 }
    }

    /// None if treatments cannot be grouped: more than two amounts.
    fn new(t: &Units) -> Option<Self> {
        if let Some(levels) = treatment_levels(t).filter(|levels| levels.len() <= MAX_LEVELS) {
            let level = |i: usize| levels.iter().position(|level| level.t[..] == t.row(i)[..]);
            let of = (0..t.len()).map(|i| level(i).unwrap_or(0)).collect();
            return Some(Self { of, count: levels.len() });
        }
        let ranges = match t.elements() {
            1 => RANGES,
            2 => RANGES_OF_TWO,
            _ => return None,
        };
        let mut of = vec![0; t.len()];
        for j in 0..t.elements() {
            let mut sorted: Vec<f32> = (0..t.len()).map(|i| t.row(i)[j]).collect();
            sorted.sort_by(f32::total_cmp);
            let mut bounds: Vec<f32> = (1..ranges).map(|k| sorted[k * sorted.len() / ranges]).collect();
            bounds.dedup();
            let range = |i: usize| bounds.partition_point(|bound| *bound <= t.row(i)[j]);
            of.iter_mut().enumerate().for_each(|(i, own)| *own = *own * ranges + range(i));
        }
        Some(Self { of, count: ranges.pow(t.elements() as u32) })
    }
}

impl ReportContext<'_> {
    /// What the profiles of the classes compare; `plain` says whether the class goes with the treatment, if there are comparisons.
    pub(super) fn profile_basis(&self, plain: &[PlainComparison]) -> ProfileBasis {
        if self.model.classes() > 1 && !self.model.has_class_effects() {
            return ProfileBasis::NotIdentified;
        }
        let may_drive = self.model.class_weights() == ClassWeights::CovariatesAndTreatment;
        let drives = may_drive && (plain.is_empty() || plain.iter().any(|own| own.class_drives_treatment));
        match self.model.classes() == 1 || drives || Strata::new(self.data.t()).is_none() {
            true => ProfileBasis::AllUnits,
            false => ProfileBasis::EqualTreatments,
        }
    }

    /// A summary of every class, with the responses of the outcomes `drawn`.
    pub(super) fn summarise_classes(
        &self,
        effects: &Answers,
        drawn: &[usize],
        basis: ProfileBasis,
    ) -> Result<Vec<ClassSummary>> {
        let classes = self.model.classes();
        let is_identified = basis != ProfileBasis::NotIdentified;
        let class_means = |t| -> Result<Vec<Vec<f64>>> {
            let answers = self.class_answers(self.model, t)?;
            Ok(drawn.iter().map(|&o| self.class_means(effects, o, |k| &answers[k])).collect())
        };
        let means = match is_identified {
            true => Some([class_means(&self.from)?, class_means(&self.median)?, class_means(&self.to)?]),
            false => None,
        };
        let mut profiles = if is_identified { self.profiles(effects, basis) } else { Vec::new() };
        let summarise = |k: usize| {
            let units: f64 = (0..self.data.len()).map(|i| self.probability(effects, i, k)).sum();
            let response = |(i, &o): (usize, &usize)| {
                let [low, median, high] = means.as_ref()?.each_ref().map(|of_treatment| of_treatment[i][k]);
                Some(ClassResponse { name: self.outcomes[o].name.clone(), low, median, high })
            };
            let share = units / self.data.len() as f64;
            ClassSummary {
                class: k,
                units: (share * self.all.len() as f64).round() as usize,
                share,
                covariates: profiles.get_mut(k).map(std::mem::take).unwrap_or_default(),
                responses: drawn.iter().enumerate().filter_map(response).collect(),
            }
        };
        Ok((0..classes).map(summarise).collect())
    }

    /// The profile of every class: the covariates in which any of them differs most, in the same order.
    fn profiles(&self, effects: &Answers, basis: ProfileBasis) -> Vec<Vec<CovariateMeans>> {
        let covariates = Covariates::new(self.model, self.data.x());
        let strata = match basis {
            ProfileBasis::EqualTreatments => Strata::new(self.data.t()),
            ProfileBasis::AllUnits | ProfileBasis::NotIdentified => None,
        };
        let strata = strata.unwrap_or_else(|| Strata::one(self.data.len()));
        let classes = self.model.classes();
        let comparisons = covariates.len() * classes.saturating_sub(1).max(1);
        let z = normal_half_width(1.0 - (1.0 - TEST_LEVEL) / comparisons.max(1) as f64);
        let profile = |j: usize| -> Vec<CovariateMeans> {
            let values: Vec<Option<f64>> = (0..self.data.len()).map(|i| covariates.value(i, j)).collect();
            let of_class = |k: usize| {
                let posterior: Vec<f64> =
                    (0..self.data.len()).map(|i| self.probability(effects, i, k)).collect();
                compare_with_others(covariates.name(j), &values, &posterior, &strata, z)
            };
            (0..classes).map(of_class).collect()
        };
        let mut columns: Vec<Vec<CovariateMeans>> = (0..covariates.len()).map(profile).collect();
        let size = |column: &Vec<CovariateMeans>| {
            let gaps = column.iter().filter(|own| own.gap.is_finite());
            gaps.map(|own| own.gap.abs() + if own.is_clear { 1e3 } else { 0.0 }).fold(0.0, f64::max)
        };
        columns.sort_by(|a, b| size(b).total_cmp(&size(a)));
        columns.truncate(MAX_CLASS_COVARIATES);
        (0..classes).map(|k| columns.iter().map(|column| column[k].clone()).collect()).collect()
    }
}

/// The mean of a covariate over the units of a class and over the others, by strata; `z` standard errors are a clear difference.
fn compare_with_others(
    name: &str,
    values: &[Option<f64>],
    posterior: &[f64],
    strata: &Strata,
    z: f64,
) -> CovariateMeans {
    let mut sums = vec![[Sums::default(); 2]; strata.count];
    let mut sizes = vec![0.0; strata.count];
    let observed = || values.iter().enumerate().filter_map(|(i, value)| Some((i, (*value)?)));
    for (i, value) in observed() {
        let [own, others] = &mut sums[strata.of[i]];
        own.add(posterior[i], value);
        others.add(1.0 - posterior[i], value);
        sizes[strata.of[i]] += 1.0;
    }
    let is_used = |s: &usize| sums[*s].iter().all(|of| of.n >= MIN_STRATUM);
    let used: Vec<usize> = (0..strata.count).filter(is_used).collect();
    if used.is_empty() {
        // with one class there are no others
        let own = sums
            .iter()
            .fold(Sums::default(), |all, [own, _]| Sums { n: all.n + own.n, sum: all.sum + own.sum });
        let (mean, none) = (own.mean(), f64::NAN);
        let name = name.to_owned();
        return CovariateMeans { name, mean, others: none, gap: 0.0, standard_error: none, is_clear: false };
    }
    let total: f64 = used.iter().map(|&s| sizes[s]).sum();
    let mean_of = |side: usize| used.iter().map(|&s| sizes[s] * sums[s][side].mean()).sum::<f64>() / total;
    let (mean, others) = (mean_of(0), mean_of(1));
    let (mut variance, mut n, mut sum, mut squares) = (0.0, 0.0, 0.0, 0.0);
    for (i, value) in observed() {
        (n, sum, squares) = (n + 1.0, sum + value, squares + value * value);
        let s = strata.of[i];
        if is_used(&s) {
            let [own, rest] = sums[s];
            let influence = posterior[i] * (value - own.mean()) / own.n
                - (1.0 - posterior[i]) * (value - rest.mean()) / rest.n;
            variance += (sizes[s] / total * influence).powi(2);
        }
    }
    let deviation = (squares / n - (sum / n).powi(2)).max(0.0).sqrt();
    // constant covariates do not differ
    let scaled = |value: f64| if deviation > 0.0 { value / deviation } else { 0.0 };
    let (gap, standard_error) = (scaled(mean - others), scaled(variance.sqrt()));
    let is_clear = gap.abs() >= MIN_GAP && gap.abs() > z * standard_error;
    CovariateMeans { name: name.to_owned(), mean, others, gap, standard_error, is_clear }
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;
    use crate::stream;

    /// Severity drives the dose, and only high doses show the class, which has nothing to do with severity.
    #[test]
    fn profiles_compare_units_with_the_same_treatment() {
        let rng = &mut stream(3, &["profiles"]);
        let (mut severity, mut dose, mut posterior) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..4000 {
            let own: f64 = rng.random_range(-1.0..1.0);
            let high = own + rng.random_range(-0.5..0.5) > 0.0;
            severity.push(Some(own));
            dose.push(f32::from(u8::from(high)));
            // at low doses the class is not seen, and taken for rare
            posterior.push(if high { f64::from(i % 5 < 2) } else { 0.1 });
        }
        let strata = Strata::new(&Units::new("t", vec![1], dose).unwrap()).unwrap();
        let adjusted = compare_with_others("severity", &severity, &posterior, &strata, 2.0);
        let all = compare_with_others("severity", &severity, &posterior, &Strata::one(4000), 2.0);
        assert!(all.is_clear && all.gap > 0.5, "{all:?}");
        assert!(!adjusted.is_clear && adjusted.gap.abs() < 3.0 * adjusted.standard_error, "{adjusted:?}");
    }

    #[test]
    fn a_class_with_other_covariates_is_clearly_different() {
        let values: Vec<Option<f64>> = (0..400).map(|i| Some(f64::from(i % 4))).collect();
        let posterior: Vec<f64> = (0..400).map(|i| f64::from(i % 4 > 1)).collect();
        let t = (0..400).map(|i| (i * 7 % 400) as f32).collect();
        let strata = Strata::new(&Units::new("t", vec![1], t).unwrap()).unwrap();
        assert_eq!(strata.count, 5);
        let own = compare_with_others("x", &values, &posterior, &strata, 2.0);
        assert!(own.is_clear && (own.mean - 2.5).abs() < 1e-9 && (own.others - 0.5).abs() < 1e-9, "{own:?}");
        // one class: no others
        let single = compare_with_others("x", &values, &[1.0; 400], &strata, 2.0);
        assert!((single.mean - 1.5).abs() < 1e-9 && single.others.is_nan() && single.gap == 0.0);
        let constant = compare_with_others("x", &[Some(2.0); 400], &posterior, &strata, 2.0);
        assert!(!constant.is_clear && constant.gap == 0.0);
    }
}
