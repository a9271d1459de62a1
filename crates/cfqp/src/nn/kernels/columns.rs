//! Columns of a grid: the positions that a window covers at every place (im2col), and the transpose (col2im).

use crate::nn::Window;

/// columns[place, k] = grid[P[place, k]]
///
/// # Shapes
/// grid `[n, positions, channels]`, columns `[n, places, cover * channels]`
pub(super) fn gather(window: &Window, channels: usize, grid: &[f32], columns: &mut [f32]) {
    let run = window.kernel[1] * channels;
    for_each_run(window, channels, grid.len(), |from, to| {
        columns[to..to + run].copy_from_slice(&grid[from..from + run]);
    });
}

vectorised! {
    /// grid[P[place, k]] += columns[place, k], from zero
    ///
    /// # Shapes
    /// columns `[n, places, cover * channels]`, grid `[n, positions, channels]`
    pub(super) fn scatter(window: &Window, channels: usize, columns: &[f32], grid: &mut [f32]) {
        let run = window.kernel[1] * channels;
        grid.fill(0.0);
        for_each_run(window, channels, grid.len(), |to, from| {
            for (to, from) in grid[to..to + run].iter_mut().zip(&columns[from..from + run]) {
                *to += from;
            }
        });
    }
}

/// Calls `visit(offset in the grid, offset in the columns)` for each row of the window at each place of each unit: runs
/// of neighbouring positions with all their channels.
#[inline(always)]
fn for_each_run(window: &Window, channels: usize, grid_len: usize, mut visit: impl FnMut(usize, usize)) {
    let ([_, width], [small_height, small_width]) = (window.large, window.small);
    let run = window.kernel[1] * channels;
    let unit = window.positions() * channels;
    let mut at = 0;
    for start in (0..grid_len).step_by(unit) {
        for y in 0..small_height {
            for x in 0..small_width {
                let left = x * window.stride[1];
                for row in 0..window.kernel[0] {
                    let top = y * window.stride[0] + row;
                    visit(start + (top * width + left) * channels, at);
                    at += run;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_follow_the_table_of_the_window_and_are_summed_back() {
        for window in [Window::new([1, 8], [1, 3], [1, 2]), Window::new([5, 6], [3, 3], [2, 2])] {
            let (channels, n) = (2, 3);
            let grid: Vec<f32> = (0..n * window.positions() * channels).map(|i| i as f32).collect();
            let mut columns = vec![0.0; n * window.places() * window.cover() * channels];
            gather(&window, channels, &grid, &mut columns);
            let (mut expected, mut sums) = (vec![], vec![0.0; grid.len()]);
            for unit in 0..n {
                for position in window.table() {
                    for channel in 0..channels {
                        let i = (unit * window.positions() + position as usize) * channels + channel;
                        expected.push(grid[i]);
                        sums[i] += grid[i];
                    }
                }
            }
            assert_eq!(columns, expected);
            let mut back = vec![f32::NAN; grid.len()];
            scatter(&window, channels, &columns, &mut back);
            assert_eq!(back, sums);
        }
    }
}
