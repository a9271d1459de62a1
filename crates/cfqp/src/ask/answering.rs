//! Answers of the mixture: point, interval and diagnosis of every unit, on the scale of the data.

use super::answer::{Answers, Diagnosis};
use super::options::AskOptions;
use super::rho::{RhoNode, UsedRho};
use crate::Result;
use crate::data::{Dataset, Units, element_name};
use crate::math::{GaussianComponent, central_interval, normal_half_width};
use crate::model::abduction::{Abducted, BatchQuestion, MIN_POSTERIOR, abduct_each, most_probable};
use crate::model::{Calibration, ClassNetworks, Mixture, Model, Predictor};
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
        options.validate_for(self)?;
        self.check_question(data, to, from)?;
        let used = self.used_rho(options.rho);
        let batch_options = BatchOptions { nodes: &used.nodes(), level: options.level };
        let scaler = self.scaler();
        let batcher = Batcher { data, scaler, missing: self.shapes().missing };
        let to = self.shapes().treatments(&scaler.t, to, data.len())?;
        let from = from.map(|from| self.shapes().treatments(&scaler.t, from, data.len())).transpose()?;
        let rows: Vec<usize> = (0..data.len()).collect();
        let networks = match &self.predictor {
            Predictor::ClassNetworks(networks) => networks,
            Predictor::Density(ensemble) => {
                let asked = Asked { batcher, rows: &rows, to: &to, from: from.as_deref() };
                let batch = self.density_answers(ensemble, &asked, used, options.level);
                return self.assemble(&[batch], used, options.level);
            }
        };
        let (calibration, min_posterior) = (&networks.calibration, MIN_POSTERIOR);
        let answer = |rows: &[usize]| {
            let range = rows[0] * scaler.t.elements()..(rows[rows.len() - 1] + 1) * scaler.t.elements();
            let from = from.as_ref().map(|from| &from[range.clone()]);
            let question = BatchQuestion { batcher, rows, to: &to[range], from, calibration, min_posterior };
            self.answer_batch(networks, &question, batch_options)
        };
        let batches = if rows.len() <= batcher.at_once() {
            vec![answer(&rows)]
        } else {
            self.pool.map(rows.chunks(batcher.at_once()).collect(), answer)
        };
        self.assemble(&batches, used, options.level)
    }

    /// Checks that the units and the treatments fit the model.
    pub(super) fn check_question(&self, data: &Dataset, to: &Units, from: Option<&Units>) -> Result<()> {
        self.shapes().check(data)?;
        data.check_outcomes(&self.outcome_kinds(), element_name)?;
        from.into_iter().chain([to]).try_for_each(|treatments| self.check_levels(treatments))
    }

    /// The answers of all batches, one after the other.
    fn assemble(&self, batches: &[BatchAnswers], rho: UsedRho, level: f64) -> Result<Answers> {
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
            members: match batches {
                [batch] => {
                    let points = batch.members.iter();
                    points
                        .map(|points| Units::new("member", shape(), points.clone()))
                        .collect::<Result<_>>()?
                }
                _ => Vec::new(),
            },
            rho,
            level,
        })
    }

    /// The answers for one batch, restored from standardised outcomes.
    fn answer_batch(
        &self,
        networks: &ClassNetworks,
        question: &BatchQuestion<'_>,
        options: BatchOptions<'_>,
    ) -> BatchAnswers {
        let abducted = abduct_each(&networks.mixture, question, &options.rhos(), &self.device);
        let mut batch = self.summarise(&abducted, question, options);
        let disagree = self.disagreements(&networks.alternatives, &batch, question, options);
        let BatchQuestion { batcher, rows, to, from, .. } = *question;
        batch.diagnoses = self.diagnose(&batch.posterior, &Asked { batcher, rows, to, from }, &disagree);
        self.restore(&mut batch, question.from.is_some());
        batch
    }

    /// Replaces standardised outcomes, or differences of outcomes, by those on the scale of the data.
    pub(super) fn restore(&self, batch: &mut BatchAnswers, effect: bool) {
        let scaler = &self.scaler().y;
        let intervals = [&mut batch.point, &mut batch.lower, &mut batch.upper];
        for values in intervals.into_iter().chain(&mut batch.members) {
            for unit in values.chunks_exact_mut(scaler.elements()) {
                if effect {
                    unit.iter_mut().enumerate().for_each(|(i, value)| *value *= scaler.deviation(i));
                } else {
                    scaler.restore(unit);
                }
            }
        }
    }

    /// Point answers and intervals of the mixture over classes and rho, from the classes' answers at every node of rho.
    fn summarise(
        &self,
        abducted: &[Abducted],
        question: &BatchQuestion<'_>,
        options: BatchOptions<'_>,
    ) -> BatchAnswers {
        let (n, d) = (question.rows.len(), self.scaler().y.elements());
        let widths = Widths::new(question.calibration, options.level);
        let mut batch = BatchAnswers { posterior: abducted[0].posterior.clone(), ..BatchAnswers::default() };
        let mut components = Vec::with_capacity(abducted.len() * self.classes());
        let no_outcome: Vec<bool> =
            question.rows.iter().map(|&row| !question.batcher.data.has_outcome(row)).collect();
        for i in 0..n * d {
            components.clear();
            for (node, at_node) in options.nodes.iter().zip(abducted) {
                // without an outcome there is no noise to share
                let rho = if no_outcome[i / d] { 0.0 } else { node.rho };
                widths.add_components(&mut components, RhoNode { rho, ..*node }, at_node, i, i / d);
            }
            let (lower, upper) = central_interval(&components, options.level, widths.z);
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
                no_outcome: !asked.batcher.data.has_outcome(row),
                extreme_value: asked.batcher.has_extreme_value(row),
                not_identified: false,
                extreme_answer: false,
                single_member: false,
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
        options: BatchOptions<'_>,
    ) -> Vec<bool> {
        let d = self.scaler().y.elements();
        let mut disagree = vec![false; question.rows.len()];
        for mixture in alternatives {
            let other = abduct_each(mixture, question, &options.rhos(), &self.device);
            for (i, disagree) in disagree.iter_mut().enumerate() {
                let (gap, width) = (i * d..(i + 1) * d).fold((0.0, 0.0), |(gap, width), j| {
                    (
                        gap + (options.mean(&other, j, i) - batch.point[j]).powi(2),
                        width + (batch.upper[j] - batch.lower[j]).powi(2),
                    )
                });
                *disagree |= gap > width.max(MIN_SQUARED_WIDTH * d as f32);
            }
        }
        disagree
    }
}

/// How the units of a batch are asked about.
#[derive(Clone, Copy)]
struct BatchOptions<'a> {
    /// The values of rho over which answers are averaged.
    nodes: &'a [RhoNode],
    level: f64,
}

impl BatchOptions<'_> {
    fn rhos(&self) -> Vec<f32> {
        self.nodes.iter().map(|node| node.rho).collect()
    }

    /// The mean over classes and rho of element `i`, which belongs to `unit`.
    fn mean(&self, abducted: &[Abducted], i: usize, unit: usize) -> f32 {
        let at_node = |(node, abducted): (&RhoNode, &Abducted)| {
            let answers = abducted.classes.iter().zip(abducted.posterior_of(unit));
            node.weight as f32 * answers.map(|(class, p)| p * class.mean[i]).sum::<f32>()
        };
        self.nodes.iter().zip(abducted).map(at_node).sum()
    }
}

/// What the width of intervals depends on besides the classes' answers.
struct Widths {
    /// The half width of a standard normal at the level.
    z: f64,
    /// The factor on the variance of fresh noise.
    stretch: f64,
    member_factor: f64,
}

impl Widths {
    fn new(calibration: &Calibration, level: f64) -> Self {
        let z = normal_half_width(level);
        let stretch = (calibration.quantile(level) / z).powi(2);
        Self { z, stretch, member_factor: calibration.member_factor.into() }
    }

    /// Adds the classes' answers at one node of rho for element `i`, which belongs to `unit`.
    fn add_components(
        &self,
        components: &mut Vec<GaussianComponent>,
        node: RhoNode,
        abducted: &Abducted,
        i: usize,
        unit: usize,
    ) {
        let classes = abducted.classes.iter().zip(abducted.posterior_of(unit));
        let computed = classes.filter(|(_, weight)| **weight >= MIN_POSTERIOR);
        components.extend(computed.map(|(class, &weight)| {
            let (model, noise) = (f64::from(class.model[i]), f64::from(class.noise[i]));
            // with fresh noise the interval predicts an outcome, with shared noise it covers the mean
            let fresh = if noise > 0.0 { 1.0 - f64::from(node.rho).powi(2) } else { 0.0 };
            let mean_variance = self.member_factor * model + f64::from(class.transfer[i]);
            let variance = self.stretch * (noise + fresh * model) + (1.0 - fresh) * mean_variance;
            GaussianComponent {
                weight: node.weight * f64::from(weight),
                mean: class.mean[i].into(),
                deviation: variance.sqrt(),
            }
        }));
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
    /// The points of every member of a density.
    pub members: Vec<Vec<f32>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::ask::{Flag, Rho, RhoSource};
    use crate::config::{Base, Classes, FitConfig};
    use crate::fit::Fit;
    use crate::sim::Oscillator;

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

    /// The mean width of intervals.
    fn mean_width(answers: &Answers) -> f64 {
        let ends = answers.lower.values().iter().zip(answers.upper.values());
        let widths: Vec<f64> = ends.map(|(lower, upper)| f64::from(upper - lower)).collect();
        widths.iter().sum::<f64>() / widths.len() as f64
    }

    #[test]
    fn an_unknown_rho_averages_points_and_widens_intervals() {
        let (data, model) = model();
        let nodes = UsedRho { rho: None, source: RhoSource::Unknown }.nodes();
        let questions = [model.ask(&data).under(0.5), model.ask(&data).effect(0.3, 0.7)];
        for question in questions {
            let auto = question.answers().unwrap();
            assert_eq!(auto.rho, UsedRho { rho: None, source: RhoSource::Unknown });
            let at = |rho: f32| question.clone().rho(rho).answers().unwrap();
            let at_nodes: Vec<Answers> = nodes.iter().map(|node| at(node.rho)).collect();
            for (i, point) in auto.point.values().iter().enumerate() {
                let weighted = nodes
                    .iter()
                    .zip(&at_nodes)
                    .map(|(node, answers)| node.weight * f64::from(answers.point.values()[i]));
                let mean = weighted.sum::<f64>() as f32;
                assert!((point - mean).abs() < 1e-5, "element {i}: {point} for {mean}");
            }
            assert_eq!(auto.posterior, at_nodes[0].posterior);
            // the mean variance is that at 0.5, as E[1 - rho^2] + E[u^2] Var(rho) = 2/3 + 1/12; mean widths differ a little
            let [unknown, half, same] = [&auto, &at(0.5), &at(1.0)].map(mean_width);
            assert!(unknown >= 0.97 * half && unknown > same, "{unknown}, {half}, {same}");
        }
    }

    #[test]
    fn a_learned_or_given_rho_is_told_apart() {
        let (data, model) = model();
        let given = model.ask(&data).under(0.5).rho(1.0).answers().unwrap();
        assert_eq!(given.rho, UsedRho { rho: Some(1.0), source: RhoSource::Given });
        assert_eq!(given.pick(&[3]).rho, given.rho);
        assert_eq!(model.learned_rho(), None);
        assert_eq!(model.used_rho(Rho::Auto).source, RhoSource::Unknown);
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
