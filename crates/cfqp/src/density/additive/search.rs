//! The search for starts: EM from random responsibilities, and moves that exchange branches of curves.

use rand::RngExt as _;
use rand_distr::StandardNormal;

use super::{Additive, SMOOTHNESS, Solution};
use crate::Rng;

/// EM rounds of a start ...
const ROUNDS: usize = 28;
/// ... of which curves keep a random smoothness in the first ones.
const GIVEN_SMOOTHNESS_ROUNDS: usize = 10;
/// EM rounds of a solution that is brought to convergence.
const SETTLING_ROUNDS: usize = 40;
/// Quantiles of a treatment above which two classes may change places, or every value if there are at most this many; rounds of EM
/// after it and the least smoothness at first, the most such moves of a sweep, the most sweeps, and the evidence that a move must
/// gain.
const CUTS: [f64; 4] = [0.2, 0.4, 0.6, 0.8];
const MAX_VALUE_CUTS: usize = 12;
const MOVE_ROUNDS: usize = 15;
const MOVE_SMOOTHNESS: f64 = 100.0;
const MAX_MOVES: usize = 24;
const SWEEPS: usize = 3;
const MIN_GAIN: f64 = 0.5;

impl Additive {
    /// The best distinct solutions of `runs` random starts, best first.
    pub(crate) fn search(&self, classes: usize, runs: usize, keep: usize, rng: &mut Rng) -> Vec<Solution> {
        if classes == 1 {
            return vec![Solution::one_class(self.subject_rows.len())];
        }
        let run = |_| {
            let smoothness =
                (0..classes).map(|_| SMOOTHNESS[rng.random_range(0..SMOOTHNESS.len())]).collect();
            let start = self.random_start(classes, rng);
            self.em(&start, smoothness, ROUNDS, GIVEN_SMOOTHNESS_ROUNDS).0
        };
        Solution::best_distinct((0..runs).map(run).collect(), classes, keep)
    }

    /// The solution that EM converges to, from `start` and from what becomes of it if two classes change places above an
    /// amount: where curves cross, only the evidence of smooth curves tells which branch continues which.
    pub(crate) fn settle(&self, start: Solution) -> Solution {
        let mut best = self.em(&start.responsibilities, start.smoothness, SETTLING_ROUNDS, 0).0;
        let classes = best.smoothness.len();
        let pairs = (0..classes).flat_map(|a| (0..a).map(move |b| [a, b]));
        let cuts = self.cuts();
        let moves: Vec<([usize; 2], (usize, f64))> =
            pairs.flat_map(|pair| cuts.iter().map(move |&cut| (pair, cut))).collect();
        let step = moves.len().div_ceil(MAX_MOVES).max(1);
        for sweep in 0..SWEEPS {
            let before = best.evidence;
            for &(pair, cut) in moves.iter().skip(sweep % step).step_by(step) {
                let swapped = self.swapped(&best, pair, cut);
                // smooth curves at first, which do not bend back to where they were
                let smoothness = best.smoothness.iter().map(|own| own.max(MOVE_SMOOTHNESS)).collect();
                let found = self.em(&swapped, smoothness, MOVE_ROUNDS, MOVE_ROUNDS / 2).0;
                if found.evidence > best.evidence + MIN_GAIN {
                    best = self.em(&found.responsibilities, found.smoothness, MOVE_ROUNDS, 0).0;
                }
            }
            if best.evidence <= before {
                break;
            }
        }
        best
    }

    /// The places of treatments, each with amounts above which classes may change places.
    fn cuts(&self) -> Vec<(usize, f64)> {
        let of_treatment = |&column: &usize| {
            let mut amounts = self.treatments.columns[column].clone();
            amounts.sort_by(f64::total_cmp);
            let mut values = amounts.clone();
            values.dedup();
            let cuts = if values.len() <= MAX_VALUE_CUTS {
                values[..values.len() - 1].to_vec()
            } else {
                CUTS.iter().map(|share| amounts[(share * (amounts.len() - 1) as f64) as usize]).collect()
            };
            cuts.into_iter().map(move |cut| (column, cut)).collect::<Vec<_>>()
        };
        self.slopes.iter().flat_map(of_treatment).collect()
    }

    /// The responsibilities of a solution with two classes in each other's place for subjects with more than `cut` of the treatment
    /// at `column`.
    fn swapped(&self, solution: &Solution, [a, b]: [usize; 2], (column, cut): (usize, f64)) -> Vec<f64> {
        let mut responsibilities = solution.responsibilities.clone();
        let subjects = responsibilities.chunks_exact_mut(solution.smoothness.len());
        for (own, rows) in subjects.zip(&self.subject_rows) {
            let amounts = rows.iter().map(|&row| self.treatments.columns[column][row]);
            if amounts.sum::<f64>() > cut * rows.len() as f64 {
                own.swap(a, b);
            }
        }
        responsibilities
    }

    /// The first treatment of a row.
    fn amount(&self, row: usize) -> f64 {
        self.slopes.first().map_or(0.0, |&column| self.treatments.columns[column][row])
    }

    /// Subjects near random lines in (t, residual), or in random cells; each is seeded far from those before it.
    fn random_start(&self, classes: usize, rng: &mut Rng) -> Vec<f64> {
        let lines: bool = rng.random();
        let subjects = self.subject_rows.len();
        let mut nearest = vec![f64::INFINITY; subjects];
        let mut labels = vec![0; subjects];
        for k in 0..classes {
            let centre = self.seed(&nearest, rng);
            let slope = |_| if lines { rng.sample::<f64, _>(StandardNormal) } else { 0.0 };
            let slopes: Vec<f64> = (0..self.d).map(slope).collect();
            for (subject, rows) in self.subject_rows.iter().enumerate() {
                let of_row = |&row: &usize| self.distance(row, centre, &slopes, lines);
                let distance = rows.iter().map(of_row).sum::<f64>() / rows.len() as f64;
                if distance < nearest[subject] {
                    (nearest[subject], labels[subject]) = (distance, k);
                }
            }
        }
        let others = 0.2 / (classes as f64 - 1.0).max(1.0);
        let of_subject = |&label: &usize| (0..classes).map(move |k| if k == label { 0.8 } else { others });
        labels.iter().flat_map(of_subject).collect()
    }

    /// A row of a subject that is drawn with a probability proportional to its distance.
    fn seed(&self, nearest: &[f64], rng: &mut Rng) -> usize {
        let total: f64 = nearest.iter().sum();
        let mut subject = rng.random_range(0..nearest.len());
        if total.is_finite() && total > 0.0 {
            let mut left = rng.random::<f64>() * total;
            let drawn = nearest.iter().position(|distance| {
                left -= distance;
                left < 0.0
            });
            subject = drawn.unwrap_or(subject);
        }
        let rows = &self.subject_rows[subject];
        rows[rng.random_range(0..rows.len())]
    }

    /// The squared distance of a row from the line through `centre`, or from `centre` itself.
    fn distance(&self, row: usize, centre: usize, slopes: &[f64], lines: bool) -> f64 {
        let step = self.amount(row) - self.amount(centre);
        let of_element = |(j, slope): (usize, &f64)| {
            let gap = self.residuals[j][row] - self.residuals[j][centre];
            (gap / self.deviation[j] - slope * step).powi(2)
        };
        let along = if lines { 0.0 } else { step * step };
        slopes.iter().enumerate().map(of_element).sum::<f64>() + along
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::additive::AdditiveForm;
    use crate::density::additive::solution::overlap;
    use crate::density::basis::Basis;
    use crate::density::testing::lines;
    use crate::math::adjusted_rand_index;
    use crate::stream;

    fn form<'a>(x_cosines: &'a [usize], t_cosines: &'a [usize]) -> AdditiveForm<'a> {
        let basis = Basis { x_cosines, t_cosines, t_values: &[], product_columns: &[] };
        AdditiveForm {
            basis,
            interactions: false,
            class_interactions: false,
            alike: false,
            offsets: 0,
            own_curves: true,
        }
    }

    /// The most probable class of every subject.
    fn labels(solution: &Solution, classes: usize) -> Vec<usize> {
        let of_subject = |p: &[f64]| (0..classes).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap_or(0);
        solution.responsibilities.chunks_exact(classes).map(of_subject).collect()
    }

    #[test]
    fn two_crossing_lines_are_found() {
        let data = lines(&[1.0, -1.0], 300, 1, 0.15);
        let all: Vec<usize> = (0..300).collect();
        let search = Additive::new(&data.rows, &all, form(&[3], &[3]));
        let found = search.search(2, 16, 2, &mut stream(1, &["search"]));
        // near the crossing nobody can tell the classes apart
        let apart: Vec<usize> = (0..300).filter(|&i| data.rows.input(i)[1].abs() > 0.4).collect();
        let labels = labels(&found[0], 2);
        let of = |labels: &[usize]| apart.iter().map(|&i| labels[i]).collect::<Vec<_>>();
        let agreement = adjusted_rand_index(&of(&labels), &of(&data.classes));
        assert!(agreement > 0.9, "{agreement}");
        assert!(found.len() == 1 || found[0].evidence >= found[1].evidence, "best first");
    }

    #[test]
    fn branches_that_were_exchanged_are_put_back() {
        let data = lines(&[1.0, -1.0], 400, 1, 0.15);
        let all: Vec<usize> = (0..400).collect();
        let search = Additive::new(&data.rows, &all, form(&[3], &[6]));
        let truth: Vec<f64> = data
            .classes
            .iter()
            .flat_map(|&k| [f64::from(u8::from(k == 0)), f64::from(u8::from(k == 1))])
            .collect();
        let right =
            search.settle(Solution { responsibilities: truth, evidence: 0.0, smoothness: vec![100.0; 2] });
        let middle = search.cuts()[1];
        let exchanged =
            Solution { responsibilities: search.swapped(&right, [0, 1], middle), ..right.clone() };
        let settled = search.settle(exchanged);
        assert!(settled.evidence > right.evidence - 1.0, "{} {}", settled.evidence, right.evidence);
        assert!(overlap(&settled.responsibilities, &right.responsibilities, 2) > 0.95);
    }

    #[test]
    fn rows_of_one_subject_have_one_class() {
        let data = lines(&[1.0, -1.0], 60, 4, 0.3);
        let all: Vec<usize> = (0..60).collect();
        let search = Additive::new(&data.rows, &all, form(&[0], &[0]));
        let found = search.search(2, 16, 1, &mut stream(1, &["search"]));
        assert_eq!(found[0].responsibilities.len(), 2 * 60);
        assert!(adjusted_rand_index(&labels(&found[0], 2), &data.classes) > 0.85);
    }
}
