//! Outcomes by treatment: dose-response curves, or means under each level or value.

use cfqp::data::table::TreatmentValue;
use cfqp::report::{Curve, CurveKind, Curves, OutcomeCurves};
use maud::{Markup, html};

use super::Page;
use super::columns::columns;
use super::elements::{
    class_colour, class_legend, figure, number, section, short_name, table, treatment_text,
};
use crate::chart::{Chart, LEVEL_WIDTH, padded_range};
use crate::format::format_number;

/// The treatments of a curve as an axis: their values, levels, or steps if there are several treatments.
pub(super) struct TreatmentAxis {
    pub places: Vec<f64>,
    pub title: String,
    pub labels: Vec<String>,
    /// The names of levels or single values, which have nothing between them.
    levels: Option<Vec<String>>,
    /// The low and the high treatment, if they can be marked.
    marks: Vec<(f64, &'static str)>,
}

impl TreatmentAxis {
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

    /// Draws a wide range behind a curve: a band, or of levels a thin line.
    fn draw_range(&self, chart: &mut Chart, class: &str, lower: &[f64], upper: &[f64]) {
        match self.levels {
            None => chart.band(class, &self.band(lower, upper)),
            Some(_) => {
                for (x, low, high) in self.band(lower, upper) {
                    chart.line(&format!("thin {class}"), [(x, low), (x, high)].into_iter());
                }
            }
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
        let position = |text: &str| {
            let at = self.levels.as_ref()?.iter().position(|own| own == text)?;
            Some(at as f64)
        };
        match (value, &self.levels) {
            (TreatmentValue::Level(level), _) => position(level),
            (value, Some(_)) => position(&value_text(value)),
            (value, None) => value.number(),
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

    /// What a band or a bar is called.
    pub(super) fn band_name(&self) -> &'static str {
        if self.levels.is_some() { "bar" } else { "band" }
    }

    /// What a range behind a curve is called.
    fn range_name(&self) -> &'static str {
        if self.levels.is_some() { "Thin line" } else { "Light band" }
    }
}

impl Page<'_> {
    pub(super) fn treatment_axis(&self) -> TreatmentAxis {
        let question = &self.report.question;
        let Curves { kind, grid, .. } = &self.report.curves;
        let labels = grid.iter().map(|t| treatment_text(&question.treatments, t)).collect();
        let steps = (0..grid.len()).map(|i| i as f64).collect();
        if let Some((title, levels)) = self.places_of_levels() {
            return TreatmentAxis { places: steps, title, labels, levels: Some(levels), marks: Vec::new() };
        }
        let varies = grid[0] != grid[grid.len() - 1];
        let places: Option<Vec<f64>> = grid.iter().map(|t| amount(t)).collect();
        if let (CurveKind::Amounts, [name], true, Some(places)) =
            (kind, &question.treatments[..], varies, places)
        {
            let marks = [(amount(&question.from), "low"), (amount(&question.to), "high")];
            let marks = marks.into_iter().filter_map(|(at, label)| Some((at?, label))).collect();
            return TreatmentAxis { places, title: name.clone(), labels, levels: None, marks };
        }
        let title = "all treatments, from low to high".to_owned();
        TreatmentAxis { places: steps, title, labels, levels: None, marks: Vec::new() }
    }

    /// The title and the names of the places of an axis whose treatments are levels or single values.
    fn places_of_levels(&self) -> Option<(String, Vec<String>)> {
        let question = &self.report.question;
        let Curves { kind, grid, .. } = &self.report.curves;
        match kind {
            CurveKind::Amounts => None,
            CurveKind::Values => {
                let names = grid.iter().map(|t| t.iter().map(value_text).collect::<Vec<_>>().join(", "));
                Some((question.treatments.join(", "), names.collect()))
            }
            CurveKind::Levels => {
                let level = |t: &[TreatmentValue], j: usize| match &t[j] {
                    TreatmentValue::Level(level) => Some(level.clone()),
                    TreatmentValue::Number(_) | TreatmentValue::Precise(_) => None,
                };
                let j = (0..question.treatments.len()).find(|&j| level(&grid[0], j).is_some())?;
                let levels = grid.iter().map(|t| level(t, j)).collect::<Option<Vec<_>>>()?;
                Some((question.treatments[j].clone(), levels))
            }
        }
    }

    /// What the treatments that are compared are called: levels and combinations of values are neither low nor high.
    pub(super) fn end_names(&self) -> [&'static str; 2] {
        let combinations =
            self.report.curves.kind == CurveKind::Values && self.report.question.treatments.len() > 1;
        if self.has_levels() || combinations { ["first", "second"] } else { ["low", "high"] }
    }

    /// Whether a treatment has levels.
    pub(super) fn has_levels(&self) -> bool {
        self.report.question.from.iter().any(|value| matches!(value, TreatmentValue::Level(_)))
    }

    pub(super) fn curves(&self) -> Markup {
        let curves = &self.report.curves;
        let axis = self.treatment_axis();
        let body = html! {
            p {
                "The mean outcome that the model predicts if all units had received the same treatment, everything else as it \
                 was." (self.held_note(curves)) (self.drawn_outcomes_note())
            }
            (columns(self.curve_cards(&axis, curves)))
            @if let Some(curves) = &self.report.dose_curves { (self.dose_curves(curves)) }
        };
        section("curves", self.curves_title(), &body)
    }

    fn curve_cards(&self, axis: &TreatmentAxis, curves: &Curves) -> Vec<Markup> {
        let mut cards = Vec::new();
        for outcome in &curves.outcomes {
            cards.push(html! { div.card { (self.all_units_figure(axis, outcome)) } });
            if !outcome.classes.is_empty() {
                cards.push(html! { div.card { (self.class_figure(axis, outcome)) } });
            }
        }
        cards
    }

    /// The title of the section with curves, or bars.
    pub(super) fn curves_title(&self) -> &'static str {
        match self.report.curves.kind {
            CurveKind::Amounts => "Dose-response curves",
            CurveKind::Values | CurveKind::Levels => "Outcome by treatment",
        }
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
        let axis = TreatmentAxis { places, title: names[j].clone(), labels, levels: None, marks: Vec::new() };
        html! {
            h3 { "Dose-response curves over " (names[j]) }
            p { "The same for other amounts of " (names[j]) "." (self.held_note(curves)) }
            (columns(self.curve_cards(&axis, curves)))
        }
    }

    /// The mean over all units, its interval, and where most units are.
    fn all_units_figure(&self, axis: &TreatmentAxis, outcome: &OutcomeCurves) -> Markup {
        let OutcomeCurves { name, all, units_lower, units_upper, .. } = outcome;
        let ends = [&all.lower, &all.upper, units_lower, units_upper];
        let mut chart = axis.chart(padded_range(ends.into_iter().flatten().copied()), name);
        axis.draw_range(&mut chart, "faint", units_lower, units_upper);
        axis.draw_band(&mut chart, "strong accent", all);
        axis.draw(&mut chart, "accent", all, (0, 1));
        axis.draw_marks(&mut chart);
        let level = format_number(100.0 * self.report.question.level);
        let mut rows = Vec::new();
        for (i, label) in axis.labels.iter().enumerate() {
            let numbers =
                [all.mean[i], all.lower[i], all.upper[i], units_lower[i], units_upper[i]].map(number);
            let [mean, low, high, units_low, units_high] = &numbers;
            let (from, to) = axis.interval_at(i);
            let tip =
                format!("{label}\nmean {mean} ({low} to {high})\n80% of units: {units_low} to {units_high}");
            chart.tooltip(from, to, &tip);
            rows.push([vec![label.clone()], numbers.to_vec()].concat());
        }
        let shape = if axis.levels.is_some() { "under each treatment" } else { "by treatment" };
        let drawing = chart.into_svg(&format!("Mean {name} {shape}, over all units"));
        let caption = format!(
            "{}: mean over all units. Dark {}: {level}% interval of the mean. {}: 80% of the units' point answers.",
            short_name(name),
            axis.band_name(),
            axis.range_name(),
        );
        let head = ["treatment", "mean", "lower", "upper", "10% of units below", "90% below"];
        html! {
            h3 { (short_name(name)) ", all units" }
            (figure(&drawing, &caption, Some(&table(&head, &rows))))
        }
    }

    /// The mean in every class and its interval.
    fn class_figure(&self, axis: &TreatmentAxis, outcome: &OutcomeCurves) -> Markup {
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
            let cells = outcome.classes.iter().map(|curve| {
                let [mean, low, high] = [curve.mean[i], curve.lower[i], curve.upper[i]].map(number);
                format!("{mean} ({low} to {high})")
            });
            rows.push(std::iter::once(label.clone()).chain(cells).collect::<Vec<_>>());
        }
        let names: Vec<String> = (0..outcome.classes.len()).map(|k| format!("class {k}")).collect();
        let head: Vec<&str> = std::iter::once("treatment").chain(names.iter().map(String::as_str)).collect();
        let drawing = chart.into_svg(&format!("Mean {} by treatment in each class", outcome.name));
        let level = format_number(100.0 * self.report.question.level);
        let caption = format!(
            "{}: mean in each class, every unit counting by its probability of the class. {}s: {level}% intervals of these \
             means.",
            short_name(&outcome.name),
            super::elements::capitalise(axis.band_name()),
        );
        html! {
            h3 { (short_name(&outcome.name)) ", by class" }
            (class_legend(outcome.classes.len()))
            (figure(&drawing, &caption, Some(&table(&head, &rows))))
        }
    }
}

/// The amount of a single treatment; none for a level.
fn amount(t: &[TreatmentValue]) -> Option<f64> {
    match t {
        [value] => value.number(),
        _ => None,
    }
}

/// A value of a treatment as a name.
fn value_text(value: &TreatmentValue) -> String {
    match value {
        TreatmentValue::Number(value) => value.to_string(),
        TreatmentValue::Precise(value) => value.to_string(),
        TreatmentValue::Level(level) => level.clone(),
    }
}
