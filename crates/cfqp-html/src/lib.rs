//! Reports of cfqp as HTML, and its charts as SVG.
//!
//! [`HtmlReport::new`] reads units, computes a [`Report`](cfqp::report::Report) on them and writes it as one page that
//! loads nothing. The program `cfqp` and the Python package make the same page; [`Provenance`] is what differs.

pub mod chart;
pub mod format;
mod page;
pub mod png;
mod report;
mod spec;

pub use report::{HtmlReport, checksum};
pub use spec::{PageSpec, Provenance};
