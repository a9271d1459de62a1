//! A fit that is killed and resumed gives the same model, bit for bit.
#![cfg(unix)]

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::{command, succeed, text};

/// Kills per fit; the next run is not killed.
const KILLS: usize = 5;

/// Data and settings: outcomes of many elements, and of one.
const FITS: [&str; 3] = [
    "series.npz --base linear --epochs 6 --init kmeans,gmm",
    "series.npz --base mlp --epochs 6 --init kmeans,gmm",
    "table.npz",
];

fn fit(data: &str, out: &str) -> Vec<String> {
    let line = format!("fit {data} --max-classes 3 --members 3 --seed 4 --out {out} -q");
    line.split_whitespace().map(str::to_owned).collect()
}

/// Runs a fit and kills it once its checkpoint has changed `changes` times. Returns whether the fit ended before that.
fn run_and_kill(folder: &Path, args: &[String], checkpoint: &Path, changes: usize) -> bool {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut child = command(folder, &args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let size = || std::fs::metadata(checkpoint).map_or(0, |file| file.len());
    let deadline = Instant::now() + Duration::from_secs(300);
    let (mut seen, mut last) = (0, size());
    while seen < changes && child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "the fit makes no progress");
        let now = size();
        seen += usize::from(now != last);
        last = now;
        std::thread::sleep(Duration::from_millis(1));
    }
    if child.try_wait().unwrap().is_none() {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    // a killed process has no exit code
    assert!(matches!(output.status.code(), None | Some(0)), "{}", text(&output.stderr));
    output.status.success()
}

#[test]
fn a_killed_and_resumed_fit_gives_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(folder, "simulate oscillator --n 150 --out series.npz");
    succeed(folder, "simulate table --world crossing --n 300 --out table.npz");
    for data in FITS {
        succeed(folder, &fit(data, "whole.cfqp").join(" "));
        let expected = std::fs::read(folder.join("whole.cfqp")).unwrap();
        std::fs::remove_file(folder.join("whole.cfqp")).unwrap();
        let mut resume = fit(data, "model.cfqp");
        resume.push("--resume".to_owned());
        let (model, checkpoint) = (folder.join("model.cfqp"), folder.join("model.cfqp.part"));
        let mut killed = 0;
        // finished work is not repeated, so every run gets further
        for changes in 1..=KILLS {
            let ended = run_and_kill(folder, &resume, &checkpoint, changes);
            // a run may be killed after its model is written and before its checkpoint is removed
            if ended || model.exists() {
                break;
            }
            killed += 1;
        }
        assert!(killed > 0, "{data}: no run was killed");
        if !model.exists() {
            succeed(folder, &resume.join(" "));
            assert!(!checkpoint.exists(), "{data}: a checkpoint is left behind");
        }
        assert!(std::fs::read(&model).unwrap() == expected, "{data}: the resumed model differs");
        std::fs::remove_file(&model).unwrap();
        let _ = std::fs::remove_file(&checkpoint);
    }
}
