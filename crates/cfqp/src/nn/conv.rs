//! Convolution and transposed convolution on grids, channels last, composed of Burn's operations.
//!
//! A window slides over a large grid L; its places form a small grid S. Both directions use the table P of the positions
//! that the window covers at every place:
//!
//! - convolution, L to S: `y[s] = concat_k(x[P[s, k]]) W`, a gather and one matrix product for the whole batch;
//! - transposed convolution, S to L: `y[P[s, k]] += (x[s] W)_k`, one matrix product and a scatter.
//!
//! The window determines the output grid of the transposed convolution, so there is no output padding to choose:
//! positions that the window never covers are zero.

use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData};

use super::Window;

/// Convolution of x over the window.
///
/// # Shapes
/// x `[n, positions, inputs]`, weight `[cover * inputs, outputs]`, to `[n, places, outputs]`
pub(crate) fn convolve(x: Tensor<3>, weight: Tensor<2>, window: &Window) -> Tensor<3> {
    let ([n, _, inputs], [_, outputs]) = (x.dims(), weight.dims());
    let table = table(window, &x.device());
    let columns = x.select(1, table).reshape([n * window.places(), window.cover() * inputs]);
    columns.matmul(weight).reshape([n, window.places(), outputs])
}

/// Transposed convolution of x over the window.
///
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

/// The table P on a device.
fn table(window: &Window, device: &Device) -> Tensor<1, Int> {
    let table = window.table();
    let shape = [table.len()];
    Tensor::from_data(TensorData::new(table, shape), device)
}
