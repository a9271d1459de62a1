//! Files that are not what they seem, outputs that would destroy inputs, and signals.
#![cfg(unix)]

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{cfqp, command, listing, refusals, succeed, text};

/// A folder with a table of 60 units and a model of it.
fn fitted() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), "simulate table --world single --n 60 --out data.csv -q");
    let fit = "fit data.csv --x x* --t t --y y --id id --classes 1 --members 2 --out m.cfqp -q";
    succeed(folder.path(), fit);
    folder
}

#[test]
fn no_input_is_replaced_by_an_output() {
    let folder = fitted();
    let path = folder.path();
    symlink("data.csv", path.join("link.csv")).unwrap();
    std::fs::hard_link(path.join("data.csv"), path.join("same.csv")).unwrap();
    std::fs::write(
        path.join("study.toml"),
        "data = \"data.csv\"\nout = \"data.csv\"\n[table]\nx = [\"x*\"]\nt = [\"t\"]\ny = [\"y\"]\n",
    )
    .unwrap();
    let [data, model] = ["data.csv", "m.cfqp"].map(|name| std::fs::read(path.join(name)).unwrap());
    let refused = refusals(
        path,
        &[
            "query m.cfqp data.csv --treatment 0.5 --out data.csv --force",
            "query m.cfqp data.csv --treatment 0.5 --out link.csv --force",
            "query m.cfqp data.csv --treatment 0.5 --out same.csv --force",
            "effect m.cfqp data.csv --from 0.2 --to 0.8 --out ./data.csv --force",
            "curve m.cfqp data.csv --grid 0:1:3 --out data.csv --force",
            "report m.cfqp data.csv --out m.cfqp --force",
            "fit data.csv --x x* --t t --y y --out data.csv --force",
            "fit study.toml --out study.toml --force",
            "fit study.toml --force",
            "select data.csv --x x* --t t --y y --plot data.csv --force",
        ],
    );
    assert_eq!(refused.matches("no command replaces what it reads").count(), 10, "{refused}");
    assert_eq!(std::fs::read(path.join("data.csv")).unwrap(), data);
    assert_eq!(std::fs::read(path.join("m.cfqp")).unwrap(), model);
}

#[test]
fn replaced_files_keep_their_permissions_and_links() {
    let folder = fitted();
    let path = folder.path();
    std::fs::write(path.join("answers.csv"), "old").unwrap();
    std::fs::set_permissions(path.join("answers.csv"), std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink("answers.csv", path.join("latest.csv")).unwrap();
    succeed(path, "query m.cfqp data.csv --treatment 0.5 --out latest.csv --force -q");
    assert!(path.join("latest.csv").is_symlink());
    let file = std::fs::metadata(path.join("answers.csv")).unwrap();
    assert!(file.len() > 1000 && file.permissions().mode() & 0o777 == 0o600);
}

#[test]
fn pipes_and_devices_are_refused() {
    let folder = fitted();
    let path = folder.path();
    assert!(Command::new("mkfifo").arg(path.join("pipe.csv")).status().unwrap().success());
    symlink("/dev/null", path.join("null.csv")).unwrap();
    let refused = refusals(
        path,
        &[
            "check pipe.csv --x x* --t t --y y",
            "query m.cfqp pipe.csv --treatment 0.5 --out a.csv",
            "query pipe.csv data.csv --treatment 0.5 --out a.csv",
            "query m.cfqp data.csv --treatment 0.5 --out pipe.csv --force",
            "query m.cfqp data.csv --treatment 0.5 --out null.csv --force",
        ],
    );
    assert_eq!(refused.matches("a device").count(), 5, "{refused}");
}

#[test]
fn names_in_files_do_not_reach_the_terminal_as_orders() {
    let folder = tempfile::tempdir().unwrap();
    let escape = "\u{1b}[31mred\u{9b}2J";
    std::fs::write(folder.path().join("a.csv"), format!("{escape},t,y\n1,2,x\n2,3,{escape}\n")).unwrap();
    for args in [
        ["check", "a.csv", "--x", "x*", "--t", "t", "--y", "y"],
        ["check", "a.csv", "--x", escape, "--t", "t", "--y", "y"],
    ] {
        let output = cfqp(folder.path(), &args);
        let all = text(&output.stdout) + &text(&output.stderr);
        assert!(all.contains("red") && !all.contains(['\u{1b}', '\u{9b}']), "{all:?}");
    }
}

#[test]
fn names_of_files_need_not_be_text() {
    let folder = fitted();
    let path = folder.path();
    let name = OsStr::from_bytes(b"\xff\xfe.csv");
    std::fs::rename(path.join("data.csv"), path.join(name)).unwrap();
    let mut query = command(path, &["query", "m.cfqp"]);
    let out = OsStr::from_bytes(b"\xff.csv");
    let output = query.arg(name).args(["--treatment", "0.5", "--out"]).arg(out).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(path.join(out).exists());
}

#[test]
fn a_simulation_that_cannot_write_its_table_leaves_no_truth() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // a limit on the size of files that the truth keeps and the table does not
    let limited = |line: &str| {
        let script = format!("ulimit -f 24; trap '' XFSZ; exec {} {line}", env!("CARGO_BIN_EXE_cfqp"));
        Command::new("bash").arg("-c").arg(script).current_dir(path).output().unwrap()
    };
    let output = limited("simulate table --world wide --n 400 --out data.csv");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert_eq!(listing(path), [], "{}", text(&output.stderr));
    let output = limited("simulate oscillator --n 900 --out data.npz");
    assert_eq!(output.status.code(), Some(2));
    assert!(!text(&output.stderr).contains("ZipWriter"), "{}", text(&output.stderr));
    assert_eq!(listing(path), []);
}

#[test]
fn a_termination_stops_a_fit_like_ctrl_c_and_stale_files_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    succeed(path, "simulate oscillator --n 2000 --out data.npz");
    std::fs::write(path.join(".cfqp-stale"), "left by a killed program").unwrap();
    let args = ["fit", "data.npz", "--base", "mlp", "--out", "model.cfqp"];
    let mut fit = command(path, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&path.join("model.cfqp.part"));
    // SAFETY: the process is a child that has not been waited for, so its id is valid.
    assert_eq!(unsafe { libc::kill(fit.id() as i32, libc::SIGTERM) }, 0);
    let start = Instant::now();
    assert_eq!(fit.wait().unwrap().code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    succeed(path, "simulate oscillator --n 10 --out other.npz");
    let names: Vec<String> = listing(path).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["data.npz", "model.cfqp.part", "other.npz"]);
}

fn wait_for(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} is not written", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The table with the numbers of one column changed; rows are counted from 1.
fn with_values(folder: &Path, name: &str, column: usize, change: impl Fn(usize, f64) -> String) {
    let table = std::fs::read_to_string(folder.join("data.csv")).unwrap();
    let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
    for (row, line) in lines.iter_mut().enumerate().skip(1) {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        cells[column] = change(row, cells[column].parse().unwrap());
        *line = cells.join(",");
    }
    std::fs::write(folder.join(name), lines.join("\n") + "\n").unwrap();
}

#[test]
fn values_that_differ_in_late_digits_keep_them_and_outliers_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    succeed(path, "simulate table --world single --n 300 --out data.csv -q");
    let header = std::fs::read_to_string(path.join("data.csv")).unwrap();
    let names: Vec<&str> = header.lines().next().unwrap().split(',').collect();
    let at = |name: &str| names.iter().position(|other| *other == name).unwrap();
    with_values(path, "large.csv", at("y"), |_, y| format!("{}", 1e7 + y));
    with_values(path, "shifted.csv", at("t"), |_, t| format!("{}", 1e8 + t));
    with_values(path, "outlier.csv", at("y"), |row, y| if row == 16 { "1e10".into() } else { y.to_string() });
    with_values(path, "small.csv", at("y"), |_, y| format!("{:e}", 1e-13 * y));
    let columns = "--x x* --t t --y y --id id --classes 1 --members 2 -q --out m.cfqp";
    let refused = refusals(path, &[&format!("fit outlier.csv {columns}")]);
    assert!(refused.contains("outlier.csv: line 17, column `y`: 10000000000 is far from all"), "{refused}");
    // answers in `column` of the model of a file, under treatment 0.9 of the original
    let answers = |name: &str, treatment: &str, column: &str| -> Vec<f64> {
        succeed(path, &format!("fit {name}.csv {columns} --force"));
        let query = format!("query m.cfqp {name}.csv --treatment {treatment} --out a.csv --force -q");
        succeed(path, &query);
        let answers = std::fs::read_to_string(path.join("a.csv")).unwrap();
        let at = answers.lines().next().unwrap().split(',').position(|name| name == column).unwrap();
        answers.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
    };
    let plain = answers("data", "0.9", "y");
    // other digits give another split, and so a fit that differs by its random part only: 0.07 of standard deviation 1
    let is_near = |values: &[f64], scale: f64, origin: f64| {
        let distances =
            values.iter().zip(&plain).map(|(value, plain)| ((value - origin) / scale - plain).abs());
        distances.sum::<f64>() < 0.15 * plain.len() as f64
    };
    assert!(is_near(&answers("large", "0.9", "y"), 1.0, 1e7));
    assert!(is_near(&answers("shifted", "100000000.9", "y"), 1.0, 0.0));
    assert!(answers("shifted", "100000000.9", "t_new").iter().all(|t| t.to_string() == "100000000.9"));
    // small numbers are numbers
    assert!(is_near(&answers("small", "0.9", "y"), 1e-13, 0.0));
    let curve = "curve m.cfqp shifted.csv --grid 100000000.2:100000000.8:4 --out c.csv -q";
    succeed(path, &format!("fit shifted.csv {columns} --force"));
    succeed(path, curve);
    assert!(
        std::fs::read_to_string(path.join("c.csv")).unwrap().contains(",100000000.4"),
        "t_new of a curve"
    );
    let checked = succeed(path, "check shifted.csv --x x* --t t --y y --id id");
    assert!(checked.contains("t - 10000000"), "{checked}");
}

#[test]
fn one_extreme_row_does_not_end_a_query() {
    let folder = fitted();
    let path = folder.path();
    let header = std::fs::read_to_string(path.join("data.csv")).unwrap();
    let at = header.lines().next().unwrap().split(',').position(|name| name == "y").unwrap();
    for value in ["1e30", "3e38", "-3e38"] {
        let change = |row: usize, y: f64| if row == 5 { value.to_owned() } else { y.to_string() };
        with_values(path, "bad.csv", at, change);
        let said = succeed(path, "query m.cfqp bad.csv --treatment 0.5 --out a.csv --force");
        assert!(said.contains("1 extreme_value: a covariate or outcome is far from all"), "{said}");
        let answers = std::fs::read_to_string(path.join("a.csv")).unwrap();
        let flagged: Vec<&str> = answers.lines().filter(|line| line.contains("extreme_value")).collect();
        assert!(flagged.len() == 1 && flagged[0].starts_with("4,"), "{flagged:?}");
        assert!(!answers.contains("NaN") && !answers.contains("inf"));
    }
    // the same for series
    succeed(path, "simulate oscillator --n 120 --out series.npz -q");
    succeed(path, "fit series.npz --base linear --classes 2 --out s.cfqp -q");
    let all = cfqp::Dataset::read_npz(&path.join("series.npz")).unwrap();
    let mut values = all.y().values().to_vec();
    values[5 * all.y().elements()] = 3e38;
    let y = cfqp::Units::new("y", all.y().shape().to_vec(), values).unwrap();
    let changed = cfqp::Dataset::new(all.x().clone(), all.t().clone(), y).unwrap();
    changed.write_npz(&path.join("bad.npz"), &[]).unwrap();
    let said = succeed(path, "query s.cfqp bad.npz --treatment 0.5 --out s.npz");
    assert!(said.contains("1 extreme_value"), "{said}");
}

/// A zip archive with one array of zeros, `x`, of type `descr`.
fn write_zeros(path: &Path, descr: &str, shape: &[usize], bytes: usize) {
    let names: String = shape.iter().map(|side| format!("{side}, ")).collect();
    let head = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({names}), }}\n");
    let mut array = b"\x93NUMPY\x01\x00".to_vec();
    array.extend((head.len() as u16).to_le_bytes());
    array.extend(head.as_bytes());
    array.resize(array.len() + bytes, 0);
    let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
    packed.write_all(&array).unwrap();
    let packed = packed.finish().unwrap();
    let mut crc = flate2::Crc::new();
    crc.update(&array);
    let (crc, size, length) = (crc.sum(), packed.len() as u32, array.len() as u32);
    let fields = |version: &[u16]| {
        let mut fields: Vec<u8> = version.iter().flat_map(|v| v.to_le_bytes()).collect();
        // flags, method, time, date
        [0_u16, 8, 0, 33].iter().for_each(|v| fields.extend(v.to_le_bytes()));
        [crc, size, length].iter().for_each(|v| fields.extend(v.to_le_bytes()));
        [5_u16, 0].iter().for_each(|v| fields.extend(v.to_le_bytes()));
        fields
    };
    let mut file = [&b"PK\x03\x04"[..], &fields(&[20]), b"x.npy", &packed].concat();
    let directory = file.len() as u32;
    file.extend([&b"PK\x01\x02"[..], &fields(&[20, 20]), &[0; 14], b"x.npy"].concat());
    let end = file.len() as u32 - directory;
    file.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    file.extend([end.to_le_bytes(), directory.to_le_bytes()].concat());
    file.extend([0, 0]);
    std::fs::write(path, file).unwrap();
}

#[test]
fn a_file_cannot_take_more_memory_than_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // 100 MB of booleans, which become 400 MB of numbers
    write_zeros(&path.join("zeros.npz"), "|b1", &[100 << 20], 100 << 20);
    let size = std::fs::metadata(path.join("zeros.npz")).unwrap().len();
    assert!(size < 1 << 20, "{size}");
    let refused = refusals(path, &["check zeros.npz --max-memory 200MB", "check zeros.npz --max-memory 2XB"]);
    let expected = "error: zeros.npz: array `x`: needs 400 MB of memory; the limit is 200 MB\n\
                    hint: if the file should be small, it is damaged; otherwise raise the limit: --max-memory";
    assert!(refused.contains(expected), "{refused}");
    assert!(refused.contains("expected a size such as 500MB or 4GB"), "{refused}");
}

#[test]
fn less_memory_than_needed_is_an_error_and_never_an_abort() {
    let folder = fitted();
    let path = folder.path();
    let limited = |megabytes: usize, line: &str| {
        // one heap: several reserve addresses that they do not use
        let set = format!("export MALLOC_ARENA_MAX=1; ulimit -v {}", megabytes << 10);
        let script = format!("{set}; exec {} {line}", env!("CARGO_BIN_EXE_cfqp"));
        Command::new("bash").arg("-c").arg(script).current_dir(path).output().unwrap()
    };
    let mut succeeded = [0; 2];
    let program = (std::fs::metadata(env!("CARGO_BIN_EXE_cfqp")).unwrap().len() >> 20) as usize;
    for megabytes in [2, 3, 4, 5, 6, 8, 12, 16, 32, 128].map(|beside| program + beside) {
        let fit = "fit data.csv --x 'x*' --t t --y y --id id --classes 1 --members 2 --threads 2 --out n.cfqp --force -q";
        let query = "query m.cfqp data.csv --treatment 0.5 --threads 2 --out a.csv --force -q";
        for (i, line) in [fit, query].into_iter().enumerate() {
            let output = limited(megabytes, line);
            let stderr = text(&output.stderr);
            // 127: the system could not load the program at all
            let code = output.status.code();
            assert!(
                matches!(code, Some(0 | 2 | 127)),
                "{megabytes} MB, {line}: {:?} {stderr}",
                output.status
            );
            assert!(!stderr.contains("panicked"), "{megabytes} MB, {line}: {stderr}");
            succeeded[i] += usize::from(code == Some(0));
        }
    }
    assert!(succeeded[0] > 0 && succeeded[1] > 0, "{succeeded:?}");
}

#[test]
fn more_columns_than_rows_need_memory_for_the_columns_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (n, columns) = (40, 3000);
    let x: Vec<f32> = (0..n * columns).map(|i| ((i * 7919) % 1009) as f32 / 1009.0).collect();
    let t: Vec<f32> = (0..n).map(|i| (i * 7 % n) as f32 / n as f32).collect();
    let y: Vec<f32> = (0..n).map(|i| 2.0 * t[i] + x[i * columns]).collect();
    let units =
        |name: &str, shape: usize, values: Vec<f32>| cfqp::Units::new(name, vec![shape], values).unwrap();
    let data = cfqp::Dataset::new(units("x", columns, x), units("t", 1, t), units("y", 1, y)).unwrap();
    data.write_npz(&path.join("wide.npz"), &[]).unwrap();
    // the products of all pairs of columns would take 72 MB
    let fit = "fit wide.npz --classes 1 --members 2 --max-memory 60MB --json -q --out m.cfqp";
    let fitted: serde_json::Value = serde_json::from_str(&succeed(path, fit)).unwrap();
    assert_eq!(fitted["base"], "linear", "{fitted}");
}

#[test]
fn a_level_beyond_what_the_units_can_promise_is_refused() {
    let folder = fitted();
    let level = |level: &str| format!("query m.cfqp data.csv --treatment 0.5 --level {level} --out a.csv");
    let refused = refusals(folder.path(), &[&level("0.999999999")]);
    let expected = "error: --level: 0.999999999 is more than intervals calibrated on 60 units can promise\n\
                    hint: give at most 0.9983";
    assert!(refused.contains(expected), "{refused}");
    succeed(folder.path(), &level("0.99"));
}
