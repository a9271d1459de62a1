//! Treatments with levels.

use super::*;

const DRUGS: &str = "id,age,drug,dose,y\na,30,B,0.5,1\nb,40,A,0.7,2\nc,50,C,0.9,3\nd,60,,1,4\ne,70,A,1,5\n";

fn column(name: &str, levels: &str) -> TreatmentColumn {
    TreatmentColumn { levels: Some(strings(levels)), ..TreatmentColumn::number(name) }
}

#[test]
fn texts_are_levels_encoded_without_the_first() {
    let folder = Folder::new();
    let path = folder.write("a.csv", DRUGS);
    let table = Table::read(&path, &wide_spec("age", "drug,dose", "y")).unwrap();
    assert_eq!(table.layout.t, [column("drug", "A,B,C"), TreatmentColumn::number("dose")]);
    assert_eq!(table.layout.treatment_elements(), 3);
    let t = [[1.0, 0.0, 0.5], [0.0, 0.0, 0.7], [0.0, 1.0, 0.9], [0.0, 0.0, 1.0]];
    assert_eq!(table.data.t().values(), t.concat());
    let summary = &table.summary;
    assert_eq!(summary.dropped[0].reason, DropReason::MissingTreatment);
    let counts: Vec<_> =
        summary.treatment_levels[0].levels.iter().map(|l| (l.level.as_str(), l.units)).collect();
    assert_eq!(counts, [("A", 2), ("B", 1), ("C", 1)]);
    assert_eq!((summary.treatments.len(), &summary.treatments[0].name[..]), (1, "dose"));
    assert_eq!(summary.columns[1].kind, "3 categories");
    let json = serde_json::to_string(&table.layout).unwrap();
    assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), table.layout);
    assert!(table.layout.is_sound());
}

#[test]
fn an_unknown_level_drops_the_unit() {
    let folder = Folder::new();
    let layout = Table::read(folder.write("a.csv", DRUGS), &wide_spec("age", "drug", "y")).unwrap().layout;
    let other = folder.write("b.csv", "age,drug,y\n1,C,1\n2,D,2\n");
    let read = layout.read(&other, true).unwrap();
    assert_eq!(read.batch.data.t().values(), [0.0, 1.0]);
    let unknown = DropReason::UnknownCategory { column: "drug".into(), category: "D".into() };
    assert_eq!(read.summary.dropped()[0].reason, unknown);
}

#[test]
fn numbers_are_levels_only_if_declared() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "x,arm,dose,y\n1,10,1,1\n2,9,2,2\n3,0,3,3\n4,10.0,4,4\n");
    let numbers = Table::read(&path, &wide_spec("x", "arm,dose", "y")).unwrap();
    assert!(!numbers.layout.has_levels());
    assert_eq!(numbers.summary.treatments[0].values, [0.0, 9.0, 10.0]);
    let kinds = |t_kind: Vec<TreatmentKind>| TableSpec { t_kind, ..wide_spec("x", "arm,dose", "y") };
    let declared = kinds(vec![TreatmentKind::Category, TreatmentKind::Number]);
    let table = Table::read(&path, &declared).unwrap();
    assert_eq!(table.layout.t[0], column("arm", "0,9,10"));
    assert_eq!(table.data.t().row(3)[..2], [0.0, 1.0], "10.0 is 10");
    assert_eq!(table.layout.t[1], TreatmentColumn::number("dose"));
    let all = Table::read(&path, &kinds(vec![TreatmentKind::Category])).unwrap();
    assert!(all.layout.t.iter().all(|column| column.levels.is_some()));
    let three = kinds(vec![TreatmentKind::Auto; 3]);
    let error = Table::read(&path, &three).unwrap_err();
    assert!(error.to_string().contains("t_kind: 3 kinds for 2 treatments"), "{error}");
}

#[test]
fn treatments_that_cannot_be_used_are_problems() {
    let spec = wide_spec("x", "t", "y");
    let one = "x,t,y\n1,A,1\n2,A,2\n";
    assert_error(one, &spec, "the treatment `t` is `A` in every row", "another level");
    let mixed = "x,t,y\n1,1,1\n2,2,2\n3,high,3\n";
    assert_error(mixed, &spec, "column `t`", "set `t_kind` to category if the cells are names");
    let numbers = TableSpec { t_kind: vec![TreatmentKind::Number], ..spec.clone() };
    assert_error("x,t,y\n1,A,1\n2,B,2\n", &numbers, "are not numbers", "set `t_kind` to category");
    let many: String = (0..70).map(|i| format!("{i},L{i},{i}\n")).collect();
    assert_error(&format!("x,t,y\n{many}"), &spec, "more than 64 categories", "merge rare categories");
    let dates = "x,t,y\n1,2024-03-01,1\n2,2024-03-02,2\n";
    assert_error(dates, &spec, "column `t`", "dates can be covariates");
}

#[test]
fn a_level_without_units_is_a_problem() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "x,t,y\n1,A,1\n2,B,2\n3,C,\n4,A,3\n");
    let summary = Table::read(&path, &wide_spec("x", "t", "y")).unwrap().summary;
    let is_about = |problem: &&String| problem.contains("no unit kept received the level `C`");
    assert!(summary.problems.iter().any(|problem| is_about(&problem)), "{:?}", summary.problems);
}

#[test]
fn levels_in_a_table_of_samples() {
    let folder = Folder::new();
    let unit = |id: &str, drug: &str| format!("{id},1,1,1,{drug}\n{id},3,2,2,\n");
    let rows = [unit("p", "B"), unit("q", "A"), unit("r", "C"), unit("s", "")].concat();
    let path = folder.write("a.csv", format!("id,time,a,b,dose\n{rows}"));
    let table = Table::read(&path, &long_spec()).unwrap();
    assert_eq!(table.layout.t, [column("dose", "A,B,C")]);
    assert_eq!(table.data.t().values(), [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(table.summary.dropped[0].reason, DropReason::MissingTreatment);
    let other = folder.write("b.csv", format!("id,time,a,b,dose\n{}{}", unit("p", "D"), unit("q", "C")));
    let read = table.layout.read(&other, true).unwrap();
    assert_eq!((read.batch.data.len(), read.summary.dropped().len()), (1, 1));
    let both = folder.write("c.csv", "id,time,a,b,dose\np,1,1,1,A\np,3,2,2,B\nq,1,1,1,A\nq,3,1,1,A\n");
    let error = Table::read(&both, &long_spec()).unwrap_err();
    assert!(error.to_string().contains("but unit p has A"), "{error}");
}
