//! Two builds on the same scenarios.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use cfqp_cli::error::{Failure, Result};
use cfqp_cli::format::{format_percent, format_short, shell_quote};

use super::run::ScenarioRun;
use super::summary::{Group, MIN_EXCESS, mean, quantile};
use super::write::markdown;

/// Two directories, scenario by scenario.
#[derive(Debug, Serialize)]
pub(super) struct RunComparison {
    labels: [String; 2],
    /// Scenarios in one of the directories only, or with other numbers of units.
    unmatched: usize,
    groups: Vec<GroupComparison>,
}

/// The scenarios of a group that both directories have; differences are the second minus the first.
#[derive(Debug, Serialize)]
struct GroupComparison {
    group: Group,
    scenarios: usize,
    /// The median excess error of both.
    excess: [f64; 2],
    /// Median and mean of log(second excess / first excess).
    median_log_ratio: f64,
    mean_log_ratio: f64,
    /// The share of scenarios in which the second has the smaller error.
    wins: f64,
    /// Differences of the mean coverage: outcomes at rho 1, at rho auto, effects at rho 1, at rho auto.
    coverage: [f64; 4],
    /// The mean of log(second width / first width).
    log_width: f64,
    /// The mean of log(second seconds / first seconds).
    log_seconds: f64,
}

/// Compares the finished scenarios of two directories.
pub(super) fn compare(a: &Path, b: &Path) -> Result<RunComparison> {
    let [mut first, second] = [read(a)?, read(b)?];
    let labels = [(a, &first), (b, &second)].map(|(dir, runs)| {
        let label = runs.values().next().map_or(String::new(), |run| run.label.clone());
        if label.is_empty() { dir.display().to_string() } else { label }
    });
    let total = first.len() + second.len();
    let mut pairs = Vec::new();
    for (seed, run) in second {
        if let Some(other) = first.remove(&seed)
            && (other.n, other.scenario) == (run.n, run.scenario)
        {
            pairs.push([other, run]);
        }
    }
    if pairs.is_empty() {
        let message = format!("{} and {} have no scenario in common", shell_quote(a), shell_quote(b));
        return Err(Failure::new(
            message,
            "give two directories of `cfqp-lab scenarios` with the same seeds",
        ));
    }
    let unmatched = total - 2 * pairs.len();
    let groups = Group::ALL.into_iter().filter_map(|group| GroupComparison::new(group, &pairs)).collect();
    Ok(RunComparison { labels, unmatched, groups })
}

fn read(dir: &Path) -> Result<BTreeMap<u64, ScenarioRun>> {
    let folder = dir.join("runs");
    let entries = std::fs::read_dir(&folder).map_err(|error| Failure::io(&folder, error))?;
    let runs = entries.filter_map(|entry| ScenarioRun::read(&entry.ok()?.path()));
    Ok(runs.map(|run| (run.scenario.world_seed, run)).collect())
}

impl GroupComparison {
    fn new(group: Group, pairs: &[[ScenarioRun; 2]]) -> Option<Self> {
        let pairs: Vec<&[ScenarioRun; 2]> = pairs.iter().filter(|pair| group.has(&pair[0])).collect();
        let over = |value: &dyn Fn(&ScenarioRun) -> f64, join: fn(f64, f64) -> f64| {
            pairs.iter().map(|[a, b]| join(value(a), value(b))).collect::<Vec<f64>>()
        };
        let log_ratio = |a: f64, b: f64| (b / a).ln();
        let difference = |a: f64, b: f64| b - a;
        let average = |values: Vec<f64>| mean(values.into_iter()).unwrap_or(f64::NAN);
        let ratios = over(&|run| run.excess.max(MIN_EXCESS), log_ratio);
        let median = |i: usize| quantile(pairs.iter().map(|pair| pair[i].excess), 0.5);
        let wins = pairs.iter().filter(|[a, b]| b.error < a.error).count();
        Some(Self {
            group,
            scenarios: pairs.len(),
            excess: [median(0)?, median(1)?],
            median_log_ratio: quantile(ratios.iter().copied(), 0.5)?,
            mean_log_ratio: average(ratios),
            wins: wins as f64 / pairs.len() as f64,
            coverage: [
                average(over(&|run| run.main().coverage, difference)),
                average(over(&|run| run.auto.coverage, difference)),
                average(over(&|run| run.main().effect_coverage, difference)),
                average(over(&|run| run.auto.effect_coverage, difference)),
            ],
            log_width: average(over(&|run| run.main().width.max(1e-9), log_ratio)),
            log_seconds: average(over(&|run| run.fit_seconds, log_ratio)),
        })
    }
}

pub(super) fn text(comparison: &RunComparison) -> String {
    let [first, second] = &comparison.labels;
    let heading = [
        "scenarios",
        "number",
        "excess, first",
        "second",
        "median log ratio",
        "mean",
        "second ahead",
        "coverage",
        "auto",
        "effects",
        "auto",
        "log width",
        "log seconds",
    ];
    let signed = |value: f64| format!("{value:+.3}");
    let row = |group: &GroupComparison| {
        let mut cells = vec![
            group.group.name().to_owned(),
            group.scenarios.to_string(),
            format_short(group.excess[0]),
            format_short(group.excess[1]),
            signed(group.median_log_ratio),
            signed(group.mean_log_ratio),
            format_percent(group.wins),
        ];
        cells.extend(group.coverage.map(signed));
        cells.extend([signed(group.log_width), signed(group.log_seconds)]);
        cells
    };
    let table = markdown(heading.map(str::to_owned).to_vec(), comparison.groups.iter().map(row));
    format!(
        "first: {first}; second: {second}; differences are second minus first, log ratios second over first\n\n{table}\n\
         scenarios without a partner: {}\n",
        comparison.unmatched
    )
}
