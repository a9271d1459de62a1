//! Queries to a multilayer perceptron on a table, one at a time and many; what it takes to start; growth.

use std::process::Command;
use std::time::Instant;

use cfqp::measure::{Em, Workload, table};
use cfqp::{Ask, Base, Classes, Dataset, FitConfig, Fitted, Resources, Units, fit};

use super::{Bench, Part, Row, median, seconds};
use crate::error::{Failure, Result};
use crate::resources::peak_rss_mb;
use crate::table::count;

/// Settings of the two models that are asked: one network per class, and what a fit makes by default.
fn settings(members: Option<usize>) -> FitConfig {
    FitConfig {
        classes: Classes::Given(2),
        base: Base::Mlp,
        members,
        epochs: Some(20),
        starts: vec![cfqp::Start::Kmeans],
        ..FitConfig::default()
    }
}

fn model(bench: &Bench, members: Option<usize>) -> Result<Fitted> {
    let resources = Resources { threads: bench.threads, ..Resources::default() };
    Ok(fit(&table(if bench.quick { 200 } else { 1000 }, 1)?, None, &settings(members), &resources, &())?)
}

fn treatment(value: f32) -> Result<Units> {
    Ok(Units::new("treatment", vec![1], vec![value])?)
}

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (members, what) in [(Some(1), "mlp 3x256, K = 2"), (None, "mlp 3x256, K = 2, ensemble of 5")] {
        let model = model(bench, members)?;
        rows.extend(latency(bench, &model, what)?);
        rows.push(throughput(bench, &model, what)?);
        if members.is_none() {
            rows.extend(start(bench, &model)?);
        }
    }
    rows.extend(peak_rss_mb().map(|peak| Row::new(Part::Queries, "peak memory so far", peak, "MB")));
    Ok(rows)
}

fn latency(bench: &Bench, model: &Fitted, what: &str) -> Result<Vec<Row>> {
    let (ask, to) = (Ask::default(), treatment(0.5)?);
    let ones: Vec<Dataset> =
        (0..if bench.quick { 20 } else { 2000 }).map(|i| table(1, 100 + i)).collect::<cfqp::Result<_>>()?;
    let mut times = Vec::with_capacity(ones.len());
    for one in &ones {
        let clock = Instant::now();
        model.query(one, &to, &ask)?;
        times.push(1e3 * clock.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let row = |name: &str, value| Row::new(Part::Queries, format!("one query, {name}, {what}"), value, "ms");
    Ok(vec![row("p50", at(0.5)), row("p99", at(0.99))])
}

fn throughput(bench: &Bench, model: &Fitted, what: &str) -> Result<Row> {
    let n = if bench.quick { 1000 } else { 100_000 };
    let (data, to, ask) = (table(n, 7)?, treatment(0.5)?, Ask::default());
    let rounds = (0..3).map(|_| seconds(|| model.query(&data, &to, &ask)).0);
    let rate = n as f64 / median(rounds.collect());
    Ok(Row::new(Part::Queries, format!("queries, batched, {what}"), rate.round(), "units/s"))
}

fn start(bench: &Bench, model: &Fitted) -> Result<Vec<Row>> {
    let failed =
        |error: std::io::Error| Failure::new(error.to_string(), "free some disk space and try again");
    let folder = tempfile::tempdir().map_err(failed)?;
    let file = folder.path().join("model.cfqp");
    model.save(&file)?;
    let program = std::env::current_exe().map_err(failed)?;
    let rounds = if bench.quick { 2 } else { 20 };
    let resources = Resources { threads: bench.threads, ..Resources::default() };
    let load = (0..rounds).map(|_| 1e3 * seconds(|| Fitted::load(&file, &resources)).0);
    let version = (0..rounds).map(|_| 1e3 * seconds(|| Command::new(&program).arg("--version").output()).0);
    Ok(vec![
        Row::new(Part::Queries, "start-up (cfqp --version)", median(version.collect()), "ms"),
        Row::new(Part::Queries, "load a model, ensemble of 5", median(load.collect()), "ms"),
    ])
}

/// Microseconds per unit as units grow in number: linear work keeps them level.
pub fn growth(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let model = model(bench, Some(1))?;
    let (to, ask) = (treatment(0.5)?, Ask::default());
    let sizes: &[usize] = if bench.quick { &[100, 1000] } else { &[1_000, 10_000, 100_000, 1_000_000] };
    for &n in sizes {
        let data = table(n, 9)?;
        let rounds =
            (0..if n < 1_000_000 { 5 } else { 2 }).map(|_| seconds(|| model.query(&data, &to, &ask)).0);
        let each = 1e6 * median(rounds.collect()) / n as f64;
        rows.push(Row::new(Part::Growth, format!("query, {} units", count(n)), each, "us/unit"));
    }
    let mlp = Workload::all().into_iter().find(|workload| workload.name == "mlp").expect("there is an mlp");
    let sizes: &[usize] = if bench.quick { &[256, 512] } else { &[1_000, 4_000, 16_000, 64_000] };
    for &n in sizes {
        let mut em = Em::new(&mlp, n, 2, 128, bench.threads)?;
        em.m_step();
        let round = |em: &mut Em| {
            em.m_step();
            em.e_step()
        };
        let rounds = (0..3).map(|_| seconds(|| round(&mut em)).0);
        let each = 1e6 * median(rounds.collect()) / n as f64;
        rows.push(Row::new(
            Part::Growth,
            format!("EM epoch, mlp, K = 2, {} units", count(n)),
            each,
            "us/unit",
        ));
    }
    Ok(rows)
}
