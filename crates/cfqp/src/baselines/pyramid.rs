//! A series or an image as its means over ever larger blocks, and what each mean leaves out.
//!
//! A block of k values v becomes H v with the reflection H = I - 2 a a' / |a|^2, a = e_1 - 1/sqrt(k). H is symmetric
//! and orthogonal: (H v)_1 = sum v / sqrt(k) is the block's mean, scaled; the other k - 1 values are its details. The
//! means form a coarser grid on which the same is done again, until one value per channel is left. All of it is a
//! rotation of the outcome: its determinant is 1 in size, and applied twice H is nothing.

/// One step from a finer grid to a coarser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Height and width of the finer grid.
    pub fine: [usize; 2],
    /// Height and width of a block.
    pub block: [usize; 2],
}

impl Step {
    /// Height and width of the coarser grid.
    pub fn coarse(&self) -> [usize; 2] {
        [self.fine[0] / self.block[0], self.fine[1] / self.block[1]]
    }

    /// Values per block.
    pub fn size(&self) -> usize {
        self.block[0] * self.block[1]
    }

    /// Where value `j` of the block at `place` of the coarser grid stands on the finer one.
    fn position(&self, place: usize, j: usize) -> usize {
        let width = self.coarse()[1];
        let (row, column) = (place / width * self.block[0], place % width * self.block[1]);
        (row + j / self.block[1]) * self.fine[1] + column + j % self.block[1]
    }
}

/// The steps from a grid to one value per channel, and how many channels there are. Outcomes that have no grid have
/// no steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pyramid {
    pub channels: usize,
    pub steps: Vec<Step>,
    elements: usize,
}

/// An outcome taken apart.
pub(super) struct Parts {
    /// Per step, from the finest, the coarser grid `[channels, places]` ...
    pub coarse: Vec<Vec<f32>>,
    /// ... and the details `[block size - 1, channels, places]`.
    pub details: Vec<Vec<f32>>,
    /// What is left at the top.
    pub top: Vec<f32>,
}

impl Pyramid {
    /// For outcomes of `shape`.
    pub fn new(shape: &[usize]) -> Self {
        let elements = shape.iter().product();
        let (channels, mut grid) = match *shape {
            [channels, steps] => (channels, [1, steps]),
            [channels, height, width] => (channels, [height, width]),
            _ => (elements, [1, 1]),
        };
        let mut steps = Vec::new();
        while grid != [1, 1] {
            let step = Step { fine: grid, block: grid.map(smallest_factor) };
            grid = step.coarse();
            steps.push(step);
        }
        Self { channels, steps, elements }
    }

    /// Take the outcome of one unit apart.
    pub fn split(&self, y: &[f32]) -> Parts {
        assert_eq!(y.len(), self.elements, "an outcome has the pyramid's shape");
        let mut parts = Parts { coarse: Vec::new(), details: Vec::new(), top: y.to_vec() };
        for step in &self.steps {
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

    /// The finer grid of step `level` from its coarser one and the details.
    pub fn join(&self, level: usize, coarse: &[f32], details: &[f32]) -> Vec<f32> {
        let step = &self.steps[level];
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

    /// Values `[channels, fine grid of the first step]` as `[channels * positions per place, coarse grid of step
    /// level]`: neighbours become channels.
    pub fn fold(&self, values: &[f32], level: usize) -> Vec<f32> {
        let (fine, coarse) = (self.steps[0].fine, self.steps[level].coarse());
        let block = [fine[0] / coarse[0], fine[1] / coarse[1]];
        let whole = Step { fine, block };
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
    fn an_outcome_is_rotated_and_comes_back() {
        for shape in [vec![5], vec![2, 20], vec![3, 4, 6], vec![1, 7, 7]] {
            let pyramid = Pyramid::new(&shape);
            let n: usize = shape.iter().product();
            let y: Vec<f32> = (0..n).map(|i| (i as f32 * 1.7).sin() + 0.3).collect();
            let parts = pyramid.split(&y);
            let square = |v: &[f32]| v.iter().map(|v| v * v).sum::<f32>();
            let parts_square = parts.details.iter().map(|d| square(d)).sum::<f32>() + square(&parts.top);
            assert!((square(&y) - parts_square).abs() < 1e-4, "{shape:?}");
            let mut back = parts.top.clone();
            for level in (0..pyramid.steps.len()).rev() {
                assert_eq!(parts.coarse[level].len(), back.len());
                back = pyramid.join(level, &back, &parts.details[level]);
            }
            assert!(y.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-5), "{shape:?}");
        }
    }

    #[test]
    fn the_top_is_the_mean_and_folding_moves_neighbours_into_channels() {
        let pyramid = Pyramid::new(&[1, 2, 2]);
        assert!((pyramid.split(&[1.0, 2.0, 3.0, 6.0]).top[0] - 6.0).abs() < 1e-6);
        let pyramid = Pyramid::new(&[1, 2, 4]);
        let values: Vec<f32> = (0..8).map(|i| i as f32).collect();
        assert_eq!(pyramid.fold(&values, 0), [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]);
    }
}
