//! Tables and numbers as plain text.

use std::path::Path;

pub use cfqp_html::format::{
    count_dropped, format_count, format_number, format_percent, format_short, pluralise,
};

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

/// The number of units kept and, if they share subjects, that of subjects.
pub(crate) fn count_units(counts: &cfqp::data::table::TableSummary) -> String {
    let units = pluralise(counts.units, "unit");
    match counts.subjects {
        Some(subjects) => format!("{units} of {}", pluralise(subjects, "subject")),
        None => units,
    }
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
    fn a_path_is_quoted_if_necessary() {
        assert_eq!(shell_quote(Path::new("a/b_1.csv")), "a/b_1.csv");
        assert_eq!(shell_quote(Path::new("a b/it's")), r"'a b/it'\''s'");
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
