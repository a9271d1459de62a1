//! One tree, grown best leaf first.

use std::ops::Range;

use super::bins::BinnedRows;
use super::config::BoostConfig;
use super::histogram::{Histogram, Split, Sums, add, subtract};
use crate::math::argmax;

/// A node of a tree on bins. Children of a node stand beside each other, after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// The left child, which the right one follows; 0 for a leaf.
    pub left: u32,
    pub column: u32,
    pub bin: u8,
    pub missing_left: bool,
    /// The value of a leaf.
    pub value: f32,
}

impl Node {
    fn leaf(value: f64) -> Self {
        Self { left: 0, column: 0, bin: 0, missing_left: false, value: value as f32 }
    }

    fn goes_left(self, binned: &BinnedRows, row: usize) -> bool {
        let column = self.column as usize;
        let code = binned.code(row, column);
        if usize::from(code) == binned.bins(column) { self.missing_left } else { code <= self.bin }
    }
}

/// The value of the leaf that a row reaches.
pub(super) fn leaf_value(nodes: &[Node], binned: &BinnedRows, row: usize) -> f32 {
    let mut node = nodes[0];
    while node.left != 0 {
        node = nodes[node.left as usize + usize::from(!node.goes_left(binned, row))];
    }
    node.value
}

/// A leaf that may still be split.
struct Leaf {
    node: usize,
    rows: Range<usize>,
    histogram: Histogram,
    sums: Sums,
    split: Option<Split>,
}

/// Grows trees on some rows of a table; buffers are kept between trees.
pub(super) struct Grower<'a> {
    binned: &'a BinnedRows,
    config: &'a BoostConfig,
    train: Vec<u32>,
    /// The training rows, those of a leaf beside each other.
    rows: Vec<u32>,
    scratch: Vec<u32>,
    free: Vec<Histogram>,
}

/// A grown tree.
pub(super) struct Grown {
    pub nodes: Vec<Node>,
    /// The gain of every split, with its column.
    pub gains: Vec<(usize, f64)>,
    /// The leaves: their values and where their rows are in [`Grower::rows`].
    leaves: Vec<(f32, Range<usize>)>,
}

impl<'a> Grower<'a> {
    pub(super) fn new(binned: &'a BinnedRows, config: &'a BoostConfig, train: &[usize]) -> Self {
        let train: Vec<u32> = train.iter().map(|&row| row as u32).collect();
        Self { binned, config, rows: train.clone(), train, scratch: Vec::new(), free: Vec::new() }
    }

    /// Grows a tree on `columns`. `sums` has the weighted residual and the weight of every row.
    pub(super) fn grow(&mut self, columns: &[usize], sums: &[Sums], min_gain: f64) -> Grown {
        self.rows.copy_from_slice(&self.train);
        let total = self.rows.iter().fold([0.0; 2], |total, &row| add(total, sums[row as usize]));
        let mut nodes = vec![Node::leaf(leaf_step(total, self.config))];
        let mut histogram = self.free.pop().unwrap_or_default();
        histogram.build(self.binned, columns, &self.rows, sums);
        let split = histogram.best_split(self.binned, columns, total, self.config, min_gain);
        let mut leaves = vec![Leaf { node: 0, rows: 0..self.rows.len(), histogram, sums: total, split }];
        let mut gains = Vec::new();
        while leaves.len() < self.config.leaves {
            let gain = |leaf: &Leaf| leaf.split.map_or(f64::NEG_INFINITY, |split| split.gain);
            let next = argmax(leaves.iter().map(gain)).expect("there is a leaf");
            let Some(split) = leaves[next].split else { break };
            let Leaf { node, rows, mut histogram, sums: parent, .. } = leaves.swap_remove(next);
            gains.push((split.column, split.gain));
            let left = nodes.len();
            nodes[node] = Node {
                left: left as u32,
                column: split.column as u32,
                bin: split.bin as u8,
                missing_left: split.missing_left,
                value: 0.0,
            };
            let middle = rows.start
                + partition(&mut self.rows[rows.clone()], &mut self.scratch, |row| {
                    nodes[node].goes_left(self.binned, row)
                });
            let parts = [rows.start..middle, middle..rows.end];
            let totals = [split.left, subtract(parent, split.left)];
            nodes.extend(totals.map(|total| Node::leaf(leaf_step(total, self.config))));
            // the last leaves are not split
            let more = leaves.len() + 2 < self.config.leaves;
            let small = usize::from(parts[1].len() < parts[0].len());
            let mut own = self.free.pop().unwrap_or_default();
            if more {
                own.build(self.binned, columns, &self.rows[parts[small].clone()], sums);
                histogram.subtract(&own, self.binned, columns);
            }
            let histograms = if small == 0 { [own, histogram] } else { [histogram, own] };
            for (i, (histogram, rows)) in histograms.into_iter().zip(parts).enumerate() {
                let split = if more {
                    histogram.best_split(self.binned, columns, totals[i], self.config, min_gain)
                } else {
                    None
                };
                leaves.push(Leaf { node: left + i, rows, histogram, sums: totals[i], split });
            }
        }
        let mut ends = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            ends.push((nodes[leaf.node].value, leaf.rows));
            self.free.push(leaf.histogram);
        }
        Grown { nodes, gains, leaves: ends }
    }

    /// Calls `change` with every training row and the value of its leaf.
    pub(super) fn for_each_row(&self, tree: &Grown, mut change: impl FnMut(usize, f32)) {
        for (value, rows) in &tree.leaves {
            self.rows[rows.clone()].iter().for_each(|&row| change(row as usize, *value));
        }
    }
}

/// The value of a leaf: its mean residual, shrunk, times the learning rate.
fn leaf_step(sums: Sums, config: &BoostConfig) -> f64 {
    let weight = sums[1] + config.l2;
    if weight > 0.0 { config.learning_rate * sums[0] / weight } else { 0.0 }
}

/// Puts the rows that go left first, in their order, and returns their number.
fn partition(rows: &mut [u32], scratch: &mut Vec<u32>, goes_left: impl Fn(usize) -> bool) -> usize {
    scratch.clear();
    let mut left = 0;
    for i in 0..rows.len() {
        let row = rows[i];
        if goes_left(row as usize) {
            rows[left] = row;
            left += 1;
        } else {
            scratch.push(row);
        }
    }
    rows[left..].copy_from_slice(scratch);
    left
}
