//! Units as the rows that a density is fitted to and asked about.

use std::collections::HashMap;

use crate::data::Dataset;
use crate::density::{OutcomeScale, Rows};
use crate::models::Batcher;

/// All units of a data set, standardised, with outcomes on the given scales.
pub(crate) fn density_rows(batcher: &Batcher<'_>, scales: &[OutcomeScale]) -> Rows {
    let data: &Dataset = batcher.data;
    let all: Vec<usize> = (0..data.len()).collect();
    let (d_x, d_t, d) = (data.x().elements(), data.t().elements(), data.y().elements());
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
    let outcomes = batcher.outcomes(&all);
    let transform = |(y, scale): (&f32, &OutcomeScale)| scale.transform(f64::from(*y)) as f32;
    Rows {
        inputs,
        outcomes: outcomes.iter().zip(scales.iter().cycle()).map(transform).collect(),
        observed: data.y().mask().map(<[bool]>::to_vec),
        width,
        d,
        subjects: data.groups_of(&all),
        possible_treatments: HashMap::new(),
    }
}
