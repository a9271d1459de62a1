use rand::RngExt as _;

use super::context::{CURVE_POINTS, default_contrast};
use super::*;
use crate::ask::StreamBatch;
use crate::config::{Base, Classes};
use crate::data::{Dataset, Units};
use crate::fit::Fit;
use crate::sim::Oscillator;
use crate::stream;

fn fit_oscillators(classes: usize) -> (UnitBatch, Model) {
    let data = Oscillator::default().simulate(300, 1).unwrap().data;
    let config = FitConfig { classes: Classes::Given(classes), base: Base::Linear, ..FitConfig::default() };
    let model = Fit::new(config).run(&data).unwrap();
    (UnitBatch::from(data), model)
}

#[test]
fn the_sections_of_a_report_agree_with_each_other() {
    let (units, model) = fit_oscillators(3);
    let report = Report::new(&model, &units, None, &ReportSpec::default()).unwrap();
    assert_eq!((report.data.units, report.verdicts.len(), report.classes.len()), (300, 7, 3));
    assert_eq!(report.classes.iter().map(|class| class.units).sum::<usize>(), 300);
    let effects = &report.effects;
    // every unit counts for each class by its posterior
    let counted: Vec<f64> =
        effects.outcomes[0].histogram.weights.iter().map(|own| own.iter().sum()).collect();
    assert!((counted.iter().sum::<f64>() - 300.0).abs() < 1e-3, "{counted:?}");
    for (class, counted) in report.classes.iter().zip(&counted) {
        assert!((300.0 * class.share - counted).abs() < 1e-3, "{counted} units of {}", class.class);
    }
    // the mean under the high treatment minus that under the low one is the class's effect
    for class in &report.classes {
        let ClassResponse { name, low, high, .. } = &class.responses[0];
        let group = crate::ask::EffectGroup::Class(class.class);
        let average = effects.averages.iter().find(|a| a.outcome == *name && a.group == group).unwrap();
        assert!((high - low - average.effect).abs() < 1e-3, "{name}: {low}, {high}, {}", average.effect);
    }
    assert_eq!(report.curves.kind, CurveKind::Amounts);
    for outcome in &report.curves.outcomes {
        assert_eq!((outcome.classes.len(), outcome.units_lower.len()), (3, CURVE_POINTS));
        for curve in outcome.classes.iter().chain([&outcome.all]) {
            assert_eq!(curve.mean.len(), CURVE_POINTS);
            let is_inside = |i: usize| curve.lower[i] < curve.mean[i] && curve.mean[i] < curve.upper[i];
            assert!((0..CURVE_POINTS).all(is_inside), "{curve:?}");
        }
    }
    let coverage: Vec<f64> = report.evidence.calibration.iter().map(|point| point.coverage).collect();
    assert!(coverage.windows(2).all(|pair| pair[0] <= pair[1]), "wider intervals cover more: {coverage:?}");
    assert!(report.units.len() >= 6 && report.units.iter().all(|unit| unit.answer.len() == 40));
}

#[test]
fn the_first_outcomes_are_shown_as_observed() {
    let (units, model) = fit_oscillators(1);
    let report = Report::new(&model, &units, None, &ReportSpec::default()).unwrap();
    let DataSummary { observed, outcomes, outcome_count, .. } = &report.data;
    assert_eq!((observed.len(), *outcome_count), (outcomes.len().min(4), outcomes.len()));
    for (own, outcome) in observed.iter().zip(outcomes) {
        assert_eq!((&own.name, own.units, own.range), (&outcome.name, 300, outcome.range));
        assert_eq!(own.histogram.counts[0].iter().sum::<usize>(), 300 * outcome.elements);
        let [against] = &own.by_treatment[..] else { panic!("there is one treatment") };
        assert_eq!((against.points.len(), against.groups.len()), (300, 8));
        assert_eq!(against.groups.iter().map(|group| group.units).sum::<usize>(), 300);
        let mean = |group: &TreatmentGroup| group.units as f64 * group.means[0].mean;
        let mean = against.groups.iter().map(mean).sum::<f64>() / 300.0;
        assert!((mean - outcome.range.mean).abs() < 1e-6, "{mean} and {}", outcome.range.mean);
    }
    assert!(report.dose_curves.is_none(), "the treatment has no levels");
}

#[test]
fn average_effects_stand_beside_plain_estimates() {
    let (units, model) = fit_oscillators(1);
    let report = Report::new(&model, &units, None, &ReportSpec::default()).unwrap();
    let Effects { averages, plain, .. } = &report.effects;
    assert_eq!(plain.len(), report.question.outcomes.len());
    for own in plain {
        let is_own = |average: &&crate::ask::AverageEffect| {
            average.outcome == own.outcome && average.group == crate::ask::EffectGroup::All
        };
        let average = averages.iter().find(is_own).unwrap();
        assert!((average.effect - own.effect).abs() < 1e-6, "{} and {}", average.effect, own.effect);
        assert_eq!((own.units, own.estimates.is_empty()), (300, false));
    }
    let equal = ReportSpec { from: Some(vec![0.5]), to: Some(vec![0.5]), ..ReportSpec::default() };
    assert!(Report::new(&model, &units, None, &equal).unwrap().effects.plain.is_empty());
}

#[test]
fn two_values_of_a_treatment_are_compared_however_rare_one_is() {
    let contrast = |values: Vec<f32>| {
        let [low, high] = default_contrast(&Units::new("t", vec![1], values).unwrap()).unwrap();
        (low.values()[0], high.values()[0])
    };
    let rare = (0..50).map(|i| if i == 7 { 1.0 } else { 3.0 }).collect();
    assert_eq!(contrast(rare), (1.0, 3.0));
    assert_eq!(contrast((0..=50).map(|i| i as f32).collect()), (5.0, 45.0));
}

/// Two classes with slopes 2 and 0.5, the first with 40% of the units. The first covariate drives treatment and outcome, the second
/// changes the effect.
fn confounded(n: usize, levels: bool) -> UnitBatch {
    let rng = &mut stream(5, &["report"]);
    let (mut x, mut t, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..n {
        let (own, other): (f32, f32) = (rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0));
        let drawn: f32 = 0.5 * own + rng.random_range(-1.0..1.0);
        let dose = if levels { f32::from(u8::from(drawn > 0.0)) } else { drawn };
        let slope = if rng.random_range(0.0..1.0) < 0.4 { 2.0 } else { 0.5 };
        x.extend([own, other]);
        t.push(dose);
        y.push(own + (slope + other) * dose + 0.1 * rng.random_range(-1.0..1.0_f32));
    }
    let units = |elements: usize, values| Units::new("a", vec![elements], values).unwrap();
    UnitBatch::from(Dataset::new(units(2, x), units(1, t), units(1, y)).unwrap())
}

fn report_on(units: &UnitBatch, base: Base) -> Report {
    let config = FitConfig { classes: Classes::Given(2), base, ..FitConfig::default() };
    let model = Fit::new(config).run(&units.data).unwrap();
    Report::new(&model, units, None, &ReportSpec::default()).unwrap()
}

#[test]
fn a_treatment_of_two_values_is_asked_about_both_and_shows_no_single_classes() {
    let report = report_on(&confounded(600, true), Base::Auto);
    assert_eq!((report.curves.kind, report.curves.grid.len()), (CurveKind::Values, 2));
    assert_eq!((report.profiles, report.curves.outcomes[0].classes.len()), (ProfileBasis::NotIdentified, 0));
    assert!(report.classes.iter().all(|class| class.covariates.is_empty() && class.responses.is_empty()));
    assert_eq!(report.effects.outcomes[0].histogram.weights.len(), 1);
    let balance = report.balance.unwrap();
    assert_eq!((balance.measure, balance.units.iter().sum::<usize>()), (BalanceMeasure::MeanDifference, 600));
    assert_eq!(balance.covariates[0].name, "x0");
    let (before, after) = balance.largest();
    assert!(before > 0.5 && after.unwrap() < 0.12, "{before} {after:?}");
    assert_eq!(report.data.treatments[0].values.as_deref().unwrap(), ["0", "1"]);
}

#[test]
fn the_covariate_that_changes_the_effect_is_the_strongest_subgroup() {
    let report = report_on(&confounded(600, false), Base::Linear);
    let strongest = &report.effects.subgroups[0];
    assert_eq!((&strongest.covariate[..], strongest.groups.len(), strongest.compared), ("x1", 3, 2));
    assert!(strongest.p_value < 0.001, "{strongest:?}");
    assert!(strongest.groups.windows(2).all(|pair| pair[0].effect < pair[1].effect), "{strongest:?}");
    assert_eq!(strongest.groups.iter().map(|group| group.units).sum::<usize>(), 600);
    let balance = report.balance.unwrap();
    assert_eq!((balance.measure, &balance.covariates[0].name[..]), (BalanceMeasure::Correlation, "x0"));
    let (before, after) = balance.largest();
    assert!(before > 0.3 && after.unwrap() < 0.5 * before, "{before} {after:?}");
    assert_eq!(report.profiles, ProfileBasis::EqualTreatments);
}

#[test]
fn combinations_of_few_values_are_compared_as_they_were_received() {
    let t = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]].concat();
    let [from, to] = default_contrast(&Units::new("t", vec![2], t).unwrap()).unwrap();
    assert_eq!((from.values(), to.values()), (&[0.0, 0.0][..], &[1.0, 0.0][..]));
}

#[test]
fn a_report_is_serialised_with_named_fields() {
    let (units, model) = fit_oscillators(3);
    let report = Report::new(&model, &units, None, &ReportSpec::default()).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["units"][4]["why"], "typical of class 2");
    assert!(json["data"]["outcomes"][0]["range"]["mean"].is_f64());
    assert!(json["classes"][0]["responses"][0]["median"].is_f64());
    assert_eq!(json["evidence"]["calibration"][4]["level"], 0.9);
    assert_eq!(json["verdicts"][0]["limits"]["ok"], 0.9);
    assert_eq!((&json["curves"]["kind"], &json["profiles"]), (&"amounts".into(), &"equal_treatments".into()));
    assert!(json["balance"]["covariates"][0]["before"].is_f64(), "{}", json["balance"]);
}

#[test]
fn one_class_and_chosen_units_are_reported() {
    let (units, model) = fit_oscillators(1);
    let chosen = StreamBatch { units: units.clone(), treatments: None, asked: Some(vec![7, 3]) };
    let spec = ReportSpec { from: Some(vec![0.3]), to: Some(vec![0.6]), ..ReportSpec::default() };
    let report = Report::new(&model, &units, Some(&chosen), &spec).unwrap();
    let asked = [&report.question.from[0], &report.question.to[0]];
    assert_eq!(asked, [&TreatmentValue::Number(0.3), &TreatmentValue::Number(0.6)]);
    assert_eq!(report.units.iter().map(|unit| &unit.id[..]).collect::<Vec<_>>(), ["7", "3"]);
    assert_eq!((report.classes.len(), report.classes[0].share), (1, 1.0));
    let wrong = ReportSpec { from: Some(vec![0.3, 0.4]), ..ReportSpec::default() };
    assert!(Report::new(&model, &units, None, &wrong).is_err());
}

#[test]
fn a_file_is_read_once_for_the_sample_and_the_chosen_units() {
    let (units, model) = fit_oscillators(1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("units.npz");
    units.data.write_npz(&path, &[]).unwrap();
    let read = |ids: &[&str], monitor: &dyn Monitor| {
        let ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
        ReportUnits::read(model.read_observed_units(&path).unwrap(), &ids, monitor)
    };
    let all = read(&[], &()).unwrap().unwrap();
    assert_eq!((all.units, all.rows, all.sample.data.len()), (300, 300, 300));
    assert!(all.chosen.is_none() && all.dropped.is_empty());
    let chosen = read(&["270", " 3"], &()).unwrap().unwrap().chosen.unwrap();
    let ids: Vec<String> = chosen.asked.unwrap().iter().map(|&i| chosen.units.ids.text(i)).collect();
    assert_eq!(ids, ["270", "3"], "in the order in which they were named");
    let missing = read(&["3", "300"], &()).unwrap_err();
    assert!(missing.to_string().contains("unit `300` does not exist"), "{missing}");
    assert!(matches!(read(&[], &Stopped).unwrap_err(), Error::Interrupted));
}

/// Stops everything.
struct Stopped;

impl Monitor for Stopped {
    fn stopped(&self) -> bool {
        true
    }
}

#[test]
fn a_stopped_report_is_not_computed() {
    let (sample, model) = fit_oscillators(1);
    let units =
        ReportUnits { units: sample.data.len(), rows: 300, sample, chosen: None, dropped: Vec::new() };
    let report = Report::from_units(&model, &units, &ReportSpec::default(), &Stopped);
    assert!(matches!(report.unwrap_err(), Error::Interrupted));
}

#[test]
fn a_description_names_outcomes_and_treatments() {
    let (_, model) = fit_oscillators(2);
    let about = serde_json::to_value(model.describe()).unwrap();
    assert_eq!((&about["classes"], &about["base"]), (&2.into(), &"linear".into()));
    assert_eq!(about["treatments"], serde_json::json!([{"name": "t", "levels": null}]));
    let first = serde_json::json!({"name": "y0", "kind": "number", "elements": 20, "levels": null});
    assert_eq!((about["outcomes"].as_array().unwrap().len(), &about["outcomes"][0]), (2, &first));
    assert_eq!((&about["noise_law"], &about["log_scale"]), (&"gaussian".into(), &false.into()));
    assert_eq!(about["fit"]["class_sizes"].as_array().unwrap().len(), 2);
}
