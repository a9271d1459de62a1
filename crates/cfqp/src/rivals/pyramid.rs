//! A multi-resolution decomposition of a series or an image: block means on ever coarser grids, and the details that
//! each level leaves out.
//!
//! A block of k values v becomes H v with the Householder reflection H = I - 2 a a' / |a|^2, a = e_1 - 1/sqrt(k). H is
//! symmetric and orthogonal: (H v)_1 = sum v / sqrt(k) is the scaled block mean, and the other k - 1 values are the
//! details. The means form a coarser grid, which is decomposed in the same way until one value per channel is left. The
//! whole decomposition is orthogonal: its determinant is 1 in absolute value, and H is its own inverse.

/// One level: from a finer grid to a coarser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// Height and width of the finer grid.
    pub fine: [usize; 2],
    /// Height and width of a block.
    pub block: [usize; 2],
}

impl Level {
    /// Height and width of the coarser grid.
    pub(super) fn coarse(&self) -> [usize; 2] {
        [self.fine[0] / self.block[0], self.fine[1] / self.block[1]]
    }

    /// Values per block.
    pub(super) fn size(&self) -> usize {
        self.block[0] * self.block[1]
    }

    /// The position on the finer grid of value `j` of the block at `place` of the coarser grid.
    fn position(&self, place: usize, j: usize) -> usize {
        let width = self.coarse()[1];
        let (row, column) = (place / width * self.block[0], place % width * self.block[1]);
        (row + j / self.block[1]) * self.fine[1] + column + j % self.block[1]
    }
}

/// The levels from a grid to one value per channel. Outcomes without a grid have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pyramid {
    pub channels: usize,
    pub levels: Vec<Level>,
    elements: usize,
}

/// A decomposed outcome.
pub(super) struct Decomposition {
    /// The coarser grid of every level, from the finest, `[channels, places]`.
    pub coarse: Vec<Vec<f32>>,
    /// The details of every level, `[block size - 1, channels, places]`.
    pub details: Vec<Vec<f32>>,
    /// The last grid, `[channels]`.
    pub top: Vec<f32>,
}

impl Pyramid {
    /// The pyramid of outcomes of `shape`.
    pub(super) fn new(shape: &[usize]) -> Self {
        let elements = shape.iter().product();
        let (channels, mut grid) = match *shape {
            [channels, steps] => (channels, [1, steps]),
            [channels, height, width] => (channels, [height, width]),
            _ => (elements, [1, 1]),
        };
        let mut levels = Vec::new();
        while grid != [1, 1] {
            let level = Level { fine: grid, block: grid.map(smallest_factor) };
            grid = level.coarse();
            levels.push(level);
        }
        Self { channels, levels, elements }
    }

    /// Decomposes the outcome of one unit.
    ///
    /// # Panics
    /// If `y` is not of the pyramid's shape.
    pub(super) fn decompose(&self, y: &[f32]) -> Decomposition {
        assert_eq!(y.len(), self.elements, "an outcome has the pyramid's shape");
        let mut parts = Decomposition { coarse: Vec::new(), details: Vec::new(), top: y.to_vec() };
        for step in &self.levels {
            let [places, positions] = [step.coarse(), step.fine].map(|[height, width]| height * width);
            let mut coarse = vec![0.0; self.channels * places];
            let mut details = vec![0.0; (step.size() - 1) * coarse.len()];
            for (i, mean) in coarse.iter_mut().enumerate() {
                let (channel, place) = (i / places, i % places);
                let at = |j: usize| channel * positions + step.position(place, j);
                let mut block: Vec<f32> = (0..step.size()).map(|j| parts.top[at(j)]).collect();
                reflect(&mut block);
                *mean = block[0];
                let stride = self.channels * places;
                block[1..].iter().enumerate().for_each(|(j, detail)| details[j * stride + i] = *detail);
            }
            parts.coarse.push(coarse.clone());
            parts.details.push(details);
            parts.top = coarse;
        }
        parts
    }

    /// The finer grid of `level` from its coarser grid and details.
    pub(super) fn compose(&self, level: usize, coarse: &[f32], details: &[f32]) -> Vec<f32> {
        let step = &self.levels[level];
        let [places, positions] = [step.coarse(), step.fine].map(|[height, width]| height * width);
        let stride = self.channels * places;
        let mut fine = vec![0.0; self.channels * positions];
        for (i, mean) in coarse.iter().enumerate() {
            let (channel, place) = (i / places, i % places);
            let mut block = vec![*mean];
            block.extend((0..step.size() - 1).map(|j| details[j * stride + i]));
            reflect(&mut block);
            for (j, value) in block.into_iter().enumerate() {
                fine[channel * positions + step.position(place, j)] = value;
            }
        }
        fine
    }

    /// Moves neighbours into channels.
    ///
    /// # Shapes
    /// `[channels, finest grid]` to `[channels * positions per place, coarse grid of the level]`
    pub(super) fn fold(&self, values: &[f32], level: usize) -> Vec<f32> {
        let (fine, coarse) = (self.levels[0].fine, self.levels[level].coarse());
        let block = [fine[0] / coarse[0], fine[1] / coarse[1]];
        let whole = Level { fine, block };
        let (places, positions) = (coarse[0] * coarse[1], fine[0] * fine[1]);
        let mut out = Vec::with_capacity(values.len());
        for channel in values.chunks_exact(positions) {
            for j in 0..whole.size() {
                out.extend((0..places).map(|place| channel[whole.position(place, j)]));
            }
        }
        out
    }
}

/// v = H v
fn reflect(v: &mut [f32]) {
    let k = v.len();
    if k == 1 {
        return;
    }
    let root = 1.0 / (k as f32).sqrt();
    let rest: f32 = v[1..].iter().sum();
    // <a, v> and |a|^2 for a = e_1 - root
    let along = v[0] * (1.0 - root) - root * rest;
    let scale = 2.0 * along / (2.0 - 2.0 * root);
    v[0] -= scale * (1.0 - root);
    v[1..].iter_mut().for_each(|value| *value += scale * root);
}

fn smallest_factor(n: usize) -> usize {
    (2..=n).find(|factor| n.is_multiple_of(*factor)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decomposition_keeps_the_norm_and_is_inverted_by_composition() {
        for shape in [vec![5], vec![2, 20], vec![3, 4, 6], vec![1, 7, 7]] {
            let pyramid = Pyramid::new(&shape);
            let n: usize = shape.iter().product();
            let y: Vec<f32> = (0..n).map(|i| (i as f32 * 1.7).sin() + 0.3).collect();
            let parts = pyramid.decompose(&y);
            let square = |v: &[f32]| v.iter().map(|v| v * v).sum::<f32>();
            let parts_square = parts.details.iter().map(|d| square(d)).sum::<f32>() + square(&parts.top);
            assert!((square(&y) - parts_square).abs() < 1e-4, "{shape:?}");
            let mut back = parts.top.clone();
            for level in (0..pyramid.levels.len()).rev() {
                assert_eq!(parts.coarse[level].len(), back.len());
                back = pyramid.compose(level, &back, &parts.details[level]);
            }
            assert!(y.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-5), "{shape:?}");
        }
    }

    #[test]
    fn the_top_is_the_scaled_mean_and_folding_moves_neighbours_into_channels() {
        let pyramid = Pyramid::new(&[1, 2, 2]);
        assert!((pyramid.decompose(&[1.0, 2.0, 3.0, 6.0]).top[0] - 6.0).abs() < 1e-6);
        let pyramid = Pyramid::new(&[1, 2, 4]);
        let values: Vec<f32> = (0..8).map(|i| i as f32).collect();
        assert_eq!(pyramid.fold(&values, 0), [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]);
    }
}
