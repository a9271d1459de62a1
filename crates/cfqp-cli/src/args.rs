//! What stands on the command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser};
use serde::de::DeserializeOwned;

use crate::commands::Command;

const EXAMPLES: &str = "\
Examples:
  cfqp demo                                  see it at work, in under a minute
  cfqp check patients.csv --x age,sex --t dose --y outcome
  cfqp fit patients.csv --x age,sex --t dose --y outcome --out model.cfqp
  cfqp diagnose model.cfqp patients.csv      can I trust it?
  cfqp effect model.cfqp patients.csv --from 0.5 --to 0.8
  cfqp query model.cfqp patients.csv --treatment 0.8 --out answers.parquet
  cfqp report model.cfqp patients.csv --out report.html

Exit codes: 0 done, 1 a check failed, 2 error, 130 interrupted.";

/// Counterfactual queries under hidden response classes: this unit had x, got t, showed y; what would it have
/// shown under another t?
#[derive(Debug, Parser)]
#[command(name = "cfqp", version, after_help = EXAMPLES, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub show: Show,
}

/// What is shown.
#[derive(Args, Clone, Copy, Debug)]
pub struct Show {
    /// Print one JSON object instead of text
    #[arg(long, global = true, display_order = 900)]
    pub json: bool,
    /// Show no progress and no text, only errors
    #[arg(short, long, global = true, display_order = 901)]
    pub quiet: bool,
    /// Show every stage and epoch as a line
    #[arg(short, long, global = true, display_order = 902, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// One of `names`, which are a library type's own with `-` for `_`.
pub fn choice<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names)
        .try_map(|name| serde_json::from_value(serde_json::Value::String(name.replace('-', "_"))))
}

/// A whole number from 1 to `most`.
pub fn up_to(most: usize) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text| match text.trim().parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("give a number from 1 to {most}")),
    }
}

/// A number that is neither infinite nor NaN.
pub fn finite(text: &str) -> Result<f32, String> {
    match text.trim().parse::<f32>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err("it is not a number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
