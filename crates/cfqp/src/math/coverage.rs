//! Coverage of intervals: how often they contain the truth, and at what width.

/// The coverage and the mean width of intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// The share of elements with lower <= truth <= upper.
    pub share: f64,
    /// mean (upper - lower)
    pub width: f64,
}

/// Coverage of the intervals [lower_i, upper_i] over the elements that were observed; none if there is no such element.
///
/// # Panics
/// If the slices are of different lengths.
pub(crate) fn coverage(
    truth: &[f32],
    lower: &[f32],
    upper: &[f32],
    observed: Option<&[bool]>,
) -> Option<Coverage> {
    assert!(lower.len() == truth.len() && upper.len() == truth.len(), "every element has an interval");
    assert!(observed.is_none_or(|observed| observed.len() == truth.len()), "a mask has an entry per element");
    let (mut n, mut inside, mut width) = (0_usize, 0_usize, 0.0);
    for i in (0..truth.len()).filter(|&i| observed.is_none_or(|observed| observed[i])) {
        n += 1;
        inside += usize::from((lower[i]..=upper[i]).contains(&truth[i]));
        width += f64::from(upper[i]) - f64::from(lower[i]);
    }
    (n > 0).then(|| Coverage { share: inside as f64 / n as f64, width: width / n as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_observed_elements_count_and_ends_are_inside() {
        let (truth, lower, upper) = ([0.0, 1.0, 5.0, 9.0], [0.0, 2.0, 1.0, 0.0], [1.0, 3.0, 5.0, 100.0]);
        let mask = [true, true, true, false];
        let found = coverage(&truth, &lower, &upper, Some(&mask));
        assert_eq!(found, Some(Coverage { share: 2.0 / 3.0, width: 2.0 }));
        assert_eq!(coverage(&truth, &lower, &upper, None).map(|found| found.share), Some(0.75));
        assert_eq!(coverage(&truth, &lower, &upper, Some(&[false; 4])), None);
        assert_eq!(coverage(&[], &[], &[], None), None);
    }

    proptest! {
        #[test]
        fn wider_intervals_cover_no_less(truth in prop::collection::vec(-3.0_f32..3.0, 1..40), half in 0.0_f32..3.0) {
            let at = |half: f32| {
                let (lower, upper) = (vec![-half; truth.len()], vec![half; truth.len()]);
                coverage(&truth, &lower, &upper, None).unwrap().share
            };
            prop_assert!(at(half) <= at(half + 0.5));
            prop_assert_eq!(at(3.0), 1.0);
        }
    }
}
