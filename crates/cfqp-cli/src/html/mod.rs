//! A report as one HTML file that needs nothing else: style, drawings, pictures and a little script are in it.
//!
//! Each file writes one part of the page; the numbers all come from [`cfqp::Report`]. `text` escapes whatever a user named,
//! `chart` draws. The page reads without its script: that only shows values under the pointer and one unit at a time.

mod chart;
mod classes;
mod effects;
mod glance;
mod pictures;
mod rerun;
mod text;
mod trust;
mod units;

use std::path::Path;

use cfqp::{Dropped, Report};

use text::escape;

/// A report and where it comes from.
pub struct Page<'a> {
    pub report: &'a Report,
    pub model: &'a Path,
    pub file: &'a Path,
    /// Units of the file, of which the report may have looked at some.
    pub units: usize,
    pub dropped: &'a [Dropped],
    /// The command that makes the report.
    pub command: &'a str,
    /// The check sum of the model file.
    pub checksum: u32,
}

const PARTS: [(&str, &str); 8] = [
    ("asked", "What was asked"),
    ("data", "The data"),
    ("trust", "Can I trust it?"),
    ("classes", "The classes"),
    ("curves", "Dose curves"),
    ("effects", "Effects"),
    ("units", "Units"),
    ("rerun", "Cite and rerun"),
];

/// Nothing is fetched, whatever stands in the data.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

impl Page<'_> {
    /// The whole file.
    pub fn html(&self) -> String {
        let name = self.file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let link = |(id, name): &(&str, &str)| format!("<a href=\"#{id}\">{name}</a>");
        let nav: String = PARTS.iter().map(link).collect();
        let body = [
            self.asked(),
            self.glance(),
            self.trust(),
            self.classes(),
            self.curves(),
            self.effects(),
            self.units(),
            self.rerun(),
        ]
        .concat();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <meta name=\"generator\" content=\"cfqp {version}\"/>\n\
             <link rel=\"icon\" href=\"data:,\"/>\n\
             <title>What would have happened? {title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n\
             <header><h1>What would have happened under another treatment?</h1>\n\
             <p class=\"soft\">A report on {title}, by the model {model}</p>\n{short}</header>\n\
             <nav aria-label=\"Parts of the report\">{nav}</nav>\n<main>\n{body}</main>\n\
             <footer>Made by cfqp {version}. The file is complete in itself: nothing is loaded from anywhere.</footer>\n\
             <div id=\"tip\" role=\"status\" aria-hidden=\"true\"></div>\n<script>\n{script}</script>\n</body>\n</html>\n",
            version = env!("CARGO_PKG_VERSION"),
            title = escape(&name),
            model = escape(&self.model.display().to_string()),
            short = self.short(),
            style = include_str!("style.css"),
            script = include_str!("script.js"),
        )
    }
}
