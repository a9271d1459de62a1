//! The members of an ensemble: networks trained on random halves of the subjects, their classes aligned.

use std::collections::BTreeMap;

use rand::seq::SliceRandom as _;

use super::additive::{Additive, Solution, overlap_table};
use super::jobs::{Finished, Job};
use super::member::Member;
use super::network::{Capacity, Form};
use super::refit::refit_responses;
use super::selection::{Choice, MAX_START_SUBJECTS, Problem, Selected};
use super::training::{Schedule, Task, Trained, train};
use crate::math::{argmax, best_assignment, mean};
use crate::runtime::Stage;
use crate::{Result, stream};

/// A member of an ensemble, and the subjects that it was not fitted to.
pub(crate) struct FittedMember {
    pub member: Member,
    pub held_out: Vec<usize>,
    pub steps: usize,
    /// Of the curve of every class.
    pub smoothness: Vec<f64>,
}

impl FittedMember {
    /// Gives class k the place `order[k]`.
    fn reorder(&mut self, order: &[usize]) {
        self.member.reorder(order);
        let old = self.smoothness.clone();
        order.iter().zip(old).for_each(|(&to, smoothness)| self.smoothness[to] = smoothness);
    }
}

/// What training gives a member.
struct TrainedMember {
    parameters: Vec<f32>,
    steps: usize,
    /// At which training was stopped.
    likelihood: f64,
    smoothness: Vec<f64>,
}

/// The setting is the form.
impl Job for TrainedMember {
    type Setting = Form;

    fn finished(&self) -> Finished {
        let Self { parameters, steps, likelihood, smoothness } = self;
        Finished {
            arrays: vec![parameters.clone()],
            numbers: [&[*steps as f64, *likelihood], &smoothness[..]].concat(),
        }
    }

    fn restore(form: &Form, mut kept: Finished) -> Option<Self> {
        let (Some(parameters), [steps, likelihood, smoothness @ ..]) = (kept.arrays.pop(), &kept.numbers[..])
        else {
            return None;
        };
        let fits = parameters.len() == form.len() && smoothness.len() == form.classes;
        fits.then(|| Self {
            parameters,
            steps: *steps as usize,
            likelihood: *likelihood,
            smoothness: smoothness.to_vec(),
        })
    }
}

/// What a member is trained on.
struct MemberPlan {
    i: usize,
    choice: Choice,
    train_on: Vec<usize>,
    held_out: Vec<usize>,
}

/// A member whose classes have less evidence than another's by this much is trained again.
const WORSE_EVIDENCE: f64 = 10.0;
/// Two trainings of a member from the same classes may differ by this much in their mean held-out log-likelihood.
const EQUAL_LIKELIHOOD: f64 = 0.005;
/// Subjects on which the evidence is compared.
const MAX_COMPARED_SUBJECTS: usize = 10_000;
/// With fewer subjects than this, members are fitted to three quarters instead of halves.
const FEW_SUBJECTS: usize = 200;
/// Random starts of the search of one member.
const MEMBER_RUNS_PER_CLASS: usize = 8;

impl Problem<'_> {
    /// Trains `count` members on halves of the subjects, each from scratch. At least half of them have the chosen number of
    /// classes, in the same order; the others stand for other numbers.
    pub(crate) fn members(&self, selected: &Selected, count: usize) -> Result<Vec<FittedMember>> {
        self.monitor.stage(Stage::Ensemble, count);
        let subjects = self.sample(usize::MAX, "members");
        let choices = self.member_choices(selected, count);
        let mut starts: BTreeMap<usize, Vec<Solution>> = BTreeMap::new();
        for choice in &choices {
            if choice.classes > 1 && !starts.contains_key(&choice.classes) {
                let found = self.starts("members", &subjects, choice.classes, choice.interactions)?;
                starts.insert(choice.classes, found);
            }
        }
        let parts: Vec<(Vec<usize>, Vec<usize>)> =
            (0..count).flat_map(|split| self.parts(split)).take(count).collect();
        let plans: Vec<MemberPlan> = parts
            .into_iter()
            .zip(choices)
            .enumerate()
            .map(|(i, ((train_on, held_out), choice))| MemberPlan { i, choice, train_on, held_out })
            .collect();
        let mut members = self.pool.try_map(plans.iter().collect(), |plan: &MemberPlan| {
            let i = plan.i.to_string();
            let mut rng = stream(self.seed, &["density", "member", &i]);
            let found = starts.get(&plan.choice.classes).map_or(&[][..], Vec::as_slice);
            self.member(&i, plan, || {
                let start = self.member_start(plan.choice, &plan.train_on, found, &subjects, &mut rng);
                self.train_member(plan, start, &mut rng)
            })
        })?;
        self.train_worse_again(&plans, &mut members)?;
        self.align(&mut members);
        Ok(members)
    }

    /// The member `name` with this plan, trained by `train` unless it is known.
    fn member(
        &self,
        name: &str,
        plan: &MemberPlan,
        train: impl FnOnce() -> Result<TrainedMember>,
    ) -> Result<FittedMember> {
        let job = format!("member {name} of {:?}", plan.choice);
        let TrainedMember { parameters, steps, likelihood, smoothness } =
            self.jobs.run(&job, &self.member_form(plan.choice), train)?;
        self.monitor.epoch(-likelihood);
        Ok(FittedMember {
            member: Member { form: self.member_form(plan.choice), parameters },
            held_out: plan.held_out.clone(),
            steps,
            smoothness,
        })
    }

    fn member_form(&self, choice: Choice) -> Form {
        self.form(choice).with_capacity(Capacity::new(self.rows.subjects.len()))
    }

    /// Trains a member from a start.
    fn train_member(
        &self,
        plan: &MemberPlan,
        start: Solution,
        rng: &mut crate::Rng,
    ) -> Result<TrainedMember> {
        let MemberPlan { choice, train_on, held_out, .. } = plan;
        let task = Task { rows: self.rows, train: train_on, held_out, start: &start };
        let form = self.member_form(*choice);
        let Trained { member, steps, likelihood } =
            train(&form, &task, &Schedule::new(train_on.len()), rng, self.monitor)?;
        let parameters = match self.refits_responses() {
            true => refit_responses(&form, &task, member.parameters),
            false => member.parameters,
        };
        Ok(TrainedMember { parameters, steps, likelihood, smoothness: start.smoothness })
    }

    /// Trains members whose classes are less plausible than those of another member again, from its classes.
    ///
    /// Curves that change places where they cross have nearly the same likelihood, but are less smooth: the evidence of an
    /// additive mixture tells them apart, the sooner the more subjects there are.
    fn train_worse_again(&self, plans: &[MemberPlan], members: &mut [FittedMember]) -> Result<()> {
        let choice = plans[0].choice;
        let same: Vec<usize> = (0..members.len()).filter(|&i| plans[i].choice == choice).collect();
        if choice.classes == 1 || same.len() < 2 {
            return Ok(());
        }
        let subjects = self.sample(MAX_COMPARED_SUBJECTS, "evidence");
        let search = Additive::new(self.rows, &subjects, self.basis(choice.interactions));
        let evidence = self.pool.map(same.clone(), |i| {
            let FittedMember { member, smoothness, .. } = &members[i];
            search.refine(member.posteriors(self.rows, &subjects), smoothness).evidence
        });
        let Some(best) = argmax(evidence.iter().copied()) else { return Ok(()) };
        let worse: Vec<usize> = same
            .iter()
            .zip(&evidence)
            .filter(|(_, own)| evidence[best] - **own > WORSE_EVIDENCE)
            .map(|(&i, _)| i)
            .collect();
        if worse.is_empty() {
            return Ok(());
        }
        self.monitor.stage(Stage::Ensemble, worse.len());
        let (from, best) = (same[best], &members[same[best]]);
        let again = self.pool.try_map(worse, |i| {
            let plan = &plans[i];
            let again = self.member(&format!("{i} again from {from}"), plan, || {
                let responsibilities = best.member.posteriors(self.rows, &plan.train_on);
                let start = Solution { responsibilities, evidence: 0.0, smoothness: best.smoothness.clone() };
                let mut rng = stream(self.seed, &["density", "member", &i.to_string(), "again"]);
                self.train_member(plan, start, &mut rng)
            })?;
            let score = |known: &FittedMember| mean(&known.member.log_likelihoods(self.rows, &plan.held_out));
            Ok((score(&again) > score(&members[i]) - EQUAL_LIKELIHOOD).then_some((i, again)))
        })?;
        for (i, again) in again.into_iter().flatten() {
            members[i] = again;
        }
        Ok(())
    }

    /// Whether early stopping would shrink the responses to the treatments: outcomes that are not numbers tell little of
    /// them, and treatments of few values have no curve beside the slope.
    fn refits_responses(&self) -> bool {
        !self.outcome_laws.is_empty() || self.t_cosines.contains(&0)
    }

    /// The form of every member: the chosen one first, then others in proportion to their probability.
    fn member_choices(&self, selected: &Selected, count: usize) -> Vec<Choice> {
        let mut choices = Vec::new();
        for &(classes, probability) in &selected.others {
            let own = (count as f64 * probability).round() as usize;
            let left = (count / 2).saturating_sub(choices.len());
            choices.extend(std::iter::repeat_n(Choice { classes, ..selected.choice }, own.min(left)));
        }
        let chosen = std::iter::repeat_n(selected.choice, count - choices.len());
        chosen.chain(choices).collect()
    }

    /// The number of members per split, each without one part of the subjects: both halves, or three quarters four times.
    pub(super) fn members_per_split(&self) -> usize {
        if self.rows.subjects.len() < FEW_SUBJECTS { 4 } else { 2 }
    }

    /// The variance of the ensemble's error over that between members: p - 1 for members that each lack 1/p of the subjects
    /// (the delete-d jackknife).
    pub(crate) fn error_ratio(&self) -> f64 {
        self.members_per_split() as f64 - 1.0
    }

    /// Random parts of the subjects with their complements.
    fn parts(&self, split: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut subjects: Vec<usize> = (0..self.rows.subjects.len()).collect();
        subjects.shuffle(&mut stream(self.seed, &["density", "halves", &split.to_string()]));
        let parts = self.members_per_split();
        let part = |out: usize| {
            let held_out = |i: usize| i * parts / subjects.len() == out;
            let mut split = (Vec::new(), Vec::new());
            for (i, &subject) in subjects.iter().enumerate() {
                if held_out(i) { split.1.push(subject) } else { split.0.push(subject) }
            }
            split
        };
        (0..parts).map(part).collect()
    }

    /// The solution with the largest evidence on the member's own subjects: of its own random starts, and of those found
    /// with all subjects.
    fn member_start(
        &self,
        choice: Choice,
        train_on: &[usize],
        starts: &[Solution],
        searched: &[usize],
        rng: &mut crate::Rng,
    ) -> Solution {
        let classes = choice.classes;
        if classes == 1 {
            return Solution::one_class(train_on.len());
        }
        let few = &train_on[..train_on.len().min(MAX_START_SUBJECTS)];
        let search = Additive::new(self.rows, few, self.basis(choice.interactions));
        let mut found = search.search(classes, classes * MEMBER_RUNS_PER_CLASS, 1, rng);
        for start in starts {
            found.push(self.refined_start(start, searched, few, choice));
        }
        let best = Solution::best_distinct(found, classes, 1).remove(0);
        if few.len() == train_on.len() {
            return best;
        }
        self.refined_start(&best, few, train_on, choice)
    }

    /// Orders the classes of every member like those of the first with the same number of classes.
    fn align(&self, members: &mut [FittedMember]) {
        let subjects = self.sample(MAX_START_SUBJECTS, "align");
        let mut references: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for half in members {
            let classes = half.member.form.classes;
            let posteriors = half.member.posteriors(self.rows, &subjects);
            match references.get(&classes) {
                None => {
                    references.insert(classes, posteriors);
                }
                Some(reference) => {
                    let table = overlap_table(reference, &posteriors, classes);
                    half.reorder(&best_assignment(&table, classes));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::testing::{lines, problem, selected};
    use crate::runtime::Pool;

    #[test]
    fn subjects_are_held_out_once_per_split() {
        let data = lines(&[1.0], 50, 2, 0.3);
        let pool = Pool::new(1).unwrap();
        let problem = problem(&data.rows, &pool);
        assert_eq!(problem.error_ratio(), 3.0);
        let parts = problem.parts(0);
        assert_eq!(parts.len(), 4);
        let mut held_out: Vec<usize> = parts.iter().flat_map(|(_, held_out)| held_out.clone()).collect();
        held_out.sort_unstable();
        assert_eq!(held_out, (0..50).collect::<Vec<_>>());
        assert!(parts.iter().all(|(train, held_out)| train.len() + held_out.len() == 50));
    }

    #[test]
    fn a_member_without_the_classes_is_trained_again_from_those_of_another() {
        let data = lines(&[1.0, -1.0], 400, 1, 0.3);
        let pool = Pool::new(2).unwrap();
        let problem = problem(&data.rows, &pool);
        let mut members = problem.members(&selected(2), 4).unwrap();
        let plan = |(i, known): (usize, &FittedMember)| MemberPlan {
            i,
            choice: selected(2).choice,
            train_on: (0..400).filter(|subject| !known.held_out.contains(subject)).collect(),
            held_out: known.held_out.clone(),
        };
        let plans: Vec<MemberPlan> = members.iter().enumerate().map(plan).collect();
        let parameters = |members: &[FittedMember]| -> Vec<Vec<f32>> {
            members.iter().map(|known| known.member.parameters.clone()).collect()
        };
        let before = parameters(&members);
        problem.train_worse_again(&plans, &mut members).unwrap();
        assert!(parameters(&members) == before, "good members stay");

        // both classes are the same flat line
        let form = members[0].member.form.clone();
        let curves = form.parts().curves;
        members[0].member.parameters[curves].fill(0.0);
        let spoiled = mean(&members[0].member.log_likelihoods(&data.rows, &plans[0].held_out));
        problem.train_worse_again(&plans, &mut members).unwrap();
        let fitted = mean(&members[0].member.log_likelihoods(&data.rows, &plans[0].held_out));
        assert!(fitted > spoiled + 0.2, "{spoiled} to {fitted}");
        assert!(parameters(&members)[1..] == before[1..]);
    }
}
