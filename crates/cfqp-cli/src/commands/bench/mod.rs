//! `cfqp bench`: how fast this machine is at what cfqp does, and how fast its peers are.

mod em;
mod groups;
mod peers;
mod queries;
mod steps;
mod tables;

use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::args::Show;
use crate::error::Result;
use crate::output::Output;
use crate::resources::{ResourceArgs, peak_rss_mb};
use crate::table::{small, table};
use peers::Peers;

const EXAMPLES: &str = "\
Examples:
  cfqp bench                              everything but the 42,000 images, some minutes
  cfqp bench --only steps,groups --peers  beside PyTorch and scikit-learn, in turns, with ratios
  cfqp bench --only images                one EM epoch on 42,000 images, two minutes and 1 GB
  cfqp bench --quick                      small sizes: does it run?

Figures are medians. Peers need python3 with torch and scikit-learn; a peer that is not there is left out.";

/// Measure the speed of training, EM, grouping and queries on this machine
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchArgs {
    /// What to measure, separated by commas [default: all but images]
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    only: Vec<Part>,
    /// Run the same in PyTorch and scikit-learn, in turns with ours, and print ratios
    #[arg(long)]
    peers: bool,
    /// The Python that has the peers
    #[arg(long, default_value = "python3", value_name = "PROGRAM")]
    python: String,
    /// Small sizes and few rounds
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Training steps of the four networks
    Steps,
    /// M step and E step for 1, 3 and 9 classes
    Em,
    /// k-means and Gaussian mixtures
    Groups,
    /// Latency and throughput of queries, loading a model, starting up
    Queries,
    /// Rows a second from a table on disk to a table of answers
    Tables,
    /// Growth with the number of units
    Growth,
    /// One EM epoch on 42,000 images, 6 classes
    Images,
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
struct Row {
    part: Part,
    name: String,
    ours: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<f64>,
    /// Ours divided by the peer's, in the same rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
}

impl Serialize for Part {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.to_possible_value().expect("no part is hidden").get_name())
    }
}

impl Row {
    fn new(part: Part, name: impl Into<String>, ours: f64, unit: &'static str) -> Self {
        Self { part, name: name.into(), ours, unit, peer: None, ratio: None, note: String::new() }
    }

    fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Medians of rounds in which ours and the peer took turns.
    fn against(
        part: Part,
        name: impl Into<String>,
        rounds: &[(f64, Option<f64>)],
        unit: &'static str,
    ) -> Self {
        let peers: Vec<f64> = rounds.iter().filter_map(|round| round.1).collect();
        let ratios = rounds.iter().filter_map(|(ours, peer)| peer.map(|peer| ours / peer)).collect();
        Self {
            peer: (!peers.is_empty()).then(|| median(peers.clone())),
            ratio: (!peers.is_empty()).then(|| median(ratios)),
            ..Self::new(part, name, median(rounds.iter().map(|round| round.0).collect()), unit)
        }
    }
}

#[derive(Serialize)]
struct Report {
    threads: usize,
    quick: bool,
    peers: Vec<String>,
    rows: Vec<Row>,
    peak_rss_mb: Option<f64>,
}

/// What every part works with.
struct Bench {
    threads: usize,
    quick: bool,
    peers: Option<Peers>,
}

pub fn run(args: &BenchArgs, show: &Show) -> Result<Output> {
    let threads = args.resources.resolve()?.threads;
    let peers = if args.peers { Some(Peers::start(&args.python, threads)?) } else { None };
    let mut bench = Bench { threads, quick: args.quick, peers };
    let all = [Part::Steps, Part::Em, Part::Groups, Part::Queries, Part::Tables, Part::Growth];
    let mut rows = Vec::new();
    for &part in if args.only.is_empty() { &all[..] } else { &args.only } {
        let clock = Instant::now();
        let found = match part {
            Part::Steps => steps::run(&mut bench)?,
            Part::Em => em::run(&bench)?,
            Part::Images => em::images(&bench)?,
            Part::Groups => groups::run(&mut bench)?,
            Part::Queries => queries::run(&bench)?,
            Part::Tables => tables::run(&bench)?,
            Part::Growth => queries::growth(&bench)?,
        };
        if !show.quiet {
            let name = part.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
            eprintln!("{name}: {:.0} s", clock.elapsed().as_secs_f64());
        }
        rows.extend(found);
    }
    let peers = bench.peers.map_or_else(Vec::new, Peers::versions);
    let report = Report { threads, quick: args.quick, peers, rows, peak_rss_mb: peak_rss_mb() };
    Output::new(text(&report), &report)
}

fn text(report: &Report) -> String {
    let with_peers = report.rows.iter().any(|row| row.peer.is_some());
    let mut rows = vec![["", "cfqp", "", "peer", "ratio", ""].map(String::from).to_vec()];
    rows.extend(report.rows.iter().map(|row| {
        let or_blank = |value: Option<f64>| value.map_or_else(String::new, small);
        let peer = or_blank(row.peer);
        vec![
            row.name.clone(),
            small(row.ours),
            row.unit.to_owned(),
            peer,
            or_blank(row.ratio),
            row.note.clone(),
        ]
    }));
    if !with_peers {
        rows.iter_mut().for_each(|row| drop(row.drain(3..5)));
    }
    let beside =
        if report.peers.is_empty() { String::new() } else { format!("; peers: {}", report.peers.join(", ")) };
    format!("{} threads{beside}\n\n{}", report.threads, table(&rows))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Seconds that `work` takes.
fn seconds<R>(work: impl FnOnce() -> R) -> (f64, R) {
    let clock = Instant::now();
    let result = work();
    (clock.elapsed().as_secs_f64(), result)
}
