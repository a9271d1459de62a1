//! Answers of the mixture: point, interval and diagnosis of every unit, on the scale of the data.

use super::answer::{Answers, Diagnosis};
use super::options::AskOptions;
use crate::Result;
use crate::data::{Dataset, Units};
use crate::math::{GaussianComponent, central_interval, normal_half_width};
use crate::model::{ClassNetworks, Mixture, Model, Predictor};
use crate::model::abduction::{Abducted, BatchQuestion, MIN_POSTERIOR, abduct, most_probable};
use crate::models::Batcher;

/// The probability of the most probable class below which the class is ambiguous.
const MIN_CLASS_PROBABILITY: f32 = 0.9;
/// The smallest mean squared width, in standardised outcomes, that another solution's distance is compared with.
const MIN_SQUARED_WIDTH: f32 = 0.01;

impl Model {
    /// The outcome of each unit of `data` under `to`, which has one treatment per unit or one for all.
    pub(crate) fn outcomes(&self, data: &Dataset, to: &Units, options: AskOptions) -> Result<Answers> {
        self.answer(data, to, None, options)
    }

    /// The difference between each unit's outcome under `to` and under `from`.
    pub(crate) fn effects(
        &self,
        data: &Dataset,
        from: &Units,
        to: &Units,
        options: AskOptions,
    ) -> Result<Answers> {
        self.answer(data, to, Some(from), options)
    }

    fn answer(
        &self,
        data: &Dataset,
        to: &Units,
        from: Option<&Units>,
        options: AskOptions,
    ) -> Result<Answers> {
        options.validate()?;
        self.shapes().check(data)?;
        let scaler = self.scaler();
        let batcher = Batcher { data, scaler, missing: self.shapes().missing };
        let to = self.shapes().treatments(&scaler.t, to, data.len())?;
        let from = from.map(|from| self.shapes().treatments(&scaler.t, from, data.len())).transpose()?;
        let rows: Vec<usize> = (0..data.len()).collect();
        let networks = match &self.predictor {
            Predictor::ClassNetworks(networks) => networks,
            Predictor::Density(ensemble) => {
                return self.density_answers(ensemble, &batcher, &to, from.as_deref(), options);
            }
        };
        let calibration = &networks.calibration;
        let answer = |rows: &[usize]| {
            let range = rows[0] * scaler.t.elements()..(rows[rows.len() - 1] + 1) * scaler.t.elements();
            let from = from.as_ref().map(|from| &from[range.clone()]);
            let to = &to[range];
            self.answer_batch(
                networks,
                &BatchQuestion {
                    batcher,
                    rows,
                    to,
                    from,
                    rho: options.rho,
                    calibration,
                    min_posterior: MIN_POSTERIOR,
                },
                options,
            )
        };
        let batches = if rows.len() <= batcher.at_once() {
            vec![answer(&rows)]
        } else {
            self.pool.map(rows.chunks(batcher.at_once()).collect(), answer)
        };
        self.assemble(&batches)
    }

    /// The answers of all batches, one after the other.
    pub(super) fn assemble(&self, batches: &[BatchAnswers]) -> Result<Answers> {
        let shape = || self.shapes().y.clone();
        let join = |values: fn(&BatchAnswers) -> &Vec<f32>| -> Vec<f32> {
            batches.iter().flat_map(|batch| values(batch).iter().copied()).collect()
        };
        Ok(Answers {
            point: Units::new("answer", shape(), join(|batch| &batch.point))?,
            lower: Units::new("lower", shape(), join(|batch| &batch.lower))?,
            upper: Units::new("upper", shape(), join(|batch| &batch.upper))?,
            posterior: join(|batch| &batch.posterior),
            diagnoses: batches.iter().flat_map(|batch| batch.diagnoses.iter().copied()).collect(),
        })
    }

    /// The answers for one batch, restored from standardised outcomes.
    fn answer_batch(
        &self,
        networks: &ClassNetworks,
        question: &BatchQuestion<'_>,
        options: AskOptions,
    ) -> BatchAnswers {
        let abducted = abduct(&networks.mixture, question, &self.device);
        let mut batch = self.summarise(&abducted, question, options);
        let disagree = self.disagreements(&networks.alternatives, &batch, question);
        let asked = Asked { batcher: question.batcher, rows: question.rows, to: question.to, from: question.from };
        batch.diagnoses = self.diagnose(&batch.posterior, &asked, &disagree);

        self.restore(&mut batch, question.from.is_some());
        batch
    }

    /// Replaces standardised outcomes, or differences of outcomes, by those on the scale of the data.
    pub(super) fn restore(&self, batch: &mut BatchAnswers, effect: bool) {
        let scaler = &self.scaler().y;
        for values in [&mut batch.point, &mut batch.lower, &mut batch.upper] {
            for unit in values.chunks_exact_mut(scaler.elements()) {
                if effect {
                    unit.iter_mut().enumerate().for_each(|(i, value)| *value *= scaler.deviation(i));
                } else {
                    scaler.restore(unit);
                }
            }
        }
    }

    /// Point answers and intervals from the classes' answers.
    fn summarise(
        &self,
        abducted: &Abducted,
        question: &BatchQuestion<'_>,
        options: AskOptions,
    ) -> BatchAnswers {
        let (n, d, classes) = (question.rows.len(), self.scaler().y.elements(), self.classes());
        let z = normal_half_width(options.level);
        let calibration = question.calibration;
        let stretch = (calibration.quantile(options.level) / z).powi(2);
        let member_factor = f64::from(calibration.member_factor);
        let mut batch = BatchAnswers { posterior: abducted.posterior.clone(), ..BatchAnswers::default() };
        let mut components = Vec::with_capacity(classes);
        for i in 0..n * d {
            let posterior = &abducted.posterior[i / d * classes..][..classes];
            components.clear();
            let computed =
                abducted.classes.iter().zip(posterior).filter(|(_, weight)| **weight >= MIN_POSTERIOR);
            components.extend(computed.map(|(class, &weight)| {
                let (model, noise) = (f64::from(class.model[i]), f64::from(class.noise[i]));
                // with fresh noise the interval predicts an outcome, with shared noise it covers the mean
                let fresh = if noise > 0.0 { 1.0 - f64::from(options.rho).powi(2) } else { 0.0 };
                let mean_variance = member_factor * model + f64::from(class.transfer[i]);
                let variance = stretch * (noise + fresh * model) + (1.0 - fresh) * mean_variance;
                GaussianComponent {
                    weight: weight.into(),
                    mean: class.mean[i].into(),
                    deviation: variance.sqrt(),
                }
            }));
            let (lower, upper) = central_interval(&components, options.level, z);
            batch
                .point
                .push(components.iter().map(|c: &GaussianComponent| c.weight * c.mean).sum::<f64>() as f32);
            batch.lower.push(lower as f32);
            batch.upper.push(upper as f32);
        }
        batch
    }

    /// The most probable class, its certainty and the flags of every unit.
    pub(super) fn diagnose(&self, posterior: &[f32], asked: &Asked<'_>, disagree: &[bool]) -> Vec<Diagnosis> {
        let (classes, d_t) = (self.classes(), self.shapes().t);
        let of_unit = |(i, &row): (usize, &usize)| {
            let posterior = &posterior[i * classes..][..classes];
            let class = most_probable(posterior);
            let terms = posterior.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln());
            let entropy = if classes > 1 { terms.sum::<f32>() / (classes as f32).ln() } else { 0.0 };
            let region = self.support.nearest_region(&asked.batcher, row);
            let supported = |t: &[f32]| self.support.contains(region, &t[i * d_t..][..d_t]);
            Diagnosis {
                class,
                entropy: entropy.clamp(0.0, 1.0),
                ambiguous_class: posterior[class] < MIN_CLASS_PROBABILITY,
                off_support: !(supported(asked.to) && asked.from.is_none_or(supported)),
                starts_disagree: disagree[i],
            }
        };
        asked.rows.iter().enumerate().map(of_unit).collect()
    }

    /// Whether another solution's answer is farther from the point answer than the intervals are wide (root mean squares
    /// over elements), for every unit.
    fn disagreements(
        &self,
        alternatives: &[Mixture],
        batch: &BatchAnswers,
        question: &BatchQuestion<'_>,
    ) -> Vec<bool> {
        let d = self.scaler().y.elements();
        let mut disagree = vec![false; question.rows.len()];
        for mixture in alternatives {
            let other = abduct(mixture, question, &self.device);
            let classes = mixture.classes();
            for (i, disagree) in disagree.iter_mut().enumerate() {
                let posterior = &other.posterior[i * classes..][..classes];
                let answer =
                    |j: usize| other.classes.iter().zip(posterior).map(|(c, p)| p * c.mean[j]).sum::<f32>();
                let (gap, width) = (i * d..(i + 1) * d).fold((0.0, 0.0), |(gap, width), j| {
                    (
                        gap + (answer(j) - batch.point[j]).powi(2),
                        width + (batch.upper[j] - batch.lower[j]).powi(2),
                    )
                });
                *disagree |= gap > width.max(MIN_SQUARED_WIDTH * d as f32);
            }
        }
        disagree
    }
}

/// The units of a question, and the treatments asked about, standardised.
pub(super) struct Asked<'a> {
    pub batcher: Batcher<'a>,
    pub rows: &'a [usize],
    pub to: &'a [f32],
    pub from: Option<&'a [f32]>,
}

/// The answers for one batch.
#[derive(Clone, Debug, Default)]
pub(super) struct BatchAnswers {
    pub point: Vec<f32>,
    pub lower: Vec<f32>,
    pub upper: Vec<f32>,
    pub posterior: Vec<f32>,
    pub diagnoses: Vec<Diagnosis>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Base, Classes, FitConfig};
    use crate::fit::Fit;
    use crate::sim::Oscillator;
    use crate::{Error, ask::Flag};

    fn model() -> (Dataset, Model) {
        let data = Oscillator::default().simulate(300, 1).unwrap().data;
        let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
        let model = Fit::new(config).run(&data).unwrap();
        (data, model)
    }

    #[test]
    fn a_treatment_far_from_all_others_is_off_support() {
        let (data, model) = model();
        let flagged = |t: f32| {
            let answers = model.ask(&data).under(t).answers().unwrap();
            answers.diagnoses.iter().filter(|diagnosis| diagnosis.has(Flag::OffSupport)).count()
        };
        assert_eq!((flagged(0.6), flagged(5.0)), (0, 300));
        let effect = model.ask(&data).effect(0.6, 5.0).answers().unwrap();
        assert!(effect.diagnoses.iter().all(|diagnosis| diagnosis.off_support), "both treatments count");
    }

    #[test]
    fn many_batches_give_the_same_answers_as_one_unit_at_a_time() {
        let (data, model) = model();
        let all = model.ask(&data).under(0.5).answers().unwrap();
        for i in [0, 255, 256, 299] {
            let one = data.pick(&[i]).unwrap();
            let one = model.ask(&one).under(0.5).answers().unwrap();
            let gap = all
                .point
                .row(i)
                .iter()
                .zip(one.point.values())
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f32::max);
            assert!(gap < 1e-5, "unit {i}: {gap}");
            assert_eq!(all.diagnoses[i].class, one.diagnoses[0].class);
        }
    }

    #[test]
    fn intervals_widen_with_fresh_noise() {
        let (data, model) = model();
        let width = |rho: f32| {
            let answers = model.ask(&data).under(0.5).rho(rho).answers().unwrap();
            let ends = answers.lower.values().iter().zip(answers.upper.values());
            assert!(ends.clone().all(|(lower, upper)| lower < upper));
            ends.map(|(lower, upper)| f64::from(upper - lower)).sum::<f64>()
        };
        assert!(width(0.0) > 1.5 * width(1.0), "{} {}", width(0.0), width(1.0));
    }

    #[test]
    fn questions_that_do_not_fit_the_model_are_refused() {
        let (data, model) = model();
        let field = |error: Error| match error {
            Error::Config { field, .. } => field.to_owned(),
            Error::Data { place, .. } => place,
            other => panic!("{other}"),
        };
        let refused = |question: crate::ask::Question<'_>| field(question.answers().unwrap_err());
        assert_eq!(refused(model.ask(&data).under(0.5).rho(1.5)), "rho");
        assert_eq!(refused(model.ask(&data).under(0.5).level(1.0)), "level");
        assert_eq!(refused(model.ask(&data).under([0.5, 0.6])), "treatment");
        assert!(model.ask(&data).under(f32::NAN).answers().is_err());
    }
}
