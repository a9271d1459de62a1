//! Answers of one class per unit instead of the mixture: a given class, or the most probable one.

use crate::data::{Dataset, Units};
use crate::model::abduction::{BatchQuestion, abduct, most_probable};
use crate::model::{Model, Predictor};
use crate::models::Batcher;
use crate::{Error, Result};

/// The class that answers for a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnswerClass<'a> {
    /// The most probable class.
    MostProbable,
    /// The given class of every unit.
    Given(&'a [usize]),
}

impl Model {
    /// The outcome of each unit of `data` under `to` by one class, with correlation `rho` of the noise.
    pub(crate) fn answer_by_class(
        &self,
        data: &Dataset,
        to: &Units,
        answer_class: AnswerClass<'_>,
        rho: f32,
    ) -> Result<Units> {
        let (shapes, scaler) = (self.shapes(), self.scaler());
        shapes.check(data)?;
        check_classes(answer_class, data.len(), self.classes())?;
        let to = shapes.treatments(&scaler.t, to, data.len())?;
        let batcher = Batcher { data, scaler, missing: shapes.missing };
        let networks = match &self.predictor {
            Predictor::ClassNetworks(networks) => networks,
            Predictor::Density(ensemble) => {
                return self.density_answer_by_class(ensemble, &batcher, &to, answer_class, rho);
            }
        };
        let (d, d_t, classes) = (scaler.y.elements(), scaler.t.elements(), self.classes());
        let rows: Vec<usize> = (0..data.len()).collect();
        let batches = self.pool.map(rows.chunks(batcher.at_once()).collect(), |rows| {
            let to = &to[rows[0] * d_t..][..rows.len() * d_t];
            let calibration = &networks.calibration;
            // a given class may be improbable
            let question = BatchQuestion { batcher, rows, to, from: None, calibration, min_posterior: 0.0 };
            let answers = abduct(&networks.mixture, &question, rho, &self.device);
            let class = |i: usize| match answer_class {
                AnswerClass::Given(classes) => classes[rows[i]],
                AnswerClass::MostProbable => most_probable(&answers.posterior[i * classes..][..classes]),
            };
            let mut values = Vec::with_capacity(rows.len() * d);
            (0..rows.len()).for_each(|i| values.extend(&answers.classes[class(i)].mean[i * d..][..d]));
            values.chunks_exact_mut(d).for_each(|unit| scaler.y.restore(unit));
            values
        });
        Units::new("answer", shapes.y.clone(), batches.concat())
    }
}

/// Checks that given classes exist and that there is one for every unit.
fn check_classes(answer_class: AnswerClass<'_>, units: usize, classes: usize) -> Result<()> {
    let AnswerClass::Given(given) = answer_class else { return Ok(()) };
    let hint = "give every unit one of the classes of the training units";
    if given.len() != units {
        return Err(Error::data("z", format!("{} classes for {units} units", given.len()), hint));
    }
    match given.iter().position(|&class| class >= classes) {
        Some(i) => {
            let problem =
                format!("class {} is not one of the {classes} classes of the training units", given[i]);
            Err(Error::data(format!("z, unit {i}"), problem, hint))
        }
        None => Ok(()),
    }
}
