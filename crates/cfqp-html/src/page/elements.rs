//! Building blocks of the page.

use cfqp::data::table::TreatmentValue;
use maud::{Markup, html};

use crate::format::{format_short, truncate};

const MAX_NAME_LETTERS: usize = 30;
const COLOURS: usize = 8;
/// Whole numbers below this are written in full.
const MAX_WHOLE: f64 = 1e6;

/// A name that fits on an axis.
pub(super) fn short_name(name: &str) -> String {
    truncate(name, MAX_NAME_LETTERS)
}

/// A number to three digits, a whole one to all; a dash if it is not finite.
pub(super) fn number(value: f64) -> String {
    match value {
        value if !value.is_finite() => "–".to_owned(),
        value if value.fract() == 0.0 && value.abs() < MAX_WHOLE => format!("{value:.0}"),
        value => format_short(value),
    }
}

/// A text in which names stand between backticks.
pub(super) fn prose(text: &str) -> Markup {
    html! {
        @for (i, part) in text.split('`').enumerate() {
            @if i % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A sentence with a capital letter at its beginning.
pub(super) fn capitalise(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Treatments with their names: `dose 0.31`.
pub(super) fn treatment_text(names: &[String], values: &[TreatmentValue]) -> String {
    let one = |(name, value): (&String, &TreatmentValue)| match value {
        TreatmentValue::Number(value) => format!("{name} {}", number(f64::from(*value))),
        TreatmentValue::Precise(value) => format!("{name} {value}"),
        // the level `drug B` of the treatment `drug`
        TreatmentValue::Level(level) if level.starts_with(name.as_str()) => level.clone(),
        TreatmentValue::Level(level) => format!("{name} {level}"),
    };
    names.iter().zip(values).map(one).collect::<Vec<_>>().join(", ")
}

/// A table; the first column is text, the others are numbers.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table {
                thead { tr { @for cell in head { th scope="col" { (cell) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (i, cell) in row.iter().enumerate() {
                                @if i == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A drawing with its caption and the numbers in it, which the reader can unfold.
pub(super) fn figure(drawing: &Markup, caption: &str, numbers: Option<&Markup>) -> Markup {
    html! {
        figure {
            (drawing)
            figcaption { (caption) }
            @if let Some(numbers) = numbers { (details("The numbers", numbers)) }
        }
    }
}

/// Content that the reader can unfold.
pub(super) fn details(summary: &str, content: &Markup) -> Markup {
    html! { details { summary { (summary) } (content) } }
}

/// A section of the page with its heading.
pub(super) fn section(id: &str, heading: &str, body: &Markup) -> Markup {
    let heading_id = format!("{id}-heading");
    html! {
        section id=(id) aria-labelledby=(heading_id) {
            h2 id=(heading_id) { (heading) }
            (body)
        }
    }
}

/// The meaning of the classes' colours; nothing if there is one class.
pub(super) fn class_legend(classes: usize) -> Markup {
    html! {
        @if classes > 1 {
            p.legend { @for k in 0..classes { span class=(class_colour(k)) { i {} "class " (k) } } }
        }
    }
}

/// The style class with the colour of hidden class `k`.
pub(super) fn class_colour(k: usize) -> String {
    format!("k{}", k % COLOURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped() {
        let markup = table(&["<b>"], &[vec!["<i>".to_owned(), "\"a\" & b".to_owned()]]).into_string();
        assert!(markup.contains("<th scope=\"col\">&lt;b&gt;</th>"), "{markup}");
        assert!(markup.contains("<td>&quot;a&quot; &amp; b</td>"), "{markup}");
    }

    #[test]
    fn a_number_that_is_not_finite_is_a_dash() {
        assert_eq!([number(f64::NAN), number(0.5), number(-1234.0)], ["–", "0.500", "-1234"]);
        let level =
            |level: &str| treatment_text(&["drug".to_owned()], &[TreatmentValue::Level(level.to_owned())]);
        assert_eq!((level("B"), level("drug B")), ("drug B".to_owned(), "drug B".to_owned()));
        assert_eq!(prose("the flag `ok`.").into_string(), "the flag <code>ok</code>.");
        assert_eq!(treatment_text(&["dose".to_owned()], &[TreatmentValue::Number(0.25)]), "dose 0.250");
    }
}
