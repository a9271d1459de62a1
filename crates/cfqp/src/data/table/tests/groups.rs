//! Tables with a column that names the subject of a unit.

use super::*;

const PLANTS: &str = "plant,age,dose,y\nb,1,0.5,1\n a,2,0.6,2\nb ,3,0.7,3\n,4,0.8,4\n7,5,0.9,5\n";

fn plants() -> TableSpec {
    TableSpec { group: Some("plant".into()), ..wide_spec("*", "dose", "y") }
}

#[test]
fn rows_of_a_subject_may_be_anywhere_in_a_wide_table() {
    let folder = Folder::new();
    let path = folder.write("a.csv", PLANTS);
    let table = Table::read(&path, &plants()).unwrap();
    assert_eq!(table.data.groups(), Some(&[0, 1, 0, 2][..]));
    assert_eq!(table.data.x().values(), [1.0, 2.0, 3.0, 5.0], "the subject is not a covariate");
    assert_eq!(table.layout.group.as_deref(), Some("plant"));
    let dropped = &table.summary.dropped[0];
    assert_eq!(
        (dropped.reason.to_string(), &dropped.first[..]),
        ("the subject `plant` is missing".into(), "line 5")
    );

    // batches of one unit would separate the rows of a subject
    let mut reader = UnitReader::open(&table.layout, &path, true, 1).unwrap();
    let batch = reader.next().unwrap().unwrap();
    assert_eq!((batch.data.groups(), reader.next().is_none()), (Some(&[0, 1, 0, 2][..]), true));
    assert_eq!(batch.subjects, Some(Ids::Text(strings("b,a,b,7"))));
    assert_eq!(reader.summary().units, 4);
}

#[test]
fn batches_of_one_table_share_subjects() {
    let folder = Folder::new();
    let layout = Table::read(folder.write("a.csv", PLANTS), &plants()).unwrap().layout;
    let read = || layout.read(folder.path("a.csv"), true).unwrap().batch;
    let joined = UnitBatch::concat(vec![read(), read()]).unwrap();
    assert_eq!(joined.data.groups(), Some(&[0, 1, 0, 2, 0, 1, 0, 2][..]));
    assert_eq!(joined.pick(&[3, 7, 1]).unwrap().data.groups(), Some(&[0, 0, 1][..]));
}

#[test]
fn a_table_without_the_column_of_subjects_is_an_error_that_names_it() {
    let folder = Folder::new();
    let layout = Table::read(folder.write("a.csv", PLANTS), &plants()).unwrap().layout;
    let error = layout.read(folder.write("b.csv", "age,dose,y\n1,0.5,1\n"), true).unwrap_err();
    assert!(error.to_string().ends_with("b.csv: there is no column `plant`"), "{error}");
    assert_error(
        PLANTS,
        &TableSpec { group: Some("pot".into()), ..plants() },
        "group: there is no column `pot`",
        "plant",
    );
    let same = TableSpec { id: Some("plant".into()), ..plants() };
    assert_error(PLANTS, &same, "group: column `plant` already has another role", "several units share");
    let covariate = TableSpec { x: strings("plant,age"), ..plants() };
    assert_error(PLANTS, &covariate, "x: column `plant` already has another role", "one role");
}

#[test]
fn a_layout_without_subjects_is_written_and_read_as_before() {
    let folder = Folder::new();
    let spec = wide_spec("age", "dose", "y");
    let layout = Table::read(folder.write("a.csv", PLANTS), &spec).unwrap().layout;
    let json = serde_json::to_string(&layout).unwrap();
    assert!(!json.contains("group"));
    assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), layout);
    let grouped = Table::read(folder.path("a.csv"), &plants()).unwrap().layout;
    let json = serde_json::to_string(&grouped).unwrap();
    assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), grouped);
}

#[test]
fn large_integers_are_different_subjects() {
    // they are equal as f64
    let first = 1_i64 << 53;
    let numbers = |values: &[f32]| OutputColumn::Numbers(values.to_vec());
    let mut rows = OutputBatch::default();
    rows.push("plant", OutputColumn::Integers(vec![first, first + 1, first]));
    rows.push("age", numbers(&[1.0, 2.0, 3.0]));
    rows.push("dose", numbers(&[0.5, 0.6, 0.7]));
    rows.push("y", numbers(&[1.0, 2.0, 3.0]));
    let folder = Folder::new();
    for name in ["a.csv", "a.parquet", "a.arrow"] {
        let path = folder.path(name);
        write_table(&path, [Ok(rows.clone())].into_iter()).unwrap();
        assert_eq!(Table::read(&path, &plants()).unwrap().data.groups(), Some(&[0, 1, 0][..]), "{name}");
    }
}

/// Three units of samples over time, the first and the last of one patient.
const VISITS: &str =
    "id,who,time,a,b,dose\n1,p,1,1,1,0.5\n1,p,3,1,1,\n2,q,1,2,2,0.6\n2,,3,2,2,\n3,p,1,3,3,0.7\n3,p,3,3,3,\n";

#[test]
fn a_unit_of_a_long_table_belongs_to_one_subject() {
    let folder = Folder::new();
    let spec = TableSpec { group: Some("who".into()), ..long_spec() };
    let path = folder.write("a.csv", VISITS);
    let table = Table::read(&path, &spec).unwrap();
    assert_eq!(table.data.groups(), Some(&[0, 1, 0][..]));
    // the same if the table is too large to be read into memory
    let mut reader =
        UnitReader::open_with_limit(&table.layout, &(&path).into(), UnitRules::observed(true), 1, 0).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().data.groups(), Some(&[0, 1, 0][..]));
    assert!(reader.next().is_none());

    let two = VISITS.replace("1,p,3", "1,q,3");
    assert_error(
        &two,
        &spec,
        "line 3, column `who`: q, but unit 1 has p in line 2",
        "belongs to one subject",
    );
    let none = VISITS.replace("2,q,1", "2,,1");
    let table = Table::read(folder.write("b.csv", none), &spec).unwrap();
    assert_eq!(table.summary.dropped[0].reason, DropReason::MissingSubject { column: "who".into() });
}
