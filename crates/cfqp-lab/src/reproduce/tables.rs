//! Tables of results: a row per method and a column per data set, with the published figure beside ours. A sweep has a row
//! per data set and method, and a column per value.

use cfqp::eval::{RunStatistics, Scores};
use cfqp::rivals::Method;
use cfqp_cli::comparison_table::{ComparisonTable, format_statistics};
use cfqp_cli::format::format_short;

use super::plan::{Experiment, swept_name};
use super::scenario::Scenario;
use super::{Outcome, published};

/// A table with a title. The cells are plain text; the first row holds the headings.
pub(super) struct Grid {
    title: String,
    cells: ComparisonTable,
    has_rows: bool,
}

type Score = fn(&Scores) -> Option<f64>;

/// A score that a table shows.
struct Measure {
    title: &'static str,
    score: Score,
    /// Whether the paper prints it.
    is_published: bool,
}

impl Measure {
    const fn new(title: &'static str, score: Score) -> Self {
        Self { title, score, is_published: false }
    }

    const fn published(title: &'static str, score: Score) -> Self {
        Self { title, score, is_published: true }
    }
}

const CF_MSE: Measure = Measure::published("counterfactual mean squared error", |s| Some(s.cf_mse));

/// The root mean squared error of effects, in standard deviations of x like `cf_mse`.
fn pehe(scores: &Scores) -> Option<f64> {
    let unit = (scores.cf_mse_raw / scores.cf_mse).sqrt();
    scores.pehe.map(|pehe| pehe / unit)
}

fn measures(experiment: Experiment) -> Vec<Measure> {
    match experiment {
        Experiment::Table1 => vec![
            CF_MSE,
            Measure::new("coverage of 90% intervals", |s| s.coverage),
            Measure::new("seconds of fit and query", |s| Some(s.fit_seconds + s.query_seconds)),
        ],
        Experiment::Ssim => vec![Measure::published("structural similarity", |s| s.ssim)],
        Experiment::Pehe => vec![
            Measure::new("PEHE(0.5, 0.8)", pehe),
            Measure::published("PEHE(0.5, 0.8) squared, as printed in the paper", |s| {
                pehe(s).map(|pehe| pehe * pehe)
            }),
        ],
        Experiment::Control => {
            vec![CF_MSE, Measure::new("number of classes chosen", |s| s.classes.map(|k| k as f64))]
        }
        Experiment::Clustering => vec![
            Measure::new("class accuracy", |s| s.class_accuracy),
            Measure::new("adjusted Rand index", |s| s.ari),
        ],
        _ => vec![CF_MSE],
    }
}

/// The tables of an experiment.
pub(super) fn grids(experiment: Experiment, outcomes: &[Outcome]) -> Vec<Grid> {
    if outcomes.iter().any(|outcome| outcome.swept_value.is_some()) {
        return swept_grids(experiment, outcomes);
    }
    let grids = measures(experiment).into_iter().map(|measure| grid(experiment, outcomes, &measure));
    grids.filter(|grid| grid.has_rows).collect()
}

/// A table for each setting that is swept.
fn swept_grids(experiment: Experiment, outcomes: &[Outcome]) -> Vec<Grid> {
    let name = |outcome: &Outcome| swept_name(experiment, &outcome.scenario).unwrap_or_default();
    let mut names: Vec<&str> = outcomes.iter().map(name).collect();
    names.dedup();
    let grid = |swept: &str| {
        let swept_outcomes: Vec<Outcome> =
            outcomes.iter().filter(|outcome| name(outcome) == swept).cloned().collect();
        swept_grid(&format!("{}, by {swept}", CF_MSE.title), &swept_outcomes)
    };
    names.into_iter().map(grid).collect()
}

fn swept_grid(title: &str, outcomes: &[Outcome]) -> Grid {
    let mut values: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.swept_value).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let mut rows = vec![vec!["data".to_owned(), "method".to_owned()]];
    rows[0].extend(values.iter().map(|&value| (value as f32).to_string()));
    let mut scenarios: Vec<Scenario> = outcomes.iter().map(|outcome| outcome.scenario).collect();
    scenarios.dedup_by_key(|scenario| scenario.name());
    for scenario in scenarios {
        let columns: Vec<Column> =
            values.iter().map(|&value| Column { scenario, swept_value: Some(value) }).collect();
        for method in Method::PAPER {
            let spreads: Vec<Option<RunStatistics>> =
                columns.iter().map(|column| spread(outcomes, method, column, CF_MSE.score)).collect();
            if spreads.iter().any(Option::is_some) {
                let mut row = vec![scenario.name(), method.name().to_owned()];
                row.extend(spreads.into_iter().map(|spread| format_statistics(spread, format_short)));
                rows.push(row);
            }
        }
    }
    Grid::new(title, rows)
}

/// A data set, or one value of a sweep on it.
pub(super) struct Column {
    pub scenario: Scenario,
    pub swept_value: Option<f64>,
}

impl Column {
    fn holds(&self, outcome: &Outcome) -> bool {
        outcome.scenario.name() == self.scenario.name() && outcome.swept_value == self.swept_value
    }
}

/// The columns of `outcomes`, in the order of their first runs.
pub(super) fn columns(outcomes: &[Outcome]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for outcome in outcomes {
        if !columns.iter().any(|column| column.holds(outcome)) {
            columns.push(Column { scenario: outcome.scenario, swept_value: outcome.swept_value });
        }
    }
    columns
}

/// The mean and the standard deviation of a score over the seeds.
pub(super) fn spread(
    outcomes: &[Outcome],
    method: Method,
    column: &Column,
    score: Score,
) -> Option<RunStatistics> {
    let outcomes = outcomes.iter().filter(|outcome| outcome.run.method == method && column.holds(outcome));
    let scores = outcomes.filter_map(|outcome| outcome.run.scores.as_ref().and_then(score));
    RunStatistics::from_values(&scores.collect::<Vec<_>>())
}

fn grid(experiment: Experiment, outcomes: &[Outcome], measure: &Measure) -> Grid {
    let columns = columns(outcomes);
    let published = |method: Method, column: &Column| {
        measure.is_published.then(|| published::figure(experiment, method, &column.scenario)).flatten()
    };
    let has_published =
        |column: &Column| Method::PAPER.iter().any(|&method| published(method, column).is_some());
    let mut heading = vec!["method".to_owned()];
    for column in &columns {
        heading.push(column.scenario.name());
        heading.extend(has_published(column).then(|| "paper".to_owned()));
    }
    let mut rows = vec![heading];
    for method in Method::PAPER {
        let spreads: Vec<Option<RunStatistics>> =
            columns.iter().map(|column| spread(outcomes, method, column, measure.score)).collect();
        if spreads.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![method.name().to_owned()];
        for (column, spread) in columns.iter().zip(spreads) {
            row.push(format_statistics(spread, format_short));
            let cell = || published(method, column).map_or_else(|| "–".to_owned(), format_short);
            row.extend(has_published(column).then(cell));
        }
        rows.push(row);
    }
    Grid::new(measure.title, rows)
}

impl Grid {
    pub(super) fn new(title: &str, rows: Vec<Vec<String>>) -> Self {
        Self { title: title.to_owned(), has_rows: rows.len() > 1, cells: ComparisonTable::from_rows(rows) }
    }

    pub(super) fn text(&self) -> String {
        format!("{}\n{}", self.title, self.cells.text())
    }

    pub(super) fn markdown(&self) -> String {
        format!("### {}\n\n{}\n", self.title, self.cells.markdown())
    }

    pub(super) fn latex(&self) -> String {
        format!("% {}\n{}\n", self.title, self.cells.latex())
    }
}
