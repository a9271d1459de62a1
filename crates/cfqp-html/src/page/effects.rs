//! The effects of the high treatment against the low one.

use cfqp::ask::{AverageEffect, EffectGroup, Flag};
use cfqp::report::OutcomeEffects;
use maud::{Markup, html};

use super::Page;
use super::elements::{
    class_colour, class_legend, details, figure, number, section, short_name, table, treatment_text,
};
use crate::chart::{Chart, padded_range};
use crate::format::{format_count, format_percent, pluralise};

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
            p { (self.flag_counts()) }
            (class_legend(self.report.classes.len()))
            div.grid2 {
                @for outcome in &effects.outcomes {
                    div.card {
                        p { (self.effect_sentence(&outcome.name)) }
                        (self.effect_histogram(outcome))
                        (self.average_effects(&outcome.name))
                        (self.plain_estimates(&outcome.name))
                    }
                }
            }
            @if effects.outcomes.len() < question.outcomes.len() {
                @for sentence in self.plain_disagreements() { p { span.badge.doubtful { "disagrees" } (sentence) } }
                (self.all_average_effects())
                (self.all_plain_estimates())
            }
        };
        let title = format!("Effects of the {second} treatment against the {first} one");
        section("effects", &title, &body)
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
    fn flag_counts(&self) -> String {
        let (effects, units) = (&self.report.effects, pluralise(self.report.data.units, "unit"));
        let flagged = Flag::ALL.into_iter().filter_map(|flag| {
            let number = match flag {
                // a report is on units with outcomes
                Flag::NoOutcome => 0,
                Flag::ExtremeValue => effects.extreme_value,
                Flag::OffSupport => effects.off_support,
                Flag::AmbiguousClass => effects.ambiguous_class,
                Flag::StartsDisagree => effects.starts_disagree,
                Flag::NotIdentified => effects.not_identified,
                Flag::ExtremeAnswer => effects.extreme_answer,
                Flag::SingleMember => effects.single_member,
            };
            (number > 0).then(|| format!("{} {flag} ({})", format_count(number), flag.description()))
        });
        let flagged: Vec<String> = flagged.collect();
        if flagged.is_empty() {
            return format!("The answers for all {units} have no warnings.");
        }
        format!("{} of {units} without warnings. Flagged: {}.", format_count(effects.ok), flagged.join("; "))
    }

    fn effect_histogram(&self, outcome: &OutcomeEffects) -> Markup {
        let histogram = &outcome.histogram;
        let bins = histogram.counts[0].len();
        let total = |i: usize| histogram.counts.iter().map(|counts| counts[i]).sum::<usize>();
        let max_count = (0..bins).map(total).max().unwrap_or(1) as f64;
        let title = format!("effect on {}", short_name(&outcome.name));
        let mut chart = Chart::new((histogram.low, histogram.high), (0.0, 1.05 * max_count), &title, "units");
        let step = (histogram.high - histogram.low) / bins as f64;
        let mut rows = Vec::new();
        for i in 0..bins {
            let (from, to) = (histogram.low + i as f64 * step, histogram.low + (i + 1) as f64 * step);
            let mut row = vec![format!("{} to {}", number(from), number(to))];
            let mut bottom = 0;
            for (k, counts) in histogram.counts.iter().enumerate() {
                if counts[i] > 0 {
                    let top = bottom + counts[i];
                    chart.bar(&class_colour(k), (from, bottom as f64), (to, top as f64));
                    bottom = top;
                }
                row.push(format_count(counts[i]));
            }
            chart.tooltip(from, to, &format!("{}: {}", row[0], pluralise(bottom, "unit")));
            rows.push(row);
        }
        if histogram.low < 0.0 && histogram.high > 0.0 {
            chart.vertical_rule(0.0, "no effect");
        }
        let names: Vec<String> = (0..histogram.counts.len()).map(|k| format!("class {k}")).collect();
        let head: Vec<&str> = std::iter::once("effect").chain(names.iter().map(String::as_str)).collect();
        let (share, name) = (format_percent(outcome.higher), short_name(&outcome.name));
        let caption =
            format!("Distribution of the units' effects. For {share} of units, {name} would be higher.");
        let drawing = chart.into_svg(&format!("Histogram of the effects on {}", outcome.name));
        figure(&drawing, &caption, Some(&table(&head, &rows)))
    }

    fn average_effects(&self, outcome: &str) -> Markup {
        let averages = self.averages_to_show(outcome);
        let names: Vec<String> = averages.iter().map(|average| group_name(average.group)).collect();
        let ends = padded_range(averages.iter().flat_map(|a| [a.lower, a.upper, 0.0]));
        let mut chart = Chart::with_rows(ends, &names, "average effect with its interval");
        let mut rows = Vec::new();
        for (i, average) in averages.iter().enumerate() {
            let class = match average.group {
                EffectGroup::Class(k) => class_colour(k),
                EffectGroup::Supported | EffectGroup::All | EffectGroup::Ok => "ink".to_owned(),
            };
            let y = i as f64;
            chart.line(&class, [(average.lower, y), (average.upper, y)].into_iter());
            chart.circle(&format!("dot {class}"), average.effect, y, 5.0);
            let [effect, low, high] = [average.effect, average.lower, average.upper].map(number);
            chart.row_tooltip(i, &format!("{}: {effect} ({low} to {high})", names[i]));
            rows.push(effect_row(&names[i], average));
        }
        chart.line("faint dashed", [(0.0, -0.5), (0.0, averages.len() as f64 - 0.5)].into_iter());
        let caption =
            "Average effects. The direction is uncertain if an interval crosses the dashed line at 0.";
        let drawing = chart.into_svg(&format!("Average effects on {outcome}, by group of units"));
        figure(&drawing, caption, Some(&table(&["group", "units", "effect", "lower", "upper"], &rows)))
    }

    /// The averages over groups that are not the same as all units.
    fn averages_to_show(&self, outcome: &str) -> Vec<&AverageEffect> {
        let (units, classes) = (self.report.data.units, self.report.classes.len());
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
