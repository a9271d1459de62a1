//! The hidden classes: their sizes, their responses and who is in them.

use cfqp::ask::{Assumption, AverageEffect, EffectGroup, Grade};
use cfqp::data::table::TreatmentValue;
use cfqp::report::{ClassResponse, ClassSummary, CovariateMeans, ProfileBasis};
use maud::{Markup, html};

use super::Page;
use super::columns::columns;
use super::elements::{class_colour, number, section, table, treatment_text};
use crate::format::{format_percent, pluralise};

/// A standardised difference of means from which on a class is called very different.
const LARGE_GAP: f64 = 0.8;

impl Page<'_> {
    pub(super) fn classes(&self) -> Markup {
        let classes = &self.report.classes;
        let body = match classes.len() {
            1 => self.single_class(),
            _ => html! {
                p {
                    "Classes are inferred from how units respond, not from a column of the data. A unit belongs to a class with a \
                     probability, and counts for each class by it: sizes, means and effects are sums over these probabilities."
                }
                div.shares aria-hidden="true" { @for class in classes { (share_bar(class)) } }
                p.legend {
                    @for class in classes {
                        span class=(class_colour(class.class)) {
                            i {} "class " (class.class) ": " (format_percent(class.share)) " of units"
                        }
                    }
                }
                @if self.report.profiles == ProfileBasis::NotIdentified {
                    p {
                        "The treatment takes few values, and each unit received one of them: the data do not show which class under \
                         one treatment is which under another. So nothing is said here of single classes; averages over all units do not \
                         depend on it."
                    }
                } @else {
                    (columns(vec![self.class_responses(), self.class_profiles()]))
                }
            },
        };
        section("classes", "The classes", &body)
    }

    /// Whether the fit compared numbers of classes.
    pub(super) fn tested_classes(&self) -> bool {
        let verdicts = self.report.verdicts.iter();
        let mut of_number = verdicts.filter(|own| own.assumption == Assumption::NumberOfClasses);
        of_number.any(|own| own.grade != Grade::NotTested)
    }

    /// How many classes there are, in a sentence.
    pub(super) fn class_sentence(&self) -> String {
        let units = pluralise(self.report.model.fit.units.total(), "unit");
        match (self.report.classes.len(), self.tested_classes()) {
            (1, false) => "The model was given one class: no hidden classes are told apart.".to_owned(),
            (k, false) => {
                format!("The model was given {k} hidden classes of units that respond differently.")
            }
            (1, true) => format!("No hidden classes could be shown with these {units}."),
            (k, true) => {
                format!("The {units} of the fit support {k} hidden classes that respond differently.")
            }
        }
    }

    fn single_class(&self) -> Markup {
        let covariates = &self.report.classes[0].covariates;
        let row = |own: &CovariateMeans| vec![own.name.clone(), number(own.mean)];
        let rows: Vec<Vec<String>> = covariates.iter().map(row).collect();
        html! {
            p {
                (self.class_sentence())
                " That does not mean that all units respond alike: differences may be smaller than these units can show."
            }
            @if !rows.is_empty() {
                div.card { h3 { "Means of the covariates" } (table(&["covariate", "mean"], &rows)) }
            }
        }
    }

    /// One table with the mean outcomes of every class, and its effects.
    fn class_responses(&self) -> Markup {
        let (question, classes) = (&self.report.question, &self.report.classes);
        let text = |t: &[TreatmentValue]| treatment_text(&question.treatments, t);
        // a median of levels means nothing
        let has_median = self.end_names() == ["low", "high"];
        let outcomes = classes[0].responses.len();
        let mut rows = Vec::new();
        for o in 0..outcomes {
            let name = &classes[0].responses[o].name;
            let prefix = if outcomes == 1 { String::new() } else { format!("{name}: ") };
            let mean_row = |label: String, mean: &dyn Fn(&ClassResponse) -> f64| {
                let means = classes.iter().map(|class| number(mean(&class.responses[o])));
                std::iter::once(format!("{prefix}mean at {label}")).chain(means).collect::<Vec<_>>()
            };
            rows.push(mean_row(text(&question.from), &|own| own.low));
            if has_median {
                rows.push(mean_row(format!("{} (median)", text(&question.median)), &|own| own.median));
            }
            rows.push(mean_row(text(&question.to), &|own| own.high));
            let effect = |class: &ClassSummary| {
                let text = |own: &AverageEffect| {
                    let [effect, lower, upper] = [own.effect, own.lower, own.upper].map(number);
                    format!("{effect} ({lower} to {upper})")
                };
                self.average(name, EffectGroup::Class(class.class)).map_or_else(|| "–".to_owned(), text)
            };
            let label = std::iter::once(format!("{prefix}average effect"));
            rows.push(label.chain(classes.iter().map(effect)).collect());
        }
        let names: Vec<String> = classes.iter().map(|class| format!("class {}", class.class)).collect();
        let head: Vec<&str> = std::iter::once("outcome").chain(names.iter().map(String::as_str)).collect();
        html! {
            div.card {
                h3 { "How the classes respond" }
                (table(&head, &rows))
                p.soft {
                    "Means are the model's predictions. Average effects are estimated on their own and need not equal the difference \
                     of the means."
                }
            }
        }
    }

    /// One table with the means of covariates in every class.
    fn class_profiles(&self) -> Markup {
        let classes = &self.report.classes;
        let count = classes[0].covariates.len();
        if count == 0 {
            return html! {};
        }
        let row = |j: usize| {
            let own: Vec<&CovariateMeans> = classes.iter().map(|class| &class.covariates[j]).collect();
            let largest = own.iter().max_by(|a, b| a.gap.abs().total_cmp(&b.gap.abs()));
            let difference = largest.map_or_else(String::new, |c| {
                let clear = if c.is_clear { "" } else { ", not clear" };
                format!("{:.2} ± {:.2}{clear}", c.gap.abs(), c.standard_error)
            });
            let means = own.iter().map(|own| number(own.mean));
            [vec![own[0].name.clone()], means.collect(), vec![difference]].concat()
        };
        let rows: Vec<Vec<String>> = (0..count).map(row).collect();
        let names: Vec<String> = classes.iter().map(|class| format!("class {}", class.class)).collect();
        let largest = if classes.len() == 2 { "difference (sd)" } else { "largest difference (sd)" };
        let head: Vec<&str> =
            std::iter::once("mean of").chain(names.iter().map(String::as_str)).chain([largest]).collect();
        let basis = match self.report.profiles {
            ProfileBasis::EqualTreatments => {
                "Means compare units that received the same treatment, or similar ones, so that a class which shows under some \
                 treatments only does not take on the covariates of the units that received them."
            }
            ProfileBasis::AllUnits | ProfileBasis::NotIdentified => {
                "Means are over all units, whatever treatment they received, because in this model the class may go with the \
                 treatment, or because several amounts do not make groups."
            }
        };
        html! {
            div.card {
                h3 { "Who is in the classes" }
                ul { @for line in self.profile_sentences() { li { (line) } } }
                (table(&head, &rows))
                p.soft {
                    (basis)
                    " Differences are in standard deviations, with their standard error; one is clear if it is at least 0.2 and more \
                     than chance explains."
                }
            }
        }
    }

    /// What is clearly different in each class. Of two classes the first is described: the other is the opposite.
    fn profile_sentences(&self) -> Vec<String> {
        let classes = &self.report.classes;
        let described = if classes.len() == 2 { &classes[..1] } else { &classes[..] };
        let sentences: Vec<String> = described.iter().filter_map(describe_members).collect();
        if sentences.is_empty() {
            return vec![
                "No covariate is clearly different between the classes: before the treatment, their units look alike."
                    .to_owned(),
            ];
        }
        sentences
    }

    /// The average effect on an outcome over a group, if there is one.
    pub(super) fn average(&self, outcome: &str, group: EffectGroup) -> Option<&AverageEffect> {
        let mut averages = self.report.effects.averages.iter();
        averages.find(|average| average.outcome == outcome && average.group == group)
    }
}

/// The part of the bar of class sizes that belongs to one class.
fn share_bar(class: &ClassSummary) -> Markup {
    let tip = format!("class {}: {}", class.class, format_percent(class.share));
    let style = format!("flex:{:.4}", class.share.max(0.001));
    html! { span class=(class_colour(class.class)) data-tip=(tip) style=(style) {} }
}

/// The covariates in which a class is clearly different from the others, in a sentence; none without such.
fn describe_members(class: &ClassSummary) -> Option<String> {
    let describe = |own: &CovariateMeans| {
        let direction = match (own.gap > 0.0, own.gap.abs() >= LARGE_GAP) {
            (true, true) => "much higher",
            (true, false) => "somewhat higher",
            (false, true) => "much lower",
            (false, false) => "somewhat lower",
        };
        format!("{} is {direction}", own.name)
    };
    let clear: Vec<String> =
        class.covariates.iter().filter(|own| own.is_clear).take(3).map(describe).collect();
    (!clear.is_empty()).then(|| format!("In class {}, {} than in the others.", class.class, clear.join(", ")))
}
