//! Wide tables in CSV files.

use super::*;

#[test]
fn a_wide_table_is_read_with_categories_and_gaps() {
    let folder = Folder::new();
    let spec = TableSpec { id: Some("id".into()), ..wide_spec("age,sex", "dose", "y") };
    let table = Table::read(folder.write("a.csv", SMALL), &spec).unwrap();
    assert_eq!(table.ids, Ids::Text(strings("a,b")));
    assert_eq!(table.data.x().values(), [30.0, 1.0, 0.0, 40.0, 0.0, 1.0]);
    assert_eq!((table.data.t().values(), table.data.y().values()), (&[0.5, 0.7][..], &[1.5, 2.5][..]));
    let summary = &table.summary;
    assert_eq!((summary.rows, summary.units, summary.dropped_units()), (3, 2, 1));
    assert_eq!(summary.dropped[0].reason, DropReason::MissingOutcome);
    assert_eq!(summary.dropped[0].first, "line 4");
    assert_eq!(summary.columns[1].categories, Some(strings("f,m")));
    assert_eq!((summary.columns[0].missing, summary.columns[0].min), (1, Some(30.0)));
    assert_eq!((summary.treatments[0].min, summary.treatments[0].max), (0.5, 0.7));
    assert!(summary.problems[0].contains("2 units are too few"));
}

#[test]
fn a_layout_reads_another_table_in_batches_and_reports_what_it_drops() {
    let folder = Folder::new();
    let spec = TableSpec { id: Some("id".into()), ..wide_spec("age,sex", "dose", "y") };
    let layout = Table::read(folder.write("a.csv", SMALL), &spec).unwrap().layout;
    let text = "sex,id,y,dose,age\nm,p,1,0.5,20\nx,q,1,0.5,20\nf,r,1,,20\nf,s,2,0.6,21\nm,t,3,0.6,\n";
    let path = folder.write("b.csv", text);
    let mut reader = UnitReader::open(&layout, &path, false, 1).unwrap();
    let ids: Vec<Ids> = reader.by_ref().map(|batch| batch.unwrap().ids).collect();
    assert_eq!(ids, [Ids::Text(strings("p")), Ids::Text(strings("s"))]);
    let summary = reader.summary();
    let dropped = summary.dropped();
    assert_eq!((summary.rows, summary.units, dropped.len()), (5, 2, 3));
    let unknown = DropReason::UnknownCategory { column: "sex".into(), category: "x".into() };
    assert!(dropped.iter().any(|d| d.reason == unknown));
    let error = layout.read(folder.write("c.csv", "sex,id,y,Dose,age\n"), true).unwrap_err();
    assert!(error.to_string().ends_with("there is no column `dose`"), "{error}");
    assert!(error.hint().unwrap().starts_with("did you mean 'Dose'?"));
    let json = serde_json::to_string(&layout).unwrap();
    assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), layout);
    assert!(layout.is_sound());
}

#[test]
fn unusual_csv_files_are_read_correctly() {
    let folder = Folder::new();
    let quirks =
        "\u{feff}\"a\",t , y\r\n\"1.5\",NA,2\r\n 2 ,0.5,\"3\"\r\n\r\n\"\",1,4\nnull,1,5\nN/A,2,NaN\n";
    let table = Table::read(folder.write("a.csv", quirks), &wide_spec("a", "t", "y")).unwrap();
    assert_eq!(table.data.t().values(), [0.5, 1.0, 1.0]);
    assert_eq!(table.data.x().mask().unwrap(), [true, false, false]);
    assert_eq!((table.summary.rows, table.ids), (5, Ids::Rows(vec![1, 2, 3])));
    let names = "\"a, b\",t,y\n1,1,1\n2,2,2\n";
    let spec = TableSpec { x: vec!["a, b".into()], ..wide_spec("", "t", "y") };
    assert_eq!(Table::read(folder.write("b.csv", names), &spec).unwrap().data.len(), 2);
    let tabs = folder.write("c.tsv", "a\tt\ty\n1\t1\t1\n2\t2\t-99\n3\t2\t1\n");
    let spec = TableSpec { missing: strings("-99"), ..wide_spec("a", "t", "y") };
    assert_eq!(Table::read(&tabs, &spec).unwrap().data.len(), 2);
    let semicolons = folder.write("d.csv", "a;t;y\n1;1;true\n2;2;False\n");
    let spec = TableSpec { delimiter: Some(';'), ..wide_spec("a", "t", "y") };
    assert_eq!(Table::read(&semicolons, &spec).unwrap().data.y().values(), [1.0, 0.0]);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, SMALL.as_bytes()).unwrap();
    let zipped = folder.write("e.csv.gz", gz.finish().unwrap());
    assert_eq!(Table::read(&zipped, &wide_spec("age", "dose", "y")).unwrap().data.len(), 2);
}

#[test]
fn mistakes_in_a_csv_file_are_errors_with_their_place() {
    let xty = wide_spec("a", "t", "y");
    assert_error("", &xty, "the file is empty", "header");
    assert_error("a,t,y\n", &xty, "a header but no rows", "row per unit");
    assert_error("a,t,y\n1,2\n", &xty, "line 2: 2 cells, but the header has 3", "quoted");
    assert_error("a,t,a\n1,2,3\n", &xty, "columns 1 and 3 are both named `a`", "different name");
    assert_error("a;t;y\n1;2;3\n", &xty, "the header has only one column, `a;t;y`", "`delimiter` to ';'");
    assert_error("a\tt\ty\n1\t2\t3\n", &xty, "the header has only one column", "`delimiter` to a tab");
    assert_error(
        "a,t,y\n1,2,3\n1,high,3\n",
        &xty,
        "line 3, column `t`: `high` is not a number",
        "'high' to `missing`",
    );
    assert_error(
        "a,t,y\n1,2,3\noops,2,3\n",
        &xty,
        "line 3, column `a`: `oops` is not a number",
        "'a' to `categorical`",
    );
    assert_error("a,t,y\n1,\"0,5\",3\n", &xty, "`0,5` has a decimal comma", "set `decimal` to ','");
    assert_error("a,t,y\n1,2,inf\n", &xty, "line 2, column `y`: `inf`", "fix");
    assert_error(
        "a,t,y\n1,2024-03-01,3\n",
        &xty,
        "line 2, column `t`: `2024-03-01` is a date",
        "dates can be covariates",
    );
    assert_error("a,t,y\n,2,3\n,1,2\n", &xty, "column `a` has no values", "leave it out");
    assert_error("a,t,y\n1,,3\n2,,3\n", &xty, "column `t` has no values", "fill it in");
    assert_error(
        "age,t,y\n1,2,3\n",
        &wide_spec("agee", "t", "y"),
        "x: there is no column `agee`",
        "did you mean 'age'?",
    );
    assert_error(
        "a,t,y\n1,2,3\n",
        &wide_spec("a,t", "t", "y"),
        "x: column `t` already has another role",
        "one role",
    );
    assert_error("a,t,y\n1,2,3\n", &wide_spec("a", "t", ""), "y: no column is given", "`time`");
    assert_error("a,t,y\n1,2,3\n", &wide_spec("a", "", "y"), "t: no column is given", "treatment");
    assert_error(
        "a,t,y\n1,2,3\n1,3,4\n",
        &TableSpec { id: Some("a".into()), ..wide_spec("y", "t", "a") },
        "another role",
        "",
    );
    let dup = TableSpec { id: Some("id".into()), ..xty.clone() };
    assert_error("id,a,t,y\n1,1,2,3\n1,2,3,4\n", &dup, "units 1 and 2 both have the id 1", "`time`");
    let (message, _) = read_error(b"a,t,y\n1,2,\xff\n", &xty);
    assert_eq!(message, "line 2: not UTF-8 text");
    let (message, hint) = read_error(b"\xff\xfea\0,\0", &xty);
    assert!(message == "the file is UTF-16 text" && hint.contains("iconv"));
    let names: String = (0..70).map(|i| format!("n{i},{i},1\n")).collect();
    assert_error(&format!("a,t,y\n{names}"), &xty, "column `a` has more than 64 categories", "an id?");
}

#[test]
fn numbers_can_be_categories_and_words_can_be_missing() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "ward,t,y\n3,1,1\n12,2,2\n3,3,3\n?,4,4\n");
    let spec =
        TableSpec { categorical: strings("ward"), missing: strings("?"), ..wide_spec("ward", "t", "y") };
    let table = Table::read(&path, &spec).unwrap();
    assert_eq!(table.summary.columns[0].categories, Some(strings("12,3")));
    assert_eq!(table.data.x().values(), [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(table.data.x().mask_row(3), Some(&[false, false][..]));
}
