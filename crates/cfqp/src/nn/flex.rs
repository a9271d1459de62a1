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
