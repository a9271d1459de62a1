//! Units without an outcome: their answers agree with the outcomes of fresh units, and are flagged.

use crate::ask::{Averages, EffectGroup, Flag};
use crate::config::{Base, Classes, FitConfig};
use crate::data::{Dataset, Units};
use crate::density::ClassWeights;
use crate::fit::Fit;
use crate::math::{mean, standard_deviation};
use crate::model::Model;
use crate::sim::{Oscillator, Simulated, Table, TableWorld};

fn fit(data: &Dataset, base: Base) -> Model {
    let config = FitConfig { classes: Classes::Given(2), base, members: Some(4), ..FitConfig::default() };
    Fit::new(config).run(data).unwrap()
}

fn table(world: TableWorld, n: usize, seed: u64) -> Simulated {
    Table { world, ..Table::default() }.simulate(n, seed).unwrap()
}

/// The same units without the outcomes, and without the treatments unless `treated`, of those that `hide` picks.
fn without_outcome(data: &Dataset, treated: bool, hide: impl Fn(usize) -> bool) -> Dataset {
    let masked = |name: &str, units: &Units, hide: &dyn Fn(usize) -> bool| {
        let mask = (0..units.len()).flat_map(|i| vec![!hide(i); units.elements()]).collect();
        Units::with_mask(name, units.shape().to_vec(), units.values().to_vec(), Some(mask)).unwrap()
    };
    let t = masked("t", data.t(), &|i| !treated && hide(i));
    Dataset::new(data.x().clone(), t, masked("y", data.y(), &hide)).unwrap()
}

/// The first element of the outcome of every unit under `t`.
fn outcomes_under(world: &Simulated, t: f32) -> Vec<f64> {
    (0..world.data.len()).map(|i| f64::from(world.outcome(i, &[t])[0])).collect()
}

fn first_elements(units: &Units) -> Vec<f64> {
    (0..units.len()).map(|i| f64::from(units.row(i)[0])).collect()
}

/// Checks means and coverage of answers for fresh units of which only x is known.
fn check_answers(model: &Model, fresh: &Simulated, t: f32) {
    let unknown = without_outcome(&fresh.data, false, |_| true);
    let answers = model.ask(&unknown).under(t).answers().unwrap();
    assert!(answers.diagnoses.iter().all(|diagnosis| diagnosis.has(Flag::NoOutcome) && !diagnosis.ok()));
    let truth = outcomes_under(fresh, t);
    let (found, expected) = (mean(&first_elements(&answers.point)), mean(&truth));
    let deviation = standard_deviation(&truth);
    assert!((found - expected).abs() < 0.15 * deviation, "mean {found} for {expected} ({deviation})");
    let ends = first_elements(&answers.lower).into_iter().zip(first_elements(&answers.upper));
    let inside = ends.zip(&truth).filter(|((lower, upper), y)| (lower..=upper).contains(y)).count();
    let covered = inside as f64 / truth.len() as f64;
    assert!((0.83..0.98).contains(&covered), "{covered} of outcomes are inside");
    // there is no noise to share
    for rho in [0.0, 1.0] {
        let given = model.ask(&unknown).under(t).rho(rho).answers().unwrap();
        let gap = |a: &Units, b: &Units| {
            first_elements(a).iter().zip(first_elements(b)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        assert!(gap(&given.point, &answers.point) < 1e-4 * deviation);
        assert!(gap(&given.upper, &answers.upper) < 1e-2 * deviation);
    }
}

#[test]
fn answers_agree_with_the_outcomes_of_fresh_units() {
    let model = fit(&table(TableWorld::ConfoundedByX, 500, 1).data, Base::Mlp);
    let fresh = table(TableWorld::ConfoundedByX, 1500, 2);
    check_answers(&model, &fresh, 0.7);

    let unknown = without_outcome(&fresh.data, false, |_| true);
    let effects = model.ask(&unknown).effect(0.3, 0.7).rho(1.0).answers().unwrap();
    let (to, from) = (outcomes_under(&fresh, 0.7), outcomes_under(&fresh, 0.3));
    let truth: Vec<f64> = to.iter().zip(&from).map(|(to, from)| to - from).collect();
    let (found, expected) = (mean(&first_elements(&effects.point)), mean(&truth));
    assert!((found - expected).abs() < 0.15 * standard_deviation(&truth), "{found} for {expected}");
    let mut averages = Averages::new(&model, 0.9);
    averages.add(&effects);
    let groups: Vec<EffectGroup> = averages.finish().iter().map(|average| average.group).collect();
    assert!(groups.contains(&EffectGroup::All) && !groups.contains(&EffectGroup::Ok));
    assert!(!groups.iter().any(|group| matches!(group, EffectGroup::Class(_))), "no class was inferred");
    let plain = model.compare_plain(&unknown, &[0.3], &[0.7], Default::default()).unwrap();
    assert!(plain.is_empty());
}

#[test]
fn a_class_that_drives_the_treatment_is_not_inferred_from_the_treatment_asked_about() {
    let model = fit(&table(TableWorld::ClassDrivesTreatment, 500, 1).data, Base::Linear);
    assert_eq!(model.class_weights(), ClassWeights::CovariatesAndTreatment);
    let fresh = table(TableWorld::ClassDrivesTreatment, 1000, 2);
    for t in [0.35, 0.65] {
        check_answers(&model, &fresh, t);
    }
    // the treatment received, if it is known, tells of the class
    let class_share = |treated: bool| {
        let unknown = without_outcome(&fresh.data, treated, |_| true);
        model.ask(&unknown).under(0.5).answers().unwrap().posterior
    };
    let spread = |posterior: &[f32]| {
        standard_deviation(&posterior.iter().step_by(2).map(|&p| f64::from(p)).collect::<Vec<_>>())
    };
    let (treated, untreated) = (class_share(true), class_share(false));
    assert!(spread(&treated) > 2.0 * spread(&untreated), "{} {}", spread(&treated), spread(&untreated));
}

#[test]
fn units_with_an_outcome_have_the_same_answers_beside_others() {
    let world = table(TableWorld::BinaryTreatment, 120, 1);
    let model = fit(&world.data, Base::Linear);
    let half = without_outcome(&world.data, false, |i| i % 2 == 1);
    let (all, mixed) = (
        model.ask(&world.data).under(1.0).answers().unwrap(),
        model.ask(&half).under(1.0).answers().unwrap(),
    );
    for i in 0..120 {
        assert_eq!(mixed.diagnoses[i].no_outcome, i % 2 == 1);
        if i % 2 == 0 {
            assert_eq!((mixed.point.row(i), mixed.lower.row(i)), (all.point.row(i), all.lower.row(i)));
        }
    }
}

#[test]
fn series_without_outcome_are_answered_by_the_mixture_over_classes() {
    let model = {
        let data = Oscillator::default().simulate(400, 1).unwrap().data;
        let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
        Fit::new(config).run(&data).unwrap()
    };
    let fresh = Oscillator::default().simulate(400, 2).unwrap();
    let unknown = without_outcome(&fresh.data, false, |_| true);
    let answers = model.ask(&unknown).under(0.6).answers().unwrap();
    assert!(answers.diagnoses.iter().all(|diagnosis| diagnosis.no_outcome));
    // the mean over units of every element
    let d = answers.point.elements();
    let truth: Vec<Vec<f32>> = (0..400).map(|i| fresh.outcome(i, &[0.6])).collect();
    let mut inside = 0;
    for j in 0..d {
        let found = mean(&(0..400).map(|i| f64::from(answers.point.row(i)[j])).collect::<Vec<_>>());
        let expected = mean(&truth.iter().map(|y| f64::from(y[j])).collect::<Vec<_>>());
        assert!((found - expected).abs() < 0.15, "element {j}: {found} for {expected}");
        let is_inside =
            |i: &usize| (answers.lower.row(*i)[j]..=answers.upper.row(*i)[j]).contains(&truth[*i][j]);
        inside += (0..400).filter(is_inside).count();
    }
    let covered = inside as f64 / (400 * d) as f64;
    assert!((0.83..=1.0).contains(&covered), "{covered}");
    let known = model.ask(&fresh.data).under(0.6).answers().unwrap();
    let width =
        |i: usize, answers: &crate::ask::Answers| answers.upper.row(i)[d - 1] - answers.lower.row(i)[d - 1];
    let wider = (0..400).filter(|&i| width(i, &answers) > width(i, &known)).count();
    assert!(wider > 350, "{wider}");
}

#[test]
fn fits_and_verdicts_need_outcomes() {
    let world = table(TableWorld::Single, 60, 1);
    let one = without_outcome(&world.data, true, |i| i == 7);
    let error = Fit::new(FitConfig::default()).run(&one).unwrap_err();
    assert_eq!(error.to_string(), "y, unit 7: no outcome was observed");
    assert!(error.hint().unwrap().contains("can be asked about"));
    let config = FitConfig {
        classes: Classes::Given(1),
        base: Base::Linear,
        members: Some(2),
        ..FitConfig::default()
    };
    let model = Fit::new(config).run(&world.data).unwrap();
    assert!(model.verdicts(&one, Default::default()).is_err());
}
