//! The question, and an overview of the data.

use cfqp::report::{OutcomeDistribution, ValueRange};
use maud::{Markup, html};

use super::Page;
use super::columns::columns;
use super::elements::{details, number, section, table, treatment_text};
use super::observed::treatment_figure;
use crate::format::{count_dropped, format_count, format_number, format_percent, pluralise};

/// Outcomes in the first table; the others are in one that the reader can unfold.
const LISTED_OUTCOMES: usize = 12;
const DRAWN_TREATMENTS: usize = 4;

impl Page<'_> {
    /// The question that the report answers.
    pub(super) fn question(&self) -> Markup {
        let (question, classes) = (&self.report.question, self.report.classes.len());
        let noise = match question.rho.rho {
            Some(rho) if rho >= 1.0 => "everything else being equal",
            Some(rho) if rho <= 0.0 => "with fresh noise",
            Some(_) => "with partly the same noise",
            None => "with an unknown part of its noise the same",
        };
        let (one, other) =
            if self.end_names()[0] == "low" { ("a low", "a high") } else { ("one", "another") };
        let first = format!(
            "Each unit received a treatment ({}) and showed an outcome ({}). What would its outcome have been under \
             {one} treatment ({}) or {other} one ({}), {noise}?",
            question.treatments.join(", "),
            list_names(&question.outcomes),
            treatment_text(&question.treatments, &question.from),
            treatment_text(&question.treatments, &question.to),
        );
        let hidden = match classes {
            1 => self.class_sentence(),
            k => format!(
                "The model assumes that each unit belongs to one of {k} classes that respond differently. The class is \
                 not recorded: it is inferred from the unit's covariates, treatment and outcome."
            ),
        };
        let level = format_number(100.0 * question.level);
        let body = html! {
            p { (first) }
            p { (hidden) }
            p { "Every answer has a " (level) "% interval. Answers with warnings are flagged, with the reason." }
            p.soft {
                "How much of a unit's noise would have been the same under another treatment is called rho: here it is "
                (question.rho) "."
            }
        };
        section("asked", "The question", &body)
    }

    /// An overview of the data.
    pub(super) fn data(&self) -> Markup {
        let (data, averaged) = (&self.report.data, self.report.effects.units);
        let missing = match (data.x_missing, data.y_missing) {
            (0.0, 0.0) => "No values are missing.".to_owned(),
            (x, y) => {
                format!(
                    "{} of the covariates and {} of the outcomes are missing.",
                    format_percent(x),
                    format_percent(y)
                )
            }
        };
        let treatments = data.treatments.iter().take(DRAWN_TREATMENTS);
        let mut cards: Vec<Markup> =
            treatments.map(|treatment| html! { div.card { (treatment_figure(treatment)) } }).collect();
        cards.extend(self.outcome_figures());
        cards.extend(self.outcomes_by_treatment());
        cards.extend([self.balance(), self.outcome_ranges()]);
        let body = html! {
            p {
                (pluralise(self.units, "unit")) " can be used. "
                @if averaged < self.units {
                    "Averages are based on an even sample of " (format_count(averaged)) " of them. "
                }
                @if data.units < averaged {
                    "Charts are drawn from an even sample of " (format_count(data.units)) " units. "
                }
                (missing)
            }
            @for dropped in self.dropped {
                p { (count_dropped(dropped)) " not used: " (dropped.reason) " (first: " (dropped.first) ")." }
            }
            (columns(cards))
        };
        section("data", "The data", &body)
    }

    pub(super) fn outcome_ranges(&self) -> Markup {
        let row = |outcome: &OutcomeDistribution| {
            let ValueRange { min, mean, max } = outcome.range;
            vec![outcome.name.clone(), format_count(outcome.elements), number(min), number(mean), number(max)]
        };
        let head = ["outcome", "values per unit", "min", "mean", "max"];
        let rows: Vec<Vec<String>> = self.report.data.outcomes.iter().map(row).collect();
        let (first, rest) = rows.split_at(rows.len().min(LISTED_OUTCOMES));
        html! {
            div.card {
                h3 { "Ranges of the outcomes" }
                (table(&head, first))
                @if !rest.is_empty() {
                    (details(&format!("{} more outcomes", rest.len()), &table(&head, rest)))
                }
                p.soft { "Factual outcomes, under the treatments that the units received." }
            }
        }
    }
}

/// The first few names, and how many there are.
fn list_names(names: &[String]) -> String {
    match names.len() {
        0..=6 => names.join(", "),
        n => format!("{}, \u{2026}: {n} in total", names[..4].join(", ")),
    }
}
