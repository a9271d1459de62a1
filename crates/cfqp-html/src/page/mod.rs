//! A report as one HTML file with everything in it: style, drawings, pictures and a short script.
//!
//! Each file writes one section of the page; all numbers come from [`cfqp::report::Report`]. Templates escape every text. The
//! page works without its script, which only adds tooltips and shows one unit at a time.

mod balance;
mod classes;
mod columns;
mod curves;
mod effects;
mod elements;
mod observed;
mod overview;
mod pictures;
mod plain;
mod rerun;
mod summary;
mod trust;
mod units;

use std::path::Path;

use cfqp::data::table::DroppedUnits;
use cfqp::report::Report;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::spec::PageSpec;

/// A report and its origin.
pub(crate) struct Page<'a> {
    pub report: &'a Report,
    pub spec: &'a PageSpec<'a>,
    /// Units that can be used; the report may be based on a sample of them.
    pub units: usize,
    pub dropped: &'a [DroppedUnits],
}

/// Forbids the page to load anything, whatever the data contain.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Page<'_> {
    /// The text of the file.
    pub(crate) fn html(&self) -> String {
        let name = Path::new(self.spec.data).file_name().unwrap_or_default().to_string_lossy();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(&name))
                body {
                    header {
                        h1 { "What would have happened under another treatment?" }
                        p.soft { "Data: " (name) ". Model: " (self.spec.model) "." }
                    }
                    main {
                        (self.summary())
                        nav aria-label="Sections of the report" {
                            @for (id, name) in self.section_names() { a href={ "#" (id) } { (name) } }
                        }
                        (self.sections())
                    }
                    footer { "Made by cfqp " (VERSION) ". The file is self-contained: it loads nothing." }
                    div #tip role="status" aria-hidden="true" {}
                    script { (PreEscaped(include_str!("script.js"))) }
                }
            }
        };
        page.into_string() + "\n"
    }

    /// The sections, by their id and their name.
    fn section_names(&self) -> [(&'static str, &'static str); 8] {
        [
            ("asked", "The question"),
            ("data", "The data"),
            ("trust", "Can I trust it?"),
            ("classes", "The classes"),
            ("curves", self.curves_title()),
            ("effects", "Effects"),
            ("units", "Units"),
            ("rerun", "Cite and rerun"),
        ]
    }

    fn sections(&self) -> Markup {
        html! {
            (self.question())
            (self.data())
            (self.trust())
            (self.classes())
            (self.curves())
            (self.effects())
            (self.units())
            (self.rerun())
        }
    }
}

fn head(name: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="generator" content={ "cfqp " (VERSION) };
            link rel="icon" href="data:,";
            title { "What would have happened? " (name) }
            style { (PreEscaped(include_str!("style.css"))) }
        }
    }
}
