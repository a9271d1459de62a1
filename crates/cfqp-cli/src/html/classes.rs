//! The hidden classes, and their dose curves.

use std::fmt::Write as _;

use cfqp::{ClassSummary, OutcomeCurves};

use super::Page;
use super::chart::{Chart, span};
use super::text::{colour, dose, escape, figure, legend, number, paragraph, section, short, table};
use crate::table::{count, percent, plain};

/// Treatments along a dose curve, as an axis: their values, or steps where there are several treatments at once.
pub struct DoseAxis {
    pub places: Vec<f64>,
    pub title: String,
    names: Vec<String>,
    /// The low and the high treatment, where they can be marked.
    marks: Vec<(f64, &'static str)>,
}

impl DoseAxis {
    pub fn ends(&self) -> (f64, f64) {
        (self.places[0], self.places[self.places.len() - 1])
    }

    pub fn name(&self, i: usize) -> String {
        self.names[i].clone()
    }

    /// The values of x nearer to place `i` than to others.
    pub fn around(&self, i: usize) -> (f64, f64) {
        let half = 0.5 * (self.places[1] - self.places[0]);
        (self.places[i] - half, self.places[i] + half)
    }

    /// Mark the low and the high treatment.
    pub fn mark(&self, chart: &mut Chart) {
        self.marks.iter().for_each(|(at, word)| chart.rule(*at, word));
    }
}

impl Page<'_> {
    pub(super) fn dose_axis(&self) -> DoseAxis {
        let (question, grid) = (&self.report.question, &self.report.curves.grid);
        let names = grid.iter().map(|t| dose(&question.treatments, t)).collect();
        let spread = grid[0] != grid[grid.len() - 1];
        if let ([name], true) = (&question.treatments[..], spread) {
            let places = grid.iter().map(|t| f64::from(t[0])).collect();
            let marks = vec![(f64::from(question.from[0]), "low"), (f64::from(question.to[0]), "high")];
            return DoseAxis { places, title: name.clone(), names, marks };
        }
        let places = (0..grid.len()).map(|i| i as f64).collect();
        DoseAxis { places, title: "all treatments, from low to high".to_owned(), names, marks: Vec::new() }
    }

    pub(super) fn classes(&self) -> String {
        let classes = &self.report.classes;
        let mut body = match classes.len() {
            1 => paragraph("There is one class: all units respond by the same rule."),
            _ => paragraph(
                "Classes are found from how units respond, not from a column of the data. The parts of the bar are as wide as the \
                 classes are large.",
            ),
        };
        if classes.len() > 1 {
            body += "<div class=\"shares\" aria-hidden=\"true\">";
            for class in classes {
                let tip = format!("class {}: {}", class.class, percent(class.share));
                let (k, share) = (colour(class.class), class.share.max(0.001));
                let _ =
                    write!(body, "<span class=\"k{k}\" data-tip=\"{tip}\" style=\"flex:{share:.4}\"></span>");
            }
            body += "</div>";
            body += &legend(classes.len());
        }
        let cards: String = classes.iter().map(|class| self.class(class)).collect();
        section("classes", "The classes", &format!("{body}<div class=\"grid2\">{cards}</div>"))
    }

    fn class(&self, class: &ClassSummary) -> String {
        let k = class.class;
        let heading = format!("Class {k}: {} units, {}", count(class.units), percent(class.share));
        let body = if class.units == 0 {
            paragraph("None of these units is likeliest to be of this class.")
        } else {
            format!("{}{}", self.who(class), self.responses(class))
        };
        format!(
            "<div class=\"card k{}\"><h3><span class=\"swatch\"></span>{}</h3>{body}</div>",
            colour(k),
            escape(&heading)
        )
    }

    /// Who is in a class: where its units differ from the others.
    fn who(&self, class: &ClassSummary) -> String {
        if self.report.classes.len() == 1 {
            let row = |c: &cfqp::CovariateMeans| vec![c.name.clone(), number(c.mean)];
            let rows: Vec<Vec<String>> = class.covariates.iter().map(row).collect();
            return format!("<p>Means of its covariates:</p>{}", table(&["covariate", "mean"], &rows));
        }
        let told = class.covariates.iter().find(|c| c.gap.is_finite() && c.gap.abs() >= 0.2);
        let who = match told {
            Some(c) => format!(
                "Who is in it: {} is {} than in the others.",
                c.name,
                match (c.gap > 0.0, c.gap.abs() >= 0.8) {
                    (true, true) => "much higher",
                    (true, false) => "somewhat higher",
                    (false, true) => "much lower",
                    (false, false) => "somewhat lower",
                }
            ),
            None => "Who is in it: its units look like the others before the treatment; only their response differs.".to_owned(),
        };
        let row = |c: &cfqp::CovariateMeans| {
            vec![c.name.clone(), number(c.mean), number(c.others), format!("{:+.2}", c.gap)]
        };
        let rows: Vec<Vec<String>> = class.covariates.iter().map(row).collect();
        let numbers = table(&["covariate", "here", "others", "gap"], &rows);
        format!(
            "{}<details open=\"open\"><summary>Means, here and in the others (gap in standard deviations)</summary>{numbers}</details>",
            paragraph(&who)
        )
    }

    fn responses(&self, class: &ClassSummary) -> String {
        let question = &self.report.question;
        let row = |(name, means): &(String, [f64; 3])| {
            let mut row = vec![name.clone()];
            row.extend(means.map(number));
            row
        };
        let rows: Vec<Vec<String>> = class.responses.iter().map(row).collect();
        let at = [&question.from, &question.middle, &question.to].map(|t| dose(&question.treatments, t));
        let head = ["mean response", "low", "middle", "high"];
        format!(
            "{}<p class=\"soft\">low: {}; middle: {}; high: {}</p>",
            table(&head, &rows),
            escape(&at[0]),
            escape(&at[1]),
            escape(&at[2])
        )
    }

    pub(super) fn curves(&self) -> String {
        let curves = &self.report.curves;
        let mut body = paragraph(&format!(
            "What units of each class would have shown on average, had all of them got the same treatment. The bands are the \
             averages of the units' intervals at level {}.{}",
            plain(self.report.question.ask.level),
            self.means_note(),
        ));
        body += &legend(self.report.classes.len());
        let figures: String = curves
            .outcomes
            .iter()
            .map(|outcome| format!("<div class=\"card\">{}</div>", self.curve(outcome)))
            .collect();
        section("curves", "Dose curves", &format!("{body}<div class=\"grid2\">{figures}</div>"))
    }

    /// What is shown of outcomes that are many, or have many elements.
    pub(super) fn means_note(&self) -> String {
        let (all, drawn) = (&self.report.data.outcomes, self.report.curves.outcomes.len());
        let mut note = String::new();
        if all.iter().any(|outcome| outcome.elements > 1) {
            note += " Of an outcome with several values, their mean is shown.";
        }
        if all.len() > drawn {
            note += &format!(" Of {} outcomes, the {drawn} with the largest effects are drawn.", all.len());
        }
        note
    }

    fn curve(&self, outcome: &OutcomeCurves) -> String {
        let axis = self.dose_axis();
        let all = outcome.classes.iter().flat_map(|curve| curve.lower.iter().chain(&curve.upper));
        let mut chart = Chart::new(axis.ends(), span(all.copied()), &axis.title, &outcome.name);
        for (k, curve) in outcome.classes.iter().enumerate() {
            let ends = axis.places.iter().zip(curve.lower.iter().zip(&curve.upper));
            let band: Vec<(f64, f64, f64)> = ends.map(|(x, (low, high))| (*x, *low, *high)).collect();
            chart.band(&format!("k{}", colour(k)), &band);
        }
        for (k, curve) in outcome.classes.iter().enumerate() {
            let points = axis.places.iter().copied().zip(curve.mean.iter().copied());
            chart.line(&format!("k{}", colour(k)), points);
        }
        axis.mark(&mut chart);
        let mut rows = Vec::new();
        for i in 0..axis.places.len() {
            let said = |(k, curve): (usize, &cfqp::Curve)| {
                let [mean, low, high] = [curve.mean[i], curve.lower[i], curve.upper[i]].map(number);
                format!("class {k}: {mean} ({low} to {high})")
            };
            let lines: Vec<String> = outcome.classes.iter().enumerate().map(said).collect();
            let (from, to) = axis.around(i);
            chart.hit(from, to, &format!("{}\n{}", axis.name(i), lines.join("\n")));
            let mut row = vec![axis.name(i)];
            row.extend(outcome.classes.iter().map(|curve| number(curve.mean[i])));
            rows.push(row);
        }
        let head: Vec<String> = (0..outcome.classes.len()).map(|k| format!("class {k}")).collect();
        let head: Vec<&str> = std::iter::once("treatment").chain(head.iter().map(String::as_str)).collect();
        let drawing = chart.finish(&format!("Dose curve of {} for each class", outcome.name));
        let caption = format!("{}: mean response under each treatment.", short(&outcome.name));
        figure(&drawing, &caption, &table(&head, &rows))
    }
}
