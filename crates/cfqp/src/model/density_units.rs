//! Units as the rows that a density is fitted to and asked about.

use std::collections::HashMap;

use crate::data::{Dataset, OutcomeKind};
use crate::density::{HeadLaw, OutcomeScale, Rows};
use crate::models::Batcher;

/// All units of a data set, standardised, with outcomes of the given laws on the given scales; no laws: all are numbers.
pub(crate) fn density_rows(batcher: &Batcher<'_>, laws: &[HeadLaw], scales: &[OutcomeScale]) -> Rows {
    let data: &Dataset = batcher.data;
    let all: Vec<usize> = (0..data.len()).collect();
    let (d_x, d_t) = (data.x().elements(), data.t().elements());
    let (x, t) = (batcher.covariates(&all), batcher.treatments(&all));
    let missing = if batcher.missing { batcher.missing_x(&all) } else { Vec::new() };
    let width = d_x * (1 + usize::from(batcher.missing)) + d_t;
    let mut inputs = Vec::with_capacity(all.len() * width);
    for i in 0..all.len() {
        inputs.extend_from_slice(&x[i * d_x..][..d_x]);
        if batcher.missing {
            inputs.extend_from_slice(&missing[i * d_x..][..d_x]);
        }
        inputs.extend_from_slice(&t[i * d_t..][..d_t]);
    }
    let heads = Heads { laws, scales, d: data.y().elements() };
    let Observed { outcomes, observed } = heads.outcomes(&batcher.outcomes(&all), data.y().mask());
    Rows {
        inputs,
        outcomes,
        offsets: Vec::new(),
        folds: HashMap::new(),
        observed,
        numeric: None,
        width,
        d: scales.len(),
        subjects: data.groups_of(&all),
        possible_treatments: HashMap::new(),
    }
}

/// The kinds of the `elements` elements of an outcome whose heads have these laws; no laws: all are numbers.
pub(crate) fn outcome_kinds(laws: &[HeadLaw], elements: usize) -> Vec<OutcomeKind> {
    if laws.is_empty() {
        return vec![OutcomeKind::Number; elements];
    }
    let (mut kinds, mut categories) = (Vec::new(), 0);
    let mut after_positive = false;
    for law in laws {
        let kind = match law {
            HeadLaw::Number => OutcomeKind::Number,
            HeadLaw::Chance { .. } => OutcomeKind::YesNo,
            HeadLaw::Count { .. } => OutcomeKind::Count,
            HeadLaw::Ordered { .. } => OutcomeKind::Ordered,
            HeadLaw::Positive { .. } => OutcomeKind::Amount,
            HeadLaw::Level { level, .. } => {
                categories += usize::from(*level == 0);
                OutcomeKind::Level(categories - 1)
            }
        };
        if !after_positive {
            kinds.push(kind);
        }
        after_positive = kind == OutcomeKind::Amount;
    }
    kinds
}

/// How the `d` elements of an outcome become the heads of a network.
struct Heads<'a> {
    laws: &'a [HeadLaw],
    scales: &'a [OutcomeScale],
    d: usize,
}

/// Outcomes of heads, and which were observed; none: all were.
struct Observed {
    outcomes: Vec<f32>,
    observed: Option<Vec<bool>>,
}

impl Heads<'_> {
    fn outcomes(&self, y: &[f32], mask: Option<&[bool]>) -> Observed {
        let transform = |(y, scale): (&f32, &OutcomeScale)| scale.transform(f64::from(*y)) as f32;
        if self.d == self.scales.len() {
            let outcomes = y.iter().zip(self.scales.iter().cycle()).map(transform).collect();
            return Observed { outcomes, observed: mask.map(<[bool]>::to_vec) };
        }
        let (mut outcomes, mut observed) = (Vec::new(), Vec::new());
        for (i, unit) in y.chunks_exact(self.d).enumerate() {
            let mut head = 0;
            for (j, &value) in unit.iter().enumerate() {
                let is_observed = mask.is_none_or(|mask| mask[i * self.d + j]);
                if let Some(HeadLaw::Positive { .. }) = self.laws.get(head) {
                    let positive = value > 0.0;
                    outcomes.push(if positive { 1.0 } else { 0.0 });
                    observed.push(is_observed);
                    head += 1;
                    outcomes.push(if positive { transform((&value, &self.scales[head])) } else { 0.0 });
                    observed.push(is_observed && positive);
                } else {
                    outcomes.push(transform((&value, &self.scales[head])));
                    observed.push(is_observed);
                }
                head += 1;
            }
        }
        Observed { outcomes, observed: Some(observed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_the_heads() {
        let level = |level| HeadLaw::Level { level, levels: 2 };
        let laws = [
            HeadLaw::Positive { offset: 0.0 },
            HeadLaw::Number,
            level(0),
            level(1),
            level(0),
            level(1),
            HeadLaw::Number,
        ];
        let [first, second] = [OutcomeKind::Level(0), OutcomeKind::Level(1)];
        let expected = [OutcomeKind::Amount, first, first, second, second, OutcomeKind::Number];
        assert_eq!(outcome_kinds(&laws, 6), expected);
        assert_eq!(outcome_kinds(&[], 2), [OutcomeKind::Number; 2]);
    }

    #[test]
    fn an_amount_has_two_heads_of_which_the_second_is_missing_where_it_is_zero() {
        let laws = [HeadLaw::Positive { offset: 0.0 }, HeadLaw::Number, HeadLaw::Chance { offset: 0.0 }];
        let scales = [OutcomeScale::Identity; 3];
        let heads = Heads { laws: &laws, scales: &scales, d: 2 };
        let Observed { outcomes, observed } =
            heads.outcomes(&[2.5, 1.0, 0.0, 0.0], Some(&[true, true, true, false]));
        assert_eq!(outcomes, [1.0, 2.5, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(observed.unwrap(), [true, true, true, true, false, false]);
    }
}
