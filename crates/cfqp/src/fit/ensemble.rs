//! The ensemble: the classes' means trained several times, each time without one fold of the units.
//!
//! Every member leaves out its own fold, stops early on it, and provides held-out residuals on it. The training length
//! is chosen on the first fold: the shortest whose error is within one standard error of the best. Factual errors hardly
//! show what matters for a counterfactual, the slope in t; where they cannot tell lengths apart, the smoother network is
//! preferred.

use rand::seq::SliceRandom as _;

use crate::config::Sharing;
use crate::data::Dataset;
use crate::math::{argmin, mean, paired_difference};
use crate::model::{Components, TrainingLength};
use crate::models::{BaseConfig, ClassInput};
use crate::nn::release_buffers;
use crate::runtime::Stage;
use crate::search::{batch_size, learning_rate};
use crate::train::{Context, Schedule, Task, Trained, train};
use crate::{Result, Rng, stream};

/// A member and the rows it was not trained on.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub components: Components,
    pub held_out: Vec<usize>,
    pub epochs: usize,
}

/// How members are trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MemberSettings {
    pub sharing: Sharing,
    pub length: TrainingLength,
}

/// Number of steps, factor on the configured step size, and weight decay of a training length.
struct LengthSettings {
    steps: usize,
    rate: f64,
    decay: f64,
}

impl LengthSettings {
    fn new(length: TrainingLength) -> Self {
        match length {
            TrainingLength::Short | TrainingLength::Published => Self { steps: 2400, rate: 1.0, decay: 1.0 },
            TrainingLength::Medium => Self { steps: 5000, rate: 1.0, decay: 0.1 },
            TrainingLength::Long => Self { steps: 8000, rate: 2.0, decay: 0.01 },
        }
    }
}

/// Weight decay of a U-Net, whose group norms make most weights scale-free.
const UNET_DECAY: f64 = 0.05;

/// The number of members.
pub(super) fn member_count(context: &Context<'_>, base: &BaseConfig) -> usize {
    context.config.members.unwrap_or(match base {
        BaseConfig::Linear(_) => 10,
        BaseConfig::Mlp(_) => 5,
        BaseConfig::Unet(_) | BaseConfig::Transformer(_) => 2,
    })
}

/// The number of folds: one per member, but at least six.
pub(super) fn fold_count(members: usize) -> usize {
    members.max(6)
}

/// The rows that a member is trained on, and those that it leaves out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fold {
    pub train: Vec<usize>,
    pub held_out: Vec<usize>,
}

/// `rows` dealt into `count` folds, subject by subject, each left out once; fewer folds if there are fewer subjects.
pub(super) fn folds(data: &Dataset, rows: &[usize], count: usize) -> Vec<Fold> {
    let dealt = deal(data.groups_of(rows), count);
    let fold = |out: usize| {
        let others = dealt.iter().enumerate().filter(|(fold, _)| *fold != out);
        Fold { train: others.flat_map(|(_, rows)| rows).copied().collect(), held_out: dealt[out].clone() }
    };
    (0..dealt.len()).map(fold).collect()
}

/// Both halves of `splits` random splits of `rows`, subject by subject. Members that share only half of their units differ
/// from each other as their mean differs from the truth; members that leave out a fold differ much less.
pub(super) fn halves(data: &Dataset, rows: &[usize], splits: usize, rng: &mut Rng) -> Vec<Fold> {
    let mut subjects = data.groups_of(rows);
    let mut folds = Vec::new();
    for _ in 0..splits {
        subjects.shuffle(rng);
        let dealt = deal(subjects.clone(), 2);
        if let [a, b] = &dealt[..] {
            folds.push(Fold { train: a.clone(), held_out: b.clone() });
            folds.push(Fold { train: b.clone(), held_out: a.clone() });
        }
    }
    folds
}

fn deal(subjects: Vec<Vec<usize>>, count: usize) -> Vec<Vec<usize>> {
    let count = count.min(subjects.len()).max(1);
    let mut folds = vec![Vec::new(); count];
    subjects.into_iter().enumerate().for_each(|(i, rows)| folds[i % count].extend(rows));
    folds
}

fn schedule(context: &Context<'_>, base: &BaseConfig, units: usize, length: TrainingLength) -> Schedule {
    let settings = LengthSettings::new(length);
    let batch = match base {
        BaseConfig::Unet(_) | BaseConfig::Transformer(_) => {
            context.config.batch.min(units.div_ceil(8)).max(1)
        }
        _ => batch_size(context.config, units),
    };
    let per_epoch = units.div_ceil(batch).max(1);
    let steps = match base {
        BaseConfig::Transformer(_) => settings.steps / 3,
        _ => settings.steps,
    };
    let epochs = context.config.epochs.unwrap_or_else(|| (steps / per_epoch).clamp(20, 600));
    let learning_rate = learning_rate(context.config, base) * settings.rate;
    let weight_decay = if matches!(base, BaseConfig::Unet(_)) { UNET_DECAY } else { settings.decay };
    Schedule { epochs, batch, learning_rate, cosine: true, weight_decay, patience: None }
}

/// Why networks are trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To compare settings on the first fold.
    Choice,
    /// To be a member of the ensemble, trained for the `round`-th time.
    Member { round: usize },
}

impl Purpose {
    /// The name in random streams and checkpoint keys.
    fn stream_name(self) -> &'static str {
        match self {
            Self::Choice => "choose",
            Self::Member { .. } => "member",
        }
    }

    fn stage(self) -> Stage {
        match self {
            Self::Choice => Stage::TrainingLength,
            Self::Member { .. } => Stage::Ensemble,
        }
    }
}

/// Trains members for given labels.
pub(super) struct EnsembleTrainer<'a> {
    pub context: &'a Context<'a>,
    pub base: &'a BaseConfig,
    pub classes: usize,
    pub folds: Vec<Fold>,
}

/// A member to train: the fold it leaves out, and its settings.
#[derive(Clone, Copy)]
struct MemberJob {
    fold: usize,
    settings: MemberSettings,
}

/// One network of a member.
#[derive(Clone, Copy)]
struct NetworkJob {
    member: usize,
    class: usize,
}

impl EnsembleTrainer<'_> {
    /// Chooses the settings of members on the first fold, and returns the member trained with them. Deep networks have
    /// one setting only: trying others would cost as much as the ensemble.
    pub(super) fn choose(
        &self,
        found: Sharing,
        labels: &[usize],
    ) -> Result<(MemberSettings, Option<Member>)> {
        let length = TrainingLength::Short;
        if matches!(self.base, BaseConfig::Unet(_) | BaseConfig::Transformer(_)) {
            let sharing = if self.classes == 1 { Sharing::Separate } else { found };
            return Ok((MemberSettings { sharing, length }, None));
        }
        let sharings = match self.context.config.sharing {
            _ if self.classes == 1 => vec![Sharing::Separate],
            Sharing::Auto => vec![Sharing::Conditional, Sharing::Separate],
            requested => vec![requested],
        };
        let settings: Vec<_> =
            sharings.into_iter().map(|sharing| MemberSettings { sharing, length }).collect();
        let short = self.best(&settings, labels)?;
        if !matches!(self.base, BaseConfig::Mlp(_)) || self.context.config.epochs.is_some() {
            return Ok((short.settings, Some(short.member)));
        }
        let longer = [TrainingLength::Medium, TrainingLength::Long]
            .map(|length| MemberSettings { length, ..short.settings });
        let longer = self.best(&longer, labels)?;
        let pick = first_within_one_error(&[&short.errors, &longer.errors]);
        let chosen = if pick == 0 { short } else { longer };
        Ok((chosen.settings, Some(chosen.member)))
    }

    /// Trains all members; for the first time in round 0, then on other labels.
    pub(super) fn train(
        &self,
        settings: MemberSettings,
        round: usize,
        labels: &[usize],
        members: usize,
    ) -> Result<Vec<Member>> {
        let jobs: Vec<MemberJob> = (0..members).map(|fold| MemberJob { fold, settings }).collect();
        self.train_members(&jobs, labels, Purpose::Member { round })
    }

    /// Trains a member on the first fold with each of `settings`, and keeps the first within one error of the best.
    fn best(&self, settings: &[MemberSettings], labels: &[usize]) -> Result<Trial> {
        let jobs: Vec<MemberJob> = settings.iter().map(|&settings| MemberJob { fold: 0, settings }).collect();
        let mut members = self.train_members(&jobs, labels, Purpose::Choice)?;
        let mut errors: Vec<Vec<f64>> = members.iter().map(|m| self.unit_errors(m, labels)).collect();
        let pick = first_within_one_error(&errors.iter().map(Vec::as_slice).collect::<Vec<_>>());
        Ok(Trial {
            settings: settings[pick],
            member: members.swap_remove(pick),
            errors: errors.swap_remove(pick),
        })
    }

    fn train_members(
        &self,
        members: &[MemberJob],
        labels: &[usize],
        purpose: Purpose,
    ) -> Result<Vec<Member>> {
        let jobs: Vec<NetworkJob> = (0..members.len())
            .flat_map(|member| {
                let networks = members[member].settings.sharing.networks(self.classes);
                (0..networks).map(move |class| NetworkJob { member, class })
            })
            .collect();
        let alone = jobs.len() == 1;
        let work = |job: NetworkJob| {
            let trained = self.train_network(members[job.member], job.class, labels, purpose, alone)?;
            Ok((job.member, trained))
        };
        let trained = match jobs[..] {
            [job] => vec![self.context.pool.run_alone(|| work(job))?],
            _ => self.context.pool.try_map(jobs, work)?,
        };
        release_buffers();
        let member = |(i, job): (usize, &MemberJob)| {
            let own = trained.iter().filter(|(member, _)| *member == i).map(|(_, trained)| trained);
            Member {
                epochs: own.clone().map(|trained| trained.epochs).max().unwrap_or(0),
                components: Components {
                    nets: own.map(|trained| trained.net.clone()).collect(),
                    classes: self.classes,
                },
                held_out: self.folds[job.fold].held_out.clone(),
            }
        };
        Ok(members.iter().enumerate().map(member).collect())
    }

    fn train_network(
        &self,
        job: MemberJob,
        class: usize,
        labels: &[usize],
        purpose: Purpose,
        alone: bool,
    ) -> Result<Trained> {
        let (context, base, classes) = (self.context, self.base, self.classes);
        let shared = job.settings.sharing == Sharing::Conditional;
        let class_inputs = if shared { classes } else { 0 };
        let own = |row: &usize| shared || labels[*row] == class;
        let Fold { train: rows, held_out } = &self.folds[job.fold];
        let valid: Vec<usize> = held_out.iter().copied().filter(own).collect();
        let rows: Vec<usize> = rows.iter().copied().filter(own).collect();
        let (fold, k) = (job.fold.to_string(), class.to_string());
        let name = [purpose.stream_name(), base.name(), job.settings.length.stream_name(), &fold, &k];
        let net = context.init(base, class_inputs, &name)?;
        if rows.is_empty() {
            return Ok(Trained { net, loss: f64::INFINITY, epochs: 0 });
        }
        let schedule = schedule(context, base, rows.len(), job.settings.length);
        context.monitor.stage(purpose.stage(), schedule.epochs_of(base));
        let class = if shared { ClassInput::PerRow { labels, classes } } else { ClassInput::None };
        let task = Task { train: &rows, valid: &valid, class, alone, ..context.task() };
        let kind = if shared { "shared" } else { "own" };
        let mut key = [&name[..], &[kind, "of", &classes.to_string()]].concat().join(" ");
        if let Purpose::Member { round: round @ 1.. } = purpose {
            key += &format!(" again {round}");
        }
        context.trained(&key, base, class_inputs, || {
            let mut rng = stream(context.config.seed, &[&name[..], &["train"]].concat());
            train(net, &task, &schedule, &mut rng, context.monitor)
        })
    }

    /// Squared error of every held-out unit under its own class.
    fn unit_errors(&self, member: &Member, labels: &[usize]) -> Vec<f64> {
        let batcher = self.context.batcher();
        let d = batcher.scaler.y.elements();
        let mut errors = Vec::new();
        for k in 0..self.classes {
            let own: Vec<usize> = member.held_out.iter().copied().filter(|&row| labels[row] == k).collect();
            for rows in own.chunks(batcher.at_once()) {
                let y = batcher.outcomes(rows);
                let mean = member.components.mean(k, &batcher, rows, None, self.context.device);
                for (i, &row) in rows.iter().enumerate() {
                    let mask = batcher.data.y().mask_row(row);
                    let observed = (0..d).filter(|&j| mask.is_none_or(|mask| mask[j]));
                    let squares = observed.map(|j| f64::from(y[i * d + j] - mean[i * d + j]).powi(2));
                    errors.push(squares.sum::<f64>() / d as f64);
                }
            }
        }
        errors
    }
}

/// A member trained to try its settings, with the error of every held-out unit.
struct Trial {
    settings: MemberSettings,
    member: Member,
    errors: Vec<f64>,
}

/// The first of `candidates` (errors per unit) whose mean is within one standard error of the best.
fn first_within_one_error(candidates: &[&[f64]]) -> usize {
    let best = argmin(candidates.iter().map(|errors| mean(errors))).expect("there are candidates");
    let close = |errors: &&[f64]| {
        let difference = paired_difference(errors, candidates[best]);
        difference.mean <= difference.standard_error
    };
    candidates.iter().position(close).unwrap_or(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Units;

    #[test]
    fn the_first_candidate_wins_unless_another_is_clearly_better() {
        let noisy = |shift: f64| (0..100).map(|i| shift + f64::from(i % 7)).collect::<Vec<_>>();
        let jitter = (0..100).map(|i| f64::from(i % 7) + 0.01 * f64::from(i % 5 - 2)).collect::<Vec<_>>();
        assert_eq!(first_within_one_error(&[&noisy(0.0), &jitter]), 0);
        assert_eq!(first_within_one_error(&[&noisy(1.0), &noisy(0.0)]), 1);
    }

    #[test]
    fn folds_hold_every_row_once() {
        let units = || Units::new("a", vec![1], vec![0.0; 10]).unwrap();
        let data = Dataset::new(units(), units(), units()).unwrap();
        let held_out = |folds: Vec<Fold>| folds.into_iter().map(|fold| fold.held_out).collect::<Vec<_>>();
        assert_eq!(held_out(folds(&data, &[5, 6, 7, 8, 9], 2)), [vec![5, 7, 9], vec![6, 8]]);
        let data = data.with_groups(vec![0, 0, 0, 0, 0, 1, 2, 1, 3, 2]).unwrap();
        assert_eq!(held_out(folds(&data, &[5, 6, 7, 8, 9], 2)), [vec![5, 7, 8], vec![6, 9]]);
        assert_eq!(held_out(folds(&data, &[5, 6, 7], 9)), [vec![5, 7], vec![6]], "no fold is empty");
        let split = halves(&data, &[5, 6, 7, 8, 9], 2, &mut stream(1, &["halves"]));
        assert_eq!(split.len(), 4);
        for fold in split {
            let mut all = [fold.train, fold.held_out].concat();
            all.sort_unstable();
            assert_eq!(all, [5, 6, 7, 8, 9]);
        }
        assert_eq!((fold_count(2), fold_count(10)), (6, 10));
    }
}
