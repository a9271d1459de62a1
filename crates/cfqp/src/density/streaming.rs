//! Training of members on rows that do not fit in memory.
//!
//! Members that were trained on a sample go on with their parts of all rows, which come in shards. A shard is read once
//! for all members. The rate falls to nearly zero over all passes, and the parameters are averaged over the last quarter
//! of the steps: with so many rows nothing has to be stopped early.

use rand::RngExt as _;
use rand::seq::SliceRandom as _;

use super::jobs::{Finished, Job};
use super::member::{FittedMember, Member};
use super::members::MemberGroup;
use super::network::Capacity;
use super::rows::Rows;
use super::selection::{FOLDS, Problem};
use super::training::{Learner, LearnerState};
use crate::math::mean;
use crate::rng::fnv1a;
use crate::runtime::Stage;
use crate::{Error, Result, stream};

/// The rate at which members go on to learn.
const LEARNING_RATE: f32 = 2e-3;
/// The share of the training during which the rate rises.
const WARM_UP: f64 = 0.02;
/// Subjects per step.
const MIN_BATCH: usize = 128;
const MAX_BATCH: usize = 2048;
/// Steps of a pass, unless batches would be too small or too large.
const STEPS: usize = 8000;
/// Fewer subjects are passed over several times, until so many were seen ...
const SUBJECTS_SEEN: usize = 4_000_000;
/// ... but not more often than this.
const MAX_PASSES: usize = 4;
/// Steps between two questions whether to stop.
const STEPS_BETWEEN_CHECKS: usize = 16;
/// The number of times that the state of the training is kept.
const KEPT_STATES: usize = 16;
/// Held-out subjects of the sample on which a member is compared with what it was, and which show progress.
const MAX_COMPARED: usize = 20_000;
const SHOWN: usize = 500;

/// Rows in shards, each a random part of all rows with whole subjects.
pub(crate) trait Shards {
    /// The number of shards.
    fn count(&self) -> usize;
    /// The number of subjects in all of them.
    fn subjects(&self) -> usize;
    /// Tells these rows from others.
    fn name(&self) -> &str;
    /// Reads a shard; none if it is empty.
    fn read(&self, shard: usize) -> Result<Option<Rows>>;
}

/// How the training on all rows went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Streamed {
    pub passes: usize,
    /// The members that predict held-out subjects of the sample at least as well as before.
    pub improved: usize,
}

/// Tells members from others.
fn fingerprint(members: &[Member]) -> String {
    let parameters = members.iter().flat_map(|member| &member.parameters);
    format!("members {:016x}", fnv1a(parameters.flat_map(|p| p.to_bits().to_le_bytes())))
}

/// Passes and batch size.
struct Plan {
    passes: usize,
    batch: usize,
}

impl Plan {
    /// The plan for members that learn from this many subjects.
    fn new(subjects: usize) -> Self {
        Self {
            passes: (SUBJECTS_SEEN / subjects.max(1)).clamp(1, MAX_PASSES),
            batch: (subjects / STEPS).clamp(MIN_BATCH, MAX_BATCH),
        }
    }
}

/// The rate at a point between 0, the start, and 1, the end.
fn rate(progress: f64) -> f32 {
    let rise = (progress / WARM_UP).min(1.0);
    let fall = (0.5 * (1.0 + (std::f64::consts::PI * progress).cos())).max(0.02);
    LEARNING_RATE * (rise * fall) as f32
}

impl Problem<'_> {
    /// Goes on to train `members`, which were trained on the rows of this problem, on their parts of all shards. A member
    /// that then predicts its held-out subjects worse stays as it was.
    ///
    /// # Errors
    /// If a shard cannot be read, or [`Error::Interrupted`] if the monitor stops the fit.
    pub(crate) fn train_on_shards(
        &self,
        groups: &mut [MemberGroup],
        shards: &dyn Shards,
    ) -> Result<Streamed> {
        let mut members: Vec<&mut FittedMember> =
            groups.iter_mut().flat_map(|group| &mut group.members).collect();
        let members = &mut members[..];
        let subjects = shards.subjects() / FOLDS * (FOLDS - 1);
        let plan = Plan::new(subjects);
        self.monitor.stage(Stage::AllRows, plan.passes * shards.count());
        let larger: Vec<Member> =
            members.iter().enumerate().map(|(i, known)| self.larger(i, known, shards)).collect();
        let known = members.iter().zip(&larger);
        let mut learners: Vec<Learner<'_>> = known
            .map(|(known, larger)| {
                Learner::new(&larger.form, &known.smoothness, subjects, larger.parameters.clone())
            })
            .collect();
        let total = plan.passes * shards.count();
        let every = total.div_ceil(KEPT_STATES);
        let name = format!("{} on {}", fingerprint(&larger), shards.name());
        let job = |done: usize| format!("{name}, {done} of {total}");
        let kept = (1..=total / every).rev().map(|state| state * every);
        let begin = self.resume(&mut learners, kept, job);
        (0..begin).for_each(|_| self.monitor.epoch(f64::NAN));
        for done in begin..total {
            let (pass, shard) = (done / shards.count(), done % shards.count());
            if let Some(rows) = shards.read(shard)? {
                let progress = done as f64 / total as f64;
                let part = ShardPart { pass, shard, rows: &rows, progress, share: 1.0 / total as f64 };
                let jobs = learners.into_iter().enumerate().collect();
                learners =
                    self.pool.try_map(jobs, |(i, learner)| self.learn(i, learner, &part, plan.batch))?;
            }
            self.monitor.epoch(self.held_out_loss(members[0], &learners[0].averaged(), SHOWN));
            if (done + 1) % every == 0 {
                let states: Vec<LearnerState> = learners.iter().map(Learner::state).collect();
                self.jobs.keep(&job(done + 1), &states)?;
            }
        }
        let learned: Vec<_> = learners.iter().map(|learner| (learner.averaged(), learner.steps())).collect();
        let improved = self.keep_better(members, learned);
        Ok(Streamed { passes: plan.passes, improved })
    }

    /// Goes on from the first state that is kept, of the job that `job` names; gives the number of shards done.
    fn resume(
        &self,
        learners: &mut [Learner<'_>],
        states: impl IntoIterator<Item = usize>,
        job: impl Fn(usize) -> String,
    ) -> usize {
        let sizes: Vec<usize> = learners.iter().map(|learner| learner.parameters().len()).collect();
        for done in states {
            if let Some(states) = self.jobs.find::<Vec<LearnerState>>(&job(done), &sizes) {
                learners.iter_mut().zip(states).for_each(|(learner, state)| learner.set_state(state));
                return done;
            }
        }
        0
    }

    /// Member `i` with the capacity for all rows; it computes what it did.
    fn larger(&self, i: usize, known: &FittedMember, shards: &dyn Shards) -> Member {
        let Member { form, parameters, .. } = &known.member;
        let larger = form.with_capacity(Capacity::new(self.rows.subjects.len() + shards.subjects()));
        let mut rng = stream(self.seed, &["density", "capacity", &i.to_string()]);
        Member { parameters: form.extend(parameters, &larger, &mut rng), form: larger, regressors: None }
    }

    /// Lets member `i` learn from its part of a shard.
    fn learn<'l>(
        &self,
        i: usize,
        mut learner: Learner<'l>,
        shard: &ShardPart<'_>,
        batch: usize,
    ) -> Result<Learner<'l>> {
        let mut own = self.own_subjects(i, shard);
        let words = [i, shard.pass, shard.shard].map(|number| number.to_string());
        own.shuffle(&mut stream(self.seed, &["density", "shard", &words[0], &words[1], &words[2]]));
        let steps = own.len().div_ceil(batch);
        for (step, chunk) in own.chunks(batch).enumerate() {
            if step % STEPS_BETWEEN_CHECKS == 0 && self.monitor.stopped() {
                return Err(Error::Interrupted);
            }
            let progress = shard.progress + shard.share * step as f64 / steps as f64;
            learner.step(shard.rows, chunk.iter().map(|&subject| (subject, None)), rate(progress));
            learner.average(f32::INFINITY);
        }
        Ok(learner)
    }

    /// The subjects of a shard that member `i` learns from: all but those of the part that it holds out. The members of one
    /// split hold out different parts.
    fn own_subjects(&self, i: usize, shard: &ShardPart<'_>) -> Vec<usize> {
        let mut rng = stream(self.seed, &["density", "folds of a shard", &shard.shard.to_string()]);
        (0..shard.rows.subjects.len()).filter(|_| rng.random_range(0..FOLDS) != i % FOLDS).collect()
    }

    /// The mean negative log-likelihood of `member` over at most `count` held-out subjects of `known`.
    fn held_out_loss(&self, known: &FittedMember, member: &Member, count: usize) -> f64 {
        let subjects = &known.held_out[..known.held_out.len().min(count)];
        -mean(&member.log_likelihoods(self.rows, subjects))
    }

    /// Replaces every member by what it has learned, unless that is worse; gives the number of those replaced.
    fn keep_better(&self, members: &mut [&mut FittedMember], learned: Vec<(Member, usize)>) -> usize {
        let jobs = members.iter().map(|known| &**known).zip(&learned).collect();
        let better = self.pool.map(jobs, |(known, (member, _)): (&FittedMember, &(Member, usize))| {
            let loss = |member: &Member| self.held_out_loss(known, member, MAX_COMPARED);
            // not a number is not better
            loss(member) <= loss(&known.member)
        });
        for ((known, (member, steps)), &better) in members.iter_mut().zip(learned).zip(&better) {
            if better {
                known.member = member;
                known.steps += steps;
            }
        }
        better.into_iter().filter(|better| *better).count()
    }
}

/// The states of all members; the setting is the number of parameters of each.
impl Job for Vec<LearnerState> {
    type Setting = Vec<usize>;

    fn finished(&self) -> Finished {
        Finished {
            arrays: self.iter().flat_map(|state| state.arrays.clone()).collect(),
            numbers: self.iter().map(|state| state.steps as f64).collect(),
        }
    }

    fn restore(sizes: &Vec<usize>, kept: Finished) -> Option<Self> {
        let Finished { arrays, numbers } = kept;
        let expected = sizes.iter().flat_map(|&size| [size; 4]);
        let fits = numbers.len() == sizes.len() && arrays.iter().map(Vec::len).eq(expected);
        let mut arrays = arrays.into_iter();
        let mut next = || std::array::from_fn(|_| arrays.next().unwrap_or_default());
        let state = |&steps: &f64| LearnerState { arrays: next(), steps: steps as usize };
        fits.then(|| numbers.iter().map(state).collect())
    }
}

/// A shard in training: how far the training was at its start, and which share of it the shard is.
struct ShardPart<'a> {
    pass: usize,
    shard: usize,
    rows: &'a Rows,
    progress: f64,
    share: f64,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use super::*;
    use crate::density::testing::{lines, members, problem, simple};
    use crate::density::{Jobs, KeptJobs};
    use crate::runtime::testing::StopAfter;
    use crate::runtime::{Monitor, Pool};

    /// Shards in memory.
    struct InMemory(Vec<Rows>);

    /// Jobs in memory.
    #[derive(Default)]
    struct Kept(Mutex<BTreeMap<String, Finished>>);

    impl Jobs for Kept {
        fn find(&self, name: &str) -> Option<Finished> {
            self.0.lock().unwrap().get(name).cloned()
        }

        fn keep(&self, name: &str, job: Finished) -> Result<()> {
            self.0.lock().unwrap().insert(name.to_owned(), job);
            Ok(())
        }
    }

    impl Shards for InMemory {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn subjects(&self) -> usize {
            self.0.iter().map(|rows| rows.subjects.len()).sum()
        }

        fn name(&self) -> &str {
            "lines"
        }

        fn read(&self, shard: usize) -> Result<Option<Rows>> {
            Ok(Some(self.0[shard].clone()))
        }
    }

    fn shards() -> InMemory {
        InMemory(vec![lines(&[1.0, -1.0], 4000, 1, 0.3).rows, lines(&[1.0, -1.0], 3000, 1, 0.3).rows])
    }

    #[test]
    fn members_learn_from_all_shards_with_any_number_of_threads() {
        let data = lines(&[1.0, -1.0], 300, 1, 0.3);
        let test = lines(&[1.0, -1.0], 2000, 1, 0.3).rows;
        let all: Vec<usize> = (0..2000).collect();
        let run = |threads: usize| {
            let pool = Pool::new(threads).unwrap();
            let problem = problem(&data.rows, &pool);
            let mut groups = [MemberGroup { members: members(&problem, 2, 2), weight: 1.0 }];
            let score = |member: &FittedMember| mean(&member.member.log_likelihoods(&test, &all));
            let before: Vec<f64> = groups[0].members.iter().map(score).collect();
            let streamed = problem.train_on_shards(&mut groups, &shards()).unwrap();
            let [MemberGroup { members, .. }] = groups;
            let after: Vec<f64> = members.iter().map(score).collect();
            assert_eq!(streamed.passes, MAX_PASSES);
            let gain = |(after, before): (&f64, &f64)| after > before;
            assert!(after.iter().zip(&before).any(gain), "{before:?} to {after:?}");
            let parameters: Vec<_> = members.into_iter().map(|half| half.member.parameters).collect();
            (parameters, streamed)
        };
        assert!(run(1) == run(2));
    }

    #[test]
    fn interrupted_work_goes_on_where_it_was() {
        let data = lines(&[1.0, -1.0], 300, 1, 0.3);
        let pool = Pool::new(2).unwrap();
        let kept = Kept::default();
        let fit = |kept: &dyn Jobs, epochs: usize| -> Result<Vec<Vec<f32>>> {
            let monitor = StopAfter::epochs(epochs);
            let jobs = KeptJobs { outcomes: "linear", kept };
            let problem = Problem { monitor: &monitor, jobs, ..problem(&data.rows, &pool) };
            let candidate = problem.simple_candidate(simple(2))?;
            let mut groups = problem.members(vec![(candidate, 1.0)], 2)?;
            problem.train_on_shards(&mut groups, &shards())?;
            Ok(groups.remove(0).members.into_iter().map(|known| known.member.parameters).collect())
        };
        let whole = fit(&(), usize::MAX).unwrap();
        // ten networks, then eight shards: every run goes one step further, and finds what the others have finished
        for epochs in 1..7 {
            let before = kept.0.lock().unwrap().len();
            assert!(matches!(fit(&kept, epochs), Err(Error::Interrupted)), "{epochs}");
            assert!(kept.0.lock().unwrap().len() > before, "{epochs}");
        }
        assert!(fit(&kept, usize::MAX).unwrap() == whole);
        // what does not suit the fit is computed again
        for job in kept.0.lock().unwrap().values_mut() {
            job.arrays.iter_mut().for_each(|array| array.truncate(3));
            job.numbers.pop();
        }
        assert!(fit(&kept, usize::MAX).unwrap() == whole);
    }

    #[test]
    fn every_subject_of_a_shard_is_held_out_by_one_member_of_a_group() {
        let data = lines(&[1.0], 300, 1, 0.3);
        let pool = Pool::new(1).unwrap();
        let problem = problem(&data.rows, &pool);
        let part = ShardPart { pass: 0, shard: 3, rows: &data.rows, progress: 0.0, share: 1.0 };
        let own = |i| problem.own_subjects(i, &part);
        let seen: usize = (0..FOLDS).map(|i| own(i).len()).sum();
        assert_eq!(seen, 300 * (FOLDS - 1));
        assert_ne!(own(0), own(1));
        assert_eq!(own(0), own(FOLDS), "members of another group have the same folds");
        assert_eq!(own(0), problem.own_subjects(0, &ShardPart { pass: 1, ..part }));
    }

    #[test]
    fn a_monitor_stops_the_training() {
        struct Stop;
        impl Monitor for Stop {
            fn stopped(&self) -> bool {
                true
            }
        }
        let data = lines(&[1.0], 300, 1, 0.3);
        let pool = Pool::new(1).unwrap();
        let members = members(&problem(&data.rows, &pool), 1, 1);
        let mut groups = [MemberGroup { members, weight: 1.0 }];
        let problem = Problem { monitor: &Stop, ..problem(&data.rows, &pool) };
        let stopped = problem.train_on_shards(&mut groups, &shards());
        assert!(matches!(stopped, Err(Error::Interrupted)));
    }

    #[test]
    fn the_rate_rises_and_falls() {
        assert_eq!(rate(0.0), 0.0);
        assert!(rate(0.02) > 0.99 * LEARNING_RATE && rate(0.5) < 0.51 * LEARNING_RATE);
        assert!(rate(1.0) <= 0.021 * LEARNING_RATE);
        assert_eq!((Plan::new(5_000_000).passes, Plan::new(5_000_000).batch), (1, 625));
        assert_eq!((Plan::new(1000).passes, Plan::new(1000).batch), (MAX_PASSES, MIN_BATCH));
    }
}
