use super::*;
use crate::data::Ids;
use crate::sim::Oscillator;
use crate::{Base, Classes, FitConfig, Resources, fit};

fn world(classes: usize) -> (Part, Fitted) {
    let data = Oscillator::default().simulate(300, 1).unwrap().data;
    let config = FitConfig { classes: Classes::Given(classes), base: Base::Linear, ..FitConfig::default() };
    let fitted = fit(&data, None, &config, &Resources::default(), &()).unwrap();
    (Part { ids: Ids::Rows((0..data.len()).collect()), data, moments: None }, fitted)
}

#[test]
fn the_parts_of_a_report_agree_with_each_other() {
    let (part, fitted) = world(3);
    let report = Report::new(&fitted, &part, None, &ReportSpec::default()).unwrap();
    assert_eq!((report.data.units, report.verdicts.len(), report.classes.len()), (300, 5, 3));
    assert_eq!(report.classes.iter().map(|class| class.units).sum::<usize>(), 300);
    let effects = &report.effects;
    assert_eq!(effects.outcomes[0].histogram.counts.concat().iter().sum::<usize>(), 300);
    // the mean under the high treatment less that under the low one is the class's effect
    for class in &report.classes {
        let (name, [low, _, high]) = &class.responses[0];
        let group = format!("class {}", class.class);
        let average = effects.averages.iter().find(|a| a.outcome == *name && a.group == group).unwrap();
        assert!((high - low - average.effect).abs() < 1e-3, "{name}: {low}, {high}, {}", average.effect);
    }
    assert!(report.curves.outcomes.iter().all(|o| o.classes.iter().all(|curve| curve.mean.len() == STEPS)));
    let held: Vec<f64> = report.evidence.calibration.iter().map(|(_, held)| *held).collect();
    assert!(held.windows(2).all(|pair| pair[0] <= pair[1]), "wider intervals hold more: {held:?}");
    assert!(report.units.len() >= 6 && report.units.iter().all(|unit| unit.answer.len() == 40));
    assert!(serde_json::to_string(&report).unwrap().contains("\"typical of class 2\""));
}

#[test]
fn one_class_and_chosen_units_are_told_too() {
    let (part, fitted) = world(1);
    let chosen = part.pick(&[7, 3]).unwrap();
    let spec = ReportSpec { from: Some(vec![0.3]), to: Some(vec![0.6]), ..ReportSpec::default() };
    let report = Report::new(&fitted, &part, Some(&chosen), &spec).unwrap();
    assert_eq!((report.question.from[0], report.question.to[0]), (0.3, 0.6));
    assert_eq!(report.units.iter().map(|unit| &unit.id[..]).collect::<Vec<_>>(), ["7", "3"]);
    assert_eq!((report.classes.len(), report.classes[0].share), (1, 1.0));
    let wrong = ReportSpec { from: Some(vec![0.3, 0.4]), ..ReportSpec::default() };
    assert!(Report::new(&fitted, &part, None, &wrong).is_err());
}
