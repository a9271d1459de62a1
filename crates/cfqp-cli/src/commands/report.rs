//! `cfqp report`: all that there is to say about a model and some units, as one HTML file.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use cfqp::{Dropped, Fitted, Grade, Part, Report, ReportSpec};

use super::AskArgs;
use crate::args::{Show, finite};
use crate::error::{Failure, Result};
use crate::files::{check_out, write_text};
use crate::html::Page;
use crate::output::Output;
use crate::progress::Counter;
use crate::resources::ResourceArgs;
use crate::stream::Stream;
use crate::table::{counted, plain, shell};

/// Units that are kept of a file, at most: of more, every second, fourth, ...
const KEPT: usize = 10_000;

const EXAMPLES: &str = "\
Examples:
  cfqp report model.cfqp patients.csv --out report.html
  cfqp report model.cfqp patients.csv --units 17,203 --from 0.3 --to 0.7 --out report.html

The page needs no network and can be printed: what was asked, the data, a verdict on each assumption, \
the classes, dose curves, effects, single units, and how to make it again. Of a large file an even \
sample is looked at. --json prints the same numbers.";

/// Write a report: one HTML file to read, to print and to hand on
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportArgs {
    /// The model
    model: PathBuf,
    /// The units: .csv, .parquet, .arrow or .npz
    file: PathBuf,
    /// The page to write
    #[arg(long, value_name = "FILE.html")]
    out: PathBuf,
    /// The ids of the units shown one by one, comma-separated [default: typical ones and flagged ones]
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    units: Vec<String>,
    /// The low treatment; comma-separated where it has several dimensions [default: the 10th percentile]
    #[arg(long, value_name = "T", value_delimiter = ',', value_parser = finite, allow_negative_numbers = true)]
    from: Option<Vec<f32>>,
    /// The high treatment [default: the 90th percentile]
    #[arg(long, value_name = "T", value_delimiter = ',', value_parser = finite, allow_negative_numbers = true)]
    to: Option<Vec<f32>>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Told<'a> {
    out: &'a Path,
    model_file: &'a Path,
    file: &'a Path,
    rows: usize,
    units_in_file: usize,
    dropped: &'a [Dropped],
    #[serde(flatten)]
    report: &'a Report,
}

/// Units of a file: an even sample, and those asked for.
struct Kept {
    sample: Part,
    chosen: Option<Part>,
    units: usize,
    rows: usize,
    dropped: Vec<Dropped>,
}

pub fn run(args: &ReportArgs, show: &Show) -> Result<Output> {
    let ask = args.ask.resolve()?;
    let resources = args.resources.resolve()?;
    check_out(&args.out, args.force)?;
    let bytes = std::fs::read(&args.model).map_err(|error| Failure::io(&args.model, error))?;
    let fitted = Fitted::load(&args.model, &resources)?;
    let kept = keep(args, &fitted, show)?;
    let spec = ReportSpec { from: args.from.clone(), to: args.to.clone(), ask };
    let report = Report::new(&fitted, &kept.sample, kept.chosen.as_ref(), &spec)?;
    let page = Page {
        report: &report,
        model: &args.model,
        file: &args.file,
        units: kept.units,
        dropped: &kept.dropped,
        command: &command(args),
        checksum: checksum(&bytes),
    };
    let html = page.html();
    write_text(&args.out, &html)?;
    let told = Told {
        out: &args.out,
        model_file: &args.model,
        file: &args.file,
        rows: kept.rows,
        units_in_file: kept.units,
        dropped: &kept.dropped,
        report: &report,
    };
    Output::new(text(&told, html.len()), &told)
}

/// CRC-32, as zip files have it.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}

fn text(told: &Told<'_>, bytes: usize) -> String {
    let grades = |grade: Grade| told.report.verdicts.iter().filter(|verdict| verdict.grade == grade).count();
    format!(
        "{}, {} shown one by one; assumptions: {} ok, {} doubtful, {} failed\nwrote {} ({} kB): open it in a browser\n",
        counted(told.units_in_file, "unit"),
        told.report.units.len(),
        grades(Grade::Ok),
        grades(Grade::Doubtful),
        grades(Grade::Failed),
        shell(told.out),
        bytes.div_ceil(1000),
    )
}

/// Read all units and keep an even sample; whenever it grows too large, every second unit goes.
fn keep(args: &ReportArgs, fitted: &Fitted, show: &Show) -> Result<Kept> {
    let mut stream = Stream::open(&args.file, fitted, None)?;
    let counter = Counter::new(show, "report");
    let wanted: HashSet<&str> = args.units.iter().map(|id| id.trim()).collect();
    let (mut sample, mut chosen): (Vec<Part>, Vec<Part>) = (Vec::new(), Vec::new());
    let (mut units, mut step) = (0, 1);
    for batch in stream.by_ref() {
        let part = batch?.part;
        counter.add(part.data.len());
        let own: Vec<usize> = (0..part.data.len()).filter(|i| (units + i).is_multiple_of(step)).collect();
        let found: Vec<usize> = (0..part.ids.len())
            .filter(|&i| !wanted.is_empty() && wanted.contains(&part.ids.text(i)[..]))
            .collect();
        if !found.is_empty() {
            chosen.push(part.pick(&found)?);
        }
        units += part.data.len();
        if !own.is_empty() {
            sample.push(part.pick(&own)?);
        }
        if sample.iter().map(|part| part.data.len()).sum::<usize>() > KEPT {
            let all = Part::concat(std::mem::take(&mut sample))?;
            let even: Vec<usize> = (0..all.data.len()).step_by(2).collect();
            sample.push(all.pick(&even)?);
            step *= 2;
        }
    }
    let tally = stream.tally();
    if sample.is_empty() {
        let message =
            format!("{}: there are no units that the model can be asked about", args.file.display());
        return Err(Failure::new(
            message,
            "look at why by: cfqp query MODEL FILE --treatment T --out answers.csv",
        ));
    }
    Ok(Kept {
        sample: Part::concat(sample)?,
        chosen: ordered(chosen, &args.units, &args.file)?,
        units,
        rows: tally.rows,
        dropped: tally.dropped(),
    })
}

/// The units called `ids`, in that order, all of which must be there.
fn ordered(chosen: Vec<Part>, ids: &[String], file: &Path) -> Result<Option<Part>> {
    if ids.is_empty() {
        return Ok(None);
    }
    let all = if chosen.is_empty() { None } else { Some(Part::concat(chosen)?) };
    let mut rows = Vec::new();
    for id in ids {
        let found = all.as_ref().and_then(|all| (0..all.ids.len()).find(|&i| all.ids.text(i) == id.trim()));
        rows.push(found.ok_or_else(|| {
            let message =
                format!("{}: there is no unit `{}`, or it cannot be used", file.display(), id.trim());
            Failure::new(
                message,
                "give --units the ids of units as the file has them; without an id column, rows from 0",
            )
        })?);
    }
    Ok(all.map(|all| all.pick(&rows)).transpose()?)
}

/// The command as the user gave it, so that the page can be made again.
fn command(args: &ReportArgs) -> String {
    let mut words = vec![format!("cfqp report {} {}", shell(&args.model), shell(&args.file))];
    let list = |values: &[f32]| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    if !args.units.is_empty() {
        words.push(format!("--units {}", shell(Path::new(&args.units.join(",")))));
    }
    words.extend(args.from.as_ref().map(|from| format!("--from {}", list(from))));
    words.extend(args.to.as_ref().map(|to| format!("--to {}", list(to))));
    let ask = cfqp::Ask { rho: args.ask.rho, level: args.ask.level };
    if ask.rho != 1.0 {
        words.push(format!("--rho {}", ask.rho));
    }
    if ask.level != 0.9 {
        words.push(format!("--level {}", plain(ask.level)));
    }
    words.push(format!("--out {}", shell(&args.out)));
    words.join(" ")
}
