//! The arguments that commands which ask a model share.

use std::path::{Path, PathBuf};

use clap::Args;

use cfqp::{AskOptions, Model, Resources, Rho};

use crate::error::{Failure, Result};
use crate::files::check_out;
use crate::resources::ResourceArgs;

/// A model and units.
#[derive(Args, Clone, Debug)]
pub(super) struct SourceArgs {
    /// The model file
    pub model: PathBuf,
    /// The units, with their x, t and y: .csv, .parquet, .arrow or .npz
    pub file: PathBuf,
}

impl SourceArgs {
    /// The files that the command reads.
    pub(super) fn files(&self) -> [&Path; 2] {
        [&self.model, &self.file]
    }
}

/// How a model is asked, and on what it runs.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct AskArgs {
    /// How much of a unit's noise is the same under the new treatment, from 0 (fresh noise) to 1 (the same noise); auto:
    /// learned from subjects seen more than once, else unknown (uniform on 0 to 1)
    #[arg(long, default_value = "auto", value_name = "R|auto", value_parser = parse_rho, allow_negative_numbers = true)]
    rho: Rho,
    /// The level of the intervals, between 0 and 1
    #[arg(long, default_value_t = 0.9, value_name = "L", allow_negative_numbers = true)]
    level: f64,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Validated settings of a question.
pub(super) struct ResolvedAsk {
    pub ask: AskOptions,
    pub resources: Resources,
}

impl AskArgs {
    /// Validates the settings and opens the device.
    pub(super) fn resolve(&self) -> Result<ResolvedAsk> {
        let ask = AskOptions { rho: self.rho, level: self.level };
        ask.validate()?;
        Ok(ResolvedAsk { ask, resources: self.resources.resolve()? })
    }
}

pub(super) fn parse_rho(text: &str) -> Result<Rho, String> {
    match text {
        "auto" => Ok(Rho::Auto),
        _ => text.parse().map(Rho::Given).map_err(|_| "expected a number from 0 to 1, or auto".to_owned()),
    }
}

/// Answers under the bounds of rho.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct BoundArgs {
    /// Add the answers under rho = 0 and rho = 1, with the widths of their intervals: columns whose names end in _rho0 and
    /// _rho1
    #[arg(long)]
    pub rho_bounds: bool,
}

/// An output file.
#[derive(Args, Clone, Debug)]
pub(super) struct OutArgs {
    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace existing files
    #[arg(long)]
    force: bool,
}

impl OutArgs {
    /// The file, after checking that it can be written and is none of the `inputs`.
    pub(super) fn resolve(&self, inputs: &[&Path]) -> Result<&Path> {
        check_out(&self.out, self.force, inputs)?;
        Ok(&self.out)
    }

    /// Checks that another file that belongs to this one can be written.
    pub(super) fn check(&self, path: &Path) -> Result<()> {
        check_out(path, self.force, &[])
    }
}

/// The elements of the treatment `text` that is given by `flag`: numbers or levels.
pub(super) fn parse_treatment(flag: &str, text: &str, fitted: &Model) -> Result<Vec<f32>> {
    let treatment = match fitted.parse_treatment(text) {
        Ok(treatment) => treatment,
        Err(cfqp::Error::Data { problem, hint, .. }) => {
            return Err(Failure::new(format!("{flag}: {problem}"), hint));
        }
        Err(error) => return Err(error.into()),
    };
    let dimensions = fitted.shapes().t;
    if treatment.len() == dimensions {
        return Ok(treatment);
    }
    let message = format!("{flag}: {} numbers per treatment, the model has {dimensions}", treatment.len());
    Err(Failure::new(message, "give as many numbers as t has in the data"))
}
