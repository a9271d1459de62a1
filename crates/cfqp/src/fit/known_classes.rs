//! A fit with known classes: the accuracy that the default recipe would reach with perfect labels.

use super::Fit;
use super::final_mixture::{LabelledClasses, fit_mixture};
use super::finish::finish;
use super::setup::with_context;
use crate::config::Sharing;
use crate::data::Dataset;
use crate::math::argmin;
use crate::model::Model;
use crate::models::{BaseConfig, ClassInput};
use crate::runtime::Stage;
use crate::search::{base_models, search_schedule};
use crate::train::{Context, Task, train};
use crate::{Result, stream};

/// Fits the ensemble of the default recipe to `data`, whose units belong to the classes `labels`.
///
/// # Panics
/// If `labels` does not have one class per unit.
pub(crate) fn fit_known_classes(fit: &Fit<'_>, data: &Dataset, labels: &[usize]) -> Result<Model> {
    assert_eq!(labels.len(), data.len(), "every unit has a class");
    let classes = labels.iter().max().map_or(1, |max| max + 1);
    with_context(fit, data, |context| {
        let base = choose_base(context, labels, classes)?;
        let labelled = LabelledClasses {
            base: &base,
            classes,
            sharing: Sharing::Conditional,
            labels: labels.to_vec(),
            known: true,
        };
        let (mixture, report) = fit_mixture(context, labelled)?;
        finish(context, base, mixture, Vec::new(), report)
    })
}

/// The base model that, with the class as input, predicts validation units best.
fn choose_base(context: &Context<'_>, labels: &[usize], classes: usize) -> Result<BaseConfig> {
    let mut models = base_models(context);
    if models.len() == 1 {
        return Ok(models.remove(0));
    }
    let class = ClassInput::PerRow { labels, classes };
    let losses = context.pool.try_map(models.iter().collect(), |base| {
        let net = context.init(base, classes, &["told", base.name()])?;
        let schedule = search_schedule(base, context.config, context.split.train.len());
        context.monitor.stage(Stage::BaseModel, schedule.epochs_of(base));
        let mut rng = stream(context.config.seed, &["told", base.name(), "train"]);
        let trained = train(net, &Task { class, ..context.task() }, &schedule, &mut rng, context.monitor)?;
        Ok(trained.loss)
    })?;
    let best = argmin(losses).unwrap_or(0);
    Ok(models.swap_remove(best))
}
