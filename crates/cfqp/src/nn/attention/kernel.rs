//! Attention of one unit over plain slices, forward and backward, head by head.
//!
//! With p = softmax(q k' / sqrt(d)), m the dropout mask and o = (p m) v:
//!
//! ```text
//! dv = (p m)' do,   dp = (do v') m,   ds = p (dp - sum p dp),   dq = ds k / sqrt(d),   dk = ds' q / sqrt(d)
//! ```
//!
//! p is recomputed in the backward pass, which is cheaper than storing it. Keys and values are held transposed,
//! `[depth, steps]` with the steps padded to full vectors, so that every loop runs along the steps; vectors wholly out
//! of a step's reach are skipped.

use super::{AttentionPlan, Mask};
use crate::math::simd::{LANES, add_scaled, dot, max, sum};
use crate::nn::kernels::exp;

/// The keys or values of one head, or their gradients, `[depth, stride]`.
struct Transposed {
    data: Vec<f32>,
    stride: usize,
}

impl Transposed {
    fn zeros(plan: &AttentionPlan) -> Self {
        let stride = plan.seq.steps.next_multiple_of(LANES);
        Self { data: vec![0.0; plan.depth * stride], stride }
    }

    #[inline(always)]
    fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.data.chunks_exact(self.stride)
    }

    #[inline(always)]
    fn rows_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        self.data.chunks_exact_mut(self.stride)
    }

    /// Loads the columns of a unit's projections from `column` on.
    #[inline(always)]
    fn load(&mut self, plan: &AttentionPlan, projected: &[f32], column: usize) {
        let steps = projected.chunks_exact(3 * plan.width());
        for (step, row) in steps.enumerate() {
            for (c, value) in row[column..column + plan.depth].iter().enumerate() {
                self.data[c * self.stride + step] = *value;
            }
        }
    }

    /// Stores them into the columns of a unit's projections from `column` on.
    #[inline(always)]
    fn store(&self, plan: &AttentionPlan, projected: &mut [f32], column: usize) {
        let steps = projected.chunks_exact_mut(3 * plan.width());
        for (step, row) in steps.enumerate() {
            for (c, value) in row[column..column + plan.depth].iter_mut().enumerate() {
                *value = self.data[c * self.stride + step];
            }
        }
    }
}

/// The working memory of a pass over one unit.
pub(super) struct Scratch {
    keys: Transposed,
    values: Transposed,
    d_keys: Transposed,
    d_values: Transposed,
    query: Vec<f32>,
    p: Vec<f32>,
    dropped: Vec<f32>,
    ds: Vec<f32>,
}

impl Scratch {
    pub(super) fn new(plan: &AttentionPlan) -> Self {
        let [keys, values, d_keys, d_values] = [(); 4].map(|()| Transposed::zeros(plan));
        let [p, dropped, ds] = [(); 3].map(|()| vec![0.0; keys.stride]);
        Self { keys, values, d_keys, d_values, query: vec![0.0; plan.depth], p, dropped, ds }
    }

    /// Loads the keys and values of a head.
    #[inline(always)]
    fn load(&mut self, plan: &AttentionPlan, projected: &[f32], head: usize) {
        self.keys.load(plan, projected, plan.width() + head * plan.depth);
        self.values.load(plan, projected, 2 * plan.width() + head * plan.depth);
    }

    /// Computes the query / sqrt(depth) and the attention weights p, without and with the mask, of the `r`-th step that is
    /// read. Returns the number of weights in the vectors that the step reaches.
    #[inline(always)]
    fn attention_weights(
        &mut self,
        plan: &AttentionPlan,
        projected: &[f32],
        head: usize,
        r: usize,
        mask: StepMask<'_>,
    ) -> usize {
        let step = plan.start + r;
        let from = step * 3 * plan.width() + head * plan.depth;
        let query = self.query.iter_mut().zip(&projected[from..][..plan.depth]);
        query.for_each(|(query, value)| *query = value * plan.scale());
        let reach = plan.seq.reach(step);
        let len = reach.next_multiple_of(LANES);
        let (p, dropped) = (&mut self.p[..len], &mut self.dropped[..len]);
        p.fill(0.0);
        for (q, keys) in self.query.iter().zip(self.keys.rows()) {
            add_scaled(p, *q, keys);
        }
        softmax(p, reach);
        dropped.copy_from_slice(p);
        mask.multiply(&mut dropped[..reach]);
        len
    }
}

/// The mask of all units, `[n, heads, read, steps]`, and the start of one unit's part.
pub(super) type UnitMask<'a> = Option<(&'a Mask, usize)>;

/// The mask of one step's weights.
#[derive(Clone, Copy)]
struct StepMask<'a>(UnitMask<'a>);

impl<'a> StepMask<'a> {
    #[inline(always)]
    fn new(plan: &AttentionPlan, unit: UnitMask<'a>, head: usize, r: usize) -> Self {
        Self(unit.map(|(mask, start)| (mask, start + (head * plan.read + r) * plan.seq.steps)))
    }

    #[inline(always)]
    fn multiply(self, weights: &mut [f32]) {
        if let Some((mask, start)) = self.0 {
            mask.multiply(start, weights);
        }
    }
}

/// Softmax of the first `reach` elements; the others become 0.
#[inline(always)]
fn softmax(p: &mut [f32], reach: usize) {
    p[reach..].fill(f32::NEG_INFINITY);
    let top = max(p);
    p.iter_mut().for_each(|p| *p = exp(*p - top));
    p[reach..].fill(0.0);
    let share = 1.0 / sum(p);
    p.iter_mut().for_each(|p| *p *= share);
}

/// Attention of one unit.
///
/// # Shapes
/// projected `[steps, 3 width]`, out `[read, width]`
#[inline(always)]
pub(super) fn forward(
    plan: &AttentionPlan,
    projected: &[f32],
    mask: UnitMask<'_>,
    out: &mut [f32],
    scratch: &mut Scratch,
) {
    for head in 0..plan.heads {
        scratch.load(plan, projected, head);
        for r in 0..plan.read {
            let len = scratch.attention_weights(plan, projected, head, r, StepMask::new(plan, mask, head, r));
            let out = &mut out[r * plan.width() + head * plan.depth..][..plan.depth];
            for (out, values) in out.iter_mut().zip(scratch.values.rows()) {
                *out = dot(&scratch.dropped[..len], &values[..len]);
            }
        }
    }
}

/// The gradient of one unit's projections from that of its output; `d_projected` must be zero.
///
/// # Shapes
/// projected and d_projected `[steps, 3 width]`, d_out `[read, width]`
#[inline(always)]
pub(super) fn backward(
    plan: &AttentionPlan,
    projected: &[f32],
    mask: UnitMask<'_>,
    d_out: &[f32],
    d_projected: &mut [f32],
    scratch: &mut Scratch,
) {
    let width = plan.width();
    for head in 0..plan.heads {
        let column = head * plan.depth;
        scratch.load(plan, projected, head);
        scratch.d_keys.data.fill(0.0);
        scratch.d_values.data.fill(0.0);
        for r in 0..plan.read {
            let mask = StepMask::new(plan, mask, head, r);
            let len = scratch.attention_weights(plan, projected, head, r, mask);
            score_gradient(scratch, len, &d_out[r * width + column..][..plan.depth], mask);
            let d_query = &mut d_projected[(plan.start + r) * 3 * width + column..][..plan.depth];
            for (d_query, keys) in d_query.iter_mut().zip(scratch.keys.rows()) {
                *d_query = plan.scale() * dot(&scratch.ds[..len], &keys[..len]);
            }
            for (q, d_keys) in scratch.query.iter().zip(scratch.d_keys.rows_mut()) {
                add_scaled(d_keys, *q, &scratch.ds[..len]);
            }
        }
        scratch.d_keys.store(plan, d_projected, width + column);
        scratch.d_values.store(plan, d_projected, 2 * width + column);
    }
}

/// Computes ds of one step that is read and adds its part of dv.
#[inline(always)]
fn score_gradient(scratch: &mut Scratch, len: usize, d_out: &[f32], mask: StepMask<'_>) {
    let Scratch { values, d_values, p, dropped, ds, .. } = scratch;
    let (p, dropped, ds) = (&p[..len], &dropped[..len], &mut ds[..len]);
    ds.fill(0.0);
    for ((d, values), d_values) in d_out.iter().zip(values.rows()).zip(d_values.rows_mut()) {
        add_scaled(ds, *d, values);
        add_scaled(d_values, *d, dropped);
    }
    mask.multiply(ds);
    let mean = dot(p, ds);
    ds.iter_mut().zip(p).for_each(|(ds, p)| *ds = p * (*ds - mean));
}
