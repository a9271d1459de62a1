//! Runs and summaries as text and Markdown.

use cfqp::ask::Grade;
use cfqp_cli::comparison_table::ComparisonTable;
use cfqp_cli::format::{format_percent, format_short, pluralise};

use super::Results;
use super::promises::Hits;
use super::run::{BASELINES, ScenarioRun};
use super::summary::{
    BAND, CoverageSummary, ExcessSummary, FlagSummary, PartSummary, SizeSummary, Summary, VerdictSummary,
};

const COVERAGE_COLUMNS: [&str; 9] = [
    "intervals of",
    "scenarios",
    "number",
    "coverage",
    "10th pct",
    "in band",
    "below",
    "width/marginal",
    "width/Bayes",
];
const VERDICT_COLUMNS: [&str; 6] =
    ["verdict", "what \"ok\" promises", "ok", "of these true", "doubtful or failed", "of these true"];
const RUN_COLUMNS: [&str; 20] = [
    "seed",
    "n",
    "x",
    "treatment",
    "outcome",
    "K (true)",
    "error",
    "limit",
    "regression",
    "residual",
    "shrunk",
    "process",
    "coverage",
    "auto",
    "effects",
    "auto",
    "width/marginal",
    "calibration",
    "unflagged",
    "fit s",
];

/// A finished scenario in one line.
pub(super) fn line(run: &ScenarioRun) -> String {
    let main = run.main();
    format!(
        "scenario {}: n {}, {} t, {} y, error {}, limit {}, residual {}, coverage {:.2}, auto {:.2}, effects {:.2}, auto {:.2}, \
         K {} (true {}), calibration {}, {:.1} s",
        run.scenario.world_seed,
        run.n,
        word(&run.scenario.treatment),
        word(&run.scenario.outcome),
        format_short(run.error),
        format_short(run.limit),
        short(run.baseline(BASELINES[1])),
        main.coverage,
        run.auto.coverage,
        main.effect_coverage,
        run.auto.effect_coverage,
        run.classes,
        run.true_classes,
        run.calibration().name(),
        run.fit_seconds
    )
}

/// Distributions over scenarios.
pub(super) fn overview(results: &Results) -> String {
    let Summary { coverage, excess, verdicts, .. } = &results.summary;
    let failed = match results.failed.len() {
        0 => String::new(),
        failed => format!(", {failed} more could not be fitted"),
    };
    let head = format!(
        "{}{failed}; level {}, {} test units each; in band: coverage {} to {}\n\n",
        pluralise(results.summary.scenarios, "scenario"),
        results.level,
        results.test_units,
        BAND.0,
        BAND.1
    );
    let excess_columns = std::iter::once("median excess error".to_owned())
        .chain(["number", "cfqp", "cfqp, rho auto"].map(str::to_owned))
        .chain(BASELINES.map(|method| method.name().to_owned()))
        .chain(BASELINES.map(|method| format!("ahead of {}", method.name())));
    let tables = [
        markdown(COVERAGE_COLUMNS.map(str::to_owned).to_vec(), coverage.iter().map(coverage_row)),
        markdown(excess_columns.collect(), excess.iter().map(excess_row)),
        markdown(VERDICT_COLUMNS.map(str::to_owned).to_vec(), verdicts.iter().map(verdict_row)),
    ];
    head + &tables.join("\n") + "\n" + &facts(&results.summary)
}

/// The table of all scenarios.
pub(super) fn runs_table(runs: &[ScenarioRun]) -> String {
    markdown(RUN_COLUMNS.map(str::to_owned).to_vec(), runs.iter().map(run_row))
}

pub(super) fn markdown(heading: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> String {
    ComparisonTable::from_rows(std::iter::once(heading).chain(rows).collect()).markdown()
}

fn coverage_row(row: &CoverageSummary) -> Vec<String> {
    vec![
        row.asked.name().to_owned(),
        row.group.name().to_owned(),
        row.scenarios.to_string(),
        format!("{:.3}", row.mean),
        format!("{:.3}", row.low),
        format_percent(row.in_band),
        format_percent(row.below_band),
        two(row.width_over_marginal),
        two(row.width_over_bayes),
    ]
}

fn excess_row(row: &ExcessSummary) -> Vec<String> {
    let mut cells = vec![
        row.name.clone(),
        row.scenarios.to_string(),
        format_short(row.excess),
        format_short(row.excess_auto),
    ];
    cells.extend(row.baselines.iter().map(|excess| format_short(*excess)));
    cells.extend(row.ahead.iter().map(|share| format_percent(*share)));
    cells
}

fn verdict_row(hits: &Hits) -> Vec<String> {
    let counts = [hits.ok, hits.ok_and_true, hits.warned, hits.warned_and_true];
    let cells = [hits.name, hits.promise].map(str::to_owned);
    cells.into_iter().chain(counts.map(|count| count.to_string())).collect()
}

fn run_row(run: &ScenarioRun) -> Vec<String> {
    let (scenario, main) = (&run.scenario, run.main());
    let repeats =
        if scenario.repeats > 1 { format!(", {} repeats", scenario.repeats) } else { String::new() };
    let mut cells = vec![
        scenario.world_seed.to_string(),
        format!("{}{repeats}", run.n),
        scenario.covariates.to_string(),
        word(&scenario.treatment),
        match scenario.outcomes {
            1 => word(&scenario.outcome),
            count => format!("{count} {}s", word(&scenario.outcome)),
        },
        if run.classes == run.kinds {
            format!("{} ({})", run.classes, run.true_classes)
        } else {
            format!("{}, {} ({})", run.classes, pluralise(run.kinds, "kind"), run.true_classes)
        },
        format_short(run.error),
        format_short(run.limit),
    ];
    cells.extend(BASELINES.map(|method| short(run.baseline(method))));
    cells.extend(
        [main.coverage, run.auto.coverage, main.effect_coverage, run.auto.effect_coverage]
            .map(|coverage| format!("{coverage:.3}")),
    );
    cells.extend([
        two(main.width_over_marginal),
        run.calibration().name().to_owned(),
        format!("{:.2}", run.unflagged),
        format!("{:.1}", run.fit_seconds),
    ]);
    cells
}

fn facts(summary: &Summary) -> String {
    let Summary { scenarios, right_classes, flags, parts, .. } = summary;
    let lines = [
        verdict_text("rho 1", summary.calibration),
        verdict_text("rho auto", summary.calibration_auto),
        format!("number of classes right: {right_classes} of {scenarios}"),
        flag_text(flags),
        summary.class_sizes.map_or_else(String::new, size_text),
        parts.map_or_else(String::new, part_text),
        format!(
            "seconds: fit {:.1} (median), {:.1} (max), {:.0} (sum); query of {} units {:.2} (median)",
            summary.median_fit_seconds,
            summary.max_fit_seconds,
            summary.total_fit_seconds,
            super::TEST_UNITS,
            summary.median_query_seconds
        ),
    ];
    lines.iter().filter(|line| !line.is_empty()).map(|line| format!("- {line}\n")).collect()
}

/// `calibration, rho 1: "ok" 14, of which 1 under-cover; of 18 that cover, 13 have "ok"`.
fn verdict_text(rho: &str, found: VerdictSummary) -> String {
    let ok = found.ok_and_covers + found.ok_and_under_covers;
    let covers = found.ok_and_covers + found.warned_and_covers;
    format!(
        "calibration, {rho}: \"{}\" {ok}, of which {} under-cover (below {}); of {covers} that cover, {} have \"ok\"; of {} \
         that under-cover, {} are warned of",
        Grade::Ok.name(),
        found.ok_and_under_covers,
        BAND.0,
        found.ok_and_covers,
        found.ok_and_under_covers + found.warned_and_under_covers,
        found.warned_and_under_covers
    )
}

fn part_text(parts: PartSummary) -> String {
    format!(
        "one class ({}): excess error over that of the better of trees and a process with the residual {:.2} (median), {:.2} \
         (90th percentile)",
        pluralise(parts.scenarios, "scenario"),
        parts.median,
        parts.high
    )
}

fn size_text(sizes: SizeSummary) -> String {
    format!(
        "class sizes where their number is right ({}): largest difference from the true share {:.3} (median), {:.3} (max)",
        pluralise(sizes.scenarios, "scenario"),
        sizes.median_error,
        sizes.max_error
    )
}

fn flag_text(flags: &FlagSummary) -> String {
    format!(
        "answers without flags: {} (mean); error {} (median), coverage {} (mean); with flags {}, {}",
        format_percent(flags.unflagged),
        short(flags.unflagged_error),
        two(flags.unflagged_coverage),
        short(flags.flagged_error),
        two(flags.flagged_coverage)
    )
}

/// The name of a variant in files, as words.
fn word(value: &impl serde::Serialize) -> String {
    let name = serde_json::to_value(value).ok().and_then(|name| name.as_str().map(str::to_owned));
    name.unwrap_or_default().replace('_', " ")
}

fn two(value: Option<f64>) -> String {
    value.map_or_else(dash, |value| format!("{value:.2}"))
}

fn short(value: Option<f64>) -> String {
    value.map_or_else(dash, format_short)
}

fn dash() -> String {
    "–".to_owned()
}
