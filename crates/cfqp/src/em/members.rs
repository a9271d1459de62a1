//! The ensemble: the same classes learned several times over, each time without one part of the units.
//!
//! Every member leaves out a fold of its own, stops where that fold says, and lends it for an honest look at the
//! residuals. How hard to train is chosen on the first fold: the gentlest setting whose error is within one
//! standard error of the best. What separates settings in a counterfactual hardly shows in factual errors, so
//! where those cannot tell, the smoother network is the better bet.

use super::components::Components;
use super::explore::{Context, batch, learning_rate};
use super::trainer::{Schedule, Task, Trained, train};
use crate::config::Sharing;
use crate::data::Told;
use crate::models::BaseConfig;
use crate::nn::release_buffers;
use crate::{Result, stream};

/// One member and the rows it never learned from.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub components: Components,
    pub held_out: Vec<usize>,
    pub epochs: usize,
}

/// How members are trained.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
    pub sharing: Sharing,
    pub effort: Effort,
}

/// How hard a network is trained: total steps, step size against the configured one, weight decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    pub name: &'static str,
    steps: usize,
    rate: f64,
    decay: f64,
}

const GENTLE: Effort = Effort { name: "gentle", steps: 2400, rate: 1.0, decay: 1.0 };
const MIDDLE: Effort = Effort { name: "middle", steps: 5000, rate: 1.0, decay: 0.1 };
const HARD: Effort = Effort { name: "hard", steps: 8000, rate: 2.0, decay: 0.01 };

/// Weight decay of a U-Net, whose group norms make most weights free of scale.
const UNET_DECAY: f64 = 0.05;

/// How many members, and into how many folds the units are cut.
pub(crate) fn counts(context: &Context<'_>, base: &BaseConfig) -> (usize, usize) {
    let members = context.config.members.unwrap_or(match base {
        BaseConfig::Linear(_) => 10,
        BaseConfig::Mlp(_) => 5,
        BaseConfig::Unet(_) | BaseConfig::Transformer(_) => 2,
    });
    (members, members.max(6))
}

fn schedule(context: &Context<'_>, base: &BaseConfig, units: usize, effort: Effort) -> Schedule {
    let batch = match base {
        BaseConfig::Unet(_) | BaseConfig::Transformer(_) => {
            context.config.batch.min(units.div_ceil(8)).max(1)
        }
        _ => batch(context.config, units),
    };
    let per_epoch = units.div_ceil(batch).max(1);
    let steps = match base {
        BaseConfig::Transformer(_) => effort.steps / 3,
        _ => effort.steps,
    };
    let epochs = context.config.epochs.unwrap_or_else(|| (steps / per_epoch).clamp(20, 600));
    let learning_rate = learning_rate(context.config, base) * effort.rate;
    let decay = if matches!(base, BaseConfig::Unet(_)) { UNET_DECAY } else { effort.decay };
    Schedule { epochs, batch, learning_rate, cosine: true, weight_decay: decay, patience: None }
}

/// `rows` cut into `folds` parts.
pub(crate) fn cut(rows: &[usize], folds: usize) -> Vec<Vec<usize>> {
    let mut parts = vec![Vec::new(); folds];
    rows.iter().enumerate().for_each(|(i, &row)| parts[i % folds].push(row));
    parts
}

/// Train one network per job; the classes of all rows of the data set are `labels`.
fn train_all(
    context: &Context<'_>,
    base: &BaseConfig,
    classes: usize,
    labels: &[usize],
    folds: &[Vec<usize>],
    wanted: &[(usize, Setting)],
    stage: &str,
) -> Result<Vec<Member>> {
    let networks = |setting: &Setting| if setting.sharing == Sharing::Conditional { 1 } else { classes };
    let jobs: Vec<(usize, usize)> = wanted
        .iter()
        .enumerate()
        .flat_map(|(i, (_, setting))| (0..networks(setting)).map(move |k| (i, k)))
        .collect();
    let alone = jobs.len() == 1;
    let work = |(i, k): (usize, usize)| {
        let (fold, setting) = &wanted[i];
        let shared = setting.sharing == Sharing::Conditional;
        let own = |row: &usize| shared || labels[*row] == k;
        let valid: Vec<usize> = folds[*fold].iter().copied().filter(own).collect();
        let others = folds.iter().enumerate().filter(|(f, _)| f != fold).flat_map(|(_, rows)| rows);
        let rows: Vec<usize> = others.copied().filter(own).collect();
        let told = if shared { Told::Each(labels, classes) } else { Told::Nothing };
        let name =
            [stage, base.name(), setting.effort.name, &fold.to_string(), &k.to_string()].map(str::to_owned);
        let name: Vec<&str> = name.iter().map(String::as_str).collect();
        let net = context.init(base, if shared { classes } else { 0 }, &name)?;
        if rows.is_empty() {
            return Ok((i, Trained { net, loss: f64::INFINITY, epochs: 0 }));
        }
        let schedule = schedule(context, base, rows.len(), setting.effort);
        let title = if stage == "choose" { "how hard to train" } else { "ensemble" };
        context.monitor.stage(title, schedule.epochs);
        let task = Task { train: &rows, valid: &valid, told, alone, ..context.task() };
        let of = classes.to_string();
        let key = [&name[..], &[if shared { "shared" } else { "own" }, "of", &of]].concat().join(" ");
        let trained = context.trained(&key, base, if shared { classes } else { 0 }, || {
            let mut rng = stream(context.config.seed, &[&name[..], &["train"]].concat());
            train(net, &task, &schedule, &mut rng, context.monitor)
        })?;
        Ok((i, trained))
    };
    let trained = match jobs[..] {
        [job] => vec![context.pool.alone(|| work(job))?],
        _ => context.pool.try_map(jobs, work)?,
    };
    release_buffers();
    let member = |(i, (fold, _)): (usize, &(usize, Setting))| {
        let own = trained.iter().filter(|(job, _)| *job == i);
        Member {
            components: Components { nets: own.clone().map(|(_, t)| t.net.clone()).collect(), classes },
            held_out: folds[*fold].clone(),
            epochs: own.map(|(_, t)| t.epochs).max().unwrap_or(0),
        }
    };
    Ok(wanted.iter().enumerate().map(member).collect())
}

/// Squared error of every held-out unit under its own class.
fn unit_errors(context: &Context<'_>, member: &Member, labels: &[usize]) -> Vec<f64> {
    let batcher = context.batcher();
    let d = batcher.scaler.y.each();
    let mut errors = Vec::new();
    for k in 0..member.components.classes {
        let own: Vec<usize> = member.held_out.iter().copied().filter(|&row| labels[row] == k).collect();
        for rows in own.chunks(batcher.at_once()) {
            let (y, mean) =
                (batcher.outcomes(rows), member.components.mean(k, &batcher, rows, None, context.device));
            for (i, &row) in rows.iter().enumerate() {
                let mask = batcher.data.y().mask_row(row);
                let seen = (0..d).filter(|&j| mask.is_none_or(|mask| mask[j]));
                let squares = seen.map(|j| f64::from(y[i * d + j] - mean[i * d + j]).powi(2));
                errors.push(squares.sum::<f64>() / d as f64);
            }
        }
    }
    errors
}

/// The first of `candidates` (per-unit errors, gentlest first) within one standard error of the best.
fn gentlest(candidates: &[Vec<f64>]) -> usize {
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    let best = (0..candidates.len())
        .min_by(|&a, &b| mean(&candidates[a]).total_cmp(&mean(&candidates[b])))
        .expect("there are candidates");
    let close = |errors: &Vec<f64>| {
        let gaps: Vec<f64> = errors.iter().zip(&candidates[best]).map(|(a, b)| a - b).collect();
        let (n, gap) = (gaps.len().max(1) as f64, mean(&gaps));
        let variance = gaps.iter().map(|g| (g - gap).powi(2)).sum::<f64>() / n;
        gap <= (variance / n).sqrt()
    };
    candidates.iter().position(close).unwrap_or(best)
}

/// Choose how members are trained, on the first fold; with the member that it took. Deep networks are trained in one
/// way: to try others would cost as much as the ensemble.
pub(crate) fn choose(
    context: &Context<'_>,
    base: &BaseConfig,
    classes: usize,
    found: Sharing,
    labels: &[usize],
    folds: &[Vec<usize>],
) -> Result<(Setting, Option<Member>)> {
    if matches!(base, BaseConfig::Unet(_) | BaseConfig::Transformer(_)) {
        let sharing = if classes == 1 { Sharing::Separate } else { found };
        return Ok((Setting { sharing, effort: GENTLE }, None));
    }
    let sharings = match context.config.sharing {
        _ if classes == 1 => vec![Sharing::Separate],
        Sharing::Auto => vec![Sharing::Conditional, Sharing::Separate],
        asked => vec![asked],
    };
    let pick = |settings: Vec<Setting>, stage: &str| -> Result<(Setting, Member, Vec<f64>)> {
        let wanted: Vec<(usize, Setting)> = settings.into_iter().map(|setting| (0, setting)).collect();
        let members = train_all(context, base, classes, labels, folds, &wanted, stage)?;
        let errors: Vec<Vec<f64>> = members.iter().map(|m| unit_errors(context, m, labels)).collect();
        let i = gentlest(&errors);
        Ok((wanted[i].1.clone(), members[i].clone(), errors[i].clone()))
    };
    let settings = sharings.into_iter().map(|sharing| Setting { sharing, effort: GENTLE }).collect();
    let (setting, member, errors) = pick(settings, "choose")?;
    if !matches!(base, BaseConfig::Mlp(_)) || context.config.epochs.is_some() {
        return Ok((setting, Some(member)));
    }
    let harder = [MIDDLE, HARD].map(|effort| Setting { effort, ..setting.clone() });
    let (harder, harder_member, harder_errors) = pick(harder.to_vec(), "choose")?;
    let (setting, member) =
        if gentlest(&[errors, harder_errors]) == 0 { (setting, member) } else { (harder, harder_member) };
    Ok((setting, Some(member)))
}

/// All members, trained as `setting` says.
pub(crate) fn ensemble(
    context: &Context<'_>,
    base: &BaseConfig,
    classes: usize,
    setting: &Setting,
    labels: &[usize],
    folds: &[Vec<usize>],
    members: usize,
) -> Result<Vec<Member>> {
    let wanted: Vec<(usize, Setting)> = (0..members).map(|m| (m, setting.clone())).collect();
    train_all(context, base, classes, labels, folds, &wanted, "member")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gentlest_setting_wins_unless_another_is_clearly_better() {
        let noisy = |shift: f64| (0..100).map(|i| shift + f64::from(i % 7)).collect::<Vec<_>>();
        let jitter = (0..100).map(|i| f64::from(i % 7) + 0.01 * f64::from(i % 5 - 2)).collect::<Vec<_>>();
        assert_eq!(gentlest(&[noisy(0.0), jitter]), 0);
        assert_eq!(gentlest(&[noisy(1.0), noisy(0.0)]), 1);
        assert_eq!(cut(&[5, 6, 7, 8, 9], 2), [vec![5, 7, 9], vec![6, 8]]);
    }
}
