//! The program with each instruction set of the processor.

use std::path::Path;
use std::process::Output;

use cfqp::data::read_array;

use crate::{command, succeed, text};

/// The largest difference of answers between instruction sets, in standard deviations of all answers.
const TOLERANCE: f64 = 1e-3;

fn with_isa(folder: &Path, isa: &str, line: &str) -> Output {
    command(folder, &line.split_whitespace().collect::<Vec<_>>()).env("CFQP_ISA", isa).output().unwrap()
}

/// The instruction sets of this processor, from the narrowest.
fn supported(folder: &Path) -> Vec<&'static str> {
    let mut found = Vec::new();
    for isa in ["portable", "avx2", "avx512"] {
        let output = with_isa(folder, isa, "completions bash");
        if output.status.success() {
            found.push(isa);
        } else {
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2));
            assert!(message.starts_with(&format!("error: CFQP_ISA: this processor does not have {isa}\n")));
        }
    }
    assert_eq!(found[0], "portable");
    found
}

#[test]
fn an_unknown_instruction_set_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for value in ["", "AVX2", "neon"] {
        let output = with_isa(folder.path(), value, "simulate oscillator --n 30 --out a.npz");
        assert_eq!(output.status.code(), Some(2));
        let message = text(&output.stderr);
        let expected = format!("error: CFQP_ISA: there is no instruction set {value:?}\nhint: use portable");
        assert!(message.starts_with(&expected), "{message}");
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is written");
    }
}

/// Fits and asks with an instruction set; the number of classes, and points and ends of intervals.
fn answers(folder: &Path, isa: &str, fit: &str) -> (serde_json::Value, Vec<Vec<f32>>) {
    let run = |line: &str| {
        let output = with_isa(folder, isa, line);
        assert!(output.status.success(), "{isa}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let fitted = run(&format!("fit {fit} --force --out {isa}.cfqp --json -q"));
    let fitted: serde_json::Value = serde_json::from_str(&fitted).unwrap();
    run(&format!("query {isa}.cfqp data.npz --treatment-from t_new --force --out {isa}.npz"));
    let array = |name| read_array(&folder.join(format!("{isa}.npz")), name).unwrap().unwrap();
    let arrays = ["answer", "lower", "upper"].map(|name| array(name).values().to_vec());
    (fitted["classes"].clone(), arrays.to_vec())
}

/// The largest difference, in standard deviations of `b`.
fn difference(a: &[f32], b: &[f32]) -> f64 {
    let n = b.len() as f64;
    let mean = b.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
    let deviation = (b.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n).sqrt();
    let gaps = a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).abs());
    gaps.max_by(f64::total_cmp).unwrap() / deviation
}

#[test]
fn a_table_gives_the_same_answers_with_each_instruction_set() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(folder, "simulate table --world binary-treatment --n 150 --seed 1 --out data.npz");
    let run = |isa| answers(folder, isa, "data.npz --max-classes 2 --members 3 --seed 2");
    let all: Vec<_> = supported(folder).into_iter().map(run).collect();
    assert!(all.iter().all(|answers| *answers == all[0]));
}

#[test]
fn series_give_nearly_the_same_answers_with_each_instruction_set() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(folder, "simulate oscillator --n 120 --seed 1 --out data.npz");
    for base in ["linear", "mlp", "unet"] {
        let fit =
            format!("data.npz --base {base} --max-classes 3 --members 2 --epochs 4 --init kmeans --seed 2");
        let all: Vec<_> = supported(folder).into_iter().map(|isa| answers(folder, isa, &fit)).collect();
        for (classes, arrays) in &all {
            assert_eq!(*classes, all[0].0, "{base}");
            for (ours, first) in arrays.iter().zip(&all[0].1) {
                let off = difference(ours, first);
                eprintln!("{base}: {off:.1e}");
                assert!(off <= TOLERANCE, "{base}: answers differ by {off} standard deviations");
            }
        }
    }
}
