//! The forms that compete: numbers of classes, class weights, noise, responses and other regressors, by their held-out likelihood.
//!
//! Subjects are held out in turn (five folds). Every candidate starts from the same mixtures, refined without the held-out fold.
//! A fold also decides when its own training stops, so held-out likelihoods are slightly too high, for all candidates alike. The
//! number of classes is chosen by the rule of all engines ([`crate::choice`]); answers are averaged over all candidates by their
//! held-out likelihood.

use std::collections::HashMap;
use std::sync::Arc;

use rand::seq::SliceRandom as _;

use super::additive::{Additive, AdditiveForm, Solution};
use super::candidate::{Candidate, Choice, FoldFit, averaged};
use super::coefficients::Coefficients;
use super::heads::HeadLaw;
use super::jobs::KeptJobs;
use super::law::NoiseLaw;
use super::network::{ClassWeights, Form};
use super::regressor::Regressor;
use super::rows::Rows;
use super::training::{Schedule, Task, train};
use crate::choice::{self, Engine, Score, smallest_not_improved};
use crate::math::{argmax, mean, paired_difference};
use crate::runtime::{Monitor, Pool, Stage};
use crate::{Result, stream};

/// The number of folds.
pub(crate) const FOLDS: usize = 5;
/// Subjects on which candidates are compared, and on which starts are searched for.
const MAX_SELECTION_SUBJECTS: usize = 6000;
pub(super) const MAX_START_SUBJECTS: usize = 1500;
/// Random starts of the search, of additive mixtures and of those whose classes differ in how covariates change responses; and
/// the solutions that networks are trained from.
const RUNS_PER_CLASS: usize = 16;
const FREE_RUNS_PER_CLASS: usize = 4;
const STARTS: usize = 2;
/// The solutions of a search that are brought to convergence before they are compared.
const PROMISING: usize = 6;
/// The subjects that there must be per class.
pub(crate) const SUBJECTS_PER_CLASS: usize = 30;

/// What is fitted: the data, and what does not change between candidates.
pub(crate) struct Problem<'a> {
    pub rows: &'a Rows,
    pub x_cosines: Vec<usize>,
    pub t_cosines: Vec<usize>,
    /// The values of every treatment of few values, ascending; of others none.
    pub t_values: Vec<Vec<f32>>,
    /// The covariates that may have products with treatments.
    pub product_columns: Vec<usize>,
    /// Whether such products may be used.
    pub interactions: bool,
    /// Regressors of every fold, fitted without it, whose predictions are the offsets of the rows.
    pub regressors: Vec<Arc<[Regressor]>>,
    /// The laws of outcomes; empty if all are numbers.
    pub outcome_laws: Vec<HeadLaw>,
    pub hidden: usize,
    pub seed: u64,
    pub pool: &'a Pool,
    pub monitor: &'a dyn Monitor,
    /// Finished work of the same fit.
    pub jobs: KeptJobs<'a>,
}

/// The candidates of every number of classes that was tried.
pub(crate) type Tried = choice::Tried<Vec<Candidate>>;

/// The best candidate of every number of classes. Classes that respond alike are one class with noise of their form.
fn best_of_each(tried: &Tried) -> Vec<&Candidate> {
    let has_one = tried.0.first().is_some_and(|(classes, _)| *classes == 1);
    let mut best = Vec::new();
    for (i, (_, own)) in tried.0.iter().enumerate() {
        let candidates: Vec<&Candidate> = match has_one && i == 0 {
            true => {
                let others = tried.0[1..].iter().flat_map(|(_, found)| found);
                own.iter().chain(others.filter(|candidate| candidate.choice.alike)).collect()
            }
            false => own.iter().filter(|candidate| !candidate.choice.alike).collect(),
        };
        best.extend(argmax(candidates.iter().map(|candidate| candidate.score())).map(|i| candidates[i]));
    }
    best
}

/// The mean held-out log-likelihood of the best candidate.
pub(crate) fn best_score(tried: &Tried) -> f64 {
    best_of_each(tried).iter().map(|candidate| candidate.score()).fold(f64::NEG_INFINITY, f64::max)
}

/// What was chosen.
pub(crate) struct Selected {
    /// The number of classes.
    pub classes: usize,
    /// The scores of all numbers of classes, in their order.
    pub tried: Vec<Score<'static>>,
    /// The candidates that are averaged, with their weights: first the best one with the chosen number of classes.
    pub averaged: Vec<(Candidate, f64)>,
}

impl Selected {
    /// The standard error of the gain of the chosen number of classes over that of `score`; none for itself.
    pub(crate) fn gain_error(&self, score: &Score<'_>) -> Option<f64> {
        let chosen = self.tried.iter().find(|other| other.classes == self.classes)?;
        let other = score.classes != chosen.classes;
        other.then(|| paired_difference(&chosen.log_likelihoods, &score.log_likelihoods).standard_error)
    }
}

impl Problem<'_> {
    pub(crate) fn form(&self, choice: Choice) -> Form {
        let products = choice.interactions || choice.class_interactions;
        Form {
            classes: choice.classes,
            outcomes: self.rows.d,
            outcome_laws: self.laws(choice.overdispersed),
            x_cosines: self.x_cosines.clone(),
            t_cosines: self.t_cosines.clone(),
            t_values: self.t_values.clone(),
            interactions: choice.interactions,
            class_interactions: choice.class_interactions,
            shared_response: true,
            alike: choice.alike,
            product_columns: if products { self.product_columns.clone() } else { Vec::new() },
            offsets: if choice.regressors { self.rows.offset(0).len() } else { 0 },
            hidden: self.hidden,
            weights: choice.weights,
            law: choice.law,
            varying_scale: choice.varying_scale,
        }
    }

    /// A form that suits most data: weights by covariates, robust noise of constant scale.
    fn simple(&self, classes: usize) -> Choice {
        Choice {
            classes,
            interactions: false,
            class_interactions: false,
            alike: false,
            regressors: false,
            weights: ClassWeights::Covariates,
            law: if self.has_numbers() { NoiseLaw::StudentT } else { NoiseLaw::Gaussian },
            varying_scale: false,
            overdispersed: true,
        }
    }

    /// The same with weights by covariates and treatment, and skewed noise of varying scale.
    fn flexible(&self, choice: Choice) -> Choice {
        let weights = match self.may_drive_treatment() {
            false => ClassWeights::Covariates,
            true => ClassWeights::CovariatesAndTreatment,
        };
        let law = if self.has_numbers() { NoiseLaw::Skewed } else { NoiseLaw::Gaussian };
        Choice { weights, law, varying_scale: self.has_scales(), ..choice }
    }

    /// The same with Gaussian noise of constant scale.
    fn gaussian(&self, choice: Choice) -> Choice {
        Choice { law: NoiseLaw::Gaussian, varying_scale: false, ..choice }
    }

    /// Whether class weights may depend on the treatment. Treatments of several rows of one subject are not weighed together.
    /// Where outcomes are not numbers, classes whose weights depend on the treatment would explain its effect away.
    fn may_drive_treatment(&self) -> bool {
        !self.rows.has_repeats() && self.outcome_laws.is_empty()
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

    /// All subjects in random order; the `i`-th belongs to fold `i % FOLDS`.
    pub(crate) fn order(&self) -> Vec<usize> {
        fold_order(self.rows.subjects.len(), self.seed)
    }

    /// The subjects on which candidates are compared.
    fn selection_subjects(&self) -> Vec<usize> {
        let mut order = self.order();
        order.truncate(MAX_SELECTION_SUBJECTS);
        order
    }

    /// The best additive mixtures of some of the subjects, as P(class) of those subjects.
    fn starts(&self, subjects: &[usize], choice: Choice) -> Result<Vec<Solution>> {
        let (classes, searched) = (choice.classes, &subjects[..subjects.len().min(MAX_START_SUBJECTS)]);
        let job = format!("starts, {classes} classes");
        self.jobs.run(&job, &(classes, searched.len()), || {
            let form = self.form(choice);
            let search = Additive::new(self.rows, searched, AdditiveForm::from(&form));
            let found = self.search_in_parallel(&search, classes, "starts", classes * RUNS_PER_CLASS);
            let promising = Solution::best_distinct(found, classes, PROMISING);
            let settled = self.pool.map(promising, |start: Solution| search.settle(start));
            Ok(Solution::best_distinct(settled, classes, STARTS))
        })
    }

    /// The best mixtures whose classes differ in how covariates change their responses: of their own random starts, and of
    /// additive solutions.
    fn free_starts(
        &self,
        subjects: &[usize],
        choice: Choice,
        additive: &[Solution],
    ) -> Result<Vec<Solution>> {
        let (classes, searched) = (choice.classes, &subjects[..subjects.len().min(MAX_START_SUBJECTS)]);
        let job = format!("free starts, {classes} classes");
        self.jobs.run(&job, &(classes, searched.len()), || {
            let form = self.form(choice);
            let search = Additive::new(self.rows, searched, AdditiveForm::from(&form));
            let mut found = self.search_in_parallel(&search, classes, "free", classes * FREE_RUNS_PER_CLASS);
            let refined = self.pool.map(additive.iter().collect(), |start: &Solution| {
                search.refine(&start.responsibilities, &start.smoothness).0
            });
            found.extend(refined);
            Ok(Solution::best_distinct(found, classes, STARTS))
        })
    }

    fn search_in_parallel(
        &self,
        search: &Additive,
        classes: usize,
        name: &str,
        runs: usize,
    ) -> Vec<Solution> {
        let parts = 4;
        let number = classes.to_string();
        let found = self.pool.map((0..parts).collect(), |i: usize| {
            let mut rng = stream(self.seed, &["density", name, &number, &i.to_string()]);
            search.search(classes, runs / parts, PROMISING, &mut rng)
        });
        found.into_iter().flatten().collect()
    }

    /// Fits a form without each fold in turn, from the best of the starts, as a part of `stage`.
    fn candidate(
        &self,
        stage: Stage,
        choice: Choice,
        subjects: &[usize],
        starts: &[Solution],
    ) -> Result<Candidate> {
        self.candidate_from(stage, choice, subjects, starts, 0)
    }

    /// The same; the first of the starts has this number among those of the form.
    fn candidate_from(
        &self,
        stage: Stage,
        choice: Choice,
        subjects: &[usize],
        starts: &[Solution],
        first: usize,
    ) -> Result<Candidate> {
        self.monitor.stage(stage, FOLDS * starts.len());
        let form = self.form(choice);
        let jobs: Vec<(usize, usize)> =
            (0..starts.len()).flat_map(|start| (0..FOLDS).map(move |fold| (start, fold))).collect();
        let fits = self.pool.try_map(jobs, |(start, fold)| {
            let (held_out, train_on) = split_fold(subjects, fold);
            let job = format!("fold {fold} of {choice:?}, start {}", first + start);
            self.jobs.run(&job, &(form.clone(), held_out.len()), || {
                let (start_words, fold_words) = (start.to_string(), fold.to_string());
                let name = ["density", "score", &choice.classes.to_string(), &start_words, &fold_words];
                let (start, coefficients) = self.refined_start(&starts[start], subjects, &train_on, &form);
                let fit = self.train_fold(&form, [&train_on, &held_out], (&start, &coefficients), &name)?;
                self.monitor.epoch(-mean(&fit.likelihoods));
                Ok(fit)
            })
        })?;
        let score = |fits: &[FoldFit]| fits.iter().flat_map(|fit| &fit.likelihoods).sum::<f64>();
        let best = argmax(fits.chunks_exact(FOLDS).map(score)).expect("there is a start");
        let mut likelihoods = vec![0.0; subjects.len()];
        let mut members = Vec::new();
        for (fold, fit) in fits[best * FOLDS..][..FOLDS].iter().enumerate() {
            fit.likelihoods.iter().enumerate().for_each(|(i, &value)| likelihoods[fold + i * FOLDS] = value);
            let regressors = self.regressors.get(fold).filter(|_| choice.regressors).cloned();
            members.push(fit.member(&form, split_fold(subjects, fold).0, regressors));
        }
        Ok(Candidate { choice, likelihoods, members })
    }

    /// Trains the network of one fold; `name` is that of its random stream.
    pub(super) fn train_fold(
        &self,
        form: &Form,
        [train_on, held_out]: [&[usize]; 2],
        (start, coefficients): (&Solution, &Coefficients),
        name: &[&str],
    ) -> Result<FoldFit> {
        let coefficients = self.outcome_laws.is_empty().then_some(coefficients);
        let task = Task { rows: self.rows, train: train_on, held_out, start, coefficients };
        let schedule = Schedule::new(train_on.len(), coefficients.is_some());
        let trained = train(form, &task, &schedule, &mut stream(self.seed, name), self.monitor)?;
        Ok(FoldFit {
            likelihoods: trained.member.log_likelihoods(self.rows, held_out),
            parameters: trained.member.parameters,
            steps: trained.steps,
            smoothness: start.smoothness.clone(),
        })
    }

    /// P(class) of the training subjects: the start, continued without the held-out subjects; and its coefficients.
    pub(super) fn refined_start(
        &self,
        start: &Solution,
        searched: &[usize],
        train_on: &[usize],
        form: &Form,
    ) -> (Solution, Coefficients) {
        let classes = form.classes;
        let known = start.responsibilities.len() / classes;
        let place: HashMap<usize, usize> =
            searched.iter().take(known).enumerate().map(|(i, &subject)| (subject, i)).collect();
        let even = vec![1.0 / classes as f64; classes];
        let of_subject = |subject: &usize| {
            place.get(subject).map_or(&even[..], |i| &start.responsibilities[i * classes..][..classes])
        };
        let begin: Vec<f64> =
            train_on.iter().flat_map(|subject| of_subject(subject).iter().copied()).collect();
        Additive::new(self.rows, train_on, AdditiveForm::from(form)).refine(&begin, &start.smoothness)
    }

    /// Scores one class, two classes and so on up to `max_classes`, or a given number, in addition to those in `tried`.
    pub(crate) fn extend(&self, tried: &mut Tried, given: Option<usize>, max_classes: usize) -> Result<()> {
        let most = max_classes.min(self.rows.subjects.len() / SUBJECTS_PER_CLASS).max(1);
        self.try_classes(given.map_or(1..=most, |given| given..=given), true, tried)
    }

    /// The number of classes, and the candidates that are averaged.
    pub(crate) fn select(&self, tried: Tried) -> Selected {
        let scores: Vec<Score<'static>> = self.scores(&tried).into_iter().map(Score::into_owned).collect();
        let classes = scores[smallest_not_improved(&scores, self.penalty(&scores))].classes;
        let rng = &mut stream(self.seed, &["density", "averaged"]);
        let candidates = tried.0.into_iter().flat_map(|(_, found)| found).collect();
        let averaged = averaged(candidates, classes, rng);
        Selected { classes, tried: scores, averaged }
    }

    /// The candidates with one class: the best of them says whether covariates change the response, and whether regressors help.
    fn single_candidates(&self, subjects: &[usize]) -> Result<Vec<Candidate>> {
        let stage = Stage::Classes { classes: 1, base: "density" };
        let starts = [Solution::one_class(subjects.len())];
        let candidate = |choice: Choice| self.candidate(stage, choice, subjects, &starts);
        let mut found = vec![candidate(self.simple(1))?];
        if self.interactions {
            found.push(candidate(Choice { interactions: true, ..self.simple(1) })?);
        }
        if !self.regressors.is_empty() {
            found.push(candidate(Choice { regressors: true, ..best_choice(&found) })?);
        }
        let best = best_choice(&found);
        found.push(candidate(self.flexible(best))?);
        if self.has_numbers() {
            found.push(candidate(self.gaussian(best))?);
        }
        if self.has_counts() {
            found.push(candidate(Choice { overdispersed: false, ..best_choice(&found) })?);
        }
        Ok(found)
    }

    /// The candidates with several classes, given the best choice with one class.
    fn class_candidates(&self, classes: usize, single: Choice, subjects: &[usize]) -> Result<Vec<Candidate>> {
        let stage = Stage::Classes { classes, base: "density" };
        let simple = Choice {
            interactions: single.interactions,
            regressors: single.regressors,
            overdispersed: single.overdispersed,
            ..self.simple(classes)
        };
        let mut starts = self.starts(subjects, simple)?;
        if self.form(simple).has_few_values() {
            // held-out units do not tell pairings apart; the evidence prefers classes that respond alike
            starts.truncate(1);
        }
        // which branch of a curve continues which may be open: every start is a candidate
        let from_each = |choice: Choice| -> Result<Vec<Candidate>> {
            let from = |i: usize| self.candidate_from(stage, choice, subjects, &starts[i..=i], i);
            (0..starts.len()).map(from).collect()
        };
        let mut found = from_each(simple)?;
        let flexible = self.flexible(simple);
        found.push(self.candidate(stage, flexible, subjects, &starts[..1])?);
        if self.has_numbers() {
            let gaussian = self.gaussian(Choice { weights: flexible.weights, ..best_choice(&found) });
            found.extend(from_each(gaussian)?);
        }
        if self.interactions && self.outcome_laws.is_empty() {
            let choice = Choice { class_interactions: true, ..best_choice(&found) };
            let mut free = self.free_starts(subjects, choice, &starts)?;
            free.truncate(starts.len());
            found.push(self.candidate(stage, choice, subjects, &free)?);
        }
        if self.outcome_laws.is_empty() {
            let choice = Choice { alike: true, ..best_choice(&found) };
            found.push(self.candidate(stage, choice, subjects, &starts[..1])?);
        }
        Ok(found)
    }
}

impl Engine for Problem<'_> {
    type Fit = Vec<Candidate>;
    const PATIENCE: usize = 2;

    fn fit(&self, classes: usize, tried: &Tried) -> Result<Vec<Candidate>> {
        let subjects = self.selection_subjects();
        if classes == 1 {
            return self.single_candidates(&subjects);
        }
        let single = match tried.0.first().filter(|(tried, _)| *tried == 1) {
            Some((_, found)) => best_choice(found),
            None => best_choice(&self.single_candidates(&subjects)?),
        };
        self.class_candidates(classes, single, &subjects)
    }

    fn scores<'a>(&self, tried: &'a Tried) -> Vec<Score<'a>> {
        let score = |(candidate, (classes, _)): (&'a Candidate, &(usize, Vec<Candidate>))| Score {
            classes: *classes,
            log_likelihoods: (&candidate.likelihoods).into(),
        };
        best_of_each(tried).into_iter().zip(&tried.0).map(score).collect()
    }

    /// None: all numbers of classes are averaged by their likelihood.
    fn penalty(&self, _: &[Score<'_>]) -> f64 {
        0.0
    }
}

#[cfg(test)]
impl Problem<'_> {
    /// A form with its own starts.
    pub(super) fn simple_candidate(&self, choice: Choice) -> Result<Candidate> {
        let subjects = self.selection_subjects();
        let starts = match choice.classes {
            1 => vec![Solution::one_class(subjects.len())],
            _ => self.starts(&subjects, choice)?,
        };
        self.candidate(Stage::Form, choice, &subjects, &starts)
    }
}

fn best_choice(candidates: &[Candidate]) -> Choice {
    let best = argmax(candidates.iter().map(Candidate::score)).expect("there is a candidate");
    candidates[best].choice
}

/// Subjects in random order; the `i`-th belongs to fold `i % FOLDS`.
pub(crate) fn fold_order(subjects: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..subjects).collect();
    order.shuffle(&mut stream(seed, &["density", "folds"]));
    order
}

/// The held-out subjects of a fold, and the others.
pub(super) fn split_fold(subjects: &[usize], fold: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut held_out, mut others) = (Vec::new(), Vec::new());
    for (i, &subject) in subjects.iter().enumerate() {
        if i % FOLDS == fold { held_out.push(subject) } else { others.push(subject) }
    }
    (held_out, others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::testing::{lines, problem};

    fn select(problem: &Problem<'_>, max_classes: usize) -> Selected {
        let mut tried = Tried::default();
        problem.extend(&mut tried, None, max_classes).unwrap();
        problem.select(tried)
    }

    #[test]
    fn one_class_is_found_where_there_is_one() {
        let data = lines(&[1.0], 150, 1, 0.4);
        let pool = Pool::new(2).unwrap();
        let selected = select(&problem(&data.rows, &pool), 2);
        assert_eq!(selected.classes, 1);
        assert_eq!(selected.tried.len(), 2);
        assert!(selected.gain_error(&selected.tried[1]).is_some_and(|error| error > 0.0));
        assert_eq!(selected.gain_error(&selected.tried[0]), None);
    }

    #[test]
    fn two_classes_are_found_where_there_are_two() {
        let data = lines(&[1.0, -1.0], 150, 1, 0.15);
        let pool = Pool::new(2).unwrap();
        let selected = select(&problem(&data.rows, &pool), 3);
        assert_eq!(selected.classes, 2);
        assert_eq!(selected.averaged[0].0.choice.classes, 2);
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let data = lines(&[1.0, -1.0], 60, 1, 0.3);
        let run = |threads: usize| {
            let pool = Pool::new(threads).unwrap();
            let problem = Problem { hidden: 4, ..problem(&data.rows, &pool) };
            let candidates =
                problem.class_candidates(2, problem.simple(1), &problem.selection_subjects()).unwrap();
            let parameters = |candidate: &Candidate| -> Vec<Vec<f32>> {
                candidate.members.iter().map(|member| member.member.parameters.clone()).collect()
            };
            let result = |candidate: &Candidate| (candidate.likelihoods.clone(), parameters(candidate));
            candidates.iter().map(result).collect::<Vec<_>>()
        };
        assert!(run(1) == run(2));
    }
}
