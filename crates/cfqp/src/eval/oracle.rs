//! The oracle: our own model, told the true class of every unit, in training and in the query.
//!
//! The limit of what finding the classes can bring, for a given base model. It keeps the unit's own noise as our
//! model does: m_z(x, t') + s_z(t') / s_z(t) (y - m_z(x, t)).

use crate::baselines::Counterfactual;
use crate::em::fit_told;
use crate::query::Answering;
use crate::{Dataset, Error, FitConfig, Fitted, Monitor, Resources, Result, Units};

/// A model that was told the classes of its training units.
#[derive(Clone, Debug)]
pub struct Oracle(Fitted);

impl Oracle {
    /// Fit to `data`, whose units are of the true classes `z`.
    pub fn fit(
        data: &Dataset,
        z: &[usize],
        config: &FitConfig,
        resources: &Resources,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        if z.len() != data.len() {
            let problem = format!("{} units, but x has {}", z.len(), data.len());
            return Err(Error::data("z", problem, "give the class of every training unit"));
        }
        fit_told(data, z, config, resources, monitor).map(Self)
    }

    /// The oracle for units of the true classes `z`, of whose noise `rho` is the same in both worlds: it can be
    /// asked about these units alone.
    pub fn told(self, z: Vec<usize>, rho: f32) -> ToldOracle {
        ToldOracle { fitted: self.0, z, rho }
    }
}

/// An oracle and the true classes of the units it will be asked about.
#[derive(Clone, Debug)]
pub struct ToldOracle {
    fitted: Fitted,
    z: Vec<usize>,
    rho: f32,
}

impl ToldOracle {
    /// What the base model is called.
    pub fn base(&self) -> &'static str {
        self.fitted.base()
    }
}

impl Counterfactual for ToldOracle {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        self.fitted.answer_as(data, to, Answering::Told(&self.z), self.rho)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Oscillator;
    use crate::{Base, mse};

    #[test]
    fn told_the_classes_it_is_right_and_told_wrong_ones_it_is_not() {
        let train = Oscillator::default().simulate(200, 1).unwrap();
        let test = Oscillator::default().simulate(60, 2).unwrap();
        let config = FitConfig { base: Base::Linear, ..FitConfig::default() };
        let oracle = Oracle::fit(&train.data, &train.truth.z, &config, &Resources::default(), &()).unwrap();
        let error = |z: Vec<usize>| {
            let answers = oracle.clone().told(z, 1.0).counterfactual(&test.data, &test.truth.t_new).unwrap();
            mse(&test.truth.y_new, &answers).unwrap()
        };
        assert!(error(test.truth.z.clone()) < 0.0005, "{}", error(test.truth.z.clone()));
        assert!(error(test.truth.z.iter().map(|z| (z + 1) % 3).collect()) > 0.01);
        let few = oracle.clone().told(vec![0; 3], 1.0).counterfactual(&test.data, &test.truth.t_new);
        assert_eq!(few.unwrap_err().to_string(), "z: 3 classes for 60 units");
        let other = oracle.told(vec![7; 60], 1.0).counterfactual(&test.data, &test.truth.t_new);
        assert!(other.unwrap_err().to_string().contains("z, unit 0: class 7"));
        assert!(Oracle::fit(&train.data, &[0], &config, &Resources::default(), &()).is_err());
    }
}
