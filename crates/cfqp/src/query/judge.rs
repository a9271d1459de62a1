//! Can a model be trusted on some units? A verdict for each assumption, with its figure.

use serde::Serialize;

use super::answer::{Answers, Ask};
use crate::em::Fitted;
use crate::{Dataset, Result, Units, coverage};

/// Units that are looked at, at most.
const LOOKED_AT: usize = 5000;

/// Least mean agreement of starts on the classes, as an adjusted Rand index.
const ALIKE: f64 = 0.6;

/// A further class that gains more than this share of what the last one gained leaves their number in doubt.
const MUCH: f64 = 0.1;

/// How an assumption fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Nothing speaks against it.
    Ok,
    /// Look at it.
    Doubtful,
    /// Do not rely on it.
    Failed,
}

/// What data say of one assumption.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The assumption.
    pub name: &'static str,
    /// How it fares.
    pub grade: Grade,
    /// The figure it is judged by.
    pub figure: f64,
    /// The figure from which on it counts as sound, and below which as failed.
    pub limits: (f64, f64),
    /// The verdict in words.
    pub sentence: String,
}

impl Verdict {
    fn new(name: &'static str, figure: f64, limits: (f64, f64), sentence: String) -> Self {
        let grade = match figure {
            figure if figure >= limits.0 => Grade::Ok,
            figure if figure >= limits.1 => Grade::Doubtful,
            _ => Grade::Failed,
        };
        Self { name, grade, figure, limits, sentence }
    }
}

impl Fitted {
    /// A verdict on every assumption, as far as `data` and the fit can tell.
    pub fn judge(&self, data: &Dataset, level: f64) -> Result<Vec<Verdict>> {
        let step = data.len().div_ceil(LOOKED_AT);
        let rows: Vec<usize> = (0..data.len()).step_by(step).collect();
        let data = data.pick(&rows)?;
        let factual = self.query(&data, data.t(), &Ask { rho: 0.0, level })?;
        Ok(vec![
            self.separation(&factual),
            self.overlap(&data, level)?,
            self.starts(&data, level)?,
            self.coverage(&data, &factual, level)?,
            self.number_of_classes(),
        ])
    }

    /// Are classes told apart? The share of units with one clearly most probable class.
    fn separation(&self, factual: &Answers) -> Verdict {
        let sure = share(factual.diagnoses.iter().map(|d| !d.ambiguous_class));
        let sentence = match self.classes() {
            1 => "there is one class: nothing has to be told apart".to_owned(),
            k => format!(
                "{:.1}% of units are of one of the {k} classes with a probability of 0.9 or more",
                100.0 * sure
            ),
        };
        Verdict::new("separation", sure, (0.9, 0.7), sentence)
    }

    /// Did similar units get other treatments? The share of units for which low, middle and high treatments were all
    /// seen nearby.
    fn overlap(&self, data: &Dataset, level: f64) -> Result<Verdict> {
        let mut inside = vec![true; data.len()];
        for quantile in [0.1, 0.5, 0.9] {
            let t = quantiles(data.t(), quantile)?;
            let answers = self.query(data, &t, &Ask { rho: 1.0, level })?;
            inside.iter_mut().zip(&answers.diagnoses).for_each(|(inside, d)| *inside &= !d.off_support);
        }
        let share = share(inside.into_iter());
        let sentence = format!(
            "for {:.1}% of units, treatments from the 10th to the 90th percentile were seen in similar units",
            100.0 * share
        );
        Ok(Verdict::new("overlap", share, (0.8, 0.5), sentence))
    }

    /// Do other starts come to the same answers?
    fn starts(&self, data: &Dataset, level: f64) -> Result<Verdict> {
        let t = quantiles(data.t(), 0.5)?;
        let answers = self.query(data, &t, &Ask { rho: 1.0, level })?;
        let same = share(answers.diagnoses.iter().map(|d| !d.starts_disagree));
        let sentence = format!(
            "{:.1}% of answers stay as they are under every solution that held-out units do not rule out \
             (mean agreement of starts on the classes: {:.2})",
            100.0 * same,
            self.report().agreement
        );
        let mut verdict = Verdict::new("agreement of starts", same, (0.9, 0.7), sentence);
        // where most starts come to other classes, the best may be the best by chance
        if self.report().agreement < ALIKE && verdict.grade == Grade::Ok {
            verdict.grade = Grade::Doubtful;
        }
        Ok(verdict)
    }

    /// Do intervals hold what they promise on outcomes that were seen?
    fn coverage(&self, data: &Dataset, factual: &Answers, level: f64) -> Result<Verdict> {
        let held = held(data.y(), &factual.lower, &factual.upper)?;
        let sentence = format!(
            "intervals at level {level} hold {:.1}% of the outcomes that were seen, their noise drawn anew",
            100.0 * held
        );
        let mut verdict = Verdict::new("calibration", held, (level - 0.05, level - 0.15), sentence);
        if held > level + 0.08 && verdict.grade == Grade::Ok && level < 0.92 {
            verdict.grade = Grade::Doubtful;
            verdict.sentence += ": wider than they need be";
        }
        Ok(verdict)
    }

    /// Are there as many classes as held-out units support? The share of the smallest class, 0 where one class would do.
    /// Doubtful, too, where a further class would still gain much of what the last one gained.
    fn number_of_classes(&self) -> Verdict {
        let report = self.report();
        let all: usize = report.class_sizes.iter().sum();
        let least = report.class_sizes.iter().min().copied().unwrap_or(0) as f64 / all.max(1) as f64;
        let one = self.classes() > 1 && report.one_class_suffices;
        let sentence = match self.classes() {
            1 => "held-out units support one class: there is nothing hidden to find".to_owned(),
            k if one => format!("one class explains held-out units as well as {k}: fit with --classes 1"),
            k => format!(
                "held-out units support {k} classes; the smallest holds {:.1}% of units",
                100.0 * least
            ),
        };
        let figure = if one { 0.0 } else { least };
        let mut verdict = Verdict::new("number of classes", figure, (0.05, 0.005), sentence);
        if let Some(share) = self.gain_of_another().filter(|share| *share > MUCH) {
            verdict.grade = verdict.grade.max(Grade::Doubtful);
            let gain = 100.0 * share;
            verdict.sentence += &format!(
                "; a further class would gain {gain:.0}% of what the last one gained: units may differ by degrees"
            );
        }
        verdict
    }

    /// What one class more gains in likelihood of held-out units, against what the last class gained; none where that was
    /// not tried.
    fn gain_of_another(&self) -> Option<f64> {
        let tried = &self.report().tried;
        let base = &tried.iter().find(|tried| tried.chosen)?.base;
        let at = |classes: usize| {
            let found = tried.iter().find(|tried| tried.base == *base && tried.classes == classes);
            found.map(|tried| tried.evidence)
        };
        let k = self.classes();
        let (own, more) = (at(k)?, at(k + 1)?);
        let last = if k > 1 { at(k - 1)? - own } else { return None };
        (last > 0.0).then(|| (own - more) / last)
    }
}

fn share(yes: impl Iterator<Item = bool>) -> f64 {
    let (n, count) = yes.fold((0, 0), |(n, count), yes| (n + 1, count + usize::from(yes)));
    f64::from(count as u32) / f64::from((n as u32).max(1))
}

/// The treatment below which a share of units lie, in every dimension.
pub(super) fn quantiles(t: &Units, share: f64) -> Result<Units> {
    let at = |j: usize| {
        let mut values: Vec<f32> = (0..t.len()).map(|i| t.row(i)[j]).collect();
        values.sort_by(f32::total_cmp);
        values[((values.len() - 1) as f64 * share).round() as usize]
    };
    Units::new("treatment", vec![t.each()], (0..t.each()).map(at).collect())
}

/// The share of observed elements inside their interval.
pub(super) fn held(y: &Units, lower: &Units, upper: &Units) -> Result<f64> {
    let Some(mask) = y.mask() else { return Ok(coverage(y, lower, upper)?.share) };
    let inside = |i: usize| (lower.values()[i]..=upper.values()[i]).contains(&y.values()[i]);
    Ok(share((0..mask.len()).filter(|&i| mask[i]).map(inside)))
}
