//! The hidden classes: how large they are, who is in them, how they respond.

use serde::Serialize;

use super::Scene;
use super::glance::seen;
use crate::Result;
use crate::data::{Block, Feature, Form, Layout};
use crate::query::answer::Answers;

/// Covariates told of a class, at most: those in which it differs most.
const TOLD: usize = 6;

/// One hidden class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassSummary {
    /// Its number.
    pub class: usize,
    /// Units of which it is the most probable class.
    pub units: usize,
    /// Their share.
    pub share: f64,
    /// The covariates in which its units differ most from the others, those first.
    pub covariates: Vec<CovariateMeans>,
    /// For every outcome drawn, its name and the mean under the low, the middle and the high treatment.
    pub responses: Vec<(String, [f64; 3])>,
}

/// A covariate in a class and in the others.
#[derive(Clone, Debug, Serialize)]
pub struct CovariateMeans {
    /// The covariate; of a series or an image, the mean of a channel.
    pub name: String,
    /// Its mean in the class.
    pub mean: f64,
    /// Its mean over all other units.
    pub others: f64,
    /// The difference, in deviations over all units.
    pub gap: f64,
}

/// Sums of a covariate over some units.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, value: f64) {
        *self = Self { n: self.n + 1.0, sum: self.sum + value, squares: self.squares + value * value };
    }

    fn plus(self, other: Self) -> Self {
        Self { n: self.n + other.n, sum: self.sum + other.sum, squares: self.squares + other.squares }
    }

    fn mean(self) -> f64 {
        self.sum / self.n
    }

    fn deviation(self) -> f64 {
        (self.squares / self.n - self.mean().powi(2)).max(0.0).sqrt()
    }
}

impl Scene<'_> {
    pub(super) fn classes(&self, effects: &Answers, shown: &[usize]) -> Result<Vec<ClassSummary>> {
        let diagnoses = &effects.diagnoses;
        let mut responses: Vec<Vec<Vec<f64>>> = Vec::new();
        for t in [&self.from, &self.middle, &self.to] {
            let answers = self.fitted.query(self.data, t, &self.ask)?;
            responses.push(shown.iter().map(|&o| self.class_means(diagnoses, o, &answers.point)).collect());
        }
        let covariates = self.covariates(effects);
        let class = |k: usize| {
            let units = diagnoses.iter().filter(|d| d.class == k).count();
            let response = |(place, &o): (usize, &usize)| {
                let at = |t: usize| responses[t][place][k];
                (self.outcomes[o].name.clone(), [at(0), at(1), at(2)])
            };
            ClassSummary {
                class: k,
                units,
                share: units as f64 / diagnoses.len() as f64,
                covariates: if units > 0 { against_others(&covariates, k) } else { Vec::new() },
                responses: shown.iter().enumerate().map(response).collect(),
            }
        };
        Ok((0..self.fitted.classes()).map(class).collect())
    }

    /// Every covariate by name, and its sums in each class.
    fn covariates(&self, effects: &Answers) -> Vec<(String, Vec<Sums>)> {
        let x = self.data.x();
        let (parts, inner) = (x.shape()[0], x.shape()[1..].iter().product::<usize>());
        let names = names(self.fitted.layout(), parts, inner);
        let one = |(j, name): (usize, String)| {
            let mut sums = vec![Sums::default(); self.fitted.classes()];
            for (i, diagnosis) in effects.diagnoses.iter().enumerate() {
                let (n, sum) = seen(x, i, j * inner..(j + 1) * inner)
                    .fold((0.0, 0.0), |(n, sum), value| (n + 1.0, sum + value));
                if n > 0.0 {
                    sums[diagnosis.class].add(sum / n);
                }
            }
            (name, sums)
        };
        names.into_iter().enumerate().map(one).collect()
    }
}

fn against_others(covariates: &[(String, Vec<Sums>)], k: usize) -> Vec<CovariateMeans> {
    let means = |(name, sums): &(String, Vec<Sums>)| {
        let others =
            sums.iter().enumerate().filter(|(j, _)| *j != k).fold(Sums::default(), |a, (_, b)| a.plus(*b));
        let deviation = others.plus(sums[k]).deviation();
        let (mean, others) = (sums[k].mean(), others.mean());
        // a covariate that never changes tells nothing; with one class there are no others
        let gap = if deviation > 0.0 { (mean - others) / deviation } else { 0.0 };
        CovariateMeans { name: name.clone(), mean, others, gap }
    };
    let mut all: Vec<CovariateMeans> =
        covariates.iter().map(means).filter(|covariate| covariate.mean.is_finite()).collect();
    let size = |covariate: &CovariateMeans| if covariate.gap.is_finite() { covariate.gap.abs() } else { 0.0 };
    all.sort_by(|a, b| size(b).total_cmp(&size(a)));
    all.truncate(TOLD);
    all
}

/// What the parts of x are called: columns, or the means of channels.
fn names(layout: Option<&Layout>, parts: usize, inner: usize) -> Vec<String> {
    let of_features = |features: &[Feature]| features.iter().flat_map(Feature::names).collect::<Vec<_>>();
    let known = match layout.map(|layout| &layout.form) {
        Some(Form::Wide { x: Block::Features(features), .. }) => of_features(features),
        Some(Form::Wide { x: Block::Lists { columns, .. }, .. }) => {
            columns.iter().map(|name| format!("mean of {name}")).collect()
        }
        Some(Form::Long(long)) => {
            let series = long.series.iter().map(|name| format!("mean {name} before"));
            series.chain(of_features(&long.fixed)).collect()
        }
        None => Vec::new(),
    };
    if known.len() == parts {
        return known;
    }
    let own = |j: usize| if inner > 1 { format!("mean of x{j}") } else { format!("x{j}") };
    (0..parts).map(own).collect()
}
