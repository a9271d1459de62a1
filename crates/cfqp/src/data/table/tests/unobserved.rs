//! Tables of units without an outcome, which a model can be asked about.

use super::*;
use crate::Result;

const TRAINING: &str = "id,age,dose,y\na,30,0.5,1\nb,40,0.7,2\nc,50,0.9,3\n";

fn layout(folder: &Folder) -> Layout {
    Table::read(folder.write("a.csv", TRAINING), &wide_spec("age", "dose", "y")).unwrap().layout
}

fn ask(layout: &Layout, path: &std::path::Path, new_treatments: usize) -> Result<ReadUnits> {
    let rules = UnitRules { missing_x: false, missing_outcome: true, new_treatments };
    UnitReader::open_by_rules(layout, &path.into(), rules, 100)?.read_all()
}

#[test]
fn units_without_outcome_are_read_for_questions_only() {
    let folder = Folder::new();
    let layout = layout(&folder);
    let path = folder.write("b.csv", "age,dose,y\n30,0.5,1\n40,0.7,\n50,,NA\n60,,4\n");
    let ReadUnits { batch, summary } = ask(&layout, &path, 0).unwrap();
    let seen = |i: usize| (batch.data.has_outcome(i), batch.data.has_treatment(i));
    assert_eq!([0, 1, 2].map(seen), [(true, true), (false, true), (false, false)]);
    assert_eq!((batch.data.len(), summary.units), (3, 3));
    assert_eq!(summary.dropped()[0].reason, DropReason::MissingTreatment, "it has an outcome");
    let strict = layout.read(&path, true).unwrap();
    assert_eq!((strict.batch.data.len(), strict.summary.dropped().len()), (1, 2));
}

#[test]
fn the_columns_of_outcomes_and_with_them_those_of_treatments_may_be_absent() {
    let folder = Folder::new();
    let layout = layout(&folder);
    for (name, text, treated) in [("b.csv", "age,dose\n30,0.5\n", true), ("c.csv", "ward;age\nx;30\n", false)]
    {
        let path = folder.write(name, text);
        let data = ask(&layout, &path, 0).unwrap().batch.data;
        assert_eq!((data.len(), data.x().values()), (1, &[30.0][..]), "{text}");
        assert_eq!((data.has_outcome(0), data.has_treatment(0)), (false, treated), "{text}");
        let error = layout.read(&path, true).unwrap_err().to_string();
        assert!(error.contains("there is no column"), "{error}");
    }
    let error = ask(&layout, &folder.write("d.csv", "age,y\n30,1\n"), 0).unwrap_err().to_string();
    assert!(error.ends_with("there is no column `dose`"), "{error}");
}

#[test]
fn a_new_treatment_is_never_missing() {
    let folder = Folder::new();
    let layout = layout(&folder);
    let t = ["dose", "planned"].map(TreatmentColumn::number).to_vec();
    let asked = Layout { t, ..layout };
    let path = folder.write("b.csv", "age,planned\n30,0.5\n40,\n");
    let ReadUnits { batch, summary } = ask(&asked, &path, 1).unwrap();
    assert_eq!(batch.data.t().mask_row(0), Some(&[false, true][..]));
    assert_eq!((batch.data.len(), summary.dropped()[0].count), (1, 1));
}

#[test]
fn a_unit_may_have_no_samples_after_its_treatment() {
    let folder = Folder::new();
    let (series, treated_at) = (strings("p"), Some(TreatedAt::Number(1.0)));
    let spec = TableSpec { series, treated_at, ..long_spec() };
    let training = "id,time,dose,p\na,0,1,1\na,1,1,2\na,2,1,3\nb,0,2,1\nb,1,2,4\nb,2,2,5\n";
    let layout = Table::read(folder.write("a.csv", training), &spec).unwrap().layout;
    let path = folder.write("b.csv", "id,time,dose,p\nc,0,,1\nc,1,,2\nd,0,,1\nd,1,,2\nd,2,,3\n");
    let ReadUnits { batch, summary } = ask(&layout, &path, 0).unwrap();
    assert_eq!((batch.ids.text(0), batch.data.len()), ("c".to_owned(), 1));
    assert!(!batch.data.has_outcome(0) && !batch.data.has_treatment(0));
    assert_eq!(summary.dropped()[0].reason, DropReason::MissingTreatment);
}

#[test]
fn a_treatment_with_levels_may_be_missing_too() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "age,drug,dose,y\n30,A,1,1\n40,B,2,2\n50,C,1,3\n60,A,2,4\n");
    let layout = Table::read(&path, &wide_spec("age", "drug,dose", "y")).unwrap().layout;
    let path = folder.write("b.csv", "age,drug,dose,y\n30,,,\n40,C,,\n50,B,1,2\n60,,2,1\n70,D,,\n");
    let ReadUnits { batch, summary } = ask(&layout, &path, 0).unwrap();
    let t = batch.data.t();
    assert_eq!(t.mask_row(0), Some(&[false, false, false][..]));
    assert_eq!((t.mask_row(1), &t.row(1)[..2]), (Some(&[true, true, false][..]), &[0.0, 1.0][..]));
    assert_eq!((t.mask_row(2), &t.row(2)[..]), (Some(&[true, true, true][..]), &[1.0, 0.0, 1.0][..]));
    // a unit with an outcome needs its drug; drug D is unknown
    assert_eq!((batch.data.len(), summary.dropped().iter().map(|d| d.count).sum::<usize>()), (3, 2));
    let absent = ask(&layout, &folder.write("c.csv", "age\n30\n"), 0).unwrap();
    assert_eq!(absent.batch.data.t().mask_row(0), Some(&[false, false, false][..]));
}
