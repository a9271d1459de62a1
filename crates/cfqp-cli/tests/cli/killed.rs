//! A fit that is killed at any moment and resumed ends with the same model, bit for bit.
#![cfg(unix)]

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use crate::{command, succeed, text};

/// Kills per fit; the next run is left in peace.
const KILLS: usize = 5;

fn fit(base: &str, out: &str) -> Vec<String> {
    let line = format!(
        "fit data.npz --base {base} --max-classes 3 --members 3 --epochs 6 --init kmeans,gmm --seed 4 --out {out} -q"
    );
    line.split_whitespace().map(str::to_owned).collect()
}

/// A number between 0 and 1 that nobody foresees.
fn random() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    f64::from(now.subsec_micros() % 1000) / 1000.0
}

/// Run a fit and kill it after a while, if it has not come to its end; whether it has.
fn run_for(folder: &Path, args: &[String], limit: Duration) -> bool {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut child = command(folder, &args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(limit);
    if child.try_wait().unwrap().is_none() {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    // no code: killed
    assert!(matches!(output.status.code(), None | Some(0)), "{}", text(&output.stderr));
    output.status.success()
}

#[test]
fn a_fit_that_was_killed_ends_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(folder, "simulate oscillator --n 150 --out data.npz");
    let mut killed = 0;
    for base in ["linear", "mlp"] {
        let start = Instant::now();
        succeed(folder, &fit(base, "whole.cfqp").join(" "));
        let whole = start.elapsed();
        let expected = std::fs::read(folder.join("whole.cfqp")).unwrap();
        std::fs::remove_file(folder.join("whole.cfqp")).unwrap();
        let mut resume = fit(base, "model.cfqp");
        resume.push("--resume".to_owned());
        let (model, part) = (folder.join("model.cfqp"), folder.join("model.cfqp.part"));
        let mut ended = false;
        for _ in 0..KILLS {
            // other moments each time the test is run; what is finished is not done again, so the run goes on
            ended = run_for(folder, &resume, whole.mul_f64(0.03 + 0.4 * random()));
            // a run may be killed when its model is written and its checkpoint not yet removed
            if ended || model.exists() {
                break;
            }
            killed += 1;
        }
        if !model.exists() {
            succeed(folder, &resume.join(" "));
            ended = true;
        }
        assert!(std::fs::read(&model).unwrap() == expected, "{base}: another model after a resumption");
        assert!(!(ended && part.exists()), "{base}: a checkpoint is left behind");
        std::fs::remove_file(&model).unwrap();
        let _ = std::fs::remove_file(&part);
    }
    assert!(killed > 0, "no run was killed: the moments are too late");
}
