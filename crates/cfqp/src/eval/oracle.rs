//! The oracle: the library's own model with the true class of every unit given, in training and in the query.
//!
//! It answers m_z(x, t') + rho s_z(t') / s_z(t) (y - m_z(x, t)) for the true class z, and so bounds what any method that
//! has to infer the classes can reach with the same base model.

use crate::ask::AnswerClass;
use crate::config::{Base, FitConfig};
use crate::data::{Dataset, Units};
use crate::fit::{Fit, fit_known_classes};
use crate::model::Model;
use crate::rivals::Counterfactual;
use crate::runtime::{Monitor, Resources};
use crate::{Error, Result};

/// A model fitted with the true classes of its training units.
#[derive(Clone, Debug)]
pub struct Oracle(Model);

impl Oracle {
    /// Fits `data`, whose units have the true classes `z`.
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
        let fit = Fit::new(config.clone()).resources(resources.clone()).monitor(monitor);
        fit_known_classes(&fit, data, z).map(Self)
    }

    /// The oracle for units of the true classes `z`, whose factual and counterfactual noise have correlation `rho`. It can be queried
    /// for these units only.
    pub fn for_units(self, z: Vec<usize>, rho: f32) -> OracleForUnits {
        OracleForUnits { fitted: self.0, z, rho }
    }
}

/// An oracle and the true classes of the units it is queried for.
#[derive(Clone, Debug)]
pub struct OracleForUnits {
    fitted: Model,
    z: Vec<usize>,
    rho: f32,
}

impl OracleForUnits {
    /// The name of the base model.
    pub fn base(&self) -> Base {
        self.fitted.base()
    }
}

impl Counterfactual for OracleForUnits {
    fn counterfactual(&self, data: &Dataset, to: &Units) -> Result<Units> {
        self.fitted.answer_by_class(data, to, AnswerClass::Given(&self.z), self.rho)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::mse;
    use crate::sim::Oscillator;

    #[test]
    fn answers_are_accurate_with_the_true_classes_and_not_with_wrong_ones() {
        let train = Oscillator::default().simulate(200, 1).unwrap();
        let test = Oscillator::default().simulate(60, 2).unwrap();
        let config = FitConfig { base: Base::Linear, ..FitConfig::default() };
        let oracle = Oracle::fit(&train.data, &train.truth.z, &config, &Resources::default(), &()).unwrap();
        let error = |z: Vec<usize>| {
            let answers =
                oracle.clone().for_units(z, 1.0).counterfactual(&test.data, &test.truth.t_new).unwrap();
            mse(&test.truth.y_new, &answers).unwrap()
        };
        assert!(error(test.truth.z.clone()) < 0.0005, "{}", error(test.truth.z.clone()));
        assert!(error(test.truth.z.iter().map(|z| (z + 1) % 3).collect()) > 0.01);
        let few = oracle.clone().for_units(vec![0; 3], 1.0).counterfactual(&test.data, &test.truth.t_new);
        assert_eq!(few.unwrap_err().to_string(), "z: 3 classes for 60 units");
        let other = oracle.for_units(vec![7; 60], 1.0).counterfactual(&test.data, &test.truth.t_new);
        assert!(other.unwrap_err().to_string().contains("z, unit 0: class 7"));
        assert!(Oracle::fit(&train.data, &[0], &config, &Resources::default(), &()).is_err());
    }
}
