//! Numbers and counts as text.

use cfqp::data::table::DroppedUnits;

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

/// `1 unit`, `2 samples`: what was dropped.
pub fn count_dropped(dropped: &DroppedUnits) -> String {
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
pub(crate) fn truncate(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
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
        assert_eq!((truncate("treatment", 6), truncate("dose", 6)), ("treat…".into(), "dose".into()));
    }
}
