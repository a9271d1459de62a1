//! How units differ in what the high treatment would do to them, against the low one.

use cfqp::{AverageEffect, OutcomeEffects};

use super::Page;
use super::chart::{Chart, span};
use super::text::{colour, dose, figure, legend, number, paragraph, section, short, table};
use crate::table::{count, counted, percent};

impl Page<'_> {
    pub(super) fn effects(&self) -> String {
        let (question, effects) = (&self.report.question, &self.report.effects);
        let mut body = paragraph(&format!(
            "How much each unit's outcome would differ between the low treatment ({}) and the high one ({}): above 0, the high \
             treatment gives more.{}",
            dose(&question.treatments, &question.from),
            dose(&question.treatments, &question.to),
            self.means_note(),
        ));
        body += &self.flags();
        body += &legend(self.report.classes.len());
        let card = |outcome: &OutcomeEffects| {
            let (spread, averages) = (self.spread(outcome), self.averages(&outcome.name));
            let line = paragraph(&self.effect_line(&outcome.name));
            format!("<div class=\"card\">{line}{spread}{averages}</div>")
        };
        let cards: String = effects.outcomes.iter().map(card).collect();
        body += &format!("<div class=\"grid2\">{cards}</div>");
        if effects.outcomes.len() < question.outcomes.len() {
            let all: Vec<&AverageEffect> =
                effects.averages.iter().filter(|average| average.group == "all").collect();
            let rows: Vec<Vec<String>> = all.iter().map(|average| row(&average.outcome, average)).collect();
            let numbers = table(&["outcome", "units", "effect", "lower", "upper"], &rows);
            body += &format!(
                "<details><summary>Average effects on all {} outcomes</summary>{numbers}</details>",
                rows.len()
            );
        }
        section("effects", "Effects of the high treatment against the low one", &body)
    }

    /// How many of these answers are to be relied on.
    fn flags(&self) -> String {
        let effects = &self.report.effects;
        let flags = [
            (effects.off_support, "because no unit like them got such a treatment (off_support)"),
            (effects.ambiguous_class, "because their class is not clear (ambiguous_class)"),
            (
                effects.starts_disagree,
                "because another solution fits as well and answers otherwise (starts_disagree)",
            ),
        ];
        let against: Vec<String> = flags
            .iter()
            .filter(|(units, _)| *units > 0)
            .map(|(units, why)| format!("{} {why}", count(*units)))
            .collect();
        let all = self.report.data.units;
        paragraph(&match against.is_empty() {
            true => format!("Nothing speaks against the answers for all {}.", counted(all, "unit")),
            false => format!(
                "Nothing speaks against the answers for {} of {}. Flagged: {}.",
                count(effects.ok),
                counted(all, "unit"),
                against.join("; ")
            ),
        })
    }

    fn spread(&self, outcome: &OutcomeEffects) -> String {
        let histogram = &outcome.histogram;
        let bins = histogram.counts[0].len();
        let total = |i: usize| histogram.counts.iter().map(|counts| counts[i]).sum::<usize>();
        let most = (0..bins).map(total).max().unwrap_or(1) as f64;
        let ends = (histogram.low, histogram.high);
        let title = format!("effect on {}", short(&outcome.name));
        let mut chart = Chart::new(ends, (0.0, 1.05 * most), &title, "units");
        let step = (histogram.high - histogram.low) / bins as f64;
        let mut rows = Vec::new();
        for i in 0..bins {
            let (from, to) = (histogram.low + i as f64 * step, histogram.low + (i + 1) as f64 * step);
            let mut foot = 0;
            let mut row = vec![format!("{} to {}", number(from), number(to))];
            for (k, counts) in histogram.counts.iter().enumerate() {
                if counts[i] > 0 {
                    let top = foot + counts[i];
                    chart.bar(&format!("k{}", colour(k)), (from, foot as f64), (to, top as f64));
                    foot = top;
                }
                row.push(count(counts[i]));
            }
            chart.hit(from, to, &format!("{}: {}", row[0], counted(foot, "unit")));
            rows.push(row);
        }
        if histogram.low < 0.0 && histogram.high > 0.0 {
            chart.rule(0.0, "no effect");
        }
        let names: Vec<String> = (0..histogram.counts.len()).map(|k| format!("class {k}")).collect();
        let head: Vec<&str> = std::iter::once("effect").chain(names.iter().map(String::as_str)).collect();
        let caption = format!(
            "How many units would be changed by how much. For {} of units {} would be higher.",
            percent(outcome.higher),
            short(&outcome.name)
        );
        let drawing = chart.finish(&format!("Histogram of the effects on {}", outcome.name));
        figure(&drawing, &caption, &table(&head, &rows))
    }

    fn averages(&self, outcome: &str) -> String {
        let all = self.report.data.units;
        let kept = |a: &&AverageEffect| a.outcome == outcome && !(a.group == "ok" && a.units == all);
        let averages: Vec<&AverageEffect> = self.report.effects.averages.iter().filter(kept).collect();
        // with one class, it is all units
        let averages = if self.report.classes.len() == 1 {
            &averages[..averages.len().saturating_sub(1)]
        } else {
            &averages[..]
        };
        let names: Vec<String> = averages.iter().map(|a| group(a)).collect();
        let ends = span(averages.iter().flat_map(|a| [a.lower, a.upper, 0.0]));
        let mut chart = Chart::rows(ends, &names, "average effect with its interval");
        let mut rows = Vec::new();
        for (i, average) in averages.iter().enumerate() {
            let class = match average.group.strip_prefix("class ").and_then(|k| k.parse().ok()) {
                Some(k) => format!("k{}", colour(k)),
                None => "ink".to_owned(),
            };
            let at = i as f64;
            chart.line(&class, [(average.lower, at), (average.upper, at)].into_iter());
            chart.dot(&format!("dot {class}"), average.effect, at, 5.0);
            let [effect, low, high] = [average.effect, average.lower, average.upper].map(number);
            chart.hit_row(i, &format!("{}: {effect} ({low} to {high})", names[i]));
            rows.push(row(&names[i], average));
        }
        chart.line("faint dashed", [(0.0, -0.5), (0.0, averages.len() as f64 - 0.5)].into_iter());
        let caption =
            "Average effects. Where an interval crosses the dashed line at 0, the direction is not sure.";
        let drawing = chart.finish(&format!("Average effects on {outcome}, by group of units"));
        figure(&drawing, caption, &table(&["group", "units", "effect", "lower", "upper"], &rows))
    }
}

fn group(average: &AverageEffect) -> String {
    match &average.group[..] {
        "all" => "all units".to_owned(),
        "ok" => "not flagged".to_owned(),
        class => class.to_owned(),
    }
}

fn row(name: &str, average: &AverageEffect) -> Vec<String> {
    let AverageEffect { effect, lower, upper, .. } = *average;
    vec![name.to_owned(), count(average.units), number(effect), number(lower), number(upper)]
}
