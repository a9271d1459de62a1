//! Against the float64 reference: `tests/golden/README.md` says where it comes from.

use burn::module::{ModuleVisitor, Param};
use burn::tensor::TensorData;
use burn_optim::GradientsParams;
use serde_json::Value;

use super::*;
use crate::nn::{Adam, load_weights, save_weights};
use crate::stream;

fn series(channels: usize, steps: usize) -> Shapes {
    Shapes { x: vec![channels, steps], t: 1, y: vec![channels, steps], missing: false, classes: 0 }
}

fn image(x_channels: usize, y_channels: usize, size: [usize; 2]) -> Shapes {
    let [height, width] = size;
    let (x, y) = (vec![x_channels, height, width], vec![y_channels, height, width]);
    Shapes { x, t: 1, y, missing: false, classes: 0 }
}

fn small() -> UnetConfig {
    UnetConfig {
        channels: [4, 8, 8, 8],
        embed: 16,
        groups: 4,
        treatment: TreatmentEmbeddingConfig::Fourier { frequencies: 8, scale: 1.0 },
    }
}

fn rows(values: Vec<f32>, n: usize, device: &Device) -> Tensor<2> {
    let width = values.len() / n;
    Tensor::from_data(TensorData::new(values, [n, width]), device)
}

fn values(tensor: Tensor<2>) -> Vec<f32> {
    tensor.into_data().try_into_vec().unwrap()
}

// ---- the reference's parameters, in our layout and order ----

struct Golden(Value);

impl Golden {
    fn read(name: &str) -> Self {
        let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
        Self(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    fn array(&self, name: &str) -> Vec<f32> {
        let value = &self.0[name];
        numbers(value.get("data").unwrap_or(value))
    }

    /// `weights` or `grads` in our order: names and values.
    fn parameters(&self, of: &str) -> Vec<(String, Vec<f32>)> {
        let part = &self.0[of];
        let get = |name: &str| (numbers(&part[name]["data"]), numbers(&part[name]["shape"]));
        let mut ours = vec![];
        if part.get("treatment_embedder.0.W").is_some() {
            ours.push(("embedding.features.frequencies".into(), get("treatment_embedder.0.W").0));
        }
        let (weight, shape) = get("treatment_embedder.1.weight");
        ours.push(("embedding.linear.weight".into(), transposed(&weight, shape[0] as usize)));
        ours.push(("embedding.linear.bias".into(), get("treatment_embedder.1.bias").0));
        let mut dense = 1..;
        let blocks =
            [("down", "conv", "gnorm", [1, 2, 3, 4].as_slice()), ("up", "tconv", "tgnorm", &[4, 3, 2])];
        for (side, conv, norm, layers) in blocks {
            for (i, layer) in layers.iter().enumerate() {
                let (weight, shape) = get(&format!("{conv}{layer}.weight"));
                ours.push((format!("{side}.{i}.weight"), for_gemm(&weight, &shape, side == "up")));
                let term = format!("dense{}.dense", dense.next().unwrap());
                let (weight, shape) = get(&format!("{term}.weight"));
                ours.push((format!("{side}.{i}.term.weight"), transposed(&weight, shape[0] as usize)));
                ours.push((format!("{side}.{i}.term.bias"), get(&format!("{term}.bias")).0));
                ours.push((format!("{side}.{i}.norm.gamma"), get(&format!("{norm}{layer}.weight")).0));
                ours.push((format!("{side}.{i}.norm.beta"), get(&format!("{norm}{layer}.bias")).0));
            }
        }
        let (weight, shape) = get("tconv1.weight");
        ours.push(("out.weight".into(), for_gemm(&weight, &shape, true)));
        ours.push(("out.bias".into(), get("tconv1.bias").0));
        ours
    }
}

fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap() as f32).collect()
}

/// `[rows, columns]` to `[columns, rows]`.
fn transposed(values: &[f32], rows: usize) -> Vec<f32> {
    let columns = values.len() / rows;
    (0..values.len()).map(|i| values[i % rows * columns + i / rows]).collect()
}

/// PyTorch's `[outputs, inputs, kernel]` to `[kernel * inputs, outputs]`, and transposed its
/// `[inputs, outputs, kernel]` to `[inputs, kernel * outputs]`.
fn for_gemm(values: &[f32], shape: &[f32], keep_first: bool) -> Vec<f32> {
    let (a, b) = (shape[0] as usize, shape[1] as usize);
    let kernel = values.len() / (a * b);
    let at = |i: usize, j: usize, k: usize| values[(i * b + j) * kernel + k];
    let mut out = Vec::with_capacity(values.len());
    if keep_first {
        (0..a).for_each(|i| (0..kernel).for_each(|k| out.extend((0..b).map(|j| at(i, j, k)))));
    } else {
        (0..kernel).for_each(|k| (0..b).for_each(|j| out.extend((0..a).map(|i| at(i, j, k)))));
    }
    out
}

struct Grads {
    grads: burn::tensor::Gradients,
    path: Vec<String>,
    found: Vec<(String, Vec<f32>)>,
}

impl ModuleVisitor for Grads {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(grad) = param.val().grad(&self.grads) {
            self.found.push((self.path.join("."), grad.into_data().try_into_vec().unwrap()));
        }
    }
}

/// The norm of a group of one channel takes out what was added to it: the gradients of such a term are
/// zero, and rounding is all that is left of them.
fn assert_near(name: &str, ours: &[f32], golden: &[f32]) {
    assert_eq!(ours.len(), golden.len(), "{name}");
    let scale = golden.iter().fold(0f32, |m, v| m.max(v.abs()));
    let off = ours.iter().zip(golden).fold(0f32, |m, (a, b)| m.max((a - b).abs()));
    assert!(off <= 1e-4 * scale + 5e-7, "{name}: off by {off}, largest {scale}");
}

fn agrees_with_the_reference(name: &str, shapes: &Shapes) {
    let golden = Golden::read(name);
    let device = Device::flex().autodiff();
    let network = small().init(shapes, &mut stream(1, &["unet"]), &device).unwrap();
    let mut weights = save_weights(&network);
    for (weight, (name, values)) in weights.iter_mut().zip(golden.parameters("weights")) {
        assert_eq!((&weight.name, weight.values.len()), (&name, values.len()));
        weight.values = values;
    }
    let network = load_weights(network, &weights).unwrap();

    let x = rows(golden.array("input"), 2, &device).require_grad();
    let input = Input {
        x: x.clone(),
        missing: None,
        t: rows(golden.array("T"), 2, &device),
        class: None,
        dropout: None,
    };
    let y = network.forward(&input);
    assert_near("output", &values(y.clone()), &golden.array("output"));
    let loss = (y - rows(golden.array("target"), 2, &device)).square().mean();
    let grads = loss.backward();
    assert_near("input", &values(x.grad(&grads).unwrap()), &golden.array("grad_input"));
    let mut visitor = Grads { grads, path: vec![], found: vec![] };
    network.visit(&mut visitor);
    let expected = golden.parameters("grads");
    assert_eq!(visitor.found.len(), expected.len());
    for ((ours, found), (name, golden)) in visitor.found.iter().zip(&expected) {
        assert_eq!(ours, name);
        assert_near(name, found, golden);
    }
}

#[test]
fn outputs_and_gradients_on_series_agree_with_the_reference() {
    agrees_with_the_reference("unet1d", &series(2, 20));
}

#[test]
fn outputs_and_gradients_on_images_agree_with_the_reference() {
    agrees_with_the_reference("unet2d", &image(1, 3, [28, 28]));
}

#[test]
fn the_default_networks_have_as_many_parameters_as_the_papers() {
    let paper = UnetConfig { treatment: TreatmentEmbeddingConfig::PAPER, ..UnetConfig::default() };
    for (shapes, parameters) in [(series(2, 20), 537_474), (image(1, 3, [28, 28]), 1_116_451)] {
        let network = paper.init(&shapes, &mut stream(1, &["unet"]), &Device::flex()).unwrap();
        let fixed = 128;
        assert_eq!(network.num_params() - fixed, parameters);
    }
}

#[test]
fn every_size_from_eight_up_is_padded_and_cropped_back() {
    let device = Device::flex();
    let mut all: Vec<Shapes> = (8..=40).map(|steps| series(2, steps)).collect();
    all.extend([[8, 8], [8, 30], [16, 17], [18, 21], [31, 9]].map(|size| image(2, 1, size)));
    for shapes in all {
        let shapes = Shapes { missing: true, classes: 3, ..shapes };
        let network = small().init(&shapes, &mut stream(1, &["unet"]), &device).unwrap();
        let width: usize = shapes.x.iter().product();
        let input = Input {
            x: Tensor::ones([2, width], &device),
            missing: Some(Tensor::zeros([2, width], &device)),
            t: Tensor::ones([2, 1], &device),
            class: Some(Tensor::ones([2, 3], &device)),
            dropout: None,
        };
        let y = network.forward(&input);
        assert_eq!(y.dims(), [2, shapes.y.iter().product()]);
        assert!(values(y).iter().all(|v| v.is_finite()));
    }
}

#[test]
fn outputs_depend_on_treatment_class_and_missing_indicators() {
    let device = Device::flex();
    let shapes = Shapes { missing: true, classes: 2, ..series(1, 12) };
    let network = small().init(&shapes, &mut stream(1, &["unet"]), &device).unwrap();
    let base = Input {
        x: Tensor::ones([1, 12], &device),
        missing: Some(Tensor::zeros([1, 12], &device)),
        t: Tensor::ones([1, 1], &device),
        class: Some(rows(vec![1.0, 0.0], 1, &device)),
        dropout: None,
    };
    let others = [
        Input { t: Tensor::zeros([1, 1], &device), ..base.clone() },
        Input { class: Some(rows(vec![0.0, 1.0], 1, &device)), ..base.clone() },
        Input { missing: Some(Tensor::ones([1, 12], &device)), ..base.clone() },
    ];
    let y = values(network.forward(&base));
    for other in others {
        assert_ne!(values(network.forward(&other)), y);
    }
}

#[test]
fn impossible_settings_are_refused_with_a_hint() {
    let config = UnetConfig::default();
    let vector = Shapes { x: vec![5], ..series(2, 20) };
    let longer = Shapes { y: vec![2, 30], ..series(2, 20) };
    for shapes in [vector, longer, series(2, 7), image(1, 1, [7, 28])] {
        let error = config.check(&shapes).unwrap_err();
        assert!(error.hint().is_some_and(|hint| hint.contains("mlp")), "{error}");
    }
    for config in [
        UnetConfig { channels: [32, 64, 100, 256], ..UnetConfig::default() },
        UnetConfig { channels: [0, 64, 128, 256], ..UnetConfig::default() },
        UnetConfig { embed: 0, ..UnetConfig::default() },
        UnetConfig { groups: 0, ..UnetConfig::default() },
    ] {
        assert!(config.check(&series(2, 20)).is_err());
    }
}

#[test]
fn training_gives_the_same_bits_on_any_number_of_threads() {
    let device = Device::flex().autodiff();
    let trained = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut rng = stream(1, &["unet"]);
            let mut network = UnetConfig::default().init(&series(2, 20), &mut rng, &device).unwrap();
            let mut adam = Adam::default().init();
            let some = |width: usize| {
                let values = (0..128 * width).map(|i| (i as f32 * 0.37).sin()).collect();
                rows(values, 128, &device)
            };
            let input = Input { x: some(40), missing: None, t: some(1), class: None, dropout: None };
            for _ in 0..3 {
                let loss = (network.forward(&input) - some(40)).square().mean();
                let grads = GradientsParams::from_grads(loss.backward(), &network);
                network = adam.step(1e-3, network, grads);
            }
            save_weights(&network)
        })
    };
    assert!(trained(1) == trained(3));
}

#[test]
fn adding_the_class_as_input_keeps_the_outputs() {
    let device = Device::flex();
    let shapes = series(2, 12);
    let single = small().init(&shapes, &mut stream(1, &["single"]), &device).unwrap();
    let (x, t) =
        (rows((0..48).map(|i| (i as f32).sin()).collect(), 2, &device), rows(vec![0.3, -1.0], 2, &device));
    let input = |class| Input { x: x.clone(), missing: None, t: t.clone(), class, dropout: None };
    let class = Some(rows(vec![1.0, 0.0, 0.0, 0.0, 0.0, 1.0], 2, &device));
    let expected = values(single.forward(&input(None)));
    let with_class = single.with_class_input(3, &device);
    let ours = values(with_class.forward(&input(class.clone())));
    assert!(ours.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5));
    // it has the parameters of a network that had the class as input from the start
    let fresh = small().init(&Shapes { classes: 3, ..shapes }, &mut stream(2, &["told"]), &device).unwrap();
    let again = load_weights(fresh, &save_weights(&with_class)).unwrap();
    assert_eq!(values(again.forward(&input(class))), ours);
}
