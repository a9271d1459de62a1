//! Training steps: forward, backward and Adam on a batch of 128.

use cfqp::measure::{TrainingStep, Workload};

use super::{Bench, Row, Topic, median};
use cfqp_cli::error::Result;

const BATCH: usize = 128;

pub(super) fn run(bench: &mut Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for workload in Workload::all() {
        let steps = match workload.name {
            _ if bench.quick => 1,
            "mlp" => 200,
            "unet-2d" => 4,
            "unet-1d" => 40,
            _ => 6,
        };
        let mut step = TrainingStep::new(&workload, BATCH, bench.threads)?;
        let mut rounds = Vec::new();
        for round in 0..if bench.quick { 2 } else { 8 } {
            let ours = 1e3 * median(step.run(steps).seconds);
            let request = format!("step {} {BATCH} {steps}", workload.name);
            let peer = bench.peers.as_mut().map(|peers| peers.ask(&request, "ms")).transpose()?.flatten();
            // the first round warms up
            if round > 0 {
                rounds.push((ours, peer));
            }
        }
        rows.push(Row::from_rounds(Topic::Steps, format!("training step, {}", workload.name), &rounds, "ms"));
    }
    Ok(rows)
}
