//! Outcomes by treatment: dose-response curves, or means under every level, over all units and by class.

use serde::Serialize;

use super::responses::middle_share;
use super::{CurveKind, ReportContext};
use crate::Result;
use crate::ask::{AnswerClass, Answers, Averages, EffectGroup};
use crate::data::Units;
use crate::data::table::TreatmentValue;
use crate::math::{normal_half_width, standard_deviation, student_half_width};
use crate::model::{Model, Predictor};

/// The correlation of the noise with which classes answer where it is unknown: its mean.
const UNKNOWN_RHO: f64 = 0.5;
/// A class with fewer units has no means.
const MIN_CLASS_UNITS: f64 = 1e-3;

/// The mean outcomes under each of several treatments.
#[derive(Clone, Debug, Serialize)]
pub struct Curves {
    /// What the treatments are.
    pub kind: CurveKind,
    /// The treatments.
    pub grid: Vec<Vec<TreatmentValue>>,
    /// The curves of each outcome that is drawn.
    pub outcomes: Vec<OutcomeCurves>,
}

/// The curves of one outcome.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeCurves {
    /// The name of the outcome.
    pub name: String,
    /// The mean over all units, with its interval.
    pub all: Curve,
    /// The 10th percentile of the units' point answers, at every treatment, ...
    pub units_lower: Vec<f64>,
    /// ... and the 90th.
    pub units_upper: Vec<f64>,
    /// The mean in each class over units by their probability of it, with its interval. Empty if there is one class, or if the data do not
    /// show which class under one treatment is which under another.
    pub classes: Vec<Curve>,
}

/// A mean at every treatment with the ends of its interval; NaN for a class without units.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Curve {
    /// The means.
    pub mean: Vec<f64>,
    /// The lower ends.
    pub lower: Vec<f64>,
    /// The upper ends.
    pub upper: Vec<f64>,
}

impl Curve {
    fn push(&mut self, [mean, lower, upper]: [f64; 3]) {
        self.mean.push(mean);
        self.lower.push(lower);
        self.upper.push(upper);
    }
}

impl ReportContext<'_> {
    /// The curves over the treatments `grid`, and the share of units for which each treatment is within the support.
    pub(super) fn curves(
        &self,
        grid: &[Units],
        effects: &Answers,
        drawn: &[usize],
    ) -> Result<(Curves, Vec<f64>)> {
        let classes = if self.model.has_class_effects() { self.model.classes() } else { 0 };
        let empty = |&o: &usize| OutcomeCurves {
            name: self.outcomes[o].name.clone(),
            all: Curve::default(),
            units_lower: Vec::new(),
            units_upper: Vec::new(),
            classes: vec![Curve::default(); classes],
        };
        let members = if classes > 0 { self.single_members() } else { Vec::new() };
        let mut outcomes: Vec<OutcomeCurves> = drawn.iter().map(empty).collect();
        let mut overlap = Vec::new();
        for t in grid {
            let answers = self.model.outcomes(self.data, t, self.ask)?;
            let supported = answers.diagnoses.iter().filter(|diagnosis| !diagnosis.off_support).count();
            overlap.push(supported as f64 / answers.diagnoses.len() as f64);
            let mut averages = Averages::new(self.model, self.ask.level);
            averages.add(&answers);
            let averages = averages.finish();
            for (curves, &o) in outcomes.iter_mut().zip(drawn) {
                let mut all = averages.iter().filter(|average| average.group == EffectGroup::All);
                if let Some(average) = all.nth(o) {
                    curves.all.push([average.effect, average.lower, average.upper]);
                }
                let points: Vec<f64> =
                    (0..self.data.len()).map(|i| self.outcomes[o].mean(&answers.point, i)).collect();
                let [low, high] = middle_share(&points);
                curves.units_lower.push(low);
                curves.units_upper.push(high);
            }
            if classes > 0 {
                self.add_class_means(t, effects, drawn, &members, &mut outcomes)?;
            }
        }
        let grid = grid.iter().map(|t| self.treatment_values(&t.row(0))).collect();
        Ok((Curves { kind: self.kind, grid, outcomes }, overlap))
    }

    /// The members with these classes, as models of their own; none if there is one.
    fn single_members(&self) -> Vec<Model> {
        let members = match &self.model.predictor {
            Predictor::ClassNetworks(_) => self.model.members(),
            // the others may have classes in another order
            Predictor::Density(ensemble) => ensemble.first_group().len(),
        };
        if members < 2 {
            return Vec::new();
        }
        (0..members).map(|member| self.model.with_member(member)).collect()
    }

    /// Adds the mean of every class under `t` to its curve. The interval allows for the differences between members and for the
    /// sampling of units.
    fn add_class_means(
        &self,
        t: &Units,
        effects: &Answers,
        drawn: &[usize],
        members: &[Model],
        outcomes: &mut [OutcomeCurves],
    ) -> Result<()> {
        let answers = self.class_answers(self.model, t)?;
        let of_members =
            members.iter().map(|member| self.class_answers(member, t)).collect::<Result<Vec<_>>>()?;
        let z = normal_half_width(self.ask.level);
        let [own, common] = self.model.member_error_ratios();
        for (curves, &o) in outcomes.iter_mut().zip(drawn) {
            let means = self.class_means(effects, o, |k| &answers[k]);
            let of_members: Vec<Vec<f64>> =
                of_members.iter().map(|answers| self.class_means(effects, o, |k| &answers[k])).collect();
            for (k, curve) in curves.classes.iter_mut().enumerate() {
                let sampling = self.class_sampling(effects, o, k, &answers[k], means[k]);
                let averages: Vec<f64> = of_members.iter().map(|means| means[k]).collect();
                let half = match averages.len() {
                    0 | 1 => z * sampling.sqrt(),
                    n => {
                        let freedom = ((n as f64 * own / (own + 1.0)).round() as usize).max(1);
                        let between = standard_deviation(&averages).powi(2);
                        student_half_width(z, freedom) * ((own + common) * between + sampling).sqrt()
                    }
                };
                curve.push([means[k], means[k] - half, means[k] + half]);
            }
        }
        Ok(())
    }

    /// The variance of the mean of class `k` that the sampling of units adds.
    fn class_sampling(&self, effects: &Answers, o: usize, k: usize, answers: &Units, mean: f64) -> f64 {
        let each = (0..self.data.len()).map(|i| {
            let weight = self.probability(effects, i, k);
            (weight, weight * (self.outcomes[o].mean(answers, i) - mean))
        });
        let (total, squares) = each.fold((0.0, 0.0), |(n, sum), (weight, own)| (n + weight, sum + own * own));
        squares / (total * total)
    }

    /// The probability that unit `i` belongs to class `k`.
    pub(super) fn probability(&self, effects: &Answers, i: usize, k: usize) -> f64 {
        f64::from(effects.posterior[i * self.model.classes() + k])
    }

    /// The answers of every class of `model` for all units under `t`.
    pub(super) fn class_answers(&self, model: &Model, t: &Units) -> Result<Vec<Units>> {
        let rho = model.used_rho(self.ask.rho).rho.unwrap_or(UNKNOWN_RHO) as f32;
        let answer = |k: usize| {
            let given = vec![k; self.data.len()];
            model.answer_by_class(self.data, t, AnswerClass::Given(&given), rho)
        };
        (0..model.classes()).map(answer).collect()
    }

    /// The mean of outcome `o` over the units of each class, of values that may depend on the class; NaN for a class without units.
    pub(super) fn class_means<'u>(
        &self,
        effects: &Answers,
        o: usize,
        values: impl Fn(usize) -> &'u Units,
    ) -> Vec<f64> {
        let mean = |k: usize| {
            let units = values(k);
            let each = (0..self.data.len()).map(|i| (self.probability(effects, i, k), i));
            let (sum, n) = each.fold((0.0, 0.0), |(sum, n), (weight, i)| {
                (sum + weight * self.outcomes[o].mean(units, i), n + weight)
            });
            if n > MIN_CLASS_UNITS { sum / n } else { f64::NAN }
        };
        (0..self.model.classes()).map(mean).collect()
    }
}
