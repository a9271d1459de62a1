//! The fused operations beside their compositions from Burn's own, and whole training steps likewise.
//!
//!     cargo bench --bench fused

use cfqp::measure::{Operation, TrainingStep, Workload, compose};
use criterion::{Criterion, criterion_group, criterion_main};

fn operations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("forward and backward, batch 128");
    for composed in [false, true] {
        for mut operation in Operation::all() {
            compose(composed);
            let name = format!("{}/{}", operation.name, if composed { "composed" } else { "fused" });
            group.bench_function(name, |bencher| bencher.iter(|| operation.run()));
        }
    }
    compose(false);
    group.finish();
}

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("training step, batch 128");
    group.sample_size(10);
    for composed in [false, true] {
        for workload in Workload::all() {
            compose(composed);
            let mut step = TrainingStep::new(&workload, 128, 2).expect("the workloads are sound");
            let name = format!("{}/{}", workload.name, if composed { "composed" } else { "fused" });
            group.bench_function(name, |bencher| bencher.iter(|| step.run(1)));
        }
    }
    compose(false);
    group.finish();
}

criterion_group!(benches, operations, steps);
criterion_main!(benches);
