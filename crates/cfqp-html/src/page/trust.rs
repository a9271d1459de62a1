//! The verdict on each assumption: a sentence, its figure and a plot.

use cfqp::ClassScore;
use cfqp::ask::{Assumption, Verdict};
use cfqp::report::LevelCoverage;
use maud::{Markup, html};

use super::Page;
use super::columns::columns;
use super::elements::{capitalise, details, figure, prose, section, table};
use crate::chart::{Chart, base_models, chart_class_scores};
use crate::format::{format_number, format_percent, pluralise};

/// What the figure of a verdict is.
fn figure_name(assumption: Assumption) -> &'static str {
    match assumption {
        Assumption::Separation => {
            "the share of units whose most probable class has a probability of at least 0.9"
        }
        Assumption::Overlap => "the share of units for which similar units received these treatments",
        Assumption::AgreementOfStarts => "the agreement of other solutions with this one",
        Assumption::Calibration => "the share of observed outcomes inside their intervals",
        Assumption::NumberOfClasses => "the share of units in the smallest class, or 0 if one class suffices",
        Assumption::PredictivePower => "the share of the variance of held-out outcomes that is predicted",
        Assumption::PlainAgreement => "the distance between the two estimates in standard errors",
        Assumption::Identification => {
            "the share of units whose effect does not depend on which class is which"
        }
    }
}

/// How a verdict is graded, in words; none if the assumption was not tested.
fn describe_limits(verdict: &Verdict) -> Option<String> {
    let two = |value: f64| format_number((100.0 * value).round() / 100.0);
    let (figure, ok, failed) = (two(verdict.figure?), two(verdict.limits.ok), two(verdict.limits.failed));
    let what = figure_name(verdict.assumption);
    let limits = match verdict.limits.larger_is_better() {
        true => {
            format!("{ok} or more is ok, less than {failed} is failed, and what lies between is doubtful")
        }
        false => {
            format!("{ok} or less is ok, more than {failed} is failed, and what lies between is doubtful")
        }
    };
    Some(format!(
        "Graded by {what}: {figure}. {} There may be other reasons for doubt, which the sentence above gives.",
        capitalise(&limits) + "."
    ))
}

impl Page<'_> {
    pub(super) fn trust(&self) -> Markup {
        let verdicts = self.report.verdicts.iter();
        let mut cards: Vec<Markup> = verdicts.map(|verdict| self.verdict_card(verdict)).collect();
        cards.push(unverifiable_assumptions());
        let body = html! {
            p { "The answers rest on assumptions. The data grade each of them as ok, doubtful or failed, where they can test it." }
            (columns(cards))
        };
        section("trust", "Can I trust it?", &body)
    }

    fn verdict_card(&self, verdict: &Verdict) -> Markup {
        let grade = verdict.grade.name();
        let plot = match verdict.assumption {
            Assumption::Separation => self.separation(),
            Assumption::Overlap => self.overlap(),
            Assumption::AgreementOfStarts => self.starts(),
            Assumption::Calibration => self.calibration(),
            Assumption::NumberOfClasses => self.number_of_classes(),
            Assumption::PredictivePower | Assumption::PlainAgreement | Assumption::Identification => html! {},
        };
        html! {
            div.card data-verdict=(verdict.assumption.name()) {
                h3 { span class={ "badge " (grade) } { (grade) } (verdict.assumption.title()) }
                p { (prose(&capitalise(&verdict.sentence))) "." }
                (plot)
                @if let Some(limits) = describe_limits(verdict) {
                    (details("How it is graded", &html! { p.soft { (limits) } }))
                }
            }
        }
    }

    fn separation(&self) -> Markup {
        if self.report.classes.len() < 2 {
            return html! {};
        }
        let counts = &self.report.evidence.certainty.counts[0];
        let max_count = counts.iter().max().copied().unwrap_or(1) as f64;
        let title = "probability of the most probable class";
        let mut chart = Chart::new((0.0, 1.0), (0.0, 1.05 * max_count), title, "units");
        let mut rows = Vec::new();
        for (i, &units) in counts.iter().enumerate() {
            let (from, to) = (i as f64 / 10.0, (i + 1) as f64 / 10.0);
            let bin = format!("{from:.1} to {to:.1}");
            chart.bar("accent", (from, 0.0), (to, units as f64));
            chart.tooltip(from, to, &format!("{bin}: {}", pluralise(units, "unit")));
            rows.push(vec![bin, units.to_string()]);
        }
        let caption = "Bars on the right are units whose class is clear; bars further left are units that may belong to \
                       more than one class.";
        let drawing = chart.into_svg("Histogram of the probability of each unit's most probable class");
        figure(&drawing, caption, Some(&table(&["probability", "units"], &rows)))
    }

    fn overlap(&self) -> Markup {
        let (axis, shares) = (self.treatment_axis(), &self.report.evidence.overlap);
        let mut chart = axis.chart((0.0, 1.05), "share of units");
        axis.draw_shares(&mut chart, shares);
        axis.draw_marks(&mut chart);
        let mut rows = Vec::new();
        for (i, share) in shares.iter().enumerate() {
            let (label, (from, to)) = (&axis.labels[i], axis.interval_at(i));
            chart.tooltip(from, to, &format!("{label}: supported for {} of units", format_percent(*share)));
            rows.push(vec![label.clone(), format_percent(*share)]);
        }
        let caption = "The share of units for which similar units received such a treatment. Where it is low, answers \
                       extrapolate beyond the data and are flagged.";
        let drawing = chart.into_svg("Share of units whose similar units received each treatment");
        figure(&drawing, caption, Some(&table(&[&axis.title, "share of units"], &rows)))
    }

    fn starts(&self) -> Markup {
        let starts = self.report.model.fit.best_starts();
        if starts.is_empty() {
            return html! {};
        }
        let names: Vec<String> = starts.iter().map(|start| start.start.name().to_owned()).collect();
        let mut chart = Chart::with_rows((0.0, 1.0), &names, "agreement with the best start");
        let mut rows = Vec::new();
        for (i, (name, start)) in names.iter().zip(&starts).enumerate() {
            let (y, agreement) = (i as f64, start.agreement);
            chart.bar("accent", (0.0, y - 0.3), (agreement.clamp(0.0, 1.0), y + 0.3));
            chart.row_tooltip(i, &format!("{name}: {agreement:.2}"));
            rows.push(vec![name.clone(), format!("{agreement:.2}")]);
        }
        let caption = "EM was run from several starts, best first. 1 means the same classes as the best start, 0 no more \
                       agreement than by chance.";
        let drawing = chart.into_svg("Agreement of each start with the best start on the classes");
        figure(&drawing, caption, Some(&table(&["start", "agreement"], &rows)))
    }

    fn calibration(&self) -> Markup {
        let points = &self.report.evidence.calibration;
        if points.is_empty() {
            return html! {};
        }
        let min = points.iter().map(|point| point.level.min(point.coverage)).fold(0.5, f64::min);
        let low = (10.0 * min).floor() / 10.0 - 0.02;
        let mut chart = Chart::new((low, 1.0), (low, 1.02), "level", "coverage");
        chart.line("faint dashed", [(low, low), (1.0, 1.0)].into_iter());
        chart.line("accent", points.iter().map(|point| (point.level, point.coverage)));
        let mut rows = Vec::new();
        for &LevelCoverage { level, coverage } in points {
            chart.circle("dot accent", level, coverage, 4.0);
            let [level_text, coverage] = [level, coverage].map(format_percent);
            let tip = format!("level {level_text}, coverage {coverage}");
            chart.tooltip(level - 0.025, level + 0.025, &tip);
            rows.push(vec![level_text, coverage]);
        }
        let caption = "Coverage of factual outcomes by intervals with fresh noise (rho = 0). Below the dashed line \
                       intervals are too narrow, above it wider than necessary.";
        let drawing = chart.into_svg("Coverage of observed outcomes by intervals, against their level");
        figure(&drawing, caption, Some(&table(&["level", "coverage"], &rows)))
    }

    fn number_of_classes(&self) -> Markup {
        let tried = &self.report.model.fit.candidates;
        if tried.iter().filter(|tried| tried.score().is_finite()).count() < 2 {
            return html! {};
        }
        let row = |tried: &ClassScore| {
            let mark = if tried.chosen { "chosen" } else { "" };
            let [likelihood, score] = [tried.full_nll, tried.score()].map(|value| format!("{value:.2}"));
            vec![tried.base.to_string(), tried.classes.to_string(), likelihood, score, mark.to_owned()]
        };
        let rows: Vec<Vec<String>> = tried.iter().map(row).collect();
        let caption = if tried.iter().all(|tried| tried.penalty == 0.0) {
            "The score of each number of classes: the mean negative log-likelihood of units held out in turn. Lower is \
             better; the ring marks the choice, the smallest number that no larger one beats by more than 1.5 \
             standard errors."
        } else {
            "The score of each number of classes: the mean negative log-likelihood of held-out units (full covariance) \
             and a penalty per class. Lower is better; the ring marks the choice."
        };
        let drawing = chart_class_scores(tried).into_svg("Score of each number of classes on held-out units");
        let head = ["base model", "classes", "-log-likelihood", "score", ""];
        html! {
            p.legend {
                @for (i, base) in base_models(tried).into_iter().enumerate() {
                    span class=(format_args!("k{}", i % 8)) { i {} (base) }
                }
            }
            (figure(&drawing, caption, Some(&table(&head, &rows))))
        }
    }
}

fn unverifiable_assumptions() -> Markup {
    html! {
        div.card {
            h3 { "What no data can check" }
            ul {
                li {
                    "That no hidden cause affects both the treatment and the outcome. If treatments were chosen for \
                     reasons that are not in the data, the effects may be wrong even if all checks above are ok."
                }
                li {
                    "How much of a unit's noise would have been the same under the other treatment (rho), unless subjects \
                     were seen more than once."
                }
                li { "That future units will be like these." }
            }
        }
    }
}
