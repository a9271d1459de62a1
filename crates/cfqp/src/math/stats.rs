//! Means, deviations and standard errors.

/// sum_i v_i / n; 0 for no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The position of the smallest value; the first of several, `None` for no values.
pub(crate) fn argmin(values: impl IntoIterator<Item = f64>) -> Option<usize> {
    let smallest = values.into_iter().enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
    smallest.map(|(i, _)| i)
}

/// The position of the largest value; the last of several, `None` for no values.
pub(crate) fn argmax<T: Into<f64>>(values: impl IntoIterator<Item = T>) -> Option<usize> {
    let values = values.into_iter().map(Into::into).enumerate();
    values.max_by(|a: &(usize, f64), b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}

/// log sum_i exp(x_i)
pub(crate) fn log_sum_exp_of(logs: &[f64]) -> f64 {
    let max = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    max + logs.iter().map(|log| (log - max).exp()).sum::<f64>().ln()
}

/// log sum_k exp(-nll_k)
pub(crate) fn log_sum_exp(nll: &[f64]) -> f64 {
    let top = nll.iter().copied().fold(f64::INFINITY, f64::min);
    nll.iter().map(|nll| (top - nll).exp()).sum::<f64>().ln() - top
}

/// The mean of the values that are not NaN, which stands for a missing value; 0 where all are missing.
pub(crate) fn mean_observed(values: impl Iterator<Item = f32>) -> f64 {
    let observed = values.filter(|value| !value.is_nan());
    let (n, sum) = observed.fold((0.0, 0.0), |(n, sum), value| (n + 1.0, sum + f64::from(value)));
    sum / f64::max(n, 1.0)
}

/// The sample standard deviation, sqrt(sum_i (v_i - mean)^2 / (n - 1)); 0 for fewer than two values.
pub(crate) fn standard_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    (squared_deviations(values, mean(values)) / (values.len() - 1) as f64).sqrt()
}

fn squared_deviations(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// A mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeanEstimate {
    pub mean: f64,
    pub standard_error: f64,
}

/// The mean of a_i - b_i over pairs, with standard error sqrt(sum_i (a_i - b_i - mean)^2) / n.
///
/// Scores of the same units under two models are compared by it: what both share cancels.
pub(crate) fn paired_difference(a: &[f64], b: &[f64]) -> MeanEstimate {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let (n, mean) = (differences.len().max(1) as f64, mean(&differences));
    MeanEstimate { mean, standard_error: (squared_deviations(&differences, mean) / n / n).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_values_is_the_smallest() {
        assert_eq!((argmin([3.0, 1.0, 1.0]), argmin([])), (Some(1), None));
    }

    #[test]
    fn the_last_of_equal_values_is_the_largest() {
        assert_eq!((argmax([3.0, 1.0, 3.0, 2.0]), argmax([0.5_f32, 0.2])), (Some(2), Some(0)));
        assert_eq!(argmax([0.0; 0]), None);
    }

    #[test]
    fn sums_of_exponentials_do_not_underflow() {
        assert!((log_sum_exp(&[1e4, 1e4]) - (2.0_f64.ln() - 1e4)).abs() < 1e-9);
    }

    #[test]
    fn means_of_nothing_are_zero() {
        assert_eq!((mean(&[]), mean(&[1.0, 2.0, 6.0])), (0.0, 3.0));
        assert_eq!(mean_observed([f32::NAN].into_iter()), 0.0);
        assert_eq!(mean_observed([1.0, f32::NAN, 3.0].into_iter()), 2.0);
    }

    #[test]
    fn a_sample_of_one_has_no_deviation() {
        assert_eq!((standard_deviation(&[]), standard_deviation(&[3.0])), (0.0, 0.0));
        assert!((standard_deviation(&[1.0, 3.0]) - 2.0_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn what_both_sides_share_cancels_in_a_paired_difference() {
        let (a, b) = ([10.0, 21.0, 30.0, 41.0], [9.0, 18.0, 29.0, 38.0]);
        assert_eq!(paired_difference(&a, &b), MeanEstimate { mean: 2.0, standard_error: 0.5 });
        assert_eq!(paired_difference(&a, &a), MeanEstimate { mean: 0.0, standard_error: 0.0 });
        assert_eq!(paired_difference(&[], &[]), MeanEstimate { mean: 0.0, standard_error: 0.0 });
    }
}
