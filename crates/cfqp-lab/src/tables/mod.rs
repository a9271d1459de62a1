//! `cfqp-lab tables`: error, Bayes limit, coverage and verdicts on simulated tables with one outcome.

mod fit;
mod summary;
mod write;

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use cfqp::Resources;
use cfqp::sim::TableWorld;
use cfqp_cli::args::{OutputArgs, parse_count};
use cfqp_cli::create_runs_folder;
use cfqp_cli::error::Result;
use cfqp_cli::files::write_text;
use cfqp_cli::format::shell_quote;
use cfqp_cli::interrupt;
use cfqp_cli::output::{Output, to_pretty_json};
use cfqp_cli::resources::ResourceArgs;
use fit::{Plan, TableFit};
use summary::{Summary, WorldSummary};

const MAX_UNITS: usize = 10_000_000;
const MAX_SEEDS: usize = 1000;
/// The number of units that every fit is evaluated on.
const TEST_UNITS: usize = 2000;
/// The level of the intervals.
const LEVEL: f64 = 0.9;
/// The word for all worlds.
const ALL: &str = "all";

const EXAMPLES: &str = "\
Examples:
  cfqp-lab tables --worlds single,crossing --n 300 --seeds 1 --out few    a check that it runs
  cfqp-lab tables --out tables-2000                                       19 worlds, 5 seeds, 2,000 units
  cfqp-lab tables --n 600 --out tables-600
  cfqp-lab tables --worlds yes-no,count,category,amount,arms --n 4000 --out kinds

For every world and seed: N units of `cfqp simulate table`, a fit with default settings (the number of classes unknown), and an
evaluation at rho = 1 on 2,000 fresh units of the seed + 1000. Error and limit are in variances of y of the fresh units; the
excess is their difference. The log loss is that of the probabilities of yes/no outcomes and categories; their intervals are \
compared with
the best probabilities. Verdicts are those of `cfqp diagnose` on the training units.
DIR receives results.json and table.md. Finished fits are kept in DIR/runs: the same command continues where it stopped. They
are fitted again if the version or the default settings have changed; after any other change to the program use another DIR.";

/// Measure error, Bayes limit, coverage and verdicts on simulated tables
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TablesArgs {
    /// The worlds, comma-separated
    #[arg(long, value_name = "W", value_delimiter = ',', default_value = ALL, value_parser = world_parser())]
    worlds: Vec<WorldChoice>,
    /// Number of training units
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = parse_count(MAX_UNITS))]
    n: usize,
    /// Seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = parse_count(MAX_SEEDS))]
    seeds: usize,
    /// The directory for results and finished fits
    #[arg(long, value_name = "DIR", default_value = "tables")]
    out: PathBuf,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// A value of `--worlds`.
#[derive(Clone, Copy, Debug)]
enum WorldChoice {
    All,
    One(TableWorld),
}

fn world_parser() -> impl TypedValueParser<Value = WorldChoice> {
    let names = std::iter::once(ALL).chain(TableWorld::ALL.map(TableWorld::name));
    PossibleValuesParser::new(names).try_map(|name| {
        let world = TableWorld::ALL.into_iter().find(|world| world.name() == name);
        match world {
            Some(world) => Ok(WorldChoice::One(world)),
            None if name == ALL => Ok(WorldChoice::All),
            None => Err(format!("there is no world {name}")),
        }
    })
}

/// The chosen worlds, each once, in the order of [`TableWorld::ALL`].
fn chosen_worlds(choices: &[WorldChoice]) -> Vec<TableWorld> {
    let is_chosen = |world: &TableWorld| {
        choices.iter().any(|choice| match choice {
            WorldChoice::All => true,
            WorldChoice::One(chosen) => chosen == world,
        })
    };
    TableWorld::ALL.into_iter().filter(is_chosen).collect()
}

/// The JSON of the command and the content of `results.json`.
#[derive(Serialize)]
struct Results {
    version: &'static str,
    n: usize,
    seeds: usize,
    test_units: usize,
    level: f64,
    threads: usize,
    fits: Vec<TableFit>,
    worlds: Vec<WorldSummary>,
    summary: Summary,
}

pub(crate) fn run(args: &TablesArgs, show: &OutputArgs) -> Result<Output> {
    let resources = args.resources.resolve()?;
    let runs = create_runs_folder(&args.out)?;
    interrupt::stop_between_steps();
    let fits = run_fits(args, show, &resources, &runs)?;
    let worlds = summary::by_world(&fits);
    let summary = Summary::new(&worlds, &fits);
    let results = Results {
        version: env!("CARGO_PKG_VERSION"),
        n: args.n,
        seeds: args.seeds,
        test_units: TEST_UNITS,
        level: LEVEL,
        threads: resources.threads,
        fits,
        worlds,
        summary,
    };
    let text = write::overview(&results);
    write_text(&args.out.join("results.json"), &to_pretty_json(&results)?)?;
    write_text(&args.out.join("table.md"), &format!("{text}\n{}", write::fits_table(&results.fits)))?;
    let end = format!("\nwrote results.json and table.md to {}\n", shell_quote(&args.out));
    Output::new(text + &end, &results)
}

/// Runs every fit that is not finished, and prints a line for each.
fn run_fits(
    args: &TablesArgs,
    show: &OutputArgs,
    resources: &Resources,
    runs: &Path,
) -> Result<Vec<TableFit>> {
    let worlds = chosen_worlds(&args.worlds);
    let seeds = 1..=args.seeds as u64;
    let plans: Vec<Plan> = worlds
        .iter()
        .flat_map(|&world| seeds.clone().map(move |seed| Plan { world, n: args.n, seed }))
        .collect();
    let mut fits = Vec::with_capacity(plans.len());
    for (i, plan) in plans.iter().enumerate() {
        let path = plan.path(runs);
        let found = TableFit::load(&path, plan);
        let note = if found.is_some() { " (finished before)" } else { "" };
        let fit = match found {
            Some(fit) => fit,
            None => {
                let name = format!("[{}/{}] {}, seed {}", i + 1, plans.len(), plan.world.name(), plan.seed);
                let fit = plan.run(resources, show, &name, &args.out)?;
                write_text(&path, &to_pretty_json(&fit)?)?;
                fit
            }
        };
        if !show.quiet {
            eprintln!("{}{note}", write::line(&fit));
        }
        fits.push(fit);
    }
    Ok(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_are_chosen_once_and_in_order() {
        let one = WorldChoice::One;
        let chosen =
            chosen_worlds(&[one(TableWorld::Single), one(TableWorld::Crossing), one(TableWorld::Single)]);
        assert_eq!(chosen, [TableWorld::Crossing, TableWorld::Single]);
        assert_eq!(chosen_worlds(&[one(TableWorld::Many), WorldChoice::All]), TableWorld::ALL);
    }
}
