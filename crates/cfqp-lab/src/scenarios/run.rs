//! One scenario: simulated, fitted, scored on fresh units, kept in a file.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use cfqp::ask::{Assumption, Grade, Verdict};
use cfqp::rivals::{Method, MethodConfig};
use cfqp::sim::{Scenario, ScenarioDescription, ScenarioOutcome, ScenarioTruth, Simulated};
use cfqp::{Answers, AskOptions, Dataset, Fit, FitConfig, Model, Resources, Rho, Units};
use cfqp_cli::args::OutputArgs;
use cfqp_cli::progress::Progress;

use super::promises::{Answered, Truths};
use super::score::{Asked, IntervalScores, Scale};
use super::{LEVEL, TEST_UNITS};

/// The seeds of training and test units.
const TRAINING_SEED: u64 = 1;
const TEST_SEED: u64 = 1001;
/// The methods that are compared.
pub(super) const BASELINES: [Method; 4] =
    [Method::Regression, Method::Residual, Method::ShrunkResidual, Method::Process];

/// The settings of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub world_seed: u64,
    /// The largest number of training units.
    pub max_n: Option<usize>,
    pub label: String,
    /// Where fitted models are kept.
    pub models: Option<PathBuf>,
}

/// The error of a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BaselineError {
    pub method: Method,
    /// Mean squared error, as [`ScenarioRun::error`].
    pub error: f64,
    pub seconds: f64,
}

/// A verdict and the figure behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Graded {
    pub name: String,
    pub grade: Grade,
    pub figure: Option<f64>,
}

/// Error and coverage of the answers with or without flags.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FlagScores {
    pub units: usize,
    pub error: f64,
    pub coverage: f64,
}

/// A finished scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioRun {
    pub version: String,
    /// A name for the build.
    pub label: String,
    pub max_n: Option<usize>,
    pub scenario: ScenarioDescription,
    /// The number of training units.
    pub n: usize,
    pub test_units: usize,
    /// Mean squared error of the counterfactual at rho 1 (with repeats: auto), in variances of y; of log y for positive outcomes.
    pub error: f64,
    /// The Bayes limit: the same of the best answers.
    pub limit: f64,
    /// `error` minus `limit`.
    pub excess: f64,
    /// Error, limit and excess at rho auto where the noise has a random correlation.
    pub error_auto: f64,
    pub limit_auto: f64,
    pub excess_auto: f64,
    pub baselines: Vec<BaselineError>,
    /// Intervals at rho 1; none with repeats, where rho is learned.
    pub same_noise: Option<IntervalScores>,
    /// Intervals at rho auto.
    pub auto: IntervalScores,
    pub classes: usize,
    /// The number of classes, with those that respond alike counted once.
    pub kinds: usize,
    pub true_classes: usize,
    /// Verdicts for rho 1 (with repeats: auto) and for rho auto.
    pub verdicts: Vec<Graded>,
    pub verdicts_auto: Vec<Graded>,
    /// The share of answers without flags.
    pub unflagged: f64,
    /// None in runs of earlier builds.
    #[serde(default)]
    pub truths: Option<Truths>,
    pub unflagged_scores: Option<FlagScores>,
    pub flagged_scores: Option<FlagScores>,
    pub is_log_scale: bool,
    pub fit_seconds: f64,
    pub query_seconds: f64,
    pub config: FitConfig,
}

impl ScenarioRun {
    /// Intervals at rho 1; with repeats, at rho auto.
    pub(super) fn main(&self) -> &IntervalScores {
        self.same_noise.as_ref().unwrap_or(&self.auto)
    }

    pub(super) fn calibration(&self) -> Grade {
        grade(&self.verdicts, Assumption::Calibration)
    }

    pub(super) fn calibration_auto(&self) -> Grade {
        grade(&self.verdicts_auto, Assumption::Calibration)
    }

    pub(super) fn has_right_classes(&self) -> bool {
        self.kinds == self.true_classes
    }

    pub(super) fn baseline(&self, method: Method) -> Option<f64> {
        self.baselines.iter().find(|baseline| baseline.method == method).map(|baseline| baseline.error)
    }

    /// The finished run of `plan`, if `path` has one of this version, label and scenario.
    pub(super) fn load(path: &Path, plan: &Plan) -> Option<Self> {
        let run = Self::read(path)?;
        let is_same = run.version == env!("CARGO_PKG_VERSION")
            && (run.label.as_str(), run.max_n) == (plan.label.as_str(), plan.max_n)
            && (run.test_units, &run.config) == (TEST_UNITS, &FitConfig::default())
            && run.scenario == *Scenario::new(plan.world_seed).description();
        is_same.then_some(run)
    }

    pub(super) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }
}

/// The grade of an assumption; "not tested" if there is none.
pub(super) fn grade(verdicts: &[Graded], assumption: Assumption) -> Grade {
    let verdict = verdicts.iter().find(|verdict| verdict.name == assumption.name());
    verdict.map_or(Grade::NotTested, |verdict| verdict.grade)
}

/// The test units and everything that is true of them.
struct Test {
    units: Simulated,
    more: ScenarioTruth,
    scale: Scale,
    is_chance: bool,
}

/// The answers to both questions at one rho.
struct RhoAnswers {
    outcomes: Answers,
    effects: Answers,
    seconds: f64,
}

fn options(rho: Rho) -> AskOptions {
    AskOptions { rho, level: LEVEL }
}

impl Plan {
    pub(super) fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("scenario-{}.json", self.world_seed))
    }

    /// Fits and scores; `name` is shown meanwhile. The truth about the training units is dropped before the fit.
    pub(super) fn run(
        &self,
        resources: &Resources,
        show: &OutputArgs,
        name: &str,
    ) -> cfqp::Result<ScenarioRun> {
        let scenario = Scenario::new(self.world_seed);
        let description = *scenario.description();
        let repeats = description.repeats;
        let most = self.max_n.map_or(usize::MAX, |max| (max / repeats).max(1));
        let train: Dataset = scenario.simulate(scenario.subjects().min(most), TRAINING_SEED)?.data;
        let progress = Progress::new(show, name);
        let clock = Instant::now();
        let fit = Fit::new(FitConfig::default()).resources(resources.clone()).monitor(&progress);
        let name = format!("{}-{}.cfqp", self.world_seed, train.len());
        let kept = self.models.as_ref().map(|folder| folder.join(name));
        let model = match kept.as_ref().filter(|path| path.exists()) {
            Some(path) => Model::load(path, resources)?,
            None => fit.run(&train)?,
        };
        let fit_seconds = clock.elapsed().as_secs_f64();
        if let Some(path) = kept.filter(|path| !path.exists()) {
            model.save(&path)?;
        }
        drop(progress);
        let test = Test::new(&scenario, TEST_UNITS / repeats)?;
        let auto = test.ask(&model, Rho::Auto)?;
        let same = if repeats == 1 { Some(test.ask(&model, Rho::Given(1.0))?) } else { None };
        let main = same.as_ref().unwrap_or(&auto);
        let main_rho = if repeats == 1 { Rho::Given(1.0) } else { Rho::Auto };
        let verdicts = |rho: Rho| Ok::<_, cfqp::Error>(graded(&model.verdicts(&train, options(rho))?));
        let truth = &test.units.truth;
        let best = truth.y_bayes.as_ref().expect("scenarios have best answers");
        let (scale, more) = (&test.scale, &test.more);
        let error = scale.error(&truth.y_new, &main.outcomes.point);
        let limit = scale.error(&truth.y_new, best);
        let error_auto = scale.error(&more.y_new_unknown_rho, &auto.outcomes.point);
        let limit_auto = scale.error(&more.y_new_unknown_rho, &more.y_bayes_unknown_rho);
        let unflagged: Vec<bool> = main.outcomes.diagnoses.iter().map(cfqp::ask::Diagnosis::ok).collect();
        Ok(ScenarioRun {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            label: self.label.clone(),
            max_n: self.max_n,
            scenario: description,
            n: train.len(),
            test_units: TEST_UNITS,
            error,
            limit,
            excess: error - limit,
            error_auto,
            limit_auto,
            excess_auto: error_auto - limit_auto,
            baselines: test.baselines(&train, resources)?,
            same_noise: same.as_ref().map(|same| test.intervals(same, repeats == 1)),
            auto: test.intervals(&auto, false),
            classes: model.classes(),
            kinds: kinds(&model),
            true_classes: description.classes,
            verdicts: verdicts(main_rho)?,
            verdicts_auto: verdicts(Rho::Auto)?,
            unflagged: unflagged.iter().filter(|ok| **ok).count() as f64 / unflagged.len() as f64,
            truths: Some(test.truths(main, description.classes)),
            unflagged_scores: test.flag_scores(main, &unflagged, true),
            flagged_scores: test.flag_scores(main, &unflagged, false),
            is_log_scale: model.is_log_scale(),
            fit_seconds,
            query_seconds: main.seconds,
            config: FitConfig::default(),
        })
    }
}

fn kinds(model: &Model) -> usize {
    let alike = &model.fit_report().alike_classes;
    model.classes() - alike.iter().map(|group| group.len() - 1).sum::<usize>()
}

fn graded(verdicts: &[Verdict]) -> Vec<Graded> {
    let graded = |verdict: &Verdict| Graded {
        name: verdict.assumption.name().to_owned(),
        grade: verdict.grade,
        figure: verdict.figure,
    };
    verdicts.iter().map(graded).collect()
}

impl Test {
    fn new(scenario: &Scenario, subjects: usize) -> cfqp::Result<Self> {
        let units = scenario.simulate(subjects, TEST_SEED)?;
        let more = scenario.truth(subjects, TEST_SEED)?;
        let kind = scenario.description().outcome;
        let scale = Scale::new(kind, units.data.y());
        Ok(Self { units, more, scale, is_chance: kind == ScenarioOutcome::YesNo })
    }

    fn ask(&self, model: &Model, rho: Rho) -> cfqp::Result<RhoAnswers> {
        let clock = Instant::now();
        let (data, t_new) = (&self.units.data, &self.units.truth.t_new);
        let outcomes = model.ask(data).under(t_new).options(options(rho)).answers()?;
        let seconds = clock.elapsed().as_secs_f64();
        let effects = model.ask(data).effect(&self.more.t_from, t_new).options(options(rho)).answers()?;
        Ok(RhoAnswers { outcomes, effects, seconds })
    }

    /// What intervals of outcomes should cover.
    fn covered(&self, is_same_noise: bool) -> &Units {
        let (truth, more) = (&self.units.truth, &self.more);
        match (is_same_noise, self.is_chance) {
            (true, false) => &truth.y_new,
            (true, true) => truth.y_bayes.as_ref().expect("scenarios have best answers"),
            (false, false) => &more.y_new_unknown_rho,
            (false, true) => &more.y_bayes_unknown_rho,
        }
    }

    fn covered_effect(&self, is_same_noise: bool) -> &Units {
        match (is_same_noise, self.is_chance) {
            (true, false) => &self.more.effect,
            (true, true) => &self.more.effect_bayes,
            (false, false) => &self.more.effect_unknown_rho,
            (false, true) => &self.more.effect_bayes_unknown_rho,
        }
    }

    fn intervals(&self, answers: &RhoAnswers, is_same_noise: bool) -> IntervalScores {
        let has_repeats = self.units.data.groups().is_some();
        let asked = Asked {
            outcomes: &answers.outcomes,
            effects: &answers.effects,
            covered: self.covered(is_same_noise),
            covered_effect: self.covered_effect(is_same_noise),
            marginal: &self.more.marginal,
            bayes: (is_same_noise || has_repeats).then_some(&self.more.bayes),
            is_chance: self.is_chance,
        };
        IntervalScores::new(&self.scale, &asked)
    }

    fn truths(&self, answers: &RhoAnswers, true_classes: usize) -> Truths {
        let is_same_noise = self.units.data.groups().is_none();
        let answered = Answered {
            outcomes: &answers.outcomes,
            effects: &answers.effects,
            covered: self.covered(is_same_noise),
            effect: self.covered_effect(is_same_noise),
            z: &self.units.truth.z,
            true_classes,
        };
        Truths::new(&self.scale, &answered)
    }

    fn flag_scores(&self, answers: &RhoAnswers, unflagged: &[bool], wanted: bool) -> Option<FlagScores> {
        let rows: Vec<usize> = (0..unflagged.len()).filter(|&i| unflagged[i] == wanted).collect();
        let is_same_noise = self.units.data.groups().is_none();
        let covered = self.covered(is_same_noise);
        (!rows.is_empty()).then(|| FlagScores {
            units: rows.len(),
            error: self.scale.error_of(&self.units.truth.y_new, &answers.outcomes.point, &rows),
            coverage: self.scale.coverage_of(covered, &answers.outcomes, &rows),
        })
    }

    fn baselines(&self, train: &Dataset, resources: &Resources) -> cfqp::Result<Vec<BaselineError>> {
        let score = |method: Method| {
            let clock = Instant::now();
            let fitted = method.fit(train, &MethodConfig::default(), resources, &())?;
            let answers = fitted.counterfactual(&self.units.data, &self.units.truth.t_new)?;
            let error = self.scale.error(&self.units.truth.y_new, &answers);
            Ok(BaselineError { method, error, seconds: clock.elapsed().as_secs_f64() })
        };
        BASELINES.into_iter().map(score).collect()
    }
}
