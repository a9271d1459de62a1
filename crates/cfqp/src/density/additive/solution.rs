//! Solutions of the search for starts: P(class) of every subject.

use crate::density::jobs::{Finished, Job};
use crate::math::{best_assignment, dot};

/// Starts whose classes overlap more than this are one.
const MAX_OVERLAP: f64 = 0.9;

/// A solution: P(class) of every subject.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// `[subjects, classes]`
    pub responsibilities: Vec<f64>,
    pub evidence: f64,
    /// Of the curve of every class.
    pub smoothness: Vec<f64>,
}

/// The best solutions of a search; the setting is the number of classes and that of the subjects.
impl Job for Vec<Solution> {
    type Setting = (usize, usize);

    fn finished(&self) -> Finished {
        let numbers = |solution: &Solution| {
            let Solution { responsibilities, evidence, smoothness } = solution;
            [&[*evidence], &smoothness[..], responsibilities].concat()
        };
        Finished { arrays: Vec::new(), numbers: self.iter().flat_map(numbers).collect() }
    }

    fn restore(&(classes, subjects): &(usize, usize), kept: Finished) -> Option<Self> {
        let solution = |numbers: &[f64]| Solution {
            evidence: numbers[0],
            smoothness: numbers[1..=classes].to_vec(),
            responsibilities: numbers[1 + classes..].to_vec(),
        };
        let solutions = kept.numbers.chunks_exact(1 + classes + classes * subjects);
        let complete = solutions.len() > 0 && solutions.remainder().is_empty();
        complete.then(|| solutions.map(solution).collect())
    }
}

impl Solution {
    /// All subjects in one class.
    pub(crate) fn one_class(subjects: usize) -> Self {
        Self { responsibilities: vec![1.0; subjects], evidence: 0.0, smoothness: vec![1.0] }
    }

    /// The best solutions that differ from those before them, at most `keep`.
    pub(crate) fn best_distinct(mut solutions: Vec<Self>, classes: usize, keep: usize) -> Vec<Self> {
        solutions.sort_by(|a, b| b.evidence.total_cmp(&a.evidence));
        let mut distinct: Vec<Self> = Vec::new();
        for solution in solutions {
            let same = |other: &Self| {
                overlap(&other.responsibilities, &solution.responsibilities, classes) > MAX_OVERLAP
            };
            if !distinct.iter().any(same) {
                distinct.push(solution);
            }
            if distinct.len() == keep {
                break;
            }
        }
        distinct
    }
}

/// sum_i a_ik b_il of every pair of classes, `[classes, classes]`.
pub(crate) fn overlap_table(a: &[f64], b: &[f64], classes: usize) -> Vec<f64> {
    let mut table = vec![0.0; classes * classes];
    for (a, b) in a.chunks_exact(classes).zip(b.chunks_exact(classes)) {
        for (row, a) in table.chunks_exact_mut(classes).zip(a) {
            row.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
        }
    }
    table
}

/// How far two solutions have the same classes, from 0 to 1, whatever the order of the classes.
pub(super) fn overlap(a: &[f64], b: &[f64], classes: usize) -> f64 {
    let table = overlap_table(a, b, classes);
    let order = best_assignment(&table, classes);
    let matched: f64 = order.iter().enumerate().map(|(column, &row)| table[row * classes + column]).sum();
    matched / (dot(a, a) * dot(b, b)).sqrt().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_that_differ_in_the_order_of_classes_are_one() {
        let solution = |responsibilities: Vec<f64>, evidence| Solution {
            responsibilities,
            evidence,
            smoothness: vec![1.0; 2],
        };
        let solutions = vec![
            solution(vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0], 1.0),
            solution(vec![0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0], 3.0),
            solution(vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0], 2.0),
        ];
        let kept = Solution::best_distinct(solutions, 2, 3);
        assert_eq!(kept.iter().map(|solution| solution.evidence).collect::<Vec<_>>(), [3.0, 2.0]);
    }
}
