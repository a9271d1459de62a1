//! The messages of an ONNX file that are used here, with the field numbers of `onnx.proto`.

use prost::Message;

/// The version of the file format that goes with [`OPERATORS`].
pub(super) const IR_VERSION: i64 = 8;
/// The version of the set of operators.
pub(super) const OPERATORS: i64 = 17;
/// The set of operators of trees, and its version.
pub(super) const ML_DOMAIN: &str = "ai.onnx.ml";
pub(super) const ML_OPERATORS: i64 = 3;

/// The type of the elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementType {
    Float = 1,
    Int64 = 7,
    Double = 11,
}

/// The type of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttributeType {
    Float = 1,
    Int = 2,
    Floats = 6,
    Ints = 7,
    Strings = 8,
}

/// A file.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Model {
    #[prost(int64, tag = "1")]
    pub ir_version: i64,
    #[prost(string, tag = "2")]
    pub producer_name: String,
    #[prost(string, tag = "3")]
    pub producer_version: String,
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphMessage>,
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSet>,
}

/// The operators that a file uses; an empty domain is ONNX's own.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OperatorSet {
    #[prost(string, tag = "1")]
    pub domain: String,
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// A graph: nodes in the order of their execution, constants, inputs and outputs.
#[derive(Clone, PartialEq, Message)]
pub(super) struct GraphMessage {
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<Node>,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfo>,
}

/// One operation.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    #[prost(string, tag = "4")]
    pub op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<Attribute>,
    #[prost(string, tag = "7")]
    pub domain: String,
}

/// A setting of an operation.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
    #[prost(string, repeated, tag = "9")]
    pub strings: Vec<String>,
    #[prost(int32, tag = "20")]
    pub kind: i32,
}

impl Attribute {
    /// A number.
    pub(super) fn float(name: &str, value: f32) -> Self {
        Self { name: name.to_owned(), f: Some(value), kind: AttributeType::Float as i32, ..Self::default() }
    }

    /// An integer.
    pub(super) fn int(name: &str, value: i64) -> Self {
        Self { name: name.to_owned(), i: Some(value), kind: AttributeType::Int as i32, ..Self::default() }
    }

    /// A list of numbers.
    pub(super) fn floats(name: &str, floats: Vec<f32>) -> Self {
        Self { name: name.to_owned(), floats, kind: AttributeType::Floats as i32, ..Self::default() }
    }

    /// A list of words.
    pub(super) fn strings(name: &str, strings: Vec<String>) -> Self {
        Self { name: name.to_owned(), strings, kind: AttributeType::Strings as i32, ..Self::default() }
    }

    /// A list of integers.
    pub(super) fn ints(name: &str, values: &[i64]) -> Self {
        let (ints, kind) = (values.to_vec(), AttributeType::Ints as i32);
        Self { name: name.to_owned(), ints, kind, ..Self::default() }
    }
}

/// A constant. Its elements are little-endian.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    #[prost(string, tag = "8")]
    pub name: String,
    #[prost(bytes = "vec", tag = "9")]
    pub raw_data: Vec<u8>,
}

/// The name and type of an input or output.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueInfo {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub kind: Option<ValueType>,
}

/// The type of a value: always a tensor.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueType {
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorType>,
}

/// The type of a tensor.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorType {
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShape>,
}

/// The shape of a tensor.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorShape {
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<Dimension>,
}

/// One side: a number or a name.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Dimension {
    #[prost(int64, optional, tag = "1")]
    pub dim_value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub dim_param: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes were written by hand from the encoding of protocol buffers: field number times 8 plus wire type.
    #[test]
    fn messages_have_the_field_numbers_of_the_format() {
        let constant = Tensor {
            dims: vec![2],
            data_type: ElementType::Float as i32,
            name: "c".to_owned(),
            raw_data: vec![1, 2],
        };
        let tensor = [0x0a, 1, 2, 0x10, 1, 0x42, 1, b'c', 0x4a, 2, 1, 2];
        assert_eq!(constant.encode_to_vec(), tensor);
        let node = Node {
            input: vec!["x".to_owned()],
            output: vec!["y".to_owned()],
            op_type: "Exp".to_owned(),
            ..Node::default()
        };
        let exp = [0x0a, 1, b'x', 0x12, 1, b'y', 0x22, 3, b'E', b'x', b'p'];
        assert_eq!(node.encode_to_vec(), exp);
        let axis = Attribute::int("axis", 1);
        assert_eq!(axis.encode_to_vec(), [0x0a, 4, b'a', b'x', b'i', b's', 0x18, 1, 0xa0, 1, 2]);
        let pads = Attribute::ints("k", &[1, 3]);
        assert_eq!(pads.encode_to_vec(), [0x0a, 1, b'k', 0x42, 2, 1, 3, 0xa0, 1, 7]);
        let epsilon = Attribute::float("e", 1.0);
        assert_eq!(epsilon.encode_to_vec(), [0x0a, 1, b'e', 0x15, 0, 0, 0x80, 0x3f, 0xa0, 1, 1]);
        let graph = GraphMessage { node: vec![node], initializer: vec![constant], ..GraphMessage::default() };
        let bytes = [&[0x0a, 11][..], &exp, &[0x2a, 12], &tensor].concat();
        assert_eq!(graph.encode_to_vec(), bytes);
        let opset = OperatorSet { domain: String::new(), version: OPERATORS };
        let file = Model {
            ir_version: IR_VERSION,
            graph: Some(graph),
            opset_import: vec![opset],
            ..Model::default()
        };
        let file_bytes =
            [&[0x08, 8, 0x3a, u8::try_from(bytes.len()).unwrap()][..], &bytes, &[0x42, 2, 0x10, 17]];
        assert_eq!(file.encode_to_vec(), file_bytes.concat());
    }
}
