//! The recipe for short outcomes: mixture density networks of several forms, averaged.

use super::finish::{ModelParts, assemble};
use super::outcomes::{OutcomeHeads, observed_values, outcome_scaler};
use super::predictive_power::HeldOutPredictions;
use super::shards::StandardisedShards;
use crate::choice::Score;
use crate::config::{Base, Classes, FitConfig};
use crate::data::table::LargeTable;
use crate::data::{Dataset, OutcomeKind};
use crate::density::{
    Ensemble, FOLDS, FittedMember, Group, HIDDEN, KeptJobs, KnownRows, Member, MemberGroup, Offsets,
    OutcomeRange, OutcomeScale, Problem, RowSummary, Rows, SUBJECTS_PER_CLASS, Selected, Streamed, T_COSINES,
    Tried, UnitErrors, best_score, class_views, fit_offsets, row_folds,
};
use crate::math::{adjusted_rand_index, mean};
use crate::model::abduction::most_probable;
use crate::model::{ClassScore, FitReport, Model, Predictor, SplitSizes};
use crate::models::{BaseConfig, MlpConfig, YScale};
use crate::train::{Context, sample};
use crate::{Error, Result};

/// The largest number of outcome elements of a density.
const MAX_OUTCOMES: usize = 8;
/// The largest number of covariates.
const MAX_COVARIATES: usize = 512;
/// Cosines of a covariate with many values ...
const COSINES: usize = 6;
/// ... and where there are few subjects; none if there are still fewer.
const FEW_COSINES: usize = 2;
/// Subjects per coefficient of the covariates' cosines, and of products of covariates and treatments.
const SUBJECTS_PER_COEFFICIENT: usize = 5;
/// A covariate with at most this many values has no cosines.
const FEW_VALUES: usize = 4;
/// A treatment with at most this many values has a free mean under each ...
const FEW_TREATMENTS: usize = 12;
/// ... if there are this many rows per value.
const ROWS_PER_VALUE: usize = 8;
/// The most covariates that have products with treatments.
const MAX_PRODUCT_COLUMNS: usize = 12;

/// Whether this recipe fits the data: few outcome elements, not too many covariates, and no other base model asked for.
///
/// # Errors
/// If it does not, and outcomes are not numbers or logarithms are asked for, which no other recipe models.
pub(super) fn applies(context: &Context<'_>) -> Result<bool> {
    let (d_y, d_x) = (context.scaler.y.elements(), context.scaler.x.elements());
    let shallow = matches!(context.config.base, Base::Auto | Base::Linear | Base::Mlp);
    if shallow && d_y <= MAX_OUTCOMES && d_x <= MAX_COVARIATES {
        return Ok(true);
    }
    if context.config.y_scale == YScale::Log {
        let problem = format!(
            "logarithms are for outcomes of at most {MAX_OUTCOMES} elements and at most {MAX_COVARIATES} covariates; the \
             data have {d_y} and {d_x}"
        );
        let hint = "set `y_scale` to linear, or take the logarithm of the outcomes yourself";
        return Err(Error::config("y_scale", problem, hint));
    }
    let other = context.data.outcome_kinds().into_iter().find(|kind| *kind != OutcomeKind::Number);
    match other {
        None => Ok(false),
        Some(kind) => {
            let problem = format!(
                "an outcome of kind {} needs a base model of linear or mlp, at most {MAX_OUTCOMES} outcome elements and at \
                 most {MAX_COVARIATES} covariates; the data have {d_y} and {d_x}",
                kind.name()
            );
            let hint = "give fewer outcomes, levels or covariates, or say that the outcome is a number";
            Err(Error::data("y", problem, hint))
        }
    }
}

/// From this many subjects on, scales of the outcome are compared with at most [`SCALE_CLASSES`] classes. Fewer subjects may need
/// more classes to tell.
const MANY_SUBJECTS: usize = 1000;
const SCALE_CLASSES: usize = 2;

/// A form of the outcomes, and the units in it.
struct Candidate {
    heads: OutcomeHeads,
    rows: Rows,
    /// What other regressors say of them.
    offsets: Offsets,
    tried: Tried,
}

/// What there is besides the units of the fit.
#[derive(Clone, Copy)]
pub(super) enum Rest<'a> {
    /// Nothing; this many units, the last ones, were given for validation.
    Joined(usize),
    /// The units are the sample of a table on disk.
    OnDisk(&'a LargeTable),
}

/// Fits mixture density networks.
pub(super) fn fit_density(context: &Context<'_>, rest: Rest<'_>) -> Result<Model> {
    let data = ordered_units(context)?;
    let kinds = data.outcome_kinds();
    let scaler = outcome_scaler(context.scaler, data.y(), &kinds);
    let context = &Context { data: &data, scaler: &scaler, ..*context };
    let mut candidate = best_candidate(context, &kinds, matches!(rest, Rest::Joined(_)))?;
    let tried = std::mem::take(&mut candidate.tried);
    let problem = problem(context, &candidate);
    let mut selected = problem.select(tried);
    let averaged = std::mem::take(&mut selected.averaged);
    let mut groups = problem.members(averaged, context.config.members.unwrap_or(FOLDS))?;
    let note = match rest {
        Rest::Joined(0) => None,
        Rest::Joined(joined) => Some(format!(
            "the {joined} units given for validation were joined to the others, because every unit is held out in turn"
        )),
        Rest::OnDisk(table) => {
            let shards =
                StandardisedShards { shards: &table.shards, scaler: &scaler, heads: &candidate.heads };
            let streamed = problem.train_on_shards(&mut groups, &shards)?;
            let members = groups.iter().map(|group| group.members.len()).sum();
            Some(streamed_note(table, streamed, members))
        }
    };
    let rows = &candidate.rows;
    let has_offsets = |group: &MemberGroup| group.members[0].member.form.offsets > 0;
    let regressors = match groups.iter().any(has_offsets) {
        true => candidate.offsets.regressors.clone(),
        false => Vec::new(),
    };
    let ensemble = Ensemble {
        regressors,
        known: KnownRows::new(rows, &row_folds(rows, context.config.seed)),
        ranges: outcome_ranges(context),
        members: groups.iter().flat_map(|group| &group.members).map(|known| known.member.clone()).collect(),
        groups: groups.iter().map(answering_group).collect(),
        scales: candidate.heads.scales.clone(),
        learned_rho: rows.has_repeats().then(|| learned_rho(&groups[0].members, rows)),
    };
    let halves = &groups[0].members;
    let mut report = report(context, rows, &ensemble, halves, &selected);
    report.notes.extend(note);
    if let Rest::OnDisk(table) = rest {
        report.units.train = table.shards.units;
    }
    let all: Vec<usize> = (0..context.data.len()).collect();
    let (base, classes) = (base(&ensemble), ensemble.classes());
    let data_hash = match rest {
        Rest::Joined(_) => Some(context.data.content_hash()),
        Rest::OnDisk(table) => table.content_hash.clone(),
    };
    let parts = ModelParts { base, classes, predictor: Predictor::Density(ensemble), report, data_hash };
    assemble(context, parts, &all)
}

/// The range of every element of the outcomes.
fn outcome_ranges(context: &Context<'_>) -> Vec<OutcomeRange> {
    let scaler = &context.scaler.y;
    let mut zero = vec![0.0; scaler.elements()];
    scaler.restore(&mut zero);
    let range = |j: usize| {
        let y = observed_values(context, j).into_iter();
        OutcomeRange::new(y, f64::from(zero[j]), f64::from(scaler.deviation(j)))
    };
    let unbounded = OutcomeRange { low: 0.0, high: 0.0, floor: None };
    (0..scaler.elements()).map(|j| range(j).unwrap_or(unbounded)).collect()
}

fn answering_group(group: &MemberGroup) -> Group {
    let UnitErrors { ratio, unseen_share } = group.members[0].member.form.unit_errors();
    Group { members: group.members.len(), weight: group.weight, error_ratio: ratio, unseen_share }
}

/// What was done with which units of a table on disk.
fn streamed_note(table: &LargeTable, streamed: Streamed, members: usize) -> String {
    let (sample, all) = (table.sample.len(), table.shards.units);
    let passes =
        if streamed.passes == 1 { "one pass".to_owned() } else { format!("{} passes", streamed.passes) };
    let kept = match streamed.improved {
        improved if improved == members => String::new(),
        improved => format!(
            "; {} of {members} members predict held-out units no better after it and stay as fitted to the sample",
            members - improved
        ),
    };
    format!(
        "explored on {sample} of {all} units; members trained on streamed halves of all units, in {passes}{kept}; class \
         sizes, scores and calibration are those of the {sample} units"
    )
}

/// The held-out score of every number of classes, on the scale of the outcomes that is best.
pub(super) fn score_density_classes(context: &Context<'_>) -> Result<Vec<ClassScore>> {
    let data = ordered_units(context)?;
    let kinds = data.outcome_kinds();
    let scaler = outcome_scaler(context.scaler, data.y(), &kinds);
    let context = &Context { data: &data, scaler: &scaler, ..*context };
    let mut candidate = best_candidate(context, &kinds, true)?;
    let tried = std::mem::take(&mut candidate.tried);
    Ok(candidates(context, &problem(context, &candidate).select(tried)))
}

/// All units in the order of the split, which does not depend on their order in a file.
fn ordered_units(context: &Context<'_>) -> Result<Dataset> {
    context.data.pick(&context.split.all())
}

/// The outcome scale with the best held-out likelihood, with all numbers of classes tried. If `with_offsets`, forms with the
/// predictions of other regressors compete.
fn best_candidate(context: &Context<'_>, kinds: &[OutcomeKind], with_offsets: bool) -> Result<Candidate> {
    let forms = OutcomeHeads::candidates(context, kinds)?;
    let several = forms.len() > 1;
    let mut best: Option<(Candidate, f64)> = None;
    for heads in forms {
        let mut candidate = Candidate::new(context, heads, with_offsets);
        if several {
            let is_large = candidate.rows.subjects.len() >= MANY_SUBJECTS;
            candidate
                .try_classes(context, if is_large { SCALE_CLASSES } else { context.config.max_classes })?;
        }
        // on the scale of standardised outcomes
        let score = best_score(&candidate.tried) + jacobian(&candidate.rows, &candidate.heads.scales);
        if best.as_ref().is_none_or(|(_, best)| score > *best) {
            best = Some((candidate, score));
        }
    }
    let (mut best, _) = best.expect("there is a form to try");
    best.try_classes(context, context.config.max_classes)?;
    Ok(best)
}

impl Candidate {
    fn new(context: &Context<'_>, heads: OutcomeHeads, with_offsets: bool) -> Self {
        let mut rows = heads.rows(context);
        let is_linear = context.config.base == Base::Linear;
        let covariates = rows.width - context.scaler.t.elements();
        let offsets = match with_offsets && !is_linear {
            true => fit_offsets(&mut rows, covariates, context.config.seed, context.pool),
            false => Offsets { regressors: Vec::new(), gains: vec![0.0; rows.width] },
        };
        Self { heads, rows, offsets, tried: Tried::default() }
    }

    /// Scores numbers of classes up to `most`, or the given one.
    fn try_classes(&mut self, context: &Context<'_>, most: usize) -> Result<()> {
        let given = match context.config.classes {
            Classes::Given(classes) => Some(classes),
            Classes::Auto => None,
        };
        let shown = if shows_classes(context, &self.rows) { context.config.max_classes } else { 1 };
        let mut tried = std::mem::take(&mut self.tried);
        problem(context, self).extend(&mut tried, given, most.min(shown))?;
        self.tried = tried;
        Ok(())
    }
}

/// The base model that stands for the form of the members.
fn base(ensemble: &Ensemble) -> BaseConfig {
    match ensemble.members[0].form.hidden {
        0 => BaseConfig::Linear(Default::default()),
        width => BaseConfig::Mlp(MlpConfig { hidden: vec![width; 2], ..MlpConfig::default() }),
    }
}

/// The mean over subjects of the logarithm of the slopes of the scales.
fn jacobian(rows: &Rows, scales: &[OutcomeScale]) -> f64 {
    let slope = |(i, y): (usize, &f32)| {
        let scale = scales[i % rows.d];
        if rows.is_observed(i / rows.d, i % rows.d) {
            scale.log_slope(scale.restore(f64::from(*y)))
        } else {
            0.0
        }
    };
    rows.outcomes.iter().enumerate().map(slope).sum::<f64>() / rows.subjects.len() as f64
}

fn problem<'a>(context: &'a Context<'_>, candidate: &'a Candidate) -> Problem<'a> {
    let Candidate { rows, heads, offsets: Offsets { regressors, gains }, .. } = candidate;
    let d_t = context.scaler.t.elements();
    let d_x = rows.width - d_t;
    let linear = context.config.base == Base::Linear;
    let affordable = |terms: usize| terms * SUBJECTS_PER_COEFFICIENT <= rows.subjects.len();
    let x_cosines =
        [COSINES, FEW_COSINES].into_iter().find(|count| affordable(d_x * (1 + count))).unwrap_or(0);
    let few_treatments = FEW_TREATMENTS.min(rows.len() / ROWS_PER_VALUE);
    let t_values: Vec<Vec<f32>> = (d_x..rows.width)
        .map(|column| distinct_values(rows, column, if linear { 0 } else { few_treatments }))
        .map(Option::unwrap_or_default)
        .collect();
    let is_few = |column: usize| linear || distinct_values(rows, column, FEW_VALUES).is_some();
    let product_columns = product_columns(&gains[..d_x]);
    let factors: usize = t_values.iter().map(|values| values.len().saturating_sub(1).max(2)).sum();
    Problem {
        rows,
        x_cosines: (0..d_x).map(|column| if is_few(column) { 0 } else { x_cosines }).collect(),
        t_cosines: t_values.iter().map(|v| if linear || !v.is_empty() { 0 } else { T_COSINES }).collect(),
        t_values,
        interactions: !linear && d_x > 0 && affordable(factors * product_columns.len()),
        product_columns,
        regressors: regressors.clone(),
        outcome_laws: heads.laws.clone(),
        hidden: if linear { 0 } else { HIDDEN },
        seed: context.config.seed,
        pool: context.pool,
        monitor: context.monitor,
        jobs: KeptJobs { outcomes: heads.name, kept: context.checkpoint },
    }
}

/// The covariates that have products with treatments: all, or those that matter most to trees.
fn product_columns(gains: &[f64]) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..gains.len()).collect();
    columns.sort_by(|&a, &b| gains[b].total_cmp(&gains[a]));
    columns.truncate(MAX_PRODUCT_COLUMNS);
    columns.sort_unstable();
    columns
}

/// The distinct values of an input column, ascending; none if there are more than `most`.
fn distinct_values(rows: &Rows, column: usize, most: usize) -> Option<Vec<f32>> {
    let mut found: Vec<f32> = Vec::new();
    for row in 0..rows.len() {
        let value = rows.input(row)[column];
        if let Err(place) = found.binary_search_by(|other| other.total_cmp(&value)) {
            found.insert(place, value);
            if found.len() > most {
                return None;
            }
        }
    }
    Some(found)
}

/// The correlation of the normal scores of two rows of one subject, from members that were not fitted to it.
fn learned_rho(halves: &[FittedMember], rows: &Rows) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for half in halves {
        let mut evaluator = half.member.evaluator();
        for &subject in half.held_out.iter().filter(|&&subject| rows.subjects[subject].len() > 1) {
            for view in class_views(&mut evaluator, rows, &rows.subjects[subject]) {
                let weight = view.posterior;
                for j in 0..rows.d {
                    let scores = view.scores.iter().skip(j).step_by(rows.d).filter(|g| g.is_finite());
                    let (m, sum, square) = scores.fold((0.0, 0.0, 0.0), |(m, sum, square), g| {
                        let g = g.clamp(-3.0, 3.0);
                        (m + 1.0, sum + g, square + g * g)
                    });
                    if m > 1.0 {
                        // the mean over pairs, each subject with the weight of its rows
                        products += weight * (sum * sum - square) / (m - 1.0);
                        squares += weight * square;
                    }
                }
            }
        }
    }
    (products / f64::max(squares, 1e-9)).clamp(0.0, 0.99)
}

/// Whether outcomes can show classes: not one yes/no outcome or one category, unless subjects have several rows.
fn shows_classes(context: &Context<'_>, rows: &Rows) -> bool {
    rows.has_repeats() || !OutcomeKind::is_single_chance(&context.data.outcome_kinds())
}

/// Why no classes are looked for.
const UNSEEN_CLASSES: &str = "one yes/no outcome or category per unit does not show hidden classes: the model has one class; \
     give several rows per subject, or several outcomes";

/// The report of the fit.
fn report(
    context: &Context<'_>,
    rows: &Rows,
    ensemble: &Ensemble,
    halves: &[FittedMember],
    selected: &Selected,
) -> FitReport {
    let held_out = HeldOut::new(context, rows, ensemble, halves);
    let classes = ensemble.classes();
    let class_sizes = held_out.sizes.iter().map(|size| size.round() as usize).collect();
    let given = matches!(context.config.classes, Classes::Given(_));
    let mut report = FitReport {
        units: SplitSizes { train: context.data.len(), validation: 0, calibration: 0 },
        candidates: candidates(context, selected),
        agreement: agreement(halves, rows),
        one_class_suffices: classes == 1 && !given,
        class_sizes,
        alike_classes: ensemble.alike_classes(rows, context.scaler.t.elements(), context.config.seed),
        delta_hat: held_out.delta_hat(classes),
        val_nll: -mean(&held_out.likelihoods),
        val_mse: held_out.class_mse(),
        r2: held_out.predictions.r2(context.data.y(), context.data.groups()),
        epochs: halves.iter().map(|half| half.steps).max().unwrap_or(0),
        ..FitReport::default()
    };
    if classes == 1 && !given {
        report.notes.push(match shows_classes(context, rows) {
            true => format!(
                "no hidden classes could be shown with these {} units: the model has one class",
                report.units.train
            ),
            false => UNSEEN_CLASSES.to_owned(),
        });
    }
    report.notes.extend(report.alike_sentence());
    report.notes.extend(scarce_classes(classes, rows.subjects.len()));
    report.notes.extend(unused_settings(context));
    report
}

/// A remark on classes of too few subjects each.
fn scarce_classes(classes: usize, subjects: usize) -> Option<String> {
    let is_scarce = classes > 1 && subjects < SUBJECTS_PER_CLASS * classes;
    is_scarce.then(|| {
        format!(
            "{subjects} units are few for {classes} classes: with fewer than {SUBJECTS_PER_CLASS} per class, classes are mostly \
             noise; give fewer, or let held-out units choose"
        )
    })
}

/// Remarks on settings that have no effect on outcomes of few elements.
fn unused_settings(context: &Context<'_>) -> Option<String> {
    let config = context.config;
    let default = FitConfig::default();
    let unused = [
        (config.starts != default.starts, "starts"),
        (config.sharing != default.sharing, "sharing"),
        (config.epochs != default.epochs, "epochs"),
        (config.learning_rate != default.learning_rate, "learning_rate"),
        (config.batch != default.batch, "batch"),
        (config.mlp != default.mlp, "mlp"),
    ];
    let names: Vec<&str> = unused.iter().filter(|(given, _)| *given).map(|(_, name)| *name).collect();
    (!names.is_empty())
        .then(|| format!("not used for outcomes of at most {MAX_OUTCOMES} elements: {}", names.join(", ")))
}

fn candidates(context: &Context<'_>, selected: &Selected) -> Vec<ClassScore> {
    let base = if context.config.base == Base::Linear { Base::Linear } else { Base::Mlp };
    let score = |score: &Score<'_>| {
        let nll = -mean(&score.log_likelihoods);
        ClassScore {
            base,
            classes: score.classes,
            nll,
            full_nll: nll,
            penalty: 0.0,
            mse: None,
            gain_error: selected.gain_error(score),
            chosen: score.classes == selected.classes,
        }
    };
    selected.tried.iter().map(score).collect()
}

/// The mean agreement of the members' classes with the first's (adjusted Rand index).
fn agreement(halves: &[FittedMember], rows: &Rows) -> f64 {
    let all: Vec<usize> = (0..rows.subjects.len()).collect();
    let subjects = sample(&all, 2000);
    let labels = |half: &FittedMember| -> Vec<usize> {
        let classes = half.member.form.classes;
        let posteriors = half.member.posteriors(rows, &subjects);
        posteriors.chunks_exact(classes).map(most_probable).collect()
    };
    let Some((first, others)) = halves.split_first() else { return 1.0 };
    let classes = first.member.form.classes;
    let others: Vec<&FittedMember> =
        others.iter().filter(|half| half.member.form.classes == classes).collect();
    let first = labels(first);
    let agreements: Vec<f64> =
        others.into_iter().map(|half| adjusted_rand_index(&first, &labels(half))).collect();
    if agreements.is_empty() { 1.0 } else { mean(&agreements) }
}

/// What members say of rows that they were not fitted to.
struct HeldOut {
    predictions: HeldOutPredictions,
    /// Log-likelihood of every subject.
    likelihoods: Vec<f64>,
    /// The most probable class of every row, and the mean absolute and squared distance from its mean.
    labels: Vec<usize>,
    distances: Vec<(f64, f64)>,
    /// The sum of the probabilities of every class.
    sizes: Vec<f64>,
}

impl HeldOut {
    fn new(context: &Context<'_>, rows: &Rows, ensemble: &Ensemble, halves: &[FittedMember]) -> Self {
        let elements = ensemble.elements().len();
        let mut summary = vec![RowSummary::new(elements, ensemble.classes()); rows.len()];
        let mut likelihoods = vec![Vec::new(); rows.subjects.len()];
        for half in halves {
            let found = half.member.log_likelihoods(rows, &half.held_out);
            half.held_out.iter().zip(found).for_each(|(&subject, value)| likelihoods[subject].push(value));
            let chosen = half.member.form.classes == ensemble.classes();
            let mut evaluator = half.member.evaluator();
            for &subject in &half.held_out {
                for &row in rows.subjects[subject].iter().filter(|_| chosen) {
                    evaluator.summarise(rows, row, &ensemble.scales, &mut summary[row]);
                }
            }
        }
        let held_out: Vec<usize> = (0..rows.len()).filter(|&row| summary[row].count > 0.0).collect();
        let predicted = held_out.iter().flat_map(|&row| {
            let RowSummary { count, predicted, .. } = &summary[row];
            predicted.iter().map(move |p| (p / count) as f32)
        });
        let predictions = HeldOutPredictions {
            predicted: predicted.collect(),
            y: context.batcher().outcomes(&held_out),
            rows: held_out,
        };
        // of few members, none may have held a row out: all members with the chosen classes tell its class
        let chosen = |member: &&Member| member.form.classes == ensemble.classes();
        let mut evaluators: Vec<_> = ensemble.members.iter().filter(chosen).map(Member::evaluator).collect();
        for (row, summary) in summary.iter_mut().enumerate().filter(|(_, summary)| summary.count == 0.0) {
            evaluators.iter_mut().for_each(|member| member.summarise(rows, row, &ensemble.scales, summary));
        }
        let labels: Vec<usize> = summary.iter().map(|row| most_probable(&row.posterior)).collect();
        let distances = summary.iter().zip(&labels).map(|(row, &k)| row.distances[k]).collect();
        let mut sizes = vec![0.0; ensemble.classes()];
        for row in &summary {
            let total = row.posterior.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            sizes.iter_mut().zip(&row.posterior).for_each(|(size, p)| *size += p / total);
        }
        let average = |logs: &Vec<f64>| crate::math::log_sum_exp_of(logs) - (logs.len() as f64).ln();
        Self {
            predictions,
            likelihoods: likelihoods.iter().filter(|values| !values.is_empty()).map(average).collect(),
            labels,
            distances,
            sizes,
        }
    }

    fn class_mse(&self) -> f64 {
        mean(&self.predictions.rows.iter().map(|&row| self.distances[row].1).collect::<Vec<_>>())
    }

    /// The largest class mean of |y - m_k|.
    fn delta_hat(&self, classes: usize) -> f64 {
        let of_class = |k: usize| {
            let own = self.predictions.rows.iter().filter(|&&row| self.labels[row] == k);
            mean(&own.map(|&row| self.distances[row].0).collect::<Vec<_>>())
        };
        (0..classes).map(of_class).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Units;
    use crate::sim::{Table, TableWorld};
    use crate::{Fit, Resources};

    fn config(classes: usize) -> FitConfig {
        let classes = Classes::Given(classes);
        FitConfig { classes, base: Base::Linear, members: Some(2), ..FitConfig::default() }
    }

    fn simulate(world: TableWorld, n: usize) -> Dataset {
        Table { world, ..Table::default() }.simulate(n, 1).unwrap().data
    }

    #[test]
    fn a_model_file_gives_the_same_answers() {
        let data = simulate(TableWorld::BinaryTreatment, 100);
        let model = Fit::new(config(2)).run(&data).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.cfqp");
        model.save(&path).unwrap();
        let again = Model::load(&path, &Resources::default()).unwrap();
        let answers = |model: &Model| {
            let answers = model.ask(&data).under(1.0).answers().unwrap();
            (answers.point, answers.lower, answers.upper)
        };
        assert_eq!(answers(&again), answers(&model));
        assert_eq!(again.noise_law(), model.noise_law());
        assert_eq!(again.class_weights(), model.class_weights());
        assert_eq!(again.fit_report(), model.fit_report());
    }

    #[test]
    fn rho_is_learned_from_subjects_seen_more_than_once() {
        for rho in [0.2, 0.8] {
            // much noise: the error of the mean is in the residuals too, and would be taken for noise that rows share
            let table = Table {
                world: TableWorld::Single,
                repeats: 2,
                rho: Some(rho),
                sigma: Some(1.0),
                ..Table::default()
            };
            let data = table.simulate(600, 1).unwrap().data;
            let config = FitConfig { base: Base::Mlp, ..config(1) };
            let learned = Fit::new(config).run(&data).unwrap().learned_rho().unwrap();
            assert!((learned - f64::from(rho)).abs() < 0.1, "{learned} for {rho}");
        }
        let once = simulate(TableWorld::Single, 60);
        assert_eq!(Fit::new(config(1)).run(&once).unwrap().learned_rho(), None);
    }

    #[test]
    fn units_given_for_validation_are_joined_to_the_others_with_a_note() {
        let data = simulate(TableWorld::Single, 60);
        let [first, last] = [0..40, 40..60].map(|rows| data.pick(&rows.collect::<Vec<_>>()).unwrap());
        let model = Fit::new(config(1)).validate_on(&last).run(&first).unwrap();
        let report = model.fit_report();
        assert_eq!(report.units, SplitSizes { train: 60, validation: 0, calibration: 0 });
        let note = "the 20 units given for validation were joined to the others";
        assert!(report.notes.iter().any(|found| found.starts_with(note)), "{:?}", report.notes);
        assert!(Fit::new(config(1)).run(&data).unwrap().fit_report().notes.is_empty());
    }

    #[test]
    fn the_logarithm_is_chosen_for_lognormal_outcomes() {
        let lognormal = simulate(TableWorld::Lognormal, 200);
        assert!(Fit::new(config(2)).run(&lognormal).unwrap().is_log_scale());
        let linear = FitConfig { y_scale: YScale::Linear, ..config(2) };
        assert!(!Fit::new(linear).run(&lognormal).unwrap().is_log_scale());
    }

    #[test]
    fn small_values_among_outcomes_over_many_decades_keep_their_digits() {
        let single = simulate(TableWorld::Single, 200);
        let wide = single.y().values().iter().map(|y| (5.0 * y).exp()).collect();
        let y = Units::new("y", vec![1], wide).unwrap();
        let data = Dataset::new(single.x().clone(), single.t().clone(), y).unwrap();
        let model = Fit::new(config(1)).run(&data).unwrap();
        assert!(model.is_log_scale());
        let received = data.t().clone();
        let options = crate::AskOptions { rho: crate::Rho::Given(1.0), ..crate::AskOptions::default() };
        let answers = model.ask(&data).under(&received).options(options).answers().unwrap();
        for (answer, y) in answers.point.values().iter().zip(data.y().values()) {
            assert!((answer / y - 1.0).abs() < 0.01, "{answer} for {y}");
        }
        let other = model.ask(&data).under(0.5).answers().unwrap();
        let bounds = other.lower.values().iter().zip(other.upper.values());
        assert!(bounds.clone().all(|(lower, upper)| *lower > 0.0 && lower <= upper));
    }

    #[test]
    fn the_logarithm_can_be_asked_for_where_outcomes_are_positive() {
        let log = FitConfig { y_scale: YScale::Log, ..config(1) };
        let problem = |config: &FitConfig, data: &Dataset| match Fit::new(config.clone())
            .run(data)
            .unwrap_err()
        {
            Error::Config { field: "y_scale", problem, hint, .. } if hint.contains("`y_scale`") => problem,
            error => panic!("{error}"),
        };
        let single = simulate(TableWorld::Single, 60);
        let found = problem(&log, &single);
        assert!(found.contains("units have an outcome of 0 or less") && found.contains("-"), "{found}");

        let positive = single.y().values().iter().map(|y| 50.0 + y).collect();
        let y = Units::new("y", vec![1], positive).unwrap();
        let shifted = Dataset::new(single.x().clone(), single.t().clone(), y).unwrap();
        let linear = FitConfig { y_scale: YScale::Linear, ..config(1) };
        assert!(!Fit::new(linear).run(&shifted).unwrap().is_log_scale());
        let model = Fit::new(log.clone()).run(&shifted).unwrap();
        assert!(model.is_log_scale());
        assert_eq!(model.config().y_scale, YScale::Log);

        let series = crate::sim::Oscillator::default().simulate(60, 1).unwrap().data;
        assert!(problem(&log, &series).contains("at most 8 elements"));
        assert!(matches!(Fit::new(log).score_classes(&series), Err(Error::Config { field: "y_scale", .. })));
    }
}
