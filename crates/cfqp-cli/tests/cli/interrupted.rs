//! Ctrl-C in the middle of a fit.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::{command, succeed, text};

/// Waits until a running fit has written its checkpoint.
fn wait_for_checkpoint(fit: &mut Child, checkpoint: &Path) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !checkpoint.exists() {
        assert!(fit.try_wait().unwrap().is_none(), "the fit ended before its first checkpoint");
        assert!(Instant::now() < deadline, "no checkpoint after two minutes");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_interrupted_fit_says_how_to_continue() {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), "simulate oscillator --n 2000 --out data.npz");
    let args = ["fit", "data.npz", "--base", "mlp", "--out", "model.cfqp"];
    let mut fit =
        command(folder.path(), &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_checkpoint(&mut fit, &folder.path().join("model.cfqp.part"));
    // SAFETY: the process is a child that has not been waited for, so its id is valid.
    assert_eq!(unsafe { libc::kill(fit.id() as i32, libc::SIGINT) }, 0);
    let output = fit.wait_with_output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let hint =
        "error: interrupted\nhint: finished work is in model.cfqp.part: run the same command with --resume";
    assert!(stderr.contains(hint), "{stderr}");
    assert!(output.stdout.is_empty() && !folder.path().join("model.cfqp").exists());
}

#[test]
fn a_fit_that_has_finished_nothing_runs_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(folder, "simulate oscillator --n 40000 --out data.npz");
    let args = ["fit", "data.npz", "--base", "mlp", "--out", "model.cfqp", "--resume"];
    let mut fit = command(folder, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // long enough to begin, too short for a network to be trained on any machine
    std::thread::sleep(Duration::from_millis(300));
    assert!(fit.try_wait().unwrap().is_none(), "the fit ended at once");
    // SAFETY: the process is a child that has not been waited for, so its id is valid.
    assert_eq!(unsafe { libc::kill(fit.id() as i32, libc::SIGINT) }, 0);
    let output = fit.wait_with_output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(
        stderr.contains("hint: there is no checkpoint to continue from: run the command again"),
        "{stderr}"
    );
    assert!(!folder.join("model.cfqp.part").exists());
}
