use rand::RngExt as _;
use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::ask::Contrast;
use crate::config::{Base, Classes, FitConfig};
use crate::data::table::UnitBatch;
use crate::fit::Fit;
use crate::stream;

/// How units of two classes are treated.
#[derive(Clone, Copy, PartialEq)]
enum Assigned {
    /// Amounts from -1 to 1.
    Dose,
    /// 0 or 1.
    Levels,
    /// Amounts around 1 in the first class and -1 in the second.
    ByClass,
}

/// Two classes of equal size with slopes 2 and -1, 3 apart; `missing` of the outcomes were not observed.
fn two_classes(assigned: Assigned, missing: usize) -> Dataset {
    let rng = &mut stream(7, &["contrast"]);
    let (mut x, mut t, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..600 {
        let own: f32 = rng.random_range(-1.0..1.0);
        let noise: f32 = StandardNormal.sample(rng);
        let spread: f32 = StandardNormal.sample(rng);
        let first = rng.random_range(0.0..1.0) < 0.5;
        let drawn: f32 = rng.random_range(-1.0..1.0);
        let dose = match assigned {
            Assigned::Dose => drawn,
            Assigned::Levels => f32::from(u8::from(drawn > 0.0)),
            Assigned::ByClass => spread + if first { 1.0 } else { -1.0 },
        };
        x.push(own);
        t.push(dose);
        y.push(own + if first { 3.0 + 2.0 * dose } else { -dose } + 0.2 * noise);
    }
    let mask: Vec<bool> = (0..600).map(|i| i >= missing).collect();
    let units = |values| Units::new("a", vec![1], values).unwrap();
    let y = Units::with_mask("y", vec![1], y, (missing > 0).then_some(mask)).unwrap();
    Dataset::new(units(x), units(t), y).unwrap()
}

fn fit(data: &Dataset) -> Model {
    fit_base(data, Base::Linear)
}

fn fit_base(data: &Dataset, base: Base) -> Model {
    let config = FitConfig { classes: Classes::Given(2), base, ..FitConfig::default() };
    Fit::new(config).run(data).unwrap()
}

fn find(verdicts: &[Verdict], assumption: Assumption) -> &Verdict {
    verdicts.iter().find(|verdict| verdict.assumption == assumption).unwrap()
}

#[test]
fn a_contrast_is_judged_by_its_own_treatments() {
    let data = two_classes(Assigned::Dose, 0);
    let model = fit(&data);
    let options = AskOptions::default();
    let near = model.contrast_verdicts(&data, &[-0.5], &[0.5], options).unwrap();
    assert!(near.iter().all(|verdict| verdict.grade == Grade::Ok), "{near:?}");
    let names: Vec<&str> = near.iter().map(|verdict| verdict.assumption.name()).collect();
    assert_eq!(names, ["overlap", "calibration", "identification", "agreement with plain estimates"]);
    // typical treatments are on support, these are not
    let far = model.contrast_verdicts(&data, &[-0.5], &[4.0], options).unwrap();
    let support = find(&far, Assumption::Overlap);
    assert_eq!((support.grade, support.figure), (Grade::Failed, Some(0.0)), "{far:?}");
    assert!(support.sentence.ends_with("ask about treatments that units received"), "{support:?}");
    assert_eq!(find(&model.verdicts(&data, options).unwrap(), Assumption::Overlap).grade, Grade::Ok);
    // a regression that extrapolates agrees with everything
    let very_far = model.contrast_verdicts(&data, &[-0.5], &[400.0], options).unwrap();
    assert_eq!(find(&very_far, Assumption::PlainAgreement).grade, Grade::NotTested, "{very_far:?}");
    // the same in every verdict and in averages
    let all = model.verdicts_for(&data, &[-0.5], &[4.0], options).unwrap();
    assert_eq!(all.len(), 8);
    assert!(far.iter().all(|verdict| find(&all, verdict.assumption) == verdict));
    let mut contrast = Contrast::new(&model, &[-0.5], &[4.0], options);
    let units = UnitBatch::from(data);
    let answers = model.ask(&units.data).effect(-0.5, 4.0).answers().unwrap();
    contrast.add(&units, &answers).unwrap();
    assert_eq!(contrast.finish().unwrap().verdicts, far);
}

#[test]
fn effects_between_few_values_of_the_treatment_are_not_identified() {
    let data = two_classes(Assigned::Levels, 0);
    let model = fit_base(&data, Base::Auto);
    let verdicts = model.contrast_verdicts(&data, &[0.0], &[1.0], AskOptions::default()).unwrap();
    let verdict = find(&verdicts, Assumption::Identification);
    assert_eq!(verdict.grade, Grade::Doubtful, "{verdict:?}");
    assert!(verdict.sentence.ends_with("rely on averages over all units"), "{verdict:?}");
    let effects = model.ask(&data).effect(0.0, 1.0).answers().unwrap();
    let flagged = effects.diagnoses.iter().filter(|diagnosis| diagnosis.not_identified).count();
    assert_eq!(verdict.figure, Some(1.0 - flagged as f64 / 600.0));
}

#[test]
fn a_class_that_drives_the_treatment_explains_a_disagreement() {
    let data = two_classes(Assigned::ByClass, 0);
    let model = fit(&data);
    let options = AskOptions::default();
    let compared = model.compare_plain(&data, &[-1.0], &[1.0], options).unwrap().remove(0);
    // the mean of the slopes, times 2
    assert!((compared.effect - 1.0).abs() < 0.5 && !compared.is_doubly_robust, "{compared:?}");
    assert!(compared.distance.unwrap() > 4.0 && !compared.disagrees, "{compared:?}");
    let verdicts = model.contrast_verdicts(&data, &[-1.0], &[1.0], options).unwrap();
    let verdict = find(&verdicts, Assumption::PlainAgreement);
    assert_eq!((verdict.grade, verdict.figure), (Grade::NotTested, None));
    assert!(verdict.sentence.contains("; the class drives the treatment, "), "{verdict:?}");
}

#[test]
fn units_without_outcomes_count_for_support() {
    let data = two_classes(Assigned::Dose, 0);
    let model = fit(&data);
    let options = AskOptions::default();
    let partly = two_classes(Assigned::Dose, 200);
    let verdicts = model.contrast_verdicts(&partly, &[-0.5], &[0.5], options).unwrap();
    assert!(verdicts.iter().all(|verdict| verdict.grade == Grade::Ok), "{verdicts:?}");
    assert_eq!(verdicts.len(), 4);
    let none = two_classes(Assigned::Dose, 600);
    let verdicts = model.contrast_verdicts(&none, &[-0.5], &[0.5], options).unwrap();
    let calibration = find(&verdicts, Assumption::Calibration);
    assert_eq!((calibration.grade, calibration.figure), (Grade::NotTested, None));
    assert_eq!(find(&verdicts, Assumption::Overlap).grade, Grade::Ok);
    assert!(model.verdicts_for(&none, &[-0.5], &[0.5], options).is_err());
}
