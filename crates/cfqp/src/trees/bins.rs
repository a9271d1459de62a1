//! The columns of a table in quantile bins.

/// The largest number of bins of a column, beside that of missing values: a code is one byte.
const MAX_BINS: usize = 255;
/// Edges are quantiles of at most this many evenly spaced rows.
const MAX_SAMPLE: usize = 200_000;

/// A table whose columns are cut into bins. Columns of at most 255 distinct values have one bin per value, others quantiles.
#[derive(Clone, Debug)]
pub(crate) struct BinnedRows {
    /// The upper ends of all bins but the last, by column. A value belongs to the first bin whose end is not below it.
    edges: Vec<Vec<f32>>,
    /// Where the bins of each column start in a histogram; one more entry than columns.
    offsets: Vec<usize>,
    /// One code per row and column: the bin, or the number of bins where the value is missing.
    codes: Vec<u8>,
    rows: usize,
}

impl BinnedRows {
    /// Bins the columns of `values`; NaN is missing, infinities are the largest numbers.
    ///
    /// # Shapes
    /// `values` `[rows, columns]`
    pub(crate) fn new(values: &[f32], columns: usize) -> Self {
        let rows = values.len().checked_div(columns).unwrap_or(0);
        let step = rows.div_ceil(MAX_SAMPLE).max(1);
        let sample = |c: usize| values.iter().skip(c).step_by(step * columns).copied();
        let edges: Vec<Vec<f32>> = (0..columns).map(|c| column_edges(sample(c))).collect();
        let mut codes = vec![0; rows * columns];
        for (codes, values) in codes.chunks_exact_mut(columns.max(1)).zip(values.chunks_exact(columns.max(1)))
        {
            for ((code, value), edges) in codes.iter_mut().zip(values).zip(&edges) {
                let bin = if value.is_nan() { edges.len() + 1 } else { bin_of(edges, *value) };
                *code = bin as u8;
            }
        }
        let sizes = edges.iter().map(|edges| edges.len() + 2);
        let ends = sizes.scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        let offsets = std::iter::once(0).chain(ends).collect();
        Self { edges, offsets, codes, rows }
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.edges.len()
    }

    /// The codes of a row.
    pub(super) fn row(&self, row: usize) -> &[u8] {
        &self.codes[row * self.columns()..][..self.columns()]
    }

    /// The code of one value.
    pub(super) fn code(&self, row: usize, column: usize) -> u8 {
        self.codes[row * self.columns() + column]
    }

    /// The number of bins of a column, which is also the code of missing values.
    pub(super) fn bins(&self, column: usize) -> usize {
        self.edges[column].len() + 1
    }

    /// Where the bins of a column are in a histogram, that of missing values last.
    pub(super) fn range(&self, column: usize) -> std::ops::Range<usize> {
        self.offsets[column]..self.offsets[column + 1]
    }

    /// The size of a histogram over all columns.
    pub(super) fn histogram_len(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// The largest value that belongs to `bin` or one before it.
    pub(super) fn threshold(&self, column: usize, bin: usize) -> f32 {
        self.edges[column].get(bin).copied().unwrap_or(f32::MAX)
    }
}

fn bin_of(edges: &[f32], value: f32) -> usize {
    edges.partition_point(|edge| *edge < value)
}

/// The ends of all bins but the last.
fn column_edges(values: impl Iterator<Item = f32>) -> Vec<f32> {
    let finite = |value: f32| value.clamp(f32::MIN, f32::MAX);
    let mut sorted: Vec<f32> = values.filter(|value| !value.is_nan()).map(finite).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    let mut distinct = sorted.clone();
    // 0 and -0 are one value
    distinct.dedup_by(|a, b| a == b);
    if distinct.len() <= MAX_BINS {
        return distinct.windows(2).map(|pair| middle(pair[0], pair[1])).collect();
    }
    let mut edges: Vec<f32> = (1..MAX_BINS)
        .filter_map(|bin| {
            let below = sorted[bin * sorted.len() / MAX_BINS - 1];
            let next = distinct.partition_point(|value| *value <= below);
            distinct.get(next).map(|above| middle(below, *above))
        })
        .collect();
    edges.dedup();
    edges
}

/// A number between two others that is not the upper one.
fn middle(below: f32, above: f32) -> f32 {
    let middle = f32::midpoint(below, above);
    if middle < above { middle } else { below }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_have_a_bin_each() {
        let values = [1.0, 0.0, f32::NAN, -0.0, 3.0, f32::INFINITY];
        let binned = BinnedRows::new(&values, 1);
        assert_eq!((binned.len(), binned.columns(), binned.bins(0)), (6, 1, 4));
        let codes: Vec<u8> = (0..6).map(|row| binned.code(row, 0)).collect();
        assert_eq!(codes, [1, 0, 4, 0, 2, 3]);
        assert_eq!((binned.threshold(0, 0), binned.threshold(0, 1)), (0.5, 2.0));
    }

    #[test]
    fn many_values_are_cut_at_quantiles() {
        let values: Vec<f32> = (0..10_000).map(|i| ((i * 7919) % 10_000) as f32).collect();
        let binned = BinnedRows::new(&values, 1);
        assert_eq!(binned.bins(0), MAX_BINS);
        let mut counts = vec![0; MAX_BINS];
        (0..10_000).for_each(|row| counts[usize::from(binned.code(row, 0))] += 1);
        assert!(counts.iter().all(|count| (38..=41).contains(count)), "{counts:?}");
    }

    #[test]
    fn neighbouring_numbers_are_kept_apart() {
        let above = f32::from_bits(1.0_f32.to_bits() + 1);
        let binned = BinnedRows::new(&[1.0, above], 1);
        assert_eq!((binned.code(0, 0), binned.code(1, 0)), (0, 1));
    }
}
