//! Counterfactual questions: this unit had x, received t and showed y; what would its outcome have been under t'?
//!
//! Abduction: the posterior P(k | x, t, y) over classes by Bayes' rule on the fitted mixture, and for each class the
//! unit's noise u_k = (y - m_k(x, t)) / s_k(t). Action: set t'. Prediction: for each class
//!
//! ```text
//! m_k(x, t') + rho s_k(t') u_k,   variance (1 - rho^2) s_k(t')^2 + the members' variance
//! ```
//!
//! and over classes the mixture of these by the posterior. (Part of a residual is the model's own error rather than
//! noise; the model separates the two.) rho is the correlation of the noise in both worlds: 1 is "everything else being
//! equal", 0 is fresh noise. Where it is unknown, the mixture is over rho too, uniform on [0, 1]. The point answer is the mean
//! of the mixture.
//!
//! A unit without an outcome has nothing to abduct: classes have their weights w_k(x, t), or the mean of these over the
//! treatments of similar training units if t is missing too, and noise is fresh whatever rho is.

mod answer;
mod answering;
mod average;
mod by_class;
mod causation;
mod contrast;
mod counts;
mod curve;
mod density;
mod distribution;
mod even_sample;
mod grid;
mod input;
mod kind_columns;
#[cfg(test)]
mod no_outcome_tests;
mod options;
mod plain_check;
mod question;
mod rho;
mod robust;
mod stream;
mod subgroup;
mod tabulate;
mod treatments;
mod trust;
mod units;
#[cfg(test)]
mod units_tests;
mod verdict;

pub use answer::{Answers, Diagnosis, Flag};
pub use average::{AverageEffect, AverageMethod, Averages, EffectGroup};
pub(crate) use by_class::AnswerClass;
pub use causation::{Causation, CausationShare};
pub use contrast::{Contrast, ContrastSummary};
pub use counts::AnswerCounts;
pub use curve::CurveSpec;
pub(crate) use curve::curve_points;
pub use distribution::ValueProbabilities;
pub(crate) use even_sample::EvenSample;
pub(crate) use grid::GridUnits;
pub use input::UnitsInput;
pub use options::AskOptions;
pub use plain_check::PlainComparison;
pub use question::{Ask, CurveQuestion, Question, Treatments};
pub use rho::{Rho, RhoBound, RhoSource, UsedRho};
pub(crate) use robust::EffectSample;
pub(crate) use stream::WantedIds;
pub use stream::{StreamBatch, UnitStream};
pub(crate) use subgroup::{MIN_RECEIVED, TEST_HALF_WIDTH, equal_effects, widened};
pub use subgroup::{SubgroupEffect, SubgroupEffects, Subgroups};
pub use tabulate::{AskedTreatments, Tabulation};
pub(crate) use treatments::treatment_quantiles;
pub use trust::{Trust, TrustContrast};
pub use units::{AskUnits, UnitsQuestion};
pub use verdict::{Assumption, Grade, Verdict, VerdictLimits};

#[cfg(test)]
mod tests {
    use crate::config::{Base, Classes, FitConfig, Sharing};
    use crate::data::Units;
    use crate::fit::Fit;
    use crate::model::{ClassNetworks, Mixture, Model, Predictor, SparseEffects};
    use crate::sim::Oscillator;

    fn networks(model: &mut Model) -> &mut ClassNetworks {
        match &mut model.predictor {
            Predictor::ClassNetworks(networks) => networks,
            Predictor::Density(_) => panic!("series have networks of class means"),
        }
    }

    #[test]
    fn unresponsive_elements_keep_their_factual_values_if_noise_is_shared() {
        let world = Oscillator::default().simulate(200, 1).unwrap();
        let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
        let free = Fit::new(config).run(&world.data).unwrap();
        assert_eq!(free.unresponsive_share(), None, "only images are checked");
        let held = |share: f64| {
            let mut fitted = free.clone();
            networks(&mut fitted).calibration.sparse_effects = Some(SparseEffects::example(share, 0.01, 1.0));
            fitted
        };
        let t = Units::new("t", vec![1], vec![0.6]).unwrap();
        let answers = |model: &Model, rho: f32| model.ask(&world.data).under(&t).rho(rho).answers().unwrap();
        let gap = |a: &Units, b: &Units| -> f32 {
            let gaps = a.values().iter().zip(b.values()).map(|(a, b)| (a - b).powi(2));
            gaps.sum::<f32>() / a.values().len() as f32
        };
        assert_eq!(answers(&held(0.9), 0.0).point, answers(&free, 0.0).point);
        let y = world.data.y();
        let moved: Vec<f32> = [0.0, 0.9, 1.0].map(|share| gap(&answers(&held(share), 1.0).point, y)).to_vec();
        assert!((moved[0] - gap(&answers(&free, 1.0).point, y)).abs() < 1e-6 * moved[0], "{moved:?}");
        assert!(moved[1] < moved[0] && moved[2] < 1e-10, "{moved:?}");
        let from = Units::new("t", vec![1], vec![0.3]).unwrap();
        let held = held(1.0);
        let effect = held.ask(&world.data).effect(&from, &t).rho(1.0).answers().unwrap();
        assert!(effect.point.values().iter().all(|v| v.abs() < 1e-6));
    }

    #[test]
    fn classes_in_another_order_give_the_same_answers() {
        let world = Oscillator::default().simulate(200, 1).unwrap();
        let (base, classes, sharing) = (Base::Linear, Classes::Given(3), Sharing::Separate);
        let config = FitConfig { classes, base, sharing, ..FitConfig::default() };
        let fitted = Fit::new(config).run(&world.data).unwrap();
        let order = [2, 0, 1];
        let mut other = fitted.clone();
        let Mixture { members, scales, prior } = &mut networks(&mut other).mixture;
        for member in members.iter_mut() {
            member.nets = order.iter().map(|&k| member.nets[k].clone()).collect();
        }
        *scales = scales.reordered(&order);
        *prior = prior.reordered(&order);
        let t = Units::new("t", vec![1], vec![0.6]).unwrap();
        for rho in [0.0, 0.5, 1.0] {
            let [a, b] =
                [&fitted, &other].map(|model| model.ask(&world.data).under(&t).rho(rho).answers().unwrap());
            let gap = |a: &Units, b: &Units| {
                a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
            };
            assert!(gap(&a.point, &b.point) < 1e-5 && gap(&a.upper, &b.upper) < 1e-5);
            assert!(a.diagnoses.iter().zip(&b.diagnoses).all(|(a, b)| a.class == order[b.class]));
        }
    }
}
