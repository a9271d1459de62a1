//! The choice of the number of classes on held-out units, by one rule for all engines.
//!
//! Fits with one class, two classes and so on are scored by the log-likelihood of every held-out unit. A larger number *improves*
//! on a smaller one if its mean gain is more than two standard errors, and at least the engine's penalty for every further
//! class. The chosen number is the smallest that no larger one improves on. No further number is tried after some in a row
//! did not improve on the best one before.

use std::borrow::Cow;

use crate::Result;
use crate::math::paired_difference;

/// A larger number of classes must be better by this many standard errors.
const STANDARD_ERRORS: f64 = 2.0;

/// What fits a given number of classes.
pub(crate) trait Engine {
    /// The fits of one number of classes.
    type Fit;

    /// No number is tried after this many numbers in a row without improvement: some classes pay only together.
    const PATIENCE: usize;

    /// Fits with this number of classes; `tried` has those with fewer.
    fn fit(&self, classes: usize, tried: &Tried<Self::Fit>) -> Result<Self::Fit>;

    /// The score of every number of classes, in their order.
    fn scores<'a>(&self, tried: &'a Tried<Self::Fit>) -> Vec<Score<'a>>;

    /// The gain in mean log-likelihood that every further class must bring.
    fn penalty(&self, scores: &[Score<'_>]) -> f64;

    /// Adds fits with these numbers of classes to those in `tried`, which are not repeated. With `patience`, stops where more
    /// classes do not help.
    fn try_classes(
        &self,
        numbers: impl IntoIterator<Item = usize>,
        patience: bool,
        tried: &mut Tried<Self::Fit>,
    ) -> Result<()> {
        for classes in numbers {
            if tried.has(classes) {
                continue;
            }
            if patience && self.without_improvement(tried) >= Self::PATIENCE {
                break;
            }
            let fit = self.fit(classes, tried)?;
            tried.0.push((classes, fit));
        }
        Ok(())
    }

    /// How many numbers of classes were tried after the last that improved on the best one before it.
    fn without_improvement(&self, tried: &Tried<Self::Fit>) -> usize {
        let scores = self.scores(tried);
        let improves =
            |best: usize, i: usize| scores[i].improves_on(&scores[best], self.penalty(&scores[..=i]));
        let best = (1..scores.len()).fold(0, |best, i| if improves(best, i) { i } else { best });
        scores.len().saturating_sub(best + 1)
    }
}

/// The fits of the numbers of classes that were tried, in ascending order.
pub(crate) struct Tried<F>(pub Vec<(usize, F)>);

impl<F> Default for Tried<F> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<F> Tried<F> {
    fn has(&self, classes: usize) -> bool {
        self.0.iter().any(|(tried, _)| *tried == classes)
    }
}

/// The held-out log-likelihood of a number of classes.
#[derive(Clone, Debug)]
pub(crate) struct Score<'a> {
    pub classes: usize,
    /// Of every held-out unit.
    pub log_likelihoods: Cow<'a, [f64]>,
}

impl Score<'_> {
    pub(crate) fn into_owned(self) -> Score<'static> {
        Score { classes: self.classes, log_likelihoods: self.log_likelihoods.into_owned().into() }
    }

    /// Whether the further classes pay, beside a score with fewer.
    pub(crate) fn improves_on(&self, fewer: &Self, penalty: f64) -> bool {
        let gain = paired_difference(&self.log_likelihoods, &fewer.log_likelihoods);
        let further = (self.classes - fewer.classes) as f64;
        gain.mean > STANDARD_ERRORS * gain.standard_error && gain.mean >= penalty * further
    }
}

/// The index of the smallest number of classes that no larger one improves on.
pub(crate) fn smallest_not_improved(scores: &[Score<'_>], penalty: f64) -> usize {
    let improved = |i: usize| scores[i + 1..].iter().any(|larger| larger.improves_on(&scores[i], penalty));
    (0..scores.len()).find(|&i| !improved(i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(classes: usize, log_likelihoods: &[f64]) -> Score<'static> {
        Score { classes, log_likelihoods: log_likelihoods.to_vec().into() }
    }

    fn noise() -> Vec<f64> {
        (0..100).map(|i| f64::from(i % 10) / 10.0).collect()
    }

    fn shifted(by: f64) -> Vec<f64> {
        noise().iter().map(|v| v + by).collect()
    }

    fn shuffled(by: f64) -> Vec<f64> {
        noise().iter().rev().map(|v| v + by).collect()
    }

    #[test]
    fn a_larger_number_of_classes_must_be_better_by_more_than_its_standard_errors() {
        let (one, two) = (score(1, &noise()), score(2, &shuffled(0.05)));
        let chosen = |scores: &[Score<'static>]| smallest_not_improved(scores, 0.0);
        assert_eq!(chosen(&[one.clone(), two.clone()]), 0, "0.05 is within the errors of 0.06");
        assert_eq!(chosen(&[one.clone(), score(2, &shuffled(0.2))]), 1);
        assert_eq!(chosen(&[one.clone(), score(2, &shifted(0.01))]), 1, "a small gain of every unit counts");
        assert_eq!(chosen(&[one, two, score(3, &shuffled(0.2))]), 2, "numbers may be skipped");
    }

    #[test]
    fn every_further_class_must_gain_its_penalty() {
        let (one, three) = (score(1, &noise()), score(3, &shifted(0.5)));
        assert!(three.improves_on(&one, 0.25));
        assert!(!three.improves_on(&one, 0.26));
    }

    /// Gains of 1 per class up to the given number, then none.
    struct Steps(usize);

    impl Engine for Steps {
        type Fit = Vec<f64>;
        const PATIENCE: usize = 2;

        fn fit(&self, classes: usize, _: &Tried<Vec<f64>>) -> Result<Vec<f64>> {
            Ok(shifted(classes.min(self.0) as f64))
        }

        fn scores<'a>(&self, tried: &'a Tried<Vec<f64>>) -> Vec<Score<'a>> {
            let score = |(classes, fit): &'a (usize, Vec<f64>)| Score {
                classes: *classes,
                log_likelihoods: fit.into(),
            };
            tried.0.iter().map(score).collect()
        }

        fn penalty(&self, _: &[Score<'_>]) -> f64 {
            0.1
        }
    }

    #[test]
    fn the_search_stops_where_more_classes_do_not_help() {
        let numbers =
            |tried: &Tried<Vec<f64>>| tried.0.iter().map(|(classes, _)| *classes).collect::<Vec<_>>();
        let mut tried = Tried::default();
        Steps(3).try_classes(1..=9, true, &mut tried).unwrap();
        assert_eq!(numbers(&tried), [1, 2, 3, 4, 5]);
        assert_eq!(smallest_not_improved(&Steps(3).scores(&tried), 0.1), 2);

        let mut tried = Tried::default();
        Steps(1).try_classes(1..=2, true, &mut tried).unwrap();
        Steps(1).try_classes(1..=4, true, &mut tried).unwrap();
        assert_eq!(numbers(&tried), [1, 2, 3], "goes on with what was tried");
        Steps(1).try_classes(1..=5, false, &mut tried).unwrap();
        assert_eq!(numbers(&tried), [1, 2, 3, 4, 5], "all of them");
    }
}
