//! A custom monitor: prints the stages of a fit, stops it after a number of epochs, and resumes it from its checkpoint.
//!
//!     cargo run --release -p cfqp --example monitor

use std::sync::atomic::{AtomicUsize, Ordering};

use cfqp::sim::Oscillator;
use cfqp::{Base, Classes, Error, Fit, FitConfig, Monitor, Resources, Stage};

/// Counts epochs and stops at `limit`.
struct EpochBudget {
    epochs: AtomicUsize,
    limit: usize,
}

impl Monitor for EpochBudget {
    fn stage(&self, stage: Stage, epochs: usize) {
        println!("{stage}: {epochs} epochs planned");
    }

    fn epoch(&self, _loss: f64) {
        self.epochs.fetch_add(1, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        self.epochs.load(Ordering::Relaxed) >= self.limit
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let world = Oscillator::default().simulate(200, 1)?;
    let config = FitConfig {
        classes: Classes::Given(3),
        base: Base::Mlp,
        epochs: Some(20),
        members: Some(2),
        ..FitConfig::default()
    };
    let checkpoint = Some(folder.path().join("fit.checkpoint"));
    let resources = Resources { checkpoint, ..Resources::default() };

    let budget = EpochBudget { epochs: AtomicUsize::new(0), limit: 300 };
    let stopped = Fit::new(config.clone()).resources(resources.clone()).monitor(&budget).run(&world.data);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    println!("stopped after {} epochs", budget.epochs.load(Ordering::Relaxed));

    // finished jobs are not run again, and the model has the same bits as one that was never stopped
    let rest = EpochBudget { epochs: AtomicUsize::new(0), limit: usize::MAX };
    let resources = Resources { resume: true, ..resources };
    let model = Fit::new(config).resources(resources).monitor(&rest).run(&world.data)?;
    println!("resumed for {} epochs: {} classes", rest.epochs.load(Ordering::Relaxed), model.classes());
    Ok(())
}
