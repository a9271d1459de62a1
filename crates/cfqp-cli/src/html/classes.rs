//! The hidden classes and their dose-response curves.

use cfqp::report::{ClassResponse, ClassSummary, CovariateMeans, Curve, OutcomeCurves};
use maud::{Markup, html};

use super::Page;
use super::elements::{
    class_colour, class_legend, figure, number, section, short_name, table, treatment_text,
};
use crate::chart::{Chart, padded_range};
use crate::format::{format_number, format_percent, pluralise};

/// Standardised differences of means from which on a class counts as different, and as very different.
const NOTABLE_GAP: f64 = 0.2;
const LARGE_GAP: f64 = 0.8;

/// The treatments of a dose-response curve as an axis: their values, or steps if there are several treatments.
pub(super) struct DoseAxis {
    pub places: Vec<f64>,
    pub title: String,
    pub labels: Vec<String>,
    /// The low and the high treatment, if they can be marked.
    marks: Vec<(f64, &'static str)>,
}

impl DoseAxis {
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.places[0], self.places[self.places.len() - 1])
    }

    /// The interval of x values that are closest to place `i`.
    pub(super) fn interval_at(&self, i: usize) -> (f64, f64) {
        let half = 0.5 * (self.places[1] - self.places[0]);
        (self.places[i] - half, self.places[i] + half)
    }

    /// Marks the low and the high treatment in a chart.
    pub(super) fn draw_marks(&self, chart: &mut Chart) {
        self.marks.iter().for_each(|(at, label)| chart.vertical_rule(*at, label));
    }

    /// Points of a band: x, lower and upper.
    pub(super) fn band(&self, lower: &[f64], upper: &[f64]) -> Vec<(f64, f64, f64)> {
        let ends = lower.iter().zip(upper);
        self.places.iter().zip(ends).map(|(x, (low, high))| (*x, *low, *high)).collect()
    }
}

impl Page<'_> {
    pub(super) fn dose_axis(&self) -> DoseAxis {
        let (question, grid) = (&self.report.question, &self.report.curves.grid);
        let labels = grid.iter().map(|t| treatment_text(&question.treatments, t)).collect();
        let varies = grid[0] != grid[grid.len() - 1];
        if let ([name], true) = (&question.treatments[..], varies) {
            let places = grid.iter().map(|t| f64::from(t[0])).collect();
            let marks = vec![(f64::from(question.from[0]), "low"), (f64::from(question.to[0]), "high")];
            return DoseAxis { places, title: name.clone(), labels, marks };
        }
        let places = (0..grid.len()).map(|i| i as f64).collect();
        DoseAxis { places, title: "all treatments, from low to high".to_owned(), labels, marks: Vec::new() }
    }

    pub(super) fn classes(&self) -> Markup {
        let classes = &self.report.classes;
        let body = html! {
            @if classes.len() == 1 {
                p { "There is one class: all units respond in the same way." }
            } @else {
                p {
                    "Classes are inferred from how units respond, not from a column of the data. The bar shows the \
                     sizes of the classes."
                }
                div.shares aria-hidden="true" { @for class in classes { (share_bar(class)) } }
                (class_legend(classes.len()))
            }
            div.grid2 { @for class in classes { (self.class_card(class)) } }
        };
        section("classes", "The classes", &body)
    }

    fn class_card(&self, class: &ClassSummary) -> Markup {
        let (units, share) = (pluralise(class.units, "unit"), format_percent(class.share));
        html! {
            div class={ "card " (class_colour(class.class)) } {
                h3 { span.swatch {} "Class " (class.class) ": " (units) ", " (share) }
                @if class.units == 0 {
                    p { "This is the most probable class of none of these units." }
                } @else {
                    (self.class_members(class))
                    (self.class_responses(class))
                }
            }
        }
    }

    /// How the units of a class differ from the others.
    fn class_members(&self, class: &ClassSummary) -> Markup {
        if class.covariates.is_empty() {
            return html! {};
        }
        if self.report.classes.len() == 1 {
            let row = |c: &CovariateMeans| vec![c.name.clone(), number(c.mean)];
            let rows: Vec<Vec<String>> = class.covariates.iter().map(row).collect();
            return html! { p { "Means of the covariates:" } (table(&["covariate", "mean"], &rows)) };
        }
        let row = |c: &CovariateMeans| {
            vec![c.name.clone(), number(c.mean), number(c.others), format!("{:+.2}", c.gap)]
        };
        let rows: Vec<Vec<String>> = class.covariates.iter().map(row).collect();
        html! {
            p { (describe_members(&class.covariates)) }
            details open {
                summary { "Means in this class and in the others (difference in standard deviations)" }
                (table(&["covariate", "this class", "others", "difference"], &rows))
            }
        }
    }

    fn class_responses(&self, class: &ClassSummary) -> Markup {
        let question = &self.report.question;
        let row = |response: &ClassResponse| {
            let ClassResponse { name, low, median, high } = response;
            vec![name.clone(), number(*low), number(*median), number(*high)]
        };
        let rows: Vec<Vec<String>> = class.responses.iter().map(row).collect();
        let text = |t: &[f32]| treatment_text(&question.treatments, t);
        html! {
            (table(&["mean response", "low", "median", "high"], &rows))
            p.soft {
                "low: " (text(&question.from)) "; median: " (text(&question.median)) "; high: " (text(&question.to))
            }
        }
    }

    pub(super) fn curves(&self) -> Markup {
        let level = format_number(100.0 * self.report.question.level);
        let body = html! {
            p {
                "The mean outcome of each class if all its units had received the same treatment. Bands are averages of the \
                 units' " (level) "% intervals." (self.drawn_outcomes_note())
            }
            (class_legend(self.report.classes.len()))
            div.grid2 {
                @for outcome in &self.report.curves.outcomes { div.card { (self.curve_figure(outcome)) } }
            }
        };
        section("curves", "Dose-response curves", &body)
    }

    /// Which outcomes are drawn if there are many, and how those with many elements are summarised.
    pub(super) fn drawn_outcomes_note(&self) -> String {
        let (all, drawn) = (&self.report.data.outcomes, self.report.curves.outcomes.len());
        let mut note = String::new();
        if all.iter().any(|outcome| outcome.elements > 1) {
            note += " For an outcome with several values, their mean is shown.";
        }
        if all.len() > drawn {
            note += &format!(" The {drawn} of {} outcomes with the largest effects are drawn.", all.len());
        }
        note
    }

    fn curve_figure(&self, outcome: &OutcomeCurves) -> Markup {
        let axis = self.dose_axis();
        let ends = outcome.classes.iter().flat_map(|curve| curve.lower.iter().chain(&curve.upper));
        let mut chart = Chart::new(axis.ends(), padded_range(ends.copied()), &axis.title, &outcome.name);
        for (k, curve) in outcome.classes.iter().enumerate() {
            chart.band(&class_colour(k), &axis.band(&curve.lower, &curve.upper));
        }
        for (k, curve) in outcome.classes.iter().enumerate() {
            chart.line(&class_colour(k), axis.places.iter().copied().zip(curve.mean.iter().copied()));
        }
        axis.draw_marks(&mut chart);
        let mut rows = Vec::new();
        for (i, label) in axis.labels.iter().enumerate() {
            let describe = |(k, curve): (usize, &Curve)| {
                let [mean, low, high] = [curve.mean[i], curve.lower[i], curve.upper[i]].map(number);
                format!("class {k}: {mean} ({low} to {high})")
            };
            let lines: Vec<String> = outcome.classes.iter().enumerate().map(describe).collect();
            let (from, to) = axis.interval_at(i);
            chart.tooltip(from, to, &format!("{label}\n{}", lines.join("\n")));
            let means = outcome.classes.iter().map(|curve| number(curve.mean[i]));
            rows.push(std::iter::once(label.clone()).chain(means).collect::<Vec<_>>());
        }
        let names: Vec<String> = (0..outcome.classes.len()).map(|k| format!("class {k}")).collect();
        let head: Vec<&str> = std::iter::once("treatment").chain(names.iter().map(String::as_str)).collect();
        let drawing = chart.into_svg(&format!("Dose-response curve of {} for each class", outcome.name));
        let caption = format!("{}: mean response at each treatment.", short_name(&outcome.name));
        figure(&drawing, &caption, Some(&table(&head, &rows)))
    }
}

/// The part of the bar of class sizes that belongs to one class.
fn share_bar(class: &ClassSummary) -> Markup {
    let tip = format!("class {}: {}", class.class, format_percent(class.share));
    let style = format!("flex:{:.4}", class.share.max(0.001));
    html! { span class=(class_colour(class.class)) data-tip=(tip) style=(style) {} }
}

/// The covariate in which a class differs most from the others, in a sentence.
fn describe_members(covariates: &[CovariateMeans]) -> String {
    let Some(covariate) = covariates.iter().find(|c| c.gap.is_finite() && c.gap.abs() >= NOTABLE_GAP) else {
        return "Before the treatment, its units are similar to the others; only their response differs."
            .to_owned();
    };
    let direction = match (covariate.gap > 0.0, covariate.gap.abs() >= LARGE_GAP) {
        (true, true) => "much higher",
        (true, false) => "somewhat higher",
        (false, true) => "much lower",
        (false, false) => "somewhat lower",
    };
    format!("In this class, {} is {direction} than in the others.", covariate.name)
}
