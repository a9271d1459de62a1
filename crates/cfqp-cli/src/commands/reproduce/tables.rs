//! Tables of results: a row per method and a column per data set, the paper's figure beside ours; of a sweep a row per data
//! set and method, and a column per value.

use cfqp::{Method, Scores, Spread};

use super::plan::{Experiment, World, swept_name};
use super::{Outcome, published};
use crate::report::{Cells, spread_cell};
use crate::table::small;

/// Headings and cells, as plain text with `±`.
pub struct Grid {
    title: String,
    cells: Cells,
    /// There are headings only.
    empty: bool,
}

type Measure = (&'static str, fn(&Scores) -> Option<f64>);

/// Root of the mean squared error of effects, in standard deviations of x as `cf_mse` is.
fn pehe(scores: &Scores) -> Option<f64> {
    let unit = (scores.cf_mse_raw / scores.cf_mse).sqrt();
    scores.pehe.map(|pehe| pehe / unit)
}

fn measures(experiment: Experiment) -> Vec<Measure> {
    match experiment {
        Experiment::Ssim => vec![("structural similarity", |s| s.ssim)],
        Experiment::Pehe => vec![
            ("PEHE(0.5, 0.8)", pehe),
            ("the same without the root, as the paper prints it", |s| pehe(s).map(|v| v * v)),
        ],
        Experiment::Control => vec![
            ("counterfactual mean squared error", |s| Some(s.cf_mse)),
            ("classes found", |s| s.classes.map(|classes| classes as f64)),
        ],
        Experiment::Clustering => {
            vec![("class accuracy", |s| s.class_accuracy), ("adjusted Rand index", |s| s.ari)]
        }
        _ => vec![("counterfactual mean squared error", |s| Some(s.cf_mse))],
    }
}

/// The tables of an experiment.
pub fn grids(experiment: Experiment, outcomes: &[Outcome]) -> Vec<Grid> {
    if outcomes.iter().any(|outcome| outcome.at.is_some()) {
        return swept_grids(experiment, outcomes);
    }
    let mut grids: Vec<Grid> =
        measures(experiment).iter().map(|measure| grid(experiment, outcomes, measure)).collect();
    if experiment == Experiment::Table1 {
        grids.push(grid(experiment, outcomes, &("coverage of 90% intervals", |s| s.coverage)));
        grids.push(grid(
            experiment,
            outcomes,
            &("seconds of fit and query", |s| Some(s.fit_seconds + s.query_seconds)),
        ));
    }
    grids.retain(|grid| !grid.empty);
    grids
}

/// A table for everything that is swept.
fn swept_grids(experiment: Experiment, outcomes: &[Outcome]) -> Vec<Grid> {
    let name = |outcome: &Outcome| swept_name(experiment, &outcome.world).unwrap_or_default();
    let mut names: Vec<&str> = outcomes.iter().map(name).collect();
    names.dedup();
    let grid = |swept: &str| {
        let own: Vec<Outcome> = outcomes.iter().filter(|outcome| name(outcome) == swept).cloned().collect();
        swept_grid(&format!("counterfactual mean squared error, by {swept}"), &own)
    };
    names.into_iter().map(grid).collect()
}

fn swept_grid(title: &str, outcomes: &[Outcome]) -> Grid {
    let mut values: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.at).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let mut rows = vec![vec!["data".to_owned(), "method".to_owned()]];
    rows[0].extend(values.iter().map(|&at| (at as f32).to_string()));
    let mut worlds: Vec<World> = outcomes.iter().map(|outcome| outcome.world).collect();
    worlds.dedup_by_key(|world| world.name());
    for world in worlds {
        for method in Method::ALL {
            let found =
                |at: &f64| spread(outcomes, method, (&world, Some(*at)), |scores| Some(scores.cf_mse));
            let found: Vec<Option<Spread>> = values.iter().map(found).collect();
            if found.iter().any(Option::is_some) {
                let mut row = vec![world.name(), method.name().to_owned()];
                row.extend(found.into_iter().map(|found| spread_cell(found, small)));
                rows.push(row);
            }
        }
    }
    Grid::new(title, rows)
}

/// The columns: data sets, or values of the sweep within them.
pub fn columns(outcomes: &[Outcome]) -> Vec<(World, Option<f64>, String)> {
    let mut columns: Vec<(World, Option<f64>, String)> = Vec::new();
    for outcome in outcomes {
        let title = match outcome.at {
            None => outcome.world.name(),
            Some(at) => format!("{}, {}", outcome.world.name(), small(at)),
        };
        if !columns.iter().any(|(_, _, own)| *own == title) {
            columns.push((outcome.world, outcome.at, title));
        }
    }
    columns
}

/// Mean and deviation over seeds of one cell.
pub fn spread(
    outcomes: &[Outcome],
    method: Method,
    (world, at): (&World, Option<f64>),
    of: fn(&Scores) -> Option<f64>,
) -> Option<Spread> {
    let own =
        outcomes.iter().filter(|o| o.run.method == method && o.world.name() == world.name() && o.at == at);
    Spread::of(&own.filter_map(|o| o.run.scores.as_ref().and_then(of)).collect::<Vec<_>>())
}

fn grid(experiment: Experiment, outcomes: &[Outcome], (title, of): &Measure) -> Grid {
    let columns = columns(outcomes);
    let paper = |method: Method, world: &World| match *title {
        "counterfactual mean squared error"
        | "structural similarity"
        | "the same without the root, as the paper prints it" => published::figure(experiment, method, world),
        _ => None,
    };
    let beside: Vec<bool> = columns
        .iter()
        .map(|(world, ..)| Method::ALL.iter().any(|&method| paper(method, world).is_some()))
        .collect();
    let mut heading = vec!["method".to_owned()];
    for ((_, _, title), beside) in columns.iter().zip(&beside) {
        heading.push(title.clone());
        heading.extend(beside.then(|| "paper".to_owned()));
    }
    let mut rows = vec![heading];
    for method in Method::ALL {
        let found: Vec<Option<Spread>> =
            columns.iter().map(|(world, at, _)| spread(outcomes, method, (world, *at), *of)).collect();
        if found.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![method.name().to_owned()];
        for ((column, beside), found) in columns.iter().zip(&beside).zip(found) {
            row.push(spread_cell(found, small));
            row.extend(beside.then(|| paper(method, &column.0).map_or_else(|| "–".to_owned(), small)));
        }
        rows.push(row);
    }
    Grid::new(title, rows)
}

impl Grid {
    pub fn new(title: &str, rows: Vec<Vec<String>>) -> Self {
        Self { title: title.to_owned(), empty: rows.len() < 2, cells: Cells::of(rows) }
    }

    pub fn text(&self) -> String {
        format!("{}\n{}", self.title, self.cells.text())
    }

    pub fn markdown(&self) -> String {
        format!("### {}\n\n{}\n", self.title, self.cells.markdown())
    }

    pub fn latex(&self) -> String {
        format!("% {}\n{}\n", self.title, self.cells.latex())
    }
}
