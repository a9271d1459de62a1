//! Errors of numbers: mean squares, effects, intervals.

use crate::{Error, Result, Units};

/// mean (truth - guess)^2 over units and elements, where the truth was observed.
pub fn mse(truth: &Units, guess: &Units) -> Result<f64> {
    check_alike(truth, guess, "guess")?;
    let squares = |i: usize| (f64::from(truth.values()[i]) - f64::from(guess.values()[i])).powi(2);
    let seen = observed(truth)?;
    Ok(seen.iter().map(|&i| squares(i)).sum::<f64>() / seen.len() as f64)
}

/// Precision in the estimation of heterogeneous effects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pehe {
    /// mean (effect - guess)^2
    pub mean_square: f64,
    /// Its root.
    pub root: f64,
}

/// sqrt(mean (effect - guess)^2) of effects y(t') - y(t''), over units and elements.
pub fn pehe(effect: &Units, guess: &Units) -> Result<Pehe> {
    let mean_square = mse(effect, guess)?;
    Ok(Pehe { mean_square, root: mean_square.sqrt() })
}

/// How often intervals hold the truth, and at what width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// The share of elements with low <= truth <= high.
    pub share: f64,
    /// mean (high - low)
    pub width: f64,
}

/// Coverage of the intervals [low, high], element by element, where the truth was observed.
pub fn coverage(truth: &Units, low: &Units, high: &Units) -> Result<Coverage> {
    check_alike(truth, low, "low")?;
    check_alike(truth, high, "high")?;
    let seen = observed(truth)?;
    let (mut inside, mut width) = (0, 0.0);
    for &i in &seen {
        let (low, high) = (low.values()[i], high.values()[i]);
        if low > high {
            let place = format!("interval, unit {}, element {}", i / truth.each(), i % truth.each());
            let hint = "give the lower ends first";
            return Err(Error::data(place, format!("it goes from {low} to {high}"), hint));
        }
        inside += usize::from((low..=high).contains(&truth.values()[i]));
        width += f64::from(high) - f64::from(low);
    }
    let count = seen.len() as f64;
    Ok(Coverage { share: inside as f64 / count, width: width / count })
}

/// Both have the same number of units, of the same shape.
pub(super) fn check_alike(truth: &Units, other: &Units, name: &str) -> Result<()> {
    if (truth.len(), truth.shape()) == (other.len(), other.shape()) {
        return Ok(());
    }
    let seen = |units: &Units| format!("{} units of shape {:?}", units.len(), units.shape());
    let problem = format!("there are {}, but of the truth {}", seen(other), seen(truth));
    Err(Error::data(name, problem, "compare answers with the truth of the same units"))
}

/// The elements that were observed, at least one.
fn observed(truth: &Units) -> Result<Vec<usize>> {
    let seen = |i: &usize| truth.mask().is_none_or(|mask| mask[*i]);
    let elements: Vec<usize> = (0..truth.values().len()).filter(seen).collect();
    if elements.is_empty() {
        return Err(Error::data("truth", "nothing of it was observed", "give at least one value"));
    }
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(values: &[f32]) -> Units {
        Units::new("a", vec![2], values.to_vec()).unwrap()
    }

    #[test]
    fn errors_are_means_over_what_was_observed() {
        let guess = units(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(mse(&units(&[1.0, 0.0, 3.0, 0.0]), &guess).unwrap(), 5.0);
        let mask = Some(vec![true, true, true, false]);
        let masked = Units::with_mask("a", vec![2], vec![1.0, 0.0, 3.0, 0.0], mask).unwrap();
        assert_eq!(mse(&masked, &guess).unwrap(), 4.0 / 3.0);
        let found = pehe(&units(&[1.0, 0.0, 3.0, 0.0]), &guess).unwrap();
        assert_eq!((found.mean_square, found.root), (5.0, 5.0_f64.sqrt()));
    }

    #[test]
    fn intervals_count_where_the_truth_was_observed() {
        let mask = Some(vec![true, true, true, false]);
        let truth = Units::with_mask("a", vec![2], vec![0.0, 1.0, 2.0, 9.0], mask).unwrap();
        let (low, high) = (units(&[0.0, 2.0, 1.0, 0.0]), units(&[1.0, 3.0, 5.0, 100.0]));
        let found = coverage(&truth, &low, &high).unwrap();
        assert_eq!(found, Coverage { share: 2.0 / 3.0, width: 2.0 });
        let error = coverage(&truth, &high, &low).unwrap_err();
        assert_eq!(error.to_string(), "interval, unit 0, element 0: it goes from 1 to 0");
    }

    #[test]
    fn different_shapes_and_nothing_observed_are_refused() {
        let error = mse(&units(&[0.0; 4]), &units(&[0.0; 2])).unwrap_err();
        let message = "guess: there are 1 units of shape [2], but of the truth 2 units of shape [2]";
        assert_eq!(error.to_string(), message);
        let hidden = Units::with_mask("a", vec![2], vec![0.0; 2], Some(vec![false; 2])).unwrap();
        assert!(mse(&hidden, &units(&[0.0; 2])).is_err());
        assert!(coverage(&units(&[]), &units(&[]), &units(&[])).is_err());
    }
}
