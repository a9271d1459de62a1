//! Whether units that received different treatments are alike in their covariates.

use cfqp::report::{Balance, BalanceMeasure};
use maud::{Markup, html};

use super::Page;
use super::elements::{figure, table, treatment_text};
use crate::chart::Chart;
use crate::format::format_count;

/// Differences below this are usually taken for small.
const SMALL: f64 = 0.1;

impl Page<'_> {
    /// The balance before and after weighting as a card; nothing if it could not be computed.
    pub(super) fn balance(&self) -> Markup {
        let Some(balance) = self.report.balance.as_ref().filter(|own| !own.covariates.is_empty()) else {
            return html! {};
        };
        let names: Vec<String> = balance.covariates.iter().map(|own| own.name.clone()).collect();
        let has_weights = balance.covariates.iter().all(|own| own.after.is_some());
        let values = balance.covariates.iter().flat_map(|own| [own.before, own.after.unwrap_or(0.0)]);
        let end = 1.1 * values.map(f64::abs).fold(2.0 * SMALL, f64::max);
        let title = match balance.measure {
            BalanceMeasure::MeanDifference => "difference of means (standard deviations)",
            BalanceMeasure::Correlation => "correlation with the treatment",
        };
        let mut chart = Chart::with_rows((-end, end), &names, title);
        let rows_end = names.len() as f64 - 0.5;
        for at in [-SMALL, SMALL] {
            chart.line("faint dashed thin", [(at, -0.5), (at, rows_end)].into_iter());
        }
        chart.line("faint thin", [(0.0, -0.5), (0.0, rows_end)].into_iter());
        let mut rows = Vec::new();
        for (i, own) in balance.covariates.iter().enumerate() {
            chart.circle("ring ink", own.before, i as f64, 5.0);
            let mut row = vec![own.name.clone(), format!("{:.2}", own.before)];
            let mut tip = format!("{}: {:.2} as observed", own.name, own.before);
            if let Some(after) = own.after {
                chart.circle("dot accent", after, i as f64, 5.0);
                tip += &format!(", {after:.2} weighted");
                row.push(format!("{after:.2}"));
            }
            chart.row_tooltip(i, &tip);
            rows.push(row);
        }
        let mut head = vec!["covariate", "as observed"];
        head.extend(has_weights.then_some("weighted"));
        let drawing =
            chart.into_svg("How much each covariate goes with the treatment, as observed and weighted");
        let caption = format!(
            "{} Dashed lines: \u{b1}0.1, below which differences are usually taken for small.",
            match balance.covariates.len() < balance.count {
                true =>
                    format!("The {} of {} covariates with the largest values.", names.len(), balance.count),
                false => String::new(),
            }
        );
        html! {
            div.card {
                h3 { "Were the units alike before the treatment?" }
                p { (self.balance_sentence(balance)) }
                p.legend {
                    span.ink { i.open {} "as observed" }
                    @if has_weights { span.accent { i {} "weighted" } }
                }
                (figure(&drawing, caption.trim(), Some(&table(&head, &rows))))
            }
        }
    }

    fn balance_sentence(&self, balance: &Balance) -> String {
        let question = &self.report.question;
        let first = &balance.covariates[0].name;
        let largest = |at: f64| format!("{at:.2}");
        let (before, after) = balance.largest();
        let what = match (balance.measure, &balance.units[..]) {
            (BalanceMeasure::MeanDifference, [from, to]) => format!(
                "{} units received {} and {} received {}.",
                format_count(*from),
                treatment_text(&question.treatments, &question.from),
                format_count(*to),
                treatment_text(&question.treatments, &question.to),
            ),
            _ => "A covariate that goes with the amount received may explain part of what is observed."
                .to_owned(),
        };
        let observed = match before < SMALL {
            true => format!("They were alike: the largest difference is {}.", largest(before)),
            false => {
                let by = match balance.measure {
                    BalanceMeasure::MeanDifference => "difference",
                    BalanceMeasure::Correlation => "correlation",
                };
                format!("The largest {by} is {} ({first}).", largest(before))
            }
        };
        let observed = match balance.measure {
            BalanceMeasure::Correlation if before < SMALL => {
                format!("None does clearly: the largest correlation is {}.", largest(before))
            }
            _ => observed,
        };
        let weighted = match after {
            None => String::new(),
            Some(after) if before < SMALL && after < SMALL => String::new(),
            Some(after) => {
                let remark =
                    if after < SMALL { "small" } else { "not small: the average effect rests on the model" };
                format!(
                    " With units weighted by the inverse of the probability of the treatment that they received, the largest is {}, \
                     {remark}.",
                    largest(after)
                )
            }
        };
        format!("{what} {observed}{weighted}")
    }
}
