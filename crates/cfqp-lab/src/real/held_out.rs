//! One row of each subject held out, and a question about it to another row of the subject.

use rand::RngExt as _;

use cfqp::Dataset;
use cfqp::eval::Reference;
use cfqp::measure::stream;
use cfqp_cli::error::Result;

/// Rows to fit and ask about, and the rows held out as the truth.
pub(super) struct HeldOut {
    /// The rows that are not held out.
    pub train: Dataset,
    /// For each held-out row, the row of `train` that is asked about; it is of the same subject.
    pub asked: Vec<usize>,
    /// The treatments and outcomes of the held-out rows.
    pub truth: Reference,
}

impl HeldOut {
    /// Holds out one random row of every subject that has several.
    pub(super) fn draw(data: &Dataset, seed: u64) -> Result<Self> {
        let mut rng = stream(seed, &["real", "held-out rows"]);
        let (mut held, mut asked) = (Vec::new(), Vec::new());
        for mut rows in data.groups_of(&(0..data.len()).collect::<Vec<_>>()) {
            if rows.len() > 1 {
                held.push(rows.swap_remove(rng.random_range(0..rows.len())));
                asked.push(rows[rng.random_range(0..rows.len())]);
            }
        }
        let mut is_held = vec![false; data.len()];
        held.iter().for_each(|&row| is_held[row] = true);
        let kept: Vec<usize> = (0..data.len()).filter(|&row| !is_held[row]).collect();
        let place = |row: usize| kept.partition_point(|&other| other < row);
        let hidden = data.pick(&held)?;
        let truth = Reference {
            t_new: hidden.t().clone(),
            y_new: hidden.y().clone(),
            z: None,
            y_bayes: None,
            p_bayes: None,
        };
        let asked = asked.into_iter().map(place).collect();
        Ok(Self { train: data.pick(&kept)?, asked, truth })
    }
}

#[cfg(test)]
mod tests {
    use cfqp::Units;

    use super::*;

    #[test]
    fn a_held_out_row_is_not_fitted_and_is_asked_of_its_subject() {
        let numbers: Vec<f32> = (0..9_u8).map(f32::from).collect();
        let units = |name| Units::new(name, vec![1], numbers.clone()).unwrap();
        let data = Dataset::new(units("x"), units("t"), units("y")).unwrap();
        let subjects = vec![0, 1, 2, 0, 1, 0, 1, 3, 3];
        let data = data.with_groups(subjects.clone()).unwrap();
        let draw = |seed: u64| HeldOut::draw(&data, seed).unwrap();
        for seed in 1..20 {
            let HeldOut { train, asked, truth } = draw(seed);
            assert_eq!((train.len(), asked.len()), (6, 3), "subject 2 has a single row");
            for (&row, &y) in asked.iter().zip(truth.y_new.values()) {
                let shown = train.y().values()[row];
                assert!(!train.y().values().contains(&y) && shown != y);
                assert_eq!(subjects[shown as usize], subjects[y as usize]);
            }
        }
        assert!((2..20).any(|seed| draw(seed).truth != draw(1).truth), "the seed matters");
        assert_eq!(draw(3).asked, draw(3).asked);
    }
}
