//! Tensors of the flex backend as slices, and back.

use burn::tensor::DType;
use burn_flex::FlexTensor;

pub(super) use crate::nn::flex::floats as slice;
use crate::nn::flex::from_floats;
use crate::nn::kernels::Buffer;

/// The shape of a tensor of rank D.
///
/// # Panics
/// If the tensor has another rank.
pub(super) fn dims<const D: usize>(tensor: &FlexTensor) -> [usize; D] {
    tensor.layout().shape().as_slice().try_into().expect("the rank that the wrapper gave it")
}

/// A tensor of `shape` with `values`.
pub(super) fn tensor(values: Buffer, shape: &[usize]) -> FlexTensor {
    from_floats(values.into_vec(), shape)
}

/// A tensor of `values` with the shape of `other`.
pub(super) fn like(values: Buffer, other: &FlexTensor) -> FlexTensor {
    tensor(values, other.layout().shape().as_slice())
}

/// Returns the memory of tensors that have no other owner to the pool of buffers.
pub(in crate::nn) fn recycle<const N: usize>(tensors: [FlexTensor; N]) {
    for tensor in tensors {
        let whole = tensor.bytes().len() == tensor.layout().num_elements() * size_of::<f32>();
        if whole && tensor.is_unique() && tensor.is_contiguous() && tensor.dtype() == DType::F32 {
            let (bytes, _, _) = tensor.into_data().into_parts();
            drop(bytes.try_into_vec().map(Buffer::from));
        }
    }
}
