//! The fused operations and whole training steps, each beside its composition from Burn's own operations.
//!
//!     cargo bench -p cfqp --bench fused

use std::time::{Duration, Instant};

use cfqp::measure::{Operation, TrainingStep, Workload, set_composed};

/// Time spent on one measurement after the first run, which warms up.
const BUDGET: Duration = Duration::from_secs(2);
const BATCH: usize = 128;
const THREADS: usize = 2;

fn main() {
    println!("milliseconds, medians; batch {BATCH}");
    println!("{:<40}  {:>9}  {:>9}  {:>6}", "", "fused", "composed", "ratio");
    println!("forward and backward");
    for mut operation in Operation::all() {
        compare(operation.name, || operation.run());
    }
    println!("training step, {THREADS} threads");
    for workload in Workload::all() {
        let mut step = TrainingStep::new(&workload, BATCH, THREADS).expect("the workloads are valid");
        compare(workload.name, || drop(step.run(1)));
    }
}

/// Prints a line with the medians of `work` in its fused and its composed form.
fn compare(name: &str, mut work: impl FnMut()) {
    let [fused, composed] = [false, true].map(|composed| {
        set_composed(composed);
        median_milliseconds(&mut work)
    });
    set_composed(false);
    println!("  {name:<38}  {fused:>9.3}  {composed:>9.3}  {:>6.2}", fused / composed);
}

fn median_milliseconds(work: &mut impl FnMut()) -> f64 {
    work();
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.len() < 5 || start.elapsed() < BUDGET {
        let clock = Instant::now();
        work();
        times.push(1e3 * clock.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
