//! The settings of boosted trees.

/// Below this many rows, steps are smaller and leaves may be too.
const SMALL_ROWS: usize = 500;
/// Of more columns than this, every tree sees a part.
const WIDE_COLUMNS: usize = 300;

/// The settings of boosted trees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BoostConfig {
    /// The largest number of leaves of a tree.
    pub leaves: usize,
    /// The largest number of trees.
    pub rounds: usize,
    /// The factor of every tree.
    pub learning_rate: f64,
    /// The smallest weight of a leaf; in rows, where rows have no weights.
    pub min_rows: f64,
    /// The penalty on the squares of leaf values, in rows.
    pub l2: f64,
    /// The share of the columns that a tree may use, a random one for every tree.
    pub column_share: f64,
    /// Fitting ends after so many trees without a smaller error on held-out rows. Without it, or without such rows, all rounds
    /// are fitted.
    pub patience: Option<usize>,
}

impl BoostConfig {
    /// Settings for a table of this size that work without tuning.
    pub(crate) fn for_table(rows: usize, columns: usize) -> Self {
        let small = rows < SMALL_ROWS;
        let share = (WIDE_COLUMNS as f64 / columns.max(1) as f64).clamp(0.5, 1.0);
        Self {
            leaves: 31,
            rounds: if small { 800 } else { 400 },
            learning_rate: if small { 0.05 } else { 0.1 },
            min_rows: if small { 12.0 } else { 20.0 },
            l2: 1.0,
            column_share: share,
            patience: Some(if small { 40 } else { 20 }),
        }
    }

    /// The same settings with another number of leaves.
    pub(crate) fn with_leaves(self, leaves: usize) -> Self {
        Self { leaves, ..self }
    }
}
