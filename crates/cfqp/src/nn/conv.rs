//! Convolution and its transpose on grids, channels last.
//!
//! A window of k positions slides over a large grid L and stops at the places of a small grid S. Both
//! directions share the table P of the positions that the window covers at every place:
//!
//! - convolution, L to S: `y[s] = concat_k(x[P[s, k]]) W`, a gather and one matrix product for the whole batch;
//! - transposed convolution, S to L: `y[P[s, k]] += (x[s] W)_k`, one matrix product and a scatter.
//!
//! The transposed convolution is told its grid, so there is no output padding to choose: what the window never
//! covers stays zero.

use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData};

use super::Window;

/// # Shapes
/// x `[n, positions, inputs]`, weight `[cover * inputs, outputs]`, to `[n, places, outputs]`
pub(crate) fn convolve(x: Tensor<3>, weight: Tensor<2>, window: &Window) -> Tensor<3> {
    let ([n, _, inputs], [_, outputs]) = (x.dims(), weight.dims());
    let table = table(window, &x.device());
    let columns = x.select(1, table).reshape([n * window.places(), window.cover() * inputs]);
    columns.matmul(weight).reshape([n, window.places(), outputs])
}

/// # Shapes
/// x `[n, places, inputs]`, weight `[inputs, cover * outputs]`, to `[n, positions, outputs]`
pub(crate) fn convolve_transposed(x: Tensor<3>, weight: Tensor<2>, window: &Window) -> Tensor<3> {
    let ([n, _, inputs], [_, columns]) = (x.dims(), weight.dims());
    let (device, outputs) = (x.device(), columns / window.cover());
    let columns = x.reshape([n * window.places(), inputs]).matmul(weight);
    let columns = columns.reshape([n, window.places() * window.cover(), outputs]);
    Tensor::zeros([n, window.positions(), outputs], &device).select_assign(
        1,
        table(window, &device),
        columns,
        IndexingUpdateOp::Add,
    )
}

/// The positions that the window covers at every place, on a device.
fn table(window: &Window, device: &Device) -> Tensor<1, Int> {
    let table = window.table();
    let shape = [table.len()];
    Tensor::from_data(TensorData::new(table, shape), device)
}
