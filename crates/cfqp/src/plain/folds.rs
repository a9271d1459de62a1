//! Folds of units that keep the units of a subject together.

use rand::seq::SliceRandom as _;

use crate::Rng;

/// The fold of every unit: subjects are dealt out to `count` folds in random order.
pub(super) fn assign_folds(n: usize, groups: Option<&[u32]>, count: usize, rng: &mut Rng) -> Vec<usize> {
    let subject = |i: usize| groups.map_or(i, |groups| groups[i] as usize);
    let subjects = (0..n).map(subject).max().map_or(0, |max| max + 1);
    let mut order: Vec<usize> = (0..subjects).collect();
    order.shuffle(rng);
    let mut fold = vec![0; subjects];
    order.iter().enumerate().for_each(|(i, &subject)| fold[subject] = i % count);
    (0..n).map(|i| fold[subject(i)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;

    #[test]
    fn folds_are_of_equal_size_and_keep_subjects_together() {
        let rng = &mut stream(1, &["folds"]);
        let folds = assign_folds(103, None, 5, rng);
        let sizes: Vec<usize> = (0..5).map(|f| folds.iter().filter(|fold| **fold == f).count()).collect();
        assert!(sizes.iter().all(|size| (20..=21).contains(size)), "{sizes:?}");
        let groups: Vec<u32> = (0..60).map(|i| i % 12).collect();
        let folds = assign_folds(60, Some(&groups), 5, rng);
        assert!((0..48).all(|i| folds[i] == folds[i + 12]));
    }
}
