//! `cfqp-lab soak`: many fits and single queries in one process; memory and open files must not grow.

use std::path::Path;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use cfqp::sim::{Oscillator, Table, TableWorld};
use cfqp::{Base, Classes, Dataset, Error, Fit, FitConfig, Model, Resources, Start};
use cfqp_cli::args::OutputArgs;
use cfqp_cli::error::{Failure, Result};
use cfqp_cli::format::{align_rows, format_count};
use cfqp_cli::interrupt;
use cfqp_cli::output::Output;
use cfqp_cli::resources::share_heap;

/// Units of every fit.
const UNITS: usize = 40;
/// Fits repeat after this number, so that the first tenth of them reaches the largest need of memory. A multiple of 6.
const PERIOD: usize = 30;
/// By how much memory may grow after the first tenth of the work.
const MAX_GROWTH: f64 = 0.05;
/// Measurements after the first tenth of the work.
const MEASUREMENTS: usize = 9;

const EXAMPLES: &str = "\
Examples:
  cfqp-lab soak                             1,000 fits and 1,000,000 queries, about ten minutes of one core
  cfqp-lab soak --fits 20 --queries 1000    to check that it runs

Fits alternate between a table, series with a linear model and series with a perceptron, and repeat after 30. Every model is saved and read \
again, with a checkpoint. Linux only. The exit code is 1 if memory grew by more than 5% after the first tenth of the fits \
or of the queries, or if files stay open. All threads share one heap: every fit has threads of its own, and with several \
heaps memory rises until each of them has held the largest fit.";

/// Run many fits and queries in one process, and check that memory and open files do not grow
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SoakArgs {
    /// The number of fits
    #[arg(long, value_name = "N", default_value_t = 1000)]
    fits: usize,
    /// The number of single queries
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    queries: usize,
}

/// What the process holds at one time.
#[derive(Clone, Copy, Debug, Serialize)]
struct Held {
    /// Fits or queries so far.
    done: usize,
    rss_mb: f64,
    open_files: usize,
    seconds: f64,
}

/// The measurements of one kind of work, the first one after a tenth of it.
#[derive(Debug, Serialize)]
struct Series {
    work: &'static str,
    held: Vec<Held>,
}

impl Series {
    /// By how much memory has grown since the first measurement, as a share of it.
    fn growth(&self) -> f64 {
        let most = self.held.iter().map(|held| held.rss_mb).fold(0.0, f64::max);
        most / self.held[0].rss_mb - 1.0
    }

    fn is_flat(&self) -> bool {
        let files = |held: &Held| held.open_files;
        let more = self.held.iter().map(files).max() > Some(self.held[0].open_files);
        self.growth() <= MAX_GROWTH && !more
    }

    fn text(&self) -> String {
        let row = |held: &Held| {
            vec![
                format_count(held.done),
                format!("{:.1}", held.rss_mb),
                held.open_files.to_string(),
                format!("{:.0}", held.seconds),
            ]
        };
        let header = [self.work, "memory (MB)", "open files", "seconds"].map(str::to_owned).to_vec();
        let rows: Vec<_> = std::iter::once(header).chain(self.held.iter().map(row)).collect();
        let verdict = if self.is_flat() { "flat" } else { "GROWS" };
        format!("{}memory grew by {:.1}%: {verdict}\n\n", align_rows(&rows), 100.0 * self.growth())
    }
}

pub(crate) fn run(args: &SoakArgs, show: &OutputArgs) -> Result<Output> {
    interrupt::stop_between_steps();
    share_heap();
    let folder = tempfile::tempdir().map_err(|error| Failure::io(Path::new("temporary folder"), error))?;
    let model = folder.path().join("model.cfqp");
    let fits = repeat("fits", args.fits, show, |i| fit(i, &model).map(drop))?;
    let models = [fit(0, &model)?, fit(1, &model)?, fit(2, &model)?];
    let singles = (0..90).map(|i| Ok((simulate(i)?.pick(&[i % UNITS])?, i % 3)));
    let singles = singles.collect::<cfqp::Result<Vec<_>>>()?;
    let queries = repeat("queries", args.queries, show, |i| {
        let (unit, kind) = &singles[i % singles.len()];
        let t = 0.2 + 0.6 * (i % 97) as f32 / 97.0;
        models[*kind].ask(unit).under(t).answers().map(drop)
    })?;
    let failed = !(fits.is_flat() && queries.is_flat());
    Ok(Output::new(fits.text() + &queries.text(), &[fits, queries])?.with_failure(failed))
}

/// Does something many times and measures what the process holds, from a tenth of the way on.
fn repeat(
    work: &'static str,
    times: usize,
    show: &OutputArgs,
    mut act: impl FnMut(usize) -> cfqp::Result<()>,
) -> Result<Series> {
    let (start, step) = (Instant::now(), times.div_ceil(MEASUREMENTS + 1).max(1));
    let mut held = Vec::new();
    for done in 1..=times.max(1) {
        act(done)?;
        if interrupt::stopped() {
            return Err(Error::Interrupted.into());
        }
        if done % step == 0 || done == times {
            let now = measure(done, start.elapsed().as_secs_f64())?;
            if !show.quiet {
                eprintln!("{work}: {done}, {:.1} MB, {} open files", now.rss_mb, now.open_files);
            }
            held.push(now);
        }
    }
    Ok(Series { work, held })
}

/// Units of one of three kinds; the number decides which.
fn simulate(i: usize) -> cfqp::Result<Dataset> {
    let i = i % PERIOD;
    let simulated = match i % 3 {
        0 => Table { world: TableWorld::default(), ..Table::default() }.simulate(UNITS, i as u64)?,
        _ => Oscillator::default().simulate(UNITS, i as u64)?,
    };
    Ok(simulated.data)
}

/// Fits a small model, with a checkpoint, and reads it from its file.
fn fit(i: usize, path: &Path) -> cfqp::Result<Model> {
    let i = i % PERIOD;
    let config = FitConfig {
        classes: Classes::Given(1 + i % 2),
        base: [Base::Auto, Base::Linear, Base::Mlp][i % 3],
        members: Some(2),
        epochs: Some(2),
        starts: vec![Start::Kmeans],
        seed: i as u64,
        ..FitConfig::default()
    };
    let checkpoint = path.with_extension("part");
    let resources = Resources { threads: 1, checkpoint: Some(checkpoint.clone()), ..Resources::default() };
    Fit::new(config).resources(resources.clone()).run(&simulate(i)?)?.save(path)?;
    // fits of tables write none
    let _ = std::fs::remove_file(checkpoint);
    Model::load(path, &resources)
}

/// What the process holds, as Linux reports it.
fn measure(done: usize, seconds: f64) -> Result<Held> {
    let unknown = |path: &str| Failure::new(format!("{path}: not available"), "run this command on Linux");
    let status = std::fs::read_to_string("/proc/self/status").map_err(|_| unknown("/proc/self/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    let rss_mb = kilobytes.ok_or_else(|| unknown("VmRSS"))? / 1024.0;
    // one of them is the folder that is being read
    let open_files = std::fs::read_dir("/proc/self/fd").map_err(|_| unknown("/proc/self/fd"))?.count() - 1;
    Ok(Held { done, rss_mb, open_files, seconds })
}
