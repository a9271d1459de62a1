//! The choice of outcome scale, number of classes, class weights and noise law on held-out likelihood.
//!
//! Subjects are held out in turn (five folds). Every candidate starts from the same additive mixtures, refined without the
//! held-out fold. A fold also decides when its own training stops, so held-out likelihoods are slightly too high, for all
//! candidates alike. The number of classes is the smallest that no larger one beats by more than 1.5 standard errors.

use rand::RngExt as _;
use rand::seq::SliceRandom as _;

use super::additive::{Additive, Basis, Solution};
use super::heads::HeadLaw;
use super::jobs::KeptJobs;
use super::law::NoiseLaw;
use super::network::{ClassWeights, Form};
use super::rows::Rows;
use super::training::{Schedule, Task, train};
use crate::math::{mean, paired_difference};
use crate::runtime::{Monitor, Pool, Stage};
use crate::{Result, stream};

/// The number of folds.
const FOLDS: usize = 5;
/// Subjects on which candidates are compared, and on which starts are searched for.
const MAX_SELECTION_SUBJECTS: usize = 6000;
pub(super) const MAX_START_SUBJECTS: usize = 1500;
/// Random starts of the search, and the solutions that networks are trained from.
const RUNS_PER_CLASS: usize = 16;
const STARTS: usize = 2;
/// A larger number of classes must be better by this many standard errors.
const CLASS_ERRORS: f64 = 1.5;
/// No larger number is tried after this many numbers of classes without a gain.
const PATIENCE: usize = 2;

/// Draws of the bootstrap.
const BOOTSTRAPS: usize = 200;
/// The smallest probability of another number of classes that has members of its own.
const MIN_OTHER_PROBABILITY: f64 = 0.1;
/// The largest number of other numbers of classes.
const MAX_OTHERS: usize = 2;

/// What is fitted: the data, and what does not change between candidates.
pub(crate) struct Problem<'a> {
    pub rows: &'a Rows,
    pub x_cosines: Vec<usize>,
    pub t_cosines: Vec<usize>,
    /// Whether products of covariates and treatments may be used.
    pub interactions: bool,
    /// The laws of outcomes; empty if all are numbers.
    pub outcome_laws: Vec<HeadLaw>,
    pub hidden: usize,
    pub seed: u64,
    pub pool: &'a Pool,
    pub monitor: &'a dyn Monitor,
    /// Finished work of the same fit.
    pub jobs: KeptJobs<'a>,
}

/// A candidate's form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice {
    pub classes: usize,
    /// Whether covariates change the response to the treatment, in all classes alike.
    pub interactions: bool,
    pub weights: ClassWeights,
    pub law: NoiseLaw,
    pub varying_scale: bool,
    /// Whether counts vary more than Poisson counts.
    pub overdispersed: bool,
}

/// The held-out log-likelihood of a candidate.
#[derive(Clone, Debug)]
pub(crate) struct Score {
    pub choice: Choice,
    /// Of every subject on which candidates are compared.
    pub likelihoods: Vec<f64>,
}

/// Numbers of classes that were tried, with their starts.
#[derive(Default)]
pub(crate) struct Tried(Vec<(Score, Vec<Solution>)>);

impl Tried {
    fn means(&self) -> impl DoubleEndedIterator<Item = f64> + '_ {
        self.0.iter().map(|(score, _)| mean(&score.likelihoods))
    }

    /// The mean held-out log-likelihood of the best number of classes.
    pub(crate) fn best(&self) -> f64 {
        self.means().fold(f64::NEG_INFINITY, f64::max)
    }

    /// How many numbers of classes were tried after the best one.
    fn since_best(&self) -> usize {
        let best = self.best();
        self.means().rev().take_while(|&value| value < best).count()
    }
}

/// What was chosen.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    pub choice: Choice,
    /// The scores of all numbers of classes, in their order.
    pub tried: Vec<Score>,
    /// Other numbers of classes that held-out units do not rule out, with their probabilities.
    pub others: Vec<(usize, f64)>,
}

impl Selected {
    /// The standard error of the gain of the chosen number of classes over that of `score`; none for itself.
    pub(crate) fn gain_error(&self, score: &Score) -> Option<f64> {
        let chosen = self.tried.iter().find(|other| other.choice.classes == self.choice.classes)?;
        let other = score.choice.classes != chosen.choice.classes;
        other.then(|| paired_difference(&chosen.likelihoods, &score.likelihoods).standard_error)
    }
}

impl Problem<'_> {
    pub(crate) fn form(&self, choice: Choice) -> Form {
        Form {
            classes: choice.classes,
            outcomes: self.rows.d,
            outcome_laws: self.laws(choice.overdispersed),
            x_cosines: self.x_cosines.clone(),
            t_cosines: self.t_cosines.clone(),
            interactions: choice.interactions,
            hidden: self.hidden,
            weights: choice.weights,
            law: choice.law,
            varying_scale: choice.varying_scale,
        }
    }

    pub(crate) fn basis(&self, interactions: bool) -> Basis<'_> {
        Basis { x_cosines: &self.x_cosines, t_cosines: &self.t_cosines, interactions }
    }

    /// A form with every option: weights by covariates and treatment, skewed noise of varying scale.
    fn flexible(&self, classes: usize, interactions: bool) -> Choice {
        let weights = match self.may_drive_treatment() {
            false => ClassWeights::Covariates,
            true => ClassWeights::CovariatesAndTreatment,
        };
        let law = if self.has_numbers() { NoiseLaw::Skewed } else { NoiseLaw::Gaussian };
        Choice { classes, interactions, weights, law, varying_scale: self.has_scales(), overdispersed: true }
    }

    /// Whether class weights may depend on the treatment. Treatments of several rows of one subject are not weighed together.
    /// Where outcomes are not numbers, classes whose weights depend on the treatment would explain its effect away.
    fn may_drive_treatment(&self) -> bool {
        !self.rows.has_repeats() && self.outcome_laws.is_empty()
    }

    /// A form that suits most data: weights by covariates, robust noise of constant scale.
    fn simple(&self, classes: usize, interactions: bool) -> Choice {
        let weights = ClassWeights::Covariates;
        let law = if self.has_numbers() { NoiseLaw::StudentT } else { NoiseLaw::Gaussian };
        Choice { classes, interactions, weights, law, varying_scale: false, overdispersed: true }
    }

    /// The laws of outcomes, with or without overdispersion of counts.
    fn laws(&self, overdispersed: bool) -> Vec<HeadLaw> {
        let law = |law: &HeadLaw| match *law {
            HeadLaw::Count { offset, .. } => HeadLaw::Count { offset, overdispersed },
            _ => law.clone(),
        };
        self.outcome_laws.iter().map(law).collect()
    }

    fn has_numbers(&self) -> bool {
        self.outcome_laws.is_empty() || self.outcome_laws.contains(&HeadLaw::Number)
    }

    fn has_counts(&self) -> bool {
        self.outcome_laws.iter().any(|law| matches!(law, HeadLaw::Count { .. }))
    }

    fn has_scales(&self) -> bool {
        self.outcome_laws.is_empty() || self.laws(true).iter().any(HeadLaw::has_scale)
    }

    /// At most `max` of all subjects, in random order.
    pub(crate) fn sample(&self, max: usize, name: &str) -> Vec<usize> {
        let mut subjects: Vec<usize> = (0..self.rows.subjects.len()).collect();
        subjects.shuffle(&mut stream(self.seed, &["density", "sample", name]));
        subjects.truncate(max);
        subjects
    }

    /// The best additive mixtures of some of the subjects, as P(class) of those subjects. `purpose` tells apart for what they
    /// were drawn.
    pub(super) fn starts(
        &self,
        purpose: &str,
        subjects: &[usize],
        classes: usize,
        interactions: bool,
    ) -> Result<Vec<Solution>> {
        let searched = &subjects[..subjects.len().min(MAX_START_SUBJECTS)];
        let job = format!("starts of {purpose}, {classes} classes, interactions {interactions}");
        self.jobs.run(&job, &(classes, searched.len()), || {
            let search = Additive::new(self.rows, searched, self.basis(interactions));
            let rounds: Vec<usize> = (0..4).collect();
            let name = classes.to_string();
            let found = self.pool.map(rounds, |i| {
                let mut rng = stream(self.seed, &["density", "starts", &name, &i.to_string()]);
                search.search(classes, classes * RUNS_PER_CLASS / 4, STARTS, &mut rng)
            });
            Ok(Solution::best_distinct(found.into_iter().flatten().collect(), classes, STARTS))
        })
    }

    /// The cross-validated score of a form with starts, as a part of `stage`.
    fn score(&self, stage: Stage, choice: Choice, subjects: &[usize], starts: &[Solution]) -> Result<Score> {
        let job = format!("score of {choice:?}, {} starts", starts.len());
        let run = || self.cross_validate(stage, choice, subjects, starts);
        Ok(Score { choice, likelihoods: self.jobs.run(&job, &subjects.len(), run)? })
    }

    /// The held-out log-likelihood of every subject, with the best of the starts.
    fn cross_validate(
        &self,
        stage: Stage,
        choice: Choice,
        subjects: &[usize],
        starts: &[Solution],
    ) -> Result<Vec<f64>> {
        self.monitor.stage(stage, FOLDS * starts.len());
        let form = self.form(choice);
        let jobs: Vec<(usize, usize)> =
            (0..starts.len()).flat_map(|start| (0..FOLDS).map(move |fold| (start, fold))).collect();
        let results = self.pool.try_map(jobs.clone(), |(start, fold)| {
            let (held_out, train_on) = split_fold(subjects, fold);
            let name =
                ["density", "score", &choice.classes.to_string(), &start.to_string(), &fold.to_string()];
            let mut rng = stream(self.seed, &name);
            let start = self.refined_start(&starts[start], subjects, &train_on, choice);
            let task = Task { rows: self.rows, train: &train_on, held_out: &held_out, start: &start };
            let schedule = Schedule::new(train_on.len());
            let trained = train(&form, &task, &schedule, &mut rng, self.monitor)?;
            let likelihoods = trained.member.log_likelihoods(self.rows, &held_out);
            self.monitor.epoch(-mean(&likelihoods));
            Ok(likelihoods)
        })?;
        let mut best: Option<Vec<f64>> = None;
        for start in 0..starts.len() {
            let mut likelihoods = vec![0.0; subjects.len()];
            for ((_, fold), found) in jobs.iter().zip(&results).filter(|((s, _), _)| *s == start) {
                for (i, &value) in found.iter().enumerate() {
                    likelihoods[fold + i * FOLDS] = value;
                }
            }
            if best.as_ref().is_none_or(|best| mean(&likelihoods) > mean(best)) {
                best = Some(likelihoods);
            }
        }
        Ok(best.unwrap_or_default())
    }

    /// P(class) of the training subjects: the start, continued without the held-out subjects.
    pub(super) fn refined_start(
        &self,
        start: &Solution,
        searched: &[usize],
        train_on: &[usize],
        choice: Choice,
    ) -> Solution {
        let classes = choice.classes;
        if classes == 1 {
            return Solution::one_class(train_on.len());
        }
        let known = start.responsibilities.len() / classes;
        let place: std::collections::HashMap<usize, usize> =
            searched.iter().take(known).enumerate().map(|(i, &subject)| (subject, i)).collect();
        let even = vec![1.0 / classes as f64; classes];
        let of_subject = |subject: &usize| {
            place.get(subject).map_or(&even[..], |i| &start.responsibilities[i * classes..][..classes])
        };
        let begin: Vec<f64> =
            train_on.iter().flat_map(|subject| of_subject(subject).iter().copied()).collect();
        let search = Additive::new(self.rows, train_on, self.basis(choice.interactions));
        search.refine(begin, &start.smoothness)
    }

    /// Scores one class, two classes and so on up to `max_classes`, or a given number, unless they were tried. Stops where more
    /// classes do not help.
    pub(crate) fn try_classes(
        &self,
        given: Option<usize>,
        max_classes: usize,
        mut tried: Tried,
    ) -> Result<Tried> {
        let subjects = self.selection_subjects();
        for classes in given.map_or(1..=max_classes, |given| given..=given).skip(tried.0.len()) {
            if tried.since_best() >= PATIENCE {
                break;
            }
            tried.0.push(self.score_classes(classes, &subjects)?);
        }
        Ok(tried)
    }

    /// The number of classes and the form.
    pub(crate) fn select(&self, tried: Tried) -> Result<Selected> {
        let scores: Vec<&Score> = tried.0.iter().map(|(score, _)| score).collect();
        let (score, starts) = &tried.0[smallest_not_beaten(&scores)];
        let choice = self.choose_form(score, &self.selection_subjects(), starts)?;
        let tried: Vec<Score> = tried.0.into_iter().map(|(score, _)| score).collect();
        let mut rng = stream(self.seed, &["density", "others"]);
        let others = other_classes(&tried, choice.classes, &mut rng);
        Ok(Selected { choice, tried, others })
    }

    /// The subjects on which candidates are compared.
    fn selection_subjects(&self) -> Vec<usize> {
        self.sample(MAX_SELECTION_SUBJECTS, "selection")
    }

    /// The better of the simple and the flexible form with this number of classes, each with or without interactions, and its
    /// starts.
    fn score_classes(&self, classes: usize, subjects: &[usize]) -> Result<(Score, Vec<Solution>)> {
        let stage = Stage::Classes { classes, base: "density" };
        let starts = self.starts("selection", subjects, classes, false)?;
        let mut best = self.score(stage, self.simple(classes, false), subjects, &starts)?;
        if self.interactions {
            self.prefer(stage, &mut best, subjects, &starts, [Change::Interactions(true)])?;
        }
        let flexible = self.flexible(classes, best.choice.interactions);
        let flexible = self.score(stage, flexible, subjects, &starts[..1])?;
        if mean(&flexible.likelihoods) > mean(&best.likelihoods) {
            best = flexible;
        }
        Ok((best, starts))
    }

    /// The class weights, the scale and the law with the best held-out likelihood, chosen one after the other.
    fn choose_form(&self, found: &Score, subjects: &[usize], starts: &[Solution]) -> Result<Choice> {
        let stage = Stage::Form;
        let mut best = found.clone();
        let weights = match self.may_drive_treatment() {
            _ if best.choice.classes == 1 => vec![],
            false => vec![ClassWeights::Covariates, ClassWeights::Constant],
            true => {
                vec![ClassWeights::CovariatesAndTreatment, ClassWeights::Covariates, ClassWeights::Constant]
            }
        };
        let weights = weights.into_iter().map(Change::Weights);
        self.prefer(stage, &mut best, subjects, starts, weights)?;
        if self.has_counts() {
            self.prefer(stage, &mut best, subjects, starts, [true, false].map(Change::Overdispersed))?;
        }
        if self.has_scales() {
            self.prefer(stage, &mut best, subjects, starts, [true, false].map(Change::VaryingScale))?;
        }
        if self.has_numbers() {
            let laws = [NoiseLaw::Skewed, NoiseLaw::StudentT, NoiseLaw::Gaussian];
            self.prefer(stage, &mut best, subjects, starts, laws.map(Change::Law))?;
        }
        Ok(best.choice)
    }

    /// Replaces `best` by the change of it with the best held-out likelihood.
    fn prefer(
        &self,
        stage: Stage,
        best: &mut Score,
        subjects: &[usize],
        starts: &[Solution],
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<()> {
        let begin = best.choice;
        for choice in changes.into_iter().map(|change| change.of(begin)).filter(|&choice| choice != begin) {
            let score = self.score(stage, choice, subjects, &starts[..1])?;
            if mean(&score.likelihoods) > mean(&best.likelihoods) {
                *best = score;
            }
        }
        Ok(())
    }
}

/// A change of a choice.
#[derive(Clone, Copy, Debug)]
enum Change {
    Interactions(bool),
    Weights(ClassWeights),
    VaryingScale(bool),
    Overdispersed(bool),
    Law(NoiseLaw),
}

impl Change {
    fn of(self, choice: Choice) -> Choice {
        match self {
            Self::Interactions(interactions) => Choice { interactions, ..choice },
            Self::Weights(weights) => Choice { weights, ..choice },
            Self::VaryingScale(varying_scale) => Choice { varying_scale, ..choice },
            Self::Overdispersed(overdispersed) => Choice { overdispersed, ..choice },
            Self::Law(law) => Choice { law, ..choice },
        }
    }
}

/// The held-out subjects of a fold, and the others.
fn split_fold(subjects: &[usize], fold: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut held_out, mut others) = (Vec::new(), Vec::new());
    for (i, &subject) in subjects.iter().enumerate() {
        if i % FOLDS == fold { held_out.push(subject) } else { others.push(subject) }
    }
    (held_out, others)
}

/// The probabilities of the numbers of classes other than the chosen one: softmax of the held-out log-likelihood, averaged
/// over the Bayesian bootstrap of the subjects (pseudo-BMA+: Yao, Vehtari, Simpson and Gelman, 2018).
fn other_classes(tried: &[Score], chosen: usize, rng: &mut crate::Rng) -> Vec<(usize, f64)> {
    let mut probabilities = vec![0.0; tried.len()];
    for _ in 0..BOOTSTRAPS {
        let n = tried.first().map_or(0, |score| score.likelihoods.len());
        let weights: Vec<f64> = (0..n).map(|_| -f64::ln(1.0 - rng.random::<f64>())).collect();
        let scale = n as f64 / weights.iter().sum::<f64>();
        let logs: Vec<f64> =
            tried.iter().map(|score| scale * crate::math::dot(&weights, &score.likelihoods)).collect();
        let total = crate::math::log_sum_exp_of(&logs);
        for (p, log) in probabilities.iter_mut().zip(&logs) {
            *p += (log - total).exp() / BOOTSTRAPS as f64;
        }
    }
    let others = tried.iter().zip(probabilities).map(|(score, p)| (score.choice.classes, p));
    let mut others: Vec<(usize, f64)> =
        others.filter(|&(classes, p)| classes != chosen && p >= MIN_OTHER_PROBABILITY).collect();
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    others.truncate(MAX_OTHERS);
    others
}

/// The first score that no later one beats by more than [`CLASS_ERRORS`] standard errors.
fn smallest_not_beaten(scores: &[&Score]) -> usize {
    let beaten = |i: usize| {
        scores[i + 1..].iter().any(|later| {
            let gain = paired_difference(&later.likelihoods, &scores[i].likelihoods);
            gain.mean > CLASS_ERRORS * gain.standard_error
        })
    };
    (0..scores.len()).find(|&i| !beaten(i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::testing::{lines, problem, selected, simple};

    fn select(problem: &Problem<'_>, max_classes: usize) -> Selected {
        problem.select(problem.try_classes(None, max_classes, Tried::default()).unwrap()).unwrap()
    }

    #[test]
    fn one_class_is_found_where_there_is_one() {
        let data = lines(&[1.0], 150, 1, 0.4);
        let pool = Pool::new(2).unwrap();
        let selected = select(&problem(&data.rows, &pool), 2);
        assert_eq!(selected.choice.classes, 1);
        assert_eq!(selected.tried.len(), 2);
        assert!(selected.gain_error(&selected.tried[1]).is_some_and(|error| error > 0.0));
        assert_eq!(selected.gain_error(&selected.tried[0]), None);
    }

    #[test]
    fn two_classes_are_found_where_there_are_two() {
        let data = lines(&[1.0, -1.0], 150, 1, 0.15);
        let pool = Pool::new(2).unwrap();
        let selected = select(&problem(&data.rows, &pool), 3);
        assert_eq!(selected.choice.classes, 2);
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let data = lines(&[1.0, -1.0], 60, 1, 0.3);
        let run = |threads: usize| {
            let pool = Pool::new(threads).unwrap();
            let problem = Problem { hidden: 4, ..problem(&data.rows, &pool) };
            let subjects = problem.sample(60, "selection");
            let starts = problem.starts("selection", &subjects, 2, false).unwrap();
            let score = problem.score(Stage::Form, problem.simple(2, false), &subjects, &starts).unwrap();
            let members = problem.members(&selected(2), 2).unwrap();
            (score.likelihoods, members.into_iter().map(|half| half.member.parameters).collect::<Vec<_>>())
        };
        assert!(run(1) == run(2));
    }

    #[test]
    fn a_larger_number_of_classes_must_be_better_by_more_than_its_standard_errors() {
        let score = |classes: usize, likelihoods: Vec<f64>| Score { choice: simple(classes), likelihoods };
        let noise: Vec<f64> = (0..100).map(|i| f64::from(i % 10) / 10.0).collect();
        let shifted = |by: f64| noise.iter().map(|v| v + by).collect::<Vec<_>>();
        let shuffled = |by: f64| noise.iter().rev().map(|v| v + by).collect::<Vec<_>>();
        let (one, two) = (score(1, noise.clone()), score(2, shuffled(0.05)));
        assert_eq!(smallest_not_beaten(&[&one, &two]), 0, "0.05 is within the errors of 0.06");
        assert_eq!(smallest_not_beaten(&[&one, &score(2, shuffled(0.2))]), 1);
        assert_eq!(
            smallest_not_beaten(&[&one, &score(2, shifted(0.01))]),
            1,
            "a small gain of every subject counts"
        );
        assert_eq!(smallest_not_beaten(&[&one, &two, &score(3, shuffled(0.2))]), 2, "numbers may be skipped");
    }
}
