//! Attention of one unit over plain slices, forward and backward, head by head.
//!
//! With p = softmax(q k' / sqrt(d)), m the dropout mask and o = (p m) v:
//!
//! ```text
//! dv = (p m)' do,   dp = (do v') m,   ds = p (dp - sum p dp),   dq = ds k / sqrt(d),   dk = ds' q / sqrt(d)
//! ```
//!
//! p is computed anew in the backward pass: that is cheaper than keeping it. Keys and values are held turned,
//! `[depth, steps]` with the steps filled up to whole lanes, so that every loop runs along the steps; lanes
//! wholly out of a step's reach are left out.

use super::{Mask, Plan};
use crate::nn::simd::{LANES, add_scaled, dot, exp, largest, sum};

/// One head's keys or values (or their gradients), `[depth, stride]`.
struct Turned {
    data: Vec<f32>,
    stride: usize,
}

impl Turned {
    fn zeros(plan: &Plan) -> Self {
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

    /// Take the columns from `column` on of a unit's projections.
    #[inline(always)]
    fn load(&mut self, plan: &Plan, projected: &[f32], column: usize) {
        let steps = projected.chunks_exact(3 * plan.width());
        for (step, row) in steps.enumerate() {
            for (c, value) in row[column..column + plan.depth].iter().enumerate() {
                self.data[c * self.stride + step] = *value;
            }
        }
    }

    /// Put them back.
    #[inline(always)]
    fn store(&self, plan: &Plan, projected: &mut [f32], column: usize) {
        let steps = projected.chunks_exact_mut(3 * plan.width());
        for (step, row) in steps.enumerate() {
            for (c, value) in row[column..column + plan.depth].iter_mut().enumerate() {
                *value = self.data[c * self.stride + step];
            }
        }
    }
}

/// What one pass over a unit works with.
pub(super) struct Scratch {
    keys: Turned,
    values: Turned,
    d_keys: Turned,
    d_values: Turned,
    query: Vec<f32>,
    p: Vec<f32>,
    dropped: Vec<f32>,
    ds: Vec<f32>,
}

impl Scratch {
    pub(super) fn new(plan: &Plan) -> Self {
        let [keys, values, d_keys, d_values] = [(); 4].map(|()| Turned::zeros(plan));
        let [p, dropped, ds] = [(); 3].map(|()| vec![0.0; keys.stride]);
        Self { keys, values, d_keys, d_values, query: vec![0.0; plan.depth], p, dropped, ds }
    }

    /// Keys and values of a head.
    #[inline(always)]
    fn load(&mut self, plan: &Plan, projected: &[f32], head: usize) {
        self.keys.load(plan, projected, plan.width() + head * plan.depth);
        self.values.load(plan, projected, 2 * plan.width() + head * plan.depth);
    }

    /// The query, over sqrt(depth), and p, whole and with the mask, of the `r`-th step that is read. How much of p
    /// counts: the lanes in the step's reach.
    #[inline(always)]
    fn weigh(&mut self, plan: &Plan, projected: &[f32], head: usize, r: usize, mask: StepMask<'_>) -> usize {
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

/// The mask of all units, `[n, heads, read, steps]`, and where this unit's part begins.
pub(super) type UnitMask<'a> = Option<(&'a Mask, usize)>;

/// The mask of one step's weights.
#[derive(Clone, Copy)]
struct StepMask<'a>(UnitMask<'a>);

impl<'a> StepMask<'a> {
    #[inline(always)]
    fn new(plan: &Plan, unit: UnitMask<'a>, head: usize, r: usize) -> Self {
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
    let top = largest(p);
    p.iter_mut().for_each(|p| *p = exp(*p - top));
    p[reach..].fill(0.0);
    let share = 1.0 / sum(p);
    p.iter_mut().for_each(|p| *p *= share);
}

/// One unit: projections `[steps, 3 width]` to what is gathered, `[read, width]`.
#[inline(always)]
pub(super) fn forward(
    plan: &Plan,
    projected: &[f32],
    mask: UnitMask<'_>,
    out: &mut [f32],
    scratch: &mut Scratch,
) {
    for head in 0..plan.heads {
        scratch.load(plan, projected, head);
        for r in 0..plan.read {
            let len = scratch.weigh(plan, projected, head, r, StepMask::new(plan, mask, head, r));
            let out = &mut out[r * plan.width() + head * plan.depth..][..plan.depth];
            for (out, values) in out.iter_mut().zip(scratch.values.rows()) {
                *out = dot(&scratch.dropped[..len], &values[..len]);
            }
        }
    }
}

/// One unit: the gradient of the projections from that of what was gathered; `d_projected` comes as zeros.
#[inline(always)]
pub(super) fn backward(
    plan: &Plan,
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
            let len = scratch.weigh(plan, projected, head, r, mask);
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

/// ds of one step that is read, and its part of dv.
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
