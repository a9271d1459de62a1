//! Every kind of file in, the same units out; every mistake with its place and a way out.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::sheet::Cells;
use super::*;
use crate::{Dataset, Units};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn strings(names: &str) -> Vec<String> {
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn wide(x: &str, t: &str, y: &str) -> TableSpec {
    TableSpec { x: strings(x), t: strings(t), y: strings(y), ..TableSpec::default() }
}

fn long() -> TableSpec {
    TableSpec {
        id: Some("id".into()),
        time: Some("time".into()),
        series: strings("a,b"),
        t: strings("dose"),
        treated_at: Some(TreatedAt::Number(2.0)),
        ..TableSpec::default()
    }
}

/// The message of reading such a CSV file, without the path, and the way out.
fn refused(text: impl AsRef<[u8]>, spec: &TableSpec) -> (String, String) {
    let folder = Folder::new();
    let error = Table::read(&folder.put("a.csv", text), spec).unwrap_err();
    let message = error.to_string();
    let place = message.split_once("a.csv: ").map_or(message.clone(), |(_, rest)| rest.to_owned());
    (place, error.hint().unwrap().to_owned())
}

const SMALL: &str = "id,age,sex,dose,y\na,30,f,0.5,1.5\nb,40,m,0.7,2.5\nc,,f,0.9,\n";

#[test]
fn a_wide_table_is_read_with_categories_and_gaps() {
    let folder = Folder::new();
    let spec = TableSpec { id: Some("id".into()), ..wide("age,sex", "dose", "y") };
    let table = Table::read(&folder.put("a.csv", SMALL), &spec).unwrap();
    assert_eq!(table.ids, Ids::Text(strings("a,b")));
    assert_eq!(table.data.x().values(), [30.0, 1.0, 0.0, 40.0, 0.0, 1.0]);
    assert_eq!((table.data.t().values(), table.data.y().values()), (&[0.5, 0.7][..], &[1.5, 2.5][..]));
    let counts = &table.counts;
    assert_eq!((counts.rows, counts.units, counts.lost()), (3, 2, 1));
    assert_eq!((&counts.dropped[0].why[..], &counts.dropped[0].first[..]), ("no outcome was seen", "line 4"));
    assert_eq!(counts.columns[1].categories, Some(strings("f,m")));
    assert_eq!((counts.columns[0].missing, counts.columns[0].low), (1, Some(30.0)));
    assert_eq!((counts.treatments[0].low, counts.treatments[0].high), (0.5, 0.7));
    assert!(counts.problems[0].contains("2 units are too few"));
}

#[test]
fn a_layout_reads_another_table_in_parts_and_tells_what_it_drops() {
    let folder = Folder::new();
    let spec = TableSpec { id: Some("id".into()), ..wide("age,sex", "dose", "y") };
    let layout = Table::read(&folder.put("a.csv", SMALL), &spec).unwrap().layout;
    let text = "sex,id,y,dose,age\nm,p,1,0.5,20\nx,q,1,0.5,20\nf,r,1,,20\nf,s,2,0.6,21\nm,t,3,0.6,\n";
    let path = folder.put("b.csv", text);
    let mut parts = Parts::open(&layout, &path, false, 1).unwrap();
    let ids: Vec<Ids> = parts.by_ref().map(|part| part.unwrap().ids).collect();
    assert_eq!(ids, [Ids::Text(strings("p")), Ids::Text(strings("s"))]);
    let dropped = parts.tally.dropped();
    assert_eq!((parts.tally.rows, parts.tally.units, dropped.len()), (5, 2, 3));
    assert!(dropped.iter().any(|d| d.why.contains("`sex` is `x`, which the model has never seen")));
    let error = layout.read(&folder.put("c.csv", "sex,id,y,Dose,age\n"), true).unwrap_err();
    assert!(error.to_string().ends_with("there is no column `dose`"), "{error}");
    assert!(error.hint().unwrap().starts_with("is `Dose` meant?"));
    let json = serde_json::to_string(&layout).unwrap();
    assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), layout);
    assert!(layout.is_sound());
}

#[test]
fn quirks_of_csv_files_do_no_harm() {
    let folder = Folder::new();
    let quirks =
        "\u{feff}\"a\",t , y\r\n\"1.5\",NA,2\r\n 2 ,0.5,\"3\"\r\n\r\n\"\",1,4\nnull,1,5\nN/A,2,NaN\n";
    let table = Table::read(&folder.put("a.csv", quirks), &wide("a", "t", "y")).unwrap();
    assert_eq!(table.data.t().values(), [0.5, 1.0, 1.0]);
    assert_eq!(table.data.x().mask().unwrap(), [true, false, false]);
    assert_eq!((table.counts.rows, table.ids), (5, Ids::Rows(vec![1, 2, 3])));
    let names = "\"a, b\",t,y\n1,1,1\n2,2,2\n";
    let spec = TableSpec { x: vec!["a, b".into()], ..wide("", "t", "y") };
    assert_eq!(Table::read(&folder.put("b.csv", names), &spec).unwrap().data.len(), 2);
    let tabs = folder.put("c.tsv", "a\tt\ty\n1\t1\t1\n2\t2\t-99\n3\t2\t1\n");
    let spec = TableSpec { missing: strings("-99"), ..wide("a", "t", "y") };
    assert_eq!(Table::read(&tabs, &spec).unwrap().data.len(), 2);
    let semicolons = folder.put("d.csv", "a;t;y\n1;1;true\n2;2;False\n");
    let spec = TableSpec { delimiter: Some(';'), ..wide("a", "t", "y") };
    assert_eq!(Table::read(&semicolons, &spec).unwrap().data.y().values(), [1.0, 0.0]);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, SMALL.as_bytes()).unwrap();
    let zipped = folder.put("e.csv.gz", gz.finish().unwrap());
    assert_eq!(Table::read(&zipped, &wide("age", "dose", "y")).unwrap().data.len(), 2);
}

#[test]
fn mistakes_in_a_csv_file_are_named_with_their_place() {
    let xty = wide("a", "t", "y");
    let says = |text: &str, spec: &TableSpec, problem: &str, hint: &str| {
        let (found, way) = refused(text, spec);
        assert!(found.contains(problem), "{found} / {problem}");
        assert!(way.contains(hint), "{way} / {hint}");
    };
    says("", &xty, "the file is empty", "header");
    says("a,t,y\n", &xty, "a header but no rows", "row per unit");
    says("a,t,y\n1,2\n", &xty, "line 2: 2 cells, the header has 3", "in quotes");
    says("a,t,a\n1,2,3\n", &xty, "columns 1 and 3 are both called `a`", "name of its own");
    says("a;t;y\n1;2;3\n", &xty, "its header is one column, `a;t;y`", "--delimiter ';'");
    says("a\tt\ty\n1\t2\t3\n", &xty, "its header is one column", "--delimiter $'\\t'");
    says("a,t,y\n1,2,3\n1,high,3\n", &xty, "line 3, column `t`: `high` is not a number", "--missing 'high'");
    says("a,t,y\n1,2,3\noops,2,3\n", &xty, "line 3, column `a`: `oops` is not a number", "--categorical a");
    says("a,t,y\n1,\"0,5\",3\n", &xty, "`0,5` is not a number", "decimals with a point");
    says("a,t,y\n1,2,inf\n", &xty, "line 2, column `y`: `inf`", "mend");
    says(
        "a,t,y\n2024-03-01,2,3\n",
        &xty,
        "line 2, column `a`: `2024-03-01` is a date",
        "since a fixed moment",
    );
    says("a,t,y\n,2,3\n,1,2\n", &xty, "column `a` holds no value", "leave it out");
    says("a,t,y\n1,,3\n2,,3\n", &xty, "column `t` holds no value", "fill it in");
    says("age,t,y\n1,2,3\n", &wide("agee", "t", "y"), "x: there is no column `agee`", "did you mean `age`?");
    says("a,t,y\n1,2,3\n", &wide("a,t", "t", "y"), "x: column `t` has another role", "one role");
    says("a,t,y\n1,2,3\n", &wide("", "t", "y"), "there is no --x", "--time");
    says("a,t,y\n1,2,3\n", &wide("a", "", "y"), "there is no --t", "treatment");
    says(
        "a,t,y\n1,2,3\n1,3,4\n",
        &TableSpec { id: Some("a".into()), ..wide("y", "t", "a") },
        "another role",
        "",
    );
    let dup = TableSpec { id: Some("id".into()), ..xty.clone() };
    says("id,a,t,y\n1,1,2,3\n1,2,3,4\n", &dup, "units 1 and 2 are both called 1", "--time");
    let (found, _) = refused(b"a,t,y\n1,2,\xff\n", &xty);
    assert_eq!(found, "line 2: it is not UTF-8 text");
    let (found, way) = refused(b"\xff\xfea\0,\0", &xty);
    assert!(found == "it is UTF-16 text" && way.contains("iconv"));
    let names: String = (0..70).map(|i| format!("n{i},{i},1\n")).collect();
    says(&format!("a,t,y\n{names}"), &xty, "column `a`: more than 64 categories", "an id?");
}

#[test]
fn numbers_can_be_categories_and_words_can_be_missing() {
    let folder = Folder::new();
    let path = folder.put("a.csv", "ward,t,y\n3,1,1\n12,2,2\n3,3,3\n?,4,4\n");
    let spec = TableSpec { categorical: strings("ward"), missing: strings("?"), ..wide("ward", "t", "y") };
    let table = Table::read(&path, &spec).unwrap();
    assert_eq!(table.counts.columns[0].categories, Some(strings("12,3")));
    assert_eq!(table.data.x().values(), [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(table.data.x().mask_row(3), Some(&[false, false][..]));
}

/// The same table in every format.
fn sheet() -> Sheet {
    let mut sheet = Sheet::default();
    sheet.push("id", Cells::Integers(vec![7, 8, 9]));
    sheet.push("sex", Cells::Text(strings("f,m,f")));
    sheet.push("dose", Cells::Numbers(vec![0.1, 0.2, 0.3]));
    sheet.push("y", Cells::Numbers(vec![1.0 / 3.0, 1e-7, 123_456.79]));
    sheet
}

#[test]
fn all_formats_give_the_same_units() {
    let folder = Folder::new();
    let spec = TableSpec { id: Some("id".into()), ..wide("sex", "dose", "y") };
    let read = |name: &str| {
        let path = folder.path(name);
        write_sheets(&path, std::iter::once(Ok(sheet()))).unwrap();
        Table::read(&path, &spec).unwrap()
    };
    let (csv, parquet, arrow) = (read("a.csv"), read("a.parquet"), read("a.arrow"));
    assert_eq!(csv.data, parquet.data);
    assert_eq!(csv.data, arrow.data);
    assert_eq!(parquet.ids, Ids::Numbers(vec![7, 8, 9]));
    assert_eq!(csv.ids, Ids::Text(strings("7,8,9")));
    assert_eq!(csv.layout, parquet.layout);
    // without a known ending, the first bytes tell
    std::fs::rename(folder.path("a.parquet"), folder.path("table")).unwrap();
    assert_eq!(Table::read(&folder.path("table"), &spec).unwrap().data, csv.data);
}

#[test]
fn arrow_streams_and_data_frames_columns_are_read() {
    use arrow_array::types::Int32Type;
    use arrow_array::{BooleanArray, Date32Array, DictionaryArray, Int32Array, RecordBatch, UInt8Array};
    use std::sync::Arc;
    let folder = Folder::new();
    let kind: DictionaryArray<Int32Type> = vec![Some("a"), None, Some("b")].into_iter().collect();
    let columns: Vec<(&str, arrow_array::ArrayRef)> = vec![
        ("kind", Arc::new(kind)),
        ("t", Arc::new(UInt8Array::from(vec![1, 2, 3]))),
        ("y", Arc::new(Int32Array::from(vec![Some(-4), Some(5), None]))),
        ("flag", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("day", Arc::new(Date32Array::from(vec![1, 2, 3]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let path = folder.path("a.arrows");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let table = Table::read(&path, &wide("kind,flag", "t", "y")).unwrap();
    assert_eq!(table.data.y().values(), [-4.0, 5.0]);
    assert_eq!(table.data.x().values(), [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(table.data.x().mask_row(1), Some(&[false, false, true, true][..]));
    let error = Table::read(&path, &wide("day", "t", "y")).unwrap_err();
    assert!(error.to_string().contains("column `day` holds dates"));
}

#[test]
fn lists_become_series_and_images() {
    let folder = Folder::new();
    let mut sheet = Sheet::default();
    let values = |n: usize| (0..n).map(|i| i as f32).collect::<Vec<_>>();
    sheet.push("a", Cells::Lists(6, values(18)));
    sheet.push("b", Cells::Lists(6, values(18)));
    sheet.push("t", Cells::Numbers(vec![1.0, 2.0, 3.0]));
    sheet.push("y", Cells::Numbers(vec![1.0, 2.0, 3.0]));
    let path = folder.path("a.parquet");
    write_sheets(&path, std::iter::once(Ok(sheet))).unwrap();
    let shape = |spec: TableSpec| Table::read(&path, &spec).map(|table| table.data.x().shape().to_vec());
    assert_eq!(shape(wide("a", "t", "y")).unwrap(), [1, 6]);
    assert_eq!(shape(wide("a,b", "t", "y")).unwrap(), [2, 6]);
    let image = TableSpec { x_shape: vec![1, 2, 3], ..wide("a", "t", "y") };
    let table = Table::read(&path, &image).unwrap();
    assert_eq!((table.data.x().shape(), table.data.x().row(1)[0]), (&[1, 2, 3][..], 6.0));
    let wrong = TableSpec { x_shape: vec![4], ..wide("a", "t", "y") };
    assert!(shape(wrong).unwrap_err().to_string().contains("[4] is not an array of 6 elements"));
    assert!(shape(wide("a,t", "y", "b")).unwrap_err().to_string().contains("`t` holds single values"));
    assert!(shape(wide("b", "a", "y")).unwrap_err().to_string().contains("holds lists, but it is t"));
    assert_eq!(table.layout.read(&path, true).unwrap().0.data, table.data);
}

const LONG: &str = "\
id,time,a,b,dose,sex
p,1,1,10,0.5,f
p,2,2,20,0.5,f
p,3,3,30,0.5,f
p,4,4,40,0.5,f
q,2,5,,0.7,m
q,3.1,6,60,,m
q,3.3,8,60,,m
r,1,1,1,0.9,f
r,2,1,1,0.9,f
";

#[test]
fn samples_are_put_on_a_grid_around_the_treatment() {
    let folder = Folder::new();
    let path = folder.put("a.csv", LONG);
    let spec = TableSpec { x: strings("sex"), step: Some(1.0), ..long() };
    let table = Table::read(&path, &spec).unwrap();
    assert_eq!((table.data.x().shape(), table.data.y().shape()), (&[4, 2][..], &[2, 2][..]));
    // a, b, sex=f, sex=m at times 1 and 2
    assert_eq!(table.data.x().row(0), [1.0, 2.0, 10.0, 20.0, 1.0, 1.0, 0.0, 0.0]);
    assert_eq!(table.data.y().row(0), [3.0, 4.0, 30.0, 40.0]);
    assert_eq!(table.data.x().mask_row(1).unwrap()[..4], [false, true, false, false]);
    assert_eq!(table.data.y().row(1), [7.0, 0.0, 60.0, 0.0], "two samples at one point are averaged");
    assert_eq!(table.ids, Ids::Text(strings("p,q")));
    let counts = &table.counts;
    assert_eq!((counts.rows, counts.units, counts.averaged), (9, 2, 1));
    assert_eq!(counts.dropped[0].why, "nothing was seen after the treatment");
    assert_eq!(counts.grid, Some(Grid { step: 1.0, x: (-1, 0), y: (1, 2) }));
    assert_eq!(table.layout.read(&path, true).unwrap().0.data, table.data);
    assert_eq!(table.layout.read(&path, true).unwrap().0.moments, Some(vec![2.0, 2.0]));
    let some = TableSpec { y: strings("b"), before: Some(0.5), ..long() };
    let table = Table::read(&path, &some).unwrap();
    assert_eq!((table.data.x().shape(), table.data.y().shape()), (&[2, 1][..], &[1, 2][..]));
    assert_eq!(table.counts.outside, 2);
}

#[test]
fn samples_that_stand_together_are_read_part_by_part() {
    let folder = Folder::new();
    let mut text = "id,time,a,b,dose\n".to_owned();
    for i in 0..3000 {
        for time in [3, 1, 2, 4] {
            let dose = if i % 50 == 7 { String::new() } else { (i % 9).to_string() };
            text += &format!("u{i},{time},{},{},{dose}\n", i * time, i - time);
        }
    }
    let path = folder.put("a.csv", &text);
    let table = Table::read(&path, &long()).unwrap();
    assert_eq!((table.data.len(), table.counts.rows), (2940, 12_000));
    let parts = |path: &Path, gathered: u64| {
        let mut parts = Parts::open_by_size(&table.layout, path, true, 100, gathered).unwrap();
        let all: Vec<Part> = parts.by_ref().map(|part| part.unwrap()).collect();
        assert_eq!((parts.tally.rows, parts.tally.units), (12_000, 2940));
        assert_eq!(parts.tally.dropped()[0].units, 60);
        all
    };
    let whole =
        |parts: &[Part]| Dataset::concat(&parts.iter().map(|part| &part.data).collect::<Vec<_>>()).unwrap();
    let sorted = parts(&path, 0);
    assert!(sorted.len() > 2 && sorted.iter().all(|part| part.data.len() < 1200));
    assert_eq!(whole(&sorted), table.data);
    assert_eq!(sorted[1].ids.len(), sorted[1].moments.as_ref().unwrap().len());
    // a unit whose rows are scattered: all is held in memory, and the units are the same
    let mut lines: Vec<&str> = text.lines().collect();
    let moved = lines.remove(4);
    lines.push(moved);
    let scattered = folder.put("b.csv", lines.join("\n"));
    assert_eq!(whole(&parts(&scattered, 0)), table.data);
}

#[test]
fn a_treatment_at_a_time_of_its_own_is_the_origin() {
    let folder = Folder::new();
    let text = "id,time,a,b,dose,at\n1,10,1,1,1,11\n1,12,2,2,1,11\n2,50,1,1,2,51\n2,52,3,3,2,\n";
    let spec = TableSpec { treated_at: Some(TreatedAt::Column("at".into())), ..long() };
    let table = Table::read(&folder.put("a.csv", text), &spec).unwrap();
    assert_eq!(table.data.y().values(), [2.0, 2.0, 3.0, 3.0]);
    assert_eq!(table.counts.grid.unwrap().step, 2.0);
}

#[test]
fn mistakes_in_a_long_table_are_named_with_their_place() {
    let says = |text: &str, spec: &TableSpec, problem: &str, hint: &str| {
        let (found, way) = refused(text, spec);
        assert!(found.contains(problem), "{found} / {problem}");
        assert!(way.contains(hint), "{way} / {hint}");
    };
    let twice = LONG.replace("p,4,", "p,3,");
    says(&twice, &long(), "line 5: `id` p has a sample at `time` 3 already, in line 4", "remove one");
    let varies = LONG.replace("p,3,3,30,0.5", "p,3,3,30,0.6");
    says(&varies, &long(), "line 4, column `dose`: 0.6, but unit p has 0.5 in line 2", "one treatment");
    let changes = LONG.replace("q,3.1,6,60,,m", "q,3.1,6,60,,f");
    let sexed = TableSpec { x: strings("sex"), ..long() };
    says(&changes, &sexed, "line 7, column `sex`: f, but unit q has m in line 6", "--series");
    let late = TableSpec { treated_at: Some(TreatedAt::Number(99.0)), ..long() };
    says(LONG, &late, "y: no sample was taken after the treatment", "--treated-at");
    let early = TableSpec { treated_at: Some(TreatedAt::Number(0.0)), ..long() };
    says(LONG, &early, "x: no sample was taken up to the treatment", "--treated-at");
    let fine = TableSpec { step: Some(1e-5), ..long() };
    says(LONG, &fine, "points at distance 0.00001", "--before");
    says(&LONG.replace("p,1,", "p,08:15,"), &long(), "column `time`: `08:15` is a date", "minutes");
    says(LONG, &TableSpec { id: None, ..long() }, "there is no --id", "unit");
    says(
        LONG,
        &TableSpec { treated_at: None, ..long() },
        "there is no --treated-at",
        "time of the treatment",
    );
    says(LONG, &TableSpec { series: vec![], ..long() }, "there is no --series", "measured");
    says(LONG, &TableSpec { step: Some(-1.0), ..long() }, "step is not above 0", "length");
    let column = TreatedAt::Column("when".into());
    says(LONG, &TableSpec { treated_at: Some(column), ..long() }, "there is no column `when`", "columns are");
}

/// `data`, whose x and y have the same channels, as samples at 1, 2, ...
fn write_long(path: &Path, data: &Dataset) {
    let (channels, before) = (data.x().shape()[0], data.x().shape()[1]);
    let after = data.y().shape()[1];
    let steps = before + after;
    let n = data.len();
    let at = |channel: usize, i: usize, s: usize| match s < before {
        true => data.x().row(i)[channel * before + s],
        false => data.y().row(i)[channel * after + s - before],
    };
    let each = || (0..n).flat_map(|i| (0..steps).map(move |s| (i, s)));
    let mut sheet = Sheet::default();
    sheet.push("id", Cells::Integers(each().map(|(i, _)| i as i64).collect()));
    sheet.push("time", Cells::Integers(each().map(|(_, s)| s as i64 + 1).collect()));
    for (channel, name) in ["a", "b"].iter().enumerate().take(channels) {
        sheet.push(*name, Cells::Numbers(each().map(|(i, s)| at(channel, i, s)).collect()));
    }
    sheet.push("dose", Cells::Numbers(each().map(|(i, _)| data.t().row(i)[0]).collect()));
    write_sheets(path, std::iter::once(Ok(sheet))).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the numbers, a table of samples gives the bits that an .npz file gives.
    #[test]
    fn a_long_table_and_arrays_are_the_same_units(
        bits in prop::collection::vec(any::<u32>(), 30),
        kind in prop::sample::select(vec!["csv", "parquet", "arrow"]),
    ) {
        let finite = |bits: &u32| Some(f32::from_bits(*bits)).filter(|v| v.is_finite()).unwrap_or(1.5);
        let values: Vec<f32> = bits.iter().map(finite).collect();
        let data = Dataset::new(
            Units::new("x", vec![2, 3], values[..12].to_vec()).unwrap(),
            Units::new("t", vec![1], values[12..14].to_vec()).unwrap(),
            Units::new("y", vec![2, 4], values[14..].to_vec()).unwrap(),
        ).unwrap();
        let folder = Folder::new();
        let (long_path, npz) = (folder.path(&format!("a.{kind}")), folder.path("a.npz"));
        write_long(&long_path, &data);
        data.write_npz(&npz, &[]).unwrap();
        let spec = TableSpec { treated_at: Some(TreatedAt::Number(3.0)), ..long() };
        let table = Table::read(&long_path, &spec).unwrap();
        let bits = |units: &Units| units.values().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let arrays = Dataset::read_npz(&npz).unwrap();
        prop_assert_eq!(bits(table.data.x()), bits(arrays.x()));
        prop_assert_eq!(bits(table.data.t()), bits(arrays.t()));
        prop_assert_eq!(bits(table.data.y()), bits(arrays.y()));
        prop_assert_eq!(table.data.x().mask(), None);
    }

    /// Text that is no table is an error, not a panic.
    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-c,;\"\n\r0-9. \u{feff}é-]{0,80}") {
        let folder = Folder::new();
        let path = folder.put("a.csv", format!("a,b,c\n{text}"));
        let _ = Table::read(&path, &wide("a", "b", "c"));
        let _ = Table::read(&folder.put("b.csv", text), &wide("a", "b", "c"));
    }
}

#[test]
fn damaged_files_are_errors() {
    let folder = Folder::new();
    for name in ["a.parquet", "a.arrow"] {
        let path = folder.path(name);
        write_sheets(&path, std::iter::once(Ok(sheet()))).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for cut in (0..bytes.len()).step_by(7) {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            if let Err(error) = Table::read(&path, &wide("sex", "dose", "y")) {
                assert!(error.to_string().contains(name) && error.hint().is_some(), "{error}");
            } else {
                panic!("{name} cut at {cut} was read");
            }
        }
        for place in (0..bytes.len()).step_by(3) {
            let mut bytes = bytes.clone();
            bytes[place] ^= 0x15;
            std::fs::write(&path, &bytes).unwrap();
            let _ = Table::read(&path, &wide("sex", "dose", "y"));
        }
    }
}
