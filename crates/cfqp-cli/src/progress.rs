//! Progress of fits and queries on stderr: a bar on a terminal, otherwise a line every few seconds. With `--verbose`, a
//! line for every stage and epoch.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cfqp::{Monitor, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::OutputArgs;
use crate::interrupt;

/// The interval between lines if there is no bar.
const LINE_INTERVAL: Duration = Duration::from_secs(15);
const OPEN: &str = "{spinner} {msg}: epoch {pos}{prefix}, {elapsed}";
const COUNTED: &str = "{spinner} {msg}: {human_pos} units, {per_sec}, {elapsed}";
const PLANNED: &str = "{msg} {wide_bar} epoch {pos}/{len}{prefix}, {eta} left";

/// The progress of a fit: epochs, loss and time left.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    planned: AtomicU64,
    lines: Option<Mutex<Lines>>,
    loss: Mutex<Option<f64>>,
}

/// Progress lines in addition to the bar, or instead of it.
#[derive(Debug)]
struct Lines {
    start: Instant,
    last: Instant,
    every: Duration,
}

impl Lines {
    fn new(output: &OutputArgs, bar: &ProgressBar) -> Option<Mutex<Self>> {
        let (now, every) = (Instant::now(), if output.verbose { Duration::ZERO } else { LINE_INTERVAL });
        let wanted = output.verbose || (bar.is_hidden() && !output.quiet);
        wanted.then(|| Mutex::new(Self { start: now, last: now, every }))
    }

    /// Whether it is time for another line; if so, the interval starts again.
    fn is_due(&mut self) -> bool {
        let due = self.last.elapsed() >= self.every;
        if due {
            self.last = Instant::now();
        }
        due
    }

    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

/// Prints a line without breaking the bar.
fn print_line(bar: &ProgressBar, line: &str) {
    bar.suspend(|| eprintln!("{line}"));
}

impl Progress {
    /// Starts the display of work named `name`; with `--quiet`, nothing is shown.
    pub fn new(output: &OutputArgs, name: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        let lines = Lines::new(output, &bar);
        if output.quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.set_style(style(OPEN));
        bar.set_message(name.to_owned());
        // the ticker is a thread, which nobody needs where no bar is drawn
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, planned: AtomicU64::new(0), lines, loss: Mutex::new(None) }
    }

    /// A moving average of the loss, as text: networks that train in parallel report in turn. Work without a loss has none.
    fn smooth_loss(&self, loss: f64) -> String {
        let Ok(mut recent) = self.loss.lock() else { return String::new() };
        if !loss.is_finite() {
            return String::new();
        }
        let mean = recent.map_or(loss, |recent| 0.95 * recent + 0.05 * loss);
        *recent = Some(mean);
        format!(", loss {mean:.4}")
    }

    /// Announces work named `name` that takes about `epochs` epochs.
    pub fn announce(&self, name: &str, epochs: usize) {
        let before = self.planned.fetch_add(epochs as u64, Ordering::Relaxed);
        self.bar.set_length(before + epochs as u64);
        if before == 0 && epochs > 0 {
            self.bar.set_style(style(PLANNED));
        }
        self.bar.set_message(name.to_owned());
        if let Some(Ok(lines)) = self.lines.as_ref().map(|lines| lines.lock())
            && lines.every.is_zero()
        {
            let work = if epochs > 0 { format!(", {epochs} epochs") } else { String::new() };
            print_line(&self.bar, &format!("{name}{work}, at {:.1} s", lines.seconds()));
        }
    }

    fn print_epoch(&self, loss: &str) {
        let Some(Ok(mut lines)) = self.lines.as_ref().map(|lines| lines.lock()) else { return };
        if !lines.is_due() {
            return;
        }
        let (seconds, planned) = (lines.seconds(), self.planned.load(Ordering::Relaxed));
        let total = if planned > 0 { format!("/{planned}") } else { String::new() };
        let (name, epoch) = (self.bar.message(), self.bar.position());
        print_line(&self.bar, &format!("{name}: epoch {epoch}{total}{loss}, {seconds:.0} s"));
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("━━╌")
}

impl Monitor for Progress {
    fn stage(&self, stage: Stage, epochs: usize) {
        self.announce(&stage.to_string(), epochs);
    }

    fn epoch(&self, loss: f64) {
        let loss = self.smooth_loss(loss);
        self.bar.inc(1);
        self.print_epoch(&loss);
        self.bar.set_prefix(loss);
    }

    fn stopped(&self) -> bool {
        interrupt::stopped()
    }
}

/// The progress of queries: the number of units done.
#[derive(Debug)]
pub struct Counter {
    bar: ProgressBar,
    lines: Option<Mutex<Lines>>,
}

impl Counter {
    /// Starts the display of work named `name`; with `--quiet`, nothing is shown.
    pub fn new(output: &OutputArgs, name: &str) -> Self {
        interrupt::stop_between_steps();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
        let lines = Lines::new(output, &bar);
        if output.quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.set_style(style(COUNTED));
        bar.set_message(name.to_owned());
        Self { bar, lines }
    }

    /// Adds units that are done.
    pub fn add(&self, units: usize) {
        self.bar.inc(units as u64);
        let Some(Ok(mut lines)) = self.lines.as_ref().map(|lines| lines.lock()) else { return };
        if lines.is_due() {
            let done = self.bar.position();
            let rate = done as f64 / lines.seconds();
            print_line(&self.bar, &format!("{}: {done} units, {rate:.0}/s", self.bar.message()));
        }
    }
}

impl Monitor for Counter {
    fn units(&self, units: usize) {
        self.add(units);
    }

    fn stopped(&self) -> bool {
        interrupt::stopped()
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        interrupt::stop_at_once();
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_epochs_are_counted() {
        assert!(
            [OPEN, PLANNED, COUNTED].iter().all(|template| ProgressStyle::with_template(template).is_ok())
        );
        let progress = Progress::new(&OutputArgs { json: false, quiet: true, verbose: false }, "fit");
        progress.announce("one", 3);
        progress.stage(Stage::Ensemble, 4);
        progress.epoch(1.0);
        progress.epoch(3.0);
        assert_eq!((progress.bar.length(), progress.bar.position()), (Some(7), 2));
        assert_eq!(progress.bar.message(), "ensemble");
        assert_eq!(*progress.loss.lock().unwrap(), Some(1.1));
    }
}
