//! Reports of cfqp as HTML, and its charts as SVG.
