use rand::RngExt as _;

use super::*;
use crate::runtime::Pool;
use crate::{Rng, stream};

const CONFIG: BoostConfig = BoostConfig {
    leaves: 8,
    rounds: 100,
    learning_rate: 0.2,
    min_rows: 1.0,
    l2: 0.0,
    column_share: 1.0,
    patience: None,
};

fn uniform(n: usize, rng: &mut Rng) -> Vec<f32> {
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

fn fit(values: &[f32], columns: usize, target: &[f64], config: &BoostConfig) -> Boosted {
    let binned = BinnedRows::new(values, columns);
    let train: Vec<usize> = (0..target.len()).collect();
    let task = BoostTask { binned: &binned, train: &train, target, weights: None, held_out: &[] };
    Boosted::fit(&task, config, &mut stream(1, &["trees"]))
}

/// y = sin(3 a) + b c + noise with five columns, of which the last is missing now and then.
fn smooth(n: usize) -> (Vec<f32>, Vec<f64>) {
    let rng = &mut stream(2, &["smooth"]);
    let mut values = uniform(5 * n, rng);
    let target = values.chunks_exact(5).map(|row| {
        let noise: f64 = rng.random_range(-0.5..0.5);
        f64::from((3.0 * row[0]).sin() + row[1] * row[2]) + noise
    });
    let target = target.collect();
    values.iter_mut().skip(4).step_by(15).for_each(|value| *value = f32::NAN);
    (values, target)
}

#[test]
fn a_step_is_learned_where_it_is() {
    let values: Vec<f32> = (0..200).map(|i| i as f32 / 200.0).collect();
    let target: Vec<f64> = values.iter().map(|x| if *x < 0.3 { -1.0 } else { 2.0 }).collect();
    let fitted = fit(&values, 1, &target, &CONFIG);
    assert!((fitted.predict(&[0.29]) + 1.0).abs() < 1e-3 && (fitted.predict(&[0.305]) - 2.0).abs() < 1e-3);
    let mut out = vec![0.0; 200];
    fitted.predict_into(&values, &mut out);
    assert!(out.iter().zip(&target).all(|(a, b)| (a - b).abs() < 1e-3), "{out:?}");
}

#[test]
fn missing_values_go_to_the_better_side() {
    // missing is like small in the first column, and tells everything in the second
    let first = |i: usize| [f32::NAN, -1.0, 1.0][i % 3];
    let second = |i: usize| if i.is_multiple_of(3) { f32::NAN } else { (i % 7) as f32 };
    let small: Vec<f64> = (0..90).map(|i| f64::from(u8::from(i % 3 < 2))).collect();
    let fitted = fit(&(0..90).map(first).collect::<Vec<f32>>(), 1, &small, &CONFIG);
    assert!((fitted.predict(&[f32::NAN]) - 1.0).abs() < 1e-3 && fitted.predict(&[1.0]).abs() < 1e-3);
    let missing: Vec<f64> = (0..90).map(|i| f64::from(u8::from(i % 3 == 0))).collect();
    let fitted = fit(&(0..90).map(second).collect::<Vec<f32>>(), 1, &missing, &CONFIG);
    assert!((fitted.predict(&[f32::NAN]) - 1.0).abs() < 1e-3 && fitted.predict(&[3.0]).abs() < 1e-3);
}

#[test]
fn weights_count_rows() {
    let rng = &mut stream(3, &["weights"]);
    let values: Vec<f32> = (0..120).map(|_| rng.random_range(0..20) as f32).collect();
    let target: Vec<f64> = (0..60).map(|_| rng.random_range(-1.0..1.0)).collect();
    let weights: Vec<f64> = (0..60).map(|i| f64::from(1 + i % 3)).collect();
    let copies: Vec<usize> = (0..60).flat_map(|i| std::iter::repeat_n(i, 1 + i % 3)).collect();
    let binned = BinnedRows::new(&values, 2);
    let config = BoostConfig { min_rows: 4.0, l2: 1.0, ..CONFIG };
    let fit = |binned: &BinnedRows, target: &[f64], weights: Option<&[f64]>| {
        let train: Vec<usize> = (0..target.len()).collect();
        let task = BoostTask { binned, train: &train, target, weights, held_out: &[] };
        Boosted::fit(&task, &config, &mut stream(1, &[]))
    };
    let weighted = fit(&binned, &target, Some(&weights));
    let rows: Vec<f32> = copies.iter().flat_map(|&i| values[2 * i..][..2].to_vec()).collect();
    let repeated_target: Vec<f64> = copies.iter().map(|&i| target[i]).collect();
    let repeated = fit(&BinnedRows::new(&rows, 2), &repeated_target, None);
    for row in values.chunks_exact(2) {
        assert!((weighted.predict(row) - repeated.predict(row)).abs() < 1e-6, "{row:?}");
    }
}

#[test]
fn fitting_stops_where_held_out_errors_rise() {
    let (values, target) = smooth(400);
    let binned = BinnedRows::new(&values, 5);
    let (train, held_out): (Vec<usize>, Vec<usize>) = (0..400).partition(|row| row % 4 > 0);
    let task =
        BoostTask { binned: &binned, train: &train, target: &target, weights: None, held_out: &held_out };
    let config = BoostConfig { rounds: 1000, patience: Some(10), ..CONFIG };
    let (all, trace) = Boosted::fit_all(&task, &config, &mut stream(1, &[]));
    let best = Boosted::fit(&task, &config, &mut stream(1, &[]));
    assert!(all.trees() < 200 && all.trees() == best.trees() + 10, "{} {}", all.trees(), best.trees());
    let rows: Vec<f32> = held_out.iter().flat_map(|&row| values[row * 5..][..5].to_vec()).collect();
    let mut out = vec![0.0; held_out.len()];
    best.predict_into(&rows, &mut out);
    let error = held_out.iter().zip(&out).map(|(&row, out)| (target[row] - out).powi(2)).sum::<f64>()
        / held_out.len() as f64;
    assert!((error - trace.held_out_errors[best.trees()]).abs() < 1e-12, "codes and values agree");
    assert!(trace.gains[0] > trace.gains[3] && trace.gains[1] > trace.gains[4], "{:?}", trace.gains);
}

#[test]
fn cross_fits_are_equal_for_any_number_of_threads() {
    let (values, mut target) = smooth(600);
    target[7] = f64::NAN;
    let binned = BinnedRows::new(&values, 5);
    let folds: Vec<usize> = (0..600).map(|row| row % 5).collect();
    let task = CrossFitTask {
        values: &values,
        binned: &binned,
        folds: &folds,
        target: &target,
        weights: None,
        seed: 4,
    };
    let configs = [31, 8].map(|leaves| {
        BoostConfig { column_share: 0.6, ..BoostConfig::for_table(600, 5) }.with_leaves(leaves)
    });
    let [one, two] = [1, 2].map(|threads| cross_fit(&task, &configs, &Pool::new(threads).unwrap()));
    for (one, two) in one.iter().zip(&two) {
        assert_eq!(one.models, two.models);
        assert_eq!(one.out_of_fold, two.out_of_fold);
        // the variance of the noise is 1/12
        let known: Vec<usize> = (0..target.len()).filter(|&row| target[row].is_finite()).collect();
        let squares = known.iter().map(|&row| (target[row] - one.out_of_fold[row]).powi(2));
        let mse = squares.sum::<f64>() / known.len() as f64;
        assert!((0.08..0.15).contains(&mse), "{mse}");
        let row = &values[35..40];
        assert_eq!(one.out_of_fold[7], one.models[2].predict(row), "a row without a target is predicted");
    }
}

#[test]
fn constants_and_single_rows_are_fitted() {
    let constant = fit(&[1.0, 2.0, 3.0, 4.0], 1, &[5.0; 4], &CONFIG);
    assert_eq!((constant.predict(&[9.0]), constant.trees()), (5.0, 0));
    assert_eq!(fit(&[1.0], 1, &[3.0], &CONFIG).predict(&[f32::NAN]), 3.0);
    assert_eq!(fit(&[], 1, &[], &CONFIG).predict(&[1.0]), 0.0);
    let without_columns = fit(&[], 0, &[], &CONFIG);
    assert!(without_columns.is_sound(0));
}

#[test]
fn a_stored_model_predicts_the_same_and_a_damaged_one_is_refused() {
    let (values, target) = smooth(300);
    let fitted = fit(&values, 5, &target, &CONFIG);
    let text = serde_json::to_string(&fitted).unwrap();
    let read: Boosted = serde_json::from_str(&text).unwrap();
    assert_eq!(read, fitted);
    assert!(read.is_sound(5) && !read.is_sound(4));
    let damaged = |key: &str, change: &dyn Fn(&mut Vec<serde_json::Value>)| {
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        change(value[key].as_array_mut().unwrap());
        !serde_json::from_value::<Boosted>(value).is_ok_and(|model| model.is_sound(5))
    };
    assert!(damaged("left", &|left| left[2] = 1.into()), "a child before its parent");
    assert!(damaged("left", &|left| left[0] = 1_000_000.into()), "a child out of range");
    assert!(damaged("left", &|left| left[0] = 14.into()), "a right child out of range");
    assert!(damaged("column", &|column| column[0] = 5.into()), "a column out of range");
    assert!(damaged("value", &|value| value[3] = 1e300.into()), "a value that is not finite");
    assert!(damaged("value", &|value| value.truncate(9)), "a short array");
    assert!(damaged("starts", &|starts| starts[1] = starts[0].clone()), "an empty tree");
    assert!(damaged("starts", &|starts| starts[0] = 1.into()), "nodes before the first tree");
    assert!(damaged("starts", &|starts| starts.clear()), "nodes of no tree");
}
