//! The stages of a fit, as reported to a [`Monitor`](super::Monitor).

use std::fmt;

/// A stage of a fit. Its `Display` text is what progress bars show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// One model for all units.
    SingleModel,
    /// EM from every start with this number of classes.
    Classes {
        /// The number of classes.
        classes: usize,
        /// The name of the base model.
        base: &'static str,
    },
    /// Choice of the base model where the classes of the training units are given.
    BaseModel,
    /// Choice of the class weights and the noise law of mixture density networks.
    Form,
    /// Choice of the training length of the ensemble's members.
    TrainingLength,
    /// Training of the ensemble's members.
    Ensemble,
    /// Reading the rows of a table that does not fit in memory, into a temporary file.
    Reading,
    /// Training of the ensemble's members on all rows of a table that does not fit in memory.
    AllRows,
    /// One model per class, the second half of the published algorithm.
    ClassModels,
    /// Training of a normalising flow.
    NormalisingFlow,
    /// Training of a diffusion model.
    Diffusion,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SingleModel => f.write_str("one model for all units"),
            Self::Classes { classes: 1, base } => write!(f, "1 class, {base}"),
            Self::Classes { classes, base } => write!(f, "{classes} classes, {base}"),
            Self::BaseModel => f.write_str("choosing the base model"),
            Self::Form => f.write_str("choosing class weights and noise"),
            Self::TrainingLength => f.write_str("choosing training length"),
            Self::Ensemble => f.write_str("ensemble"),
            Self::Reading => f.write_str("reading rows"),
            Self::AllRows => f.write_str("members on all rows"),
            Self::ClassModels => f.write_str("one model per class"),
            Self::NormalisingFlow => f.write_str("normalising flow"),
            Self::Diffusion => f.write_str("diffusion"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_names_its_classes_and_base_model() {
        assert_eq!(Stage::Classes { classes: 1, base: "linear" }.to_string(), "1 class, linear");
        assert_eq!(Stage::Classes { classes: 3, base: "mlp" }.to_string(), "3 classes, mlp");
    }
}
