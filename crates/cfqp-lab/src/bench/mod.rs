//! `cfqp-lab bench`: measures the speed of cfqp on this machine, and that of PyTorch and scikit-learn beside it.

mod em;
mod grouping;
mod peers;
mod queries;
mod steps;
mod tables;

use std::process::Command;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;

use cfqp_cli::args::OutputArgs;
use cfqp_cli::error::{Failure, Result};
use cfqp_cli::format::{align_rows, format_short};
use cfqp_cli::output::Output;
use cfqp_cli::resources::{ResourceArgs, peak_rss_mb};
use peers::Peers;

/// With this first argument the lab runs the program `cfqp`, so that it can be measured as a process of its own.
pub(crate) const CFQP: &str = "cfqp";

const EXAMPLES: &str = "\
Examples:
  cfqp-lab bench                              everything but the 42,000 images, some minutes
  cfqp-lab bench --only steps,groups --peers  alternating with PyTorch and scikit-learn, with ratios
  cfqp-lab bench --only images                one EM epoch on 42,000 images, two minutes and 1 GB
  cfqp-lab bench --quick                      small sizes, to check that everything runs

All figures are medians. --peers needs a Python with torch and scikit-learn; a missing one is skipped.";

/// Measure the speed of training, EM, clustering and queries on this machine
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchArgs {
    /// What to measure, comma-separated [default: all but images]
    #[arg(long, value_delimiter = ',', value_name = "TOPIC")]
    only: Vec<Topic>,
    /// Run the same work in PyTorch and scikit-learn, alternating with cfqp, and print ratios
    #[arg(long)]
    peers: bool,
    /// The Python interpreter that has torch and scikit-learn
    #[arg(long, default_value = "python3", value_name = "PROGRAM")]
    python: String,
    /// Use small sizes and few rounds
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Topic {
    /// Training steps of the four networks
    Steps,
    /// M step and E step for 1, 3 and 9 classes
    Em,
    /// k-means and Gaussian mixtures
    Groups,
    /// Latency and throughput of queries, loading a model, process start-up
    Queries,
    /// Rows per second from a table on disk to a table of answers
    Tables,
    /// Growth with the number of units
    Growth,
    /// One EM epoch on 42,000 images, 6 classes
    Images,
}

impl Topic {
    const DEFAULT: [Self; 6] =
        [Self::Steps, Self::Em, Self::Groups, Self::Queries, Self::Tables, Self::Growth];

    fn name(self) -> String {
        self.to_possible_value().expect("no topic is hidden").get_name().to_owned()
    }
}

impl Serialize for Topic {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

/// One measurement.
#[derive(Clone, Debug, Serialize)]
struct Row {
    topic: Topic,
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

impl Row {
    fn new(topic: Topic, name: impl Into<String>, ours: f64, unit: &'static str) -> Self {
        Self { topic, name: name.into(), ours, unit, peer: None, ratio: None, note: String::new() }
    }

    fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Medians over rounds in which cfqp and the peer alternated.
    fn from_rounds(topic: Topic, name: String, rounds: &[(f64, Option<f64>)], unit: &'static str) -> Self {
        let peers: Vec<f64> = rounds.iter().filter_map(|round| round.1).collect();
        let ratios = rounds.iter().filter_map(|(ours, peer)| peer.map(|peer| ours / peer)).collect();
        Self {
            peer: (!peers.is_empty()).then(|| median(peers.clone())),
            ratio: (!peers.is_empty()).then(|| median(ratios)),
            ..Self::new(topic, name, median(rounds.iter().map(|round| round.0).collect()), unit)
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

/// The settings of all measurements.
struct Bench {
    threads: usize,
    quick: bool,
    peers: Option<Peers>,
}

impl Bench {
    fn measure(&mut self, topic: Topic) -> Result<Vec<Row>> {
        match topic {
            Topic::Steps => steps::run(self),
            Topic::Em => em::run(self),
            Topic::Images => em::images(self),
            Topic::Groups => grouping::run(self),
            Topic::Queries => queries::run(self),
            Topic::Tables => tables::run(self),
            Topic::Growth => queries::growth(self),
        }
    }
}

pub(crate) fn run(args: &BenchArgs, show: &OutputArgs) -> Result<Output> {
    let threads = args.resources.resolve()?.threads;
    let peers = if args.peers { Some(Peers::start(&args.python, threads)?) } else { None };
    let mut bench = Bench { threads, quick: args.quick, peers };
    let mut rows = Vec::new();
    for &topic in if args.only.is_empty() { &Topic::DEFAULT[..] } else { &args.only } {
        let (seconds, measured) = seconds(|| bench.measure(topic));
        rows.extend(measured?);
        if !show.quiet {
            eprintln!("{}: {seconds:.0} s", topic.name());
        }
    }
    let peers = bench.peers.map_or_else(Vec::new, Peers::versions);
    let report = Report { threads, quick: args.quick, peers, rows, peak_rss_mb: peak_rss_mb() };
    Output::new(text(&report), &report)
}

fn text(report: &Report) -> String {
    let has_peers = report.rows.iter().any(|row| row.peer.is_some());
    let mut rows = vec![["", "cfqp", "", "peer", "ratio", ""].map(String::from).to_vec()];
    rows.extend(report.rows.iter().map(|row| {
        let or_blank = |value: Option<f64>| value.map_or_else(String::new, format_short);
        let (peer, ratio) = (or_blank(row.peer), or_blank(row.ratio));
        vec![row.name.clone(), format_short(row.ours), row.unit.to_owned(), peer, ratio, row.note.clone()]
    }));
    if !has_peers {
        rows.iter_mut().for_each(|row| drop(row.drain(3..5)));
    }
    let peers =
        if report.peers.is_empty() { String::new() } else { format!("; peers: {}", report.peers.join(", ")) };
    format!("{} threads{peers}\n\n{}", report.threads, align_rows(&rows))
}

/// The program `cfqp` as a process of its own.
pub(crate) fn cfqp_command() -> Result<Command> {
    let program = std::env::current_exe().map_err(disk_failure)?;
    let mut command = Command::new(program);
    command.arg(CFQP);
    Ok(command)
}

fn disk_failure(error: std::io::Error) -> Failure {
    Failure::new(error.to_string(), "check that there is free disk space and try again")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The seconds that `work` takes, and its result.
fn seconds<R>(work: impl FnOnce() -> R) -> (f64, R) {
    let clock = Instant::now();
    let result = work();
    (clock.elapsed().as_secs_f64(), result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_medians_over_rounds_with_a_peer() {
        let rounds = [(1.0, Some(2.0)), (3.0, Some(4.0)), (5.0, None), (2.0, Some(8.0))];
        let row = Row::from_rounds(Topic::Steps, "step".to_owned(), &rounds, "ms");
        assert_eq!((row.ours, row.peer, row.ratio), (3.0, Some(4.0), Some(0.5)));
    }
}
