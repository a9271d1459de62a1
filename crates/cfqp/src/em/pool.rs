//! Independent jobs on the cores, each on a thread of its own.
//!
//! Inside a job every tensor operation is single-threaded: a job's bits cannot depend on how many run beside
//! it, and on small networks two jobs on two cores do twice the work of one job on both.

use std::sync::Mutex;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Error, Result};

/// So many threads, each with a pool of one.
#[derive(Debug)]
pub(crate) struct Pool {
    workers: Vec<ThreadPool>,
    /// As many threads in one pool.
    all: ThreadPool,
}

impl Pool {
    pub fn new(threads: usize) -> Result<Self> {
        let pool = |threads: usize| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build();
            pool.map_err(|e| Error::fit(format!("cannot start threads: {e}"), "ask for fewer threads"))
        };
        let workers = (0..threads.max(1)).map(|_| pool(1)).collect::<Result<Vec<_>>>()?;
        Ok(Self { workers, all: pool(threads.max(1))? })
    }

    pub fn threads(&self) -> usize {
        self.workers.len()
    }

    /// The result of every job, in the order of the jobs.
    pub fn map<J: Send, R: Send>(&self, jobs: Vec<J>, run: impl Fn(J) -> R + Sync) -> Vec<R> {
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
        std::thread::scope(|scope| {
            for worker in &self.workers {
                scope.spawn(|| worker.install(work));
            }
        });
        let done =
            |cell: Mutex<Option<R>>| cell.into_inner().expect("a job panicked").expect("every job ran");
        results.into_iter().map(done).collect()
    }

    /// One job on all threads, for work whose bits do not depend on how many there are.
    pub fn alone<R: Send>(&self, run: impl FnOnce() -> R + Send) -> R {
        self.all.install(run)
    }

    /// As [`map`](Self::map), for jobs that can fail: the first error in the order of the jobs.
    pub fn try_map<J: Send, R: Send>(
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
