//! The hidden classes and their dose-response curves.

use cfqp::data::table::TreatmentValue;
use cfqp::report::{ClassResponse, ClassSummary, CovariateMeans, Curve, Curves, OutcomeCurves};
use maud::{Markup, html};

use super::Page;
use super::elements::{
    class_colour, class_legend, figure, number, section, short_name, table, treatment_text,
};
use crate::chart::{Chart, LEVEL_WIDTH, padded_range};
use crate::format::{format_number, format_percent, pluralise};

/// Standardised differences of means from which on a class counts as different, and as very different.
const NOTABLE_GAP: f64 = 0.2;
const LARGE_GAP: f64 = 0.8;

/// The treatments of a dose-response curve as an axis: their values, levels, or steps if there are several treatments.
pub(super) struct DoseAxis {
    pub places: Vec<f64>,
    pub title: String,
    pub labels: Vec<String>,
    /// The names of levels, which have nothing between them.
    levels: Option<Vec<String>>,
    /// The low and the high treatment, if they can be marked.
    marks: Vec<(f64, &'static str)>,
}

impl DoseAxis {
    /// A chart with this axis and values in the range `y`.
    pub(super) fn chart(&self, y: (f64, f64), y_title: &str) -> Chart {
        match &self.levels {
            Some(levels) => Chart::with_levels(levels, y, &self.title, y_title),
            None => {
                let ends = (self.places[0], self.places[self.places.len() - 1]);
                Chart::new(ends, y, &self.title, y_title)
            }
        }
    }

    /// Draws a curve as a line; of levels, the interval of each as a bar with a dot. The last argument is the number of the
    /// curve, and how many there are.
    pub(super) fn draw(&self, chart: &mut Chart, class: &str, curve: &Curve, (part, parts): (usize, usize)) {
        if self.levels.is_none() {
            return chart.line(class, self.places.iter().copied().zip(curve.mean.iter().copied()));
        }
        let width = LEVEL_WIDTH / parts as f64;
        for (i, (x, low, high)) in self.band(&curve.lower, &curve.upper).into_iter().enumerate() {
            let left = x - 0.5 * LEVEL_WIDTH + part as f64 * width;
            if low.is_finite() && high.is_finite() {
                chart.bar(&format!("pale {class}"), (left, low), (left + width, high));
            }
            chart.circle(&format!("dot {class}"), left + 0.5 * width, curve.mean[i], 4.0);
        }
    }

    /// Draws the band of a curve; levels have none.
    pub(super) fn draw_band(&self, chart: &mut Chart, class: &str, curve: &Curve) {
        if self.levels.is_none() {
            chart.band(class, &self.band(&curve.lower, &curve.upper));
        }
    }

    /// Draws shares as an area under a line, or as bars.
    pub(super) fn draw_shares(&self, chart: &mut Chart, shares: &[f64]) {
        if self.levels.is_some() {
            let half = 0.5 * LEVEL_WIDTH;
            for (x, share) in self.places.iter().zip(shares) {
                chart.bar("accent", (x - half, 0.0), (x + half, *share));
            }
            return;
        }
        chart.band("accent", &self.band(&vec![0.0; shares.len()], shares));
        chart.line("accent", self.places.iter().copied().zip(shares.iter().copied()));
    }

    /// Where a single treatment is.
    pub(super) fn place(&self, value: &TreatmentValue) -> Option<f64> {
        match value {
            TreatmentValue::Number(number) => Some(f64::from(*number)),
            TreatmentValue::Precise(number) => Some(*number),
            TreatmentValue::Level(level) => {
                let at = self.levels.as_ref()?.iter().position(|own| own == level)?;
                Some(at as f64)
            }
        }
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
        let steps = (0..grid.len()).map(|i| i as f64).collect();
        if let Some((name, levels)) = self.varying_levels() {
            return DoseAxis { places: steps, title: name, labels, levels: Some(levels), marks: Vec::new() };
        }
        let varies = grid[0] != grid[grid.len() - 1];
        let places: Option<Vec<f64>> = grid.iter().map(|t| amount(t)).collect();
        if let ([name], true, Some(places)) = (&question.treatments[..], varies, places) {
            let marks = [(amount(&question.from), "low"), (amount(&question.to), "high")];
            let marks = marks.into_iter().filter_map(|(at, label)| Some((at?, label))).collect();
            return DoseAxis { places, title: name.clone(), labels, levels: None, marks };
        }
        let title = "all treatments, from low to high".to_owned();
        DoseAxis { places: steps, title, labels, levels: None, marks: Vec::new() }
    }

    /// The name of the treatment whose levels the curves go through, and the levels.
    fn varying_levels(&self) -> Option<(String, Vec<String>)> {
        let (question, grid) = (&self.report.question, &self.report.curves.grid);
        let level = |t: &[TreatmentValue], j: usize| match &t[j] {
            TreatmentValue::Level(level) => Some(level.clone()),
            TreatmentValue::Number(_) | TreatmentValue::Precise(_) => None,
        };
        let j = (0..question.treatments.len()).find(|&j| level(&grid[0], j).is_some())?;
        let levels = grid.iter().map(|t| level(t, j)).collect::<Option<Vec<_>>>()?;
        Some((question.treatments[j].clone(), levels))
    }

    /// What the treatments that are compared are called: levels are neither low nor high.
    pub(super) fn end_names(&self) -> [&'static str; 2] {
        if self.has_levels() { ["first", "second"] } else { ["low", "high"] }
    }

    /// Whether a treatment has levels.
    pub(super) fn has_levels(&self) -> bool {
        self.report.question.from.iter().any(|value| matches!(value, TreatmentValue::Level(_)))
    }

    pub(super) fn classes(&self) -> Markup {
        let classes = &self.report.classes;
        let body = html! {
            @if classes.len() == 1 {
                p { "There is one class: no hidden classes are told apart." }
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
        let text = |t: &[TreatmentValue]| treatment_text(&question.treatments, t);
        if self.has_levels() {
            // a median of levels means nothing
            let row = |response: &ClassResponse| {
                vec![response.name.clone(), number(response.low), number(response.high)]
            };
            let rows: Vec<Vec<String>> = class.responses.iter().map(row).collect();
            return table(&["mean response", &text(&question.from), &text(&question.to)], &rows);
        }
        html! {
            (table(&["mean response", "low", "median", "high"], &rows))
            p.soft {
                "low: " (text(&question.from)) "; median: " (text(&question.median)) "; high: " (text(&question.to))
            }
        }
    }

    pub(super) fn curves(&self) -> Markup {
        let intervals = if self.has_levels() { "Bars" } else { "Bands" };
        let level = format_number(100.0 * self.report.question.level);
        let axis = self.dose_axis();
        let body = html! {
            p {
                "The mean outcome of each class if all its units had received the same treatment. " (intervals)
                " are averages of the units' " (level) "% intervals."
                (self.held_note(&self.report.curves)) (self.drawn_outcomes_note())
            }
            (class_legend(self.report.classes.len()))
            div.grid2 {
                @for outcome in &self.report.curves.outcomes { div.card { (curve_figure(&axis, outcome)) } }
            }
            @if let Some(curves) = &self.report.dose_curves { (self.dose_curves(curves)) }
        };
        section("curves", self.curves_title(), &body)
    }

    /// The title of the section with curves, or bars.
    pub(super) fn curves_title(&self) -> &'static str {
        if self.has_levels() { "Outcomes under each level" } else { "Dose-response curves" }
    }

    /// What the other treatments are while levels or amounts vary.
    fn held_note(&self, curves: &Curves) -> String {
        let (names, grid) = (&self.report.question.treatments, &curves.grid);
        let held = |j: &usize| grid.iter().all(|t| t[*j] == grid[0][*j]);
        if !self.has_levels() || names.len() == 1 {
            return String::new();
        }
        let held: Vec<usize> = (0..names.len()).filter(held).collect();
        let names: Vec<String> = held.iter().map(|&j| names[j].clone()).collect();
        let values: Vec<TreatmentValue> = held.iter().map(|&j| grid[0][j].clone()).collect();
        let (held, curve) = (treatment_text(&names, &values), self.spec.provenance.curve());
        format!(" All units have {held}; other values: {curve}.")
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

    /// The curves over the amount of one treatment while another is at its most frequent level.
    fn dose_curves(&self, curves: &Curves) -> Markup {
        let names = &self.report.question.treatments;
        let amounts =
            |j: usize| -> Option<Vec<f64>> { curves.grid.iter().map(|t| amount(&t[j..=j])).collect() };
        let varying = (0..names.len()).filter_map(|j| Some((j, amounts(j)?)));
        let Some((j, places)) = varying.into_iter().find(|(_, places)| places[0] != places[places.len() - 1])
        else {
            return html! {};
        };
        let labels = curves.grid.iter().map(|t| treatment_text(names, t)).collect();
        let axis = DoseAxis { places, title: names[j].clone(), labels, levels: None, marks: Vec::new() };
        html! {
            h3 { "Dose-response curves over " (names[j]) }
            p { "The same for other amounts of " (names[j]) "; bands are averages of intervals." (self.held_note(curves)) }
            div.grid2 {
                @for outcome in &curves.outcomes { div.card { (curve_figure(&axis, outcome)) } }
            }
        }
    }
}

fn curve_figure(axis: &DoseAxis, outcome: &OutcomeCurves) -> Markup {
    let ends = outcome.classes.iter().flat_map(|curve| curve.lower.iter().chain(&curve.upper));
    let mut chart = axis.chart(padded_range(ends.copied()), &outcome.name);
    for (k, curve) in outcome.classes.iter().enumerate() {
        axis.draw_band(&mut chart, &class_colour(k), curve);
    }
    for (k, curve) in outcome.classes.iter().enumerate() {
        axis.draw(&mut chart, &class_colour(k), curve, (k, outcome.classes.len()));
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

/// The amount of a single treatment; none for a level.
fn amount(t: &[TreatmentValue]) -> Option<f64> {
    match t {
        [TreatmentValue::Number(value)] => Some(f64::from(*value)),
        [TreatmentValue::Precise(value)] => Some(*value),
        _ => None,
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
