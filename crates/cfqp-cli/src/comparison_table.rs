//! Tables of a comparison as text, Markdown and LaTeX; cells are mean ± standard deviation.

use cfqp::eval::{Measure, RunStatistics, Summary};

use crate::format::{align_rows, format_short};

/// A column: the measure, its heading, the format of its numbers.
type Column = (Measure, &'static str, fn(f64) -> String);

const COLUMNS: [Column; 13] = [
    (Measure::CfMse, "cf mse", format_short),
    (Measure::CfMseRaw, "in units of y", format_short),
    (Measure::Ssim, "SSIM", three),
    (Measure::Pehe, "PEHE", format_short),
    (Measure::PeheSquare, "PEHE^2", format_short),
    (Measure::ClassAccuracy, "accuracy", three),
    (Measure::Ari, "ARI", three),
    (Measure::Coverage, "coverage", three),
    (Measure::Width, "width", format_short),
    (Measure::ValidationLoss, "own val loss", format_short),
    (Measure::FitSeconds, "fit s", one),
    (Measure::QuerySeconds, "query s", one),
    (Measure::PeakRssMb, "MB", whole),
];

/// The columns of a comparison on pairs.
const PAIR_COLUMNS: [Column; 6] = [
    (Measure::Rmse, "RMSE", format_short),
    (Measure::RmseSd, "RMSE/SD", three),
    (Measure::Coverage, "coverage", three),
    (Measure::Width, "width", format_short),
    (Measure::FitSeconds, "fit s", one),
    (Measure::QuerySeconds, "query s", one),
];

fn three(value: f64) -> String {
    format!("{value:.3}")
}

fn one(value: f64) -> String {
    format!("{value:.1}")
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

/// Headings and cells: one row per method, one column per measure that any method has.
pub struct ComparisonTable {
    rows: Vec<Vec<String>>,
}

impl ComparisonTable {
    /// A row per summary.
    pub fn new(summaries: &[Summary]) -> Self {
        Self::with_columns(summaries, &COLUMNS)
    }

    /// A row per summary of a comparison on pairs.
    pub fn for_pairs(summaries: &[Summary]) -> Self {
        Self::with_columns(summaries, &PAIR_COLUMNS)
    }

    fn with_columns(summaries: &[Summary], columns: &[Column]) -> Self {
        let has = |measure: Measure| summaries.iter().any(|summary| find(summary, measure).is_some());
        let columns: Vec<&Column> = columns.iter().filter(|(measure, ..)| has(*measure)).collect();
        let heading = std::iter::once("method").chain(columns.iter().map(|column| column.1));
        let mut rows = vec![heading.map(str::to_owned).collect::<Vec<_>>()];
        for summary in summaries {
            let failed =
                if summary.failed > 0 { format!(" ({} failed)", summary.failed) } else { String::new() };
            let mut row = vec![format!("{}{failed}", summary.method.name())];
            row.extend(
                columns.iter().map(|(measure, _, write)| format_statistics(find(summary, *measure), *write)),
            );
            rows.push(row);
        }
        Self { rows }
    }

    /// Rows of cells, the first with the headings.
    pub fn from_rows(rows: Vec<Vec<String>>) -> Self {
        Self { rows }
    }

    /// Aligned columns.
    pub fn text(&self) -> String {
        align_rows(&self.rows)
    }

    /// A table in Markdown.
    pub fn markdown(&self) -> String {
        let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
        let rule = format!("|---|{}\n", "---:|".repeat(self.rows[0].len() - 1));
        let body: String = self.rows[1..].iter().map(line).collect();
        line(&self.rows[0]) + &rule + &body
    }

    /// A `tabular` in LaTeX.
    pub fn latex(&self) -> String {
        let escape = |cell: &String| {
            let cell = cell.replace('^', r"\textasciicircum{}").replace('%', r"\%").replace('_', r"\_");
            cell.replace('±', r"$\pm$").replace('–', "--")
        };
        let line = |row: &Vec<String>| row.iter().map(escape).collect::<Vec<_>>().join(" & ") + " \\\\\n";
        let columns = "r".repeat(self.rows[0].len() - 1);
        let body: String = self.rows[1..].iter().map(line).collect();
        let head = line(&self.rows[0]);
        format!("\\begin{{tabular}}{{l{columns}}}\n\\hline\n{head}\\hline\n{body}\\hline\n\\end{{tabular}}\n")
    }
}

fn find(summary: &Summary, measure: Measure) -> Option<RunStatistics> {
    summary.measures.iter().find(|summary| summary.measure == measure).and_then(|summary| summary.statistics)
}

/// Mean ± standard deviation; a dash if there is no value.
pub fn format_statistics(statistics: Option<RunStatistics>, write: fn(f64) -> String) -> String {
    match statistics {
        None => "–".to_owned(),
        Some(RunStatistics { runs: 1, mean, .. }) => write(mean),
        Some(RunStatistics { mean, deviation, .. }) => format!("{} ± {}", write(mean), write(deviation)),
    }
}

#[cfg(test)]
mod tests {
    use cfqp::eval::MeasureSummary;
    use cfqp::rivals::Method;

    use super::*;

    #[test]
    fn a_table_has_a_column_for_every_measure_with_values() {
        let measure = |measure, values: &[f64]| {
            let statistics = RunStatistics::from_values(values);
            MeasureSummary { measure, statistics }
        };
        let summaries = [
            Summary {
                method: Method::Sc,
                failed: 1,
                measures: vec![measure(Measure::CfMse, &[0.5]), measure(Measure::PeheSquare, &[])],
            },
            Summary {
                method: Method::Cfqp,
                failed: 0,
                measures: vec![measure(Measure::CfMse, &[0.1, 0.3]), measure(Measure::PeheSquare, &[0.01])],
            },
        ];
        let cells = ComparisonTable::new(&summaries);
        let expected = "| method | cf mse | PEHE^2 |\n|---|---:|---:|\n| sc (1 failed) | 0.500 | – |\n\
                        | cfqp | 0.200 ± 0.141 | 0.0100 |\n";
        assert_eq!(cells.markdown(), expected);
        assert!(cells.latex().contains("cfqp & 0.200 $\\pm$ 0.141 & 0.0100 \\\\\n"));
        assert!(cells.text().starts_with("  method                cf mse  PEHE^2\n"), "{}", cells.text());
    }
}
