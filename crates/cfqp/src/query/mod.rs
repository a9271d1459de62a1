//! Counterfactual queries: this unit had x, got t, showed y; what would it have shown under t'?
//!
//! Abduction: the posterior P(k | x, t, y) over classes by Bayes' rule on the fitted mixture, and in each class the
//! unit's own noise u_k = (y - m_k(x, t)) / s_k(t). Action: set t'. Prediction: in each class
//!
//! ```text
//! m_k(x, t') + rho s_k(t') u_k,   variance (1 - rho^2) s_k(t')^2 + the members' own uncertainty
//! ```
//!
//! (the residual is not all noise: `abduct.rs` says how the model's own error is told from it),
//! and over classes the mixture of these by the posterior. rho says how much of the noise is the same in both
//! worlds: 1 is "everything else being equal", 0 draws it anew.
//!
//! What an interval promises is written in [`Calibration`](crate::Calibration); the point answer is the mean of
//! the mixture.

mod abduct;
mod answer;
mod average;
mod interval;
mod judge;
mod report;
mod tabulate;
mod told;

pub(crate) use abduct::{NEGLIGIBLE, Question, effects};
pub use answer::{Answers, Ask, Diagnosis};
pub use average::{AverageEffect, Averages};
pub use judge::{Grade, Verdict};
pub use report::{
    ClassSummary, CovariateMeans, Curve, Curves, Effects as ReportEffects, Evidence, Glance, Histogram,
    ModelSummary, OutcomeCurves, OutcomeEffects, OutcomeGlance, Report, ReportQuestion, ReportSpec,
    TreatmentGlance, UnitCurve, UnitSummary,
};
pub use tabulate::{Asked, Tabulation, repeat_over};
pub(crate) use told::Answering;

#[cfg(test)]
mod tests {
    use crate::em::Mixture;
    use crate::sim::Oscillator;
    use crate::{Ask, Base, Classes, FitConfig, Fitted, Resources, Sharing, Stillness, Units, fit};

    #[test]
    fn elements_taken_to_be_still_keep_what_they_showed_where_their_noise_is_kept() {
        let world = Oscillator::default().simulate(200, 1).unwrap();
        let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
        let free = fit(&world.data, None, &config, &Resources::default(), &()).unwrap();
        assert_eq!(free.header.calibration.still, None, "series are not looked at");
        let held = |share: f64| {
            let mut fitted = free.clone();
            fitted.header.calibration.still = Some(Stillness::example(share, 0.01, 1.0));
            fitted
        };
        let t = Units::new("t", vec![1], vec![0.6]).unwrap();
        let answers = |fitted: &Fitted, rho: f32| {
            let ask = Ask { rho, ..Ask::default() };
            fitted.query(&world.data, &t, &ask).unwrap()
        };
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
        let effect = held(1.0).effect(&world.data, &from, &t, &Ask::default()).unwrap();
        assert!(effect.point.values().iter().all(|v| v.abs() < 1e-6));
    }

    #[test]
    fn classes_in_another_order_give_the_same_answers() {
        let world = Oscillator::default().simulate(200, 1).unwrap();
        let (base, classes, sharing) = (Base::Linear, Classes::Given(3), Sharing::Separate);
        let config = FitConfig { classes, base, sharing, ..FitConfig::default() };
        let fitted = fit(&world.data, None, &config, &Resources::default(), &()).unwrap();
        let order = [2, 0, 1];
        let mut other = fitted.clone();
        let Mixture { members, scales, prior } = &mut other.mixture;
        for member in members.iter_mut() {
            member.nets = order.iter().map(|&k| member.nets[k].clone()).collect();
        }
        *scales = scales.reordered(&order);
        *prior = prior.reordered(&order);
        let t = Units::new("t", vec![1], vec![0.6]).unwrap();
        for rho in [0.0, 0.5, 1.0] {
            let ask = Ask { rho, ..Ask::default() };
            let (a, b) =
                (fitted.query(&world.data, &t, &ask).unwrap(), other.query(&world.data, &t, &ask).unwrap());
            let gap = |a: &Units, b: &Units| {
                a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
            };
            assert!(gap(&a.point, &b.point) < 1e-5 && gap(&a.upper, &b.upper) < 1e-5);
            assert!(a.diagnoses.iter().zip(&b.diagnoses).all(|(a, b)| a.class == order[b.class]));
        }
    }
}
