//! `cfqp-lab real`: methods on real measurements of the same subject under another treatment.

mod held_out;
mod sets;
mod write;

use std::path::PathBuf;
use std::sync::Mutex;

use clap::Args;
use serde::Serialize;

use cfqp::eval::{Comparison, ComparisonData, MethodRun, PairedUnits, Pairs};
use cfqp::rivals::{Method, MethodConfig};
use cfqp::{Resources, Rho};
use cfqp_cli::args::{OutputArgs, parse_count};
use cfqp_cli::error::Result;
use cfqp_cli::files::write_text;
use cfqp_cli::format::shell_quote;
use cfqp_cli::output::{Output, to_pretty_json};
use cfqp_cli::resources::ResourceArgs;
use cfqp_cli::run_progress::{RunProgress, RunTally};
use cfqp_cli::{create_runs_folder, explain, interrupt};
use held_out::HeldOut;
use sets::{MeasuredSet, SetFiles};

const MAX_SEEDS: usize = 1000;
/// The seed of the fits on all rows.
const SEED: u64 = 1;
/// The methods; cfqp is asked with an unknown or learned rho.
const METHODS: [Method; 5] = Method::PAIRS;

const EXAMPLES: &str = "\
Examples:
  cfqp-lab real measurements --out real
  cfqp-lab real measurements/co2_uptake --seeds 2

DIR, or each folder in it, holds data*.csv (id, x_*, t or t_1, t_2, ..., y; a row is a measurement that is shown) and pairs*.csv
with the same ending (id of the row, t_new or t_new_1, t_new_2, ..., y_new: another measurement of the same subject, and optionally subject). Two experiments:
  1. Rows as units: every method is fitted to all rows of data*.csv and asked about every pair; cfqp with rho auto and rho 1.
  2. Where several rows belong to one subject: one random row of each subject is held out, methods are fitted to the other rows
     with the subject as group, and asked about another random row of the subject under the treatment of the one held out, with
     all remaining rows of the subject in view; rho auto.
Pairs are used to score answers only. RMSE is in units of y; SD is the standard deviation of y_new. With --out, DIR receives
results.json and table.md, and in runs every finished run: the same command continues where it stopped.";

/// Score methods on real measurements of the same subject under another treatment
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RealArgs {
    /// The folder with measurements
    dir: PathBuf,
    /// Seeds 1 to N of the held-out rows and of the fits to the other rows
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = parse_count(MAX_SEEDS))]
    seeds: usize,
    /// The directory for results and finished runs
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// All methods on the pairs of one set, rows as units.
#[derive(Serialize)]
struct PairsResult {
    set: String,
    /// The number of rows that were fitted.
    rows: usize,
    pairs: usize,
    runs: Vec<MethodRun>,
}

/// All methods on held-out rows of one set, with one seed.
#[derive(Serialize)]
struct HeldOutResult {
    set: String,
    seed: u64,
    /// The number of rows that were fitted.
    rows: usize,
    /// The number of rows that were held out, one per subject.
    held_out: usize,
    runs: Vec<MethodRun>,
}

/// The JSON of the command and the content of `results.json`.
#[derive(Serialize)]
struct Results {
    version: &'static str,
    threads: usize,
    pairs: Vec<PairsResult>,
    held_out: Vec<HeldOutResult>,
}

pub(crate) fn run(args: &RealArgs, show: &OutputArgs) -> Result<Output> {
    let sets = sets::find(&args.dir)?.iter().map(SetFiles::read).collect::<Result<Vec<_>>>()?;
    let runner = Runner::new(args, show, &sets)?;
    interrupt::stop_between_steps();
    let pairs = sets.iter().map(|set| runner.ask_pairs(set)).collect::<Result<Vec<_>>>()?;
    let mut held_out = Vec::new();
    for set in sets.iter().filter(|set| set.has_repeats()) {
        for seed in 1..=args.seeds as u64 {
            held_out.push(runner.ask_held_out(set, seed)?);
        }
    }
    let threads = runner.resources.threads;
    let results = Results { version: env!("CARGO_PKG_VERSION"), threads, pairs, held_out };
    let mut text = write::text(&results);
    if let Some(out) = &args.out {
        write_text(&out.join("results.json"), &to_pretty_json(&results)?)?;
        write_text(&out.join("table.md"), &text)?;
        text += &format!("\nwrote results.json and table.md to {}\n", shell_quote(out));
    }
    Output::new(text, &results)
}

/// What all experiments of a command share.
struct Runner<'a> {
    args: &'a RealArgs,
    show: &'a OutputArgs,
    resources: Resources,
    /// The folder of finished runs.
    runs: Option<PathBuf>,
    tally: Mutex<RunTally>,
}

impl<'a> Runner<'a> {
    fn new(args: &'a RealArgs, show: &'a OutputArgs, sets: &[MeasuredSet]) -> Result<Self> {
        let planned = |set: &MeasuredSet| {
            let seeds = if set.has_repeats() { args.seeds } else { 0 };
            let grouped = std::iter::repeat_n(METHODS, seeds).flatten();
            let methods = METHODS.into_iter().chain([Method::Cfqp]).chain(grouped);
            methods.map(|method| (set.name.clone(), method)).collect::<Vec<_>>()
        };
        Ok(Self {
            args,
            show,
            resources: args.resources.resolve()?,
            runs: args.out.as_deref().map(create_runs_folder).transpose()?,
            tally: Mutex::new(RunTally::new(sets.iter().flat_map(planned))),
        })
    }

    fn compare(
        &self,
        set: &MeasuredSet,
        comparison: &Comparison,
        data: &ComparisonData<'_>,
    ) -> Result<Vec<MethodRun>> {
        let watching = RunProgress::new(*self.show, &set.name, &self.tally);
        let runs = comparison.run(data, &self.resources, self.runs.as_deref(), &watching);
        runs.map_err(|error| explain(error, self.args.out.as_deref()))
    }

    fn announce(&self, what: &str) {
        if !self.show.quiet {
            eprintln!("{what}");
        }
    }

    /// Every method on every pair, rows as units; cfqp with rho auto, then with rho 1.
    fn ask_pairs(&self, set: &MeasuredSet) -> Result<PairsResult> {
        self.announce(&format!("{}: rows as units", set.name));
        let table = &set.table;
        let units = PairedUnits { data: &table.data, ids: &table.ids, layout: Some(&table.layout) };
        let pairs = Pairs::read(&set.pairs_path, units)?;
        let data = ComparisonData {
            train: &table.data,
            train_z: None,
            test: &table.data,
            truth: &pairs.truth,
            pairs: Some(&pairs.rows),
            effects: None,
            examples: None,
        };
        let mut runs = self.compare(set, &comparison(&METHODS, SEED, Rho::Auto), &data)?;
        runs.extend(self.compare(set, &comparison(&[Method::Cfqp], SEED, Rho::Given(1.0)), &data)?);
        Ok(PairsResult { set: set.name.clone(), rows: table.data.len(), pairs: pairs.len(), runs })
    }

    /// Every method on one held-out row of each subject.
    fn ask_held_out(&self, set: &MeasuredSet, seed: u64) -> Result<HeldOutResult> {
        self.announce(&format!("{}: one row of each subject held out, seed {seed}", set.name));
        let HeldOut { train, asked, truth } = HeldOut::draw(&set.grouped()?, seed)?;
        let data = ComparisonData {
            train: &train,
            train_z: None,
            test: &train,
            truth: &truth,
            pairs: Some(&asked),
            effects: None,
            examples: None,
        };
        let runs = self.compare(set, &comparison(&METHODS, seed, Rho::Auto), &data)?;
        Ok(HeldOutResult { set: set.name.clone(), seed, rows: train.len(), held_out: asked.len(), runs })
    }
}

fn comparison(methods: &[Method], seed: u64, rho: Rho) -> Comparison {
    let config = MethodConfig { rho, ..MethodConfig::default() };
    Comparison { methods: methods.to_vec(), seeds: vec![seed], config }
}
