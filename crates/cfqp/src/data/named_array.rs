//! Arrays with a name, such as the parameters of a network.

/// An array of any shape with a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedArray {
    /// The name, such as `layers.0.weight`.
    pub name: String,
    /// The shape.
    pub shape: Vec<usize>,
    /// The values in C order.
    pub values: Vec<f32>,
}
