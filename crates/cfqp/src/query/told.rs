//! Answers of one class per unit, rather than of the mixture: the class that a unit is told, or its most probable.

use super::abduct::{Question, abduct, likeliest};
use crate::data::{Batcher, Dataset, Units};
use crate::em::{Fitted, Pool};
use crate::{Error, Result};

/// Which class answers for a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answering<'a> {
    /// The most probable.
    Likeliest,
    /// Each unit's own.
    Told(&'a [usize]),
}

impl Fitted {
    /// The outcome of each unit of `data` under `to`, as one class sees it; `rho` of the noise is kept.
    pub(crate) fn answer_as(
        &self,
        data: &Dataset,
        to: &Units,
        answering: Answering<'_>,
        rho: f32,
    ) -> Result<Units> {
        let (shapes, scaler) = (self.shapes(), self.scaler());
        shapes.check(data)?;
        check_classes(answering, data.len(), self.classes())?;
        let to = shapes.treatments(&scaler.t, to, data.len())?;
        let batcher = Batcher { data, scaler, missing: shapes.missing };
        let (d, d_t, classes) = (scaler.y.each(), scaler.t.each(), self.classes());
        let rows: Vec<usize> = (0..data.len()).collect();
        let parts = Pool::new(self.threads)?.map(rows.chunks(batcher.at_once()).collect(), |rows| {
            let to = &to[rows[0] * d_t..][..rows.len() * d_t];
            let calibration = &self.header.calibration;
            // whoever is told the class may be told an improbable one
            let question = Question { batcher, rows, to, from: None, rho, calibration, least: 0.0 };
            let answers = abduct(&self.mixture, &question, &self.device);
            let class = |i: usize| match answering {
                Answering::Told(classes) => classes[rows[i]],
                Answering::Likeliest => likeliest(&answers.posterior[i * classes..][..classes]),
            };
            let mut values = Vec::with_capacity(rows.len() * d);
            (0..rows.len()).for_each(|i| values.extend(&answers.classes[class(i)].mean[i * d..][..d]));
            values.chunks_exact_mut(d).for_each(|unit| scaler.y.restore(unit));
            values
        });
        Units::new("answer", shapes.y.clone(), parts.concat())
    }
}

fn check_classes(answering: Answering<'_>, units: usize, classes: usize) -> Result<()> {
    let Answering::Told(told) = answering else { return Ok(()) };
    let hint = "tell the class of every unit asked about, each a class of the training units";
    if told.len() != units {
        return Err(Error::data("z", format!("{} classes for {units} units", told.len()), hint));
    }
    match told.iter().position(|&class| class >= classes) {
        Some(i) => {
            let problem = format!("class {} was not among the {classes} of the training units", told[i]);
            Err(Error::data(format!("z, unit {i}"), problem, hint))
        }
        None => Ok(()),
    }
}
