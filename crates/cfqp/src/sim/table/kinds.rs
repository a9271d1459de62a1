//! Units whose outcomes are not numbers, and the best answers about them.
//!
//! ```text
//! p_k ~ w_k(x) P(y | x, t, k)
//! E[y' | x, t, y] = sum_k p_k (rho E[y' | x, t', k, noise of y under t] + (1 - rho) E[y' | x, t', k])
//! ```

use std::sync::Arc;

use rand::RngExt as _;

use super::laws::{OutcomeLaw, UnitNoise};
use super::{Table, TableWorld};
use crate::Rng;
use crate::sim::{Draw, Unit};

/// The hidden variables of a unit.
#[derive(Clone, Debug)]
pub(super) struct KindUnit {
    world: TableWorld,
    sd: f64,
    x: Arc<[f64]>,
    z: usize,
    noise: UnitNoise,
    /// The treatment under which the noise is that of the outcome.
    here: Vec<f64>,
}

impl KindUnit {
    fn law(&self, t: &[f64]) -> OutcomeLaw {
        self.world.law(&self.x, t, self.z, self.sd)
    }
}

impl Unit for KindUnit {
    fn outcome(&self, t: &[f32]) -> Vec<f32> {
        let outcome = self.law(&self.here).outcome_there(&self.law(&wide(t)), self.noise);
        outcome.into_iter().map(|y| y as f32).collect()
    }
}

impl Table {
    /// A unit whose outcome is not a number. With probability rho its noise is the same under t', otherwise fresh.
    pub(super) fn draw_kind(&self, rng: &mut Rng) -> Draw<KindUnit> {
        let (world, sd) = (self.world, f64::from(self.sigma()));
        let x = self.draw_covariates(rng);
        let z = self.draw_class(&wide(&x), rng);
        let wide_x: Arc<[f64]> = wide(&x).into();
        let [t, t_new] = [(), ()].map(|()| world.draw_treatment(&wide_x, z, rng));
        let [noise, fresh] = [(), ()].map(|()| UnitNoise { rank: rng.random(), move_to: rng.random() });
        let unit = KindUnit { world, sd, x: wide_x, z, noise, here: wide(&t) };
        let is_same = rng.random::<f64>() < f64::from(self.rho());
        let other = (!is_same).then(|| KindUnit { noise: fresh, here: wide(&t_new), ..unit.clone() });
        let y_new = other.as_ref().unwrap_or(&unit).outcome(&t_new);
        let observed = ObservedKind {
            world,
            sd,
            rho: f64::from(self.rho()),
            x: &unit.x,
            t: unit.here.clone(),
            y: wide(&unit.outcome(&t)),
        };
        let y_bayes = observed.answer(&wide(&t_new)).into_iter().map(|y| y as f32).collect();
        let p_bayes = observed.chance(&wide(&t_new), f64::from(y_new[0])).map(|p| vec![p as f32]);
        Draw { x, z, t, t_new, unit, other, y_bayes: Some(y_bayes), p_bayes }
    }
}

/// What is observed of a unit, and the laws of its world.
#[derive(Clone, Debug)]
pub(super) struct ObservedKind<'a> {
    pub world: TableWorld,
    pub sd: f64,
    pub rho: f64,
    pub x: &'a [f64],
    pub t: Vec<f64>,
    pub y: Vec<f64>,
}

/// A class: its posterior probability, and its laws under t and t'.
struct ClassLaws {
    posterior: f64,
    here: OutcomeLaw,
    there: OutcomeLaw,
}

impl ObservedKind<'_> {
    /// E[y' | x, t, y]; of categories, the probabilities of levels.
    pub(super) fn answer(&self, t_new: &[f64]) -> Vec<f64> {
        let mut answer = vec![0.0; self.y.len()];
        for ClassLaws { posterior, here, there } in self.classes(t_new) {
            let (same, fresh) = (here.mean_there(&there, &self.y), there.mean());
            for ((answer, same), fresh) in answer.iter_mut().zip(same).zip(fresh) {
                *answer += posterior * (self.rho * same + (1.0 - self.rho) * fresh);
            }
        }
        answer
    }

    /// P(y' = `y_new` | x, t, y) of counts; none for other outcomes.
    pub(super) fn chance(&self, t_new: &[f64], y_new: f64) -> Option<f64> {
        if self.world != TableWorld::Count {
            return None;
        }
        let class = |ClassLaws { posterior, here, there }: ClassLaws| {
            let same = here.chance_there(&there, self.y[0], y_new)?;
            Some(posterior * (self.rho * same + (1.0 - self.rho) * there.chance(y_new)?))
        };
        self.classes(t_new).into_iter().map(class).sum()
    }

    fn classes(&self, t_new: &[f64]) -> Vec<ClassLaws> {
        let class = |k: usize| {
            let law = |t: &[f64]| self.world.law(self.x, t, k, self.sd);
            let here = law(&self.t);
            let posterior = self.world.log_weight(self.x, k).exp() * here.likelihood(&self.y);
            ClassLaws { posterior, here, there: law(t_new) }
        };
        let mut classes: Vec<ClassLaws> = (0..self.world.classes()).map(class).collect();
        let sum: f64 = classes.iter().map(|class| class.posterior).sum();
        classes.iter_mut().for_each(|class| class.posterior /= sum);
        // the ranks of an outcome that is impossible in a class are not known
        classes.retain(|class| class.posterior > 0.0);
        classes
    }
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}
