//! What must hold of every fitted model, whatever it was fitted to.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use cfqp::data::View;
use cfqp::models::{MlpConfig, UnetConfig};
use cfqp::sim::{Oscillator, Simulated};
use cfqp::{
    AskOptions, Base, Classes, Dataset, Error, Fit, FitConfig, Model, Monitor, Resources, Rho, Sharing, Units,
};
use proptest::prelude::*;

fn world(n: usize, seed: u64) -> Simulated {
    Oscillator::default().simulate(n, seed).unwrap()
}

fn resources(threads: usize) -> Resources {
    Resources { threads, ..Resources::default() }
}

fn config(base: Base, classes: usize) -> FitConfig {
    FitConfig {
        classes: Classes::Given(classes),
        base,
        epochs: Some(3),
        members: Some(2),
        mlp: MlpConfig { hidden: vec![16, 16], ..MlpConfig::default() },
        unet: UnetConfig { channels: [4, 8, 8, 8], embed: 8, groups: 4, ..UnetConfig::default() },
        seed: 3,
        ..FitConfig::default()
    }
}

fn fit(config: &FitConfig, resources: Resources, data: &Dataset) -> Model {
    Fit::new(config.clone()).resources(resources).run(data).unwrap()
}

/// One linear model of three classes, fitted once for all tests.
fn fitted() -> &'static (Simulated, Model) {
    static FITTED: OnceLock<(Simulated, Model)> = OnceLock::new();
    FITTED.get_or_init(|| {
        let world = world(300, 1);
        let config = FitConfig { members: None, ..config(Base::Linear, 3) };
        let fitted = Fit::new(config).run(&world.data).unwrap();
        (world, fitted)
    })
}

fn bytes(fitted: &Model) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.cfqp");
    fitted.save(&path).unwrap();
    std::fs::read(path).unwrap()
}

fn pick(data: &Dataset, rows: &[usize]) -> Dataset {
    let units = |units: &Units| {
        let values = rows.iter().flat_map(|&row| units.row(row).to_vec()).collect();
        Units::new("picked", units.shape().to_vec(), values).unwrap()
    };
    Dataset::new(units(data.x()), units(data.t()), units(data.y())).unwrap()
}

#[test]
fn under_its_own_treatment_a_unit_keeps_its_outcome() {
    let (_, fitted) = fitted();
    let data = world(50, 9).data;
    let answers = fitted.ask(&data).under(data.t()).rho(1.0).answers().unwrap();
    let gap =
        answers.point.values().iter().zip(data.y().values()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(gap < 1e-5, "{gap}");
}

#[test]
fn with_fresh_noise_a_unit_of_certain_class_gets_its_class_mean() {
    // two units with the same x and class get the same answer at rho = 0 and different ones at rho = 1
    let (_, fitted) = fitted();
    let data = world(1, 9).data;
    let shifted = data.y().values().iter().map(|y| y + 0.01).collect();
    let other = Units::new("y", data.y().shape().to_vec(), shifted).unwrap();
    let other = Dataset::new(data.x().clone(), data.t().clone(), other).unwrap();
    let ask = |data: &Dataset, rho: f32| fitted.ask(data).under(0.6).rho(rho).answers().unwrap().point;
    let gap = |rho| {
        let (a, b) = (ask(&data, rho), ask(&other, rho));
        a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    assert!(gap(0.0) < 1e-5, "{}", gap(0.0));
    // what the members' errors have in common at both treatments is carried over too
    assert!((gap(1.0) - 0.01).abs() < 1e-3, "{}", gap(1.0));
}

#[test]
fn an_effect_is_the_difference_of_two_answers() {
    let (_, fitted) = fitted();
    let data = world(20, 9).data;
    let effect = fitted.ask(&data).effect(0.3, 0.8).answers().unwrap();
    let grid = Units::new("grid", vec![1], vec![0.3, 0.8]).unwrap();
    let curve = fitted.ask(&data).curve(&grid).answers().unwrap();
    for (i, effect) in effect.point.values().iter().enumerate() {
        assert!((effect - (curve[1].point.values()[i] - curve[0].point.values()[i])).abs() < 1e-5);
    }
}

#[test]
fn a_model_comes_back_from_its_file_bit_for_bit() {
    let (_, fitted) = fitted();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.cfqp");
    fitted.save(&path).unwrap();
    let loaded = Model::load(&path, &Resources::default()).unwrap();
    assert_eq!(bytes(fitted), bytes(&loaded));
    let data = world(40, 5).data;
    let answers = |model: &Model| model.ask(&data).under(0.5).answers().unwrap();
    assert_eq!(answers(fitted), answers(&loaded));
}

#[test]
fn a_damaged_model_file_is_an_error_and_never_a_panic() {
    let (_, fitted) = fitted();
    let whole = bytes(fitted);
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("m.cfqp");
    for cut in [0, 1, 7, 8, 9, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(Model::load(&path, &Resources::default()).is_err(), "cut at {cut}");
    }
    for at in (0..whole.len()).step_by(whole.len() / 97) {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        std::fs::write(&path, &changed).unwrap();
        let _ = Model::load(&path, &Resources::default());
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_on_any_number_of_threads() {
    let data = world(150, 2).data;
    for (base, sharing) in [
        (Base::Linear, Sharing::Auto),
        (Base::Mlp, Sharing::Separate),
        (Base::Mlp, Sharing::Conditional),
        (Base::Unet, Sharing::Auto),
    ] {
        let config = FitConfig { sharing, ..config(base, 2) };
        let model = |threads| bytes(&fit(&config, resources(threads), &data));
        let one = model(1);
        assert!(one == model(2) && one == model(5), "{base:?} {sharing:?}");
        let other = FitConfig { seed: 4, ..config };
        assert!(one != bytes(&fit(&other, resources(2), &data)), "the seed matters");
    }
}

/// Asks to stop after so many epochs.
struct Impatient(AtomicUsize, usize);

impl Monitor for Impatient {
    fn epoch(&self, _: f64) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= self.1
    }
}

#[test]
fn an_interrupted_fit_goes_on_to_the_same_bits() {
    let data = world(120, 2).data;
    let config = config(Base::Mlp, 2);
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Some(folder.path().join("m.part"));
    let whole = bytes(&fit(&config, resources(2), &data));
    for patience in [5, 100, 300] {
        let first = Resources { checkpoint: checkpoint.clone(), ..resources(2) };
        let monitor = Impatient(AtomicUsize::new(0), patience);
        let stopped = Fit::new(config.clone()).resources(first.clone()).monitor(&monitor).run(&data);
        assert!(matches!(stopped, Err(Error::Interrupted)), "after {patience} epochs");
        let second = Resources { resume: true, ..first };
        assert_eq!(whole, bytes(&fit(&config, second, &data)), "after {patience} epochs");
    }
}

#[test]
fn fits_that_differ_in_classes_share_a_checkpoint_and_keep_their_bits() {
    let data = world(120, 2).data;
    let folder = tempfile::tempdir().unwrap();
    for base in [Base::Mlp, Base::Linear] {
        let checkpoint = Some(folder.path().join(format!("{base:?}.part")));
        let shared = Resources { checkpoint, resume: true, ..resources(2) };
        for classes in [2, 3, 2, 1] {
            let model = |resources: &Resources| bytes(&fit(&config(base, classes), resources.clone(), &data));
            assert!(model(&shared) == model(&resources(2)), "{base:?}, {classes} classes");
        }
    }
}

#[test]
fn missing_values_count_in_no_loss_and_are_answered_without_their_noise() {
    let world = Oscillator { single_class: true, ..Oscillator::default() }.simulate(400, 4).unwrap();
    let masked = |units: &Units, every: usize| {
        let mask: Vec<bool> = (0..units.values().len()).map(|i| i % every != 3).collect();
        let mut values = units.values().to_vec();
        values.iter_mut().zip(&mask).filter(|(_, seen)| !**seen).for_each(|(v, _)| *v = f32::NAN);
        Units::with_mask("masked", units.shape().to_vec(), values, Some(mask)).unwrap()
    };
    let data =
        Dataset::new(masked(world.data.x(), 11), world.data.t().clone(), masked(world.data.y(), 7)).unwrap();
    for base in [Base::Linear, Base::Mlp] {
        let mlp = MlpConfig { hidden: vec![64, 64], ..MlpConfig::default() };
        let config = FitConfig { epochs: Some(60), mlp, ..config(base, 1) };
        let fitted = Fit::new(config).run(&data).unwrap();
        let answers = fitted.ask(&data).under(data.t()).rho(1.0).answers().unwrap();
        let truth = world.data.y().values();
        let mask = data.y().mask().unwrap();
        let seen = (0..truth.len()).filter(|&i| mask[i]);
        assert!(seen.map(|i| (answers.point.values()[i] - truth[i]).abs()).fold(0.0, f32::max) < 1e-4);
        let unseen: Vec<f32> =
            (0..truth.len()).filter(|&i| !mask[i]).map(|i| answers.point.values()[i] - truth[i]).collect();
        let mse = unseen.iter().map(|gap| gap * gap).sum::<f32>() / unseen.len() as f32;
        assert!(mse < 0.1, "{base:?}: what was missing is predicted: {mse}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn units_in_another_order_get_the_same_answers(order in Just((0..30).collect::<Vec<usize>>()).prop_shuffle()) {
        let (_, fitted) = fitted();
        let data = world(30, 8).data;
        let ask = AskOptions { rho: Rho::Given(0.5), level: 0.8 };
        let straight = fitted.ask(&data).under(0.7).options(ask).answers().unwrap();
        let shuffled = pick(&data, &order);
        let shuffled = fitted.ask(&shuffled).under(0.7).options(ask).answers().unwrap();
        for (i, &row) in order.iter().enumerate() {
            let (one, other) = (shuffled.point.row(i), straight.point.row(row));
            let gap = one.iter().zip(&*other).map(|(a, b)| (a - b).abs());
            prop_assert!(gap.fold(0.0, f32::max) < 1e-5);
            prop_assert_eq!(shuffled.diagnoses[i].class, straight.diagnoses[row].class);
        }
    }

    /// The mean of several classes can lie outside a narrow interval, so the answer is checked for units of one class.
    #[test]
    fn intervals_contain_the_answer_if_the_class_is_certain_and_grow_with_the_level(
        low in 0.1_f64..0.5, more in 0.1_f64..0.4, rho in 0.0_f32..1.0
    ) {
        let (_, fitted) = fitted();
        let data = world(10, 8).data;
        let at = |level| fitted.ask(&data).under(0.7).rho(rho).level(level).answers().unwrap();
        let (narrow, wide) = (at(low), at(low + more));
        let elements = narrow.point.row(0).len();
        let is_certain = |unit: usize| {
            let classes = narrow.posterior.len() / data.len();
            narrow.posterior[unit * classes..][..classes].iter().any(|p| *p > 0.99999)
        };
        prop_assert!((0..data.len()).any(is_certain));
        for i in 0..narrow.point.values().len() {
            let at = |units: &Units| units.values()[i];
            let rounding = 1e-5 * (1.0 + at(&narrow.point).abs());
            prop_assert!(at(&wide.lower) <= at(&narrow.lower) + rounding);
            prop_assert!(at(&wide.upper) >= at(&narrow.upper) - rounding);
            if is_certain(i / elements) {
                prop_assert!(at(&narrow.lower) <= at(&narrow.point) + rounding);
                prop_assert!(at(&narrow.upper) >= at(&narrow.point) - rounding);
            }
        }
    }
}

/// Views are by reference: a split copies no values.
#[test]
fn views_pick_rows_and_copy_nothing() {
    let data = world(10, 1).data;
    let view: View<'_> = data.view(vec![7, 3, 5]);
    assert_eq!(view.pick(&[2, 0]).rows(), [5, 7]);
    assert!(std::ptr::eq(view.data(), &data));
}
