#![allow(unused)]
use super::*;
use crate::data::*;
use crate::eval::*;
use crate::sim::*;
use crate::*;
fn env<T: std::str::FromStr>(k: &str, d: T) -> T {
    std::env::var(k).ok().and_then(|v| v.parse().ok()).unwrap_or(d)
}
#[test]
#[ignore]
fn whole() {
    let seed: u64 = env("SEED", 11);
    let what: String = env("DATA", "cardio".to_string());
    let n: usize = env(
        "N",
        if what.starts_with("osc") {
            2100
        } else if what.starts_with("dig") {
            6000
        } else {
            3500
        },
    );
    let na = Noise::NonAdditive;
    let one = env("ONE", 0) == 1;
    let mnist = std::path::Path::new("/work/shared/data/mnist");
    let sim = |n, seed| match what.as_str() {
        "cardio" => Cardio { single_class: one, ..Default::default() }.simulate(n, seed).unwrap(),
        "cardio-na" => {
            Cardio { noise: na, single_class: one, ..Default::default() }.simulate(n, seed).unwrap()
        }
        "cardio-h" => Cardio { hidden_compliance: true, single_class: one, ..Default::default() }
            .simulate(n, seed)
            .unwrap(),
        "osc" => Oscillator { single_class: one, ..Default::default() }.simulate(n, seed).unwrap(),
        "osc-na" => {
            Oscillator { noise: na, single_class: one, ..Default::default() }.simulate(n, seed).unwrap()
        }
        "digits" => Digits { single_class: one, ..Default::default() }
            .simulate(DigitSource::Mnist(&Mnist::load(mnist, MnistPart::Train).unwrap()), n, seed)
            .unwrap(),
        _ => panic!(),
    };
    let (tr, te) = (sim(n, seed), sim(1000, seed + 1000));
    let classes = 1 + *tr.truth.z.iter().max().unwrap();
    let mut config = FitConfig { seed, ..Default::default() };
    if env("AUTO", 0) == 0 {
        config.classes = Classes::Given(env("K", classes));
    }
    config.base = match env("BASE", "auto".to_string()).as_str() {
        "linear" => Base::Linear,
        "mlp" => Base::Mlp,
        "unet" => Base::Unet,
        _ => Base::Auto,
    };
    if let Ok(e) = std::env::var("EPOCHS") {
        config.epochs = Some(e.parse().unwrap());
    }
    if let Ok(e) = std::env::var("MEMBERS") {
        config.members = Some(e.parse().unwrap());
    }
    let t0 = std::time::Instant::now();
    struct P(std::time::Instant);
    impl Monitor for P {
        fn stage(&self, n: &str, e: usize) {
            eprintln!("  [{:.0}s] {n} {e}", self.0.elapsed().as_secs_f64());
        }
        fn epoch(&self, l: f64) {
            if std::env::var("V").is_ok() {
                eprintln!("   [{:.0}s] {l:.5}", self.0.elapsed().as_secs_f64());
            }
        }
    }
    let f = fit(&tr.data, None, &config, &Resources::default(), &P(t0)).unwrap();
    let secs = t0.elapsed().as_secs_f64();
    let r = f.report();
    for t in &r.tried {
        println!(
            "  tried {} K={} nll {:.3} mse {:.5} {}",
            t.base,
            t.classes,
            t.nll,
            t.mse,
            if t.chosen { "<-" } else { "" }
        );
    }
    for s in &r.starts {
        println!("  start {:?} nll {:.3} agree {:.3}", s.start, s.nll, s.agreement);
    }
    println!(
        "  notes {:?} agreement {:.2} sizes {:?} epochs {} effort {} shares {} varies {:?} delta {:.3} val nll {:.3} mse {:.5} spread {} alternatives {}",
        r.notes,
        r.agreement,
        r.class_sizes,
        r.epochs,
        r.effort,
        f.shares(),
        f.varies(),
        r.delta_hat,
        r.val_nll,
        r.val_mse,
        f.header.calibration.spread,
        f.alternatives.len()
    );
    let t0 = std::time::Instant::now();
    let scale = if what == "digits" { 1.0 } else { f.scaler().x_variance };
    for rho in [1.0, 0.0] {
        let a = f.query(&te.data, &te.truth.t_new, &Ask { rho, level: 0.9 }).unwrap();
        let found: Vec<usize> = a.diagnoses.iter().map(|d| d.class).collect();
        let c = coverage(&te.truth.y_new, &a.lower, &a.upper).unwrap();
        println!(
            "RESULT {what} n={n} seed={seed} K={} {} rho={rho}: cf_mse {:.6} accuracy {:.4} coverage {:.3} width {:.4} fit {:.1}s query {:.2}s off {} amb {} dis {}",
            f.classes(),
            f.base(),
            mse(&te.truth.y_new, &a.point).unwrap() / scale,
            class_accuracy(&te.truth.z, &found),
            c.share,
            c.width,
            secs,
            t0.elapsed().as_secs_f64(),
            a.diagnoses.iter().filter(|d| d.off_support).count(),
            a.diagnoses.iter().filter(|d| d.ambiguous_class).count(),
            a.diagnoses.iter().filter(|d| d.starts_disagree).count()
        );
    }

    let mut f = f;
    let c0 = f.header.calibration.spread;
    for kappa in ["0"; 0] {
        for c in [1.0f32, c0] {
            unsafe { std::env::set_var("KAPPA", kappa) };
            f.header.calibration.spread = c;
            let a = f.query(&te.data, &te.truth.t_new, &Ask { rho: 1.0, level: 0.9 }).unwrap();
            let cv = coverage(&te.truth.y_new, &a.lower, &a.upper).unwrap();
            println!("COV kappa {kappa} c {c} (own {c0}): {:.3} width {:.4}", cv.share, cv.width);
        }
    }
}
#[test]
#[ignore]
fn public() {
    let what: String = env("DATA", "oscillator_add".to_string());
    let dir = std::path::Path::new("/work/shared/data/reference");
    let read = |part: &str| Dataset::read_npz(&dir.join(format!("{what}_421_{part}.npz"))).unwrap();
    let cfp = dir.join(format!("{what}_421_cf.npz"));
    let (tr, va, te) = (read("train"), read("val"), read("cf"));
    let k = if what.starts_with("osc") { 3 } else { 2 };
    let mut config = FitConfig { seed: env("SEED", 1), classes: Classes::Given(k), ..Default::default() };
    config.base = match env("BASE", "auto".to_string()).as_str() {
        "linear" => Base::Linear,
        "mlp" => Base::Mlp,
        "unet" => Base::Unet,
        _ => Base::Auto,
    };
    if env("PAPER", 0) == 1 {
        config.recipe = Recipe::Paper;
        config.starts = vec![Start::Kmeans];
    }
    if env("AUTO", 0) == 1 {
        config.classes = Classes::Auto;
    }
    let t0 = std::time::Instant::now();
    let f = fit(&tr, Some(&va), &config, &Resources::default(), &()).unwrap();
    let secs = t0.elapsed().as_secs_f64();
    let r = f.report();
    for t in &r.tried {
        println!(
            "  tried {} K={} nll {:.3} mse {:.5} {}",
            t.base,
            t.classes,
            t.nll,
            t.mse,
            if t.chosen { "<-" } else { "" }
        );
    }
    for s in &r.starts {
        println!("  start {:?} nll {:.3} agree {:.3}", s.start, s.nll, s.agreement);
    }
    println!(
        "  notes {:?} sizes {:?} epochs {} effort {} shares {} varies {:?} val nll {:.3} mse {:.5} spread {} xvar {}",
        r.notes,
        r.class_sizes,
        r.epochs,
        r.effort,
        f.shares(),
        f.varies(),
        r.val_nll,
        r.val_mse,
        f.header.calibration.spread,
        f.scaler().x_variance
    );
    let (tn, yn, z) = (
        read_array(&cfp, "t_new").unwrap().unwrap(),
        read_array(&cfp, "y_new").unwrap().unwrap(),
        read_array(&cfp, "z").unwrap().unwrap(),
    );
    for rho in [1.0, 0.0] {
        let a = f.query(&te, &tn, &Ask { rho, level: 0.9 }).unwrap();
        let found: Vec<usize> = a.diagnoses.iter().map(|d| d.class).collect();
        let zz: Vec<usize> = z.values().iter().map(|v| *v as usize).collect();
        let c = coverage(&yn, &a.lower, &a.upper).unwrap();
        println!(
            "RESULT {what} {} K={} rho={rho}: cf_mse {:.6} raw {:.6} accuracy {:.4} coverage {:.3} width {:.4} fit {:.1}s",
            f.base(),
            f.classes(),
            mse(&yn, &a.point).unwrap() / f.scaler().x_variance,
            mse(&yn, &a.point).unwrap(),
            class_accuracy(&zz, &found),
            c.share,
            c.width,
            secs
        );
    }
}
