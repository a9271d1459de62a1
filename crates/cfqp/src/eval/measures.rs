//! Errors of answers: mean squared errors, effects, intervals.

use crate::data::{OutcomeKind, Units};
use crate::math::{Coverage, mean};
use crate::{Error, Result};

/// mean (truth - answer)^2 over units and elements, where the truth was observed.
pub fn mse(truth: &Units, answer: &Units) -> Result<f64> {
    check_same_shape(truth, answer, "answer")?;
    let square = |i: usize| (f64::from(truth.values()[i]) - f64::from(answer.values()[i])).powi(2);
    let observed = |i: &usize| truth.mask().is_none_or(|mask| mask[*i]);
    let squares: Vec<f64> = (0..truth.values().len()).filter(observed).map(square).collect();
    if squares.is_empty() {
        return Err(nothing_observed());
    }
    Ok(mean(&squares))
}

/// Probabilities are clipped to the range from this to 1 minus this before their logarithm is taken.
const MIN_PROBABILITY: f64 = 0.001;

/// Mean -log of the probabilities that `answer` gives to the true yes/no outcomes and levels of categories, clipped to
/// [0.001, 0.999]; a category counts once. None if no element is of such a kind.
///
/// ```
/// use cfqp::Units;
/// use cfqp::data::OutcomeKind;
/// use cfqp::eval::log_loss;
///
/// let truth = Units::new("y", vec![1], vec![1.0, 0.0])?;
/// let answer = Units::new("p", vec![1], vec![0.8, 0.5])?;
/// let loss = log_loss(&truth, &answer, &[OutcomeKind::YesNo])?.unwrap();
/// assert!((loss + 0.5 * (0.8_f64.ln() + 0.5_f64.ln())).abs() < 1e-6);
/// # Ok::<(), cfqp::Error>(())
/// ```
pub fn log_loss(truth: &Units, answer: &Units, kinds: &[OutcomeKind]) -> Result<Option<f64>> {
    check_same_shape(truth, answer, "answer")?;
    let elements = truth.elements();
    let loss = |i: usize| {
        let (y, p) = (truth.values()[i], f64::from(answer.values()[i]));
        match kinds.get(i % elements) {
            Some(OutcomeKind::YesNo) => Some(if y > 0.5 { negative_log(p) } else { negative_log(1.0 - p) }),
            Some(OutcomeKind::Level(_)) if y > 0.5 => Some(negative_log(p)),
            _ => None,
        }
    };
    let observed = |i: &usize| truth.mask().is_none_or(|mask| mask[*i]);
    let losses: Vec<f64> = (0..truth.values().len()).filter(observed).filter_map(loss).collect();
    Ok((!losses.is_empty()).then(|| mean(&losses)))
}

/// Mean -log of probabilities, clipped.
pub(super) fn mean_log_loss(probabilities: &[f32]) -> f64 {
    mean(&probabilities.iter().map(|&p| negative_log(f64::from(p))).collect::<Vec<_>>())
}

fn negative_log(p: f64) -> f64 {
    -p.clamp(MIN_PROBABILITY, 1.0 - MIN_PROBABILITY).ln()
}

/// The variance of all observed elements around their mean.
pub(super) fn variance(units: &Units) -> f64 {
    let observed = |i: &usize| units.mask().is_none_or(|mask| mask[*i]);
    let values = (0..units.values().len()).filter(observed).map(|i| f64::from(units.values()[i]));
    let values: Vec<f64> = values.collect();
    let centre = mean(&values);
    mean(&values.iter().map(|value| (value - centre).powi(2)).collect::<Vec<_>>())
}

/// Precision in the estimation of heterogeneous effects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pehe {
    /// mean (effect - estimate)^2
    pub mean_square: f64,
    /// Its square root.
    pub root: f64,
}

/// sqrt(mean (effect - estimate)^2) of effects y(t') - y(t''), over units and elements.
pub fn pehe(effect: &Units, estimate: &Units) -> Result<Pehe> {
    let mean_square = mse(effect, estimate)?;
    Ok(Pehe { mean_square, root: mean_square.sqrt() })
}

/// Coverage of the intervals [lower, upper], element by element, where the truth was observed.
pub fn coverage(truth: &Units, lower: &Units, upper: &Units) -> Result<Coverage> {
    check_same_shape(truth, lower, "lower")?;
    check_same_shape(truth, upper, "upper")?;
    let (low, high) = (lower.values(), upper.values());
    if let Some(i) = (0..low.len()).find(|&i| low[i] > high[i]) {
        let place = format!("interval, unit {}, element {}", i / truth.elements(), i % truth.elements());
        let problem = format!("it goes from {} to {}", low[i], high[i]);
        return Err(Error::data(place, problem, "give the lower ends first"));
    }
    crate::math::coverage(truth.values(), low, high, truth.mask()).ok_or_else(nothing_observed)
}

/// Checks that both have the same number of units, of the same shape.
pub(super) fn check_same_shape(truth: &Units, other: &Units, name: &str) -> Result<()> {
    if (truth.len(), truth.shape()) == (other.len(), other.shape()) {
        return Ok(());
    }
    let describe = |units: &Units| format!("{} units of shape {:?}", units.len(), units.shape());
    let problem = format!("there are {}, but the truth has {}", describe(other), describe(truth));
    Err(Error::data(name, problem, "compare answers with the truth of the same units"))
}

fn nothing_observed() -> Error {
    Error::data("truth", "no value was observed", "give at least one value")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(values: &[f32]) -> Units {
        Units::new("a", vec![2], values.to_vec()).unwrap()
    }

    #[test]
    fn errors_are_means_over_observed_elements() {
        let answer = units(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(mse(&units(&[1.0, 0.0, 3.0, 0.0]), &answer).unwrap(), 5.0);
        let mask = Some(vec![true, true, true, false]);
        let masked = Units::with_mask("a", vec![2], vec![1.0, 0.0, 3.0, 0.0], mask).unwrap();
        assert_eq!(mse(&masked, &answer).unwrap(), 4.0 / 3.0);
        let found = pehe(&units(&[1.0, 0.0, 3.0, 0.0]), &answer).unwrap();
        assert_eq!((found.mean_square, found.root), (5.0, 5.0_f64.sqrt()));
    }

    #[test]
    fn intervals_count_only_where_the_truth_was_observed() {
        let mask = Some(vec![true, true, true, false]);
        let truth = Units::with_mask("a", vec![2], vec![0.0, 1.0, 2.0, 9.0], mask).unwrap();
        let (low, high) = (units(&[0.0, 2.0, 1.0, 0.0]), units(&[1.0, 3.0, 5.0, 100.0]));
        let found = coverage(&truth, &low, &high).unwrap();
        assert_eq!(found, Coverage { share: 2.0 / 3.0, width: 2.0 });
        let error = coverage(&truth, &high, &low).unwrap_err();
        assert_eq!(error.to_string(), "interval, unit 0, element 0: it goes from 1 to 0");
    }

    #[test]
    fn a_category_counts_once_and_probabilities_are_clipped() {
        let level = OutcomeKind::Level(0);
        let truth = Units::new("y", vec![4], vec![0.0, 1.0, 0.0, 7.0, 1.0, 0.0, 0.0, 2.0]).unwrap();
        let answer = Units::new("p", vec![4], vec![0.3, 0.5, 0.2, 6.0, 0.0, 0.9, 0.1, 2.0]).unwrap();
        let kinds = [level, level, level, OutcomeKind::Number];
        let found = log_loss(&truth, &answer, &kinds).unwrap().unwrap();
        assert!((found + 0.5 * (0.5_f64.ln() + 0.001_f64.ln())).abs() < 1e-6, "{found}");
        assert_eq!(log_loss(&truth, &answer, &[OutcomeKind::Number; 4]).unwrap(), None);
        assert!(log_loss(&truth, &units(&[0.0; 4]), &kinds).is_err());
    }

    #[test]
    fn different_shapes_and_a_truth_without_observations_are_refused() {
        let error = mse(&units(&[0.0; 4]), &units(&[0.0; 2])).unwrap_err();
        let message = "answer: there are 1 units of shape [2], but the truth has 2 units of shape [2]";
        assert_eq!(error.to_string(), message);
        let hidden = Units::with_mask("a", vec![2], vec![0.0; 2], Some(vec![false; 2])).unwrap();
        assert!(mse(&hidden, &units(&[0.0; 2])).is_err());
        assert!(coverage(&units(&[]), &units(&[]), &units(&[])).is_err());
    }
}
