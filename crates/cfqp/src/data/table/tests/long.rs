//! Long tables, with one row per sample.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::data::{Dataset, Units};

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
fn samples_are_placed_on_a_grid_around_the_treatment() {
    let folder = Folder::new();
    let path = folder.write("a.csv", LONG);
    let spec = TableSpec { x: strings("sex"), step: Some(1.0), ..long_spec() };
    let table = Table::read(&path, &spec).unwrap();
    assert_eq!((table.data.x().shape(), table.data.y().shape()), (&[4, 2][..], &[2, 2][..]));
    // a, b, sex=f, sex=m at times 1 and 2
    assert_eq!(&table.data.x().row(0)[..], [1.0, 2.0, 10.0, 20.0, 1.0, 1.0, 0.0, 0.0]);
    assert_eq!(&table.data.y().row(0)[..], [3.0, 4.0, 30.0, 40.0]);
    assert_eq!(table.data.x().mask_row(1).unwrap()[..4], [false, true, false, false]);
    assert_eq!(&table.data.y().row(1)[..], [7.0, 0.0, 60.0, 0.0], "two samples at one point are averaged");
    assert_eq!(table.ids, Ids::Text(strings("p,q")));
    let summary = &table.summary;
    assert_eq!((summary.rows, summary.units, summary.averaged), (9, 2, 1));
    assert_eq!(summary.dropped[0].reason, DropReason::NoSamplesAfter);
    assert_eq!(summary.grid, Some(TimeGrid { step: 1.0, x: (-1, 0).into(), y: (1, 2).into() }));
    assert_eq!(table.layout.read(&path, true).unwrap().batch.data, table.data);
    assert_eq!(table.layout.read(&path, true).unwrap().batch.treated_at, Some(vec![2.0, 2.0]));
    let some = TableSpec { y: strings("b"), before: Some(0.5), ..long_spec() };
    let table = Table::read(&path, &some).unwrap();
    assert_eq!((table.data.x().shape(), table.data.y().shape()), (&[2, 1][..], &[1, 2][..]));
    assert_eq!(table.summary.outside, 2);
}

#[test]
fn contiguous_samples_are_read_in_batches() {
    let folder = Folder::new();
    let mut text = "id,time,a,b,dose\n".to_owned();
    for i in 0..3000 {
        for time in [3, 1, 2, 4] {
            let dose = if i % 50 == 7 { String::new() } else { (i % 9).to_string() };
            text += &format!("u{i},{time},{},{},{dose}\n", i * time, i - time);
        }
    }
    let path = folder.write("a.csv", &text);
    let table = Table::read(&path, &long_spec()).unwrap();
    assert_eq!((table.data.len(), table.summary.rows), (2940, 12_000));
    let batches = |path: &Path| {
        let mut reader =
            UnitReader::open_with_limit(&table.layout, &path.into(), UnitRules::observed(true), 100, 0)
                .unwrap();
        let all: Vec<UnitBatch> = reader.by_ref().map(|batch| batch.unwrap()).collect();
        let summary = reader.summary();
        assert_eq!((summary.rows, summary.units), (12_000, 2940));
        assert_eq!(summary.dropped()[0].count, 60);
        all
    };
    let contiguous = batches(&path);
    assert!(contiguous.len() > 2 && contiguous.iter().all(|batch| batch.data.len() < 1200));
    assert_eq!(contiguous[1].ids.len(), contiguous[1].treated_at.as_ref().unwrap().len());
    assert_eq!(UnitBatch::concat(contiguous).unwrap().data, table.data);
    // if the rows of a unit are scattered, all are read into memory and give the same units
    let mut lines: Vec<&str> = text.lines().collect();
    let moved = lines.remove(4);
    lines.push(moved);
    let scattered = folder.write("b.csv", lines.join("\n"));
    assert_eq!(UnitBatch::concat(batches(&scattered)).unwrap().data, table.data);
}

#[test]
fn every_unit_can_have_its_own_time_of_treatment() {
    let folder = Folder::new();
    let text = "id,time,a,b,dose,at\n1,10,1,1,1,11\n1,12,2,2,1,11\n2,50,1,1,2,51\n2,52,3,3,2,\n";
    let spec = TableSpec { treated_at: Some(TreatedAt::Column("at".into())), ..long_spec() };
    let table = Table::read(folder.write("a.csv", text), &spec).unwrap();
    assert_eq!(table.data.y().values(), [2.0, 2.0, 3.0, 3.0]);
    assert_eq!(table.summary.grid.unwrap().step, 2.0);
}

#[test]
fn mistakes_in_a_long_table_are_errors_with_their_place() {
    let varies = LONG.replace("p,3,3,30,0.5", "p,3,3,30,0.6");
    assert_error(
        &varies,
        &long_spec(),
        "line 4, column `dose`: 0.6, but unit p has 0.5 in line 2",
        "one treatment",
    );
    let changes = LONG.replace("q,3.1,6,60,,m", "q,3.1,6,60,,f");
    let sexed = TableSpec { x: strings("sex"), ..long_spec() };
    assert_error(&changes, &sexed, "line 7, column `sex`: f, but unit q has m in line 6", "`series`");
    let late = TableSpec { treated_at: Some(TreatedAt::Number(99.0)), ..long_spec() };
    assert_error(LONG, &late, "no sample was taken after the treatment: y is empty", "`treated_at`");
    let early = TableSpec { treated_at: Some(TreatedAt::Number(0.0)), ..long_spec() };
    assert_error(LONG, &early, "no sample was taken up to the treatment: x is empty", "`treated_at`");
    let fine = TableSpec { step: Some(1e-5), ..long_spec() };
    assert_error(LONG, &fine, "points with step 0.00001", "`before`");
    assert_error(
        &LONG.replace("p,1,", "p,08:15,"),
        &long_spec(),
        "column `time`: `08:15` is a date",
        "dates can be",
    );
    assert_error(LONG, &TableSpec { id: None, ..long_spec() }, "id: no column is given", "unit");
    assert_error(
        LONG,
        &TableSpec { treated_at: None, ..long_spec() },
        "treated_at: no time is given",
        "time of treatment",
    );
    assert_error(
        LONG,
        &TableSpec { series: vec![], ..long_spec() },
        "series: no column is given",
        "measured",
    );
    assert_error(
        LONG,
        &TableSpec { step: Some(-1.0), ..long_spec() },
        "step: not a positive number",
        "length",
    );
    let column = TreatedAt::Column("when".into());
    assert_error(
        LONG,
        &TableSpec { treated_at: Some(column), ..long_spec() },
        "there is no column `when`",
        "columns are",
    );
}

/// Writes `data`, whose x and y have the same channels, as samples at times 1, 2, ...
fn write_long(path: &Path, data: &Dataset) {
    let (channels, before) = (data.x().shape()[0], data.x().shape()[1]);
    let after = data.y().shape()[1];
    let steps = before + after;
    let n = data.len();
    let at = |channel: usize, i: usize, s: usize| match s < before {
        true => data.x().row(i)[channel * before + s],
        false => data.y().row(i)[channel * after + s - before],
    };
    let cells = || (0..n).flat_map(|i| (0..steps).map(move |s| (i, s)));
    let mut batch = OutputBatch::default();
    batch.push("id", OutputColumn::Integers(cells().map(|(i, _)| i as i64).collect()));
    batch.push("time", OutputColumn::Integers(cells().map(|(_, s)| s as i64 + 1).collect()));
    for (channel, name) in ["a", "b"].iter().enumerate().take(channels) {
        batch.push(*name, OutputColumn::Numbers(cells().map(|(i, s)| at(channel, i, s)).collect()));
    }
    batch.push("dose", OutputColumn::Numbers(cells().map(|(i, _)| data.t().row(i)[0]).collect()));
    write_table(path, std::iter::once(Ok(batch))).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A long table gives the same bits as an .npz file.
    #[test]
    fn a_long_table_and_arrays_give_the_same_units(
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
        let spec = TableSpec { treated_at: Some(TreatedAt::Number(3.0)), ..long_spec() };
        let table = Table::read(&long_path, &spec).unwrap();
        let bits = |units: &Units| units.values().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let arrays = Dataset::read_npz(&npz).unwrap();
        prop_assert_eq!(bits(table.data.x()), bits(arrays.x()));
        prop_assert_eq!(bits(table.data.t()), bits(arrays.t()));
        prop_assert_eq!(bits(table.data.y()), bits(arrays.y()));
        prop_assert_eq!(table.data.x().mask(), None);
    }

    /// Text that is not a table is an error, not a panic.
    #[test]
    fn no_text_makes_the_reader_panic(
        text in prop::collection::vec(
            prop::sample::select("abc,;\"\n\r0123456789. \u{feff}é-".chars().collect::<Vec<_>>()),
            0..=80,
        ),
    ) {
        let text = String::from_iter(text);
        let folder = Folder::new();
        let path = folder.write("a.csv", format!("a,b,c\n{text}"));
        let _ = Table::read(&path, &wide_spec("a", "b", "c"));
        let _ = Table::read(folder.write("b.csv", text), &wide_spec("a", "b", "c"));
    }
}
