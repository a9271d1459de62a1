//! Pieces of HTML; whatever comes from a user goes through [`escape`].

use std::fmt::Write as _;

use crate::table::small;

/// A text as it may stand in HTML, between tags or in an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push_str("&#10;"),
            // what a browser would not show, or would take for an end
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A name that fits on an axis.
pub fn short(name: &str) -> String {
    cut(name, 30)
}

/// A text of so many letters at most.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// A number to three digits; a dash where there is none.
pub fn number(value: f64) -> String {
    if value.is_finite() { small(value) } else { "–".to_owned() }
}

/// Treatments with their names: `dose 0.31`.
pub fn dose(names: &[String], values: &[f32]) -> String {
    let one = |(name, value): (&String, &f32)| format!("{name} {}", number(f64::from(*value)));
    names.iter().zip(values).map(one).collect::<Vec<_>>().join(", ")
}

/// A table with a heading; the first column is text, the others are numbers.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = "<div class=\"scroll\"><table><thead><tr>".to_owned();
    for cell in head {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(cell));
    }
    out += "</tr></thead><tbody>";
    for row in rows {
        out += "<tr>";
        for (i, cell) in row.iter().enumerate() {
            let (tag, scope) = if i == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
            let _ = write!(out, "<{tag}{scope}>{}</{tag}>", escape(cell));
        }
        out += "</tr>";
    }
    out + "</tbody></table></div>"
}

/// A drawing with what it means and, to be opened, the numbers in it.
pub fn figure(drawing: &str, caption: &str, numbers: &str) -> String {
    let numbers = match numbers {
        "" => String::new(),
        numbers => format!("<details><summary>The numbers</summary>{numbers}</details>"),
    };
    format!("<figure>{drawing}<figcaption>{}</figcaption>{numbers}</figure>", escape(caption))
}

/// A part of the page with its heading.
pub fn section(id: &str, heading: &str, body: &str) -> String {
    format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-heading\"><h2 id=\"{id}-heading\">{heading}</h2>{body}</section>\n"
    )
}

/// A paragraph.
pub fn paragraph(text: &str) -> String {
    format!("<p>{}</p>", escape(text))
}

/// What the classes' colours mean; nothing where there is one class.
pub fn legend(classes: usize) -> String {
    if classes < 2 {
        return String::new();
    }
    let one = |k: usize| format!("<span class=\"k{}\"><i></i>class {k}</span>", colour(k));
    format!("<p class=\"legend\">{}</p>", (0..classes).map(one).collect::<String>())
}

/// The colour of class k; there are eight.
pub fn colour(k: usize) -> usize {
    k % 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_user_is_markup() {
        assert_eq!(
            escape("<script>\"a\" & 'b'</script>"),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;"
        );
        assert_eq!(escape("a\u{0}b\nc"), "a\u{fffd}b&#10;c");
        assert!(table(&["<b>"], &[vec!["<i>".to_owned()]]).contains("&lt;i&gt;"));
        assert_eq!((short(&"x".repeat(40)).chars().count(), number(f64::NAN)), (30, "–".to_owned()));
    }
}
