//! One fit: simulated, fitted, evaluated on fresh units, kept in a file.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use cfqp::ask::{Assumption, Grade, Verdict};
use cfqp::eval::{Evaluation, Reference, evaluate};
use cfqp::sim::{Table, TableWorld};
use cfqp::{AskOptions, ClassWeights, Dataset, Fit, FitConfig, Model, NoiseLaw, Resources, Rho};
use cfqp_cli::args::OutputArgs;
use cfqp_cli::error::{Failure, Result};
use cfqp_cli::explain;
use cfqp_cli::format::pluralise;
use cfqp_cli::progress::Progress;

use super::{LEVEL, TEST_UNITS};

/// The distance between the seeds of training and test units.
const TEST_SEED: u64 = 1000;

/// The settings of one fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub world: TableWorld,
    /// The number of training units.
    pub n: usize,
    pub seed: u64,
}

/// The scale on which outcomes are modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OutcomeScale {
    Linear,
    Logarithmic,
}

impl OutcomeScale {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Logarithmic => "log",
        }
    }
}

/// The grade of a verdict and the figure behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Graded {
    pub grade: Grade,
    pub figure: Option<f64>,
}

/// A finished fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableFit {
    pub version: String,
    pub world: TableWorld,
    /// The number of training units.
    pub n: usize,
    pub seed: u64,
    /// The number of test units.
    pub test_units: usize,
    /// Mean squared error of the counterfactual, in variances of y.
    pub error: f64,
    /// The Bayes limit, in variances of y.
    pub limit: f64,
    /// `error` divided by `limit`; none where the limit is 0.
    pub ratio: Option<f64>,
    /// `error` minus `limit`.
    pub excess: f64,
    /// The log loss, for yes/no outcomes and categories.
    pub log_loss: Option<f64>,
    /// The log loss of the best probabilities; for counts, that of single counts.
    pub log_loss_limit: Option<f64>,
    /// `log_loss` divided by `log_loss_limit`.
    pub log_loss_ratio: Option<f64>,
    /// The coverage of the intervals; of the best probabilities for yes/no outcomes and categories.
    pub coverage: f64,
    /// Mean width of the intervals, in units of y.
    pub width: f64,
    /// The number of classes that the fit chose.
    pub classes: usize,
    /// The same, with classes that respond alike to the treatment counted once.
    pub kinds: usize,
    /// The number of classes of the world.
    pub true_classes: usize,
    /// Duration of the fit in seconds.
    pub fit_seconds: f64,
    pub calibration: Graded,
    pub number_of_classes: Graded,
    pub noise_law: NoiseLaw,
    pub class_weights: ClassWeights,
    pub outcome_scale: OutcomeScale,
    pub config: FitConfig,
}

/// What a fit is asked with: the same noise in both worlds.
fn options() -> AskOptions {
    AskOptions { rho: Rho::Given(1.0), level: LEVEL }
}

impl Plan {
    /// The file of the finished fit.
    pub(super) fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}-n{}-seed{}.json", self.world.name(), self.n, self.seed))
    }

    fn config(&self) -> FitConfig {
        FitConfig { seed: self.seed, ..FitConfig::default() }
    }

    /// Fits and evaluates; `name` is shown meanwhile. The truth about the training units is dropped before the fit.
    pub(super) fn run(
        &self,
        resources: &Resources,
        show: &OutputArgs,
        name: &str,
        out: &Path,
    ) -> Result<TableFit> {
        let table = Table { world: self.world, ..Table::default() };
        let train: Dataset = table.simulate(self.n, self.seed)?.data;
        let progress = Progress::new(show, name);
        let clock = Instant::now();
        let fit = Fit::new(self.config()).resources(resources.clone()).monitor(&progress);
        let model = fit.run(&train).map_err(|error| explain(error, Some(out)))?;
        let fit_seconds = clock.elapsed().as_secs_f64();
        drop(progress);
        let test = table.simulate(TEST_UNITS, self.seed + TEST_SEED)?;
        let found = evaluate(&model, &test.data, &Reference::from(test.truth), options())?;
        let verdicts = model.verdicts(&train, options())?;
        self.record(&model, &found, &verdicts, fit_seconds)
    }

    fn record(
        &self,
        model: &Model,
        found: &Evaluation,
        verdicts: &[Verdict],
        fit_seconds: f64,
    ) -> Result<TableFit> {
        let missing = |what: &str| Failure::defect(&format!("{}: there is no {what}", self.world.name()));
        let graded = |assumption: Assumption| {
            let verdict = verdicts.iter().find(|verdict| verdict.assumption == assumption);
            let verdict = verdict.ok_or_else(|| missing(assumption.name()))?;
            Ok::<_, Failure>(Graded { grade: verdict.grade, figure: verdict.figure })
        };
        let error = found.cf_mse_y.ok_or_else(|| missing("variance of y"))?;
        let limit = found.limit.ok_or_else(|| missing("Bayes limit"))?;
        let scale = if model.is_log_scale() { OutcomeScale::Logarithmic } else { OutcomeScale::Linear };
        let alike = &model.fit_report().alike_classes;
        Ok(TableFit {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            world: self.world,
            n: self.n,
            seed: self.seed,
            test_units: found.units,
            error,
            limit,
            ratio: found.ratio,
            excess: error - limit,
            log_loss: found.log_loss,
            log_loss_limit: found.log_loss_limit,
            log_loss_ratio: found.log_loss_ratio,
            coverage: found.coverage.ok_or_else(|| missing("coverage"))?,
            width: found.width,
            classes: model.classes(),
            kinds: model.classes() - alike.iter().map(|group| group.len() - 1).sum::<usize>(),
            true_classes: self.world.classes(),
            fit_seconds,
            calibration: graded(Assumption::Calibration)?,
            number_of_classes: graded(Assumption::NumberOfClasses)?,
            noise_law: model.noise_law(),
            class_weights: model.class_weights(),
            outcome_scale: scale,
            config: self.config(),
        })
    }
}

impl TableFit {
    /// The finished fit of `plan`, if `path` has one of this version with these settings.
    pub(super) fn load(path: &Path, plan: &Plan) -> Option<Self> {
        let fit: Self = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        let same_data =
            (fit.world, fit.n, fit.seed, fit.test_units) == (plan.world, plan.n, plan.seed, TEST_UNITS);
        let same_program = fit.version == env!("CARGO_PKG_VERSION") && fit.config == plan.config();
        (same_data && same_program).then_some(fit)
    }

    /// Whether the fit found the world's number of classes; those that are reported to respond alike count once.
    pub(super) fn has_right_classes(&self) -> bool {
        self.kinds == self.true_classes
    }

    /// `3`, or `3, 2 kinds` if some of three classes respond alike.
    pub(super) fn classes_text(&self) -> String {
        match self.classes == self.kinds {
            true => self.classes.to_string(),
            false => format!("{}, {}", self.classes, pluralise(self.kinds, "kind")),
        }
    }

    /// Whether the verdict on calibration warns: doubtful or failed.
    pub(super) fn is_warned(&self) -> bool {
        self.calibration.grade > Grade::Ok
    }
}
