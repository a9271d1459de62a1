//! The data in figures: distributions of treatments and outcomes, and outcomes against treatments.

use cfqp::data::OutcomeKind;
use cfqp::report::{
    Histogram, MeanInterval, ObservedOutcome, OutcomeByTreatment, TreatmentDistribution, TreatmentGroup,
    ValueRange,
};
use maud::{Markup, html};

use super::Page;
use super::elements::{class_colour, figure, number, short_name, table};
use crate::chart::{Chart, LEVEL_WIDTH, padded_range};
use crate::format::{format_count, format_number, format_percent, pluralise};

/// The radius of the dots of means.
const DOT: f64 = 4.0;

impl Page<'_> {
    /// The distributions of the first outcomes.
    pub(super) fn outcome_figures(&self) -> Vec<Markup> {
        let card = |outcome| html! { div.card { (outcome_figure(outcome)) } };
        self.report.data.observed.iter().map(card).collect()
    }

    /// The first outcomes against the first treatments.
    pub(super) fn outcomes_by_treatment(&self) -> Vec<Markup> {
        let data = &self.report.data;
        let (drawn, all) = (data.observed.len(), data.outcome_count);
        let pairs = data
            .observed
            .iter()
            .flat_map(|outcome| outcome.by_treatment.iter().map(move |own| (outcome, own)));
        let card = |(outcome, own): (&ObservedOutcome, &OutcomeByTreatment)| {
            html! {
                div.card {
                    h3 { (short_name(&outcome.name)) " by " (short_name(&own.treatment)) ", as observed" }
                    (self.by_treatment(outcome, own))
                    @if drawn < all { p.soft { "The first " (drawn) " of " (all) " outcomes are drawn." } }
                }
            }
        };
        pairs.map(card).collect()
    }

    fn by_treatment(&self, outcome: &ObservedOutcome, own: &OutcomeByTreatment) -> Markup {
        let groups = &own.groups;
        let ends = groups.iter().flat_map(|group| &group.means).flat_map(|m| [m.mean, m.lower, m.upper]);
        let (low, high) = match (outcome.kind.is_chance(), own.points.is_empty()) {
            // shares are seen against 0
            (true, _) => (0.0, padded_range(ends.chain([0.0])).1.min(1.02)),
            (false, true) => padded_range(ends),
            (false, false) => padded_range(ends.chain(drawn_ends(outcome, own))),
        };
        let levels: Option<Vec<String>> = groups.iter().map(|group| group.level.clone()).collect();
        let y_title = mean_title(outcome);
        let mut chart = match &levels {
            Some(levels) => Chart::with_levels(levels, (low, high), &own.treatment, &y_title),
            None => {
                let ends = groups.iter().flat_map(|group| [group.range.min, group.range.max]);
                Chart::new(padded_range(ends), (low, high), &own.treatment, &y_title)
            }
        };
        let inside = own.points.iter().filter(|point| (low..=high).contains(&point.y));
        chart.points("faint", inside.clone().map(|point| (point.t, point.y)));
        let series = groups.first().map_or(0, |group| group.means.len());
        for k in 0..series {
            let class = if series == 1 { "accent".to_owned() } else { class_colour(k) };
            let means: Vec<MeanInterval> = groups.iter().map(|group| group.means[k]).collect();
            match &levels {
                Some(_) => draw_levels(&mut chart, &class, &means, (k, series)),
                None => draw_ranges(&mut chart, &class, groups, &means),
            }
        }
        let outside = own.points.len() - inside.count();
        let rows = number_rows(&mut chart, outcome, own);
        let mut head = vec![short_name(&own.treatment), "units".to_owned()];
        let names = series_names(outcome);
        let named = |name: &String| [name.clone(), "lower".to_owned(), "upper".to_owned()];
        head.extend(names.iter().flat_map(named));
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        let label = format!("{} against {}, as observed", outcome.name, own.treatment);
        let drawing = chart.into_svg(&label);
        let caption = self.by_treatment_caption(outcome, own, outside);
        html! {
            @if series > 1 {
                p.legend { @for (k, name) in names.iter().enumerate() { span class=(class_colour(k)) { i {} (name) } } }
            }
            (figure(&drawing, &caption, Some(&table(&head, &rows))))
        }
    }

    fn by_treatment_caption(
        &self,
        outcome: &ObservedOutcome,
        own: &OutcomeByTreatment,
        outside: usize,
    ) -> String {
        let level = format_number(100.0 * self.report.question.level);
        let (name, treatment) = (short_name(&outcome.name), short_name(&own.treatment));
        let is_by_level = own.groups.iter().any(|group| group.level.is_some());
        let groups = if is_by_level { "by" } else { "by range of" };
        let marks = match (own.points.is_empty(), outcome.elements) {
            (true, _) => String::new(),
            (false, 1) => format!(" Grey dots: {}.", pluralise(own.points.len(), "unit")),
            (false, _) => format!(" Grey dots: means of {}.", pluralise(own.points.len(), "unit")),
        };
        let outside = match outside {
            0 => String::new(),
            n => format!(" {} outside of the figure.", pluralise(n, "dot")),
        };
        format!(
            "{name}: observed means {groups} {treatment}, with {level}% intervals of the mean.{marks}{outside} Units with different \
             treatments may differ in other ways: not adjusted for covariates or hidden classes, so not an effect."
        )
    }
}

/// The part of the y axis that points need: long tails are not drawn to their end.
fn drawn_ends(outcome: &ObservedOutcome, own: &OutcomeByTreatment) -> Vec<f64> {
    let values = own.points.iter().map(|point| point.y);
    let Histogram { low, high, .. } = outcome.histogram;
    match (outcome.kind, outcome.labels.is_some()) {
        // the histogram is on positions
        (_, true) => values.collect(),
        (OutcomeKind::Amount, _) => values.filter(|y| *y <= high).collect(),
        _ => values.filter(|y| (low..=high).contains(y)).collect(),
    }
}

/// The names of the means of a group: the levels of a category, or one.
fn series_names(outcome: &ObservedOutcome) -> Vec<String> {
    match (outcome.kind, &outcome.labels) {
        (OutcomeKind::Level(_), Some(levels)) => levels.iter().map(|level| short_name(level)).collect(),
        (OutcomeKind::YesNo, Some(levels)) => vec![format!("share of {}", short_name(&levels[1]))],
        _ => vec!["mean".to_owned()],
    }
}

/// The title of the y axis.
fn mean_title(outcome: &ObservedOutcome) -> String {
    match (outcome.kind, &outcome.labels) {
        (OutcomeKind::Level(_), _) => format!("{}: share of units", outcome.name),
        (OutcomeKind::YesNo, Some(levels)) => format!("{}: share of {}", outcome.name, levels[1]),
        _ if outcome.elements > 1 => format!("{}, mean over its values", outcome.name),
        _ => outcome.name.clone(),
    }
}

/// Draws the mean of every level as a dot on the bar of its interval; the last argument is the number of the series, and how
/// many there are.
fn draw_levels(chart: &mut Chart, class: &str, means: &[MeanInterval], (part, parts): (usize, usize)) {
    let width = LEVEL_WIDTH / parts as f64;
    for (i, MeanInterval { mean, lower, upper }) in means.iter().enumerate() {
        let left = i as f64 - 0.5 * LEVEL_WIDTH + part as f64 * width;
        if lower.is_finite() {
            chart.bar(&format!("pale {class}"), (left, *lower), (left + width, *upper));
        }
        chart.circle(&format!("dot {class}"), left + 0.5 * width, *mean, DOT);
    }
}

/// Draws the means of ranges as a line of dots with their intervals.
fn draw_ranges(chart: &mut Chart, class: &str, groups: &[TreatmentGroup], means: &[MeanInterval]) {
    let places = || groups.iter().map(|group| group.range.mean);
    chart.line(class, places().zip(means.iter().map(|m| m.mean)));
    for (x, MeanInterval { mean, lower, upper }) in places().zip(means) {
        chart.line(class, [(x, *lower), (x, *upper)].into_iter());
        chart.circle(&format!("dot {class}"), x, *mean, DOT);
    }
}

/// The rows of the table of numbers; adds a tooltip for each to the chart.
fn number_rows(chart: &mut Chart, outcome: &ObservedOutcome, own: &OutcomeByTreatment) -> Vec<Vec<String>> {
    let (names, groups) = (series_names(outcome), &own.groups);
    let shown = |value: f64| match outcome.kind.is_chance() && value.is_finite() {
        true => format_percent(value),
        false => number(value),
    };
    let mut rows = Vec::new();
    for (i, group) in groups.iter().enumerate() {
        let ValueRange { min, max, .. } = group.range;
        let label = match &group.level {
            Some(level) => level.clone(),
            None if min == max => number(min),
            None => format!("{} to {}", number(min), number(max)),
        };
        let mut row = vec![label.clone(), format_count(group.units)];
        let mut tip = format!("{} {label}: {}", own.treatment, pluralise(group.units, "unit"));
        for (name, m) in names.iter().zip(&group.means) {
            let [mean, lower, upper] = [m.mean, m.lower, m.upper].map(shown);
            tip += &format!("\n{name}: {mean} ({lower} to {upper})");
            row.extend([mean, lower, upper]);
        }
        let (from, to) = match &group.level {
            Some(_) => (i as f64 - 0.5, i as f64 + 0.5),
            // up to the next range, so that no place is without
            None => (min, groups.get(i + 1).map_or(max, |next| next.range.min)),
        };
        chart.tooltip(from, to, &tip);
        rows.push(row);
    }
    rows
}

/// A histogram of one treatment.
pub(super) fn treatment_figure(treatment: &TreatmentDistribution) -> Markup {
    let TreatmentDistribution { name, levels, range, values, histogram } = treatment;
    let text = match levels {
        Some(levels) => format!("{} levels", levels.len()),
        None => range_text(range),
    };
    let numbers = levels.is_none().then_some(range);
    let labels = levels.as_deref().or(values.as_deref());
    let bars = Bars { name, labels, range: numbers, histogram, what: "unit" };
    bars.figure(&format!("Distribution of {name}: {text}."))
}

/// A histogram of one outcome.
fn outcome_figure(outcome: &ObservedOutcome) -> Markup {
    let ObservedOutcome { name, labels, range, histogram, .. } = outcome;
    let text = match (outcome.kind, outcome.zeros) {
        (OutcomeKind::YesNo, _) => {
            let yes = labels.as_ref().map_or("yes", |labels| &labels[1]);
            format!("{} {yes}", format_percent(range.mean))
        }
        (OutcomeKind::Level(_), _) => format!("{} levels", histogram.counts[0].len()),
        (_, Some(zeros)) => {
            format!("{} are zero and not drawn; the others: {}", format_percent(zeros), range_text(range))
        }
        _ => range_text(range),
    };
    let of_elements = match outcome.elements {
        1 => String::new(),
        n => format!(" All {} of every unit count.", pluralise(n, "value")),
    };
    let what = if outcome.elements == 1 { "unit" } else { "value" };
    let numbers = (!outcome.kind.is_chance()).then_some(range);
    let bars = Bars { name, labels: labels.as_deref(), range: numbers, histogram, what };
    bars.figure(&format!("Distribution of {name}, as observed: {text}.{of_elements}"))
}

fn range_text(range: &ValueRange) -> String {
    let [min, mean, max] = [range.min, range.mean, range.max].map(number);
    format!("{min} to {max}, mean {mean}")
}

/// A histogram of a single group, with what is needed to draw it.
struct Bars<'a> {
    name: &'a str,
    /// One per bin, if bins are levels or single values.
    labels: Option<&'a [String]>,
    /// The range of the numbers, which may go beyond the bins; none if they are positions of levels.
    range: Option<&'a ValueRange>,
    histogram: &'a Histogram,
    /// What is counted, in the singular.
    what: &'a str,
}

impl Bars<'_> {
    fn figure(&self, caption: &str) -> Markup {
        let (histogram, counts) = (self.histogram, &self.histogram.counts[0]);
        let y = (0.0, 1.05 * counts.iter().max().copied().unwrap_or(1).max(1) as f64);
        let y_title = format!("{}s", self.what);
        let mut chart = match self.labels {
            Some(labels) => Chart::with_levels(labels, y, self.name, &y_title),
            None => Chart::new((histogram.low, histogram.high), y, self.name, &y_title),
        };
        let step = (histogram.high - histogram.low) / counts.len() as f64;
        let gap = if self.labels.is_some() { 0.5 * (1.0 - LEVEL_WIDTH) * step } else { 0.0 };
        let mut rows = Vec::new();
        for (i, &count) in counts.iter().enumerate() {
            let (from, to) = (histogram.low + i as f64 * step, histogram.low + (i + 1) as f64 * step);
            let bin = self.bin_name(i, from, to);
            chart.bar("accent", (from + gap, 0.0), (to - gap, count as f64));
            chart.tooltip(from, to, &format!("{bin}: {}", pluralise(count, self.what)));
            rows.push(vec![bin, format_count(count)]);
        }
        let drawing = chart.into_svg(&format!("Histogram of {}", self.name));
        figure(&drawing, caption, Some(&table(&[&short_name(self.name), &y_title], &rows)))
    }

    fn bin_name(&self, i: usize, from: f64, to: f64) -> String {
        let last = self.histogram.counts[0].len() - 1;
        let number_at = |i: usize| self.labels.and_then(|labels| labels[i].parse::<f64>().ok());
        let low = number_at(0).unwrap_or(self.histogram.low);
        let high = number_at(last).unwrap_or(self.histogram.high);
        // values half a step inside the ends, if there are steps
        let margin = self.histogram.step.map_or(0.0, |step| 0.5 * step);
        let (from, to) = match self.labels {
            Some(labels) => (labels[i].clone(), labels[i].clone()),
            None => (number(from + margin), number(to - margin)),
        };
        match self.range {
            Some(range) if i == 0 && range.min < low => format!("{to} or less"),
            Some(range) if i == last && range.max > high => format!("{from} or more"),
            _ if self.labels.is_some() => from,
            _ => format!("{from} to {to}"),
        }
    }
}
