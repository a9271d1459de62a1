//! How far a comparison of methods is: a bar for the run that goes on, a line for every finished one, with what is left.

use std::sync::Mutex;

use cfqp::{Method, Monitor, Run, Watch};

use crate::args::Show;
use crate::interrupt;
use crate::progress::Progress;
use crate::table::small;

/// Runs that are planned and what finished ones took.
pub struct Tally {
    left: Vec<(String, Method)>,
    /// Data, method, seconds.
    finished: Vec<(String, Method, f64)>,
    /// Some had been finished before, so that others may have been.
    recalled: bool,
}

impl Tally {
    /// `planned` are the runs, each by its data and its method.
    pub fn new(planned: impl IntoIterator<Item = (String, Method)>) -> Self {
        Self { left: planned.into_iter().collect(), finished: Vec::new(), recalled: false }
    }

    fn finish(&mut self, data: &str, method: Method, seconds: f64) {
        let is = |run: &(String, Method)| run.0 == data && run.1 == method;
        if let Some(i) = self.left.iter().position(is) {
            self.left.remove(i);
        }
        self.finished.push((data.to_owned(), method, seconds));
    }

    /// What the runs that are left will take, in seconds: as long as finished ones of the same method on the same data,
    /// else of the same method, else any.
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

    /// In words.
    pub fn told(&self) -> String {
        let (done, left) = (self.finished.len(), self.left.len());
        let time = match self.seconds_left() {
            Some(seconds) if left > 0 && done > 0 => {
                format!(", {} {}", if self.recalled { "at most" } else { "about" }, span(seconds))
            }
            _ => String::new(),
        };
        format!("{done} of {} runs done, {left} left{time}", done + left)
    }
}

fn span(seconds: f64) -> String {
    let minutes = (seconds / 60.0).ceil();
    if minutes < 120.0 { format!("{minutes:.0} min") } else { format!("{:.1} h", minutes / 60.0) }
}

/// Shows runs on one data set.
pub struct Watching<'a> {
    show: Show,
    data: String,
    tally: &'a Mutex<Tally>,
    /// What runs, and how far it is.
    progress: Mutex<Option<(String, Progress)>>,
}

impl<'a> Watching<'a> {
    /// Runs on `data`, as they are named in `tally`.
    pub fn new(show: Show, data: &str, tally: &'a Mutex<Tally>) -> Self {
        Self { show, data: data.to_owned(), tally, progress: Mutex::new(None) }
    }

    fn with(&self, tell: impl FnOnce(&str, &Progress)) {
        if let Ok(progress) = self.progress.lock()
            && let Some((run, progress)) = progress.as_ref()
        {
            tell(run, progress);
        }
    }

    fn replace(&self, progress: Option<(String, Progress)>) {
        if let Ok(mut own) = self.progress.lock() {
            *own = progress;
        }
    }
}

impl Monitor for Watching<'_> {
    fn stage(&self, name: &str, epochs: usize) {
        self.with(|run, progress| progress.stage(&format!("{run}: {name}"), epochs));
    }

    fn epoch(&self, loss: f64) {
        self.with(|_, progress| progress.epoch(loss));
    }

    fn stopped(&self) -> bool {
        interrupt::stopped()
    }
}

impl Watch for Watching<'_> {
    fn begin(&self, method: Method, seed: u64) {
        let Ok(tally) = self.tally.lock() else { return };
        let (done, left) = (tally.finished.len(), tally.left.len());
        let doing = format!("[{}/{}] {}, seed {seed}", done + 1, done + left, method.name());
        let progress = Progress::new(&self.show, &doing);
        self.replace(Some((doing, progress)));
    }

    fn end(&self, run: &Run, recalled: bool) {
        self.replace(None);
        let seconds = run.scores.as_ref().map_or(0.0, |scores| scores.fit_seconds + scores.query_seconds);
        let Ok(mut tally) = self.tally.lock() else { return };
        tally.finish(&self.data, run.method, seconds);
        tally.recalled |= recalled;
        if self.show.quiet {
            return;
        }
        let found = match &run.scores {
            Some(scores) if recalled => format!("cf mse {} (finished before)", small(scores.cf_mse)),
            Some(scores) => format!("cf mse {}, {seconds:.1} s", small(scores.cf_mse)),
            None => format!("failed: {}", run.error.as_deref().unwrap_or("no reason given")),
        };
        eprintln!("{}, seed {}: {found}; {}", run.method.name(), run.seed, tally.told());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_that_of_runs_like_those_left() {
        let plan = [("a", Method::Sc), ("a", Method::Cfqp), ("b", Method::Sc), ("b", Method::Cfqp)];
        let mut tally = Tally::new(plan.map(|(data, method)| (data.to_owned(), method)));
        assert_eq!(tally.told(), "0 of 4 runs done, 4 left");
        tally.finish("a", Method::Sc, 10.0);
        // the others as long as that one
        assert_eq!(tally.told(), "1 of 4 runs done, 3 left, about 1 min");
        tally.finish("a", Method::Cfqp, 8990.0);
        // as long as the same method elsewhere
        assert_eq!(tally.told(), "2 of 4 runs done, 2 left, about 2.5 h");
        tally.recalled = true;
        assert_eq!(tally.told(), "2 of 4 runs done, 2 left, at most 2.5 h");
        tally.finish("b", Method::Sc, 10.0);
        tally.finish("b", Method::Cfqp, 1.0);
        assert_eq!(tally.told(), "4 of 4 runs done, 0 left");
    }
}
