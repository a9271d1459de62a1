//! What a reader asks first: the average effect, who gains and who loses, how sure that is, and for whom there is no answer.

use cfqp::ask::{EffectGroup, Flag, Grade, Verdict};
use cfqp::data::OutcomeKind;
use cfqp::report::{CovariateSplit, ProfileBasis};
use maud::{Markup, html};

use super::Page;
use super::effects::ForestRow;
use super::elements::{capitalise, figure, number, prose, treatment_text};
use crate::format::{count_dropped, format_count, format_number, format_percent, pluralise};

/// The outcomes in the summary.
const MAX_OUTCOMES: usize = 3;
/// The p-value below which subgroups differ.
const MAX_P: f64 = 0.05;

impl Page<'_> {
    pub(super) fn summary(&self) -> Markup {
        let report = self.report;
        let names: Vec<&String> =
            report.effects.outcomes.iter().map(|outcome| &outcome.name).take(MAX_OUTCOMES).collect();
        let mut effects: Vec<String> = names.iter().map(|name| self.effect_sentence(name)).collect();
        effects.dedup();
        let disagreements: Vec<String> = self.plain_disagreements().into_iter().take(MAX_OUTCOMES).collect();
        let is_contrast = report.question.from != report.question.to;
        let who: Vec<String> =
            names.iter().filter(|_| is_contrast).flat_map(|name| self.who_gains(name)).collect();
        html! {
            section.short #short aria-labelledby="short-heading" {
                h2 id="short-heading" { "Summary" }
                @for sentence in &disagreements { p { span.badge.doubtful { "disagrees" } (sentence) } }
                div.lead {
                    div {
                        @for sentence in &effects { p.main { (sentence) } }
                        p.soft { (self.basis_sentence()) }
                        h3 { "Who gains, who loses" }
                        ul { @for line in &who { li { (line) } } li { (self.class_note()) } }
                    }
                    @if let Some(name) = names.first().filter(|_| is_contrast) { (self.summary_figure(name)) }
                }
                div.lead {
                    div { h3 { "How sure" } (self.grades()) }
                    div { h3 { "For whom there is no answer" } ul { @for line in self.unanswered() { li { (line) } } } }
                }
            }
        }
    }

    /// The average effect on an outcome in a sentence: over the units on support, or over all if there are none.
    pub(super) fn effect_sentence(&self, outcome: &str) -> String {
        let (question, effects) = (&self.report.question, &self.report.effects);
        // the average over units on support comes first, if there are any
        let Some(average) = effects.averages.iter().find(|average| average.outcome == outcome) else {
            return String::new();
        };
        let units = match average.group {
            EffectGroup::Supported if average.units == effects.units => String::new(),
            EffectGroup::Supported => format!(" over the {} on support", pluralise(average.units, "unit")),
            _ => " over all units, none of them on support,".to_owned(),
        };
        if question.from == question.to {
            return "The report compares two equal treatments.".to_owned();
        }
        let (verb, size, remark) = match () {
            () if average.lower > 0.0 => ("raise", average.effect.abs(), ""),
            () if average.upper < 0.0 => ("lower", average.effect.abs(), ""),
            () => ("change", average.effect, ": the direction is uncertain"),
        };
        let (share, size) = match self.is_share(outcome) {
            true => ("the share of ", self.effect_text(outcome, size) + " percentage points"),
            false => ("", number(size)),
        };
        format!(
            "Going from {} to {} would {verb} {share}{outcome} by {size} on average{units} ({}% interval: {} to {}{remark}).",
            treatment_text(&question.treatments, &question.from),
            treatment_text(&question.treatments, &question.to),
            format_number(100.0 * question.level),
            self.effect_text(outcome, average.lower),
            self.effect_text(outcome, average.upper),
        )
    }

    /// Whether the values of an outcome are chances, so that effects are percentage points.
    pub(super) fn is_share(&self, outcome: &str) -> bool {
        self.report.data.observed.iter().any(|own| match own.kind {
            OutcomeKind::YesNo => own.name == outcome,
            OutcomeKind::Level(_) => {
                outcome.strip_prefix(own.name.as_str()).is_some_and(|rest| rest.starts_with('='))
            }
            _ => false,
        })
    }

    /// An effect as a number; on a chance, in percentage points.
    pub(super) fn effect_text(&self, outcome: &str, value: f64) -> String {
        match self.is_share(outcome) && value.is_finite() {
            true => format!("{:.1}", 100.0 * value),
            false => number(value),
        }
    }

    /// What the averages are based on.
    fn basis_sentence(&self) -> String {
        let averaged = self.report.effects.units;
        let robust = self.report.effects.plain.iter().any(|own| own.is_doubly_robust);
        let how = if robust {
            "corrected by the outcomes of units that received these treatments"
        } else {
            "by the model"
        };
        match averaged < self.units {
            true => format!(
                "On an even sample of {} of {}, {how}.",
                format_count(averaged),
                pluralise(self.units, "unit")
            ),
            false => format!("On {}, {how}.", pluralise(self.units, "unit")),
        }
    }

    /// The effects on an outcome by class and by the strongest subgroup.
    fn who_gains(&self, outcome: &str) -> Vec<String> {
        let name =
            if self.report.effects.outcomes.len() > 1 { format!("{outcome}: ") } else { String::new() };
        let mut lines = Vec::new();
        let class = |k: usize| {
            let own = self.average(outcome, EffectGroup::Class(k))?;
            let share = format_percent(self.report.classes[k].share);
            let change = self.change_text(outcome, own.effect, own.lower, own.upper);
            Some(format!("in class {k} ({share} of units) {outcome} {change}"))
        };
        let classes = self.report.classes.len();
        let of_classes: Vec<String> = (0..classes).filter(|_| classes > 1).filter_map(class).collect();
        if !of_classes.is_empty() {
            lines.push(format!("{name}{}.", capitalise(&of_classes.join("; "))));
        }
        if let Some(strongest) = self.strongest_subgroup(outcome) {
            lines.push(name + &capitalise(&self.subgroup_sentence(outcome, strongest)));
        }
        lines
    }

    /// An effect in words: `rises by 0.5 (0.3 to 0.7)`.
    fn change_text(&self, outcome: &str, effect: f64, lower: f64, upper: f64) -> String {
        let [size, lower_text, upper_text] =
            [effect.abs(), lower, upper].map(|value| self.effect_text(outcome, value));
        let verb = match () {
            () if lower > 0.0 => format!("rises by {size}"),
            () if upper < 0.0 => format!("falls by {size}"),
            () => format!("shows no clear change: {}", self.effect_text(outcome, effect)),
        };
        format!("{verb} ({lower_text} to {upper_text})")
    }

    /// The split of units whose effects on an outcome differ most.
    pub(super) fn strongest_subgroup(&self, outcome: &str) -> Option<&CovariateSplit> {
        self.report.effects.subgroups.iter().find(|own| own.outcome == outcome)
    }

    /// What a split of units says, in a sentence.
    pub(super) fn subgroup_sentence(&self, outcome: &str, split: &CovariateSplit) -> String {
        let compared = match split.compared {
            1 => "the only covariate that was compared".to_owned(),
            n => format!("allowing for {n} covariates compared"),
        };
        if !differs(split) {
            return format!(
                "no covariate shows subgroups whose average effects clearly differ (the strongest is {}: {}, {compared}).",
                split.covariate,
                p_text(split.p_value),
            );
        }
        let by_effect =
            |a: &&cfqp::report::SplitGroup, b: &&cfqp::report::SplitGroup| a.effect.total_cmp(&b.effect);
        let (low, high) = (split.groups.iter().min_by(by_effect), split.groups.iter().max_by(by_effect));
        let (Some(low), Some(high)) = (low, high) else { return String::new() };
        let text = |own: &cfqp::report::SplitGroup| {
            format!(
                "at {} {} ({}) {outcome} {}",
                split.covariate,
                own.name,
                pluralise(own.units, "unit"),
                self.change_text(outcome, own.effect, own.lower, own.upper)
            )
        };
        format!(
            "effects differ most by {}: {}; {} ({}, {compared}).",
            split.covariate,
            text(high),
            text(low),
            p_text(split.p_value),
        )
    }

    /// What is known of hidden classes.
    fn class_note(&self) -> String {
        let sentence = self.class_sentence();
        match self.report.profiles {
            ProfileBasis::NotIdentified => format!(
                "{sentence} A treatment of few values does not show which class gains: effects are not given by class."
            ),
            _ => sentence,
        }
    }

    /// The averages of an outcome in one small chart.
    fn summary_figure(&self, outcome: &str) -> Markup {
        // units without warnings are not like the others
        let mut rows: Vec<ForestRow> = self.forest_rows(outcome, |group| group != EffectGroup::Ok);
        if let Some(split) = self.strongest_subgroup(outcome).filter(|split| differs(split)) {
            rows.extend(split.groups.iter().map(|own| ForestRow {
                name: format!("{} {}", split.covariate, own.name),
                class: "accent".to_owned(),
                units: own.units,
                numbers: [own.effect, own.lower, own.upper],
            }));
        }
        let level = format_number(100.0 * self.report.question.level);
        let caption =
            format!("Average effects on {outcome} with {level}% intervals; dashed line: no effect.");
        let drawing = self.forest(outcome, &rows, &format!("Average effects on {outcome}"));
        figure(&drawing, &caption, None)
    }

    /// How many checks are ok, and what is doubtful.
    fn grades(&self) -> Markup {
        let verdicts = &self.report.verdicts;
        let count = |grade: Grade| verdicts.iter().filter(|own| own.grade == grade).count();
        let grades = [Grade::Ok, Grade::Doubtful, Grade::Failed, Grade::NotTested];
        let mut weak: Vec<&Verdict> =
            verdicts.iter().filter(|own| matches!(own.grade, Grade::Doubtful | Grade::Failed)).collect();
        weak.sort_by_key(|own| std::cmp::Reverse(own.grade));
        let conclusion = match verdicts.iter().map(|own| own.grade).max() {
            Some(Grade::Failed) => {
                "An assumption failed: do not rely on these answers before you have read why."
            }
            Some(Grade::Doubtful) => "Read what is doubtful before you act:",
            _ => "No problems found with what data can check.",
        };
        html! {
            p.grades {
                @for grade in grades {
                    @if count(grade) > 0 { span class={ "badge " (grade.name()) } { (count(grade)) " " (grade.name()) } }
                }
                (conclusion)
            }
            @if !weak.is_empty() {
                ul { @for own in weak { li { b { (own.assumption.title()) } " " (prose(&capitalise(&own.sentence))) "." } } }
            }
            p.soft { "No data can check whether a hidden cause affects both treatment and outcome." }
        }
    }

    /// For how many units the data give no answer, and which rows were left out.
    fn unanswered(&self) -> Vec<String> {
        let effects = &self.report.effects;
        let all = pluralise(effects.units, "unit");
        let reasons = |flags: &[Flag]| -> Vec<String> {
            let own: Vec<(Flag, usize)> =
                effects.flags().into_iter().filter(|(flag, _)| flags.contains(flag)).collect();
            match &own[..] {
                [(flag, _)] => vec![flag.description().to_owned()],
                _ => own
                    .iter()
                    .map(|(flag, units)| format!("{} of them: {}", format_count(*units), flag.description()))
                    .collect(),
            }
        };
        let none = [Flag::OffSupport, Flag::NotIdentified, Flag::ExtremeValue, Flag::ExtremeAnswer];
        let care = [Flag::AmbiguousClass, Flag::StartsDisagree, Flag::SingleMember];
        let mut lines = vec![match effects.unanswerable {
            0 => format!("The question has an answer for each of the {all}, with its interval."),
            n if n == effects.units => format!(
                "No single unit has an answer to rely on ({}); what can be said is about averages.",
                reasons(&none).join("; ")
            ),
            n => format!(
                "For {} of {all}, do not rely on the answer for the single unit ({}).",
                format_count(n),
                reasons(&none).join("; ")
            ),
        }];
        let careful = effects.flags().into_iter().filter(|(flag, _)| care.contains(flag));
        lines.extend(careful.map(|(flag, units)| {
            format!("Read {} with care: {}.", pluralise(units, "answer"), flag.description())
        }));
        lines.extend(self.dropped.iter().map(|dropped| {
            format!("{} not used: {} (first: {}).", count_dropped(dropped), dropped.reason, dropped.first)
        }));
        lines
    }
}

/// Whether subgroups clearly differ.
pub(super) fn differs(split: &CovariateSplit) -> bool {
    split.p_value < MAX_P
}

/// A p-value in words.
pub(super) fn p_text(p: f64) -> String {
    match p {
        p if p < 0.001 => "p < 0.001".to_owned(),
        p if p >= 0.995 => "p = 1".to_owned(),
        p if p < 0.01 => format!("p = {p:.3}"),
        p => format!("p = {p:.2}"),
    }
}
