//! Cells as people write them: dates, percentages, currencies, decimal commas, spellings of yes and no.

use super::*;

fn read(text: &str, spec: &TableSpec) -> Table {
    let folder = Folder::new();
    Table::read(folder.write("a.csv", text), spec).unwrap()
}

#[test]
fn percentages_currencies_and_thousands_are_numbers() {
    let text = "price,t,y\n\"$1,234.50\",5%,\"1,234,567\"\n$7,10 %,\"2,345\"\n";
    let table = read(text, &wide_spec("price", "t", "y"));
    assert_eq!(table.data.x().values(), [1234.5, 7.0]);
    assert_eq!(table.data.t().values(), [5.0, 10.0]);
    assert_eq!(table.data.y().values(), [1_234_567.0, 2345.0], "the first number shows what a comma is");
    assert_eq!(table.layout.decimal, Some('.'));
    let note = |i: usize| table.summary.columns[i].note.clone().unwrap();
    assert_eq!(note(0), "read as a number, currency and thousands separators removed in 2 of 2 cells");
    assert_eq!(note(1), "read as a number, % removed in 2 of 2 cells");
}

#[test]
fn a_single_comma_is_never_guessed() {
    let xty = wide_spec("a", "t", "y");
    let text = "a;t;y\n1,234;1;2\n2,345;2;3\n";
    let spec = |decimal: Option<char>| TableSpec { delimiter: Some(';'), decimal, ..xty.clone() };
    assert_error(
        text,
        &spec(None),
        "column `a`: 2 cells may have a decimal comma or a thousands separator: `1,234` in line 2, `2,345` in line 3",
        "set `decimal` to '.'",
    );
    assert_eq!(read(text, &spec(Some('.'))).data.x().values(), [1234.0, 2345.0]);
    assert_eq!(read(text, &spec(Some(','))).data.x().values(), [1.234, 2.345]);
    let commas = "a;t;y\n1,5;1;2\n2,5;2;3\n";
    assert_error(commas, &spec(None), "column `a`: 2 cells have a decimal comma", "set `decimal` to ','");
    assert_error(commas, &spec(Some('.')), "column `a`: 2 cells have a decimal comma", "`decimal`");
    let points = "a;t;y\n1.5;1;2\n2.5;2;3\n";
    assert_error(points, &spec(Some(',')), "column `a`: 2 cells have a decimal point", "`decimal`");
    assert_error("a;t;y\n1,5;1;2\n", &xty, "only one column", "`delimiter` to ';' and `decimal` to ','");
    // texts stay categories, also if some look like numbers
    let kinds = read("a,t,y\nx1,1,2\n5%,2,3\nx2,2,3\n", &xty);
    assert_eq!(kinds.summary.columns[0].categories, Some(strings("5%,x1,x2")));
    assert_eq!(kinds.summary.warnings.last().unwrap().kind(), "numbers_among_texts");
}

#[test]
fn dates_are_days_since_the_first() {
    let folder = Folder::new();
    let text = "d,t,y\n01.03.2024,1,2\n15.04.2024,2,3\n,2,3\n";
    let spec = wide_spec("d", "t", "y");
    let table = read(text, &spec);
    assert_eq!(table.data.x().values(), [0.0, 45.0, 0.0]);
    assert_eq!(table.data.x().mask_row(2), Some(&[false][..]));
    let column = &table.summary.columns[0];
    assert_eq!((&column.kind[..], column.note.as_deref()), ("date", Some("read as days since 2024-03-01")));
    // another file counts from the same day
    let other = folder.write("b.csv", "d,t,y\n2024-03-11T12:00:00Z,1,2\n");
    assert_eq!(table.layout.read(&other, true).unwrap().batch.data.x().values(), [10.5]);
    let json = serde_json::to_string(&table.layout).unwrap();
    assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), table.layout);
    let parts = read(text, &TableSpec { date_parts: true, ..spec.clone() });
    assert_eq!(parts.data.x().shape(), [20]);
    assert_eq!((parts.data.x().row(1)[0], parts.data.x().row(1)[4]), (45.0, 1.0), "April");
    let bad = folder.write("c.csv", "d,t,y\nsoon,1,2\n12,1,2\n2024-03-01,1,2\n");
    let error = table.layout.read(&bad, true).unwrap_err().to_string();
    assert!(
        error.ends_with("column `d`: 2 cells are not dates: `soon` in line 2, `12` in line 3"),
        "{error}"
    );
}

#[test]
fn the_order_of_day_and_month_is_not_guessed() {
    let spec = wide_spec("d", "t", "y");
    let unclear = "d,t,y\n03/04/2024,1,2\n05/06/2024,2,3\n";
    assert_error(unclear, &spec, "2 dates whose day may be the first number or the second", "`date_format`");
    let days = |text: &str, spec: &TableSpec| read(text, spec).data.x().values()[1];
    let dates = "d,t,y\n03/04/2024,1,2\n06/06/2024,2,3\n";
    for (order, expected) in [(DateOrder::DayFirst, 64.0), (DateOrder::MonthFirst, 94.0)] {
        assert_eq!(days(dates, &TableSpec { date_format: Some(order), ..spec.clone() }), expected);
    }
    let american = "d,t,y\n03/04/2024,1,2\n03/14/2024,2,3\n";
    assert_eq!(days(american, &spec), 10.0);
    let both = "d,t,y\n31/12/2024,1,2\n12/31/2024,2,3\n";
    assert_error(both, &spec, "2 dates whose day", "`date_format`");
    assert_error("d,t,y\n01.03.24,1,2\n", &spec, "`01.03.24` is not a date", "four digits");
}

#[test]
fn spellings_of_yes_and_no_are_one_category_each() {
    let folder = Folder::new();
    let table = read("a,t,y\nyes,1,1\n Yes ,2,2\nNO,3,3\nno,4,4\ny,5,5\n", &wide_spec("a", "t", "y"));
    let column = &table.summary.columns[0];
    assert_eq!(
        (column.categories.clone(), column.category_counts.clone()),
        (Some(strings("no,yes")), Some(vec![2, 3]))
    );
    assert_eq!(table.data.x().values()[..4], [0.0, 1.0, 0.0, 1.0]);
    let other = folder.write("b.csv", "a,t,y\nTrue,1,1\n0,2,2\n");
    let read = table.layout.read(&other, true).unwrap().batch.data;
    assert_eq!(read.x().values(), [0.0, 1.0, 1.0, 0.0]);
}

#[test]
fn all_other_columns_or_none_can_be_covariates() {
    let text = "id,a,b,c,t,y\nu,1,2,3,4,5\nv,2,3,4,5,6\n";
    let all = TableSpec { id: Some("id".into()), except: strings("b"), ..wide_spec("*", "t", "y") };
    assert_eq!(read(text, &all).data.x().values(), [1.0, 3.0, 2.0, 4.0]);
    let typo = TableSpec { except: strings("bb"), ..all.clone() };
    assert_error(text, &typo, "except: there is no column `bb`", "did you mean");
    let none = read(text, &TableSpec { except: vec![], ..wide_spec("", "t", "y") });
    assert_eq!((none.data.x().shape(), none.data.x().values()), (&[1][..], &[0.0, 0.0][..]));
    assert!(none.layout.is_sound() && none.summary.warnings.contains(&Warning::NoCovariates));
    assert_eq!(none.layout.columns(), strings("t,y"));
}

#[test]
fn samples_at_the_same_time_are_averaged() {
    let text = "id,time,a,b,dose\np,1,1,1,5\np,2,2,2,5\np,3,3,3,5\np,3,5,,5\n";
    let table = read(text, &long_spec());
    assert_eq!(table.data.y().values(), [4.0, 3.0]);
    assert_eq!((table.summary.averaged, table.summary.grid.unwrap().step), (1, 1.0));
}

#[test]
fn times_can_be_dates() {
    let folder = Folder::new();
    let text = "id,time,a,b,dose\np,2024-03-01,1,1,5\np,2024-03-02,2,2,5\np,2024-03-03T00:00,3,3,5\n";
    let fixed = TableSpec { treated_at: Some(TreatedAt::Column("2024-03-02".into())), ..long_spec() };
    let table = read(text, &fixed);
    assert_eq!(
        (table.data.x().values(), table.data.y().values()),
        (&[1.0, 2.0, 1.0, 2.0][..], &[3.0, 3.0][..])
    );
    let samples = table.layout.samples().unwrap();
    assert_eq!((samples.grid.step, &samples.treated_at), (1.0, &TreatedAt::Number(1.0)));
    let path = folder.write("b.csv", text.replace("2024-03-0", "0").replace(",01,", ",01.03.2024,"));
    assert!(table.layout.read(&path, true).is_err());
    assert_error(text, &long_spec(), "treated_at: it is a number, but the times are dates", "2024-03-01");
    let column = TableSpec { treated_at: Some(TreatedAt::Column("at".into())), ..long_spec() };
    let text = "id,time,a,b,dose,at\np,01.03.2024,1,1,5,01.03.2024\np,05.03.2024,2,2,5,\n";
    assert_eq!(read(text, &column).data.y().values(), [2.0, 2.0]);
    let mixed = text.replace(",5,01.03.2024", ",5,3");
    assert_error(&mixed, &column, "holds dates and the other numbers", "both as dates");
}

#[test]
fn all_problems_are_reported_at_once() {
    let text = "a,t,y\r\n1,2,3\r\nx,2,3\r\n1,oops,3\r\n\r\n1,2\r\n1,?,3\r\n1,2,n.d.\r\n";
    let (message, hint) = read_error(text, &wide_spec("a", "t", "y"));
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(
        lines,
        [
            "4 problems",
            "  line 6: 2 cells, but the header has 3",
            "  line 3, column `a`: `x` is not a number",
            "  column `t`: 2 cells are not numbers: `oops` in line 4, `?` in line 7",
            "  line 8, column `y`: `n.d.` is not a number",
        ]
    );
    assert_eq!(hint.lines().count(), 4);
    // also in a file that is read by a known layout
    let folder = Folder::new();
    let table =
        Table::read(folder.write("a.csv", "a,t,y\n1,2,3\n2,3,4\n"), &wide_spec("a", "t", "y")).unwrap();
    let rows: String =
        (0..9000).map(|i| format!("{i},{},1\n", if i % 4000 == 7 { "x" } else { "1" })).collect();
    let path = folder.write("b.csv", format!("a,t,y\n{rows}1,2,z\n"));
    let mut reader = UnitReader::open(&table.layout, &path, true, 500).unwrap();
    let error = reader.find_map(Result::err).unwrap().to_string();
    assert!(error.contains("2 problems\n  column `t`: 3 cells are not numbers: `x` in line 9"), "{error}");
    assert!(error.contains("line 9002, column `y`: `z` is not a number"), "{error}");
}

#[test]
fn suspicious_values_are_warned_about() {
    let rows: String = (0..60)
        .map(|i| {
            let income = if i % 12 == 0 { -999 } else { 20 + i % 17 };
            let sparse = if i % 5 < 3 { String::new() } else { i.to_string() };
            format!("{i},{income},{sparse},{},{}\n", f64::from(i % 7) / 7.0, f64::from(i) / 3.0)
        })
        .collect();
    let table = read(&format!("row,income,sparse,t,y\n{rows}"), &wide_spec("row,income,sparse", "t", "y"));
    let warning = |kind: &str| {
        let found = table.summary.warnings.iter().find(|warning| warning.kind() == kind);
        found.unwrap_or_else(|| panic!("{kind}: {:?}", table.summary.warnings)).to_string()
    };
    assert!(warning("suspicious_value").starts_with("`income` is -999 in 5 cells, far from"));
    assert_eq!(warning("sparse_columns"), "many cells are missing: sparse (60%)");
    assert!(warning("id_columns").contains("row"));
    assert!(warning("few_units").starts_with("60 units"));
}

#[test]
fn a_model_of_one_format_reads_the_others() {
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch};
    use arrow_array::{TimestampMicrosecondArray, TimestampNanosecondArray};
    use std::sync::Arc;
    let folder = Folder::new();
    let day = 86_400_000_000;
    let kind: DictionaryArray<Int32Type> = vec![Some("a"), Some("b"), None, Some("a")].into_iter().collect();
    let at = [19_783, 19_784, 19_790, 19_783].map(|days| days * day);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("smoker", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]))),
        ("kind", Arc::new(kind)),
        ("visits", Arc::new(Int64Array::from(vec![Some(3), Some(4), None, Some(5)]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(at.to_vec()))),
        (
            "zoned",
            Arc::new(TimestampNanosecondArray::from(at.map(|t| t * 1000).to_vec()).with_timezone("UTC")),
        ),
        ("t", Arc::new(Int64Array::from(vec![1, 2, 3, 4]))),
        ("y", Arc::new(Float64Array::from(vec![0.5, 1.5, 2.5, 3.5]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let parquet = folder.path("a.parquet");
    let file = std::fs::File::create(&parquet).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let csv = folder.write(
        "a.csv",
        "smoker,kind,visits,at,zoned,t,y\nTrue,a,3.0,2024-03-01,2024-03-01 00:00:00+00:00,1,0.5\n\
         ,b,4.0,2024-03-02,2024-03-02 00:00:00+00:00,2,1.5\nFalse,,,2024-03-08,2024-03-08 01:00:00+01:00,3,2.5\n\
         True,a,5.0,2024-03-01,2024-03-01 00:00:00+00:00,4,3.5\n",
    );
    let spec =
        TableSpec { categorical: strings("visits"), ..wide_spec("smoker,kind,visits,at,zoned", "t", "y") };
    let (first, second) = (Table::read(&parquet, &spec).unwrap(), Table::read(&csv, &spec).unwrap());
    let by_layout = |table: &Table, path: &std::path::Path| table.layout.read(path, true).unwrap().batch.data;
    assert_eq!(by_layout(&first, &csv), first.data);
    assert_eq!(by_layout(&second, &parquet), second.data);
    assert_eq!(first.data.x().values(), second.data.x().values());
    // another delimiter is found, because the columns are known
    let semicolons = std::fs::read_to_string(&csv).unwrap().replace(',', ";");
    assert_eq!(by_layout(&first, &folder.write("b.csv", semicolons)), first.data);
}
