//! `cfqp reproduce`: the tables and figures of the paper, with its numbers beside ours.

mod figures;
mod gallery;
mod plan;
mod published;
mod tables;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use clap::Args;
use serde::{Deserialize, Serialize};

use cfqp::{
    Classes, Comparison, Dataset, Effects, FitConfig, Method, MnistPart, Reference, Resources, Run, Trial,
    Tried, Units, compare_classes,
};

use super::compare::{explain, make_folder, method_parser};
use crate::args::{Show, up_to};
use crate::error::{Failure, Result};
use crate::files::{remove_checkpoint, write_bytes, write_text};
use crate::interrupt;
use crate::output::{Output, pretty};
use crate::progress::Progress;
use crate::resources::ResourceArgs;
use crate::table::{counted, shell, small};
use crate::watching::{Tally, Watching};
use gallery::Gallery;
use plan::{Cell, Experiment, Kind, Scale, World};
use tables::Grid;

const EXAMPLES: &str = "\
Examples:
  cfqp reproduce table1 --scale smoke --out smoke                   does it run? two minutes
  cfqp reproduce table1 --scale small --mnist ~/mnist --out small   series at the paper's sizes
  cfqp reproduce all --scale paper --mnist ~/mnist --out paper      days

DIR gets, for every experiment, results.json (every run with its settings and seed), table.md,
table.tex and figures as SVG and PNG: errors where something is swept, and for table1 and ssim units
as every method answers for them. Every finished run is kept in DIR/runs: the same command again goes
on where it stopped.
Without --mnist digits are drawn by the program itself. With it, methods learn from MNIST's training
images and are asked about its test images.";

/// Reproduce the paper's tables and figures, its numbers beside ours
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReproduceArgs {
    /// Which table or figure
    #[arg(value_enum)]
    experiment: Experiment,
    /// How large
    #[arg(long, value_enum, default_value = "small")]
    scale: Scale,
    /// A folder with the files of MNIST, plain or .gz; without it, digits are drawn
    #[arg(long, value_name = "DIR")]
    mnist: Option<PathBuf>,
    /// Only these data, comma-separated [default: all that the experiment has]
    #[arg(long, value_enum, value_delimiter = ',')]
    data: Vec<Kind>,
    /// Only these methods, comma-separated [default: all that the experiment has]
    #[arg(long, value_delimiter = ',', value_parser = method_parser())]
    methods: Vec<Method>,
    /// Seeds 1 to N, at most 5; at the small scale digits take 2, sweeps take 1
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = up_to(5))]
    seeds: usize,
    /// The folder for results and finished runs
    #[arg(long, value_name = "DIR", default_value = "reproduced")]
    out: PathBuf,
    /// Say how many finished runs DIR holds, and go on from them, as it does without this
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// One run of one cell.
#[derive(Clone, Debug, Serialize)]
struct Outcome {
    data: String,
    world: World,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<f64>,
    run: Run,
}

/// What held-out units say of each number of classes, on one data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Ladder {
    data: String,
    seed: u64,
    tried: Vec<Tried>,
}

impl Ladder {
    /// What was tried with the base model that is chosen.
    fn of_chosen_base(&self) -> Vec<&Tried> {
        let chosen = self.tried.iter().find(|tried| tried.chosen).or(self.tried.first());
        let base = chosen.map(|tried| &tried.base);
        self.tried.iter().filter(|tried| Some(&tried.base) == base).collect()
    }
}

/// What `results.json` holds.
#[derive(Serialize)]
struct Results {
    version: &'static str,
    experiment: Experiment,
    scale: Scale,
    mnist: bool,
    cores: usize,
    seconds: f64,
    outcomes: Vec<Outcome>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ladders: Vec<Ladder>,
    #[serde(skip)]
    galleries: Vec<Gallery>,
}

pub fn run(args: &ReproduceArgs, show: &Show) -> Result<Output> {
    let resources = args.resources.resolve()?;
    let experiments = match args.experiment {
        Experiment::All => Experiment::EACH.to_vec(),
        one => vec![one],
    };
    let plan: Vec<(Experiment, Vec<Cell>)> = experiments
        .into_iter()
        .map(|experiment| (experiment, chosen_cells(args, experiment)))
        .filter(|(_, cells)| !cells.is_empty())
        .collect();
    if plan.is_empty() {
        let message = format!("{}: it has none of these data or methods", args.experiment.name());
        return Err(Failure::new(message, "leave out --data and --methods to run all that it has"));
    }
    let each =
        |cell: &Cell| cell.methods.iter().map(|method| (cell.world.name(), *method)).collect::<Vec<_>>();
    let planned = plan.iter().flat_map(|(_, cells)| cells.iter().flat_map(each));
    let bench = Bench {
        args,
        show,
        resources,
        runs: make_folder(&args.out)?,
        tally: Mutex::new(Tally::new(planned)),
        mnist: [MnistPart::Train, MnistPart::Test]
            .into_iter()
            .map(|part| plan::read_mnist(args.mnist.as_deref(), part))
            .collect::<Result<_>>()?,
    };
    interrupt::listen();
    if args.resume && !show.quiet {
        let files = std::fs::read_dir(&bench.runs).map_err(|error| Failure::io(&bench.runs, error))?;
        let runs = files.flatten().filter(|file| !file.file_name().to_string_lossy().starts_with(LADDER));
        eprintln!("{}: {} kept", shell(&bench.runs), counted(runs.count(), "finished run"));
    }
    let (mut text, mut all) = (String::new(), Vec::new());
    for (experiment, cells) in &plan {
        let results = bench.run(*experiment, cells)?;
        text += &bench.write(&results)?;
        all.push(results);
    }
    text += &format!("wrote results, tables and figures to {}\n", shell(&args.out));
    Output::new(text, &all)
}

/// What an experiment runs of what was asked for.
fn chosen_cells(args: &ReproduceArgs, experiment: Experiment) -> Vec<Cell> {
    let mut cells = plan::cells(experiment, args.scale, args.seeds);
    cells.retain(|cell| args.data.is_empty() || args.data.contains(&cell.world.kind));
    for cell in &mut cells {
        cell.methods.retain(|method| args.methods.is_empty() || args.methods.contains(method));
    }
    cells.retain(|cell| !cell.methods.is_empty());
    cells
}

/// How files begin that are no runs: what held-out units say of numbers of classes.
const LADDER: &str = "ladder-";

struct Bench<'a> {
    args: &'a ReproduceArgs,
    show: &'a Show,
    resources: Resources,
    runs: PathBuf,
    tally: Mutex<Tally>,
    /// Training and test images.
    mnist: Vec<Option<cfqp::Mnist>>,
}

impl Bench<'_> {
    fn run(&self, experiment: Experiment, cells: &[Cell]) -> Result<Results> {
        let clock = Instant::now();
        let (mut outcomes, mut ladders, mut galleries) = (Vec::new(), Vec::new(), Vec::new());
        for cell in cells {
            if !self.show.quiet {
                let at = cell.at.map_or_else(String::new, |at| format!(" at {}", small(at)));
                eprintln!("{}: {}{at}, seed {}", experiment.name(), cell.world.name(), cell.seed);
            }
            let (data, runs, gallery) = self.cell(cell)?;
            if let Some(sweep) = cell.sweep.filter(|sweep| sweep.last) {
                ladders.push(self.ladder(cell, sweep.most, &data)?);
            }
            galleries.extend(gallery);
            outcomes.extend(runs.into_iter().map(|run| Outcome {
                data: cell.world.name(),
                world: cell.world,
                at: cell.at,
                run,
            }));
        }
        Ok(Results {
            version: env!("CARGO_PKG_VERSION"),
            experiment,
            scale: self.args.scale,
            mnist: self.args.mnist.is_some(),
            cores: self.resources.threads,
            seconds: clock.elapsed().as_secs_f64(),
            outcomes,
            ladders,
            galleries,
        })
    }

    fn cell(&self, cell: &Cell) -> Result<(Dataset, Vec<Run>, Option<Gallery>)> {
        let (world, size) = (&cell.world, self.args.scale.size(cell.world.kind));
        let train = world.simulate(size.train, cell.seed, self.mnist[0].as_ref())?;
        let test = world.simulate(size.test, cell.seed + 1000, self.mnist[1].as_ref())?;
        let effects = if world.kind == Kind::Cardio { Some(effects(&test)?) } else { None };
        let gallery = Gallery::new(world, &test);
        let showcase = gallery.showcase(&test.data)?;
        let truth = Reference::from(test.truth);
        let trial = Trial {
            train: &train.data,
            train_z: Some(&train.truth.z),
            test: &test.data,
            truth: &truth,
            effects: effects.as_ref(),
            showcase: showcase.as_ref(),
        };
        let classes = cell.classes.map_or(Classes::Auto, Classes::Given);
        let config = self.args.scale.config(world, classes);
        let comparison = Comparison { methods: cell.methods.clone(), seeds: vec![cell.seed], config };
        let watching = Watching::new(*self.show, &world.name(), &self.tally);
        let runs = comparison.run(&trial, &self.resources(cell), Some(&self.runs), &watching);
        let runs = runs.map_err(|error| explain(error, Some(&self.args.out)))?;
        let gallery = (cell.seed == 1 && showcase.is_some()).then(|| gallery.hang(&runs));
        Ok((train.data.clone(), runs, gallery))
    }

    /// Fits to one data set that differ in the number of classes have most of their EM in common: they share a checkpoint.
    fn resources(&self, cell: &Cell) -> Resources {
        let checkpoint = cell.sweep.map(|sweep| self.ladder_path(cell, sweep.most, "part"));
        let resume = checkpoint.is_some();
        Resources { checkpoint, resume, ..self.resources.clone() }
    }

    /// Named by all that a ladder depends on.
    fn ladder_path(&self, cell: &Cell, most: usize, extension: &str) -> PathBuf {
        let digits = if self.args.mnist.is_some() { "mnist" } else { "drawn" };
        let (data, scale) = (cell.world.name().replace(", ", "-"), self.args.scale);
        let name = format!("{LADDER}{data}-{digits}-{}-{most}-{scale:?}.{extension}", cell.seed);
        self.runs.join(name.to_lowercase())
    }

    /// Kept beside the runs, as they are; the last to need the checkpoint.
    fn ladder(&self, cell: &Cell, most: usize, data: &Dataset) -> Result<Ladder> {
        let path = self.ladder_path(cell, most, "json");
        let resources = self.resources(cell);
        let kept = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Ladder>(&bytes).ok());
        // one that was kept before classes had a price would be shown without it
        let ladder = match kept.filter(|ladder| ladder.tried.iter().all(|tried| tried.price > 0.0)) {
            Some(ladder) => ladder,
            None => self.climb(cell, most, data, &resources, &path)?,
        };
        if let Some(part) = &resources.checkpoint {
            remove_checkpoint(part)?;
        }
        Ok(ladder)
    }

    fn climb(
        &self,
        cell: &Cell,
        most: usize,
        data: &Dataset,
        resources: &Resources,
        path: &Path,
    ) -> Result<Ladder> {
        let config = self.args.scale.config(&cell.world, Classes::Auto).fit;
        let config = FitConfig { max_classes: most, seed: cell.seed, ..config };
        let progress = Progress::new(self.show, "numbers of classes");
        let tried = compare_classes(data, None, &config, resources, &progress)
            .map_err(|error| explain(error, Some(&self.args.out)))?;
        let ladder = Ladder { data: cell.world.name(), seed: cell.seed, tried };
        write_text(path, &pretty(&ladder)?)?;
        Ok(ladder)
    }

    /// Tables and figures into the folder; the tables as text.
    fn write(&self, results: &Results) -> Result<String> {
        let folder = self.args.out.join(results.experiment.name());
        std::fs::create_dir_all(&folder).map_err(|error| Failure::io(&folder, error))?;
        let mut grids = tables::grids(results.experiment, &results.outcomes);
        grids.extend(ladder_grids(&results.ladders));
        write_text(&folder.join("results.json"), &pretty(results)?)?;
        write_text(&folder.join("table.md"), &grids.iter().map(Grid::markdown).collect::<String>())?;
        write_text(&folder.join("table.tex"), &grids.iter().map(Grid::latex).collect::<String>())?;
        self.draw(results, &folder)?;
        Ok(grids.iter().map(|grid| grid.text() + "\n").collect())
    }

    fn draw(&self, results: &Results, folder: &Path) -> Result<()> {
        let defect = |error: Box<dyn std::error::Error>| Failure::defect(&error);
        let write = |name: &str, svg: String, png: Vec<u8>| -> Result<()> {
            let file = name.replace(", ", "-").replace(' ', "-");
            write_text(&folder.join(format!("{file}.svg")), &svg)?;
            write_bytes(&folder.join(format!("{file}.png")), &png)
        };
        let mut worlds: Vec<World> = results.outcomes.iter().map(|outcome| outcome.world).collect();
        worlds.dedup_by_key(|world| world.name());
        for world in worlds {
            let (name, swept) = (world.name(), plan::swept_name(results.experiment, &world));
            let own: Vec<Outcome> = results.outcomes.iter().filter(|o| o.data == name).cloned().collect();
            let ladder = results.ladders.iter().find(|ladder| ladder.data == name);
            let chart = swept.and_then(|swept| figures::error_chart(&name, swept, &own, ladder));
            if let Some(chart) = chart {
                let (svg, png) = (figures::svg(&chart), figures::png(&chart));
                write(&name, svg.map_err(defect)?, png.map_err(defect)?)?;
            }
        }
        if matches!(results.experiment, Experiment::Table1 | Experiment::Ssim) {
            for gallery in &results.galleries {
                let (svg, png) = gallery.draw().map_err(defect)?;
                write(&format!("{}, units", gallery.world.name()), svg, png)?;
            }
        }
        Ok(())
    }
}

/// The effects of 0.8 against 0.5.
fn effects(test: &cfqp::sim::Simulated) -> Result<Effects> {
    let (low, high) = ([0.5], [0.8]);
    let effect = (0..test.data.len()).flat_map(|i| {
        let (from, to) = (test.outcome(i, &low), test.outcome(i, &high));
        to.into_iter().zip(from).map(|(to, from)| to - from).collect::<Vec<_>>()
    });
    Ok(Effects {
        effect: Units::new("effect", test.data.y().shape().to_vec(), effect.collect())?,
        from: Units::new("from", vec![1], low.to_vec())?,
        to: Units::new("to", vec![1], high.to_vec())?,
    })
}

/// What held-out units say of each number of classes, a row per data set, as it is and with the price of classes; lower
/// is better.
fn ladder_grids(ladders: &[Ladder]) -> Vec<Grid> {
    let Some(most) = ladders.iter().flat_map(|ladder| &ladder.tried).map(|tried| tried.classes).max() else {
        return Vec::new();
    };
    let grid = |title: &str, value: fn(&Tried) -> f64| {
        let mut rows = vec![vec!["data".to_owned()]];
        rows[0].extend((1..=most).map(|k| format!("K = {k}")));
        rows[0].push("chosen".to_owned());
        for ladder in ladders {
            let own = ladder.of_chosen_base();
            let cell = |k: usize| {
                let at = own.iter().find(|tried| tried.classes == k);
                at.map_or_else(|| "–".to_owned(), |tried| format!("{:.2}", value(tried)))
            };
            let mut row = vec![format!("{}, seed {}", ladder.data, ladder.seed)];
            row.extend((1..=most).map(cell));
            let chosen = own.iter().find(|tried| tried.chosen);
            row.push(chosen.map_or_else(|| "–".to_owned(), |tried| tried.classes.to_string()));
            rows.push(row);
        }
        Grid::new(title, rows)
    };
    vec![
        grid("-log likelihood of a held-out unit", |tried| tried.evidence),
        grid(
            "-log likelihood of a held-out unit and the price of its classes, which K minimises",
            Tried::priced,
        ),
    ]
}
