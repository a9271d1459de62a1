//! The model's average effects beside plain estimates of the same contrast.

use cfqp::ask::{AverageEffect, EffectGroup, PlainComparison};
use cfqp::plain::PlainEstimate;
use maud::{Markup, html};

use super::Page;
use super::elements::{capitalise, details, number, table};
use crate::format::format_count;

/// The columns of a table of estimates after the first.
const NUMBERS: [&str; 5] = ["units", "effect", "lower", "upper", "standard error"];

impl Page<'_> {
    /// A sentence for every outcome on which the model's average effect disagrees with a plain estimate.
    pub(super) fn plain_disagreements(&self) -> Vec<String> {
        let disagreeing = self.report.effects.plain.iter().filter(|own| own.disagrees);
        disagreeing.filter_map(PlainComparison::sentence).map(|text| capitalise(&text) + ".").collect()
    }

    /// The plain estimates of the average effect on an outcome; nothing if there are none.
    pub(super) fn plain_estimates(&self, outcome: &str) -> Markup {
        let Some(own) = self.compared(outcome) else { return html! {} };
        let head = [&["estimate"], &NUMBERS[..]].concat();
        html! {
            div.card data-plain=(own.outcome) {
                h3 { "Plain estimates of the same average, without classes" }
                (table(&head, &self.estimate_rows(own)))
                p {
                    @if own.disagrees { span.badge.doubtful { "disagrees" } }
                    @if let Some(sentence) = own.sentence() { (capitalise(&sentence)) ". " }
                    span.soft {
                        @if own.is_doubly_robust {
                            "The average of the model is doubly robust: the effects of all units, corrected by the residuals of \
                             units that received these treatments or similar ones."
                        } @else {
                            "The average is that of the model's effects: units that received these treatments do not correct it."
                        }
                    }
                }
            }
        }
    }

    /// The plain estimates for all outcomes, which the reader can unfold; nothing if there are none.
    pub(super) fn all_plain_estimates(&self) -> Markup {
        let compared: Vec<_> =
            self.report.question.outcomes.iter().filter_map(|name| self.compared(name)).collect();
        let rows = compared.iter().flat_map(|own| {
            self.estimate_rows(own).into_iter().map(|row| [vec![own.outcome.clone()], row].concat())
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let head = [&["outcome", "estimate"], &NUMBERS[..]].concat();
        html! {
            @if !rows.is_empty() {
                (details(&format!("Plain estimates for all {} outcomes", compared.len()), &table(&head, &rows)))
            }
        }
    }

    /// The comparison for an outcome, if it has plain estimates.
    fn compared(&self, outcome: &str) -> Option<&PlainComparison> {
        let mut compared = self.report.effects.plain.iter();
        compared.find(|own| own.outcome == outcome && !own.estimates.is_empty())
    }

    /// The model's average over all units, and the plain estimates.
    fn estimate_rows(&self, own: &PlainComparison) -> Vec<Vec<String>> {
        let is_own =
            |average: &&AverageEffect| average.outcome == own.outcome && average.group == EffectGroup::All;
        let average = self.report.effects.averages.iter().find(is_own);
        let model = average.map(|average| {
            let numbers = [own.effect, average.lower, average.upper, own.standard_error];
            estimate_row("the model", own.units, numbers)
        });
        let plain = own.estimates.iter().map(|estimate| {
            let PlainEstimate { method, effect, standard_error, lower, upper, units } = *estimate;
            estimate_row(method.name(), units, [effect, lower, upper, standard_error])
        });
        model.into_iter().chain(plain).collect()
    }
}

fn estimate_row(name: &str, units: usize, numbers: [f64; 4]) -> Vec<String> {
    [vec![name.to_owned(), format_count(units)], numbers.map(number).to_vec()].concat()
}
