use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::config::{Base, Classes, FitConfig};
use crate::fit::Fit;
use crate::plain::PlainMethod;
use crate::stream;

/// y = slope (x + t) + noise, with t around x.
fn line(slope: f32, levels: bool) -> Dataset {
    let rng = &mut stream(6, &["verdicts"]);
    let mut normal = || Distribution::<f32>::sample(&StandardNormal, rng);
    let (mut x, mut t, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..400 {
        let (own, dose) = (normal(), normal());
        let dose = if levels { f32::from(u8::from(dose > 0.0)) } else { 0.5 * own + dose };
        x.push(own);
        t.push(dose);
        y.push(slope * (own + dose) + normal());
    }
    let units = |values| Units::new("a", vec![1], values).unwrap();
    Dataset::new(units(x), units(t), units(y)).unwrap()
}

fn fit(data: &Dataset, classes: Classes) -> Model {
    let config = FitConfig { classes, base: Base::Linear, max_classes: 2, ..FitConfig::default() };
    Fit::new(config).run(data).unwrap()
}

fn find(verdicts: &[Verdict], assumption: Assumption) -> &Verdict {
    verdicts.iter().find(|verdict| verdict.assumption == assumption).unwrap()
}

#[test]
fn a_model_agrees_with_plain_estimates_of_its_own_data_and_not_of_others() {
    for levels in [false, true] {
        let data = line(2.0, levels);
        let model = fit(&data, Classes::Given(1));
        let compared = &model.compare_plain(&data, &[0.0], &[1.0], AskOptions::default()).unwrap()[0];
        assert_eq!(compared.reference().unwrap().method, PlainMethod::DoublyRobust);
        assert_eq!(compared.estimates.len(), if levels { 3 } else { 2 });
        assert!((compared.effect - 2.0).abs() < 0.4 && compared.standard_error < 0.3, "{compared:?}");
        assert!(!compared.disagrees, "{compared:?}");
        let verdicts = model.verdicts(&data, AskOptions::default()).unwrap();
        let last = verdicts.last().unwrap();
        assert_eq!((last.assumption, last.grade), (Assumption::PlainAgreement, Grade::Ok), "{last:?}");
        // the same units with another response
        let other = line(-1.0, levels);
        let verdicts = model.verdicts(&other, AskOptions::default()).unwrap();
        assert_eq!((verdicts[0].assumption, verdicts[0].grade), (Assumption::PlainAgreement, Grade::Failed));
        assert!(verdicts[0].sentence.contains("disagrees with"), "{:?}", verdicts[0]);
    }
}

#[test]
fn predictive_power_is_ok_where_outcomes_can_be_predicted() {
    let grade = |slope: f32| {
        let data = line(slope, false);
        let verdicts = fit(&data, Classes::Given(1)).verdicts(&data, AskOptions::default()).unwrap();
        let verdict = find(&verdicts, Assumption::PredictivePower);
        (verdict.grade, verdict.figure.unwrap())
    };
    let (good, r2) = grade(2.0);
    // the variances of 2 (1.5 x + noise of t) and of the noise
    assert!(good == Grade::Ok && (r2 - 13.0 / 14.0).abs() < 0.03, "{r2}");
    let (none, r2) = grade(0.0);
    assert!(none > Grade::Ok && r2 < 0.05, "{r2}");
}

#[test]
fn nothing_is_claimed_about_a_test_that_was_not_run() {
    let data = line(2.0, false);
    let given = fit(&data, Classes::Given(1));
    assert!(given.fit_report().notes.is_empty(), "{:?}", given.fit_report().notes);
    let verdicts = given.verdicts(&data, AskOptions::default()).unwrap();
    for assumption in [Assumption::NumberOfClasses, Assumption::AgreementOfStarts] {
        let verdict = find(&verdicts, assumption);
        assert_eq!((verdict.grade, verdict.figure), (Grade::NotTested, None), "{verdict:?}");
    }
    let found = fit(&data, Classes::Auto);
    let verdicts = found.verdicts(&data, AskOptions::default()).unwrap();
    assert_ne!(find(&verdicts, Assumption::NumberOfClasses).grade, Grade::NotTested);
}

#[test]
fn smaller_figures_may_be_better() {
    let grade = |figure: f64, ok: f64, failed: f64| {
        Verdict::new(Assumption::Overlap, figure, VerdictLimits { ok, failed }, String::new()).grade
    };
    assert_eq!(
        [0.9, 0.7, 0.5].map(|figure| grade(figure, 0.8, 0.6)),
        [Grade::Ok, Grade::Doubtful, Grade::Failed]
    );
    assert_eq!(
        [1.0, 3.0, 5.0].map(|figure| grade(figure, 2.0, 4.0)),
        [Grade::Ok, Grade::Doubtful, Grade::Failed]
    );
}
