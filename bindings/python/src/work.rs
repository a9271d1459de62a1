//! Long work outside of the interpreter: progress, and a stop on Ctrl-C.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope};
use std::time::Duration;

use cfqp::{Error, Monitor, Result, Stage};
use pyo3::prelude::*;

use crate::error::{Reading, exception};

/// The time between two looks at signals and progress.
const INTERVAL: Duration = Duration::from_millis(50);
/// The stack of the thread that works: that of a program's main thread.
const STACK_BYTES: usize = 8 << 20;

/// What a piece of work says of its progress.
#[derive(Default)]
pub(crate) struct Watch {
    stage: Mutex<String>,
    done: AtomicUsize,
    announced: AtomicUsize,
    stopped: AtomicBool,
}

impl Watch {
    /// The stage, the work done and the work announced so far.
    fn progress(&self) -> (String, usize, usize) {
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (stage, self.done.load(Ordering::Relaxed), self.announced.load(Ordering::Relaxed))
    }
}

impl Monitor for Watch {
    fn stage(&self, stage: Stage, epochs: usize) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage.to_string();
        self.announced.fetch_add(epochs, Ordering::Relaxed);
    }

    fn epoch(&self, _loss: f64) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn units(&self, units: usize) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Runs `work` on another thread without holding the interpreter. Signals are handled meanwhile, and `progress` is called
/// with the stage, the work done and the work announced whenever these have changed; an exception of either stops the
/// work and is raised.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    reading: Reading,
    work: impl FnOnce(&Watch) -> Result<T> + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    let mut raised = None;
    let result = scope(|threads| {
        let (sender, finished) = channel::<()>();
        let watch = &watch;
        let worker = Builder::new().stack_size(STACK_BYTES).spawn_scoped(threads, move || {
            // dropped when the work ends, even by a panic
            let _sender = sender;
            work(watch)
        });
        let worker = match worker {
            Ok(worker) => worker,
            Err(error) => {
                let hint = "close other programs, or raise the limit on threads";
                return Err(Error::fit("no thread could be started", hint).with_source(error));
            }
        };
        let mut shown = watch.progress();
        // receiving is not `Sync`: the channel is moved into every wait and back
        let mut finished = Some(finished);
        loop {
            let channel = finished.take().expect("it is put back");
            let (state, channel) = py.detach(move || (channel.recv_timeout(INTERVAL), channel));
            finished = Some(channel);
            if state != Err(RecvTimeoutError::Timeout) {
                break;
            }
            if raised.is_none()
                && let Err(error) = look(py, progress, watch, &mut shown)
            {
                watch.stopped.store(true, Ordering::Relaxed);
                raised = Some(error);
            }
        }
        py.detach(|| worker.join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    match (raised, result) {
        (Some(raised), _) => Err(raised),
        (None, Ok(value)) => {
            report(progress, &watch.progress())?;
            Ok(value)
        }
        (None, Err(error)) => Err(exception(py, &error, reading)),
    }
}

/// Handles signals, and reports progress if there is any.
fn look(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    watch: &Watch,
    shown: &mut (String, usize, usize),
) -> PyResult<()> {
    py.check_signals()?;
    let now = watch.progress();
    if now != *shown {
        report(progress, &now)?;
        *shown = now;
    }
    Ok(())
}

fn report(progress: Option<&Bound<'_, PyAny>>, now: &(String, usize, usize)) -> PyResult<()> {
    match progress {
        Some(progress) => progress.call1((now.0.as_str(), now.1, now.2)).map(drop),
        None => Ok(()),
    }
}
