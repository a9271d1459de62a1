//! Graphs of models with random weights. `bindings/python/tests/test_onnx.py` runs exported models.

use std::collections::BTreeSet;

use burn::tensor::Device;
use prost::Message as _;

use super::messages::GraphMessage;
use super::*;
use crate::data::{Dataset, Scaler, Units};
use crate::density::{ClassWeights, Form, HeadLaw, Member, NoiseLaw, Regressor};
use crate::model::{Components, Mixture, Prior, Residuals, Scales};
use crate::models::{BaseConfig, LinearConfig, MlpConfig, Shapes, TransformerConfig, UnetConfig};
use crate::process::Process;
use crate::stream;
use crate::trees::Boosted;

/// The graph in a file.
fn decoded(graph: Graph) -> GraphMessage {
    let bytes = graph.into_bytes("test").unwrap();
    messages::Model::decode(bytes.as_slice()).unwrap().graph.unwrap()
}

/// Every input of an operation is known before it, every name is given once, and all outputs are there.
fn assert_well_formed(graph: &GraphMessage) {
    let mut known: BTreeSet<&str> = graph.input.iter().map(|value| value.name.as_str()).collect();
    assert!(graph.initializer.iter().all(|constant| known.insert(&constant.name)));
    for constant in &graph.initializer {
        let elements: i64 = constant.dims.iter().product();
        let size = if constant.data_type == 1 { 4 } else { 8 };
        assert_eq!(constant.raw_data.len(), elements as usize * size, "{}", constant.name);
    }
    for node in &graph.node {
        assert!(node.input.iter().all(|name| known.contains(name.as_str())), "{node:?}");
        assert!(node.output.iter().all(|name| known.insert(name)), "{node:?}");
    }
    let names = |values: &[messages::ValueInfo]| -> Vec<String> {
        values.iter().map(|value| value.name.clone()).collect()
    };
    assert_eq!(names(&graph.input), ["x", "t"]);
    assert_eq!(names(&graph.output), ["mean", "scale", "log_weight"]);
    assert!(graph.output.iter().all(|value| known.contains(value.name.as_str())));
}

/// Units of these shapes; the first value of x is missing if some may be.
fn data(shapes: &Shapes) -> Dataset {
    let n = 4;
    let units = |name: &str, shape: &[usize], mask: bool| {
        let count = n * shape.iter().product::<usize>();
        let values = (0..count).map(|i| ((i * 7) % 11) as f32).collect();
        let mask = mask.then(|| (0..count).map(|i| i > 0).collect());
        Units::with_mask(name, shape.to_vec(), values, mask).unwrap()
    };
    let (x, t) = (units("x", &shapes.x, shapes.missing), units("t", &[shapes.t], false));
    Dataset::new(x, t, units("y", &shapes.y, false)).unwrap()
}

fn mixture(base: &BaseConfig, shapes: &Shapes, classes: usize, shared: bool, prior: Prior) -> Mixture {
    let (device, mut rng) = (Device::flex(), stream(1, &["onnx"]));
    let shapes = Shapes { classes: if shared { classes } else { 0 }, ..shapes.clone() };
    let nets = (0..if shared { 1 } else { classes })
        .map(|_| base.init(&shapes, &mut rng, &device).unwrap())
        .collect();
    let elements = shapes.y.iter().product();
    let residuals =
        Residuals { t: vec![0.5; 4 * shapes.t], squares: (0..4 * elements).map(|i| i as f32).collect() };
    let scales = Scales::fit(&vec![residuals; classes], elements, shapes.t, false);
    Mixture { members: vec![Components { nets, classes }], scales, prior }
}

#[test]
fn the_graphs_of_all_base_models_are_well_formed() {
    let series = Shapes { x: vec![2, 12], t: 2, y: vec![1, 12], missing: true, classes: 0 };
    let image = Shapes { x: vec![1, 18, 20], t: 1, y: vec![2, 18, 20], missing: false, classes: 0 };
    let unet =
        BaseConfig::Unet(UnetConfig { channels: [8; 4], embed: 8, groups: 4, ..UnetConfig::default() });
    let transformer =
        TransformerConfig { width: 8, layers: 2, heads: 2, feed_forward: 8, ..TransformerConfig::default() };
    let cases = [
        (BaseConfig::Linear(LinearConfig {}), &series),
        (BaseConfig::Mlp(MlpConfig { hidden: vec![8, 4], ..MlpConfig::default() }), &series),
        (unet.clone(), &series),
        (unet, &image),
        (BaseConfig::Transformer(transformer), &series),
    ];
    for (base, shapes) in cases {
        let scaler = Scaler::fit(&data(shapes).all(), false);
        for shared in [false, true] {
            let prior = Prior::Constant(vec![0.25, 0.75]);
            let mixture = mixture(&base, shapes, 2, shared, prior);
            assert_well_formed(&decoded(classes::member_graph(&mixture, 0, shapes, &scaler)));
        }
    }
}

#[test]
fn classes_that_share_a_network_share_its_weights() {
    let shapes = Shapes { x: vec![1, 20], t: 1, y: vec![1, 20], missing: false, classes: 0 };
    let unet =
        BaseConfig::Unet(UnetConfig { channels: [8; 4], embed: 8, groups: 4, ..UnetConfig::default() });
    let scaler = Scaler::fit(&data(&shapes).all(), false);
    let sizes = [false, true].map(|shared| {
        let mixture = mixture(&unet, &shapes, 3, shared, Prior::Constant(vec![1.0 / 3.0; 3]));
        decoded(classes::member_graph(&mixture, 0, &shapes, &scaler)).encoded_len()
    });
    assert!(sizes[1] * 3 < sizes[0] * 2, "{sizes:?}");
}

#[test]
fn a_gate_weighs_every_element_of_x() {
    let shapes = Shapes { x: vec![100], t: 1, y: vec![9], missing: false, classes: 0 };
    let scaler = Scaler::fit(&data(&shapes).all(), false);
    let blocks = Prior::blocks(100);
    assert_eq!((blocks.len(), blocks.iter().sum::<usize>()), (50, 100));
    let coefficients = (0..(blocks.len() + 1) * 2).map(|i| i as f32).collect();
    let prior = Prior::Gate { classes: 2, coefficients };
    let mixture = mixture(&BaseConfig::Linear(LinearConfig {}), &shapes, 2, false, prior);
    let graph = decoded(classes::member_graph(&mixture, 0, &shapes, &scaler));
    assert_well_formed(&graph);
    let weights = graph.initializer.iter().find(|constant| constant.dims == [100, 2]).unwrap();
    let first: Vec<f32> =
        weights.raw_data[..24].chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(first, [0.0, 0.5, 0.0, 0.5, 1.0, 1.5], "half the weight of each block of two");
}

#[test]
fn the_graph_of_a_density_is_well_formed_with_and_without_its_parts() {
    let shapes = Shapes { x: vec![2], t: 2, y: vec![2], missing: true, classes: 0 };
    let scaler = Scaler::fit(&data(&shapes).all(), false);
    let full = Form {
        classes: 3,
        outcomes: 2,
        outcome_laws: Vec::<HeadLaw>::new(),
        x_cosines: vec![2, 0, 1, 0],
        t_cosines: vec![3, 0],
        t_values: vec![Vec::new(), vec![-1.0, 0.0, 1.5]],
        interactions: true,
        class_interactions: true,
        shared_response: true,
        alike: false,
        product_columns: vec![0, 2],
        offsets: 2,
        hidden: 5,
        weights: ClassWeights::CovariatesAndTreatment,
        law: NoiseLaw::StudentT,
        varying_scale: true,
    };
    let plain = Form {
        x_cosines: vec![0; 4],
        t_cosines: vec![0; 2],
        t_values: Vec::new(),
        interactions: false,
        class_interactions: false,
        shared_response: false,
        product_columns: Vec::new(),
        offsets: 0,
        hidden: 0,
        weights: ClassWeights::Constant,
        varying_scale: false,
        ..full.clone()
    };
    let covariates = Form { weights: ClassWeights::Covariates, ..full.clone() };
    let scales = classes::element_scales(&scaler.y);
    for form in [full, plain, covariates] {
        let parameters = form.init(&mut stream(1, &["density"]));
        let process = Process::from_array(6, &[1.0, 0.3, 4.0, 0.5, 0.2, 1.5, -1.0, 0.7, 0.1]).unwrap();
        let of_form = || vec![Regressor::Trees(Boosted::constant(6, 0.5)), Regressor::Process(process)];
        let regressors = (form.offsets > 0).then(|| of_form().into());
        let member = Member { form, parameters, regressors };
        assert_well_formed(&decoded(density::member_graph(&member, &shapes, &scaler, &scales)));
    }
}
