//! Independent jobs, each on one thread.
//!
//! Inside a job every tensor operation is single-threaded, so its bits do not depend on the number of jobs that run at the
//! same time. For small networks this is also faster than one job on all threads.

use std::sync::Mutex;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Error, Result};

/// Bytes of stack of a thread that works.
const STACK: usize = 2 << 20;
/// Bytes that the standard library maps beside the stack of a new thread. It aborts the process where it cannot.
const BESIDE_STACK: usize = 512 << 10;

/// Starts a thread pool and waits until all of its threads run.
fn start(threads: usize) -> Result<ThreadPool> {
    let refused = || Error::fit("threads cannot be started", "use fewer threads");
    let room = Vec::<u8>::new().try_reserve_exact(threads * (STACK + BESIDE_STACK));
    room.map_err(|e| refused().with_source(e))?;
    let pool = ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build();
    let pool = pool.map_err(|e| refused().with_source(e))?;
    pool.broadcast(|_| ());
    Ok(pool)
}

/// Runs `work` once on each of the workers at the same time.
fn run_on_each(workers: &[ThreadPool], work: &(impl Fn() + Sync)) {
    if let Some((worker, others)) = workers.split_first() {
        worker.in_place_scope(|scope| {
            scope.spawn(|_| work());
            run_on_each(others, work);
        });
    }
}

/// Threads for jobs.
#[derive(Debug)]
pub(crate) struct Pool {
    /// One pool of one thread per job.
    workers: Vec<ThreadPool>,
    /// One pool of all threads, for a job that runs alone.
    shared: ThreadPool,
}

impl Pool {
    /// A pool of `threads` threads, at least one.
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub(crate) fn new(threads: usize) -> Result<Self> {
        let threads = threads.max(1);
        let workers = (0..threads).map(|_| start(1)).collect::<Result<Vec<_>>>()?;
        Ok(Self { workers, shared: start(threads)? })
    }

    /// Runs all jobs and returns their results in the order of the jobs.
    ///
    /// # Panics
    /// If a job panics.
    pub(crate) fn map<J: Send, R: Send>(&self, jobs: Vec<J>, run: impl Fn(J) -> R + Sync) -> Vec<R> {
        let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
        let queue = Mutex::new(jobs.into_iter().enumerate());
        let work = || {
            loop {
                let next = queue.lock().expect("a job panicked").next();
                let Some((i, job)) = next else { break };
                let result = run(job);
                *results[i].lock().expect("a job panicked") = Some(result);
            }
        };
        run_on_each(&self.workers, &work);
        let take =
            |cell: Mutex<Option<R>>| cell.into_inner().expect("a job panicked").expect("every job ran");
        results.into_iter().map(take).collect()
    }

    /// Runs one job on all threads. Its result must not depend on their number.
    pub(crate) fn run_alone<R: Send>(&self, run: impl FnOnce() -> R + Send) -> R {
        self.shared.install(run)
    }

    /// As [`map`](Self::map), for jobs that can fail.
    ///
    /// # Errors
    /// The first error in the order of the jobs.
    pub(crate) fn try_map<J: Send, R: Send>(
        &self,
        jobs: Vec<J>,
        run: impl Fn(J) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        self.map(jobs, run).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        let pool = Pool::new(3).unwrap();
        let squares = pool.map((0..100).collect(), |i: usize| {
            assert_eq!(rayon::current_num_threads(), 1);
            i * i
        });
        assert!(squares.iter().enumerate().all(|(i, &square)| square == i * i));
        let failed = pool.try_map(vec![1, 2, 3], |i| if i < 2 { Ok(i) } else { Err(Error::Interrupted) });
        assert!(matches!(failed, Err(Error::Interrupted)));
    }
}
