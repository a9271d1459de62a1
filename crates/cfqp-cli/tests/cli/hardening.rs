//! Files that are not what they seem, outputs that would destroy inputs, and signals.
#![cfg(unix)]

use std::ffi::OsStr;
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
