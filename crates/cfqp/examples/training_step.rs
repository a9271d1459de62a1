//! Repeats the training step of one network, for a profiler.
//!
//!     cargo run --release --example training_step -- mlp|unet-1d|unet-2d|transformer [STEPS] [THREADS]

use cfqp::measure::{StepTimes, TrainingStep, Workload};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "unet-1d".to_owned());
    let mut number = |default: usize| arguments.next().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (steps, threads) = (number(100), number(2));
    let workload =
        Workload::all().into_iter().find(|workload| workload.name == name).expect("a known network");
    let mut step = TrainingStep::new(&workload, 128, threads).expect("the workloads are valid");
    step.run(3);
    let StepTimes { loss, mut seconds } = step.run(steps);
    seconds.sort_by(f64::total_cmp);
    println!("{name}: {:.2} ms (median of {steps}), loss {loss:.6}", 1e3 * seconds[steps / 2]);
}
