//! The verdict on each assumption: a sentence, its figure and a plot.

use std::fmt::Write as _;

use cfqp::{Grade, Verdict};

use super::Page;
use super::chart::{Chart, span};
use super::text::{escape, figure, paragraph, section, table};
use crate::table::{counted, percent, plain};

impl Page<'_> {
    pub(super) fn trust(&self) -> String {
        let mut body = paragraph(
            "The answers rest on assumptions. What data can say about each is below: ok, doubtful or failed.",
        );
        body += "<div class=\"grid2\">";
        for verdict in &self.report.verdicts {
            body += &self.verdict(verdict);
        }
        body += "<div class=\"card\"><h3>What no data can check</h3><ul>\
                 <li>That no hidden cause drives both the treatment and the outcome, beside what was recorded. If treatments were \
                 given for reasons that are not in the data, the effects may be wrong however good the figures above are.</li>\
                 <li>How much of a unit's luck would have been the same under the other treatment (rho).</li>\
                 <li>That future units will be like these.</li></ul></div></div>";
        section("trust", "Can I trust it?", &body)
    }

    fn verdict(&self, verdict: &Verdict) -> String {
        let (class, word) = match verdict.grade {
            Grade::Ok => ("ok", "ok"),
            Grade::Doubtful => ("doubtful", "doubtful"),
            Grade::Failed => ("failed", "failed"),
        };
        let (question, plot) = match verdict.name {
            "separation" => ("Can the classes be told apart?", self.separation()),
            "overlap" => ("Did similar units get other treatments?", self.overlap()),
            "agreement of starts" => ("Do other starts lead to the same answers?", self.starts()),
            "calibration" => ("Do intervals hold what they promise?", self.calibration()),
            _ => ("Is the number of classes right?", self.number_of_classes()),
        };
        let mut sentence = verdict.sentence.clone();
        if let Some(first) = sentence.get(..1).map(str::to_uppercase) {
            sentence.replace_range(..1, &first);
        }
        let three = |value: f64| plain((1000.0 * value).round() / 1000.0);
        let (sound, failed) = (three(verdict.limits.0), three(verdict.limits.1));
        let figure = format!("Figure: {}; sound from {sound}, failed below {failed}.", three(verdict.figure));
        format!(
            "<div class=\"card\" data-verdict=\"{name}\"><h3><span class=\"badge {class}\">{word}</span>{question}</h3><p>{sentence}. \
             <span class=\"soft\">{figure}</span></p>{plot}</div>",
            name = escape(verdict.name),
            sentence = escape(&sentence),
        )
    }

    fn separation(&self) -> String {
        if self.report.classes.len() < 2 {
            return String::new();
        }
        let counts = &self.report.evidence.certainty.counts[0];
        let most = counts.iter().max().copied().unwrap_or(1) as f64;
        let mut chart =
            Chart::new((0.0, 1.0), (0.0, 1.05 * most), "probability of the likeliest class", "units");
        let mut rows = Vec::new();
        for (i, &units) in counts.iter().enumerate() {
            let (from, to) = (i as f64 / 10.0, (i + 1) as f64 / 10.0);
            let place = format!("{from:.1} to {to:.1}");
            chart.bar("accent", (from, 0.0), (to, units as f64));
            chart.hit(from, to, &format!("{place}: {}", counted(units, "unit")));
            rows.push(vec![place, units.to_string()]);
        }
        let caption = "Bars to the right: the class of most units is clear. Bars further left: units that may be of either class.";
        let drawing = chart.finish("Histogram of how probable the likeliest class of each unit is");
        figure(&drawing, caption, &table(&["probability", "units"], &rows))
    }

    fn overlap(&self) -> String {
        let (axis, shares) = (self.dose_axis(), &self.report.evidence.overlap);
        let mut chart = Chart::new(axis.ends(), (0.0, 1.05), &axis.title, "share of units");
        let points: Vec<(f64, f64, f64)> =
            axis.places.iter().zip(shares).map(|(x, s)| (*x, 0.0, *s)).collect();
        chart.band("accent", &points);
        chart.line("accent", points.iter().map(|(x, _, share)| (*x, *share)));
        axis.mark(&mut chart);
        let mut rows = Vec::new();
        for (i, share) in shares.iter().enumerate() {
            let (from, to) = axis.around(i);
            chart.hit(from, to, &format!("{}: seen near {} of units", axis.name(i), percent(*share)));
            rows.push(vec![axis.name(i), percent(*share)]);
        }
        let caption = "For how many units was such a treatment seen in units like them? Where the line is low, answers are \
                       guesses beyond the data and are flagged.";
        let drawing = chart.finish("Share of units near which each treatment was seen");
        figure(&drawing, caption, &table(&[&axis.title, "share of units"], &rows))
    }

    fn starts(&self) -> String {
        let mut starts: Vec<(String, f64)> = Vec::new();
        // a start that was tried with both kinds of sharing counts by its better try, which comes first
        for start in &self.report.model.fit.starts {
            if starts.iter().all(|(name, _)| name != start.start.name()) {
                starts.push((start.start.name().to_owned(), start.agreement));
            }
        }
        if starts.is_empty() {
            return paragraph("There is one class, or one start: nothing to compare.");
        }
        let names: Vec<String> = starts.iter().map(|(name, _)| name.clone()).collect();
        let mut chart = Chart::rows((0.0, 1.0), &names, "agreement with the best start");
        let mut rows = Vec::new();
        for (i, (name, agreement)) in starts.iter().enumerate() {
            let at = i as f64;
            chart.bar("accent", (0.0, at - 0.3), (agreement.clamp(0.0, 1.0), at + 0.3));
            chart.hit_row(i, &format!("{name}: {agreement:.2}"));
            rows.push(vec![name.clone(), format!("{agreement:.2}")]);
        }
        let caption = "The search for classes was begun in several ways, best first. 1: the same classes as the best; 0: no more alike \
                       than by chance.";
        let drawing = chart.finish("How far each start agrees with the best on the classes");
        figure(&drawing, caption, &table(&["start", "agreement"], &rows))
    }

    fn calibration(&self) -> String {
        let points = &self.report.evidence.calibration;
        let least = points.iter().map(|(level, held)| level.min(*held)).fold(0.5, f64::min);
        let low = (10.0 * least).floor() / 10.0 - 0.02;
        let mut chart = Chart::new((low, 1.0), (low, 1.02), "level promised", "share held");
        chart.line("faint dashed", [(low, low), (1.0, 1.0)].into_iter());
        chart.line("accent", points.iter().copied());
        let mut rows = Vec::new();
        for &(level, held) in points {
            chart.dot("dot accent", level, held, 4.0);
            chart.hit(
                level - 0.025,
                level + 0.025,
                &format!("promised {}, held {}", percent(level), percent(held)),
            );
            rows.push(vec![percent(level), percent(held)]);
        }
        let caption = "Intervals for outcomes that were seen, the noise drawn anew. On the dashed line they hold exactly what they \
                       promise; below it they are too narrow, above it wider than need be.";
        let drawing = chart.finish("Share of seen outcomes that intervals hold, against the level promised");
        figure(&drawing, caption, &table(&["promised", "held"], &rows))
    }

    fn number_of_classes(&self) -> String {
        let tried = &self.report.model.fit.tried;
        let most = tried.iter().map(|tried| tried.classes).max().unwrap_or(0);
        if tried.iter().filter(|tried| tried.priced().is_finite()).count() < 2 {
            return paragraph("The number of classes was given, not chosen: others were not compared.");
        }
        let y = span(tried.iter().map(cfqp::Tried::priced));
        let mut chart = Chart::new(
            (0.7, most as f64 + 0.3),
            y,
            "number of classes",
            "misfit of held-out units, with prices",
        );
        let mut bases: Vec<&str> = Vec::new();
        for one in tried {
            if !bases.contains(&&one.base[..]) {
                bases.push(&one.base);
            }
        }
        let mut legend = String::new();
        for (i, base) in bases.iter().enumerate() {
            let class = format!("k{}", i % 8);
            let own = || tried.iter().filter(|tried| tried.base == *base);
            chart.line(&class, own().map(|tried| (tried.classes as f64, tried.priced())));
            for tried in own() {
                chart.dot(&format!("dot {class}"), tried.classes as f64, tried.priced(), 4.0);
                if tried.chosen {
                    chart.dot(&format!("ring {class}"), tried.classes as f64, tried.priced(), 9.0);
                }
            }
            let _ = write!(legend, "<span class=\"{class}\"><i></i>{}</span>", escape(base));
        }
        for k in 1..=most {
            let at = tried.iter().filter(|tried| tried.classes == k);
            let values: Vec<String> =
                at.map(|tried| format!("{} {:.2}", tried.base, tried.priced())).collect();
            chart.hit(k as f64 - 0.5, k as f64 + 0.5, &format!("{k} classes: {}", values.join(", ")));
        }
        let row = |t: &cfqp::Tried| {
            let mark = if t.chosen { "chosen" } else { "" };
            let (misfit, priced) = (format!("{:.2}", t.evidence), format!("{:.2}", t.priced()));
            vec![t.base.clone(), t.classes.to_string(), misfit, priced, mark.to_owned()]
        };
        let rows: Vec<Vec<String>> = tried.iter().map(row).collect();
        let caption = "How badly each number of classes explains units that were held back, and the price of its classes: lower is \
                       better, and the ring marks the choice. More classes mostly explain a little more; the price is what a class \
                       that is there brings at least.";
        let drawing = chart.finish("Misfit of held-out units for each number of classes");
        let numbers = table(&["base model", "classes", "misfit", "with prices", ""], &rows);
        format!("<p class=\"legend\">{legend}</p>{}", figure(&drawing, caption, &numbers))
    }
}
