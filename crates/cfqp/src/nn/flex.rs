//! Tensors of the CPU backend as slices, for custom operations.

use burn::tensor::{Bytes, DType, Shape};
use burn_flex::{FlexTensor, Layout};

/// The values of a contiguous tensor.
///
/// # Panics
/// If the tensor is not contiguous or not of f32.
pub(crate) fn floats(x: &FlexTensor) -> &[f32] {
    x.as_slice().expect("operations are handed contiguous f32")
}

/// x in a buffer of exactly its values, in C order, to be changed in place; copies only where x is a view.
pub(crate) fn into_exact_buffer(x: FlexTensor) -> FlexTensor {
    let exact = x.layout().start_offset() == 0 && x.storage::<f32>().len() == x.layout().num_elements();
    if exact && x.is_contiguous() {
        return x;
    }
    let shape = x.layout().shape().to_vec();
    from_floats(floats(&x.to_contiguous()).to_vec(), &shape)
}

/// A tensor of `values`, in C order.
pub(crate) fn from_floats(values: Vec<f32>, shape: &[usize]) -> FlexTensor {
    let layout = Layout::contiguous(Shape::from(shape.to_vec()));
    FlexTensor::new(Bytes::from_elems(values), layout, DType::F32)
}

/// Rows per task: fixed, so that sums over rows have the same bits on any number of threads.
pub(crate) const ROWS_PER_TASK: usize = 256;

/// The sum of the parts, element by element, in their order.
pub(crate) fn add_columns(parts: Vec<Vec<f32>>, width: usize) -> Vec<f32> {
    parts.into_iter().fold(vec![0.0; width], |mut total, part| {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
        total
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_copied_before_it_is_changed() {
        let x = from_floats((0..6).map(|i| i as f32).collect(), &[3, 2]);
        let mut view = into_exact_buffer(x.narrow(0, 1, 1));
        assert_eq!(view.storage_mut::<f32>(), [2.0, 3.0]);
        view.storage_mut::<f32>().fill(9.0);
        assert_eq!(floats(&x), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(floats(&into_exact_buffer(x.transpose(0, 1))), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    }
}
