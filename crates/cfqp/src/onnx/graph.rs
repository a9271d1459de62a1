//! Builds the graph of one file: operations in the order of their execution, and constants, of which equal ones are
//! stored once. The first axis of inputs and outputs is the batch, of any size.

use prost::Message as _;

use super::messages::{
    Attribute, Dimension, ElementType, GraphMessage, IR_VERSION, ML_DOMAIN, ML_OPERATORS, Model, Node,
    OPERATORS, OperatorSet, Tensor, TensorShape, TensorType, ValueInfo, ValueType,
};

/// The name of the batch axis.
const BATCH: &str = "n";

/// A value of a graph: an input, a constant or the result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value(String);

/// A graph under construction.
#[derive(Debug, Default)]
pub(super) struct Graph {
    message: GraphMessage,
}

impl Graph {
    /// An input `[n, shape]` of numbers.
    pub(super) fn input(&mut self, name: &str, shape: &[usize]) -> Value {
        self.message.input.push(batch_of(name, shape));
        Value(name.to_owned())
    }

    /// Makes `value`, of `[n, shape]`, an output.
    pub(super) fn output(&mut self, name: &str, value: &Value, shape: &[usize]) {
        self.message.node.push(Node {
            input: vec![value.0.clone()],
            output: vec![name.to_owned()],
            op_type: "Identity".to_owned(),
            ..Node::default()
        });
        self.message.output.push(batch_of(name, shape));
    }

    /// A constant.
    pub(super) fn constant(&mut self, values: &[f32], shape: &[usize]) -> Value {
        debug_assert_eq!(values.len(), shape.iter().product::<usize>());
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor(ElementType::Float, signed(shape), bytes)
    }

    /// A constant number.
    pub(super) fn number(&mut self, value: f32) -> Value {
        self.constant(&[value], &[])
    }

    /// A constant list of integers.
    pub(super) fn integers(&mut self, values: &[i64]) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor(ElementType::Int64, vec![values.len() as i64], bytes)
    }

    fn tensor(&mut self, kind: ElementType, dims: Vec<i64>, raw_data: Vec<u8>) -> Value {
        let known = &mut self.message.initializer;
        let is_equal = |other: &&Tensor| {
            other.data_type == kind as i32 && other.dims == dims && other.raw_data == raw_data
        };
        if let Some(equal) = known.iter().find(is_equal) {
            return Value(equal.name.clone());
        }
        let name = format!("constant_{}", known.len());
        known.push(Tensor { dims, data_type: kind as i32, name: name.clone(), raw_data });
        Value(name)
    }

    /// The result of an operation.
    pub(super) fn apply(&mut self, operator: &str, inputs: &[&Value]) -> Value {
        self.apply_with(operator, inputs, Vec::new())
    }

    /// The result of an operation with settings.
    pub(super) fn apply_with(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        attribute: Vec<Attribute>,
    ) -> Value {
        self.push(operator, inputs, attribute, "")
    }

    /// The result of an operation on trees.
    pub(super) fn apply_trees(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        attribute: Vec<Attribute>,
    ) -> Value {
        self.push(operator, inputs, attribute, ML_DOMAIN)
    }

    fn push(&mut self, operator: &str, inputs: &[&Value], attribute: Vec<Attribute>, domain: &str) -> Value {
        let name = format!("{operator}_{}", self.message.node.len());
        self.message.node.push(Node {
            input: inputs.iter().map(|value| value.0.clone()).collect(),
            output: vec![name.clone()],
            op_type: operator.to_owned(),
            attribute,
            domain: domain.to_owned(),
        });
        Value(name)
    }

    /// The bytes of a file with this graph; none if it would be larger than the format allows.
    pub(super) fn into_bytes(mut self, name: &str) -> Option<Vec<u8>> {
        const MAX_BYTES: usize = i32::MAX as usize;
        name.clone_into(&mut self.message.name);
        let mut opset_import = vec![OperatorSet { domain: String::new(), version: OPERATORS }];
        if self.message.node.iter().any(|node| node.domain == ML_DOMAIN) {
            opset_import.push(OperatorSet { domain: ML_DOMAIN.to_owned(), version: ML_OPERATORS });
        }
        let model = Model {
            ir_version: IR_VERSION,
            producer_name: "cfqp".to_owned(),
            producer_version: env!("CARGO_PKG_VERSION").to_owned(),
            graph: Some(self.message),
            opset_import,
        };
        (model.encoded_len() <= MAX_BYTES).then(|| model.encode_to_vec())
    }
}

/// A batch of tensors of numbers.
fn batch_of(name: &str, shape: &[usize]) -> ValueInfo {
    let batch = Dimension { dim_value: None, dim_param: Some(BATCH.to_owned()) };
    let sides = signed(shape).into_iter().map(|side| Dimension { dim_value: Some(side), dim_param: None });
    let shape = TensorShape { dim: std::iter::once(batch).chain(sides).collect() };
    let tensor = TensorType { elem_type: ElementType::Float as i32, shape: Some(shape) };
    ValueInfo { name: name.to_owned(), kind: Some(ValueType { tensor_type: Some(tensor) }) }
}

/// Sizes as ONNX has them.
pub(super) fn signed(sizes: &[usize]) -> Vec<i64> {
    sizes.iter().map(|&size| size as i64).collect()
}

impl Graph {
    /// x + y
    pub(super) fn add(&mut self, x: &Value, y: &Value) -> Value {
        self.apply("Add", &[x, y])
    }

    /// x * y, element by element
    pub(super) fn multiply(&mut self, x: &Value, y: &Value) -> Value {
        self.apply("Mul", &[x, y])
    }

    /// x within `low` and `high`.
    pub(super) fn clip(&mut self, x: &Value, low: f32, high: f32) -> Value {
        let (low, high) = (self.number(low), self.number(high));
        self.apply("Clip", &[x, &low, &high])
    }

    /// x as `[n, sides]`.
    pub(super) fn reshape(&mut self, x: &Value, sides: &[usize]) -> Value {
        let shape: Vec<i64> = std::iter::once(-1).chain(signed(sides)).collect();
        let shape = self.integers(&shape);
        self.apply("Reshape", &[x, &shape])
    }

    /// The parts, one after the other along an axis.
    pub(super) fn concatenate(&mut self, parts: &[Value], axis: i64) -> Value {
        match parts {
            [part] => part.clone(),
            _ => {
                let parts: Vec<&Value> = parts.iter().collect();
                self.apply_with("Concat", &parts, vec![Attribute::int("axis", axis)])
            }
        }
    }

    /// x W + b with W `[inputs, outputs]`; x is `[n, inputs]`.
    pub(super) fn affine(&mut self, x: &Value, weight: &[f32], bias: &[f32]) -> Value {
        let inputs = weight.len() / bias.len();
        let weight = self.constant(weight, &[inputs, bias.len()]);
        let bias = self.constant(bias, &[bias.len()]);
        self.apply("Gemm", &[x, &weight, &bias])
    }

    /// swish(x) = x sigmoid(x)
    pub(super) fn swish(&mut self, x: &Value) -> Value {
        let sigmoid = self.apply("Sigmoid", &[x]);
        self.multiply(x, &sigmoid)
    }

    /// x standardised along `axis`: (x - mean) / sqrt(variance + epsilon). Sums are long, so this is done in double precision.
    pub(super) fn standardise(&mut self, x: &Value, axis: i64, epsilon: f32) -> Value {
        let x = self.cast(x, ElementType::Double);
        let mean = self.mean(&x, axis);
        let centred = self.apply("Sub", &[&x, &mean]);
        let squares = self.multiply(&centred, &centred);
        let variance = self.mean(&squares, axis);
        let epsilon = f64::from(epsilon).to_le_bytes().to_vec();
        let epsilon = self.tensor(ElementType::Double, Vec::new(), epsilon);
        let sum = self.add(&variance, &epsilon);
        let deviation = self.apply("Sqrt", &[&sum]);
        let standardised = self.apply("Div", &[&centred, &deviation]);
        self.cast(&standardised, ElementType::Float)
    }

    /// The mean along an axis, which stays.
    fn mean(&mut self, x: &Value, axis: i64) -> Value {
        self.apply_with("ReduceMean", &[x], vec![Attribute::ints("axes", &[axis])])
    }

    fn cast(&mut self, x: &Value, to: ElementType) -> Value {
        self.apply_with("Cast", &[x], vec![Attribute::int("to", to as i64)])
    }

    /// The same row for every unit of the batch of `like`: `[n, row]`.
    pub(super) fn repeat(&mut self, row: &[f32], like: &Value) -> Value {
        let first = vec![Attribute::int("start", 0), Attribute::int("end", 1)];
        let batch = self.apply_with("Shape", &[like], first);
        let width = self.integers(&[row.len() as i64]);
        let shape = self.concatenate(&[batch, width], 0);
        let row = self.constant(row, &[1, row.len()]);
        self.apply("Expand", &[&row, &shape])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_can_be_read_back() {
        let mut graph = Graph::default();
        let x = graph.input("x", &[3]);
        let h = graph.affine(&x, &[0.5; 6], &[0.0, 1.0]);
        let h = graph.swish(&h);
        let row = graph.repeat(&[1.0, 2.0], &x);
        let y = graph.add(&h, &row);
        graph.output("y", &y, &[2]);
        let message = graph.message.clone();
        let bytes = graph.into_bytes("test").unwrap();
        let read = Model::decode(bytes.as_slice()).unwrap();
        let read_graph = read.graph.unwrap();
        assert_eq!(read_graph.node, message.node);
        assert_eq!((read_graph.name.as_str(), read.opset_import[0].version), ("test", 17));
        let shape = read_graph.output[0].kind.as_ref().unwrap().tensor_type.as_ref().unwrap();
        let sides = &shape.shape.as_ref().unwrap().dim;
        assert_eq!((sides[0].dim_param.as_deref(), sides[1].dim_value), (Some("n"), Some(2)));
    }

    #[test]
    fn equal_constants_are_stored_once() {
        let mut graph = Graph::default();
        let a = graph.constant(&[1.0, 2.0], &[2]);
        assert_eq!(graph.constant(&[1.0, 2.0], &[2]), a);
        assert_ne!(graph.constant(&[1.0, 2.0], &[1, 2]), a, "another shape");
        assert_ne!(graph.constant(&[1.0, 3.0], &[2]), a);
        assert_eq!(graph.message.initializer.len(), 3);
        assert_eq!(graph.message.initializer[0].raw_data, [0, 0, 128, 63, 0, 0, 0, 64]);
    }
}
