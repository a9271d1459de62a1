//! What a fit is asked to do: plain data, checked once before anything is trained.

use serde::{Deserialize, Serialize};

use crate::models::{MlpConfig, TransformerConfig, UnetConfig};
use crate::{Error, Result};

/// Which algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipe {
    /// Several kinds of start, selection on held-out units, an ensemble, scales, weights and calibration.
    #[default]
    Default,
    /// The published algorithm.
    Paper,
}

/// How many hidden classes. Read from `"auto"`, a number, or `{ given = 3 }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", from = "ClassesText")]
pub enum Classes {
    /// As many as held-out units support.
    #[default]
    Auto,
    /// So many.
    Given(usize),
}

/// The ways in which [`Classes`] are written.
#[derive(Deserialize)]
#[serde(untagged, expecting = "give a number of classes, or \"auto\"")]
enum ClassesText {
    Number(usize),
    Word(Auto),
    Given { given: usize },
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Auto {
    Auto,
}

impl From<ClassesText> for Classes {
    fn from(text: ClassesText) -> Self {
        match text {
            ClassesText::Word(Auto::Auto) => Self::Auto,
            ClassesText::Number(classes) | ClassesText::Given { given: classes } => Self::Given(classes),
        }
    }
}

/// Which base model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// The one that predicts held-out units best.
    #[default]
    Auto,
    /// A linear map.
    Linear,
    /// A multilayer perceptron.
    Mlp,
    /// A U-Net, for series and images.
    Unet,
    /// A transformer, for series.
    Transformer,
}

/// Whether classes have a network each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Whichever predicts held-out units better.
    #[default]
    Auto,
    /// One network per class.
    Separate,
    /// One network that is told the class.
    Conditional,
}

/// Where EM starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// k-means on the residuals of one model for all.
    Kmeans,
    /// k-means on residuals divided by each element's deviation.
    #[serde(alias = "kmeans-scaled")]
    KmeansScaled,
    /// k-means on residuals scaled to unit length.
    #[serde(alias = "kmeans-unit")]
    KmeansUnit,
    /// k-means on what units showed, how strongly each channel of it or, of one channel, its form: where x tells much of
    /// the class, so does one model for all, and its residuals do not.
    #[serde(alias = "kmeans-outcome")]
    KmeansOutcome,
    /// A diagonal Gaussian mixture on the residuals.
    Gmm,
    /// Copies of one model for all, classes drawn ever less at random.
    Annealed,
    /// Fresh networks, classes drawn ever less at random.
    Scratch,
}

impl Start {
    /// Every kind of start.
    pub const ALL: [Self; 7] = [
        Self::Kmeans,
        Self::KmeansScaled,
        Self::KmeansUnit,
        Self::KmeansOutcome,
        Self::Gmm,
        Self::Annealed,
        Self::Scratch,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kmeans => "kmeans",
            Self::KmeansScaled => "kmeans-scaled",
            Self::KmeansUnit => "kmeans-unit",
            Self::KmeansOutcome => "kmeans-outcome",
            Self::Gmm => "gmm",
            Self::Annealed => "annealed",
            Self::Scratch => "scratch",
        }
    }
}

/// Everything that shapes a fitted model. Two fits with equal settings and data give equal bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FitConfig {
    /// Which algorithm.
    pub recipe: Recipe,
    /// How many hidden classes.
    pub classes: Classes,
    /// The most classes that are tried when their number is not given.
    pub max_classes: usize,
    /// Which base model.
    pub base: Base,
    /// Whether classes have a network each.
    pub sharing: Sharing,
    /// Where EM starts from; none: by the base model.
    pub starts: Vec<Start>,
    /// How many members an ensemble has; none: by the base model.
    pub members: Option<usize>,
    /// Passes over the units in the last training of each network; none: by the base model and the units.
    pub epochs: Option<usize>,
    /// Adam's step size; none: by the base model.
    pub learning_rate: Option<f64>,
    /// Units per step, at most.
    pub batch: usize,
    /// Settings of the multilayer perceptron.
    pub mlp: MlpConfig,
    /// Settings of the U-Net.
    pub unet: UnetConfig,
    /// Settings of the transformer.
    pub transformer: TransformerConfig,
    /// The seed of everything random.
    pub seed: u64,
}

impl Default for FitConfig {
    fn default() -> Self {
        Self {
            recipe: Recipe::Default,
            classes: Classes::Auto,
            max_classes: 9,
            base: Base::Auto,
            sharing: Sharing::Auto,
            starts: Vec::new(),
            members: None,
            epochs: None,
            learning_rate: None,
            batch: 128,
            mlp: MlpConfig::default(),
            unet: UnetConfig::default(),
            transformer: TransformerConfig::default(),
            seed: 0,
        }
    }
}

impl FitConfig {
    /// Whether the settings can be used.
    pub fn check(&self) -> Result<()> {
        let positive = |field, value: usize| match value {
            0 => Err(Error::config(field, "it is 0", "give at least 1")),
            _ => Ok(()),
        };
        if let Classes::Given(classes) = self.classes {
            positive("classes", classes)?;
        }
        positive("max_classes", self.max_classes)?;
        positive("members", self.members.unwrap_or(1))?;
        positive("epochs", self.epochs.unwrap_or(1))?;
        positive("batch", self.batch)?;
        if let Some(rate) = self.learning_rate.filter(|rate| !(*rate > 0.0 && *rate < 1.0)) {
            let problem = format!("{rate} is not between 0 and 1");
            return Err(Error::config("learning_rate", problem, "try 0.001"));
        }
        self.mlp.check()
    }
}
