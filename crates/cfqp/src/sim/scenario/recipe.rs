//! What a scenario is made of, drawn from its seed.

use rand::RngExt as _;

use super::covariates::Covariates;
use super::description::ScenarioDescription;
use super::draw::{choose, choose_several, happens, log_uniform};
use super::forms::{OutcomeForms, ScenarioOutcome, draw_forms};
use super::outcome::{Outcome, Pilot};
use super::surface::{Surface, SurfaceForm};
use super::treatment::{Treatment, TreatmentCauses};
use super::weights::{WeightKind, Weights};
use crate::sim::uniform;
use crate::{Rng, stream};

/// The number of units that functions are standardised with.
const PILOT_UNITS: usize = 400;
const MAX_RELEVANT: usize = 6;

/// The parts of a scenario.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    pub covariates: Covariates,
    pub weights: Weights,
    pub treatment: Treatment,
    pub outcomes: Vec<Outcome>,
    /// The correlation of the noise of two outcomes of a unit.
    between: f64,
    /// The correlation of the noise of two rows of a subject; none if subjects have one row.
    pub within: Option<f64>,
    pub repeats: usize,
    classes: usize,
}

impl Recipe {
    pub(super) fn classes(&self) -> usize {
        self.classes
    }

    /// The correlation of the scores of the noise: between outcomes, or within a subject.
    pub(super) fn score_correlation(&self) -> f64 {
        self.within.unwrap_or(self.between)
    }
}

/// The parts of the scenario of a seed, and their description.
pub(super) fn draw(seed: u64) -> (Recipe, ScenarioDescription) {
    let part = |name: &str| stream(seed, &["scenario", name]);
    let covariates = Covariates::new(&mut part("covariates"));
    let rng = &mut part("forms");
    let classes = choose(rng, &[(1.0, 1), (0.62, 2), (0.62, 3), (0.4, 4), (0.36, 5)]);
    let units = log_uniform(rng, 150.0, 5000.0) as usize;
    let has_covariates = covariates.count() > 0;
    let weight_kind = weight_kind(rng, classes, has_covariates);
    let (forms, outcomes) = draw_forms(rng, classes, has_covariates);
    let is_number = forms.kind == ScenarioOutcome::Number || forms.kind == ScenarioOutcome::Positive;
    let is_repeated = happens(rng, 0.14) && is_number && outcomes == 1;
    let repeats = if is_repeated { rng.random_range(2..=5) } else { 1 };
    let within = is_repeated.then(|| uniform(rng, 0.2, 0.9));
    let between = if outcomes > 1 && happens(rng, 0.5) { uniform(rng, 0.2, 0.8) } else { 0.0 };
    let is_confounded = happens(rng, 0.35) && has_covariates;
    let most = rng.random_range(1..=MAX_RELEVANT);
    let relevant = choose_several(rng, covariates.count(), most);

    let rng = &mut part("pilot");
    let x: Vec<Vec<f64>> = (0..PILOT_UNITS).map(|_| covariates.draw(rng).values).collect();
    let rng = &mut part("weights");
    let by_x = weight_kind == WeightKind::Covariates;
    let surfaces = by_x.then(|| class_surfaces(rng, classes, &relevant, &x));
    let weights = Weights::new(rng, classes, surfaces);
    let rng = &mut part("treatment");
    let causes = TreatmentCauses {
        confounder: is_confounded.then(|| Surface::new(rng, SurfaceForm::Linear, &relevant, &x)),
        classes,
        class_drives: weight_kind == WeightKind::DrivesTreatment,
    };
    let treatment = Treatment::new(rng, causes);
    let rng = &mut part("pilot treatments");
    let z: Vec<usize> = x.iter().map(|x| weights.draw(rng, x)).collect();
    let t = x.iter().zip(&z).map(|(x, &z)| treatment.coordinates(&treatment.draw(rng, x, z))).collect();
    let pilot = Pilot { x, z, t, relevant };
    let outcome = |j: usize| Outcome::new(&mut part(&format!("outcome {j}")), &forms, &pilot);
    let outcomes: Vec<Outcome> = (0..outcomes).map(outcome).collect();
    let recipe = Recipe { covariates, weights, treatment, outcomes, between, within, repeats, classes };
    let subjects = units.div_ceil(repeats);
    let description = describe(&recipe, &forms, pilot.relevant.len(), subjects, weight_kind, seed);
    (recipe, description)
}

fn weight_kind(rng: &mut Rng, classes: usize, has_covariates: bool) -> WeightKind {
    let kind = choose(
        rng,
        &[(0.45, WeightKind::Constant), (0.35, WeightKind::Covariates), (0.2, WeightKind::DrivesTreatment)],
    );
    match kind {
        _ if classes == 1 => WeightKind::Constant,
        WeightKind::Covariates if !has_covariates => WeightKind::Constant,
        kind => kind,
    }
}

/// One function per class of one or two of the covariates that matter.
fn class_surfaces(rng: &mut Rng, classes: usize, relevant: &[usize], x: &[Vec<f64>]) -> Vec<Surface> {
    let surface = |_| {
        let columns: Vec<usize> =
            choose_several(rng, relevant.len(), 2).into_iter().map(|i| relevant[i]).collect();
        let form = choose(rng, &[(0.7, SurfaceForm::Linear), (0.3, SurfaceForm::Smooth)]);
        Surface::new(rng, form, &columns, x)
    };
    (0..classes).map(surface).collect()
}

fn describe(
    recipe: &Recipe,
    forms: &OutcomeForms,
    relevant: usize,
    subjects: usize,
    class_weights: WeightKind,
    world_seed: u64,
) -> ScenarioDescription {
    let (covariates, treatment) = (&recipe.covariates, &recipe.treatment);
    let is_number = matches!(forms.kind, ScenarioOutcome::Number | ScenarioOutcome::Positive);
    ScenarioDescription {
        world_seed,
        classes: recipe.classes,
        subjects,
        repeats: recipe.repeats,
        units: subjects * recipe.repeats,
        covariates: covariates.count(),
        relevant_covariates: relevant,
        categorical_covariates: covariates.categorical(),
        skewed_covariates: covariates.skewed(),
        covariate_correlation: covariates.correlation,
        missing: covariates.missing,
        treatment: treatment.kind,
        treatment_values: treatment.values(),
        confounded: treatment.is_confounded(),
        class_weights,
        outcome: forms.kind,
        outcomes: recipe.outcomes.len(),
        base: forms.base,
        response: forms.curve,
        covariate_effect: forms.covariate_effect,
        class_difference: forms.difference,
        class_distance: (recipe.classes > 1).then_some(forms.class_distance),
        noise: is_number.then_some(forms.noise),
        noise_scale: is_number.then_some(forms.noise_scale),
        noise_share: is_number.then_some(forms.noise_share),
        decades: (forms.kind == ScenarioOutcome::Positive).then_some(forms.decades),
        outcome_correlation: recipe.between,
        within_correlation: recipe.within,
    }
}
