//! The search for classes: starts, EM, and the choice of the base model and the number of classes.

mod em;
mod explore;
mod score;
mod select;
mod starts;

pub(crate) use em::{EmData, EmSolution};
pub(crate) use explore::{Attempt, batch_size, learning_rate, search_schedule};
pub(crate) use select::{Candidate, Selection, base_models, score_classes, select};
pub(crate) use starts::{StartInputs, initial_labels};
