//! The command line, and parsers of its values.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser};
use serde::de::DeserializeOwned;

use crate::commands::Command;
use crate::memory::MemoryArgs;

const EXAMPLES: &str = "\
Examples:
  cfqp demo                                  a complete example, in under a minute
  cfqp check patients.csv --x age,sex --t dose --y outcome
  cfqp fit patients.csv --x age,sex --t dose --y outcome --out model.cfqp
  cfqp diagnose model.cfqp patients.csv      can I trust it?
  cfqp effect model.cfqp patients.csv --from 0.5 --to 0.8
  cfqp query model.cfqp patients.csv --treatment 0.8 --out answers.parquet
  cfqp report model.cfqp patients.csv --out report.html

Exit codes: 0 success, 1 a check failed, 2 error, 130 interrupted.";

/// Counterfactual queries under hidden response classes: a unit with covariates x received treatment t and showed outcome
/// y; what would its outcome have been under another treatment?
#[derive(Debug, Parser)]
#[command(name = "cfqp", version, after_help = EXAMPLES, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
}

/// What is printed.
#[derive(Args, Clone, Copy, Debug)]
pub struct OutputArgs {
    /// Print one JSON object instead of text
    #[arg(long, global = true, display_order = 900)]
    pub json: bool,
    /// Print errors only
    #[arg(short, long, global = true, display_order = 901)]
    pub quiet: bool,
    /// Print a line for every stage and epoch
    #[arg(short, long, global = true, display_order = 902, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// Parses one of `names`, which are the serialised names of a library type with `-` for `_`.
pub fn parse_choice<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names)
        .try_map(|name| serde_json::from_value(serde_json::Value::String(name.replace('-', "_"))))
}

/// Parses an integer from 1 to `max`.
pub fn parse_count(max: usize) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text| match text.trim().parse() {
        Ok(number) if (1..=max).contains(&number) => Ok(number),
        _ => Err(format!("expected an integer from 1 to {max}")),
    }
}

/// Parses a number that is finite in single precision.
pub fn parse_finite(text: &str) -> Result<f32, String> {
    parse_precise(text).map(|value| value as f32)
}

/// As [`parse_finite`], with all its digits.
pub fn parse_precise(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if (value as f32).is_finite() => Ok(value),
        _ => Err("expected a finite number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn counts_and_numbers_are_checked() {
        let parse = parse_count(10);
        assert_eq!(parse(" 10 "), Ok(10));
        assert!(["0", "11", "-1", "x", ""].iter().all(|text| parse(text).is_err()));
        assert_eq!(parse_finite("-0.5"), Ok(-0.5));
        assert!(["nan", "inf", "1e99", "one"].iter().all(|text| parse_finite(text).is_err()));
    }
}
