//! Which base model and how many classes: what held-out units support, and no more.

use super::components::residuals;
use super::explore::{Attempt, Context, explore, single};
use super::fitted::Tried;
use crate::Result;
use crate::config::{Base, Classes};
use crate::models::{BaseConfig, LinearConfig};

/// Attempts at one base model and number of classes, the best first.
pub(crate) struct Rung {
    pub base: BaseConfig,
    pub classes: usize,
    pub attempts: Vec<Attempt>,
}

impl Rung {
    fn evidence(&self) -> &[f64] {
        &self.attempts[0].course.evidence
    }
}

/// What was chosen, and everything tried.
pub(crate) struct Selection {
    pub chosen: Rung,
    pub tried: Vec<Tried>,
    pub one_class_suffices: bool,
}

/// Held-out likelihood goes on rising slowly with K wherever units differ in ways that are no classes. So every class
/// after the first has a price, and K is where -log likelihood and prices together are lowest. The price is so many nats
/// per outcome element, of which at most so many count ...
const LEAST_GAIN: f64 = 0.06;
const COUNTED_ELEMENTS: usize = 64;
/// ... or, if that is more, this share of the most that a single class brought: a class that is there stands out.
const LEAST_SHARE: f64 = 0.4;

/// So many numbers of classes in a row that are not worth it end the climb: some classes pay only together with the next.
const PATIENCE: usize = 3;

/// Base models worth trying on data of these shapes.
pub(super) fn candidates(context: &Context<'_>) -> Vec<BaseConfig> {
    let config = context.config;
    let linear = || BaseConfig::Linear(LinearConfig::default());
    let mlp = || BaseConfig::Mlp(config.mlp.clone());
    match config.base {
        Base::Linear => vec![linear()],
        Base::Mlp => vec![mlp()],
        Base::Unet => vec![BaseConfig::Unet(config.unet.clone())],
        Base::Transformer => vec![BaseConfig::Transformer(config.transformer)],
        Base::Auto if context.shapes.x.len() == 3 && context.shapes.x[1..] == context.shapes.y[1..] => {
            vec![BaseConfig::Unet(config.unet.clone())]
        }
        Base::Auto => vec![linear(), mlp()],
    }
}

/// Climb from one class up for every base model, and choose.
pub(crate) fn select(context: &Context<'_>) -> Result<Selection> {
    choose(context, false)
}

/// Every number of classes up to the most, however little the last ones brought, and which would be chosen.
pub(crate) fn compare(context: &Context<'_>) -> Result<Vec<Tried>> {
    Ok(choose(context, true)?.tried)
}

fn choose(context: &Context<'_>, to_the_top: bool) -> Result<Selection> {
    let mut ladders = Vec::new();
    for base in candidates(context) {
        ladders.push(climb(context, base, to_the_top)?);
    }
    let d = context.scaler.y.each();
    let price = ladders.iter().map(|rungs| price(rungs, d)).fold(0.0, f64::max);
    let picks: Vec<usize> = ladders.iter().map(|rungs| pick(rungs, context.config.classes, price)).collect();
    // a base model that needs more classes than another makes up for its own misfit with them, and pays for it
    let score = |i: usize| {
        let rung = &ladders[i][picks[i]];
        rung.attempts[0].score() + price * (rung.classes - 1) as f64
    };
    let best =
        (0..ladders.len()).min_by(|&a, &b| score(a).total_cmp(&score(b))).expect("there are base models");
    let chosen = picks[best];
    let one = &ladders[best][0];
    let top = &ladders[best][chosen];
    let one_class_suffices = top.classes == 1 || !worth(one, top, price);
    let mut tried = Vec::new();
    for (i, rungs) in ladders.iter().enumerate() {
        tried.extend(rungs.iter().enumerate().map(|(j, rung)| Tried {
            base: rung.base.name().to_owned(),
            classes: rung.classes,
            nll: rung.attempts[0].score(),
            evidence: mean(rung.evidence()),
            price,
            mse: rung.attempts[0].course.mse,
            chosen: (i, j) == (best, chosen),
        }));
    }
    Ok(Selection { chosen: ladders.swap_remove(best).swap_remove(chosen), tried, one_class_suffices })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn climb(context: &Context<'_>, base: BaseConfig, to_the_top: bool) -> Result<Vec<Rung>> {
    let single = single(context, &base)?;
    let residuals =
        residuals(&single.net, &context.batcher(), context.explored, context.device, context.pool);
    let rung = |classes: usize| -> Result<Rung> {
        let attempts = explore(context, &base, &single.net, &residuals, classes)?;
        Ok(Rung { base: base.clone(), classes, attempts })
    };
    let mut rungs = vec![rung(1)?];
    match context.config.classes {
        Classes::Given(1) => {}
        Classes::Given(classes) => rungs.push(rung(classes)?),
        Classes::Auto => {
            let d = context.scaler.y.each();
            let most = context.config.max_classes.min(context.explored.len() / 8).max(1);
            let mut best = 0;
            for classes in 2..=most {
                rungs.push(rung(classes)?);
                let last = rungs.len() - 1;
                if worth(&rungs[best], &rungs[last], price(&rungs, d)) {
                    best = last;
                } else if !to_the_top && last - best >= PATIENCE {
                    break;
                }
            }
        }
    }
    Ok(rungs)
}

/// The rung asked for, or the lowest from which it is not worth climbing on.
fn pick(rungs: &[Rung], asked: Classes, price: f64) -> usize {
    if asked != Classes::Auto {
        return rungs.len() - 1;
    }
    let beaten = |i: usize| rungs[i + 1..].iter().any(|high| worth(&rungs[i], high, price));
    (0..rungs.len()).find(|&i| !beaten(i)).unwrap_or(0)
}

/// Whether the classes that `high` has on top of `low` are worth their price.
fn worth(low: &Rung, high: &Rung, price: f64) -> bool {
    clearly_better(high.evidence(), low.evidence(), price * (high.classes - low.classes) as f64)
}

/// What a class must bring, by what the classes of a ladder brought.
fn price(rungs: &[Rung], elements: usize) -> f64 {
    let steps: Vec<(usize, f64)> = rungs.iter().map(|rung| (rung.classes, mean(rung.evidence()))).collect();
    price_of(&steps, elements)
}

/// The same by the evidence for each number of classes.
fn price_of(steps: &[(usize, f64)], elements: usize) -> f64 {
    let gains = steps.windows(2).map(|step| (step[0].1 - step[1].1) / (step[1].0 - step[0].0) as f64);
    let least = LEAST_GAIN * elements.min(COUNTED_ELEMENTS) as f64;
    gains.fold(least, |price, gain| price.max(LEAST_SHARE * gain))
}

/// Whether -log likelihoods `a` of held-out units are below `b` by more than chance and by at least `least`.
fn clearly_better(a: &[f64], b: &[f64], least: f64) -> bool {
    let gains: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    let (n, gain) = (gains.len().max(1) as f64, mean(&gains));
    let error = (gains.iter().map(|g| (g - gain).powi(2)).sum::<f64>() / n / n).sqrt();
    gain > 2.0 * error && gain >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_prices_the_lowest_is_where_classes_stop_to_stand_out() {
        let lowest = |evidence: &[f64], elements: usize| {
            let steps: Vec<(usize, f64)> = (1..).zip(evidence.iter().copied()).collect();
            let price = price_of(&steps, elements);
            let priced = |(classes, evidence): &(usize, f64)| evidence + price * (classes - 1) as f64;
            steps.iter().min_by(|a, b| priced(a).total_cmp(&priced(b))).map(|step| step.0)
        };
        assert_eq!(lowest(&[50.0, 40.0, 32.0, 31.5, 31.6], 20), Some(3));
        assert_eq!(lowest(&[50.0, 49.0, 48.5, 48.4], 20), Some(1), "less than 0.06 nats an element");
        assert_eq!(lowest(&[50.0, 27.0, 19.0, 17.0, 14.0], 20), Some(2), "what is left are no classes");
        assert_eq!(
            lowest(&[800.0, 400.0, 200.0, 0.0, -400.0, -1000.0, -1010.0], 2352),
            Some(6),
            "a long way"
        );
        assert_eq!(price_of(&[(1, 50.0), (6, 0.0)], 20), 4.0, "ten a class");
    }

    #[test]
    fn a_gain_must_be_sure_and_large_enough() {
        let flat = vec![1.0; 50];
        let wild: Vec<f64> = (0..50).map(|i| if i % 2 == 0 { -4.0 } else { 5.0 }).collect();
        assert!(clearly_better(&[0.5; 50], &flat, 0.1));
        assert!(!clearly_better(&[0.999; 50], &flat, 0.1), "too small");
        assert!(!clearly_better(&wild, &flat, 0.1), "too unsure");
    }
}
