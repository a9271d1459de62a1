//! Answers of mixture density networks.

use std::collections::HashMap;

use super::answering::{Asked, BatchAnswers};
use super::by_class::AnswerClass;
use super::rho::UsedRho;
use crate::Result;
use crate::data::Units;
use crate::density::{Correlation, Element, Ensemble, Question, RowAnswer};
use crate::model::abduction::most_probable;
use crate::model::{Model, density_rows};
use crate::models::Batcher;

/// Subjects that one job answers for.
const SUBJECTS_AT_ONCE: usize = 256;

impl UsedRho {
    /// The correlation of the noise that a density is asked with.
    pub(super) fn correlation(self) -> Correlation {
        self.rho.map_or(Correlation::Unknown, Correlation::Known)
    }
}

impl Model {
    /// Answers for all units of a data set.
    pub(super) fn density_answers(
        &self,
        ensemble: &Ensemble,
        asked: &Asked<'_>,
        rho: UsedRho,
        level: f64,
    ) -> BatchAnswers {
        let elements = ensemble.elements();
        let (n, d, classes) = (asked.rows.len(), elements.len(), self.classes());
        let difference = asked.from.is_some();
        let intervals = |answer: &RowAnswer| -> Vec<(f64, f64)> {
            let elements = elements.iter().zip(&answer.elements);
            elements.map(|(&element, own)| ensemble.interval(element, own, level, difference)).collect()
        };
        let mut answered = self.map_density_answers(ensemble, asked, rho.correlation(), |answer| {
            let points = elements.iter().zip(&answer.elements);
            let points = points.map(|(&element, own)| ensemble.point(element, own, difference));
            let ends = points.zip(intervals(&answer));
            let elements = ends.map(|(point, (lower, upper))| [point as f32, lower as f32, upper as f32]);
            (elements.collect::<Vec<_>>(), answer)
        });
        if difference && rho.rho.is_none() {
            // an effect whose rho is unknown is known no better than with the same noise
            let same = self.map_density_answers(ensemble, asked, Correlation::Known(1.0), |a| intervals(&a));
            for ((_, (elements, _)), (_, same)) in answered.iter_mut().zip(same) {
                let of_kinds = ensemble.elements().into_iter().map(largest_difference);
                let ends = elements.iter_mut().zip(same).zip(of_kinds);
                ends.for_each(|((own, same), most)| widen(own, same, most));
            }
        }
        let zeros = |len: usize| vec![0.0; len];
        let mut batch = BatchAnswers {
            point: zeros(n * d),
            lower: zeros(n * d),
            upper: zeros(n * d),
            posterior: zeros(n * classes),
            diagnoses: Vec::new(),
            members: vec![zeros(n * d); ensemble.folds()],
        };
        let mut warnings = vec![(false, false); n];
        for (row, (elements, answer)) in answered {
            let is_extreme = |(j, [point, ..]): (usize, &[f32; 3])| {
                !difference && ensemble.ranges.get(j).is_some_and(|range| range.is_extreme(f64::from(*point)))
            };
            warnings[row] = (answer.is_not_identified(), elements.iter().enumerate().any(is_extreme));
            answer
                .posterior
                .iter()
                .enumerate()
                .for_each(|(k, &p)| batch.posterior[row * classes + k] = p as f32);
            for (j, [point, lower, upper]) in elements.into_iter().enumerate() {
                let at = row * d + j;
                (batch.point[at], batch.lower[at], batch.upper[at]) = (point, lower, upper);
                let of_members = batch.members.iter_mut().zip(&answer.elements[j].members);
                of_members.for_each(|(points, &mean)| points[at] = mean as f32);
            }
        }
        batch.diagnoses = self.diagnose(&batch.posterior, asked, &vec![false; n]);
        for (diagnosis, (not_identified, extreme)) in batch.diagnoses.iter_mut().zip(warnings) {
            (diagnosis.not_identified, diagnosis.extreme_answer) = (not_identified, extreme);
            diagnosis.single_member = ensemble.members.len() == 1;
        }
        self.restore(&mut batch, asked.from.is_some());
        batch
    }

    /// What `summarise` makes of the answer for every row.
    pub(super) fn map_density_answers<T: Send>(
        &self,
        ensemble: &Ensemble,
        asked: &Asked<'_>,
        rho: Correlation,
        summarise: impl Fn(RowAnswer) -> T + Sync,
    ) -> Vec<(usize, T)> {
        let mut rows = density_rows(&asked.batcher, ensemble.outcome_laws(), &ensemble.scales);
        rows.possible_treatments = self.possible_treatments(&asked.batcher);
        rows.folds = ensemble.known_folds(&rows);
        let question = Question { rows: &rows, to: asked.to, from: asked.from, rho };
        let parts = self.pool.map(rows.subjects.chunks(SUBJECTS_AT_ONCE).collect(), |subjects| {
            let mut evaluators = ensemble.evaluators();
            let mut answered = Vec::new();
            for of_subject in subjects {
                let answers = ensemble.answer(&mut evaluators, &question, of_subject);
                answered
                    .extend(of_subject.iter().zip(answers).map(|(&row, answer)| (row, summarise(answer))));
            }
            answered
        });
        parts.into_iter().flatten().collect()
    }

    /// The treatments that training units similar to each unit whose treatment is unknown received.
    fn possible_treatments(&self, batcher: &Batcher<'_>) -> HashMap<usize, Vec<f32>> {
        let unknown = (0..batcher.data.len()).filter(|&row| !batcher.data.has_treatment(row));
        let possible = |row: usize| self.support.received(self.support.nearest_region(batcher, row));
        unknown.map(|row| (row, possible(row))).collect()
    }

    /// The outcome of each unit under `to` by one class.
    pub(super) fn density_answer_by_class(
        &self,
        ensemble: &Ensemble,
        batcher: &Batcher<'_>,
        to: &[f32],
        answer_class: AnswerClass<'_>,
        rho: f32,
    ) -> Result<Units> {
        let mut rows = density_rows(batcher, ensemble.outcome_laws(), &ensemble.scales);
        rows.possible_treatments = self.possible_treatments(batcher);
        rows.folds = ensemble.known_folds(&rows);
        let d = ensemble.elements().len();
        let rho = Correlation::Known(f64::from(rho));
        let question = Question { rows: &rows, to, from: None, rho };
        let choose = |row: usize, posterior: &[f64]| match answer_class {
            AnswerClass::Given(classes) => classes[row],
            AnswerClass::MostProbable => most_probable(posterior),
        };
        let mut values = vec![0.0; rows.len() * d];
        let parts = self.pool.map(rows.subjects.chunks(SUBJECTS_AT_ONCE).collect(), |subjects| {
            let mut evaluators = ensemble.evaluators();
            let answer = |of_subject: &Vec<usize>| {
                let answers = ensemble.answer_by_class(&mut evaluators, &question, of_subject, choose);
                of_subject.iter().copied().zip(answers).collect::<Vec<_>>()
            };
            subjects.iter().flat_map(answer).collect::<Vec<_>>()
        });
        for (row, answer) in parts.into_iter().flatten() {
            answer.iter().enumerate().for_each(|(j, &value)| values[row * d + j] = value as f32);
        }
        values.chunks_exact_mut(d).for_each(|unit| self.scaler().y.restore(unit));
        Units::new("answer", self.shapes().y.clone(), values)
    }
}

/// Makes the interval of `[point, lower, upper]` at least as wide as another, on both sides alike, within +- `most`.
fn widen([_, lower, upper]: &mut [f32; 3], (least_lower, least_upper): (f64, f64), most: f32) {
    let missing = 0.5 * ((least_upper - least_lower) as f32 - (*upper - *lower));
    if missing > 0.0 {
        *lower = (*lower - missing).max(-most);
        *upper = (*upper + missing).min(most);
    }
}

/// The largest difference of two answers.
fn largest_difference(element: Element) -> f32 {
    match element {
        Element::Chance(_) | Element::Level(_) => 1.0,
        _ => f32::INFINITY,
    }
}
