//! Progress of a comparison of methods: a bar for the current run, and a line with the time left for every finished one.

use std::sync::Mutex;

use cfqp::eval::{CompareMonitor, MethodRun};
use cfqp::rivals::Method;
use cfqp::{Monitor, Stage};

use crate::args::OutputArgs;
use crate::format::format_short;
use crate::interrupt;
use crate::progress::Progress;

/// Planned runs, and the times of finished ones.
pub struct RunTally {
    left: Vec<(String, Method)>,
    /// Data, method, seconds.
    finished: Vec<(String, Method, f64)>,
    /// Whether results of an earlier command were found, so that there may be more of them.
    recalled: bool,
}

impl RunTally {
    /// A tally of `planned` runs, given by their data and method.
    pub fn new(planned: impl IntoIterator<Item = (String, Method)>) -> Self {
        Self { left: planned.into_iter().collect(), finished: Vec::new(), recalled: false }
    }

    fn finish(&mut self, data: &str, method: Method, seconds: f64) {
        let is_this = |run: &(String, Method)| run.0 == data && run.1 == method;
        if let Some(i) = self.left.iter().position(is_this) {
            self.left.remove(i);
        }
        self.finished.push((data.to_owned(), method, seconds));
    }

    /// The expected time of the runs that are left, in seconds: the mean time of finished runs of the same method on the
    /// same data, else of the same method, else of all runs.
    fn seconds_left(&self) -> Option<f64> {
        let mean = |like: &dyn Fn(&str, Method) -> bool| {
            let taken = self.finished.iter().filter(|(data, method, _)| like(data, *method));
            let (sum, n) = taken.fold((0.0, 0), |(sum, n), (_, _, seconds)| (sum + seconds, n + 1));
            (n > 0).then(|| sum / f64::from(n))
        };
        let expected = |(own, as_own): &(String, Method)| {
            mean(&|data, method| data == own && method == *as_own)
                .or_else(|| mean(&|_, method| method == *as_own))
                .or_else(|| mean(&|_, _| true))
        };
        self.left.iter().map(expected).sum()
    }

    /// The number of runs done and left, and the time left.
    pub fn summary(&self) -> String {
        let (done, left) = (self.finished.len(), self.left.len());
        let time = match self.seconds_left() {
            Some(seconds) if left > 0 && done > 0 => {
                format!(", {} {}", if self.recalled { "at most" } else { "about" }, format_duration(seconds))
            }
            _ => String::new(),
        };
        format!("{done} of {} runs done, {left} left{time}", done + left)
    }
}

fn format_duration(seconds: f64) -> String {
    let minutes = (seconds / 60.0).ceil();
    if minutes < 120.0 { format!("{minutes:.0} min") } else { format!("{:.1} h", minutes / 60.0) }
}

/// The progress of runs on one data set.
pub struct RunProgress<'a> {
    output: OutputArgs,
    data: String,
    tally: &'a Mutex<RunTally>,
    /// The name and the progress of the current run.
    progress: Mutex<Option<(String, Progress)>>,
}

impl<'a> RunProgress<'a> {
    /// The progress of the runs on `data`, which is its name in `tally`.
    pub fn new(output: OutputArgs, data: &str, tally: &'a Mutex<RunTally>) -> Self {
        Self { output, data: data.to_owned(), tally, progress: Mutex::new(None) }
    }

    fn with_progress(&self, act: impl FnOnce(&str, &Progress)) {
        if let Ok(progress) = self.progress.lock()
            && let Some((run, progress)) = progress.as_ref()
        {
            act(run, progress);
        }
    }

    fn replace(&self, progress: Option<(String, Progress)>) {
        if let Ok(mut own) = self.progress.lock() {
            *own = progress;
        }
    }
}

impl Monitor for RunProgress<'_> {
    fn stage(&self, stage: Stage, epochs: usize) {
        self.with_progress(|run, progress| progress.announce(&format!("{run}: {stage}"), epochs));
    }

    fn epoch(&self, loss: f64) {
        self.with_progress(|_, progress| progress.epoch(loss));
    }

    fn stopped(&self) -> bool {
        interrupt::stopped()
    }
}

impl CompareMonitor for RunProgress<'_> {
    fn run_started(&self, method: Method, seed: u64) {
        let Ok(tally) = self.tally.lock() else { return };
        let (done, left) = (tally.finished.len(), tally.left.len());
        let name = format!("[{}/{}] {}, seed {seed}", done + 1, done + left, method.name());
        let progress = Progress::new(&self.output, &name);
        self.replace(Some((name, progress)));
    }

    fn run_finished(&self, run: &MethodRun, recalled: bool) {
        self.replace(None);
        let seconds = run.scores.as_ref().map_or(0.0, |scores| scores.fit_seconds + scores.query_seconds);
        let Ok(mut tally) = self.tally.lock() else { return };
        tally.finish(&self.data, run.method, seconds);
        tally.recalled |= recalled;
        if self.output.quiet {
            return;
        }
        let found = match &run.scores {
            Some(scores) if recalled => format!("cf mse {} (finished before)", format_short(scores.cf_mse)),
            Some(scores) => format!("cf mse {}, {seconds:.1} s", format_short(scores.cf_mse)),
            None => format!("failed: {}", run.error.as_deref().unwrap_or("unknown reason")),
        };
        eprintln!("{}, seed {}: {found}; {}", run.method.name(), run.seed, tally.summary());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_estimated_from_similar_runs() {
        let plan = [("a", Method::Sc), ("a", Method::Cfqp), ("b", Method::Sc), ("b", Method::Cfqp)];
        let mut tally = RunTally::new(plan.map(|(data, method)| (data.to_owned(), method)));
        assert_eq!(tally.summary(), "0 of 4 runs done, 4 left");
        tally.finish("a", Method::Sc, 10.0);
        // no other run has finished: the others are expected to take as long
        assert_eq!(tally.summary(), "1 of 4 runs done, 3 left, about 1 min");
        tally.finish("a", Method::Cfqp, 8990.0);
        // the mean time of the same method on other data
        assert_eq!(tally.summary(), "2 of 4 runs done, 2 left, about 2.5 h");
        tally.recalled = true;
        assert_eq!(tally.summary(), "2 of 4 runs done, 2 left, at most 2.5 h");
        tally.finish("b", Method::Sc, 10.0);
        tally.finish("b", Method::Cfqp, 1.0);
        assert_eq!(tally.summary(), "4 of 4 runs done, 0 left");
    }
}
