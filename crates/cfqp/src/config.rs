//! The settings of a fit: plain data, validated once before training starts.

use serde::{Deserialize, Serialize};

use crate::models::{BaseConfig, MlpConfig, TransformerConfig, UnetConfig, YScale};
use crate::{Error, Result};

/// The fitting algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipe {
    /// Several kinds of start, selection on held-out units, an ensemble, scales, weights and calibration.
    #[default]
    Default,
    /// The published algorithm.
    Paper,
}

/// The number of hidden classes. Deserialised from `"auto"`, a number, or `{ given = 3 }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", from = "ClassesText")]
pub enum Classes {
    /// Chosen on held-out units.
    #[default]
    Auto,
    /// This number.
    Given(usize),
}

/// The serialised forms of [`Classes`].
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

/// The base model of a class's mean outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// Chosen on held-out units.
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

impl Base {
    /// The name in settings, output, random streams and checkpoint keys.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Linear => "linear",
            Self::Mlp => "mlp",
            Self::Unet => "unet",
            Self::Transformer => "transformer",
        }
    }
}

impl std::fmt::Display for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl BaseConfig {
    /// Which base model the settings are for.
    pub(crate) fn kind(&self) -> Base {
        match self {
            Self::Linear(_) => Base::Linear,
            Self::Mlp(_) => Base::Mlp,
            Self::Unet(_) => Base::Unet,
            Self::Transformer(_) => Base::Transformer,
        }
    }
}

/// Whether every class has its own network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Chosen on held-out units.
    #[default]
    Auto,
    /// One network per class.
    Separate,
    /// One shared network with the class as input.
    Conditional,
}

impl Sharing {
    /// The name in random streams and checkpoint keys. Changing it changes results.
    pub(crate) fn stream_name(self) -> &'static str {
        match self {
            Self::Auto => "Auto",
            Self::Separate => "Separate",
            Self::Conditional => "Conditional",
        }
    }

    /// The number of networks for `classes` classes.
    pub(crate) fn networks(self, classes: usize) -> usize {
        if self == Self::Conditional { 1 } else { classes }
    }
}

/// The initial labels of an EM run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// k-means on the residuals of a single model.
    Kmeans,
    /// k-means on residuals divided by each element's standard deviation.
    #[serde(alias = "kmeans-scaled")]
    KmeansScaled,
    /// k-means on residuals scaled to unit length.
    #[serde(alias = "kmeans-unit")]
    KmeansUnit,
    /// k-means on the outcomes: the relative strength of channels or, for one channel, the normalised outcome. Useful where
    /// x predicts the class, so that residuals of a single model do not show it.
    #[serde(alias = "kmeans-outcome")]
    KmeansOutcome,
    /// A diagonal Gaussian mixture on the residuals.
    Gmm,
    /// Copies of a single model, with labels drawn at a falling temperature.
    Annealed,
    /// Fresh networks, with labels drawn at a falling temperature.
    Scratch,
}

impl Start {
    /// All kinds of start.
    pub const ALL: [Self; 7] = [
        Self::Kmeans,
        Self::KmeansScaled,
        Self::KmeansUnit,
        Self::KmeansOutcome,
        Self::Gmm,
        Self::Annealed,
        Self::Scratch,
    ];

    /// The name in output, random streams and checkpoint keys.
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

/// The settings of a fit. Equal settings and data give equal bits.
///
/// Plain data: change fields of [`FitConfig::default`], then pass it to [`Fit`](crate::Fit), which validates it.
///
/// ```
/// use cfqp::{Base, Classes, FitConfig};
///
/// let config = FitConfig { classes: Classes::Given(3), base: Base::Mlp, seed: 7, ..FitConfig::default() };
/// config.validate()?;
/// # Ok::<(), cfqp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FitConfig {
    /// The algorithm.
    pub recipe: Recipe,
    /// The number of hidden classes.
    pub classes: Classes,
    /// The largest number of classes to try if it is not given.
    pub max_classes: usize,
    /// The base model.
    pub base: Base,
    /// The scale on which outcomes are modelled.
    pub y_scale: YScale,
    /// Whether every class has its own network.
    pub sharing: Sharing,
    /// The kinds of start to try; if empty, those suited to the base model.
    pub starts: Vec<Start>,
    /// The number of members of the ensemble; for outcomes of at most 8 elements of each form that is averaged, up to 5. `None`: 5
    /// there, else by the base model.
    pub members: Option<usize>,
    /// Epochs of the final training of each network; `None`: by the base model and the number of units.
    pub epochs: Option<usize>,
    /// Adam's step size; `None`: by the base model.
    pub learning_rate: Option<f64>,
    /// The largest number of units per step.
    pub batch: usize,
    /// Settings of the multilayer perceptron.
    pub mlp: MlpConfig,
    /// Settings of the U-Net.
    pub unet: UnetConfig,
    /// Settings of the transformer.
    pub transformer: TransformerConfig,
    /// The seed of all random streams.
    pub seed: u64,
}

impl Default for FitConfig {
    fn default() -> Self {
        Self {
            recipe: Recipe::Default,
            classes: Classes::Auto,
            max_classes: 9,
            base: Base::Auto,
            y_scale: YScale::Auto,
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
    /// Validates the settings. [`Fit`](crate::Fit) does so too, before it starts.
    ///
    /// # Errors
    /// [`Error::Config`] names the setting that cannot be used.
    ///
    /// ```
    /// use cfqp::{Classes, Error, FitConfig};
    ///
    /// let config = FitConfig { classes: Classes::Given(0), ..FitConfig::default() };
    /// assert!(matches!(config.validate(), Err(Error::Config { field: "classes", .. })));
    /// ```
    pub fn validate(&self) -> Result<()> {
        let positive = |field, value: usize| match value {
            0 => Err(Error::config(field, "must be at least 1, is 0", "give a positive integer")),
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
        if (self.recipe, self.classes) == (Recipe::Paper, Classes::Auto) {
            let problem = "the paper's recipe does not choose the number of classes";
            return Err(Error::config(
                "classes",
                problem,
                "give a number of classes, or use the default recipe",
            ));
        }
        self.validate_y_scale()?;
        self.mlp.validate()?;
        let sizes = [&self.unet.channels[..], &[self.unet.embed, self.unet.groups]].concat();
        if sizes.contains(&0) {
            return Err(Error::config("unet", "a size is 0", "give sizes of at least 1"));
        }
        let transformer = &self.transformer;
        if [transformer.width, transformer.layers, transformer.heads, transformer.feed_forward].contains(&0) {
            return Err(Error::config("transformer", "a size is 0", "give sizes of at least 1"));
        }
        Ok(())
    }

    /// Only densities of few outcome elements are fitted to logarithms.
    fn validate_y_scale(&self) -> Result<()> {
        if self.y_scale != YScale::Log {
            return Ok(());
        }
        if self.recipe == Recipe::Paper {
            let problem = "the paper's recipe models outcomes on their own scale";
            return Err(Error::config(
                "y_scale",
                problem,
                "use the default recipe, or set `y_scale` to linear",
            ));
        }
        if matches!(self.base, Base::Unet | Base::Transformer) {
            let problem = format!("{} models outcomes on their own scale", self.base);
            return Err(Error::config("y_scale", problem, "set `base` to mlp, or `y_scale` to linear"));
        }
        Ok(())
    }

    /// The settings, validated.
    pub(crate) fn into_valid(self) -> Result<ValidConfig> {
        self.validate()?;
        Ok(ValidConfig(self))
    }
}

/// Settings that have been validated; only these can start a fit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValidConfig(FitConfig);

impl std::ops::Deref for ValidConfig {
    type Target = FitConfig;

    fn deref(&self) -> &FitConfig {
        &self.0
    }
}
