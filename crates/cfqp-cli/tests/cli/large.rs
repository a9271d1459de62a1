//! A table that does not fit in the memory that a fit may use.
#![cfg(unix)]

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use crate::{command, listing, succeed, text};

const FIT: &str =
    "fit data.parquet --x x* --t t --y y --classes 1 --base linear --members 2 --max-memory 220MB";

/// A folder with a table of 80,000 rows and an empty folder for temporary files.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), "simulate table --world single --n 80000 --no-truth --out data.parquet -q");
    std::fs::create_dir(folder.path().join("temporary")).unwrap();
    folder
}

fn fit(folder: &Path, temporary: &str, flags: &str) -> Output {
    let line = format!("{FIT} {flags}");
    let args: Vec<&str> = line.split_whitespace().collect();
    command(folder, &args).env("TMPDIR", folder.join(temporary)).output().unwrap()
}

#[test]
fn a_large_table_is_fitted_within_the_memory_that_is_given() {
    let folder = folder();
    let path = folder.path();
    let output = fit(path, "temporary", "--out m.cfqp --json");
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("data.parquet: too large to be fitted in memory (--max-memory)"), "{stderr}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (report["units"]["train"].as_u64(), report["data"]["units"].as_u64()),
        (Some(80_000), Some(80_000))
    );
    let notes = report["notes"].to_string();
    assert!(notes.contains("of 80000 units; members trained on streamed halves of all units"), "{notes}");
    assert!(listing(&path.join("temporary")).is_empty());
    // the columns are in the model
    let answers = succeed(path, "effect m.cfqp data.parquet --from 0.2 --to 0.8");
    assert!(!answers.is_empty());

    let failed = fit(path, "no such folder", "--out n.cfqp");
    let stderr = text(&failed.stderr);
    assert_eq!(failed.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("the temporary file cannot be created"), "{stderr}");
    assert!(stderr.contains("hint: set the environment variable TMPDIR"), "{stderr}");
    assert!(!path.join("n.cfqp").exists());
}

#[test]
fn a_fit_that_is_stopped_leaves_no_temporary_files() {
    let folder = folder();
    let path = folder.path();
    for wait in [300, 1500] {
        let args: Vec<&str> = FIT.split_whitespace().chain(["--out", "m.cfqp", "--resume"]).collect();
        let mut fit = command(path, &args)
            .env("TMPDIR", path.join("temporary"))
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        // SAFETY: a signal to a process that this test started.
        assert_eq!(unsafe { libc::kill(fit.id() as i32, libc::SIGTERM) }, 0);
        let code = fit.wait().unwrap().code();
        assert!(matches!(code, Some(130 | 0)), "{code:?}");
        assert!(listing(&path.join("temporary")).is_empty());
        let _ = std::fs::remove_file(path.join("m.cfqp"));
    }
}
