//! The hidden classes: their sizes, their covariates and their responses. Every unit counts for each class by its posterior.

use serde::Serialize;

use super::ReportContext;
use super::observed::observed_values;
use crate::Result;
use crate::ask::Answers;
use crate::data::table::{Block, Feature, Layout, TableForm};

/// The largest number of covariates in the summary of a class: those in which it differs most from the others.
const MAX_CLASS_COVARIATES: usize = 6;

/// A summary of one hidden class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassSummary {
    /// The number of the class.
    pub class: usize,
    /// The number of units of the class: the sum of their probabilities, rounded.
    pub units: usize,
    /// The mean probability of the class.
    pub share: f64,
    /// The covariates in which the class differs most from the others, in falling order of the difference.
    pub covariates: Vec<CovariateMeans>,
    /// The mean response of each outcome that the report draws.
    pub responses: Vec<ClassResponse>,
}

/// The mean of one covariate in a class and in the other classes.
#[derive(Clone, Debug, Serialize)]
pub struct CovariateMeans {
    /// The name of the covariate; for a series or an image, of the mean over a channel.
    pub name: String,
    /// The mean over the units of the class.
    pub mean: f64,
    /// The mean over all other units.
    pub others: f64,
    /// The difference of the two, in standard deviations over all units.
    pub gap: f64,
}

/// The mean of one outcome over the units of a class, under three treatments; NaN for a class without units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassResponse {
    /// The name of the outcome.
    pub name: String,
    /// The mean under the low treatment.
    pub low: f64,
    /// The mean under the median treatment.
    pub median: f64,
    /// The mean under the high treatment.
    pub high: f64,
}

/// A covariate with its moments in each class.
struct Covariate {
    name: String,
    classes: Vec<Moments>,
}

/// Sums from which the mean and the standard deviation of some values follow.
#[derive(Clone, Copy, Default)]
struct Moments {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, weight: f64, value: f64) {
        self.n += weight;
        self.sum += weight * value;
        self.squares += weight * value * value;
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

impl ReportContext<'_> {
    /// A summary of every class, with the responses of the outcomes `drawn`.
    pub(super) fn summarise_classes(&self, effects: &Answers, drawn: &[usize]) -> Result<Vec<ClassSummary>> {
        let class_means = |t| -> Result<Vec<Vec<f64>>> {
            let answers = self.class_answers(t)?;
            Ok(drawn.iter().map(|&o| self.class_means(effects, o, |k| &answers[k])).collect())
        };
        let (low, median, high) =
            (class_means(&self.from)?, class_means(&self.median)?, class_means(&self.to)?);
        let covariates = self.covariate_moments(effects);
        let summarise = |k: usize| {
            let units: f64 = (0..self.data.len()).map(|i| self.probability(effects, i, k)).sum();
            let response = |(i, &o): (usize, &usize)| ClassResponse {
                name: self.outcomes[o].name.clone(),
                low: low[i][k],
                median: median[i][k],
                high: high[i][k],
            };
            ClassSummary {
                class: k,
                units: units.round() as usize,
                share: units / self.data.len() as f64,
                covariates: if units > 0.5 { compare_with_others(&covariates, k) } else { Vec::new() },
                responses: drawn.iter().enumerate().map(response).collect(),
            }
        };
        Ok((0..self.model.classes()).map(summarise).collect())
    }

    /// The moments of every covariate in each class; those of a series or an image are means over channels.
    fn covariate_moments(&self, effects: &Answers) -> Vec<Covariate> {
        if self.model.layout().is_some_and(|layout| !layout.has_covariates()) {
            return Vec::new();
        }
        let x = self.data.x();
        let (channels, sites) = (x.shape()[0], x.shape()[1..].iter().product::<usize>());
        let names = covariate_names(self.model.layout(), channels, sites);
        let covariate = |(j, name): (usize, String)| {
            let mut classes = vec![Moments::default(); self.model.classes()];
            for i in 0..self.data.len() {
                let (n, sum) = observed_values(x, i, j * sites..(j + 1) * sites)
                    .fold((0.0, 0.0), |(n, sum), value| (n + 1.0, sum + value));
                if n > 0.0 {
                    let each = classes.iter_mut().enumerate();
                    each.for_each(|(k, class)| class.add(self.probability(effects, i, k), sum / n));
                }
            }
            Covariate { name, classes }
        };
        names.into_iter().enumerate().map(covariate).collect()
    }
}

/// The covariates in which class `k` differs most from the other classes.
fn compare_with_others(covariates: &[Covariate], k: usize) -> Vec<CovariateMeans> {
    let compare = |Covariate { name, classes }: &Covariate| {
        let others = classes.iter().enumerate().filter(|(j, _)| *j != k);
        let others = others.fold(Moments::default(), |sum, (_, class)| sum.plus(*class));
        let deviation = others.plus(classes[k]).deviation();
        let (mean, others) = (classes[k].mean(), others.mean());
        // constant covariates do not differ; with one class there are no others
        let gap = if deviation > 0.0 { (mean - others) / deviation } else { 0.0 };
        CovariateMeans { name: name.clone(), mean, others, gap }
    };
    let mut means: Vec<CovariateMeans> =
        covariates.iter().map(compare).filter(|covariate| covariate.mean.is_finite()).collect();
    let size = |covariate: &CovariateMeans| if covariate.gap.is_finite() { covariate.gap.abs() } else { 0.0 };
    means.sort_by(|a, b| size(b).total_cmp(&size(a)));
    means.truncate(MAX_CLASS_COVARIATES);
    means
}

/// The names of the columns or channels of x.
fn covariate_names(layout: Option<&Layout>, channels: usize, sites: usize) -> Vec<String> {
    let feature_names = |features: &[Feature]| features.iter().flat_map(Feature::names).collect::<Vec<_>>();
    let from_layout = match layout.map(|layout| &layout.form) {
        Some(TableForm::Wide { x: Block::Features(features), .. }) => feature_names(features),
        Some(TableForm::Wide { x: Block::Lists { columns, .. }, .. }) => {
            columns.iter().map(|name| format!("mean of {name}")).collect()
        }
        Some(TableForm::Long(long)) => {
            let series = long.series.iter().map(|name| format!("mean {name} before"));
            series.chain(feature_names(&long.fixed)).collect()
        }
        None => Vec::new(),
    };
    if from_layout.len() == channels {
        return from_layout;
    }
    let numbered = |j: usize| if sites > 1 { format!("mean of x{j}") } else { format!("x{j}") };
    (0..channels).map(numbered).collect()
}
