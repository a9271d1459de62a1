//! Runs the cells of an experiment.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use cfqp::data::{Mnist, MnistSplit};
use cfqp::eval::{Comparison, ComparisonData, MethodRun, Reference, TrueEffects};
use cfqp::sim::Simulated;
use cfqp::{Classes, Dataset, Fit, FitConfig, Resources, Units};
use cfqp_cli::args::OutputArgs;
use cfqp_cli::error::Result;
use cfqp_cli::files::{remove_checkpoint, write_text};
use cfqp_cli::format::format_short;
use cfqp_cli::output::to_pretty_json;
use cfqp_cli::progress::Progress;
use cfqp_cli::run_progress::{RunProgress, RunTally};
use cfqp_cli::{create_runs_folder, explain};

use super::class_search::{self, ClassSearch};
use super::gallery::Gallery;
use super::plan::{Cell, Experiment};
use super::scenario::Simulator;
use super::{Outcome, ReproduceArgs, Results};

/// What all experiments of a command share.
pub(super) struct Runner<'a> {
    args: &'a ReproduceArgs,
    show: &'a OutputArgs,
    resources: Resources,
    runs: PathBuf,
    tally: Mutex<RunTally>,
    train_digits: Option<Mnist>,
    test_digits: Option<Mnist>,
}

impl<'a> Runner<'a> {
    /// Opens the device, creates the folder for runs and reads MNIST.
    pub(super) fn new(
        args: &'a ReproduceArgs,
        show: &'a OutputArgs,
        plan: &[(Experiment, Vec<Cell>)],
    ) -> Result<Self> {
        let resources = args.resources.resolve()?;
        let runs = |cell: &Cell| -> Vec<_> {
            cell.methods.iter().map(|method| (cell.scenario.name(), *method)).collect()
        };
        let planned = plan.iter().flat_map(|(_, cells)| cells.iter().flat_map(runs));
        let digits = |part| -> Result<Option<Mnist>> {
            Ok(args.mnist.as_deref().map(|folder| Mnist::load(folder, part)).transpose()?)
        };
        Ok(Self {
            args,
            show,
            resources,
            runs: create_runs_folder(&args.out)?,
            tally: Mutex::new(RunTally::new(planned)),
            train_digits: digits(MnistSplit::Train)?,
            test_digits: digits(MnistSplit::Test)?,
        })
    }

    /// The folder of finished runs.
    pub(super) fn runs_folder(&self) -> &Path {
        &self.runs
    }

    pub(super) fn run(&self, experiment: Experiment, cells: &[Cell]) -> Result<Results> {
        let clock = Instant::now();
        let (mut outcomes, mut class_searches, mut galleries) = (Vec::new(), Vec::new(), Vec::new());
        for cell in cells {
            let (data, scenario) = (cell.scenario.name(), cell.scenario);
            if !self.show.quiet {
                let value =
                    cell.swept_value.map_or_else(String::new, |value| format!(" at {}", format_short(value)));
                eprintln!("{}: {data}{value}, seed {}", experiment.name(), cell.seed);
            }
            let (train, runs, gallery) = self.run_cell(cell)?;
            if let Some(sweep) = cell.class_sweep.filter(|sweep| sweep.is_last) {
                class_searches.push(self.search_classes(cell, sweep.max_classes, &train)?);
            }
            galleries.extend(gallery);
            let outcome = |run| Outcome { data: data.clone(), scenario, swept_value: cell.swept_value, run };
            outcomes.extend(runs.into_iter().map(outcome));
        }
        Ok(Results {
            version: env!("CARGO_PKG_VERSION"),
            experiment,
            scale: self.args.scale,
            mnist: self.args.mnist.is_some(),
            cores: self.resources.threads,
            seconds: clock.elapsed().as_secs_f64(),
            outcomes,
            class_searches,
            galleries,
        })
    }

    /// The training data, the runs of all methods, and for the first seed a gallery of their answers.
    fn run_cell(&self, cell: &Cell) -> Result<(Dataset, Vec<MethodRun>, Option<Gallery>)> {
        let (scenario, size) = (&cell.scenario, self.args.scale.size(cell.scenario.simulator));
        let train = scenario.simulate(size.train, cell.seed, self.train_digits.as_ref())?;
        let test = scenario.simulate(size.test, cell.seed + 1000, self.test_digits.as_ref())?;
        let effects = if scenario.simulator == Simulator::Cardio { Some(effects(&test)?) } else { None };
        let gallery = Gallery::new(scenario, &test);
        let showcase = gallery.showcase(&test.data)?;
        let truth = Reference::from(test.truth);
        let trial = ComparisonData {
            train: &train.data,
            train_z: Some(&train.truth.z),
            test: &test.data,
            truth: &truth,
            pairs: None,
            effects: effects.as_ref(),
            examples: showcase.as_ref(),
        };
        let classes = cell.classes.map_or(Classes::Auto, Classes::Given);
        let config = self.args.scale.config(scenario, classes);
        let comparison = Comparison { methods: cell.methods.clone(), seeds: vec![cell.seed], config };
        let watching = RunProgress::new(*self.show, &scenario.name(), &self.tally);
        let runs = comparison.run(&trial, &self.resources(cell), Some(&self.runs), &watching);
        let runs = runs.map_err(|error| explain(error, Some(&self.args.out)))?;
        let gallery = (cell.seed == 1 && showcase.is_some()).then(|| gallery.with_answers(&runs));
        Ok((train.data.clone(), runs, gallery))
    }

    /// Fits to the same data with different numbers of classes share a checkpoint, since most of their EM is the same.
    fn resources(&self, cell: &Cell) -> Resources {
        let checkpoint = cell.class_sweep.map(|sweep| self.search_path(cell, sweep.max_classes, "part"));
        let resume = checkpoint.is_some();
        Resources { checkpoint, resume, ..self.resources.clone() }
    }

    fn search_path(&self, cell: &Cell, max_classes: usize, extension: &str) -> PathBuf {
        let name = class_search::file_name(cell, max_classes, self.args.scale, self.args.mnist.is_some());
        self.runs.join(format!("{name}.{extension}"))
    }

    /// The scores of all numbers of classes, kept beside the runs. It is the last user of the sweep's checkpoint.
    fn search_classes(&self, cell: &Cell, max_classes: usize, train: &Dataset) -> Result<ClassSearch> {
        let path = self.search_path(cell, max_classes, "json");
        let resources = self.resources(cell);
        let search = match ClassSearch::load(&path) {
            Some(search) => search,
            None => {
                let config = self.args.scale.config(&cell.scenario, Classes::Auto).fit;
                let config = FitConfig { max_classes, seed: cell.seed, ..config };
                let progress = Progress::new(self.show, "numbers of classes");
                let tried = Fit::new(config)
                    .resources(resources.clone())
                    .monitor(&progress)
                    .score_classes(train)
                    .map_err(|error| explain(error, Some(&self.args.out)))?;
                let search = ClassSearch { data: cell.scenario.name(), seed: cell.seed, candidates: tried };
                write_text(&path, &to_pretty_json(&search)?)?;
                search
            }
        };
        if let Some(checkpoint) = &resources.checkpoint {
            remove_checkpoint(checkpoint)?;
        }
        Ok(search)
    }
}

/// The effects of 0.8 against 0.5.
fn effects(test: &Simulated) -> Result<TrueEffects> {
    let (low, high) = ([0.5], [0.8]);
    let effect = (0..test.data.len()).flat_map(|i| {
        let (from, to) = (test.outcome(i, &low), test.outcome(i, &high));
        to.into_iter().zip(from).map(|(to, from)| to - from).collect::<Vec<_>>()
    });
    Ok(TrueEffects {
        effect: Units::new("effect", test.data.y().shape().to_vec(), effect.collect())?,
        from: Units::new("from", vec![1], low.to_vec())?,
        to: Units::new("to", vec![1], high.to_vec())?,
    })
}
