//! The effects of the high treatment against the low one.

use cfqp::ask::{AverageEffect, EffectGroup};
use cfqp::report::{CovariateSplit, OutcomeEffects};
use maud::{Markup, html};

use super::Page;
use super::columns::columns;
use super::elements::{
    capitalise, class_colour, class_legend, details, figure, number, section, short_name, table,
    treatment_text,
};
use super::summary::{differs, p_text};
use crate::chart::{Chart, padded_range};
use crate::format::{format_count, format_number, format_percent, pluralise};

/// An average effect in a chart.
pub(super) struct ForestRow {
    pub name: String,
    /// The style class of its colour.
    pub class: String,
    pub units: usize,
    /// The effect and the ends of its interval.
    pub numbers: [f64; 3],
}

impl Page<'_> {
    pub(super) fn effects(&self) -> Markup {
        let (question, effects) = (&self.report.question, &self.report.effects);
        let (low, high) = (
            treatment_text(&question.treatments, &question.from),
            treatment_text(&question.treatments, &question.to),
        );
        let [first, second] = self.end_names();
        let body = html! {
            p {
                "The difference between each unit's outcomes under the " (second) " treatment (" (high) ") and under the "
                (first) " one (" (low) "). It is positive if the outcome is higher under the " (second) " treatment."
                (self.drawn_outcomes_note())
            }
            (self.flag_counts())
            (columns(effects.outcomes.iter().flat_map(|outcome| self.effect_cards(outcome)).collect()))
            @if effects.outcomes.len() < question.outcomes.len() {
                @for sentence in self.plain_disagreements() { p { span.badge.doubtful { "disagrees" } (sentence) } }
                (self.all_average_effects())
                (self.all_plain_estimates())
            }
        };
        let title = format!("Effects of the {second} treatment against the {first} one");
        section("effects", &title, &body)
    }

    /// The average effects on an outcome, plain estimates of them, the effects of single units, and subgroups.
    fn effect_cards(&self, outcome: &OutcomeEffects) -> Vec<Markup> {
        let name = short_name(&outcome.name);
        let averages = html! {
            div.card {
                h3 { "Average effects on " (name) }
                p { (self.effect_sentence(&outcome.name)) }
                (self.average_effects(&outcome.name))
            }
        };
        let units = html! {
            div.card { h3 { "Effects on " (name) " of single units" } (self.effect_histogram(outcome)) }
        };
        vec![averages, units, self.subgroups(&outcome.name), self.plain_estimates(&outcome.name)]
    }

    fn all_average_effects(&self) -> Markup {
        let outcomes = &self.report.question.outcomes;
        let is_overall =
            |average: &&AverageEffect| matches!(average.group, EffectGroup::Supported | EffectGroup::All);
        let mut rows = Vec::new();
        for average in outcomes.iter().flat_map(|outcome| self.averages_to_show(outcome)).filter(is_overall) {
            let name = match average.group {
                EffectGroup::Supported => format!("{}, on support", average.outcome),
                _ => average.outcome.clone(),
            };
            rows.push(effect_row(&name, average));
        }
        let numbers = table(&["outcome", "units", "effect", "lower", "upper"], &rows);
        details(&format!("Average effects on all {} outcomes", outcomes.len()), &numbers)
    }

    /// How many of the answers have warnings.
    fn flag_counts(&self) -> Markup {
        let effects = &self.report.effects;
        let (units, flags) = (pluralise(effects.units, "unit"), effects.flags());
        html! {
            @if flags.is_empty() {
                p { "The answers for all " (units) " have no warnings." }
            } @else {
                p { (format_count(effects.ok)) " of " (units) " without warnings. The others have one or more:" }
                ul {
                    @for (flag, count) in flags {
                        li { (pluralise(count, "unit")) ": " (flag.description()) " " span.soft { "(" (flag) ")" } }
                    }
                }
            }
        }
    }

    fn effect_histogram(&self, outcome: &OutcomeEffects) -> Markup {
        let histogram = &outcome.histogram;
        let (bins, groups) = (histogram.weights[0].len(), histogram.weights.len());
        let total = |i: usize| histogram.weights.iter().map(|weights| weights[i]).sum::<f64>();
        let most = (0..bins).map(total).fold(1.0, f64::max);
        let title = format!("effect on {}", short_name(&outcome.name));
        let mut chart = Chart::new((histogram.low, histogram.high), (0.0, 1.05 * most), &title, "units");
        let step = (histogram.high - histogram.low) / bins as f64;
        let mut rows = Vec::new();
        for i in 0..bins {
            let (from, to) = (histogram.low + i as f64 * step, histogram.low + (i + 1) as f64 * step);
            let mut row = vec![format!("{} to {}", number(from), number(to))];
            let mut bottom = 0.0;
            for (k, weights) in histogram.weights.iter().enumerate() {
                let class = if groups == 1 { "accent".to_owned() } else { class_colour(k) };
                if weights[i] > 0.05 {
                    chart.bar(&class, (from, bottom), (to, bottom + weights[i]));
                }
                bottom += weights[i];
                row.push(if groups == 1 {
                    format!("{:.0}", weights[i])
                } else {
                    format!("{:.1}", weights[i])
                });
            }
            chart.tooltip(from, to, &format!("{}: {}", row[0], pluralise(bottom.round() as usize, "unit")));
            rows.push(row);
        }
        if histogram.low < 0.0 && histogram.high > 0.0 {
            chart.vertical_rule(0.0, "no effect");
        }
        let names: Vec<String> = match groups {
            1 => vec!["units".to_owned()],
            _ => (0..groups).map(|k| format!("class {k}")).collect(),
        };
        let head: Vec<&str> = std::iter::once("effect").chain(names.iter().map(String::as_str)).collect();
        let [low, high] = outcome.middle.map(|value| self.effect_text(&outcome.name, value));
        let by_class =
            if groups > 1 { " Every unit counts for each class by its probability of it." } else { "" };
        let caption = format!(
            "The units' point answers: 80% lie between {low} and {high}, and {} are above 0. Single answers have wide intervals, so \
             this is not the share of units that gain.{by_class}",
            format_percent(outcome.higher),
        );
        let drawing = chart.into_svg(&format!("Histogram of the effects on {}", outcome.name));
        html! {
            @if groups > 1 { (class_legend(groups)) }
            (figure(&drawing, &caption, Some(&table(&head, &rows))))
        }
    }

    /// The averages of an outcome that the report shows as rows of a chart.
    pub(super) fn forest_rows(
        &self,
        outcome: &str,
        is_shown: impl Fn(EffectGroup) -> bool,
    ) -> Vec<ForestRow> {
        let row = |average: &AverageEffect| ForestRow {
            name: group_name(average.group),
            class: match average.group {
                EffectGroup::Class(k) => class_colour(k),
                EffectGroup::Supported | EffectGroup::All | EffectGroup::Ok => "ink".to_owned(),
            },
            units: average.units,
            numbers: [average.effect, average.lower, average.upper],
        };
        self.averages_to_show(outcome).into_iter().filter(|own| is_shown(own.group)).map(row).collect()
    }

    /// Average effects as dots with their intervals.
    pub(super) fn forest(&self, outcome: &str, rows: &[ForestRow], label: &str) -> Markup {
        let scale = if self.is_share(outcome) { 100.0 } else { 1.0 };
        let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
        let ends = rows.iter().flat_map(|row| row.numbers).chain([0.0]);
        let title = match self.is_share(outcome) {
            true => "average effect in percentage points".to_owned(),
            false => format!("average effect on {}", short_name(outcome)),
        };
        let mut chart = Chart::with_rows(padded_range(ends.map(|value| scale * value)), &names, &title);
        chart.line("faint dashed", [(0.0, -0.5), (0.0, rows.len() as f64 - 0.5)].into_iter());
        for (i, row) in rows.iter().enumerate() {
            let ([effect, lower, upper], y) = (row.numbers.map(|value| scale * value), i as f64);
            chart.line(&row.class, [(lower, y), (upper, y)].into_iter());
            chart.circle(&format!("dot {}", row.class), effect, y, 5.0);
            let [effect, lower, upper] = row.numbers.map(|value| self.effect_text(outcome, value));
            let units = pluralise(row.units, "unit");
            chart.row_tooltip(i, &format!("{}: {effect} ({lower} to {upper}), {units}", row.name));
        }
        chart.into_svg(label)
    }

    fn average_effects(&self, outcome: &str) -> Markup {
        let rows = self.forest_rows(outcome, |_| true);
        let drawing =
            self.forest(outcome, &rows, &format!("Average effects on {outcome}, by group of units"));
        let level = format_number(100.0 * self.report.question.level);
        let caption = format!(
            "{level}% intervals. The direction is uncertain if an interval crosses the dashed line at 0."
        );
        let numbers: Vec<Vec<String>> = rows.iter().map(|row| self.forest_numbers(outcome, row)).collect();
        figure(&drawing, &caption, Some(&table(&["group", "units", "effect", "lower", "upper"], &numbers)))
    }

    fn forest_numbers(&self, outcome: &str, row: &ForestRow) -> Vec<String> {
        let numbers = row.numbers.map(|value| self.effect_text(outcome, value));
        [vec![row.name.clone(), format_count(row.units)], numbers.to_vec()].concat()
    }

    /// The average effects in subgroups by the covariate that splits units most, and the others as a table.
    fn subgroups(&self, outcome: &str) -> Markup {
        let Some(strongest) = self.strongest_subgroup(outcome) else { return html! {} };
        let row = |own: &cfqp::report::SplitGroup, class: &str| ForestRow {
            name: own.name.clone(),
            class: class.to_owned(),
            units: own.units,
            numbers: [own.effect, own.lower, own.upper],
        };
        let class = if differs(strongest) { "accent" } else { "ink" };
        let rows: Vec<ForestRow> = strongest.groups.iter().map(|own| row(own, class)).collect();
        let label = format!("Average effects on {outcome} by {}", strongest.covariate);
        let drawing = self.forest(outcome, &rows, &label);
        let own = self.report.effects.subgroups.iter().filter(|split| split.outcome == outcome);
        let numbers: Vec<Vec<String>> = own
            .flat_map(|split: &CovariateSplit| {
                split.groups.iter().enumerate().map(move |(i, group)| {
                    let name = format!("{} {}", split.covariate, group.name);
                    let own = self.forest_numbers(outcome, &ForestRow { name, ..row(group, "ink") });
                    let p = if i == 0 { p_text(split.p_value) } else { String::new() };
                    [own, vec![p]].concat()
                })
            })
            .collect();
        let head = ["subgroup", "units", "effect", "lower", "upper", "equal effects"];
        let level = format_number(100.0 * self.report.question.level);
        let caption = format!(
            "By {}, {level}% intervals. Numbers are split in thirds of the units; p-values are corrected for the number of covariates.",
            strongest.covariate
        );
        html! {
            div.card {
                h3 { "Subgroups" }
                p { (capitalise(&self.subgroup_sentence(outcome, strongest))) }
                (figure(&drawing, &caption, Some(&table(&head, &numbers))))
            }
        }
    }

    /// The averages over groups that are not the same as all units.
    fn averages_to_show(&self, outcome: &str) -> Vec<&AverageEffect> {
        let (units, classes) = (self.report.effects.units, self.report.classes.len());
        let is_shown = |average: &&AverageEffect| match average.group {
            EffectGroup::All => true,
            EffectGroup::Supported | EffectGroup::Ok => average.units < units,
            EffectGroup::Class(_) => classes > 1,
        };
        let averages = self.report.effects.averages.iter();
        averages.filter(|average| average.outcome == outcome).filter(is_shown).collect()
    }
}

fn group_name(group: EffectGroup) -> String {
    match group {
        EffectGroup::Supported => "on support".to_owned(),
        EffectGroup::All => "all units".to_owned(),
        EffectGroup::Ok => "without warnings".to_owned(),
        EffectGroup::Class(k) => format!("class {k}"),
    }
}

fn effect_row(name: &str, average: &AverageEffect) -> Vec<String> {
    let AverageEffect { effect, lower, upper, .. } = *average;
    vec![name.to_owned(), format_count(average.units), number(effect), number(lower), number(upper)]
}
