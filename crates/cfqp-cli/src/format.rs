//! Tables and numbers as plain text.

use std::path::Path;

/// Aligns rows of cells as columns: the first to the left, the others to the right.
pub fn align_rows(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cell = |(i, cell): (usize, &String)| match i {
            0 => format!("{cell:<0$}", widths[i]),
            _ => format!("{cell:>0$}", widths[i]),
        };
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// Aligns names and values, one pair per line.
pub fn align_facts(rows: &[(&str, String)]) -> String {
    let wide = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("  {name:<wide$}  {value}\n")).collect()
}

/// Writes 12345 as 12,345.
pub fn format_count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 unit`, `2 units`.
pub fn pluralise(n: usize, what: &str) -> String {
    format!("{} {what}{}", format_count(n), if n == 1 { "" } else { "s" })
}

/// The number of units kept and, if they share subjects, that of subjects.
pub(crate) fn count_units(counts: &cfqp::data::table::TableSummary) -> String {
    let units = pluralise(counts.units, "unit");
    match counts.subjects {
        Some(subjects) => format!("{units} of {}", pluralise(subjects, "subject")),
        None => units,
    }
}

/// `1 unit`, `2 samples`: what was dropped.
pub fn count_dropped(dropped: &cfqp::data::table::DroppedUnits) -> String {
    pluralise(dropped.count, if dropped.reason.is_about_samples() { "sample" } else { "unit" })
}

/// A number to three significant digits.
pub fn format_short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 1e-5 => format!("{value:.2e}"),
        size => format!("{value:.0$}", (2 - size.log10().floor() as i32).clamp(0, 7) as usize),
    }
}

/// A number to six decimals, without trailing zeros.
pub fn format_number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A share as a percentage.
pub fn format_percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A text of at most `max` letters; a longer one ends with an ellipsis.
pub fn truncate(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}

/// A path, quoted for a shell if necessary.
pub fn shell_quote(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0, 999, 1000, 1_234_567].map(format_count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0.0, 0.000_162, 0.0123, 1.5, 123.4, 1e-7].map(format_short),
            ["0", "0.000162", "0.0123", "1.50", "123", "1.00e-7"]
        );
        assert_eq!(
            (format_percent(0.9), pluralise(1, "unit"), pluralise(2, "unit")),
            ("90.0%".into(), "1 unit".into(), "2 units".into())
        );
        assert_eq!([1.0, -19.0, 0.25, 0.9 * 100.0].map(format_number), ["1", "-19", "0.25", "90"]);
        assert_eq!(shell_quote(Path::new("a b/it's")), r"'a b/it'\''s'");
        assert_eq!((truncate("treatment", 6), truncate("dose", 6)), ("treat…".into(), "dose".into()));
    }

    #[test]
    fn columns_are_aligned() {
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        assert_eq!(
            align_rows(&[row(["base", "n", ""]), row(["mlp", "10", "<"])]),
            "  base   n\n  mlp   10  <\n"
        );
    }
}
