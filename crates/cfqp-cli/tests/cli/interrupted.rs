//! Ctrl-C in the middle of a fit.
#![cfg(unix)]

use std::process::Stdio;
use std::time::Duration;

use crate::{command, succeed, text};

#[test]
fn an_interrupted_fit_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), "simulate oscillator --n 2000 --out data.npz");
    let args = ["fit", "data.npz", "--base", "mlp", "--out", "model.cfqp"];
    let fit = command(folder.path(), &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    // SAFETY: a signal to our own child.
    assert_eq!(unsafe { libc::kill(fit.id() as i32, libc::SIGINT) }, 0);
    let output = fit.wait_with_output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("error: interrupted\nhint: "), "{stderr}");
    assert!(output.stdout.is_empty() && !folder.path().join("model.cfqp").exists());
}
