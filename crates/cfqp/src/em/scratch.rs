#![allow(unused)]
use super::components::*;
use super::trainer::*;
use super::pool::Pool;
use super::Schedule;
use crate::data::*;
use crate::models::*;
use crate::*;
use crate::sim::*;
use burn::tensor::Device;
fn env<T: std::str::FromStr>(k: &str, d: T) -> T { std::env::var(k).ok().and_then(|v| v.parse().ok()).unwrap_or(d) }
#[test]
#[ignore]
fn oracle() {
    let n: usize = env("N", 3500);
    let seed: u64 = env("SEED", 11);
    let what: String = env("DATA", "cardio".to_string());
    let sim = |n, seed| match what.as_str() {
        "cardio" => Cardio::default().simulate(n, seed).unwrap(),
        "cardio-na" => Cardio { noise: Noise::NonAdditive, ..Default::default() }.simulate(n, seed).unwrap(),
        "cardio-h" => Cardio { hidden_compliance: true, ..Default::default() }.simulate(n, seed).unwrap(),
        _ => Oscillator::default().simulate(n, seed).unwrap(),
    };
    let (tr, te) = (sim(n, seed), sim(1000, seed + 1000));
    let split = super::split::Split::new(n, &mut stream(seed, &["split"]));
    let scaler = Scaler::fit(&tr.data.view(split.train.clone()), false);
    let b = Batcher { data: &tr.data, scaler: &scaler, missing: false };
    let bt = Batcher { data: &te.data, scaler: &scaler, missing: false };
    let device = Device::flex();
    let pool = Pool::new(2).unwrap();
    let classes = 1 + *tr.truth.z.iter().max().unwrap();
    let members: usize = env("M", 4);
    let cond: bool = env("COND", 0) == 1;
    let width: usize = env("W", 256);
    let depth: usize = env("DEPTH", 3);
    let freq: usize = env("FREQ", 4);
    let base = BaseConfig::Mlp(MlpConfig { hidden: vec![width; depth], degree: env("DEGREE", 0), treatment: TreatmentEmbeddingConfig::Smooth { frequencies: freq, scale: env("SCALE", 0.25) }});
    let shapes = Shapes { x: tr.data.x().shape().to_vec(), t: 1, y: tr.data.y().shape().to_vec(), missing: false, classes: if cond { classes } else { 0 } };
    let t0 = std::time::Instant::now();
    let learning = split.learning();
    let folds: usize = env("FOLDS", 6);
    let jobs: Vec<(usize, usize)> = (0..members).flat_map(|m| (0..if cond { 1 } else { classes }).map(move |k| (m, k))).collect();
    let nets = pool.map(jobs, |(m, k)| {
        let mut rng = stream(seed, &["m", &m.to_string(), &k.to_string()]);
        let own = |r: &&usize| cond || tr.truth.z[**r] == k;
        let valid: Vec<usize> = learning.iter().enumerate().filter(|(i, r)| i % folds == m).map(|(_, r)| r).filter(own).copied().collect();
        let train_rows: Vec<usize> = learning.iter().enumerate().filter(|(i, r)| i % folds != m).map(|(_, r)| r).filter(own).copied().collect();
        let told = if cond { Told::Each(&tr.truth.z, classes) } else { Told::Nothing };
        let task = Task { batcher: b, train: &train_rows, valid: &valid, told, device: &device };
        let schedule = Schedule { epochs: env("E", 100), batch: env("B", 64), learning_rate: env("LR", 1e-3), cosine: true, weight_decay: env("WD", 1e-4), patience: None };
        let net = base.init(&shapes, &mut rng, &device).unwrap();
        let t = train(net, &task, &schedule, &mut rng, &()).unwrap();
        (m, k, t)
    });
    println!("fit {:.1} s; val {:?} best epochs {:?}", t0.elapsed().as_secs_f64(), nets.iter().map(|n| (n.2.loss * 1e5).round() / 1e5).collect::<Vec<_>>(), nets.iter().map(|n| n.2.epochs).collect::<Vec<_>>());
    let rows: Vec<usize> = (0..1000).collect();
    let d = 40;
    let mut tn = Vec::new();
    rows.iter().for_each(|&r| scaler.t.standardise_into(te.truth.t_new.row(r), &mut tn));
    let mut per: Vec<(Vec<f32>, Vec<f32>)> = vec![];
    for m in 0..members {
        let c = Components { nets: nets.iter().filter(|n| n.0 == m).map(|n| n.2.net.clone()).collect(), classes };
        let a: Vec<_> = (0..classes).map(|k| c.mean(k, &bt, &rows, None, &device)).collect();
        let bb: Vec<_> = (0..classes).map(|k| c.mean(k, &bt, &rows, Some(&tn), &device)).collect();
        let pick = |v: &Vec<Vec<f32>>| rows.iter().flat_map(|&r| v[te.truth.z[r]][r * d..(r + 1) * d].to_vec()).collect::<Vec<f32>>();
        per.push((pick(&a), pick(&bb)));
    }
    let y = bt.outcomes(&rows);
    // out-of-fold residuals
    let mut res = vec![super::scales::Residuals::default(); classes];
    for m in 0..members {
        let c = Components { nets: nets.iter().filter(|n| n.0 == m).map(|n| n.2.net.clone()).collect(), classes };
        let valid: Vec<usize> = learning.iter().enumerate().filter(|(i, r)| i % folds == m).map(|(_, r)| *r).collect();
        let labels: Vec<usize> = valid.iter().map(|&r| tr.truth.z[r]).collect();
        let g = super::mixture::gather(&c, &b, &valid, &labels, &device);
        for (a, g) in res.iter_mut().zip(g) { a.t.extend(g.t); a.squares.extend(g.squares); }
    }
    let scales = super::Scales::fit(&res, d, 1, true);
    println!("depends {:?}", (0..classes).map(|k| scales.depends_on_treatment(k)).collect::<Vec<_>>());
    let ratio: Vec<Vec<f32>> = rows.iter().map(|&r| { let mut ts = vec![]; scaler.t.standardise_into(te.data.t().row(r), &mut ts); let z = te.truth.z[r];
        let (a, bq) = (scales.log_variance(z, &ts), scales.log_variance(z, &tn[r..r+1])); a.iter().zip(bq).map(|(a, b)| (0.5 * (b - a)).exp()).collect() }).collect();
    let score = |ms: &[usize]| {
        let (mut e0, mut e1, mut f, mut e2) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
        for r in 0..1000 { for j in 0..d {
            let i = r * d + j;
            let m0 = ms.iter().map(|&m| per[m].0[i]).sum::<f32>() / ms.len() as f32;
            let m1 = ms.iter().map(|&m| per[m].1[i]).sum::<f32>() / ms.len() as f32;
            let s = scaler.y.deviation(j);
            let mut yn = vec![0f32; 0]; 
            let truth = te.truth.y_new.row(r)[j];
            let mut out0 = vec![0f32; d]; 
            let dev = s;
            // restore only differences
            let ystd = y[i];
            let yn_std = { let raw = te.data.y().row(r)[j]; ystd + (truth - raw) / dev };
            e0 += ((m1 - yn_std) * dev).powi(2) as f64;
            e1 += ((m1 + ystd - m0 - yn_std) * dev).powi(2) as f64;
            e2 += ((m1 + (ystd - m0) * ratio[r][j] - yn_std) * dev).powi(2) as f64;
            f += ((m0 - ystd) * dev).powi(2) as f64;
        }}
        let s = 1000.0 * d as f64 * scaler.x_variance;
        (e0 / s, e1 / s, f / s, e2 / s)
    };
    for m in 0..members.min(2) { println!("member {m}: {:?}", score(&[m])); }
    println!("ratio {:.6}", score(&(0..members).collect::<Vec<_>>()).3); println!("ensemble rho0 {:.5} rho1 {:.6} factual {:.5}", score(&(0..members).collect::<Vec<_>>()).0, score(&(0..members).collect::<Vec<_>>()).1, score(&(0..members).collect::<Vec<_>>()).2);
}
