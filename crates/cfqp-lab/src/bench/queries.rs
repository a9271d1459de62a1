//! Queries to a multilayer perceptron on a table: latency, throughput, start-up, growth with the number of units.

use std::time::Instant;

use cfqp::measure::{Em, Workload, table};
use cfqp::{Base, Classes, Dataset, Fit, FitConfig, Model, Resources, Units};

use super::{Bench, Row, Topic, cfqp_command, disk_failure, median, seconds};
use cfqp_cli::error::Result;
use cfqp_cli::format::format_count;
use cfqp_cli::resources::peak_rss_mb;

/// The settings of the two models: one network per class, or the default ensemble.
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

fn model(bench: &Bench, members: Option<usize>) -> Result<Model> {
    let resources = Resources { threads: bench.threads, ..Resources::default() };
    let data = table(if bench.quick { 200 } else { 1000 }, 1)?;
    Ok(Fit::new(settings(members)).resources(resources).run(&data)?)
}

fn treatment(value: f32) -> Result<Units> {
    Ok(Units::new("treatment", vec![1], vec![value])?)
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (members, model_name) in [(Some(1), "mlp 3x256, K = 2"), (None, "mlp 3x256, K = 2, ensemble of 5")] {
        let model = model(bench, members)?;
        rows.extend(latency(bench, &model, model_name)?);
        rows.push(throughput(bench, &model, model_name)?);
        if members.is_none() {
            rows.extend(start_up(bench, &model)?);
        }
    }
    rows.extend(peak_rss_mb().map(|peak| Row::new(Topic::Queries, "peak memory so far", peak, "MB")));
    Ok(rows)
}

fn latency(bench: &Bench, model: &Model, model_name: &str) -> Result<Vec<Row>> {
    let to = treatment(0.5)?;
    let singles: Vec<Dataset> =
        (0..if bench.quick { 20 } else { 2000 }).map(|i| table(1, 100 + i)).collect::<cfqp::Result<_>>()?;
    let mut times = Vec::with_capacity(singles.len());
    for single in &singles {
        let clock = Instant::now();
        model.ask(single).under(&to).rho(1.0).answers()?;
        times.push(1e3 * clock.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let quantile = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let row =
        |name: &str, value| Row::new(Topic::Queries, format!("one query, {name}, {model_name}"), value, "ms");
    Ok(vec![row("p50", quantile(0.5)), row("p99", quantile(0.99))])
}

fn throughput(bench: &Bench, model: &Model, model_name: &str) -> Result<Row> {
    let n = if bench.quick { 1000 } else { 100_000 };
    let (data, to) = (table(n, 7)?, treatment(0.5)?);
    let rounds = (0..3).map(|_| seconds(|| model.ask(&data).under(&to).rho(1.0).answers()).0);
    let rate = n as f64 / median(rounds.collect());
    Ok(Row::new(Topic::Queries, format!("queries, batched, {model_name}"), rate.round(), "units/s"))
}

fn start_up(bench: &Bench, model: &Model) -> Result<Vec<Row>> {
    let folder = tempfile::tempdir().map_err(disk_failure)?;
    let file = folder.path().join("model.cfqp");
    model.save(&file)?;
    let rounds = if bench.quick { 2 } else { 20 };
    let resources = Resources { threads: bench.threads, ..Resources::default() };
    let load = (0..rounds).map(|_| 1e3 * seconds(|| Model::load(&file, &resources)).0);
    let mut program = cfqp_command()?;
    program.arg("--version");
    let version = (0..rounds).map(|_| 1e3 * seconds(|| program.output()).0);
    Ok(vec![
        Row::new(Topic::Queries, "start-up (cfqp --version)", median(version.collect()), "ms"),
        Row::new(Topic::Queries, "load a model, ensemble of 5", median(load.collect()), "ms"),
    ])
}

/// Microseconds per unit for growing numbers of units: constant if time is linear.
pub(super) fn growth(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let model = model(bench, Some(1))?;
    let to = treatment(0.5)?;
    let sizes: &[usize] = if bench.quick { &[100, 1000] } else { &[1_000, 10_000, 100_000, 1_000_000] };
    for &n in sizes {
        let data = table(n, 9)?;
        let rounds = (0..if n < 1_000_000 { 5 } else { 2 })
            .map(|_| seconds(|| model.ask(&data).under(&to).rho(1.0).answers()).0);
        let per_unit = 1e6 * median(rounds.collect()) / n as f64;
        rows.push(Row::new(Topic::Growth, format!("query, {} units", format_count(n)), per_unit, "us/unit"));
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
        let per_unit = 1e6 * median(rounds.collect()) / n as f64;
        rows.push(Row::new(
            Topic::Growth,
            format!("EM epoch, mlp, K = 2, {} units", format_count(n)),
            per_unit,
            "us/unit",
        ));
    }
    Ok(rows)
}
