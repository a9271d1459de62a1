//! Standard errors of sums of influences, and how much of a residual the units of a subject share.

use std::collections::BTreeMap;

/// sqrt(sum_g (sum_{i in g} influence_i)^2 G / (G - 1)) over subjects g; a unit without a subject is its own.
///
/// The influences are those of an estimate as a sum over units: influence_i is what unit i adds to its error.
pub(crate) fn clustered_error(influence: &[f64], groups: Option<&[u32]>) -> f64 {
    let sums: Vec<f64> = match groups {
        None => influence.to_vec(),
        Some(groups) => {
            let mut sums = BTreeMap::<u32, f64>::new();
            influence.iter().zip(groups).for_each(|(value, group)| *sums.entry(*group).or_default() += value);
            sums.into_values().collect()
        }
    };
    let count = sums.len() as f64;
    if count < 2.0 {
        return f64::INFINITY;
    }
    (sums.iter().map(|sum| sum * sum).sum::<f64>() * count / (count - 1.0)).sqrt()
}

/// The correlation of the residuals of two units of the same subject, from all such pairs, between 0 and 1; none if no
/// subject has two units or the residuals do not vary.
///
/// # Shapes
/// residuals `[n, d]`: elements are pooled; a NaN is a missing value
pub(crate) fn intraclass_correlation(residuals: &[f64], elements: usize, groups: &[u32]) -> Option<f64> {
    let mut by_subject = BTreeMap::<u32, Vec<usize>>::new();
    groups.iter().enumerate().for_each(|(i, group)| by_subject.entry(*group).or_default().push(i));
    let (mut product, mut pairs, mut square, mut count) = (0.0, 0.0, 0.0, 0.0);
    for rows in by_subject.values() {
        for j in 0..elements {
            let own = rows.iter().map(|row| residuals[row * elements + j]).filter(|value| !value.is_nan());
            let (n, sum, squares) =
                own.fold((0.0, 0.0, 0.0), |(n, sum, squares), r| (n + 1.0, sum + r, squares + r * r));
            // every subject with repeats counts by its pairs per unit, so that a large one does not dominate
            if n > 1.0 {
                product += (sum * sum - squares) / (n - 1.0);
                pairs += n;
            }
            square += squares;
            count += n;
        }
    }
    (pairs > 0.0 && square > 0.0).then(|| ((product / pairs) / (square / count)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_a_subject_count_as_one() {
        let influence = [0.1, 0.1, -0.1, -0.1];
        assert!((clustered_error(&influence, None) - (0.04_f64 * 4.0 / 3.0).sqrt()).abs() < 1e-12);
        assert!((clustered_error(&influence, Some(&[0, 0, 1, 1])) - (0.08_f64 * 2.0).sqrt()).abs() < 1e-12);
        assert_eq!(clustered_error(&[0.1], None), f64::INFINITY);
    }

    #[test]
    fn the_shared_part_of_residuals_is_found() {
        // both units of a subject: the same, opposite, unrelated
        let groups = [0, 0, 1, 1];
        assert_eq!(intraclass_correlation(&[1.0, 1.0, -1.0, -1.0], 1, &groups), Some(1.0));
        assert_eq!(intraclass_correlation(&[1.0, -1.0, -1.0, 1.0], 1, &groups), Some(0.0));
        assert_eq!(intraclass_correlation(&[1.0, 1.0, -1.0, 1.0], 1, &groups), Some(0.0));
        assert_eq!(intraclass_correlation(&[2.0, 1.0, -2.0, -1.0], 1, &groups), Some(0.8));
        assert_eq!(intraclass_correlation(&[1.0, 2.0], 1, &[0, 1]), None);
        assert_eq!(intraclass_correlation(&[1.0, f64::NAN], 1, &[0, 0]), None);
    }
}
