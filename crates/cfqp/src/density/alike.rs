//! Classes that respond alike to the treatment: slices of one distribution of noise rather than kinds of units.

use rand::RngExt as _;

use super::ensemble::Ensemble;
use super::heads::HeadLaw;
use super::member::Member;
use super::rows::Rows;
use super::views::Location;
use crate::stream;

/// Random units and pairs of treatments.
const QUESTIONS: usize = 300;
/// Two classes respond alike if their responses differ by less than this, in standard deviations of the noise (root mean
/// square).
const MAX_DIFFERENCE: f64 = 0.35;

/// The standard deviation of a logistic law, in which responses of outcomes that are not numbers are measured.
const LOGISTIC_DEVIATION: f64 = 1.8;

impl Ensemble {
    /// Groups of at least two classes that respond alike: a unit's answer at rho = 1 is the same whichever of them it
    /// belongs to.
    pub(crate) fn alike_classes(&self, rows: &Rows, d_t: usize, seed: u64) -> Vec<Vec<usize>> {
        let classes = self.classes();
        let responses = self.responses(rows, d_t, seed);
        let alike = |k: usize, l: usize| {
            let squares: f64 = responses.iter().map(|response| (response[k] - response[l]).powi(2)).sum();
            (squares / responses.len().max(1) as f64).sqrt() < MAX_DIFFERENCE
        };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for k in 0..classes {
            match groups.iter_mut().find(|group| group.iter().all(|&l| alike(k, l))) {
                Some(group) => group.push(k),
                None => groups.push(vec![k]),
            }
        }
        groups.retain(|group| group.len() > 1);
        groups
    }

    /// m_k(x, t') - m_k(x, t) of every class, in standard deviations of the noise of all classes, for random units and
    /// treatments; the mean over the members with the chosen number of classes.
    fn responses(&self, rows: &Rows, d_t: usize, seed: u64) -> Vec<Vec<f64>> {
        let (classes, d) = (self.classes(), rows.d);
        let mut rng = stream(seed, &["density", "alike"]);
        let mut members: Vec<_> = self.first_group().iter().map(Member::evaluator).collect();
        let share = 1.0 / members.len() as f64;
        let mut responses = vec![vec![0.0; classes]; QUESTIONS * d];
        for question in responses.chunks_exact_mut(d) {
            let mut draw = || rows.input(rng.random_range(0..rows.len())).split_at(rows.width - d_t);
            let ((x, _), (_, t), (_, t_new)) = (draw(), draw(), draw());
            for member in &mut members {
                let (from, to) = (Location::new(member, x, t, None), Location::new(member, x, t_new, None));
                for (j, response) in question.iter_mut().enumerate() {
                    let heads = (0..classes).map(|k| k * d + j);
                    let deviation = match member.member.form.outcome_law(j) {
                        HeadLaw::Number => from.pooled_scale(heads.clone()),
                        _ => LOGISTIC_DEVIATION,
                    };
                    for (sum, head) in response.iter_mut().zip(heads) {
                        *sum += share * from.response(&to, head) / deviation;
                    }
                }
            }
        }
        responses
    }
}

#[cfg(test)]
mod tests {
    use crate::density::testing::{ensemble, lines, members, problem};
    use crate::runtime::Pool;

    /// The groups found among classes with these slopes, of which the second half is shifted by `shift`.
    fn groups(slopes: &[f32], shift: f32) -> Vec<Vec<usize>> {
        let mut data = lines(slopes, 300, 1, 0.2);
        for (y, class) in data.rows.outcomes.iter_mut().zip(&data.classes) {
            *y += if *class == 1 { shift } else { 0.0 };
        }
        let pool = Pool::new(2).unwrap();
        ensemble(members(&problem(&data.rows, &pool), 2, 2)).alike_classes(&data.rows, 1, 1)
    }

    #[test]
    fn classes_that_differ_by_a_shift_are_alike() {
        assert_eq!(groups(&[0.5, 0.5], 3.0), [[0, 1]]);
    }

    #[test]
    fn classes_that_respond_differently_are_not() {
        assert!(groups(&[1.0, -1.0], 0.0).is_empty());
    }
}
