//! Units one by one: what they showed and would have shown, as lines, as pictures or as intervals.

use cfqp::{Form, UnitCurve, UnitSummary};

use super::Page;
use super::chart::{Chart, span};
use super::text::{colour, dose, escape, figure, number, paragraph, section, short, table};
use crate::table::plain;

/// Points of a series that feel the pointer and stand in its table, at most about.
const POINTS: usize = 60;
/// Outcomes that are drawn for one unit, at most.
const DRAWN: usize = 4;

impl Page<'_> {
    pub(super) fn units(&self) -> String {
        let units = &self.report.units;
        let intro = paragraph(&format!(
            "What single units showed, and what they would have shown under the low or the high treatment, whichever is farther \
             from what they got; with intervals at level {}. The colour of a class stands for what would have been, black (or white) for what was.",
            plain(self.report.question.ask.level)
        ));
        let cards: String = units.iter().map(|unit| self.unit(unit)).collect();
        section(
            "units",
            "Units of interest",
            &format!("{intro}<div class=\"chooser\" id=\"chooser\"></div>{cards}"),
        )
    }

    fn unit(&self, unit: &UnitSummary) -> String {
        let names = &self.report.question.treatments;
        let class = match self.report.classes.len() {
            1 => String::new(),
            _ => format!(
                " It is of class {} with a probability of {:.2}.",
                unit.class, unit.posterior[unit.class]
            ),
        };
        let told = format!(
            "It got {} and is asked about {}.{class} {}",
            dose(names, &unit.t),
            dose(names, &unit.to),
            meaning(&unit.flag)
        );
        let badge = if unit.flag == "ok" { ("ok", "ok") } else { ("doubtful", "flagged") };
        let drawings = match self.report.data.y_shape.len() {
            3 => self.images(unit),
            _ if self.report.data.outcomes.iter().any(|outcome| outcome.elements > 1) => self.series(unit),
            _ => self.intervals(unit),
        };
        let own: String = unit.curves.iter().take(DRAWN).map(|curve| self.unit_curve(unit, curve)).collect();
        format!(
            "<article class=\"card unit\" data-name=\"{name}\"><h3><span class=\"badge {}\">{}</span>Unit {id} <span class=\"soft\">({why})</span></h3>\
             {told}{drawings}<h3>Its dose curve</h3><div class=\"grid2\">{own}</div></article>",
            badge.0,
            badge.1,
            name = escape(&format!("{} ({})", unit.id, unit.why)),
            id = escape(&unit.id),
            why = escape(&unit.why),
            told = paragraph(&told),
        )
    }

    /// Outcomes over time, what came before them, and their bands.
    fn series(&self, unit: &UnitSummary) -> String {
        let mut start = 0;
        let mut figures = String::new();
        for (o, outcome) in self.report.data.outcomes.iter().enumerate() {
            let own = start..start + outcome.elements;
            start = own.end;
            if self.is_drawn(&outcome.name) && figures.matches("<figure").count() < DRAWN {
                let before = self.before(unit, o);
                figures += &self.lines(unit, &outcome.name, own, before, "time since the treatment");
            }
        }
        format!("{}<div class=\"grid2\">{figures}</div>", key(unit))
    }

    fn is_drawn(&self, outcome: &str) -> bool {
        self.report.curves.outcomes.iter().any(|drawn| drawn.name == outcome)
    }

    /// The same series before the treatment, where a table of samples has it.
    fn before(&self, unit: &UnitSummary, outcome: usize) -> Vec<(f64, f64)> {
        let Some(Form::Long(long)) = self.report.model.layout.as_ref().map(|layout| &layout.form) else {
            return Vec::new();
        };
        let channel = long.series.iter().position(|name| *name == long.outcomes[outcome]);
        let (points, _) = long.grid.points();
        let at = |channel: usize, i: usize| unit.before[channel * points + i].map_or(f64::NAN, f64::from);
        let time = |i: usize| (long.grid.x.0 + i as i64) as f64 * long.grid.step;
        channel.map_or(Vec::new(), |channel| (0..points).map(|i| (time(i), at(channel, i))).collect())
    }

    /// Where element `i` of an outcome stands on the axis.
    fn time(&self, i: usize) -> f64 {
        match self.report.model.layout.as_ref().map(|layout| &layout.form) {
            Some(Form::Long(long)) => (long.grid.y.0 + i as i64) as f64 * long.grid.step,
            _ => i as f64,
        }
    }

    /// Elements `own` of the outcome as lines.
    fn lines(
        &self,
        unit: &UnitSummary,
        name: &str,
        own: std::ops::Range<usize>,
        before: Vec<(f64, f64)>,
        x_title: &str,
    ) -> String {
        let x_title = if before.is_empty() && x_title.starts_with("time") { "step" } else { x_title };
        let would = hue(unit);
        let factual = |i: usize| unit.factual[own.start + i].map_or(f64::NAN, f64::from);
        let of = |values: &[f32], i: usize| f64::from(values[own.start + i]);
        let n = own.len();
        let band: Vec<(f64, f64, f64)> =
            (0..n).map(|i| (self.time(i), of(&unit.lower, i), of(&unit.upper, i))).collect();
        let all = band.iter().flat_map(|(_, low, high)| [*low, *high]);
        let y = span(all.chain((0..n).map(factual)).chain(before.iter().map(|(_, value)| *value)));
        let first = before.first().map_or(self.time(0), |(time, _)| *time);
        let mut chart = Chart::new((first, self.time(n - 1)), y, x_title, name);
        if !before.is_empty() {
            chart.rule(0.0, "treatment");
        }
        chart.line("faint", before.into_iter());
        chart.band(&would, &band);
        chart.line("ink", (0..n).map(|i| (self.time(i), factual(i))));
        chart.line(&would, (0..n).map(|i| (self.time(i), of(&unit.answer, i))));
        let mut rows = Vec::new();
        let step = n.div_ceil(POINTS);
        let half = 0.5 * (self.time(step) - self.time(0));
        for i in (0..n).step_by(step) {
            let time = plain(self.time(i));
            let [was, would, low, high] =
                [factual(i), of(&unit.answer, i), of(&unit.lower, i), of(&unit.upper, i)].map(number);
            let tip = format!("at {time}\nshowed {was}\nwould have shown {would}\n({low} to {high})");
            chart.hit(self.time(i) - half, self.time(i) + half, &tip);
            rows.push(vec![time, was, would, low, high]);
        }
        let drawing =
            chart.finish(&format!("{name} of unit {}: factual and counterfactual with its band", unit.id));
        let head = ["at", "showed", "would have shown", "lower", "upper"];
        let to = dose(&self.report.question.treatments, &unit.to);
        let caption = format!("{}: what was, and what would have been under {to}.", short(name));
        figure(&drawing, &caption, &table(&head, &rows))
    }

    /// Single values as dots with intervals, each on its own scale.
    fn intervals(&self, unit: &UnitSummary) -> String {
        let outcomes = &self.report.data.outcomes;
        let mut figures = String::new();
        for (o, outcome) in outcomes.iter().enumerate().filter(|(_, outcome)| self.is_drawn(&outcome.name)) {
            let was = unit.factual[o].map_or(f64::NAN, f64::from);
            let [would, low, high] = [unit.answer[o], unit.lower[o], unit.upper[o]].map(f64::from);
            let names = ["showed", "would have shown"].map(str::to_owned);
            // wide enough for the interval to be seen, and no wider
            let (least, most) = span([low, high, was].into_iter());
            let margin = 0.1 * (most - least);
            let mut chart = Chart::rows((least - margin, most + margin), &names, &outcome.name);
            chart.dot("dot ink", was, 0.0, 5.0);
            chart.bar(&format!("pale {}", hue(unit)), (low, 0.75), (high, 1.25));
            chart.dot(&format!("dot {}", hue(unit)), would, 1.0, 5.0);
            let [was, would, low, high] = [was, would, low, high].map(number);
            chart.hit_row(0, &format!("showed {was}"));
            chart.hit_row(1, &format!("would have shown {would} ({low} to {high})"));
            let label = format!(
                "{} of unit {}: factual, and counterfactual with its interval",
                outcome.name, unit.id
            );
            let caption =
                format!("{}: showed {was}, would have shown {would} ({low} to {high})", short(&outcome.name));
            figures += &figure(&chart.finish(&label), &caption, "");
        }
        let drawn = self.report.curves.outcomes.len();
        let profile = match outcomes.len() > drawn {
            true => self.lines(
                unit,
                "all outcomes, by their number",
                0..outcomes.len(),
                Vec::new(),
                "number of the outcome",
            ),
            false => String::new(),
        };
        format!("{}<div class=\"grid2\">{profile}{figures}</div>", key(unit))
    }

    fn unit_curve(&self, unit: &UnitSummary, curve: &UnitCurve) -> String {
        let (axis, would) = (self.dose_axis(), hue(unit));
        let mut chart = Chart::new(
            axis.ends(),
            span(curve.lower.iter().chain(&curve.upper).copied()),
            &axis.title,
            &curve.name,
        );
        let ends = curve.lower.iter().zip(&curve.upper);
        let band: Vec<(f64, f64, f64)> =
            axis.places.iter().zip(ends).map(|(x, (low, high))| (*x, *low, *high)).collect();
        chart.band(&would, &band);
        chart.line(&would, axis.places.iter().copied().zip(curve.mean.iter().copied()));
        if let ([t], [_]) = (&unit.t[..], &self.report.question.treatments[..]) {
            chart.rule(f64::from(*t), "got");
        }
        let mut rows = Vec::new();
        for (i, (_, low, high)) in band.iter().enumerate() {
            let [mean, low, high] = [curve.mean[i], *low, *high].map(number);
            let (from, to) = axis.around(i);
            chart.hit(from, to, &format!("{}: {mean} ({low} to {high})", axis.name(i)));
            rows.push(vec![axis.name(i), mean, low, high]);
        }
        let drawing = chart.finish(&format!("Dose curve of unit {} for {}", unit.id, curve.name));
        let caption = format!("{} under each treatment", short(&curve.name));
        figure(&drawing, &caption, &table(&["treatment", "answer", "lower", "upper"], &rows))
    }
}

/// The colour of a unit's answers: that of its class.
fn hue(unit: &UnitSummary) -> String {
    format!("k{}", colour(unit.class))
}

/// What the colours of a unit's drawings mean.
fn key(unit: &UnitSummary) -> String {
    format!(
        "<p class=\"legend\"><span class=\"ink\"><i></i>showed</span>\
         <span class=\"{}\"><i></i>would have shown, with its band</span></p>",
        hue(unit)
    )
}

/// What a flag means for whoever relies on the answer.
fn meaning(flag: &str) -> String {
    if flag == "ok" {
        return "Nothing speaks against the answer.".to_owned();
    }
    let one = |flag: &str| match flag {
        "off_support" => "no unit like it got such a treatment",
        "ambiguous_class" => "its class is not clear",
        _ => "another solution fits as well and answers otherwise",
    };
    format!("Be careful: {}.", flag.split('|').map(one).collect::<Vec<_>>().join("; "))
}
