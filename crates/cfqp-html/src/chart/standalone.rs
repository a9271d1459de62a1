//! Drawings as SVG files.

use maud::{Markup, PreEscaped, html};

/// An SVG file with its own style; `label` describes it to readers who cannot see it. The content is laid out on
/// `view`, which is shown `zoom` times as large.
pub fn standalone(view: (f64, f64), zoom: f64, label: &str, content: &Markup) -> String {
    let (width, height) = view;
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(label)
            width=(zoom * width) height=(zoom * height) viewBox=(format_args!("0 0 {width} {height}")) {
            style { (PreEscaped(include_str!("standalone.css"))) }
            rect class="paper" width=(width) height=(height) {}
            (content)
        }
    };
    svg.into_string() + "\n"
}
