use super::*;
use crate::math::isa::testing::with_each_isa;
use crate::stream;
use proptest::prelude::*;
use rand_distr::{Distribution, StandardNormal};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../tests/golden/cluster.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    let data = if value.is_array() { value } else { &value["data"] };
    data.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn f32s(value: &Value) -> Vec<f32> {
    numbers(value).into_iter().map(|number| number as f32).collect()
}

fn labels(value: &Value) -> Vec<usize> {
    numbers(value).into_iter().map(|label| label as usize).collect()
}

fn steps(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

#[track_caller]
fn assert_close(seen: &[f32], wanted: &Value) {
    let wanted = numbers(wanted);
    assert_eq!(seen.len(), wanted.len());
    for (&seen, wanted) in seen.iter().zip(wanted) {
        assert!((f64::from(seen) - wanted).abs() < 1e-5, "{seen} {wanted}");
    }
}

/// `groups` Gaussian clusters around random centers.
fn clouds(seed: u64, n: usize, width: usize, groups: usize, spread: f32) -> Vec<f32> {
    let mut rng = stream(seed, &["clouds"]);
    let mut normal = || -> f32 { StandardNormal.sample(&mut rng) };
    let middles: Vec<f32> = (0..groups * width).map(|_| spread * normal()).collect();
    (0..n * width).map(|i| middles[i / width % groups * width + i % width] + normal()).collect()
}

#[test]
fn k_means_steps_agree_with_scikit_learn() {
    let golden = golden();
    let data = f32s(&golden["data"]);
    let rows = Rows::new(&data, 6).unwrap();
    for run in golden["kmeans"].as_array().unwrap() {
        let settings = KMeans { max_iterations: steps(&run["max_iter"]), tolerance: 0.0, ..KMeans::new(3) };
        let found = settings.fit_from(&rows, f32s(&golden["init"])).unwrap();
        assert_eq!(found.iterations, steps(&run["n_iter"]));
        assert_eq!(found.labels, labels(&run["labels"]));
        assert_close(&found.centers, &run["centers"]);
        assert!((found.inertia / run["inertia"].as_f64().unwrap() - 1.0).abs() < 1e-6);
        assert_eq!(found.assign(&rows), found.labels);
    }
}

#[test]
fn mixture_steps_agree_with_scikit_learn() {
    let golden = golden();
    let data = f32s(&golden["data"]);
    let rows = Rows::new(&data, 6).unwrap();
    for run in golden["gmm"].as_array().unwrap() {
        let settings = GaussianMixture {
            max_iterations: steps(&run["max_iter"]),
            tolerance: 1e-6,
            ..GaussianMixture::new(3)
        };
        let means = f32s(&golden["init"]);
        let found = settings.fit_from(&rows, vec![1.0 / 3.0; 3], means, vec![1.0; 18]).unwrap();
        assert_eq!(found.iterations, steps(&run["n_iter"]));
        assert_eq!(found.labels, labels(&run["labels"]));
        assert_close(&found.means, &run["means"]);
        assert_close(&found.variances, &run["covariances"]);
        let weights: Vec<f32> = found.weights.iter().map(|&weight| weight as f32).collect();
        assert_close(&weights, &run["weights"]);
        assert!((found.log_likelihood - run["mean_loglik_after"].as_f64().unwrap()).abs() < 1e-5);
        assert_eq!(found.assign(&rows), found.labels);
    }
}

#[test]
fn both_find_separate_clusters_on_any_number_of_threads() {
    let data = clouds(3, 3000, 40, 5, 2.0);
    let rows = Rows::new(&data, 40).unwrap();
    let fit = || {
        let k_means = KMeans::new(5).fit(&rows, &mut stream(1, &["a"])).unwrap();
        let mixture = GaussianMixture::new(5).fit(&rows, &mut stream(1, &["a"])).unwrap();
        (k_means, mixture)
    };
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let (one, three) = (pool(1).install(fit), pool(3).install(fit));
    assert_eq!(one, three);
    for labels in [one.0.labels, one.1.labels] {
        assert!((5..labels.len()).all(|i| labels[i] == labels[i - 5]));
    }
}

#[test]
fn each_instruction_set_gives_the_same_bits() {
    let data = clouds(3, 700, 43, 5, 1.0);
    let rows = Rows::new(&data, 43).unwrap();
    let results = with_each_isa(2, || {
        let k_means = KMeans::new(5).fit(&rows, &mut stream(1, &["a"])).unwrap();
        (k_means, GaussianMixture::new(5).fit(&rows, &mut stream(1, &["a"])).unwrap())
    });
    assert!(results.iter().all(|(_, result)| *result == results[0].1));
}

#[test]
fn restarts_differ_and_the_criterion_selects() {
    let data = clouds(8, 400, 4, 12, 0.5);
    let rows = Rows::new(&data, 4).unwrap();
    let fit = |restarts, choice| {
        let settings = KMeans { restarts, choice, ..KMeans::new(12) };
        settings.fit(&rows, &mut stream(5, &["b"])).unwrap()
    };
    let (one, many) = (fit(1, Choice::BestFit), fit(30, Choice::BestFit));
    assert!(many.inertia < one.inertia);
    let even = fit(30, Choice::MostEven);
    assert!(unevenness(&even.labels) <= unevenness(&many.labels));
    assert!(even.inertia >= many.inertia);
}

#[test]
fn an_empty_cluster_gets_the_farthest_row() {
    let data = [0.0, 0.1, 0.2, 9.0];
    let rows = Rows::new(&data, 1).unwrap();
    let found = KMeans::new(2).fit_from(&rows, vec![0.0, 1e6]).unwrap();
    assert_eq!(found.labels, [0, 0, 0, 1]);
    let found = GaussianMixture::new(2).fit_from(&rows, vec![0.5; 2], vec![0.1, 1e6], vec![1.0; 2]).unwrap();
    assert_eq!(found.labels, [0, 0, 0, 1]);
}

#[test]
fn identical_rows_converge() {
    let data = [1.0; 40];
    let rows = Rows::new(&data, 2).unwrap();
    let found = KMeans::new(3).fit(&rows, &mut stream(0, &[])).unwrap();
    assert_eq!((found.inertia, found.centers), (0.0, vec![1.0; 6]));
    let found = GaussianMixture::new(3).fit(&rows, &mut stream(0, &[])).unwrap();
    assert!(found.log_likelihood.is_finite());
}

#[test]
fn impossible_clusterings_are_refused() {
    let error = Rows::new(&[0.0, 1.0, f32::NAN, 0.0], 2).unwrap_err();
    assert_eq!(error.to_string(), "row 1, element 0: the value is NaN");
    assert!(Rows::new(&[0.0], 0).is_err() && Rows::new(&[0.0], 2).is_err());
    let rows = Rows::new(&[0.0, 1.0], 1).unwrap();
    let mut rng = stream(0, &[]);
    let error = KMeans::new(3).fit(&rows, &mut rng).unwrap_err();
    assert_eq!(error.to_string(), "2 rows cannot form 3 clusters");
    assert!(KMeans::new(0).fit(&rows, &mut rng).is_err());
    assert!(KMeans { restarts: 0, ..KMeans::new(1) }.fit(&rows, &mut rng).is_err());
    assert!(KMeans::new(2).fit_from(&rows, vec![0.0]).is_err());
    assert!(GaussianMixture { variance_floor: 0.0, ..GaussianMixture::new(1) }.fit(&rows, &mut rng).is_err());
    assert!(GaussianMixture::new(2).fit_from(&rows, vec![0.5; 2], vec![0.0], vec![1.0; 2]).is_err());
}

proptest! {
    #[test]
    fn permuting_rows_permutes_labels(seed in any::<u64>(), n in 3_usize..300, width in 1_usize..20) {
        let data = clouds(seed, n, width, 3, 1.0);
        let mut order: Vec<usize> = (0..n).collect();
        let mut rng = stream(seed, &["order"]);
        (1..n).for_each(|i| order.swap(i, rng.random_range(0..=i)));
        let permuted: Vec<f32> =
            order.iter().flat_map(|&i| data[i * width..(i + 1) * width].to_vec()).collect();
        let fit = |data: &[f32], start: Vec<f32>| {
            KMeans::new(3).fit_from(&Rows::new(data, width).unwrap(), start).unwrap().labels
        };
        let (before, after) = (fit(&data, data[..3 * width].to_vec()), fit(&permuted, data[..3 * width].to_vec()));
        prop_assert_eq!(order.iter().map(|&i| before[i]).collect::<Vec<_>>(), after);
    }

    #[test]
    fn fits_never_get_worse(seed in any::<u64>(), n in 4_usize..300, width in 1_usize..20) {
        let data = clouds(seed, n, width, 4, 0.5);
        let rows = Rows::new(&data, width).unwrap();
        let (mut inertia, mut likelihood) = (f64::INFINITY, f64::NEG_INFINITY);
        for max_iterations in 1..8 {
            let settings = KMeans { max_iterations, tolerance: 0.0, ..KMeans::new(4) };
            let next = settings.fit_from(&rows, data[..4 * width].to_vec()).unwrap().inertia;
            prop_assert!(next <= inertia * (1.0 + 1e-6) + 1e-9);
            inertia = next;
            let settings = GaussianMixture { max_iterations, tolerance: 0.0, variance_floor: 1e-3, ..GaussianMixture::new(2) };
            let start = (vec![0.5; 2], data[..2 * width].to_vec(), vec![1.0; 2 * width]);
            let next = settings.fit_from(&rows, start.0, start.1, start.2).unwrap().log_likelihood;
            // The floor under the variances is not part of the likelihood.
            prop_assert!(next >= likelihood - 0.05 * width as f64, "{} {}", next, likelihood);
            likelihood = next;
        }
    }
}
