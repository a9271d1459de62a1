//! The tabular worlds: their classes, treatments, mean outcomes and noise.

use std::f64::consts::PI;

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use crate::Rng;
use crate::data::OutcomeKind;
use crate::sim::noise::{NoiseForm, NoiseLaw};
use crate::sim::{normal, uniform};

/// Covariates of all worlds but one.
const COVARIATES: usize = 6;
const WIDE_COVARIATES: usize = 30;
/// The mean treatment of each class where the class drives the treatment, and the deviation around it.
const CLASS_DOSES: [f64; 2] = [0.35, 0.65];
const CLASS_DOSE_SD: f64 = 0.18;
/// Where covariates drive the treatment: its deviation, and its correlation with x0 + x1.
const DOSE_SD: f64 = 0.25;
const CONFOUNDING: f64 = 0.7;
/// The mean and the standard deviation of the slopes of [`TableWorld::Slopes`].
const SLOPE_MEAN: f64 = 1.0;
const SLOPE_SD: f64 = 1.0;
/// The levels of [`TableWorld::Category`].
pub(super) const LEVELS: usize = 3;
/// The arms of [`TableWorld::Arms`], as two 0/1 columns.
const ARMS: [[f32; 2]; 3] = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];

/// What a simulated table looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableWorld {
    /// Three dose curves that cross.
    #[default]
    Crossing,
    /// The same curves; the class depends on x.
    Prior,
    /// Two classes far apart that received different doses.
    ClassDrivesTreatment,
    /// Two crossing classes; the dose depends on x.
    ConfoundedByX,
    /// No classes: every subject has its own slope.
    Slopes,
    /// A treatment of 0 or 1; one of two classes responds.
    BinaryTreatment,
    /// The curves of `Crossing` with heavy-tailed noise.
    Heavy,
    /// One class with skewed noise.
    Skewed,
    /// Two classes; the logarithm of the outcome has normal noise.
    Lognormal,
    /// Five classes.
    Many,
    /// Three classes and 30 covariates, of which four matter.
    Wide,
    /// Two classes that differ by much less than the noise.
    NoSeparation,
    /// Two treatments, to which three classes respond differently.
    SeveralTreatments,
    /// One class, a smooth response.
    Single,
    /// A yes/no outcome; two classes respond to the dose strongly and weakly.
    YesNo,
    /// A count with more variance than a Poisson law; two classes.
    Count,
    /// One of three levels without an order, as three elements of 0 or 1; two classes.
    Category,
    /// Zero, or an amount with noise on the log scale; two classes.
    Amount,
    /// A treatment with three levels, as two 0/1 columns; two classes that respond to them oppositely.
    Arms,
}

impl TableWorld {
    /// All worlds.
    pub const ALL: [Self; 19] = [
        Self::Crossing,
        Self::Prior,
        Self::ClassDrivesTreatment,
        Self::ConfoundedByX,
        Self::Slopes,
        Self::BinaryTreatment,
        Self::Heavy,
        Self::Skewed,
        Self::Lognormal,
        Self::Many,
        Self::Wide,
        Self::NoSeparation,
        Self::SeveralTreatments,
        Self::Single,
        Self::YesNo,
        Self::Count,
        Self::Category,
        Self::Amount,
        Self::Arms,
    ];

    /// The name of the world in commands and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Crossing => "crossing",
            Self::Prior => "prior",
            Self::ClassDrivesTreatment => "class-drives-treatment",
            Self::ConfoundedByX => "confounded-by-x",
            Self::Slopes => "slopes",
            Self::BinaryTreatment => "binary-treatment",
            Self::Heavy => "heavy",
            Self::Skewed => "skewed",
            Self::Lognormal => "lognormal",
            Self::Many => "many",
            Self::Wide => "wide",
            Self::NoSeparation => "no-separation",
            Self::SeveralTreatments => "several-treatments",
            Self::Single => "single",
            Self::YesNo => "yes-no",
            Self::Count => "count",
            Self::Category => "category",
            Self::Amount => "amount",
            Self::Arms => "arms",
        }
    }

    /// The number of classes.
    pub fn classes(self) -> usize {
        match self {
            Self::Slopes | Self::Skewed | Self::Single => 1,
            Self::ClassDrivesTreatment
            | Self::ConfoundedByX
            | Self::BinaryTreatment
            | Self::Lognormal
            | Self::NoSeparation
            | Self::YesNo
            | Self::Count
            | Self::Category
            | Self::Amount
            | Self::Arms => 2,
            Self::Crossing | Self::Prior | Self::Heavy | Self::Wide | Self::SeveralTreatments => 3,
            Self::Many => 5,
        }
    }

    /// The number of covariates.
    pub fn covariates(self) -> usize {
        if self == Self::Wide { WIDE_COVARIATES } else { COVARIATES }
    }

    /// The number of treatments that a unit receives.
    pub fn treatments(self) -> usize {
        if matches!(self, Self::SeveralTreatments | Self::Arms) { 2 } else { 1 }
    }

    /// The kind of every element of the outcome.
    pub fn outcome_kinds(self) -> Vec<OutcomeKind> {
        match self {
            Self::YesNo => vec![OutcomeKind::YesNo],
            Self::Count => vec![OutcomeKind::Count],
            Self::Category => vec![OutcomeKind::Level(0); LEVELS],
            Self::Amount => vec![OutcomeKind::Amount],
            _ => vec![OutcomeKind::Number],
        }
    }

    /// Whether the outcome is a number.
    pub(super) fn is_number(self) -> bool {
        self.outcome_kinds() == [OutcomeKind::Number]
    }

    /// The default standard deviation of the noise; for `Lognormal` and `Amount` that of the logarithm, for `Count` the
    /// coefficient of variation of the rate. `YesNo` and `Category` have none.
    pub fn sigma(self) -> f32 {
        match self {
            Self::Heavy => 0.5,
            Self::Skewed => 0.6,
            Self::NoSeparation => 0.4,
            Self::Lognormal | Self::Many => 0.2,
            _ => 0.3,
        }
    }

    /// The distribution of the noise.
    pub(super) fn noise(self, sd: f64) -> NoiseLaw {
        let form = match self {
            Self::Heavy => NoiseForm::Student,
            Self::Skewed => NoiseForm::Exponential,
            _ => NoiseForm::Normal,
        };
        NoiseLaw { form, sd }
    }

    /// The outcome of the sum of mean and noise.
    pub(super) fn outcome(self, sum: f64) -> f64 {
        if self == Self::Lognormal { sum.exp() } else { sum }
    }

    /// The sum of mean and noise of an outcome.
    pub(super) fn sum(self, outcome: f64) -> f64 {
        if self == Self::Lognormal { outcome.ln() } else { outcome }
    }

    /// The standard deviation of the slopes of subjects around the mean slope, 0 if all are equal.
    pub(super) fn slope_sd(self) -> f64 {
        if self == Self::Slopes { SLOPE_SD } else { 0.0 }
    }

    /// The logarithm of w_k(x), up to a constant.
    pub(super) fn log_weight(self, x: &[f64], k: usize) -> f64 {
        match (self, k) {
            (Self::Prior, 0) => 1.6 * x[2],
            (Self::Prior, 1) => 1.6 * x[3],
            (Self::Prior, _) => -0.8 * (x[2] + x[3]),
            (Self::YesNo | Self::Count | Self::Category | Self::Amount, 0) => 2.0 * x[2],
            (Self::Arms, 0) => 1.2 * x[2],
            _ => 0.0,
        }
    }

    /// A treatment of a unit of class `k`.
    pub(super) fn draw_treatment(self, x: &[f64], k: usize, rng: &mut Rng) -> Vec<f32> {
        match self {
            Self::ClassDrivesTreatment => vec![(CLASS_DOSES[k] + CLASS_DOSE_SD * normal(rng, 1.0)) as f32],
            Self::ConfoundedByX => {
                let free = (1.0 - CONFOUNDING * CONFOUNDING).sqrt() * normal(rng, 1.0);
                let given = CONFOUNDING * (x[0] + x[1]) / 2.0_f64.sqrt();
                vec![(0.5 + DOSE_SD * (given + free)) as f32]
            }
            Self::BinaryTreatment => vec![f32::from(u8::from(rng.random::<bool>()))],
            Self::Arms => {
                let weights = [1.0, (0.5 * x[0]).exp(), (-0.5 * x[0]).exp()];
                ARMS[draw_weighted(&weights, rng)].to_vec()
            }
            _ => (0..self.treatments()).map(|_| uniform(rng, 0.0, 1.0) as f32).collect(),
        }
    }

    /// log p(t | x, k), up to a term that is the same for all classes.
    pub(super) fn log_treatment(self, t: &[f64], k: usize) -> f64 {
        match self {
            Self::ClassDrivesTreatment => -0.5 * ((t[0] - CLASS_DOSES[k]) / CLASS_DOSE_SD).powi(2),
            _ => 0.0,
        }
    }

    /// The mean outcome f_k(x, t) of class `k`; of the logarithm for `Lognormal`.
    ///
    /// # Panics
    /// If the outcome is not a number: its law is that of [`super::laws`].
    pub(super) fn mean(self, x: &[f64], t: &[f64], k: usize) -> f64 {
        let base = base(x);
        let dose = t[0];
        match self {
            Self::Crossing | Self::Prior | Self::Heavy => base + crossing_curve(dose, k),
            Self::ClassDrivesTreatment => base + [-0.9 - 1.2 * dose, 0.7 + 1.5 * dose * dose][k],
            Self::ConfoundedByX => base + 0.3 * x[2] * dose + [2.4 * dose - 1.2, 1.3 - 2.0 * dose][k],
            Self::Slopes => base + SLOPE_MEAN * dose,
            Self::BinaryTreatment => base + [0.0, 0.9 + (1.1 + 0.4 * x[2]) * dose][k],
            Self::Skewed => base + 1.6 * dose + 0.6 * x[2] * (PI * dose).sin(),
            Self::Lognormal => 0.5 * base + [1.4 * dose, 1.1 - 1.3 * dose][k],
            Self::Many => base + many_curve(dose, k),
            Self::Wide => wide_base(x) + [2.2 * dose - 1.1, 1.5 - 1.2 * dose, -1.8 + 1.6 * dose * dose][k],
            Self::NoSeparation => base + 1.2 * dose + [0.06, -0.06][k] * (2.0 * dose - 1.0),
            Self::SeveralTreatments => {
                let [one, two] = [t[0], t[1]];
                base + [2.0 * one - 0.6, 2.2 * two - 1.4 * one, 1.4 - 1.2 * one - 1.6 * two][k]
            }
            Self::Single => base + (1.0 + 0.4 * x[2]) * (2.5 * dose).sin() + 0.5 * x[3] * dose * dose,
            Self::Arms => {
                let [one, two] = [t[0], t[1]];
                base + [1.2 * one - 0.6 * two, 1.4 - 0.7 * one + 0.9 * two][k]
            }
            Self::YesNo | Self::Count | Self::Category | Self::Amount => {
                unreachable!("the outcome is not a number")
            }
        }
    }
}

/// A position drawn in proportion to `weights`.
pub(super) fn draw_weighted(weights: &[f64], rng: &mut Rng) -> usize {
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    for (k, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return k;
        }
    }
    weights.len() - 1
}

/// What the covariates alone contribute to the outcome.
pub(super) fn base(x: &[f64]) -> f64 {
    0.8 * x[0] + 0.5 * (2.0 * x[1]).sin()
}

fn crossing_curve(dose: f64, k: usize) -> f64 {
    match k {
        0 => 1.8 * dose - 0.4,
        1 => 1.2 - 1.9 * dose,
        _ => 0.4 + 0.9 * (2.4 * PI * dose).sin(),
    }
}

fn many_curve(dose: f64, k: usize) -> f64 {
    let (level, slope) = (1.7 * (k as f64 - 2.0), [1.8, -1.2, 0.6, -1.8, 1.4][k]);
    level + slope * (dose - 0.5)
}

fn wide_base(x: &[f64]) -> f64 {
    0.7 * x[0] - 0.5 * x[7] + 0.4 * (2.0 * x[13]).sin() + 0.3 * x[0] * x[21]
}
