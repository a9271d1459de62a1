//! Fits and summaries as text and Markdown.

use cfqp::ClassWeights;
use cfqp::ask::Grade;
use cfqp_cli::comparison_table::ComparisonTable;
use cfqp_cli::format::{format_count, format_percent, format_short, pluralise};

use super::Results;
use super::fit::TableFit;
use super::summary::{
    MAX_WARNED_COVERAGE, MIN_OK_COVERAGE, MIN_RATIO_LIMIT, Share, Summary, WorldFigure, WorldSummary,
};

/// A smaller limit, in variances of y, is rounding error.
const MIN_LIMIT: f64 = 1e-6;

const WORLD_COLUMNS: [&str; 14] = [
    "world",
    "error",
    "limit",
    "ratio",
    "excess",
    "log loss",
    "its limit",
    "its ratio",
    "coverage",
    "min coverage",
    "width",
    "K right",
    "fit s",
    "calibration",
];
const FIT_COLUMNS: [&str; 18] = [
    "world",
    "seed",
    "error",
    "limit",
    "ratio",
    "excess",
    "log loss",
    "its limit",
    "its ratio",
    "coverage",
    "width",
    "K (true)",
    "fit s",
    "calibration",
    "number of classes",
    "noise",
    "class weights",
    "outcome scale",
];

/// A finished fit in one line.
pub(super) fn line(fit: &TableFit) -> String {
    format!(
        "{}, seed {}: error {}, limit {}, ratio {}, excess {}{}, coverage {:.3}, width {}, K {} (true {}), {:.1} s; \
         calibration {}, number of classes {}; noise {}, class weights {}, {} scale",
        fit.world.name(),
        fit.seed,
        format_short(fit.error),
        format_limit(fit.limit),
        or_dash(fit.ratio),
        format_short(fit.excess),
        log_loss_text(fit),
        fit.coverage,
        format_short(fit.width),
        fit.classes_text(),
        fit.true_classes,
        fit.fit_seconds,
        fit.calibration.grade.name(),
        fit.number_of_classes.grade.name(),
        fit.noise_law.name(),
        weights_name(fit.class_weights),
        fit.outcome_scale.name(),
    )
}

/// `, log loss 0.2457, limit 0.2245, ratio 1.09` where answers are probabilities.
fn log_loss_text(fit: &TableFit) -> String {
    let (Some(loss), Some(limit)) = (fit.log_loss, fit.log_loss_limit) else { return String::new() };
    let (loss, limit) = (format_short(loss), format_short(limit));
    format!(", log loss {loss}, limit {limit}, ratio {}", or_dash(fit.log_loss_ratio))
}

/// The table of worlds and the summary.
pub(super) fn overview(results: &Results) -> String {
    let Results { n, seeds, test_units, level, .. } = results;
    let (units, seeds) = (pluralise(*n, "training unit"), pluralise(*seeds, "seed"));
    let head = format!(
        "{units}, {} test units, {seeds}; rho = 1, level {level}; error, limit and excess in variances of y\n\n",
        format_count(*test_units)
    );
    let rows = results.worlds.iter().map(world_row);
    head + &markdown(&WORLD_COLUMNS, rows) + "\n" + &summary_text(&results.summary)
}

/// The table of all fits.
pub(super) fn fits_table(fits: &[TableFit]) -> String {
    markdown(&FIT_COLUMNS, fits.iter().map(fit_row))
}

fn markdown(columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let heading = columns.iter().map(|&column| column.to_owned()).collect();
    ComparisonTable::from_rows(std::iter::once(heading).chain(rows).collect()).markdown()
}

fn world_row(world: &WorldSummary) -> Vec<String> {
    vec![
        world.world.name().to_owned(),
        format_short(world.error),
        format_limit(world.limit),
        or_dash(world.ratio),
        format_short(world.excess),
        short_or_dash(world.log_loss),
        short_or_dash(world.log_loss_limit.filter(|_| world.log_loss.is_some())),
        or_dash(world.log_loss_ratio),
        format!("{:.3}", world.coverage),
        format!("{:.3}", world.min_coverage),
        format_short(world.width),
        classes_text(world),
        format!("{:.1}", world.fit_seconds),
        grades_text(&world.calibration),
    ]
}

/// `4 of 5 (true 3; found 3 3 2 3 3)`.
fn classes_text(world: &WorldSummary) -> String {
    let found: Vec<String> = world.classes.iter().map(ToString::to_string).collect();
    let (right, fits, classes) = (world.right_classes, world.fits, world.true_classes);
    format!("{right} of {fits} (true {classes}; found {})", found.join(" "))
}

/// `3 ok, 2 doubtful`.
fn grades_text(grades: &[Grade]) -> String {
    let count = |grade: Grade| grades.iter().filter(|other| **other == grade).count();
    let grades = [Grade::Ok, Grade::Doubtful, Grade::Failed, Grade::NotTested];
    let present = grades.into_iter().filter(|grade| count(*grade) > 0);
    present.map(|grade| format!("{} {}", count(grade), grade.name())).collect::<Vec<_>>().join(", ")
}

fn fit_row(fit: &TableFit) -> Vec<String> {
    vec![
        fit.world.name().to_owned(),
        fit.seed.to_string(),
        format_short(fit.error),
        format_limit(fit.limit),
        or_dash(fit.ratio),
        format_short(fit.excess),
        short_or_dash(fit.log_loss),
        short_or_dash(fit.log_loss_limit.filter(|_| fit.log_loss.is_some())),
        or_dash(fit.log_loss_ratio),
        format!("{:.3}", fit.coverage),
        format_short(fit.width),
        format!("{} ({})", fit.classes_text(), fit.true_classes),
        format!("{:.1}", fit.fit_seconds),
        fit.calibration.grade.name().to_owned(),
        fit.number_of_classes.grade.name().to_owned(),
        fit.noise_law.name().to_owned(),
        weights_name(fit.class_weights).to_owned(),
        fit.outcome_scale.name().to_owned(),
    ]
}

fn summary_text(summary: &Summary) -> String {
    let mut lines = Vec::new();
    if let Some(mean) = summary.mean_ratio {
        lines.push(format!(
            "ratio of error and limit, {} with a limit above {MIN_RATIO_LIMIT}: mean {mean:.2}, largest {}, largest of \
             one fit {}",
            pluralise(summary.worlds_with_ratio, "world"),
            ratio_text(summary.max_ratio),
            ratio_text(summary.max_fit_ratio)
        ));
    }
    if let Some(WorldFigure { world, value }) = summary.max_excess {
        lines.push(format!("largest excess of the other worlds: {} ({})", format_short(value), world.name()));
    }
    if summary.max_log_loss_ratio.is_some() {
        lines.push(format!(
            "ratio of log loss and its limit: largest {}, largest of one fit {}",
            ratio_text(summary.max_log_loss_ratio),
            ratio_text(summary.max_fit_log_loss_ratio)
        ));
    }
    if let Some(WorldFigure { world, value }) = summary.min_coverage {
        lines.push(format!("smallest coverage of one fit: {value:.3} ({})", world.name()));
    }
    lines.push(format!(
        "calibration \"ok\" although coverage is below {MIN_OK_COVERAGE}: {}",
        share_text(summary.wrong_ok, "fit with \"ok\"", "fits with \"ok\"")
    ));
    lines.push(format!(
        "calibration doubtful or failed where coverage is below {MAX_WARNED_COVERAGE}: {}",
        share_text(summary.warned, "such fit", "such fits")
    ));
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

fn ratio_text(figure: Option<WorldFigure>) -> String {
    figure.map_or_else(dash, |WorldFigure { world, value }| format!("{value:.2} ({})", world.name()))
}

/// `1 of 40 fits (2.5%)`.
fn share_text(share: Share, one: &str, many: &str) -> String {
    let Share { count, of } = share;
    let noun = if of == 1 { one } else { many };
    match of {
        0 => format!("there are no {many}"),
        _ => format!("{count} of {of} {noun} ({})", format_percent(count as f64 / of as f64)),
    }
}

/// A limit; rounding error is 0.
fn format_limit(limit: f64) -> String {
    if limit < MIN_LIMIT { "0".to_owned() } else { format_short(limit) }
}

fn weights_name(weights: ClassWeights) -> &'static str {
    match weights {
        ClassWeights::Constant => "constant",
        ClassWeights::Covariates => "by x",
        ClassWeights::CovariatesAndTreatment => "by x and t",
    }
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(dash, |value| format!("{value:.2}"))
}

fn short_or_dash(value: Option<f64>) -> String {
    value.map_or_else(dash, format_short)
}

fn dash() -> String {
    "–".to_owned()
}

#[cfg(test)]
mod tests {
    use cfqp::sim::TableWorld;

    use super::super::summary::by_world;
    use super::super::summary::tests::fit;
    use super::*;

    #[test]
    fn a_row_shows_the_classes_and_the_grades_of_a_world() {
        let fits = [
            fit(TableWorld::Crossing, 0.2, 0.1, 0.9, Grade::Ok),
            fit(TableWorld::Crossing, 0.3, 0.1, 0.8, Grade::Failed),
        ];
        let worlds = by_world(&fits);
        let row = world_row(&worlds[0]);
        assert_eq!(row.len(), WORLD_COLUMNS.len());
        assert_eq!(row[3..4], ["2.50"]);
        assert_eq!(row[11], "2 of 2 (true 3; found 3 3)");
        assert_eq!(row[13], "1 ok, 1 failed");
        assert_eq!(fit_row(&fits[0]).len(), FIT_COLUMNS.len());
        assert_eq!(row[5..8], ["–", "–", "–"]);
        let text = summary_text(&Summary::new(&worlds, &fits));
        assert!(
            text.contains("mean 2.50, largest 2.50 (crossing), largest of one fit 3.00 (crossing)"),
            "{text}"
        );
        assert!(
            !text.contains("log loss")
                && text.contains("0 of 1 fit with \"ok\" (0.0%)")
                && text.contains("there are no such fits"),
            "{text}"
        );
    }

    #[test]
    fn log_losses_are_shown_where_answers_are_probabilities() {
        let counts =
            TableFit { log_loss_limit: Some(1.3), ..fit(TableWorld::Count, 0.1, 0.08, 0.9, Grade::Ok) };
        let chances = TableFit {
            log_loss: Some(0.3),
            log_loss_limit: Some(0.25),
            log_loss_ratio: Some(1.2),
            ..fit(TableWorld::YesNo, 0.3, 0.28, 0.9, Grade::Ok)
        };
        let fits = [counts, chances];
        assert_eq!(fit_row(&fits[0])[6..9], ["–", "–", "–"]);
        assert_eq!(fit_row(&fits[1])[6..9], ["0.300", "0.250", "1.20"]);
        assert!(line(&fits[1]).contains("log loss 0.300, limit 0.250, ratio 1.20"));
        assert!(!line(&fits[0]).contains("log loss"));
        let text = summary_text(&Summary::new(&by_world(&fits), &fits));
        assert!(text.contains("ratio of log loss and its limit: largest 1.20 (yes-no)"), "{text}");
    }
}
