//! Bad input: exit code 2, a message with a hint, nothing on stdout, no file left behind.

use std::path::Path;

use cfqp::data::{NpzArray, NpzValues, write_npz};
use cfqp::sim::Oscillator;

use crate::{cfqp, refusals, succeed, text};

const LINES: [&str; 53] = [
    // files
    "fit gone.npz --out new.cfqp",
    "fit text.npz --out new.cfqp",
    "fit cut.npz --out new.cfqp",
    "fit . --out new.cfqp",
    "fit nan.npz --out new.cfqp",
    "fit shapes.npz --out new.cfqp",
    "fit key.npz --out new.cfqp",
    "fit no-y.npz --out new.cfqp",
    "fit few.npz --out new.cfqp",
    "fit data.npz --valid other.npz --out new.cfqp",
    // settings
    "fit data.npz",
    "fit data.npz --out new.cfqp --classes 0",
    "fit data.npz --out new.cfqp --classes three",
    "fit data.npz --out new.cfqp --base forest",
    "fit data.npz --out new.cfqp --learning-rate -1",
    "fit data.npz --out new.cfqp --y-scale log",
    "fit data.npz --out new.cfqp --y-scale log --base unet",
    "fit data.npz --out new.cfqp --y-scale square",
    "fit data.npz --out new.cfqp --threads 0",
    "fit data.npz --out new.cfqp --epochs 0",
    "fit data.npz --out new.cfqp --classes 100",
    "simulate oscillator --sigma -1 --out new.npz",
    "simulate oscillator --n 0 --out new.npz",
    "simulate digits --n 18446744073709551615 --out new.npz",
    "simulate digits --mnist gone --out new.npz",
    "query model.cfqp data.npz --treatment 0.5 --rho 1.5 --out new.npz",
    "query model.cfqp data.npz --treatment 0.5 --level 90 --out new.npz",
    "query model.cfqp data.npz --treatment 0.5,0.6 --out new.npz",
    "query model.cfqp data.npz --treatment-from dose --out new.npz",
    "query model.cfqp data.npz --treatment-from y --out new.npz",
    "query model.cfqp data.npz --grid 0.2:1 --out new.npz",
    "query model.cfqp data.npz --grid 0.2:1:100000000 --out new.npz",
    "query model.cfqp data.npz --treatment nan --out new.npz",
    "query model.cfqp data.npz --out new.npz",
    "query model.cfqp other.npz --treatment 0.5 --out new.npz",
    // models
    "query text.npz data.npz --treatment 0.5 --out new.npz",
    "query cut.cfqp data.npz --treatment 0.5 --out new.npz",
    "model show newer.cfqp",
    "model show damaged.cfqp",
    // outputs
    "fit data.npz --out model.cfqp",
    "query model.cfqp data.npz --treatment 0.5 --out data.npz",
    "simulate cardio --out gone/new.npz",
    "demo --out data.npz",
    // evaluation
    "evaluate model.cfqp no-truth.npz",
    "compare data.npz",
    "compare data.npz --eval no-truth.npz",
    "compare data.npz --eval data.npz --methods forest",
    "compare data.npz --eval data.npz --methods cfqp-gmm",
    "compare no-truth.npz --eval data.npz --methods oracle",
    "compare data.npz --eval data.npz --methods sc --window 0",
    "compare data.npz --eval data.npz --pairs data.npz",
    "compare data.npz --eval data.npz --x a",
    "compare data.npz --pairs gone.csv",
];

#[test]
fn bad_input_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    make_files(folder.path());
    insta::assert_snapshot!("bad_input", refusals(folder.path(), &LINES));
}

#[test]
#[cfg(not(any(feature = "wgpu", feature = "cuda")))]
fn a_device_without_its_feature_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = cfqp(folder.path(), &["fit", "a.npz", "--out", "b.cfqp", "--device", "wgpu"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(text(&output.stderr), @r"
    error: --device: this build does not support wgpu
    hint: build with the feature `wgpu`, or use the device cpu
    ");
}

#[test]
fn the_checkpoint_of_an_interrupted_fit_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.cfqp.part"), "").unwrap();
    let output = cfqp(folder.path(), &["fit", "a.npz", "--out", "m.cfqp"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(text(&output.stderr), @r"
    error: m.cfqp.part: left by an interrupted fit
    hint: use --resume to continue it, or --force to start over
    ");
}

/// Valid and invalid data files and models.
fn make_files(folder: &Path) {
    succeed(folder, "simulate oscillator --n 60 --out data.npz");
    succeed(folder, "simulate digits --n 20 --out other.npz");
    succeed(folder, "fit data.npz --classes 2 --base linear --init kmeans --members 2 --out model.cfqp");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    write("text.npz", b"x,t,y\n1,2,3\n");
    let data = std::fs::read(folder.join("data.npz")).unwrap();
    write("cut.npz", &data[..data.len() / 2]);
    make_models(folder);
    make_data(folder);
}

fn make_models(folder: &Path) {
    let model = std::fs::read(folder.join("model.cfqp")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    write("cut.cfqp", &model[..model.len() - 7]);
    let mut damaged = model.clone();
    let last = damaged.len() - 2;
    damaged[last] ^= 1;
    write("damaged.cfqp", &damaged);
    let mut newer = model;
    let field = br#"\"format\":1"#;
    let at = newer.windows(field.len()).position(|bytes| bytes == field).unwrap();
    newer[at + field.len() - 1] = b'9';
    write("newer.cfqp", &newer);
}

fn make_data(folder: &Path) {
    let data = Oscillator::default().simulate(30, 1).unwrap().data;
    let (x, t, y) = (NpzArray::units(data.x()), NpzArray::units(data.t()), NpzArray::units(data.y()));
    let mut nan = data.x().values().to_vec();
    nan[41] = f32::NAN;
    let nan = NpzArray { shape: vec![30, 2, 20], values: NpzValues::F32(&nan) };
    let few = NpzArray { shape: vec![29, 2, 20], values: NpzValues::F32(&data.y().values()[40..]) };
    let write = |name: &str, arrays: &[(&str, &NpzArray<'_>)]| {
        let arrays: Vec<_> = arrays.iter().map(|(name, array)| (*name, (*array).clone())).collect();
        write_npz(&folder.join(name), &arrays).unwrap();
    };
    write("nan.npz", &[("x", &nan), ("t", &t), ("y", &y)]);
    write("shapes.npz", &[("x", &x), ("t", &t), ("y", &few)]);
    write("key.npz", &[("x", &x), ("t", &t), ("y", &y), ("dose", &t)]);
    write("no-y.npz", &[("x", &x), ("t", &t)]);
    write("no-truth.npz", &[("x", &x), ("t", &t), ("y", &y), ("t_new", &t)]);
    let two = Oscillator::default().simulate(2, 1).unwrap().data;
    two.write_npz(&folder.join("few.npz"), &[]).unwrap();
}
