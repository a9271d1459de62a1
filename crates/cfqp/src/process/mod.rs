//! Gaussian process regression: smooth functions of few of many columns.
//!
//! ```text
//! y = m + f(x) + e,   f ~ GP(0, k),   e ~ N(0, s)
//! k(x, x') = 1 + sum_c l_c x_c x'_c + a exp(-1/2 sum_c w_c (x_c - x'_c)^2)
//! ```
//!
//! The hyperparameters (one inverse square length w_c and one variance of the slope l_c per column, a and s) maximise the marginal
//! likelihood of a subset of the rows, with a prior that lets columns vanish. The posterior mean is that given all rows; of many
//! rows, that of a process whose values at some of them determine all others (subset of regressors).

mod fit;
mod likelihood;

pub(crate) use fit::{ProcessTask, fit_process};

use crate::math::simd::{dot, exp, with_simd};

/// Inputs are used up to this many standard deviations from their mean: beyond the data, predictions stay as they are.
const MAX_INPUT: f32 = 5.0;

/// The posterior mean of a Gaussian process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Process {
    columns: usize,
    /// The columns that matter, the square roots of their w, and their slopes.
    used: Vec<usize>,
    lengths: Vec<f32>,
    slopes: Vec<f32>,
    intercept: f32,
    /// The points that kernels are centred at, times the square roots of w, `[used columns, points]`, and their weights.
    points: Vec<f32>,
    weights: Vec<f32>,
}

impl Process {
    /// The prediction for one row.
    pub(crate) fn predict(&self, row: &[f32]) -> f64 {
        let mut linear = f64::from(self.intercept);
        let mut squares = vec![0.0_f32; self.weights.len()];
        with_simd(
            #[inline(always)]
            || {
                let points = self.points.chunks_exact(self.weights.len().max(1));
                for (((&column, length), slope), points) in
                    self.used.iter().zip(&self.lengths).zip(&self.slopes).zip(points)
                {
                    let value = clamped(row[column]);
                    linear += f64::from(slope * value);
                    let at = length * value;
                    squares
                        .iter_mut()
                        .zip(points)
                        .for_each(|(sum, point)| *sum += (point - at) * (point - at));
                }
                squares.iter_mut().for_each(|square| *square = exp(-0.5 * *square));
                linear + f64::from(dot(&squares, &self.weights))
            },
        )
    }

    /// All of it as numbers.
    pub(crate) fn to_array(&self) -> Vec<f32> {
        let used = self.used.iter().map(|&column| column as f32);
        let mut array = vec![self.used.len() as f32, self.intercept];
        array.extend(used);
        [array, self.lengths.clone(), self.slopes.clone(), self.weights.clone(), self.points.clone()].concat()
    }

    /// The process that [`to_array`](Self::to_array) gave for rows of `columns` columns; none if it is damaged.
    pub(crate) fn from_array(columns: usize, array: &[f32]) -> Option<Self> {
        let whole = |value: f32| (value >= 0.0 && value.fract() == 0.0).then_some(value as usize);
        let [count, intercept, numbers @ ..] = array else { return None };
        let count = whole(*count).filter(|&count| count <= columns)?;
        let points = numbers.len().checked_sub(3 * count)?;
        if !points.is_multiple_of(count + 1) {
            return None;
        }
        let (used, numbers) = numbers.split_at(count);
        let (lengths, numbers) = numbers.split_at(count);
        let (slopes, numbers) = numbers.split_at(count);
        let (weights, points) = numbers.split_at(points / (count + 1));
        let used: Vec<usize> = used.iter().map(|&column| whole(column)).collect::<Option<_>>()?;
        let sound =
            array.iter().all(|value| value.is_finite()) && used.iter().all(|&column| column < columns);
        sound.then(|| Self {
            columns,
            used,
            lengths: lengths.to_vec(),
            slopes: slopes.to_vec(),
            intercept: *intercept,
            points: points.to_vec(),
            weights: weights.to_vec(),
        })
    }

    /// The parts of the prediction, for other programs that compute it.
    pub(crate) fn parts(&self) -> ProcessParts<'_> {
        ProcessParts {
            used: &self.used,
            lengths: &self.lengths,
            slopes: &self.slopes,
            intercept: self.intercept,
            points: &self.points,
            weights: &self.weights,
            max_input: MAX_INPUT,
        }
    }
}

/// What a prediction consists of: `intercept + slopes x + weights exp(-|points - lengths x|^2 / 2)` for the used columns x, which are
/// within `max_input` of 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessParts<'a> {
    pub used: &'a [usize],
    pub lengths: &'a [f32],
    pub slopes: &'a [f32],
    pub intercept: f32,
    /// `[used columns, points]`
    pub points: &'a [f32],
    pub weights: &'a [f32],
    pub max_input: f32,
}

/// A missing input is at the mean.
#[inline(always)]
fn clamped(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(-MAX_INPUT, MAX_INPUT) }
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::stream;

    /// Rows of `columns` standard normal columns, of which two matter, with noise of standard deviation 0.1.
    fn smooth(rows: usize, columns: usize, seed: u64) -> (Vec<f32>, Vec<f64>, Vec<f64>) {
        let mut rng = stream(seed, &["smooth"]);
        let values: Vec<f32> = (0..rows * columns).map(|_| rng.sample(StandardNormal)).collect();
        let truth = |row: &[f32]| f64::from((1.5 * row[0]).sin() + 0.5 * row[0] * row[1] + 0.3 * row[1]);
        let means: Vec<f64> = values.chunks_exact(columns).map(truth).collect();
        let target = means.iter().map(|mean| mean + 0.1 * rng.sample::<f64, _>(StandardNormal)).collect();
        (values, means, target)
    }

    fn error(process: &Process, columns: usize) -> f64 {
        let (values, means, _) = smooth(500, columns, 2);
        let gaps = values.chunks_exact(columns).zip(&means).map(|(row, mean)| process.predict(row) - mean);
        gaps.map(|gap| gap * gap).sum::<f64>() / 500.0
    }

    fn fit(rows: usize, columns: usize) -> Process {
        let (values, _, target) = smooth(rows, columns, 1);
        let train: Vec<usize> = (0..rows).collect();
        let task = ProcessTask { values: &values, columns, target: &target, train: &train };
        fit_process(&task, &(0..columns).collect::<Vec<_>>(), &mut stream(1, &["process"])).unwrap()
    }

    #[test]
    fn a_smooth_function_of_few_of_many_columns_is_found() {
        let process = fit(300, 12);
        assert!(error(&process, 12) < 0.01, "{}", error(&process, 12));
        assert!(process.used.len() < 12, "columns that do not matter vanish: {:?}", process.used);
    }

    #[test]
    fn many_rows_are_used_though_few_are_points() {
        let process = fit(3000, 4);
        assert!(process.weights.len() < 1000 && error(&process, 4) < 0.002, "{}", error(&process, 4));
    }

    #[test]
    fn arrays_give_the_process_back_and_damage_is_found() {
        let process = fit(60, 3);
        let array = process.to_array();
        assert_eq!(Process::from_array(3, &array), Some(process));
        assert_eq!(Process::from_array(1, &array), None, "a column that does not exist");
        assert_eq!(Process::from_array(3, &array[..array.len() - 1]), None);
        assert_eq!(Process::from_array(3, &[]), None);
        let mut damaged = array;
        damaged[3] = f32::NAN;
        assert_eq!(Process::from_array(3, &damaged), None);
    }

    #[test]
    fn inputs_that_are_missing_or_far_away_have_predictions() {
        let process = fit(60, 2);
        assert_eq!(process.predict(&[f32::NAN, 0.0]), process.predict(&[0.0, 0.0]));
        assert_eq!(process.predict(&[1e9, 0.0]), process.predict(&[6.0, 0.0]));
    }
}
