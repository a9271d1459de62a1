//! Single units: factual and counterfactual outcomes as lines, pictures or intervals.

use std::ops::Range;

use cfqp::ask::Flag;
use cfqp::data::table::TableForm;
use cfqp::report::{Curve, OutcomeDistribution, UnitCurve, UnitSummary};
use maud::{Markup, html};

use super::Page;
use super::elements::{capitalise, class_colour, figure, number, section, short_name, table, treatment_text};
use crate::chart::{Chart, padded_range};
use crate::format::format_number;

/// The approximate maximum of points of a series that have a tooltip and a row in its table.
const MAX_POINTS: usize = 60;
/// The maximum of outcomes that are drawn for one unit.
const MAX_OUTCOMES: usize = 4;

/// A series of outcome elements to be drawn.
struct Series<'a> {
    name: &'a str,
    x_title: &'a str,
    elements: Range<usize>,
    /// Points before the treatment.
    before: Vec<(f64, f64)>,
}

impl Page<'_> {
    pub(super) fn units(&self) -> Markup {
        let level = format_number(100.0 * self.report.question.level);
        let [low, high] = self.end_names();
        let body = html! {
            p {
                "Factual and counterfactual outcomes of single units. Each unit is asked about the " (low) " or the " (high)
                " treatment, whichever is farther from the one it received; intervals are at " (level) "%. Counterfactuals have \
                 the colour of the unit's class, factual outcomes are black (or white)."
            }
            div #chooser.chooser {}
            @for unit in &self.report.units { (self.unit_card(unit)) }
        };
        section("units", "Single units", &body)
    }

    fn unit_card(&self, unit: &UnitSummary) -> Markup {
        let treatments = &self.report.question.treatments;
        let (badge, word) = if unit.flags.is_empty() { ("ok", "ok") } else { ("doubtful", "flagged") };
        html! {
            article.card.unit data-name=(format_args!("{} ({})", unit.id, unit.why)) {
                h3 {
                    span class={ "badge " (badge) } { (word) }
                    "Unit " (unit.id) " " span.soft { "(" (unit.why) ")" }
                }
                p {
                    "It received " (treatment_text(treatments, &unit.t))
                    " and is asked about " (treatment_text(treatments, &unit.to)) ". "
                    @if self.report.classes.len() > 1 {
                        (format!("It belongs to class {} with probability {:.2}. ", unit.class, unit.posterior[unit.class]))
                    }
                    (explain_flags(&unit.flags))
                }
                (unit_legend(unit))
                div.grid2 {
                    (self.outcomes(unit))
                    @for curve in unit.curves.iter().take(MAX_OUTCOMES) { (self.unit_curve(unit, curve)) }
                }
            }
        }
    }

    fn outcomes(&self, unit: &UnitSummary) -> Markup {
        let data = &self.report.data;
        match data.y_shape.len() {
            3 => self.images(unit),
            _ if data.outcomes.iter().any(|outcome| outcome.elements > 1) => self.series(unit),
            _ => self.intervals(unit),
        }
    }

    /// Outcomes over time with their bands, and the series before the treatment.
    fn series(&self, unit: &UnitSummary) -> Markup {
        let mut start = 0;
        let mut figures = Vec::new();
        for (i, OutcomeDistribution { name, elements, .. }) in self.report.data.outcomes.iter().enumerate() {
            let elements = start..start + elements;
            start = elements.end;
            if self.is_drawn(name) && figures.len() < MAX_OUTCOMES {
                let before = self.before(unit, i);
                let x_title = if before.is_empty() { "step" } else { "time since the treatment" };
                figures.push(self.lines(unit, Series { name, x_title, elements, before }));
            }
        }
        html! { @for figure in figures { (figure) } }
    }

    fn is_drawn(&self, outcome: &str) -> bool {
        self.report.curves.outcomes.iter().any(|drawn| drawn.name == outcome)
    }

    /// The same series before the treatment, if the model was fitted to a table of samples.
    fn before(&self, unit: &UnitSummary, outcome: usize) -> Vec<(f64, f64)> {
        let Some(TableForm::Long(long)) = self.report.model.layout.as_ref().map(|layout| &layout.form) else {
            return Vec::new();
        };
        let channel = long.series.iter().position(|name| *name == long.outcomes[outcome]);
        let points = long.grid.x.points();
        let at = |channel: usize, i: usize| unit.before[channel * points + i].map_or(f64::NAN, f64::from);
        let time = |i: usize| (long.grid.x.first + i as i64) as f64 * long.grid.step;
        channel.map_or(Vec::new(), |channel| (0..points).map(|i| (time(i), at(channel, i))).collect())
    }

    /// The time of element `i` of an outcome.
    fn time(&self, i: usize) -> f64 {
        match self.report.model.layout.as_ref().map(|layout| &layout.form) {
            Some(TableForm::Long(long)) => (long.grid.y.first + i as i64) as f64 * long.grid.step,
            _ => i as f64,
        }
    }

    fn lines(&self, unit: &UnitSummary, series: Series<'_>) -> Markup {
        let Series { name, x_title, elements, before } = series;
        let (start, n) = (elements.start, elements.len());
        let factual = |i: usize| unit.factual[start + i].map_or(f64::NAN, f64::from);
        let at = |values: &[f32], i: usize| f64::from(values[start + i]);
        let band: Vec<(f64, f64, f64)> =
            (0..n).map(|i| (self.time(i), at(&unit.lower, i), at(&unit.upper, i))).collect();
        let ends = band.iter().flat_map(|(_, low, high)| [*low, *high]);
        let y = padded_range(ends.chain((0..n).map(factual)).chain(before.iter().map(|(_, value)| *value)));
        let first = before.first().map_or(self.time(0), |(time, _)| *time);
        let mut chart = Chart::new((first, self.time(n - 1)), y, x_title, name);
        if !before.is_empty() {
            chart.vertical_rule(0.0, "treatment");
        }
        let class = class_colour(unit.class);
        chart.line("faint", before.into_iter());
        chart.band(&class, &band);
        chart.line("ink", (0..n).map(|i| (self.time(i), factual(i))));
        chart.line(&class, (0..n).map(|i| (self.time(i), at(&unit.answer, i))));
        let step = n.div_ceil(MAX_POINTS);
        let half = 0.5 * (self.time(step) - self.time(0));
        let mut rows = Vec::new();
        for i in (0..n).step_by(step) {
            let time = format_number(self.time(i));
            let values = [factual(i), at(&unit.answer, i), at(&unit.lower, i), at(&unit.upper, i)];
            let [was, would, low, high] = values.map(number);
            let tip = format!("at {time}\nfactual {was}\ncounterfactual {would}\n({low} to {high})");
            chart.tooltip(self.time(i) - half, self.time(i) + half, &tip);
            rows.push(vec![time, was, would, low, high]);
        }
        let drawing = chart.into_svg(&format!("{name} of unit {}: factual and counterfactual", unit.id));
        let head = ["at", "factual", "counterfactual", "lower", "upper"];
        let to = treatment_text(&self.report.question.treatments, &unit.to);
        let caption = format!("{}: factual, and counterfactual under {to}.", short_name(name));
        figure(&drawing, &caption, Some(&table(&head, &rows)))
    }

    /// Single values as dots with intervals, each on its own scale.
    fn intervals(&self, unit: &UnitSummary) -> Markup {
        let outcomes = &self.report.data.outcomes;
        let drawn = outcomes.iter().enumerate().filter(|(_, outcome)| self.is_drawn(&outcome.name));
        let profile = (outcomes.len() > self.report.curves.outcomes.len()).then(|| {
            let (name, x_title) = ("all outcomes, by number", "number of the outcome");
            self.lines(unit, Series { name, x_title, elements: 0..outcomes.len(), before: Vec::new() })
        });
        html! {
            @if let Some(profile) = profile { (profile) }
            @for (i, outcome) in drawn { (interval_figure(unit, i, &outcome.name)) }
        }
    }

    fn unit_curve(&self, unit: &UnitSummary, curve: &UnitCurve) -> Markup {
        let (axis, class) = (self.treatment_axis(), class_colour(unit.class));
        let range = padded_range(curve.lower.iter().chain(&curve.upper).copied());
        let mut chart = axis.chart(range, &curve.name);
        let band = axis.band(&curve.lower, &curve.upper);
        let UnitCurve { mean, lower, upper, .. } = curve.clone();
        let drawn = Curve { mean, lower, upper };
        axis.draw_band(&mut chart, &class, &drawn);
        axis.draw(&mut chart, &class, &drawn, (0, 1));
        if let [value] = &unit.t[..]
            && let Some(place) = axis.place(value)
        {
            chart.vertical_rule(place, "received");
        }
        let mut rows = Vec::new();
        for (i, (_, low, high)) in band.iter().enumerate() {
            let [mean, low, high] = [curve.mean[i], *low, *high].map(number);
            let (label, (from, to)) = (&axis.labels[i], axis.interval_at(i));
            chart.tooltip(from, to, &format!("{label}: {mean} ({low} to {high})"));
            rows.push(vec![label.clone(), mean, low, high]);
        }
        let drawing = chart.into_svg(&format!("{} of unit {} by treatment", curve.name, unit.id));
        let level = format_number(100.0 * self.report.question.level);
        let caption = format!(
            "{} of this unit by treatment. {}: {level}% interval of its outcome.",
            short_name(&curve.name),
            capitalise(axis.band_name()),
        );
        figure(&drawing, &caption, Some(&table(&["treatment", "answer", "lower", "upper"], &rows)))
    }
}

/// Outcome `i` of a unit, if it is a single value.
fn interval_figure(unit: &UnitSummary, i: usize, name: &str) -> Markup {
    let was = unit.factual[i].map_or(f64::NAN, f64::from);
    let [would, low, high] = [unit.answer[i], unit.lower[i], unit.upper[i]].map(f64::from);
    let (min, max) = padded_range([low, high, was].into_iter());
    let margin = 0.1 * (max - min);
    let rows = ["factual", "counterfactual"].map(str::to_owned);
    let mut chart = Chart::with_rows((min - margin, max + margin), &rows, name);
    let class = class_colour(unit.class);
    chart.circle("dot ink", was, 0.0, 5.0);
    chart.bar(&format!("pale {class}"), (low, 0.75), (high, 1.25));
    chart.circle(&format!("dot {class}"), would, 1.0, 5.0);
    let [was, would, low, high] = [was, would, low, high].map(number);
    chart.row_tooltip(0, &format!("factual {was}"));
    chart.row_tooltip(1, &format!("counterfactual {would} ({low} to {high})"));
    let label = format!("{name} of unit {}: factual and counterfactual", unit.id);
    let caption = format!("{}: factual {was}, counterfactual {would} ({low} to {high})", short_name(name));
    figure(&chart.into_svg(&label), &caption, None)
}

/// The meaning of the colours in a unit's drawings.
fn unit_legend(unit: &UnitSummary) -> Markup {
    html! {
        p.legend {
            span.ink { i {} "factual" }
            span class=(class_colour(unit.class)) { i {} "counterfactual with its interval" }
        }
    }
}

/// What the flags of an answer mean.
fn explain_flags(flags: &[Flag]) -> String {
    if flags.is_empty() {
        return "The answer has no warnings.".to_owned();
    }
    let descriptions: Vec<&str> = flags.iter().map(|flag| flag.description()).collect();
    format!("Warning: {}.", descriptions.join("; "))
}
