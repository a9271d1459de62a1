//! The beginning of a report: the answer in short, what was asked, and the data at a glance.

use cfqp::{Grade, TreatmentGlance};

use super::Page;
use super::chart::Chart;
use super::text::{dose, escape, figure, number, paragraph, section, short, table};
use crate::table::{count, counted, percent, plain};

impl Page<'_> {
    /// The answer in short.
    pub(super) fn short(&self) -> String {
        let report = self.report;
        let mut lines: Vec<String> =
            report.effects.outcomes.iter().take(3).map(|o| self.effect_line(&o.name)).collect();
        lines.dedup();
        lines.push(match report.classes.len() {
            1 => "The data support one class of units: all respond by the same rule.".to_owned(),
            k => format!("The data hold {k} hidden classes of units that respond differently; see below who is in them."),
        });
        let worst = report.verdicts.iter().map(|verdict| verdict.grade).max().unwrap_or(Grade::Ok);
        lines.push(match worst {
            Grade::Ok => "Nothing that data can check speaks against these answers.".to_owned(),
            Grade::Doubtful => {
                "Some assumptions are doubtful: read \u{201c}Can I trust it?\u{201d} before you act on this."
                    .to_owned()
            }
            Grade::Failed => "An assumption failed: do not rely on these answers.".to_owned(),
        });
        let items: String = lines.iter().map(|line| format!("<li>{}</li>", escape(line))).collect();
        format!("<div class=\"short\"><h3>In short</h3><ul>{items}</ul></div>\n")
    }

    /// The average effect on an outcome in a sentence.
    pub(super) fn effect_line(&self, outcome: &str) -> String {
        let (question, effects) = (&self.report.question, &self.report.effects);
        let Some(all) = effects.averages.iter().find(|a| a.outcome == outcome && a.group == "all") else {
            return String::new();
        };
        if question.from == question.to {
            let both = dose(&question.treatments, &question.from);
            return format!(
                "The low and the high treatment are the same ({both}): name two by --from and --to."
            );
        }
        let direction = match () {
            () if all.lower > 0.0 => "raise",
            () if all.upper < 0.0 => "lower",
            () => "change",
        };
        let size = if direction == "change" { all.effect } else { all.effect.abs() };
        let unsure =
            if direction == "change" { "; the interval holds 0, so the direction is not sure" } else { "" };
        format!(
            "Going from {} to {} would {direction} {outcome} by {} on average (the effect lies between {} and {} at level {}{unsure}).",
            dose(&question.treatments, &question.from),
            dose(&question.treatments, &question.to),
            number(size),
            number(all.lower),
            number(all.upper),
            plain(question.ask.level),
        )
    }

    /// What was asked.
    pub(super) fn asked(&self) -> String {
        let (question, classes) = (&self.report.question, self.report.classes.len());
        let noise = match question.ask.rho {
            rho if rho >= 1.0 => {
                "everything else about it being equal, its own luck included (rho 1)".to_owned()
            }
            rho if rho <= 0.0 => "its luck being drawn anew (rho 0)".to_owned(),
            rho => format!("part of its luck being the same (rho {})", plain(f64::from(rho))),
        };
        let hidden = match classes {
            1 => "The model has one class: every unit responds by the same rule.".to_owned(),
            k => format!(
                "Units are taken to be of one of {k} classes that respond in their own ways. Nobody recorded the class of a unit: \
                 it is inferred from what the unit showed."
            ),
        };
        let first = format!(
            "Each unit got a treatment ({}) and showed an outcome ({}). What would it have shown under a low treatment \
             ({}) or a high one ({}), {noise}?",
            question.treatments.join(", "),
            listed(&question.outcomes),
            dose(&question.treatments, &question.from),
            dose(&question.treatments, &question.to),
        );
        let bands = format!(
            "Every answer comes with an interval at level {}. An answer that should not be relied on is flagged, with the reason.",
            plain(question.ask.level)
        );
        section("asked", "What was asked", &[first, hidden, bands].map(|text| paragraph(&text)).concat())
    }

    /// The data at a glance.
    pub(super) fn glance(&self) -> String {
        let data = &self.report.data;
        let looked = if data.units < self.units {
            format!(" Averages and plots rest on an even sample of {} of them.", count(data.units))
        } else {
            String::new()
        };
        let missing = match (data.x_missing, data.y_missing) {
            (x, y) if x == 0.0 && y == 0.0 => "Nothing is missing.".to_owned(),
            (x, y) => {
                format!("{} of the covariates and {} of the outcomes are missing.", percent(x), percent(y))
            }
        };
        let mut body =
            paragraph(&format!("{} can be asked about.{looked} {missing}", counted(self.units, "unit")));
        for dropped in self.dropped {
            let units = counted(dropped.units, "unit");
            body += &paragraph(&format!("{units} not used: {} (first: {}).", dropped.why, dropped.first));
        }
        let figures: String = data.treatments.iter().take(4).map(|t| self.treatment(t)).collect();
        body += &format!("<div class=\"grid2\">{figures}<div>{}</div></div>", self.outcome_ranges());
        section("data", "The data at a glance", &body)
    }

    fn treatment(&self, treatment: &TreatmentGlance) -> String {
        let histogram = &treatment.histogram;
        let most = histogram.counts[0].iter().max().copied().unwrap_or(1) as f64;
        let mut chart =
            Chart::new((histogram.low, histogram.high), (0.0, 1.05 * most), &treatment.name, "units");
        let step = (histogram.high - histogram.low) / histogram.counts[0].len() as f64;
        let mut rows = Vec::new();
        for (i, &units) in histogram.counts[0].iter().enumerate() {
            let (from, to) = (histogram.low + i as f64 * step, histogram.low + (i + 1) as f64 * step);
            let place = format!("{} to {}", number(from), number(to));
            chart.bar("accent", (from, 0.0), (to, units as f64));
            chart.hit(from, to, &format!("{place}: {}", counted(units, "unit")));
            rows.push(vec![place, count(units)]);
        }
        let name = &treatment.name;
        let [low, mean, high] = treatment.range.map(number);
        let caption =
            format!("{name}: how many units got how much. From {low} to {high}, {mean} on average.");
        let drawing = chart.finish(&format!("Histogram of {name}: from {low} to {high}, mean {mean}"));
        figure(&drawing, &caption, &table(&[&short(name), "units"], &rows))
    }

    fn outcome_ranges(&self) -> String {
        let outcomes = &self.report.data.outcomes;
        let row = |o: &cfqp::OutcomeGlance| {
            let [low, mean, high] = o.range.map(number);
            vec![o.name.clone(), count(o.elements), low, mean, high]
        };
        let head = ["outcome", "values per unit", "least", "mean", "greatest"];
        let first: Vec<Vec<String>> = outcomes.iter().take(12).map(row).collect();
        let mut body = table(&head, &first);
        if outcomes.len() > 12 {
            let rest: Vec<Vec<String>> = outcomes.iter().skip(12).map(row).collect();
            let summary = format!("{} further outcomes", rest.len());
            body += &format!("<details><summary>{summary}</summary>{}</details>", table(&head, &rest));
        }
        body + "<p class=\"soft\">What units showed under the treatments they got.</p>"
    }
}

/// The first few names, and how many there are.
fn listed(names: &[String]) -> String {
    match names.len() {
        0..=6 => names.join(", "),
        n => format!("{}, \u{2026}: {n} in all", names[..4].join(", ")),
    }
}
