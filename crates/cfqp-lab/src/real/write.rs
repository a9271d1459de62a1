//! The tables of real measurements.

use cfqp::Rho;
use cfqp::eval::{MethodRun, Scores};
use cfqp::rivals::Method;
use cfqp_cli::comparison_table::ComparisonTable;
use cfqp_cli::format::{format_short, pluralise};

use super::{HeldOutResult, METHODS, Results};

/// Both tables in Markdown, and a line for every failed run.
pub(super) fn text(results: &Results) -> String {
    let mut text = format!("### rows as units\n\n{}", pairs_table(results));
    if !results.held_out.is_empty() {
        text += &format!("\n### one row of each subject held out\n\n{}", held_out_table(&results.held_out));
    }
    text + &failed_runs(results)
}

fn markdown(columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let heading = columns.iter().map(|&column| column.to_owned()).collect();
    ComparisonTable::from_rows(std::iter::once(heading).chain(rows).collect()).markdown()
}

const PAIR_COLUMNS: [&str; 12] = [
    "data",
    "rows",
    "pairs",
    "method",
    "rho",
    "RMSE",
    "RMSE/SD",
    "RMSE of log10",
    "coverage",
    "width",
    "K",
    "s",
];

fn pairs_table(results: &Results) -> String {
    let rows = results.pairs.iter().flat_map(|result| {
        result.runs.iter().map(|run| {
            let scores = run.scores.as_ref();
            let mut row = vec![result.set.clone(), result.rows.to_string(), result.pairs.to_string()];
            row.extend([run.method.name().to_owned(), rho_text(run)]);
            row.extend([
                cell(scores, |scores| scores.rmse, format_short),
                cell(scores, |scores| scores.rmse_sd, three),
                cell(scores, |scores| scores.rmse_log10, three),
                cell(scores, |scores| scores.coverage, three),
                cell(scores, |scores| scores.width, format_short),
                cell(scores, |scores| scores.classes.map(|k| k as f64), whole),
                cell(scores, |scores| Some(scores.fit_seconds + scores.query_seconds), one),
            ]);
            row
        })
    });
    markdown(&PAIR_COLUMNS, rows)
}

const HELD_OUT_COLUMNS: [&str; 10] = [
    "data",
    "seeds",
    "method",
    "RMSE, all seeds",
    "RMSE by seed",
    "coverage",
    "width",
    "K",
    "learned rho",
    "s",
];

fn held_out_table(results: &[HeldOutResult]) -> String {
    let by_set = results.chunk_by(|a, b| a.set == b.set);
    markdown(&HELD_OUT_COLUMNS, by_set.flat_map(|set| METHODS.map(|method| held_out_row(set, method))))
}

/// The row of one method over all seeds of one set.
fn held_out_row(results: &[HeldOutResult], method: Method) -> Vec<String> {
    let runs = results.iter().flat_map(|result| &result.runs).filter(|run| run.method == method);
    let scores: Vec<&Scores> = runs.filter_map(|run| run.scores.as_ref()).collect();
    let values = |value: fn(&Scores) -> Option<f64>| -> Vec<f64> {
        scores.iter().filter_map(|scores| value(scores)).collect()
    };
    let rmse = values(|scores| scores.rmse);
    // every seed holds out as many rows
    let squares: Vec<f64> = rmse.iter().map(|rmse| rmse * rmse).collect();
    vec![
        results[0].set.clone(),
        scores.len().to_string(),
        method.name().to_owned(),
        mean(&squares).map_or_else(dash, |square| format_short(square.sqrt())),
        list(&rmse, format_short),
        mean(&values(|scores| scores.coverage)).map_or_else(dash, three),
        mean(&values(|scores| scores.width)).map_or_else(dash, format_short),
        list(&values(|scores| scores.classes.map(|k| k as f64)), whole),
        list(&values(|scores| scores.rho), two),
        mean(&values(|scores| Some(scores.fit_seconds + scores.query_seconds))).map_or_else(dash, one),
    ]
}

/// What is known of rho in the answers of a run.
fn rho_text(run: &MethodRun) -> String {
    let used = run.scores.as_ref().and_then(|scores| scores.rho);
    match (run.method, run.config.rho, used) {
        (Method::Cfqp, Rho::Given(rho), _) => rho.to_string(),
        (Method::Cfqp, Rho::Auto, Some(rho)) => format!("auto ({rho:.2} learned)"),
        (Method::Cfqp, Rho::Auto, None) => "auto (unknown)".to_owned(),
        _ => dash(),
    }
}

fn failed_runs(results: &Results) -> String {
    let of_pairs = results.pairs.iter().flat_map(|result| result.runs.iter().map(|run| (&result.set, run)));
    let held_out =
        results.held_out.iter().flat_map(|result| result.runs.iter().map(|run| (&result.set, run)));
    let failed: Vec<String> = of_pairs
        .chain(held_out)
        .filter(|(_, run)| run.scores.is_none())
        .map(|(set, run)| {
            let problem = run.error.as_deref().unwrap_or("unknown reason");
            format!("- {set}, {}, seed {}: {problem}\n", run.method.name(), run.seed)
        })
        .collect();
    match failed.len() {
        0 => String::new(),
        count => format!("\n{} failed:\n{}", pluralise(count, "run"), failed.concat()),
    }
}

fn cell(scores: Option<&Scores>, value: impl Fn(&Scores) -> Option<f64>, write: fn(f64) -> String) -> String {
    scores.and_then(value).map_or_else(dash, write)
}

/// All values, or a dash.
fn list(values: &[f64], write: fn(f64) -> String) -> String {
    match values {
        [] => dash(),
        values => values.iter().map(|&value| write(value)).collect::<Vec<_>>().join(" "),
    }
}

/// The mean; none of no values.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn three(value: f64) -> String {
    format!("{value:.3}")
}

fn two(value: f64) -> String {
    format!("{value:.2}")
}

fn one(value: f64) -> String {
    format!("{value:.1}")
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn dash() -> String {
    "–".to_owned()
}
