//! Tables of a comparison: for the screen, in Markdown and in LaTeX, cells as mean ± deviation.

use cfqp::{Spread, Summary};

use crate::table::{small, table};

/// A column: the measure's name in the library, its heading, how its numbers are written.
type Column = (&'static str, &'static str, fn(f64) -> String);

const COLUMNS: [Column; 13] = [
    ("cf_mse", "cf mse", small),
    ("cf_mse_raw", "in units of y", small),
    ("ssim", "SSIM", three),
    ("pehe", "PEHE", small),
    ("pehe_square", "PEHE^2", small),
    ("class_accuracy", "accuracy", three),
    ("ari", "ARI", three),
    ("coverage", "coverage", three),
    ("width", "width", small),
    ("validation_loss", "own val loss", small),
    ("fit_seconds", "fit s", one),
    ("query_seconds", "query s", one),
    ("peak_rss_mb", "MB", whole),
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

/// Headings and cells: a row per method, a column per measure that any method has.
pub struct Cells {
    rows: Vec<Vec<String>>,
}

impl Cells {
    pub fn new(summaries: &[Summary]) -> Self {
        let has = |name: &str| summaries.iter().any(|summary| find(summary, name).is_some());
        let columns: Vec<&Column> = COLUMNS.iter().filter(|(name, ..)| has(name)).collect();
        let heading = std::iter::once("method").chain(columns.iter().map(|column| column.1));
        let mut rows = vec![heading.map(str::to_owned).collect::<Vec<_>>()];
        for summary in summaries {
            let failed =
                if summary.failed > 0 { format!(" ({} failed)", summary.failed) } else { String::new() };
            let mut row = vec![format!("{}{failed}", summary.method.name())];
            row.extend(columns.iter().map(|(name, _, write)| spread_cell(find(summary, name), *write)));
            rows.push(row);
        }
        Self { rows }
    }

    /// Rows of cells, the first with the headings.
    pub fn of(rows: Vec<Vec<String>>) -> Self {
        Self { rows }
    }

    /// Aligned columns.
    pub fn text(&self) -> String {
        table(&self.rows)
    }

    pub fn markdown(&self) -> String {
        let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
        let rule = format!("|---|{}\n", "---:|".repeat(self.rows[0].len() - 1));
        let body: String = self.rows[1..].iter().map(line).collect();
        line(&self.rows[0]) + &rule + &body
    }

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

fn find(summary: &Summary, name: &str) -> Option<Spread> {
    summary.measures.iter().find(|(own, _)| *own == name).and_then(|(_, spread)| *spread)
}

/// Mean ± deviation; a dash where there is nothing.
pub fn spread_cell(spread: Option<Spread>, write: fn(f64) -> String) -> String {
    match spread {
        None => "–".to_owned(),
        Some(spread) if spread.runs == 1 => write(spread.mean),
        Some(spread) => format!("{} ± {}", write(spread.mean), write(spread.deviation)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cfqp::Method;

    #[test]
    fn a_table_has_the_measures_that_are_there() {
        let spread = |values: &[f64]| Spread::of(values);
        let summaries = [
            Summary {
                method: Method::Sc,
                failed: 1,
                measures: vec![("cf_mse", spread(&[0.5])), ("pehe_square", None)],
            },
            Summary {
                method: Method::Cfqp,
                failed: 0,
                measures: vec![("cf_mse", spread(&[0.1, 0.3])), ("pehe_square", spread(&[0.01]))],
            },
        ];
        let cells = Cells::new(&summaries);
        let expected = "| method | cf mse | PEHE^2 |\n|---|---:|---:|\n| sc (1 failed) | 0.500 | – |\n\
                        | cfqp | 0.200 ± 0.141 | 0.0100 |\n";
        assert_eq!(cells.markdown(), expected);
        assert!(cells.latex().contains("cfqp & 0.200 $\\pm$ 0.141 & 0.0100 \\\\\n"));
        assert!(cells.text().starts_with("  method                cf mse  PEHE^2\n"), "{}", cells.text());
    }
}
