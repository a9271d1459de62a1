//! The worlds have their moments, and no simple answer is better than the Bayes answer.

use super::*;
use crate::data::Units;
use crate::math::{argmax, mean};

const N: usize = 4000;

fn table(world: TableWorld) -> Table {
    Table { world, ..Table::default() }
}

/// The worlds whose outcome is a number.
fn number_worlds() -> impl Iterator<Item = TableWorld> {
    TableWorld::ALL.into_iter().filter(|world| world.is_number())
}

fn numbers(units: &Units) -> Vec<f64> {
    units.values().iter().map(|&value| f64::from(value)).collect()
}

fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    mean(&values.iter().map(|value| (value - centre).powi(2)).collect::<Vec<_>>())
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (at, bt) = (mean(a), mean(b));
    let product: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a - at) * (b - bt)).collect();
    mean(&product) / (variance(a) * variance(b)).sqrt()
}

fn mean_square(a: &[f64], b: &[f64]) -> f64 {
    mean(&a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).collect::<Vec<_>>())
}

/// The Bayes limit in variances of y.
fn limit(simulated: &Simulated) -> f64 {
    let best = numbers(simulated.truth.y_bayes.as_ref().unwrap());
    mean_square(&best, &numbers(&simulated.truth.y_new)) / variance(&numbers(simulated.data.y()))
}

/// x, t and t' of unit `i`.
fn variables(simulated: &Simulated, i: usize) -> [Vec<f64>; 3] {
    [simulated.data.x(), simulated.data.t(), &simulated.truth.t_new]
        .map(|units| units.row(i).iter().map(|&value| f64::from(value)).collect())
}

/// y - f_z(x, t) and y' - f_z(x, t') of every unit, with the true class; of the logarithms for `Lognormal`.
fn noise(table: &Table, simulated: &Simulated) -> [Vec<f64>; 2] {
    let (world, truth) = (table.world, &simulated.truth);
    let residual = |i: usize, is_new: bool| {
        let [x, t, t_new] = variables(simulated, i);
        let (t, y) = if is_new { (t_new, &truth.y_new) } else { (t, simulated.data.y()) };
        world.sum(f64::from(y.row(i)[0])) - world.mean(&x, &t, truth.z[i])
    };
    [false, true].map(|is_new| (0..simulated.data.len()).map(|i| residual(i, is_new)).collect())
}

#[test]
fn subjects_depend_neither_on_their_number_nor_on_that_of_threads() {
    let run = |world, n, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Table { repeats: 2, ..table(world) }.simulate(n, 9).unwrap())
    };
    for world in number_worlds() {
        let (few, many) = (run(world, 7, 1), run(world, 31, 3));
        let rows: Vec<usize> = (0..14).collect();
        assert_eq!(few.data, many.data.pick(&rows).unwrap(), "{}", world.name());
        let best = |simulated: &Simulated| numbers(simulated.truth.y_bayes.as_ref().unwrap());
        assert_eq!(best(&few), best(&many)[..14]);
        assert_eq!(few.truth.y_new.values(), &many.truth.y_new.values()[..14]);
        let other = Table { repeats: 2, ..table(world) }.simulate(7, 10).unwrap();
        assert_ne!(few.data.x(), other.data.x());
    }
}

#[test]
fn outcomes_under_recorded_treatments_equal_the_data_bit_for_bit() {
    for world in TableWorld::ALL {
        let simulated = table(world).simulate(40, 1).unwrap();
        let Simulated { data, truth, .. } = &simulated;
        assert_eq!(data.x().elements(), world.covariates());
        assert_eq!(data.t().elements(), world.treatments());
        for i in 0..40 {
            assert_eq!(simulated.outcome(i, &data.t().row(i)), *data.y().row(i), "{}", world.name());
            assert_eq!(simulated.outcome(i, &truth.t_new.row(i)), *truth.y_new.row(i));
        }
    }
}

#[test]
fn noise_has_mean_0_its_deviation_and_its_form() {
    for world in number_worlds().filter(|world| world.slope_sd() == 0.0) {
        let table = table(world);
        let simulated = table.simulate(N, 3).unwrap();
        let [seen, other] = noise(&table, &simulated);
        let name = world.name();
        assert!(seen.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-4), "{name}: the same noise");
        let sd = f64::from(table.sigma());
        assert!(mean(&seen).abs() < 4.0 * sd / (N as f64).sqrt(), "{name}");
        // the variance of heavy-tailed noise converges slowly: its quartiles are at 0.4416 deviations
        let inner = seen.iter().filter(|e| e.abs() < 0.4416 * sd).count() as f64 / N as f64;
        let expected = match world {
            TableWorld::Heavy => 0.5,
            TableWorld::Skewed => 0.3397,
            _ => 0.3412,
        };
        assert!((inner - expected).abs() < 0.03, "{name}: {inner}");
        let skewness = mean(&seen.iter().map(|e| (e / sd).powi(3)).collect::<Vec<_>>());
        match world {
            TableWorld::Heavy => assert!(seen.iter().any(|e| e.abs() > 5.0 * sd)),
            TableWorld::Skewed => assert!((skewness - 2.0).abs() < 0.5, "{skewness}"),
            _ => assert!(skewness.abs() < 0.15 && (variance(&seen) / (sd * sd) - 1.0).abs() < 0.1, "{name}"),
        }
    }
}

#[test]
fn classes_have_their_frequencies() {
    for world in TableWorld::ALL {
        let simulated = table(world).simulate(N, 4).unwrap();
        let mut counts = vec![0; world.classes()];
        simulated.truth.z.iter().for_each(|&z| counts[z] += 1);
        let expected = N as f64 / world.classes() as f64;
        for count in counts {
            assert!((f64::from(count) / expected - 1.0).abs() < 0.15, "{}: {count}", world.name());
        }
    }
    // the class of `Prior` can be told from x far better than by chance
    let simulated = table(TableWorld::Prior).simulate(N, 4).unwrap();
    let guess = |i: usize| {
        let [x, ..] = variables(&simulated, i);
        let weight = |k: usize| TableWorld::Prior.log_weight(&x, k);
        argmax((0..3).map(weight)).unwrap()
    };
    let right = (0..N).filter(|&i| guess(i) == simulated.truth.z[i]).count();
    assert!(right > 6 * N / 10, "{right}");
}

#[test]
fn treatments_depend_on_what_they_should() {
    let doses = |simulated: &Simulated| numbers(simulated.data.t());
    let confounded = table(TableWorld::ConfoundedByX).simulate(N, 5).unwrap();
    let cause: Vec<f64> = (0..N).map(|i| variables(&confounded, i)[0][..2].iter().sum()).collect();
    let found = correlation(&cause, &doses(&confounded));
    assert!((found - 0.7).abs() < 0.03, "{found}");
    let driven = table(TableWorld::ClassDrivesTreatment).simulate(N, 5).unwrap();
    let z: Vec<f64> = driven.truth.z.iter().map(|&z| z as f64).collect();
    for t in [doses(&driven), numbers(&driven.truth.t_new)] {
        assert!(correlation(&z, &t) > 0.5);
    }
    let binary = table(TableWorld::BinaryTreatment).simulate(N, 5).unwrap();
    assert!(doses(&binary).iter().all(|&t| t == 0.0 || t == 1.0));
    assert!((mean(&doses(&binary)) - 0.5).abs() < 0.03);
    for world in [TableWorld::Crossing, TableWorld::SeveralTreatments, TableWorld::Wide] {
        let t = doses(&table(world).simulate(N, 5).unwrap());
        assert!((mean(&t) - 0.5).abs() < 0.02 && (variance(&t) * 12.0 - 1.0).abs() < 0.06);
    }
    let positive = table(TableWorld::Lognormal).simulate(N, 5).unwrap();
    assert!(positive.data.y().values().iter().all(|&y| y > 0.0));
}

#[test]
fn limits_are_where_they_were_designed_to_be() {
    for world in TableWorld::ALL {
        let found = limit(&table(world).simulate(N, 6).unwrap());
        let (low, high) = match world {
            TableWorld::Single | TableWorld::Skewed => (0.0, 1e-9),
            TableWorld::ClassDrivesTreatment => (0.0, 1e-3),
            TableWorld::NoSeparation => (1e-4, 0.01),
            TableWorld::BinaryTreatment | TableWorld::Many => (0.001, 0.05),
            TableWorld::Prior => (0.05, 0.15),
            TableWorld::Slopes => (0.02, 0.15),
            _ => (0.05, 0.4),
        };
        assert!((low..high).contains(&found), "{}: {found}", world.name());
    }
}

#[test]
fn the_bayes_answer_beats_every_single_class_the_most_probable_one_and_the_mean() {
    for world in number_worlds().filter(|world| world.classes() > 1) {
        let table = table(world);
        let simulated = table.simulate(N, 7).unwrap();
        let y_new = numbers(&simulated.truth.y_new);
        let best = mean_square(&numbers(simulated.truth.y_bayes.as_ref().unwrap()), &y_new);
        let class_answer = |i: usize, k: usize| {
            let [x, t, t_new] = variables(&simulated, i);
            let y = f64::from(simulated.data.y().row(i)[0]);
            world.outcome(world.sum(y) - world.mean(&x, &t, k) + world.mean(&x, &t_new, k))
        };
        let error =
            |answer: &dyn Fn(usize) -> f64| mean_square(&(0..N).map(answer).collect::<Vec<_>>(), &y_new);
        for k in 0..world.classes() {
            assert!(error(&|i| class_answer(i, k)) > best, "{}: class {k}", world.name());
        }
        let probable = |i: usize| {
            let [x, t, _] = variables(&simulated, i);
            let rows = vec![Row { t, y: f64::from(simulated.data.y().row(i)[0]) }];
            let noise = world.noise(f64::from(table.sigma()));
            let observed = Observed { world, noise, rho: 1.0, x: &x, rows };
            let posterior = observed.class_posterior();
            class_answer(i, argmax(posterior).unwrap())
        };
        let hard = error(&probable);
        assert!(hard > best - 1e-4, "{}: {hard} for the most probable class, {best}", world.name());
        let even = error(&|i| mean(&(0..world.classes()).map(|k| class_answer(i, k)).collect::<Vec<_>>()));
        assert!(even > best, "{}: {even} for the mean over classes, {best}", world.name());
    }
}

/// The mean of y' over simulated hidden variables that lead to the observed outcome, by weighting.
fn weighted_draws(table: &Table, x: &[f64], t: f64, t_new: f64, y: f64) -> f64 {
    let (world, mut rng) = (table.world, stream(1, &["weighted draws"]));
    let law = world.noise(f64::from(table.sigma()));
    let (mut mass, mut sum) = (0.0, 0.0);
    for _ in 0..100_000 {
        let (z, slope) = (draw_weighted(&vec![1.0; world.classes()], &mut rng), normal(&mut rng, 1.0));
        let at = |t: f64| world.mean(x, &[t], z) + world.slope_sd() * slope * t;
        let e = y - at(t);
        let weight = law.log_density(e).exp();
        let other = correlated(law.score(e), normal(&mut rng, 1.0), table.rho());
        mass += weight;
        sum += weight * (at(t_new) + law.value(other));
    }
    sum / mass
}

#[test]
fn bayes_answers_agree_with_simulated_hidden_variables() {
    let x = [0.3, -0.4, 0.5, 0.1, -1.0, 0.2];
    for (world, rho) in [
        (TableWorld::Slopes, 1.0),
        (TableWorld::Slopes, 0.5),
        (TableWorld::Crossing, 1.0),
        (TableWorld::Crossing, 0.5),
        (TableWorld::Heavy, 0.5),
        (TableWorld::Skewed, 0.5),
    ] {
        let table = Table { rho: Some(rho), ..table(world) };
        let noise = world.noise(f64::from(table.sigma()));
        // exponential noise has a lower end
        let up = if world == TableWorld::Skewed { 1.0 } else { 0.0 };
        for (t, t_new, y) in [(0.3, 0.9, 1.2 + up), (0.8, 0.1, 0.4 + up), (0.55, 0.75, 2.1)] {
            let rows = vec![Row { t: vec![t], y }];
            let observed = Observed { world, noise, rho: f64::from(rho), x: &x, rows };
            let (exact, drawn) =
                (observed.answers(&[vec![t_new]])[0], weighted_draws(&table, &x, t, t_new, y));
            assert!((exact - drawn).abs() < 0.02, "{} {rho}: {exact} {drawn}", world.name());
        }
    }
}

#[test]
fn rho_changes_only_the_outcome_under_the_new_treatment() {
    for world in [TableWorld::Crossing, TableWorld::Heavy, TableWorld::Skewed] {
        let same = table(world).simulate(N, 8).unwrap();
        for (rho, tolerance) in [(0.0, 0.05), (0.6, 0.05)] {
            let table = Table { rho: Some(rho), ..table(world) };
            let apart = table.simulate(N, 8).unwrap();
            assert_eq!((&same.data, &same.truth.t_new), (&apart.data, &apart.truth.t_new));
            let law = world.noise(f64::from(table.sigma()));
            let [seen, other] =
                noise(&table, &apart).map(|noise| noise.iter().map(|&e| law.score(e)).collect::<Vec<_>>());
            let found = correlation(&seen, &other);
            assert!((found - f64::from(rho)).abs() < tolerance, "{}: {found}", world.name());
            assert!(limit(&apart) > limit(&same));
        }
    }
}

#[test]
fn rows_of_a_subject_share_x_class_and_part_of_the_noise() {
    let table = Table { repeats: 3, ..table(TableWorld::Crossing) };
    let simulated = table.simulate(N / 2, 2).unwrap();
    let groups = simulated.data.groups().unwrap();
    assert_eq!((simulated.data.len(), &groups[..7]), (3 * N / 2, &[0, 0, 0, 1, 1, 1, 2][..]));
    let [seen, other] = noise(&table, &simulated);
    let every = |noise: &[f64], r: usize| noise.iter().skip(r).step_by(3).copied().collect::<Vec<_>>();
    for found in [
        correlation(&every(&seen, 0), &every(&seen, 1)),
        correlation(&every(&seen, 1), &every(&seen, 2)),
        correlation(&every(&seen, 0), &every(&other, 0)),
        correlation(&every(&seen, 0), &every(&other, 2)),
    ] {
        assert!((found - 0.6).abs() < 0.06, "{found}");
    }
    assert!((variance(&seen) / 0.09 - 1.0).abs() < 0.08);
    for subject in 0..N / 2 {
        let rows = 3 * subject..3 * subject + 3;
        assert!(rows.clone().all(|row| simulated.data.x().row(row) == simulated.data.x().row(rows.start)));
        assert!(rows.clone().all(|row| simulated.truth.z[row] == simulated.truth.z[rows.start]));
    }
}

#[test]
fn more_rows_of_a_subject_lower_the_limit() {
    for world in [TableWorld::Crossing, TableWorld::Slopes, TableWorld::Heavy, TableWorld::Skewed] {
        let limits = [1, 2, 8].map(|repeats| {
            let table = Table { repeats, rho: Some(0.6), ..table(world) };
            limit(&table.simulate(N / repeats, 2).unwrap())
        });
        assert!(limits[0] > limits[1] && limits[1] > limits[2], "{}: {limits:?}", world.name());
    }
    let same = Table { repeats: 4, rho: Some(1.0), ..table(TableWorld::Crossing) };
    assert!(limit(&same.simulate(500, 2).unwrap()) < 1e-3, "the noise of all rows is the same");
}

#[test]
fn settings_are_read_and_validated() {
    let read: Table = serde_json::from_str(r#"{"world": "class-drives-treatment", "repeats": 2}"#).unwrap();
    assert_eq!(read, Table { repeats: 2, ..table(TableWorld::ClassDrivesTreatment) });
    for world in TableWorld::ALL {
        assert_eq!(serde_json::to_string(&world).unwrap(), format!("{:?}", world.name()));
    }
    let problem = |table: Table| table.simulate(3, 1).unwrap_err().to_string();
    assert!(problem(Table { sigma: Some(0.0), ..Table::default() }).starts_with("sigma: "));
    assert!(problem(Table { rho: Some(2.0), ..Table::default() }).starts_with("rho: "));
    assert!(problem(Table { repeats: 0, ..Table::default() }).starts_with("repeats: "));
}

#[test]
fn columns_of_noise_change_nothing_else_and_parts_are_those_of_the_whole() {
    let plain = Table { repeats: 2, ..table(TableWorld::Crossing) };
    let noisy = Table { noise_columns: 3, ..plain.clone() };
    let (whole, part) = (noisy.simulate(9, 4).unwrap(), noisy.simulate_range(5..9, 4).unwrap());
    let rows: Vec<usize> = (10..18).collect();
    let last = whole.data.pick(&rows).unwrap();
    assert_eq!((last.x(), last.t(), last.y()), (part.data.x(), part.data.t(), part.data.y()));
    assert_eq!(whole.truth.z[10..], part.truth.z[..]);
    let without = plain.simulate(9, 4).unwrap();
    assert_eq!((whole.data.y(), &whole.truth), (without.data.y(), &without.truth));
    assert_eq!(whole.data.x().row(3)[..6], without.data.x().row(3)[..]);
    assert_eq!(whole.data.x().row(2)[6..], whole.data.x().row(3)[6..], "rows of one subject");
}
