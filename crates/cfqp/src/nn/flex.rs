//! Tensors of the CPU backend as slices, for operations written by hand.

use burn::tensor::{Bytes, DType, Shape};
use burn_flex::{FlexTensor, Layout};

/// The values of a contiguous tensor.
pub(crate) fn floats(x: &FlexTensor) -> &[f32] {
    x.as_slice().expect("operations are handed contiguous f32")
}

/// A tensor of `values`, in C order.
pub(crate) fn from_floats(values: Vec<f32>, shape: &[usize]) -> FlexTensor {
    let layout = Layout::contiguous(Shape::from(shape.to_vec()));
    FlexTensor::new(Bytes::from_elems(values), layout, DType::F32)
}

/// Rows that one task works on: fixed, so that sums over rows have the same bits for any number of threads.
pub(crate) const PART: usize = 256;

/// The sum of the parts' columns, in order.
pub(crate) fn add_columns(parts: Vec<Vec<f32>>, width: usize) -> Vec<f32> {
    parts.into_iter().fold(vec![0.0; width], |mut total, part| {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
        total
    })
}
