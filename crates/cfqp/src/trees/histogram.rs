//! Sums of residuals and weights by bin, and the best split that they show.

use super::bins::BinnedRows;
use super::config::BoostConfig;

/// Columns are added in groups of this many, so that their bins stay in the nearest cache.
const GROUP: usize = 4;

/// The sums of weighted residuals and of weights.
pub(super) type Sums = [f64; 2];

/// Sums by bin, all columns one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    bins: Vec<Sums>,
}

/// A split of a leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Split {
    /// How much it lowers the sum of squares.
    pub gain: f64,
    pub column: usize,
    /// The last bin that goes left.
    pub bin: usize,
    /// Whether missing values go left.
    pub missing_left: bool,
    /// The sums of the left side.
    pub left: Sums,
}

pub(super) fn add(a: Sums, b: Sums) -> Sums {
    [a[0] + b[0], a[1] + b[1]]
}

pub(super) fn subtract(a: Sums, b: Sums) -> Sums {
    [a[0] - b[0], a[1] - b[1]]
}

impl Histogram {
    /// Sets the bins of `columns` to the sums over `rows`.
    pub(super) fn build(&mut self, binned: &BinnedRows, columns: &[usize], rows: &[u32], sums: &[Sums]) {
        self.bins.resize(binned.histogram_len(), [0.0; 2]);
        columns.iter().for_each(|&column| self.bins[binned.range(column)].fill([0.0; 2]));
        let (groups, rest) = columns.as_chunks::<GROUP>();
        groups.iter().for_each(|group| self.add_rows(binned, group, rows, sums));
        rest.iter().for_each(|column| self.add_rows(binned, std::array::from_ref(column), rows, sums));
    }

    fn add_rows<const N: usize>(
        &mut self,
        binned: &BinnedRows,
        columns: &[usize; N],
        rows: &[u32],
        sums: &[Sums],
    ) {
        let starts = columns.map(|column| binned.range(column).start);
        for &row in rows {
            let (codes, sums) = (binned.row(row as usize), sums[row as usize]);
            for (column, start) in columns.iter().zip(starts) {
                let bin = &mut self.bins[start + usize::from(codes[*column])];
                *bin = add(*bin, sums);
            }
        }
    }

    /// Subtracts the bins of `other`, a part of the rows.
    pub(super) fn subtract(&mut self, other: &Self, binned: &BinnedRows, columns: &[usize]) {
        for &column in columns {
            let range = binned.range(column);
            for (bin, other) in self.bins[range.clone()].iter_mut().zip(&other.bins[range]) {
                *bin = subtract(*bin, *other);
            }
        }
    }

    /// The split with the largest gain, if there is one above `min_gain`. `total` are the sums of the leaf.
    pub(super) fn best_split(
        &self,
        binned: &BinnedRows,
        columns: &[usize],
        total: Sums,
        config: &BoostConfig,
        min_gain: f64,
    ) -> Option<Split> {
        if total[1] < 2.0 * config.min_rows {
            return None;
        }
        let search = Search { total, config, before: score(total, config.l2) };
        let mut best: Option<Split> = None;
        for &column in columns {
            let bins = &self.bins[binned.range(column)];
            let (missing, bins) = bins.split_last().expect("a column has the bin of missing values");
            // sums of no rows are 0 up to rounding
            let has_missing = missing[1] > 1e-9 * total[1];
            let sides: &[bool] = if has_missing { &[true, false] } else { &[false] };
            for &missing_left in sides {
                let missing = if missing_left { *missing } else { [0.0; 2] };
                let least = best.map_or(min_gain, |best| best.gain);
                if let Some(found) = search.scan(bins, missing, has_missing && !missing_left, least) {
                    best = Some(Split { column, missing_left, ..found });
                }
            }
        }
        best.map(|split| {
            let left = &self.bins[binned.range(split.column)];
            let missing = left[left.len() - 1][1];
            // values that were never missing here go where most rows go
            let most_left = split.left[1] >= 0.5 * total[1];
            let missing_left = if missing > 1e-9 * total[1] { split.missing_left } else { most_left };
            Split { missing_left, ..split }
        })
    }
}

/// The search of one leaf.
struct Search<'a> {
    total: Sums,
    config: &'a BoostConfig,
    before: f64,
}

impl Search<'_> {
    /// The best split of one column with a gain above `least`. `left` are the sums that are left of the first bin; `to_end`:
    /// whether all bins may go left.
    fn scan(&self, bins: &[Sums], mut left: Sums, to_end: bool, least: f64) -> Option<Split> {
        let BoostConfig { min_rows, l2, .. } = *self.config;
        let (mut best, mut found) = (least + self.before, None);
        let end = if to_end { bins.len() } else { bins.len() - 1 };
        for (bin, sums) in bins[..end].iter().enumerate() {
            if sums[1] <= 0.0 {
                continue;
            }
            left = add(left, *sums);
            let right = subtract(self.total, left);
            if left[1] < min_rows {
                continue;
            }
            if right[1] < min_rows {
                break;
            }
            let after = score(left, l2) + score(right, l2);
            if after > best {
                best = after;
                found = Some((bin, left));
            }
        }
        found.map(|(bin, left)| Split { gain: best - self.before, column: 0, bin, missing_left: false, left })
    }
}

/// How much the best value of a leaf lowers its sum of squares.
fn score(sums: Sums, l2: f64) -> f64 {
    sums[0] * sums[0] / (sums[1] + l2).max(f64::MIN_POSITIVE)
}
