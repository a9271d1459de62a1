//! The beginning of a report: a summary, the question, and an overview of the data.

use cfqp::ask::{Assumption, EffectGroup, Grade};
use cfqp::report::{OutcomeDistribution, ValueRange};
use maud::{Markup, html};

use super::Page;
use super::elements::{details, number, section, table, treatment_text};
use super::observed::treatment_figure;
use crate::format::{count_dropped, format_count, format_number, format_percent, pluralise};

/// Outcomes in the first table; the others are in one that the reader can unfold.
const LISTED_OUTCOMES: usize = 12;
const DRAWN_TREATMENTS: usize = 4;

impl Page<'_> {
    /// The answer in a few sentences.
    pub(super) fn summary(&self) -> Markup {
        let report = self.report;
        let effects = report.effects.outcomes.iter().take(3);
        let effects = effects.map(|outcome| self.effect_sentence(&outcome.name));
        let disagreements = self.plain_disagreements().into_iter().take(3);
        let mut lines: Vec<String> = disagreements.chain(effects).collect();
        lines.dedup();
        let is_tested = |verdict: &&cfqp::ask::Verdict| {
            verdict.assumption == Assumption::NumberOfClasses && verdict.grade != Grade::NotTested
        };
        let tested = report.verdicts.iter().any(|verdict| is_tested(&verdict));
        lines.push(match report.classes.len() {
            1 if !tested => "The model was given one class.".to_owned(),
            k if !tested => {
                format!("The model was given {k} hidden classes of units that respond differently.")
            }
            1 => "No hidden classes could be shown with these units.".to_owned(),
            k => format!("The data support {k} hidden classes of units that respond differently."),
        });
        let worst = report.verdicts.iter().map(|verdict| verdict.grade).max().unwrap_or(Grade::Ok);
        lines.push(match worst {
            Grade::NotTested | Grade::Ok => {
                "No problems found with the assumptions that can be checked.".to_owned()
            }
            Grade::Doubtful => {
                "Some assumptions are doubtful: read \u{201c}Can I trust it?\u{201d} before you act on this."
                    .to_owned()
            }
            Grade::Failed => "An assumption failed: do not rely on these answers.".to_owned(),
        });
        html! { div.short { h3 { "Summary" } ul { @for line in lines { li { (line) } } } } }
    }

    /// The average effect on an outcome in a sentence: over the units on support, or over all if there are none.
    pub(super) fn effect_sentence(&self, outcome: &str) -> String {
        let (question, effects) = (&self.report.question, &self.report.effects);
        // the average over units on support comes first, if there are any
        let Some(average) = effects.averages.iter().find(|average| average.outcome == outcome) else {
            return String::new();
        };
        let units = match average.group {
            EffectGroup::Supported if average.units == self.report.data.units => String::new(),
            EffectGroup::Supported => format!(" over the {} on support", pluralise(average.units, "unit")),
            _ => " over all units, none of them on support,".to_owned(),
        };
        if question.from == question.to {
            return "The report compares two equal treatments.".to_owned();
        }
        let (verb, size, remark) = match () {
            () if average.lower > 0.0 => ("raise", average.effect.abs(), ""),
            () if average.upper < 0.0 => ("lower", average.effect.abs(), ""),
            () => ("change", average.effect, ", so the direction is uncertain"),
        };
        format!(
            "Going from {} to {} would {verb} {outcome} by {} on average{units} ({}% interval: {} to {}{remark}).",
            treatment_text(&question.treatments, &question.from),
            treatment_text(&question.treatments, &question.to),
            number(size),
            format_number(100.0 * question.level),
            number(average.lower),
            number(average.upper),
        )
    }

    /// The question that the report answers.
    pub(super) fn question(&self) -> Markup {
        let (question, classes) = (&self.report.question, self.report.classes.len());
        let noise = match question.rho.rho {
            Some(rho) if rho >= 1.0 => "everything else being equal",
            Some(rho) if rho <= 0.0 => "with fresh noise",
            Some(_) => "with partly the same noise",
            None => "with an unknown part of its noise the same",
        };
        let (one, other) = if self.has_levels() { ("one", "another") } else { ("a low", "a high") };
        let first = format!(
            "Each unit received a treatment ({}) and showed an outcome ({}). What would its outcome have been under \
             {one} treatment ({}) or {other} one ({}), {noise}?",
            question.treatments.join(", "),
            list_names(&question.outcomes),
            treatment_text(&question.treatments, &question.from),
            treatment_text(&question.treatments, &question.to),
        );
        let hidden = match classes {
            1 => "The model has one class: no hidden classes are told apart.".to_owned(),
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
        };
        section("asked", "The question", &body)
    }

    /// An overview of the data.
    pub(super) fn data(&self) -> Markup {
        let data = &self.report.data;
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
        let body = html! {
            p {
                (pluralise(self.units, "unit")) " can be used. "
                @if data.units < self.units {
                    "Averages and plots are based on an even sample of " (format_count(data.units)) " units. "
                }
                (missing)
            }
            @for dropped in self.dropped {
                p { (count_dropped(dropped)) " not used: " (dropped.reason) " (first: " (dropped.first) ")." }
            }
            div.grid2 {
                @for treatment in data.treatments.iter().take(DRAWN_TREATMENTS) { (treatment_figure(treatment)) }
                (self.outcome_figures())
            }
            (self.outcomes_by_treatment())
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
            (table(&head, first))
            @if !rest.is_empty() {
                (details(&format!("{} more outcomes", rest.len()), &table(&head, rest)))
            }
            p.soft { "Factual outcomes, under the treatments that the units received." }
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
