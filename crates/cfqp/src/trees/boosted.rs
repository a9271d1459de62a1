//! A sum of trees: its fit, its predictions, its stored form.

use rand::seq::index;
use serde::{Deserialize, Serialize};

use super::bins::BinnedRows;
use super::config::BoostConfig;
use super::grow::{Grower, Node, leaf_value};
use crate::Rng;

/// Predictions go tree by tree over so many rows at a time.
const BATCH: usize = 256;
/// Splits that lower the sum of squares by a smaller share than this are rounding.
const MIN_GAIN: f64 = 1e-12;

/// What trees are fitted to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoostTask<'a> {
    /// The table.
    pub binned: &'a BinnedRows,
    /// The rows to fit.
    pub train: &'a [usize],
    /// The target of every row of the table; that of rows neither fitted nor held out is not read.
    pub target: &'a [f64],
    /// The weight of every row of the table, 1 if none are given.
    pub weights: Option<&'a [f64]>,
    /// The rows on whose error fitting is stopped.
    pub held_out: &'a [usize],
}

/// What happened in a fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BoostTrace {
    /// The mean squared error of held-out rows with 0, 1, ... trees; empty if there are no such rows.
    pub held_out_errors: Vec<f64>,
    /// How much the splits of every column lowered the sum of squares.
    pub gains: Vec<f64>,
}

/// Boosted trees. Nodes of all trees stand one after the other; a split sends values up to its threshold left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Boosted {
    columns: usize,
    /// The prediction without trees.
    base: f64,
    /// The first node of every tree.
    starts: Vec<u32>,
    /// The left child of every node, counted from the first node of its tree; the right one follows it. 0 for leaves.
    left: Vec<u32>,
    /// The column of a split.
    column: Vec<u32>,
    /// Whether missing values go left.
    missing_left: Vec<bool>,
    /// The threshold of a split, the value of a leaf.
    value: Vec<f32>,
}

impl Boosted {
    /// Fits trees, as many as have the smallest error on held-out rows.
    #[cfg(test)]
    pub(crate) fn fit(task: &BoostTask<'_>, config: &BoostConfig, rng: &mut Rng) -> Self {
        let (mut fitted, trace) = Self::fit_all(task, config, rng);
        if config.patience.is_some()
            && let Some(best) = crate::math::argmin(trace.held_out_errors.iter().copied())
        {
            fitted.truncate(best);
        }
        fitted
    }

    /// Fits trees until fitting stops, including those after the best, with their trace.
    pub(crate) fn fit_all(task: &BoostTask<'_>, config: &BoostConfig, rng: &mut Rng) -> (Self, BoostTrace) {
        let BoostTask { binned, train, target, .. } = *task;
        let weight = |row: usize| task.weights.map_or(1.0, |weights| weights[row]);
        let total: f64 = train.iter().map(|&row| weight(row)).sum();
        let sum: f64 = train.iter().map(|&row| weight(row) * target[row]).sum();
        let base = if total > 0.0 { sum / total } else { 0.0 };
        let mut fitted = Self::constant(binned.columns(), base);
        let mut errors = HeldOut::new(task, base);
        let mut trace = BoostTrace { gains: vec![0.0; binned.columns()], ..BoostTrace::default() };
        trace.held_out_errors.extend(errors.mean_square());
        if total <= 0.0 {
            return (fitted, trace);
        }
        let mut sums = vec![[0.0; 2]; binned.len()];
        train.iter().for_each(|&row| sums[row] = [weight(row) * (target[row] - base), weight(row)]);
        let squares: f64 = train.iter().map(|&row| weight(row) * (target[row] - base).powi(2)).sum();
        let mut grower = Grower::new(binned, config, train);
        let used = (config.column_share * binned.columns() as f64).ceil() as usize;
        let used = used.clamp(1, binned.columns().max(1));
        let mut columns: Vec<usize> = (0..binned.columns()).collect();
        let mut best = 0;
        for round in 1..=config.rounds {
            if used < binned.columns() {
                columns = index::sample(rng, binned.columns(), used).into_vec();
                columns.sort_unstable();
            }
            let tree = grower.grow(&columns, &sums, MIN_GAIN * squares);
            if tree.gains.is_empty() && used >= binned.columns() {
                break;
            }
            grower.for_each_row(&tree, |row, value| sums[row][0] -= sums[row][1] * f64::from(value));
            tree.gains.iter().for_each(|(column, gain)| trace.gains[*column] += gain);
            errors.subtract(&tree.nodes, binned);
            fitted.push(&tree.nodes, binned);
            trace.held_out_errors.extend(errors.mean_square());
            let seen = &trace.held_out_errors;
            if seen.last().zip(seen.get(best)).is_some_and(|(last, least)| last < least) {
                best = round;
            }
            if !seen.is_empty() && config.patience.is_some_and(|patience| round - best >= patience) {
                break;
            }
        }
        (fitted, trace)
    }

    /// A model that predicts `base` everywhere.
    pub(crate) fn constant(columns: usize, base: f64) -> Self {
        let (left, column, missing_left, value) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { columns, base, starts: Vec::new(), left, column, missing_left, value }
    }

    fn push(&mut self, nodes: &[Node], binned: &BinnedRows) {
        self.starts.push(self.left.len() as u32);
        for node in nodes {
            let threshold = || binned.threshold(node.column as usize, node.bin.into());
            self.left.push(node.left);
            self.column.push(node.column);
            self.missing_left.push(node.missing_left);
            self.value.push(if node.left == 0 { node.value } else { threshold() });
        }
    }

    /// Keeps the first `trees` trees.
    pub(crate) fn truncate(&mut self, trees: usize) {
        let Some(&end) = self.starts.get(trees) else { return };
        let end = end as usize;
        self.starts.truncate(trees);
        self.left.truncate(end);
        self.column.truncate(end);
        self.missing_left.truncate(end);
        self.value.truncate(end);
    }

    /// The number of trees.
    #[cfg(test)]
    pub(crate) fn trees(&self) -> usize {
        self.starts.len()
    }

    /// The prediction for one row.
    pub(crate) fn predict(&self, row: &[f32]) -> f64 {
        let mut out = [0.0];
        self.predict_into(row, &mut out);
        out[0]
    }

    /// The predictions for all of `rows`.
    ///
    /// # Shapes
    /// `rows` `[out.len(), columns]`
    pub(crate) fn predict_into(&self, rows: &[f32], out: &mut [f64]) {
        out.fill(self.base);
        for (i, out) in out.chunks_mut(BATCH).enumerate() {
            let rows = &rows[i * BATCH * self.columns..][..out.len() * self.columns];
            for &start in &self.starts {
                for (j, out) in out.iter_mut().enumerate() {
                    *out += self.leaf(start as usize, &rows[j * self.columns..][..self.columns]);
                }
            }
        }
    }

    /// The value of the leaf of `row` in the tree that starts at `start`.
    fn leaf(&self, start: usize, row: &[f32]) -> f64 {
        let mut node = start;
        while self.left[node] != 0 {
            let value = row[self.column[node] as usize];
            let goes_left = if value.is_nan() { self.missing_left[node] } else { value <= self.value[node] };
            node = start + self.left[node] as usize + usize::from(!goes_left);
        }
        self.value[node].into()
    }

    /// The prediction without trees.
    pub(crate) fn base(&self) -> f64 {
        self.base
    }

    /// The nodes of all trees; those of a model without trees are one leaf.
    pub(crate) fn nodes(&self) -> Vec<TreeNode> {
        let ends = self.starts.iter().skip(1).map(|&end| end as usize).chain([self.left.len()]);
        let trees = self.starts.iter().map(|&start| start as usize).zip(ends).enumerate();
        let of_tree = |(tree, (start, end)): (usize, (usize, usize))| {
            (start..end).map(move |node| TreeNode {
                tree: tree as i64,
                node: (node - start) as i64,
                left: i64::from(self.left[node]),
                column: i64::from(self.column[node]),
                missing_left: self.missing_left[node],
                value: self.value[node],
            })
        };
        let none = TreeNode { tree: 0, node: 0, left: 0, column: 0, missing_left: false, value: 0.0 };
        let nodes: Vec<TreeNode> = trees.flat_map(of_tree).collect();
        if nodes.is_empty() { vec![none] } else { nodes }
    }

    /// All of it as numbers: the base in two parts, the first nodes of trees, and left child, column and side of missing values,
    /// and value of every node.
    pub(crate) fn to_array(&self) -> Vec<f32> {
        let base = self.base as f32;
        let rest = (self.base - f64::from(base)) as f32;
        let mut array = vec![base, rest, self.starts.len() as f32];
        array.extend(self.starts.iter().map(|&start| start as f32));
        for node in 0..self.left.len() {
            let column = 2 * self.column[node] + u32::from(self.missing_left[node]);
            array.extend([self.left[node] as f32, column as f32, self.value[node]]);
        }
        array
    }

    /// The model that [`to_array`](Self::to_array) gave for rows of `columns` columns; none if it is damaged.
    pub(crate) fn from_array(columns: usize, array: &[f32]) -> Option<Self> {
        let whole = |value: f32| (value >= 0.0 && value.fract() == 0.0).then_some(value as u32);
        let [base, rest, trees, numbers @ ..] = array else { return None };
        let (starts, nodes) = numbers.split_at_checked(whole(*trees)? as usize)?;
        let mut model = Self::constant(columns, f64::from(*base) + f64::from(*rest));
        model.starts = starts.iter().map(|&start| whole(start)).collect::<Option<_>>()?;
        let nodes = nodes.chunks_exact(3);
        if !nodes.remainder().is_empty() {
            return None;
        }
        for node in nodes {
            let column = whole(node[1])?;
            model.left.push(whole(node[0])?);
            model.column.push(column / 2);
            model.missing_left.push(column % 2 == 1);
            model.value.push(node[2]);
        }
        model.is_sound(columns).then_some(model)
    }

    /// Whether predictions for rows of `columns` columns end and are finite, whatever file this came from.
    pub(crate) fn is_sound(&self, columns: usize) -> bool {
        let nodes = self.left.len();
        let lengths = [self.column.len(), self.missing_left.len(), self.value.len()];
        let ends = self.starts.iter().skip(1).map(|&end| end as usize).chain([nodes]);
        let mut trees = self.starts.iter().map(|&start| start as usize).zip(ends);
        self.columns == columns
            && self.base.is_finite()
            && lengths == [nodes; 3]
            && self.starts.first().copied().unwrap_or(nodes as u32) == 0
            && trees.all(|(start, end)| start < end && end <= nodes && self.is_sound_tree(start, end))
    }

    fn is_sound_tree(&self, start: usize, end: usize) -> bool {
        (start..end).all(|node| {
            let left = self.left[node] as usize;
            let is_split =
                left > node - start && left + 1 < end - start && (self.column[node] as usize) < self.columns;
            self.value[node].is_finite() && (left == 0 || is_split)
        })
    }
}

/// A node of a tree, for export.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TreeNode {
    pub tree: i64,
    pub node: i64,
    /// The left child, which the right one follows; 0 of a leaf.
    pub left: i64,
    pub column: i64,
    pub missing_left: bool,
    /// The threshold of a split, the value of a leaf.
    pub value: f32,
}

impl TreeNode {
    pub(crate) fn is_leaf(&self) -> bool {
        self.left == 0
    }
}

/// The residuals of held-out rows.
struct HeldOut<'a> {
    rows: &'a [usize],
    residuals: Vec<f64>,
    weights: Vec<f64>,
}

impl<'a> HeldOut<'a> {
    fn new(task: &BoostTask<'a>, base: f64) -> Self {
        let rows = task.held_out;
        let weight = |&row: &usize| task.weights.map_or(1.0, |weights| weights[row]);
        let residuals = rows.iter().map(|&row| task.target[row] - base).collect();
        Self { rows, residuals, weights: rows.iter().map(weight).collect() }
    }

    fn subtract(&mut self, nodes: &[Node], binned: &BinnedRows) {
        for (residual, &row) in self.residuals.iter_mut().zip(self.rows) {
            *residual -= f64::from(leaf_value(nodes, binned, row));
        }
    }

    /// The weighted mean of their squares; none without rows or weights.
    fn mean_square(&self) -> Option<f64> {
        let total: f64 = self.weights.iter().sum();
        let squares: f64 = self.residuals.iter().zip(&self.weights).map(|(r, w)| w * r * r).sum();
        (total > 0.0).then(|| squares / total)
    }
}
