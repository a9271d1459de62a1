//! Finished work of an interrupted fit, which is not done again.

use crate::Result;

/// The result of a job: arrays of parameters, and numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Finished {
    pub arrays: Vec<Vec<f32>>,
    pub numbers: Vec<f64>,
}

/// Where results of jobs are kept, by name. A job depends on its name, the data and the settings alone.
pub(crate) trait Jobs: Sync {
    /// The result of a job, if an interrupted fit has finished it.
    fn find(&self, name: &str) -> Option<Finished>;

    /// Keeps the result of a job.
    ///
    /// # Errors
    /// If it cannot be written.
    fn keep(&self, name: &str, job: Finished) -> Result<()>;
}

/// Nothing is kept.
impl Jobs for () {
    fn find(&self, _: &str) -> Option<Finished> {
        None
    }

    fn keep(&self, _: &str, _: Finished) -> Result<()> {
        Ok(())
    }
}

/// What a job computes.
pub(super) trait Job: Sized {
    /// What `restore` needs besides the result.
    type Setting;

    /// The result as it is kept.
    fn finished(&self) -> Finished;

    /// The result again; none if it does not suit the setting.
    fn restore(setting: &Self::Setting, kept: Finished) -> Option<Self>;
}

/// The jobs of one form of the outcomes.
#[derive(Clone, Copy)]
pub(crate) struct KeptJobs<'a> {
    /// The name of the form.
    pub outcomes: &'static str,
    pub kept: &'a dyn Jobs,
}

impl KeptJobs<'_> {
    /// What the job `name` computes: what is kept of it, or else the result of `run`, which is then kept.
    pub(super) fn run<T: Job>(
        &self,
        name: &str,
        setting: &T::Setting,
        run: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if let Some(known) = self.find(name, setting) {
            return Ok(known);
        }
        let result = run()?;
        self.keep(name, &result)?;
        Ok(result)
    }

    /// What is kept of the job `name`.
    pub(super) fn find<T: Job>(&self, name: &str, setting: &T::Setting) -> Option<T> {
        self.kept.find(&self.full_name(name)).and_then(|kept| T::restore(setting, kept))
    }

    /// Keeps the result of the job `name`.
    pub(super) fn keep<T: Job>(&self, name: &str, result: &T) -> Result<()> {
        self.kept.keep(&self.full_name(name), result.finished())
    }

    fn full_name(&self, name: &str) -> String {
        format!("density {} {name}", self.outcomes)
    }
}

/// One number per subject; the setting is the number of subjects.
impl Job for Vec<f64> {
    type Setting = usize;

    fn finished(&self) -> Finished {
        Finished { arrays: Vec::new(), numbers: self.clone() }
    }

    fn restore(&subjects: &usize, kept: Finished) -> Option<Self> {
        (kept.numbers.len() == subjects).then_some(kept.numbers)
    }
}
