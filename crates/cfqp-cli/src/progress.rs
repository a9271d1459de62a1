//! How far a fit or a query is: a bar on a terminal, a line now and then elsewhere, a line for everything where that is
//! asked for; always on stderr.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cfqp::Monitor;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::Show;
use crate::interrupt;

/// Where there is no bar, a line is written this often, unless all are asked for.
const EVERY: Duration = Duration::from_secs(15);
const OPEN: &str = "{spinner} {msg}: epoch {pos}{prefix}, {elapsed}";
const COUNTED: &str = "{spinner} {msg}: {human_pos} units, {per_sec}, {elapsed}";
const PLANNED: &str = "{msg} {wide_bar} epoch {pos}/{len}{prefix}, {eta} left";

/// Shows epochs, loss and time left.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    planned: AtomicU64,
    lines: Option<Mutex<Lines>>,
    loss: Mutex<Option<f64>>,
}

/// Lines beside the bar, or instead of it.
#[derive(Debug)]
struct Lines {
    start: Instant,
    last: Instant,
    every: Duration,
}

impl Lines {
    fn new(show: &Show, bar: &ProgressBar) -> Option<Mutex<Self>> {
        let (now, every) = (Instant::now(), if show.verbose { Duration::ZERO } else { EVERY });
        let wanted = show.verbose || (bar.is_hidden() && !show.quiet);
        wanted.then(|| Mutex::new(Self { start: now, last: now, every }))
    }

    /// Whether it is time for another line.
    fn due(&mut self) -> bool {
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

/// A line that leaves the bar whole.
fn write(bar: &ProgressBar, line: &str) {
    bar.suspend(|| eprintln!("{line}"));
}

impl Progress {
    /// Nothing where `show` says so.
    pub fn new(show: &Show, doing: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        let lines = Lines::new(show, &bar);
        if show.quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.set_style(style(OPEN));
        bar.set_message(doing.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, planned: AtomicU64::new(0), lines, loss: Mutex::new(None) }
    }

    /// The mean of recent losses: networks that train side by side report in turn.
    fn recent(&self, loss: f64) -> f64 {
        let Ok(mut recent) = self.loss.lock() else { return loss };
        let mean = recent.map_or(loss, |recent| 0.95 * recent + 0.05 * loss);
        *recent = Some(mean);
        mean
    }

    fn line(&self, loss: f64) {
        let Some(Ok(mut lines)) = self.lines.as_ref().map(|lines| lines.lock()) else { return };
        if !lines.due() {
            return;
        }
        let (seconds, planned) = (lines.seconds(), self.planned.load(Ordering::Relaxed));
        let of = if planned > 0 { format!("/{planned}") } else { String::new() };
        let (doing, epoch) = (self.bar.message(), self.bar.position());
        write(&self.bar, &format!("{doing}: epoch {epoch}{of}, loss {loss:.4}, {seconds:.0} s"));
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("━━╌")
}

impl Monitor for Progress {
    fn stage(&self, name: &str, epochs: usize) {
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
            write(&self.bar, &format!("{name}{work}, at {:.1} s", lines.seconds()));
        }
    }

    fn epoch(&self, loss: f64) {
        let loss = self.recent(loss);
        self.bar.inc(1);
        self.bar.set_prefix(format!(", loss {loss:.4}"));
        self.line(loss);
    }

    fn stopped(&self) -> bool {
        interrupt::stopped()
    }
}

/// Shows how many units are done.
#[derive(Debug)]
pub struct Counter {
    bar: ProgressBar,
    lines: Option<Mutex<Lines>>,
}

impl Counter {
    /// Nothing where `show` says so.
    pub fn new(show: &Show, doing: &str) -> Self {
        interrupt::listen();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
        let lines = Lines::new(show, &bar);
        if show.quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.set_style(style(COUNTED));
        bar.set_message(doing.to_owned());
        Self { bar, lines }
    }

    /// So many more are done.
    pub fn add(&self, units: usize) {
        self.bar.inc(units as u64);
        let Some(Ok(mut lines)) = self.lines.as_ref().map(|lines| lines.lock()) else { return };
        if lines.due() {
            let done = self.bar.position();
            let rate = done as f64 / lines.seconds();
            write(&self.bar, &format!("{}: {done} units, {rate:.0} a second", self.bar.message()));
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
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
    fn work_that_is_announced_is_counted() {
        assert!(
            [OPEN, PLANNED, COUNTED].iter().all(|template| ProgressStyle::with_template(template).is_ok())
        );
        let progress = Progress::new(&Show { json: false, quiet: true, verbose: false }, "fit");
        progress.stage("one", 3);
        progress.stage("two", 4);
        progress.epoch(1.0);
        progress.epoch(3.0);
        assert_eq!((progress.bar.length(), progress.bar.position()), (Some(7), 2));
        assert_eq!(progress.bar.message(), "two");
        assert_eq!(*progress.loss.lock().unwrap(), Some(1.1));
    }
}
