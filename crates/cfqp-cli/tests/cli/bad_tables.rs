//! Bad tables: exit code 2, the place and a hint, nothing on stdout, no file left behind.

use std::path::Path;

use crate::tables::wide_csv;
use crate::{cfqp, refusals, succeed, text};

const LINES: [&str; 58] = [
    // files
    "check gone.csv --x a --t t --y y",
    "check . --x a --t t --y y",
    "check empty.csv --x a --t t --y y",
    "check header.csv --x a --t t --y y",
    "check table.xlsx --x a --t t --y y",
    "check cut.parquet --x a --t t --y y",
    "check text.parquet --x a --t t --y y",
    "check cut.arrow --x a --t t --y y",
    "check latin1.csv --x a --t t --y y",
    "check utf16.csv --x a --t t --y y",
    "check ragged.csv --x a --t t --y y",
    "check twice.csv --x a --t t --y y",
    "check semicolon.csv --x a --t t --y y",
    // columns
    "fit wide.csv --out new.cfqp",
    "check wide.csv --x agee,ward --t dose --y outcome",
    "check wide.csv --x age --t dose",
    "check wide.csv --x age --y outcome",
    "check wide.csv --x age,dose --t dose --y outcome",
    "check wide.csv --x zz* --t dose --y outcome",
    // columns with the names of settings
    "check settings.csv --x tt --t time --y y",
    "check settings.csv --x t --t time --y y",
    "check settings.csv --x zz* --t time --y y",
    "check wide.csv --x id --t dose --y outcome",
    "check wide.csv --x age --t ward --t-kind number --y outcome",
    "check wide.csv --x age --t ward --t-kind number,category --y outcome",
    "check wide.csv --x age --t id --y outcome",
    "check wide.csv --x age --t dose --y outcome --x-shape 1,2",
    "check wide.csv --x age --t dose --y outcome --treated-at 3",
    "check words.csv --x a --t t --y y",
    "check comma.csv --x a --t t --y y",
    "check dates.csv --x t --t a --y y",
    "check unclear.csv --x a,d --t t --y y",
    "check several.csv --x a --t t --t-kind number --y y",
    "check same-id.csv --id id --x a --t t --y y",
    "check void.csv --x a --t t --y y",
    // samples
    "check long.csv --time s --series a --t t --treated-at 2",
    "check long.csv --id id --time s --series a --t t --treated-at 99",
    "check long-varies.csv --id id --time s --series a --t t --treated-at 2",
    // fits
    "fit wide.csv --x age --t dose --y outcome",
    "fit few.csv --x a --t t --y y --out new.cfqp",
    "fit data.npz --x age --out new.cfqp",
    "fit unknown.toml",
    "fit no-data.toml",
    "select wide.csv --x age --t dose --y outcome --classes 2..4",
    // questions
    "query model.cfqp renamed.csv --treatment 0.5 --out new.csv",
    "query model.cfqp words-later.csv --treatment 0.5 --out new.parquet",
    "query model.cfqp wide.csv --treatment-from plan --out new.csv",
    "query model.cfqp wide.csv --treatment 0.5,0.6 --out new.csv",
    "evaluate model.cfqp wide.csv",
    "query model.cfqp wide.csv --treatment 0.5 --out new.xlsx",
    "query arrays.cfqp wide.csv --treatment 0.5 --out new.csv",
    "effect model.cfqp wide.csv --from 0.5 --to 0.7,0.8 --out new.csv",
    "effect model.cfqp wide.csv --from 0.5 --to 0.7 --out new.npz",
    "curve model.cfqp wide.csv --grid 0:1:3 --units u1,nobody --out new.csv",
    "simulate cardio --format csv --out new.npz",
    "simulate table --format csv-long --out new.csv",
    "simulate table --world nowhere --out new.csv",
    "simulate table --sigma 0 --out new.csv",
];

#[test]
fn bad_tables_are_refused_with_the_place_and_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    make_files(folder.path());
    insta::assert_snapshot!("bad_tables", refusals(folder.path(), &LINES));
}

/// Some damaged Parquet files make their reader panic; the user sees an error instead.
#[test]
fn a_damaged_file_is_an_error_and_not_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let made = succeed(folder.path(), "simulate oscillator --n 40 --out a.parquet");
    let flags = made.lines().last().unwrap().strip_prefix("next: cfqp check a.parquet ").unwrap().to_owned();
    let whole = std::fs::read(folder.path().join("a.parquet")).unwrap();
    let footer = whole.len() - 700;
    for place in (footer..whole.len()).step_by(29) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x15;
        std::fs::write(folder.path().join("a.parquet"), bytes).unwrap();
        let args: Vec<&str> = ["check", "a.parquet"].into_iter().chain(flags.split(' ')).collect();
        let output = cfqp(folder.path(), &args);
        let stderr = text(&output.stderr);
        assert!(!stderr.contains("panicked"), "byte {place}: {stderr}");
        assert!(matches!(output.status.code(), Some(0..=2)), "byte {place}: {stderr}");
    }
}

fn make_files(folder: &Path) {
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let put = |name: &str, text: &str| write(name, text.as_bytes());
    let wide = wide_csv(80);
    put("wide.csv", &wide);
    put("renamed.csv", &wide.replace("dose", "Dose"));
    // far enough down that earlier parts have been answered
    put("words-later.csv", &(wide_csv(9000) + "u9000,old,north,0.5,1,1\n"));
    put("empty.csv", "");
    put("header.csv", "a,t,y\n");
    put("table.xlsx", "PK");
    put("text.parquet", "a,t,y\n1,2,3\n");
    write("latin1.csv", b"a,t,y\n1,2,3\n1,2,\xe9\n");
    write("utf16.csv", b"\xff\xfea\0,\0t\0");
    put("ragged.csv", "a,t,y\n1,2,3\n1,2,3,4\n");
    put("twice.csv", "a,t,y,a\n1,2,3,4\n");
    put("semicolon.csv", "a;t;y\n1,5;2;3\n");
    put("words.csv", "a,t,y\n1,2,3\n2,3,n.d.\n3,4,5\n");
    put("comma.csv", "a,t,y\n1,2,\"3,5\"\n");
    put("dates.csv", "a,t,y\n2024-03-01,2,3\n2024-03-02,3,4\n");
    put("unclear.csv", "a,d,t,y\n\"1,234\",03/04/2024,2,3\n\"2,345\",05/06/2024,3,4\n");
    put("several.csv", "a,t,y\n1,x,3\n2,3\n3,y,?\n4,5,6\n5,z,7\n6,w,8\n");
    put("same-id.csv", "id,a,t,y\np1,1,2,3\np2,2,3,4\np1,3,4,5\n");
    put("void.csv", "a,t,y\n1,NA,3\n2,,4\n,1,\n");
    let long = "id,s,a,t\np,1,1,5\np,2,2,5\np,3,3,5\nq,1,4,6\nq,2,5,6\nq,3,6,6\n";
    put("long.csv", long);
    put("long-varies.csv", &long.replace("q,3,6,6", "q,3,6,7"));
    put("settings.csv", "time,t,y,`x`\n1,2,3,4\n2,two,4,5\n3,4,5,6\n");
    put("few.csv", "a,t,y\n1,2,3\n2,3,4\n3,4,5\n");
    put("unknown.toml", "data = 'wide.csv'\n[table]\nx = ['age']\ntreatment = 'dose'\n");
    put("no-data.toml", "[table]\nx = ['age']\n");
    succeed(folder, "simulate oscillator --n 40 --out whole.parquet");
    succeed(folder, "simulate oscillator --n 40 --out whole2.arrow");
    for (whole, cut) in [("whole.parquet", "cut.parquet"), ("whole2.arrow", "cut.arrow")] {
        let bytes = std::fs::read(folder.join(whole)).unwrap();
        write(cut, &bytes[..bytes.len() / 2]);
    }
    succeed(folder, "simulate oscillator --n 40 --out data.npz");
    let fit = "--classes 1 --base linear --members 2 -q";
    succeed(
        folder,
        &format!("fit wide.csv --id id --x age,ward --t dose --y outcome {fit} --out model.cfqp"),
    );
    succeed(folder, &format!("fit data.npz {fit} --out arrays.cfqp"));
}
