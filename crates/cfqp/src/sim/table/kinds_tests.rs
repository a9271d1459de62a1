//! Outcomes that are not numbers have their laws, and the Bayes answers agree with simulated hidden variables.

use rand::RngExt as _;

use super::kinds::ObservedKind;
use super::laws::{OutcomeLaw, UnitNoise};
use super::*;
use crate::data::{Dataset, OutcomeKind, Units};
use crate::math::mean;

const N: usize = 4000;
const WORLDS: [TableWorld; 4] =
    [TableWorld::YesNo, TableWorld::Count, TableWorld::Category, TableWorld::Amount];

fn table(world: TableWorld) -> Table {
    Table { world, ..Table::default() }
}

fn numbers(units: &Units) -> Vec<f64> {
    units.values().iter().map(|&value| f64::from(value)).collect()
}

fn row(units: &Units, i: usize) -> Vec<f64> {
    units.row(i).iter().map(|&value| f64::from(value)).collect()
}

fn mean_square(a: &[f64], b: &[f64]) -> f64 {
    mean(&a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).collect::<Vec<_>>())
}

/// What is observed of unit `i`.
fn observed<'a>(table: &Table, simulated: &Simulated, i: usize, x: &'a [f64]) -> ObservedKind<'a> {
    ObservedKind {
        world: table.world,
        sd: f64::from(table.sigma()),
        rho: f64::from(table.rho()),
        x,
        t: row(simulated.data.t(), i),
        y: row(simulated.data.y(), i),
    }
}

#[test]
fn kinds_are_set_and_recognised_from_the_values() {
    for world in TableWorld::ALL {
        let data = table(world).simulate(500, 1).unwrap().data;
        let kinds = world.outcome_kinds();
        assert_eq!(data.outcome_kinds(), kinds, "{}", world.name());
        let bare = Dataset::new(data.x().clone(), data.t().clone(), data.y().clone()).unwrap();
        assert_eq!(bare.outcome_kinds(), kinds, "{}", world.name());
        assert_eq!(data.y().elements(), kinds.len());
    }
    assert_eq!(TableWorld::Category.outcome_kinds(), [OutcomeKind::Level(0); 3]);
}

#[test]
fn laws_have_their_moments() {
    let x = [0.3, -0.4, 0.5, 0.1, -1.0, 0.2];
    let moment = |law: &OutcomeLaw, power: i32| {
        (0..400).map(|y| f64::from(y).powi(power) * law.chance(f64::from(y)).unwrap()).sum::<f64>()
    };
    let law = TableWorld::Count.law(&x, &[0.5], 0, 0.4);
    let count_mean = (0.35 * (0.24 - 0.5 * 0.8_f64.sin()) + 0.9).exp();
    let [total, first, second] = [0, 1, 2].map(|power| moment(&law, power));
    assert!((total - 1.0).abs() < 1e-9 && (first - count_mean).abs() < 1e-6, "{first} {count_mean}");
    let variance = count_mean + 0.16 * count_mean * count_mean;
    assert!((second - first * first - variance).abs() < 1e-5);
    assert!((law.mean()[0] - count_mean).abs() < 1e-6);
    // the mean over evenly spaced ranks
    for world in WORLDS {
        let law = world.law(&x, &[0.7], 1, 0.4);
        let steps = 100_000;
        let mut sum = vec![0.0; world.outcome_kinds().len()];
        for i in 0..steps {
            let rank = (f64::from(i) + 0.5) / f64::from(steps);
            let outcome = law.outcome(UnitNoise { rank, move_to: 0.5 });
            sum.iter_mut().zip(outcome).for_each(|(sum, y)| *sum += y / f64::from(steps));
        }
        for (found, expected) in sum.iter().zip(law.mean()) {
            assert!((found / expected - 1.0).abs() < 1e-3, "{}: {found} {expected}", world.name());
        }
    }
}

/// The mean of y' and the share of `y_new` over simulated classes and noise that lead to the observed outcome.
fn drawn_answer(observed: &ObservedKind<'_>, t_new: &[f64], y_new: f64) -> (Vec<f64>, f64) {
    let mut rng = stream(1, &["hidden variables"]);
    let weights: Vec<f64> =
        (0..observed.world.classes()).map(|k| observed.world.log_weight(observed.x, k).exp()).collect();
    let laws = |t: &[f64]| -> Vec<OutcomeLaw> {
        (0..weights.len()).map(|k| observed.world.law(observed.x, t, k, observed.sd)).collect()
    };
    let (here, there) = (laws(&observed.t), laws(t_new));
    let (mut sum, mut kept, mut equal) = (vec![0.0; observed.y.len()], 0.0, 0.0);
    for _ in 0..400_000 {
        let k = draw_weighted(&weights, &mut rng);
        let [noise, fresh] = [(), ()].map(|()| UnitNoise { rank: rng.random(), move_to: rng.random() });
        let is_same = rng.random::<f64>() < observed.rho;
        // amounts have a density: those nearby count
        let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= 0.015 * b;
        if !here[k].outcome(noise).iter().zip(&observed.y).all(is_near) {
            continue;
        }
        let outcome = if is_same { here[k].outcome_there(&there[k], noise) } else { there[k].outcome(fresh) };
        kept += 1.0;
        equal += f64::from(u8::from(outcome[0] == y_new));
        sum.iter_mut().zip(outcome).for_each(|(sum, y)| *sum += y);
    }
    assert!(kept > 1000.0, "{kept}");
    (sum.iter().map(|sum| sum / kept).collect(), equal / kept)
}

#[test]
fn bayes_answers_agree_with_simulated_hidden_variables() {
    let x = [0.3, -0.4, 0.2, 0.1, -1.0, 0.2];
    for world in WORLDS {
        let outcomes: &[&[f64]] = match world {
            TableWorld::YesNo => &[&[0.0], &[1.0]],
            TableWorld::Count => &[&[0.0], &[5.0]],
            TableWorld::Category => &[&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0]],
            _ => &[&[0.0], &[28.0]],
        };
        for (rho, y) in [1.0, 0.5].into_iter().flat_map(|rho| outcomes.iter().map(move |y| (rho, *y))) {
            for (t, t_new) in [(0.2, 0.9), (0.8, 0.3)] {
                let observed = ObservedKind { world, sd: 0.4, rho, x: &x, t: vec![t], y: y.to_vec() };
                let exact = observed.answer(&[t_new]);
                let (drawn, share) = drawn_answer(&observed, &[t_new], 4.0);
                // deviations of amounts are about 15, those of counts 2
                let tolerance = match world {
                    TableWorld::Amount => 0.7,
                    TableWorld::Count => 0.05,
                    _ => 0.02,
                };
                for (exact, drawn) in exact.iter().zip(&drawn) {
                    let name = world.name();
                    assert!((exact - drawn).abs() < tolerance, "{name} {rho} {y:?} {t}: {exact} {drawn}");
                }
                if let Some(exact) = observed.chance(&[t_new], 4.0) {
                    assert!((exact - share).abs() < 0.02, "{rho} {y:?} {t}: {exact} {share}");
                }
            }
        }
    }
}

#[test]
fn no_simple_answer_is_better_than_the_bayes_answer() {
    for (world, rho) in WORLDS.into_iter().flat_map(|world| [(world, 1.0), (world, 0.4)]) {
        let table = Table { rho: Some(rho), ..table(world) };
        let simulated = table.simulate(N, 2).unwrap();
        let y_new = numbers(&simulated.truth.y_new);
        let best = numbers(simulated.truth.y_bayes.as_ref().unwrap());
        let error = mean_square(&best, &y_new);
        let name = world.name();
        let answer = |rho: f64| -> Vec<f64> {
            let of_unit = |i: usize| {
                let x = row(simulated.data.x(), i);
                let observed = ObservedKind { rho, ..observed(&table, &simulated, i, &x) };
                observed.answer(&row(&simulated.truth.t_new, i))
            };
            (0..N).flat_map(of_unit).collect()
        };
        assert!(mean_square(&numbers(simulated.data.y()), &y_new) > error, "{name}: y itself");
        assert!(mean_square(&answer(0.0), &y_new) > error, "{name}: fresh noise");
        if rho < 1.0 {
            assert!(mean_square(&answer(1.0), &y_new) > error, "{name}: the same noise");
        }
        // the mean of y' given what is observed is right on average
        let bias = (mean(&best) - mean(&y_new)) / error.sqrt() * (N as f64).sqrt();
        assert!(bias.abs() < 4.0, "{name}: {bias}");
    }
}

#[test]
fn counts_have_the_probability_of_the_true_count() {
    let simulated = table(TableWorld::Count).simulate(N, 3).unwrap();
    let p = numbers(simulated.truth.p_bayes.as_ref().unwrap());
    assert!(p.iter().all(|p| *p > 0.0 && *p <= 1.0 + 1e-6));
    let x = row(simulated.data.x(), 5);
    let observed = observed(&table(TableWorld::Count), &simulated, 5, &x);
    let t_new = row(&simulated.truth.t_new, 5);
    let chances: Vec<f64> = (0..300).map(|y| observed.chance(&t_new, f64::from(y)).unwrap()).collect();
    assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let mean: f64 = chances.iter().enumerate().map(|(y, p)| y as f64 * p).sum();
    assert!((mean - observed.answer(&t_new)[0]).abs() < 1e-6);
    assert_eq!(table(TableWorld::YesNo).simulate(3, 1).unwrap().truth.p_bayes, None);
}

fn log_loss(simulated: &Simulated, answers: &Units) -> f64 {
    let kinds = simulated.data.outcome_kinds();
    crate::eval::log_loss(&simulated.truth.y_new, answers, &kinds).unwrap().unwrap()
}

/// The answer of a model without classes that knows P(y | x, t): all that one yes/no outcome per unit identifies.
fn answer_without_classes(observed: &ObservedKind<'_>, t_new: &[f64]) -> Vec<f64> {
    let weights: Vec<f64> = (0..2).map(|k| observed.world.log_weight(observed.x, k).exp()).collect();
    let share = weights[0] / (weights[0] + weights[1]);
    let mixed = |t: &[f64]| {
        let law = |k: usize| observed.world.law(observed.x, t, k, observed.sd);
        law(0).mixed(&law(1), share)
    };
    mixed(&observed.t).mean_there(&mixed(t_new), &observed.y)
}

#[test]
fn the_limit_is_within_reach_of_what_single_outcomes_identify() {
    for world in [TableWorld::YesNo, TableWorld::Category, TableWorld::Count] {
        let table = table(world);
        let simulated = table.simulate(N, 5).unwrap();
        let answer = |i: usize| {
            let x = row(simulated.data.x(), i);
            answer_without_classes(&observed(&table, &simulated, i, &x), &row(&simulated.truth.t_new, i))
        };
        let answers: Vec<f32> = (0..N).flat_map(answer).map(|p| p as f32).collect();
        let answers = Units::new("p", simulated.data.y().shape().to_vec(), answers).unwrap();
        let best = simulated.truth.y_bayes.as_ref().unwrap();
        let y_new = numbers(&simulated.truth.y_new);
        let loss = |answers: &Units| match world {
            TableWorld::Count => mean_square(&numbers(answers), &y_new),
            _ => log_loss(&simulated, answers),
        };
        let ratio = loss(&answers) / loss(best);
        // the classes of counts respond in opposite directions
        let expected = if world == TableWorld::Count { 1.3..2.0 } else { 0.97..1.1 };
        assert!(expected.contains(&ratio), "{}: {ratio}", world.name());
        assert!(loss(best) < 0.7 * loss(simulated.data.y()), "{}", world.name());
    }
}

#[test]
fn as_many_units_as_possible_keep_their_level() {
    let x = [0.3, -0.4, 0.2, 0.1, -1.0, 0.2];
    let law = |t: f64| TableWorld::Category.law(&x, &[t], 0, 0.4);
    let (here, there) = (law(0.1), law(0.9));
    let (p, q) = (here.mean(), there.mean());
    let possible: f64 = p.iter().zip(&q).map(|(p, q)| p.min(*q)).sum();
    let mut rng = stream(1, &["levels"]);
    let (mut kept, mut shares) = (0.0, [0.0; 3]);
    let draws = 100_000;
    for _ in 0..draws {
        let noise = UnitNoise { rank: rng.random(), move_to: rng.random() };
        let (y, y_new) = (here.outcome(noise), here.outcome_there(&there, noise));
        kept += f64::from(u8::from(y == y_new));
        shares.iter_mut().zip(y_new).for_each(|(share, y)| *share += y);
    }
    assert!((kept / f64::from(draws) - possible).abs() < 0.01, "{kept} {possible}");
    for (share, q) in shares.iter().zip(q) {
        assert!((share / f64::from(draws) - q).abs() < 0.01, "{shares:?}");
    }
}

#[test]
fn rho_changes_only_the_outcome_under_the_new_treatment() {
    for world in WORLDS {
        let same = table(world).simulate(500, 8).unwrap();
        let fresh = Table { rho: Some(0.0), ..table(world) }.simulate(500, 8).unwrap();
        assert_eq!((&same.data, &same.truth.t_new), (&fresh.data, &fresh.truth.t_new));
        let moved = |simulated: &Simulated| {
            mean_square(&numbers(simulated.data.y()), &numbers(&simulated.truth.y_new))
        };
        assert!(moved(&fresh) > 1.2 * moved(&same), "{}", world.name());
    }
}

#[test]
fn settings_without_a_meaning_are_refused() {
    let problem = |table: Table| table.simulate(3, 1).unwrap_err().to_string();
    for world in WORLDS {
        assert!(problem(Table { repeats: 2, ..table(world) }).starts_with("repeats: "));
    }
    for world in [TableWorld::YesNo, TableWorld::Category] {
        assert!(problem(Table { sigma: Some(0.2), ..table(world) }).starts_with("sigma: "));
    }
    assert!(Table { sigma: Some(0.2), ..table(TableWorld::Count) }.simulate(3, 1).is_ok());
    assert!(Table { repeats: 2, ..table(TableWorld::Arms) }.simulate(3, 1).is_ok());
}

#[test]
fn arms_are_two_columns_of_which_one_may_be_1() {
    let simulated = table(TableWorld::Arms).simulate(N, 1).unwrap();
    let mut counts = [0; 3];
    for i in 0..N {
        match *simulated.data.t().row(i) {
            [0.0, 0.0] => counts[0] += 1,
            [1.0, 0.0] => counts[1] += 1,
            [0.0, 1.0] => counts[2] += 1,
            ref other => panic!("{other:?}"),
        }
    }
    assert!(counts.iter().all(|count| *count > N / 4), "{counts:?}");
}
