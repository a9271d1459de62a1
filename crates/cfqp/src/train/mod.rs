//! Training: the split, standardisation, one network at a time, checkpoints.

mod checkpoint;
mod context;
mod optimizer;
mod prepared;
mod split;
mod trainer;

pub(crate) use checkpoint::{Checkpoint, JobResult, fingerprint, read as read_checkpoint, with_checksums};
pub(crate) use context::Context;
pub(crate) use prepared::{Prepared, check_size};
pub(crate) use split::{Split, sample};
pub(crate) use trainer::Schedule;
pub(crate) use trainer::{Task, Trained, Trainer, train};
