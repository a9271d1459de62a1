//! Evaluation of a model's answers where the truth is known.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::measures::{check_same_shape, mean_log_loss, variance};
use super::{Coverage, adjusted_rand_index, class_accuracy, coverage, log_loss, mse, ssim};
use crate::ask::{Answers, AskOptions, Rho, UsedRho, ValueProbabilities};
use crate::data::{Dataset, OutcomeKind, Units, read_array};
use crate::model::Model;
use crate::sim::Truth;
use crate::{Error, Result};

const TRUTH_HINT: &str = "an evaluation needs t_new, another treatment of every unit, and y_new, its outcome under that \
                      treatment";

/// A smaller limit, in variances of y, is rounding error: no ratio to it is given.
const MIN_LIMIT: f64 = 1e-6;

/// Class numbers are below this.
const MAX_CLASSES: f32 = 1e4;

/// The truth that answers are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The new treatment of every unit.
    pub t_new: Units,
    /// The outcome of every unit under its new treatment.
    pub y_new: Units,
    /// The class of every unit, where known.
    pub z: Option<Vec<usize>>,
    /// The best answer that the observed values allow, where known: see [`Truth::y_bayes`].
    pub y_bayes: Option<Units>,
    /// The best probability of the true outcome, for counts, where known: see [`Truth::p_bayes`].
    pub p_bayes: Option<Units>,
}

impl Reference {
    /// The Bayes limit, where known: the mean squared error of the best answers, in units of y.
    pub fn limit(&self) -> Result<Option<f64>> {
        self.y_bayes.as_ref().map(|best| mse(&self.y_new, best)).transpose()
    }
}

impl From<Truth> for Reference {
    fn from(truth: Truth) -> Self {
        let Truth { z, t_new, y_new, y_bayes, p_bayes } = truth;
        Self { t_new, y_new, z: Some(z), y_bayes, p_bayes }
    }
}

/// Reads `t_new`, `y_new` and, if present, `z`, `y_bayes` and `p_bayes` from a `.npz` file.
pub fn read_truth(path: &Path) -> Result<Reference> {
    let needed = |key: &str| {
        read_array(path, key)?
            .ok_or_else(|| Error::file(path, format!("there is no array `{key}`"), TRUTH_HINT))
    };
    let (t_new, y_new) = (needed("t_new")?, needed("y_new")?);
    let (y_bayes, p_bayes) = (read_array(path, "y_bayes")?, read_array(path, "p_bayes")?);
    Ok(Reference { t_new, y_new, z: read_classes(path)?, y_bayes, p_bayes })
}

/// Reads the classes `z` from a `.npz` file, if present.
pub fn read_classes(path: &Path) -> Result<Option<Vec<usize>>> {
    read_array(path, "z")?.map(|z| classes(&z)).transpose().map_err(|error| error.in_file(path))
}

/// Checks that `z` holds one whole number per unit, and converts them.
fn classes(z: &Units) -> Result<Vec<usize>> {
    let hint = "number the classes 0, 1, 2, ...";
    if z.elements() != 1 {
        return Err(Error::data("z", format!("a unit has shape {:?}", z.shape()), hint));
    }
    let class = |(i, &value): (usize, &f32)| {
        if (0.0..MAX_CLASSES).contains(&value) && value.fract() == 0.0 {
            return Ok(value as usize);
        }
        Err(Error::data(format!("z, unit {i}"), format!("{value} is not a class"), hint))
    };
    z.values().iter().enumerate().map(class).collect()
}

/// The accuracy of a model's answers.
///
/// `cf_mse` and `cf_mse_rho0` are divided by the variance of all elements of x in the training data, except for
/// images, which stay in pixels. The answer about a yes/no outcome or a level of a category is a probability, its error
/// the distance from 0 or 1; the intervals are compared with the best probability, where known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// The number of units.
    pub units: usize,
    /// The correlation of the noise in both worlds that the answers assume.
    #[serde(flatten)]
    pub rho: UsedRho,
    /// The level of the intervals.
    pub level: f64,
    /// Mean squared error of the counterfactual.
    pub cf_mse: f64,
    /// The same in units of y.
    pub cf_mse_raw: f64,
    /// The same divided by the variance of y in the evaluated units; none if y is constant.
    pub cf_mse_y: Option<f64>,
    /// The Bayes limit, divided as `cf_mse_y`: the error of the best answers that the observed values allow.
    pub limit: Option<f64>,
    /// `cf_mse_y` divided by `limit`; none where the limit is 0.
    pub ratio: Option<f64>,
    /// The [`log_loss`] of yes/no outcomes and categories, or else that of the distributions of counts and ordered levels; none
    /// for other outcomes.
    pub log_loss: Option<f64>,
    /// The log loss of the best probabilities that the observed values allow.
    pub log_loss_limit: Option<f64>,
    /// `log_loss` divided by `log_loss_limit`.
    pub log_loss_ratio: Option<f64>,
    /// Mean squared error of the answers with fresh noise (rho = 0), scaled as `cf_mse`.
    pub cf_mse_rho0: f64,
    /// Structural similarity, for images.
    pub ssim: Option<f64>,
    /// The share of units in their true class under the best matching of classes.
    pub class_accuracy: Option<f64>,
    /// Adjusted Rand index of true and found classes.
    pub ari: Option<f64>,
    /// The coverage of the intervals: of outcomes, and of the best probabilities of yes/no outcomes and categories. None if
    /// there is nothing to cover: the best probabilities are not known.
    pub coverage: Option<f64>,
    /// Whether some of the intervals are those of probabilities.
    pub covers_probabilities: bool,
    /// Mean width of the intervals, in units of y.
    pub width: f64,
    /// The share of answers without warnings.
    pub ok: f64,
    /// Duration of the query in seconds.
    pub query_seconds: f64,
}

/// Asks `fitted` about `data` under the treatments of `truth`, and scores the answers.
///
/// ```
/// use cfqp::eval::{Reference, evaluate};
/// # use cfqp::{AskOptions, Base, Classes, Fit, FitConfig, Rho, sim::Oscillator};
/// # let simulated = Oscillator::default().simulate(200, 1)?;
/// # let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
/// # let model = Fit::new(config).run(&simulated.data)?;
///
/// let test = Oscillator::default().simulate(100, 1000)?;
/// let truth = Reference::from(test.truth);
/// let same_noise = AskOptions { rho: Rho::Given(1.0), ..AskOptions::default() };
/// let scores = evaluate(&model, &test.data, &truth, same_noise)?;
/// assert!(scores.cf_mse < 0.01 && scores.coverage.unwrap() > 0.8);
/// # Ok::<(), cfqp::Error>(())
/// ```
///
/// # Errors
/// [`Error::Data`] if the truth does not belong to the units.
pub fn evaluate(
    fitted: &Model,
    data: &Dataset,
    truth: &Reference,
    options: AskOptions,
) -> Result<Evaluation> {
    let start = Instant::now();
    let answers = fitted.outcomes(data, &truth.t_new, options)?;
    let query_seconds = start.elapsed().as_secs_f64();
    score(fitted, data, truth, options, &answers).map(|evaluation| Evaluation { query_seconds, ..evaluation })
}

fn score(
    fitted: &Model,
    data: &Dataset,
    truth: &Reference,
    options: AskOptions,
    answers: &Answers,
) -> Result<Evaluation> {
    let x_variance = fitted.scaler().x_variance;
    let Accuracy { cf_mse, cf_mse_raw, ssim } = accuracy(&truth.y_new, &answers.point, x_variance)?;
    let cf_mse_rho0 = if options.rho == Rho::Given(0.0) {
        cf_mse
    } else {
        let fresh = fitted.outcomes(data, &truth.t_new, AskOptions { rho: Rho::Given(0.0), ..options })?;
        mse(&truth.y_new, &fresh.point)? / error_unit(&truth.y_new, x_variance)
    };
    let kinds = data.outcome_kinds();
    let share = covered_truth(truth, &kinds)?.map(|truth| coverage(&truth, &answers.lower, &answers.upper));
    let Coverage { width, .. } = coverage(&truth.y_new, &answers.lower, &answers.upper)?;
    let found: Vec<usize> = answers.diagnoses.iter().map(|diagnosis| diagnosis.class).collect();
    let z = truth.z.as_ref().map(|z| check_count(z, data.len())).transpose()?;
    let LimitScores { cf_mse_y, limit, ratio } = limit_scores(cf_mse_raw, data, truth)?;
    let of_values = value_log_loss(&fitted.distributions(data, &truth.t_new, options)?, &truth.y_new);
    let LogLosses { log_loss, log_loss_limit, log_loss_ratio } =
        log_losses(&answers.point, of_values, truth, &kinds)?;
    let ok = answers.diagnoses.iter().filter(|diagnosis| diagnosis.ok()).count();
    Ok(Evaluation {
        units: data.len(),
        rho: answers.rho,
        level: options.level,
        cf_mse,
        cf_mse_raw,
        cf_mse_y,
        limit,
        ratio,
        log_loss,
        log_loss_limit,
        log_loss_ratio,
        cf_mse_rho0,
        ssim,
        class_accuracy: z.map(|z| class_accuracy(z, &found)),
        ari: z.map(|z| adjusted_rand_index(z, &found)),
        coverage: share.transpose()?.map(|covered| covered.share),
        covers_probabilities: kinds.iter().any(|kind| kind.is_chance()),
        width,
        ok: ok as f64 / data.len() as f64,
        query_seconds: 0.0,
    })
}

/// An error beside its Bayes limit.
struct LimitScores {
    cf_mse_y: Option<f64>,
    limit: Option<f64>,
    ratio: Option<f64>,
}

/// Divides the error `cf_mse_raw` by the variance of y, and compares it with the limit.
fn limit_scores(cf_mse_raw: f64, data: &Dataset, truth: &Reference) -> Result<LimitScores> {
    let variance = Some(variance(data.y())).filter(|variance| *variance > 0.0);
    let cf_mse_y = variance.map(|variance| cf_mse_raw / variance);
    let limit = truth.limit()?.zip(variance).map(|(limit, variance)| limit / variance);
    let ratio = cf_mse_y.zip(limit.filter(|limit| *limit > MIN_LIMIT)).map(|(error, limit)| error / limit);
    Ok(LimitScores { cf_mse_y, limit, ratio })
}

/// Log losses of answers and of the best answers.
struct LogLosses {
    log_loss: Option<f64>,
    log_loss_limit: Option<f64>,
    log_loss_ratio: Option<f64>,
}

/// Log losses of probabilities, or else of the distributions of counts and ordered levels, which is `of_values`.
fn log_losses(
    answers: &Units,
    of_values: Option<f64>,
    truth: &Reference,
    kinds: &[OutcomeKind],
) -> Result<LogLosses> {
    let of_chances = log_loss(&truth.y_new, answers, kinds)?;
    let best = match (of_chances, &truth.y_bayes) {
        (None, _) => truth.p_bayes.as_ref().map(|p| mean_log_loss(p.values())),
        (Some(_), best) => {
            best.as_ref().map(|best| log_loss(&truth.y_new, best, kinds)).transpose()?.flatten()
        }
    };
    let found = of_chances.or(of_values);
    let ratio = found.zip(best.filter(|best| *best > MIN_LIMIT)).map(|(found, best)| found / best);
    Ok(LogLosses { log_loss: found, log_loss_limit: best, log_loss_ratio: ratio })
}

/// The log loss of the true values of counts and ordered levels; none if there are none.
fn value_log_loss(distributions: &[ValueProbabilities], y_new: &Units) -> Option<f64> {
    let observed = |i: usize, j: usize| y_new.mask_row(i).is_none_or(|mask| mask[j]);
    let of_outcome = |distribution: &ValueProbabilities| -> Vec<f32> {
        let j = distribution.element;
        let units = (0..y_new.len()).filter(|&i| observed(i, j));
        units.map(|i| distribution.of_value(i, y_new.row(i)[j])).collect()
    };
    let probabilities: Vec<f32> = distributions.iter().flat_map(of_outcome).collect();
    (!probabilities.is_empty()).then(|| mean_log_loss(&probabilities))
}

/// What intervals must cover: outcomes, and the best probabilities of yes/no outcomes and categories. None if nothing is known.
fn covered_truth(truth: &Reference, kinds: &[OutcomeKind]) -> Result<Option<Units>> {
    let y_new = &truth.y_new;
    if !kinds.iter().any(|kind| kind.is_chance()) {
        return Ok(Some(y_new.clone()));
    }
    if let Some(best) = &truth.y_bayes {
        check_same_shape(y_new, best, "y_bayes")?;
    }
    let (elements, all) = (y_new.elements(), 0..y_new.values().len());
    let is_chance = |i: usize| kinds[i % elements].is_chance();
    let value = |i: usize| match &truth.y_bayes {
        Some(best) if is_chance(i) => best.values()[i],
        _ => y_new.values()[i],
    };
    let is_observed = |i: usize| y_new.mask().is_none_or(|mask| mask[i]);
    let is_known = |i: usize| is_observed(i) && (truth.y_bayes.is_some() || !is_chance(i));
    let mask: Vec<bool> = all.clone().map(is_known).collect();
    if !mask.contains(&true) {
        return Ok(None);
    }
    let values = all.map(value).collect();
    Units::with_mask("y_new", y_new.shape().to_vec(), values, Some(mask)).map(Some)
}

/// The errors of counterfactuals.
pub(super) struct Accuracy {
    pub cf_mse: f64,
    pub cf_mse_raw: f64,
    pub ssim: Option<f64>,
}

/// The errors of `answers`; `x_variance` is the variance of all elements of x in the training units.
pub(super) fn accuracy(y_new: &Units, answers: &Units, x_variance: f64) -> Result<Accuracy> {
    let cf_mse_raw = mse(y_new, answers)?;
    let large = matches!(y_new.shape(), [_, height, width] if *height >= 7 && *width >= 7);
    Ok(Accuracy {
        cf_mse: cf_mse_raw / error_unit(y_new, x_variance),
        cf_mse_raw,
        ssim: large.then(|| ssim(y_new, answers)).transpose()?,
    })
}

/// The divisor of `cf_mse`: 1 for images, whose errors stay in pixels.
fn error_unit(y_new: &Units, x_variance: f64) -> f64 {
    if y_new.shape().len() == 3 { 1.0 } else { x_variance }
}

fn check_count(z: &[usize], units: usize) -> Result<&[usize]> {
    if z.len() == units {
        return Ok(z);
    }
    let problem = format!("{} units, but x has {units}", z.len());
    Err(Error::data("z", problem, "give the class of every unit, or leave z out"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Base, Classes, FitConfig};
    use crate::data::NpzArray;
    use crate::fit::Fit;
    use crate::sim::{Oscillator, Table, TableWorld};

    #[test]
    fn a_model_is_scored_against_simulated_counterfactuals() {
        let (train, test) = (Oscillator::default().simulate(300, 1), Oscillator::default().simulate(100, 2));
        let (train, test) = (train.unwrap(), test.unwrap());
        let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
        let fitted = Fit::new(config).run(&train.data).unwrap();
        let truth = Reference::from(test.truth);
        let same_noise = AskOptions { rho: Rho::Given(1.0), ..AskOptions::default() };
        let found = evaluate(&fitted, &test.data, &truth, same_noise).unwrap();
        assert_eq!(found.units, 100);
        assert!((found.cf_mse * fitted.scaler().x_variance - found.cf_mse_raw).abs() < 1e-9);
        assert!(found.cf_mse < found.cf_mse_rho0, "knowing the noise of the unit helps");
        assert!(found.class_accuracy.unwrap() > 0.9 && found.ari.unwrap() > 0.8 && found.ssim.is_none());
        let options = AskOptions { rho: Rho::Given(0.0), ..AskOptions::default() };
        let fresh = evaluate(&fitted, &test.data, &truth, options).unwrap();
        assert_eq!(fresh.cf_mse, found.cf_mse_rho0);
        assert_eq!((found.limit, found.ratio), (None, None));
        assert!((found.cf_mse_y.unwrap() * variance(test.data.y()) - found.cf_mse_raw).abs() < 1e-9);
        let few = Reference { z: Some(vec![0; 3]), ..truth };
        let error = evaluate(&fitted, &test.data, &few, AskOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "z: 3 units, but x has 100");
    }

    #[test]
    fn an_error_is_compared_with_the_limit_in_variances_of_y() {
        let simulated = Table::default().simulate(200, 1).unwrap();
        let truth = Reference::from(simulated.truth.clone());
        let limit = truth.limit().unwrap().unwrap();
        assert!(limit > 0.01, "{limit}");
        let found = limit_scores(1.5 * limit, &simulated.data, &truth).unwrap();
        assert!((found.ratio.unwrap() - 1.5).abs() < 1e-12);
        assert!((found.limit.unwrap() * variance(simulated.data.y()) - limit).abs() < 1e-12);
        // a limit of 0 has no ratio
        let exact = Reference { y_bayes: Some(truth.y_new.clone()), ..truth.clone() };
        let found = limit_scores(limit, &simulated.data, &exact).unwrap();
        assert_eq!((found.limit, found.ratio), (Some(0.0), None));
        let few = Units::new("y_bayes", vec![1], vec![0.0; 3]).unwrap();
        assert!(limit_scores(limit, &simulated.data, &Reference { y_bayes: Some(few), ..truth }).is_err());
    }

    #[test]
    fn probabilities_are_scored_by_log_loss_and_cover_the_best_ones() {
        let table = Table { world: TableWorld::YesNo, ..Table::default() };
        let (train, test) = (table.simulate(300, 1).unwrap(), table.simulate(200, 2).unwrap());
        let config = FitConfig { classes: Classes::Given(1), members: Some(2), ..FitConfig::default() };
        let fitted = Fit::new(config).run(&train.data).unwrap();
        let truth = Reference::from(test.truth);
        let same_noise = AskOptions { rho: Rho::Given(1.0), ..AskOptions::default() };
        let found = evaluate(&fitted, &test.data, &truth, same_noise).unwrap();
        let answers = fitted.outcomes(&test.data, &truth.t_new, same_noise).unwrap();
        let best = truth.y_bayes.clone().unwrap();
        let expected = |answers: &Units| {
            let loss = |(y, p): (&f32, &f32)| -f64::from(1.0 - (y - p).abs()).clamp(0.001, 0.999).ln();
            crate::math::mean(
                &truth.y_new.values().iter().zip(answers.values()).map(loss).collect::<Vec<_>>(),
            )
        };
        let (loss, limit) = (found.log_loss.unwrap(), found.log_loss_limit.unwrap());
        assert!((loss - expected(&answers.point)).abs() < 1e-4 && (limit - expected(&best)).abs() < 1e-4);
        assert!((found.log_loss_ratio.unwrap() - loss / limit).abs() < 1e-12 && loss > limit);
        let covered = coverage(&best, &answers.lower, &answers.upper).unwrap();
        assert_eq!(found.coverage, Some(covered.share));
        let unknown = Reference { y_bayes: None, ..truth };
        let found = evaluate(&fitted, &test.data, &unknown, same_noise).unwrap();
        assert_eq!((found.log_loss, found.log_loss_limit, found.coverage), (Some(loss), None, None));
    }

    #[test]
    fn intervals_cover_outcomes_and_best_probabilities() {
        let units = |values: &[f32]| Units::new("y", vec![2], values.to_vec()).unwrap();
        let kinds = [OutcomeKind::YesNo, OutcomeKind::Count];
        let truth = Reference {
            t_new: units(&[0.0; 4]),
            y_new: units(&[1.0, 3.0, 0.0, 5.0]),
            z: None,
            y_bayes: Some(units(&[0.7, 2.0, 0.2, 4.0])),
            p_bayes: Some(Units::new("p", vec![1], vec![0.5, 0.25]).unwrap()),
        };
        let covered = covered_truth(&truth, &kinds).unwrap().unwrap();
        assert_eq!(covered.values(), [0.7, 3.0, 0.2, 5.0]);
        let without = Reference { y_bayes: None, ..truth.clone() };
        let covered = covered_truth(&without, &kinds).unwrap().unwrap();
        assert_eq!(covered.mask().unwrap(), [false, true, false, true]);
        assert_eq!(covered_truth(&without, &[OutcomeKind::YesNo; 2]).unwrap(), None);
        // the limit of counts is that of their probabilities
        let found = log_losses(&truth.y_new, Some(3.0), &truth, &[OutcomeKind::Count; 2]).unwrap();
        let limit = 1.5 * 2.0_f64.ln();
        assert!((found.log_loss_limit.unwrap() - limit).abs() < 1e-6);
        assert!((found.log_loss_ratio.unwrap() - 3.0 / limit).abs() < 1e-6);
        let counts = ValueProbabilities {
            element: 1,
            values: vec![0.0, 3.0],
            probabilities: vec![0.5, 0.5, 1.0, 0.0],
        };
        assert_eq!(value_log_loss(&[], &truth.y_new), None);
        // 5 is not among the values
        let loss = value_log_loss(&[counts], &truth.y_new).unwrap();
        assert!((loss - 0.5 * (2.0_f64.ln() + 1000.0_f64.ln())).abs() < 1e-6, "{loss}");
        let few = Reference { y_bayes: Some(units(&[0.0; 2])), ..truth };
        assert!(covered_truth(&few, &kinds).is_err());
    }

    #[test]
    fn a_truth_is_read_with_or_without_classes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let sim = Table::default().simulate(4, 1).unwrap();
        let z: Vec<i64> = sim.truth.z.iter().map(|&z| z as i64).collect();
        let (t, y) = (NpzArray::units(&sim.truth.t_new), NpzArray::units(&sim.truth.y_new));
        let best = NpzArray::units(sim.truth.y_bayes.as_ref().unwrap());
        let arrays = [("t_new", t), ("y_new", y), ("z", NpzArray::integers(&z)), ("y_bayes", best)];
        crate::data::write_npz(&path, &arrays).unwrap();
        assert_eq!(read_truth(&path).unwrap(), Reference::from(sim.truth.clone()));
        crate::data::write_npz(&path, &arrays[..3]).unwrap();
        let without = read_truth(&path).unwrap();
        assert_eq!((without.z.is_some(), without.limit().unwrap()), (true, None));
        crate::data::write_npz(&path, &arrays[..2]).unwrap();
        assert_eq!(read_truth(&path).unwrap().z, None);
        crate::data::write_npz(&path, &arrays[..1]).unwrap();
        assert!(read_truth(&path).unwrap_err().to_string().ends_with("there is no array `y_new`"));
        let wrong = NpzArray::integers(&[0, 1, -1, 0]);
        crate::data::write_npz(&path, &[arrays[0].clone(), arrays[1].clone(), ("z", wrong)]).unwrap();
        assert!(read_truth(&path).unwrap_err().to_string().ends_with("z, unit 2: -1 is not a class"));
    }
}
