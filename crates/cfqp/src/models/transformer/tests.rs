use super::*;
use crate::data::NamedArray;
use crate::measure::{gradients, values};
use crate::models::contract::{self, batch, difference};
use crate::nn::{load_weights, save_weights};
use crate::stream;
use serde_json::Value;

fn shapes(x: [usize; 2], y: [usize; 2]) -> Shapes {
    Shapes { x: x.to_vec(), t: 1, y: y.to_vec(), missing: false, classes: 0 }
}

fn small() -> TransformerConfig {
    let treatment = TreatmentEmbeddingConfig::Fourier { frequencies: 4, scale: 30.0 };
    TransformerConfig { width: 8, layers: 2, heads: 2, feed_forward: 16, treatment, ..Default::default() }
}

/// `{shape, data}` of the golden file; matrices are transposed, since PyTorch's maps are `[outputs, inputs]`.
fn array(value: &Value, transpose: bool) -> Vec<f32> {
    let numbers = |key: &str| value[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap());
    let shape: Vec<usize> = numbers("shape").map(|n| n as usize).collect();
    let data: Vec<f32> = numbers("data").map(|v| v as f32).collect();
    match shape[..] {
        [rows, columns] if transpose => {
            (0..rows * columns).map(|i| data[i % rows * columns + i / rows]).collect()
        }
        _ => data,
    }
}

/// PyTorch's name of our parameter.
fn golden_name(name: &str) -> String {
    let pairs = [
        ("attention.project.", "self_attn.in_proj_"),
        ("attention.output.", "self_attn.out_proj."),
        ("embedding.features.frequencies", "treatment_embedder.0.W"),
        ("embedding.linear", "treatment_embedder.1"),
        (".embed.", ".map_embed."),
        (".wide.", ".linear1."),
        (".narrow.", ".linear2."),
        (".gain", ".weight"),
    ];
    let name = pairs.iter().fold(name.to_owned(), |name, (ours, theirs)| name.replace(ours, theirs));
    match name.split_once('.') {
        Some(("input", rest)) => format!("input_mapping.{rest}"),
        Some(("output", rest)) => format!("output_layer.{rest}"),
        _ => name,
    }
}

fn golden() -> (Value, Transformer, Input) {
    let golden: Value = serde_json::from_str(include_str!("../../../tests/golden/transformer.json")).unwrap();
    let device = Device::flex().autodiff();
    let network = small().init(&shapes([2, 20], [2, 20]), &mut stream(1, &[]), &device).unwrap();
    let weights = save_weights(&network).into_iter().map(|weight| {
        let values = array(&golden["weights"][golden_name(&weight.name)], true);
        NamedArray { values, ..weight }
    });
    let network = load_weights(network, &weights.collect::<Vec<_>>()).unwrap();
    let t = golden["T"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap() as f32).collect();
    let x = tensor(array(&golden["input"], false), [2, 40], &device).require_grad();
    let input = Input { x, missing: None, t: tensor(t, [2, 1], &device), class: None, dropout: None };
    (golden, network, input)
}

/// Elements may differ by 1e-4 of the largest.
fn assert_close(name: &str, found: &[f32], golden: &[f32]) {
    let largest = golden.iter().fold(0.0_f32, |a, b| a.max(b.abs()));
    let gap = difference(found, golden) / largest;
    assert!(gap < 1e-4, "{name} differs by {gap} of its largest element");
}

#[test]
fn outputs_and_gradients_agree_with_pytorch() {
    let (golden, network, input) = golden();
    let y = network.forward(&input);
    assert_close("output", &values(y.clone()), &array(&golden["output"], false));
    let target = tensor(array(&golden["target"], false), [2, 40], &y.device());
    let loss = (y - target).powf_scalar(2.0).mean();
    let expected = golden["loss"].as_f64().unwrap() as f32;
    assert!((loss.clone().into_scalar::<f32>() - expected).abs() < 1e-5);
    let grads = loss.backward();
    let dx = values(input.x.grad(&grads).unwrap());
    assert_close("input", &dx, &array(&golden["grad_input"], false));
    let found = gradients(&network, &grads);
    assert_eq!(found.len(), golden["grads"].as_object().unwrap().len());
    for NamedArray { name, values, .. } in found {
        assert_close(&name, &values, &array(&golden["grads"][golden_name(&name)], true));
    }
}

#[test]
fn transformers_keep_the_contract() {
    let config = TransformerConfig { treatment: TreatmentEmbeddingConfig::SMOOTH, ..small() };
    let same = shapes([2, 20], [2, 20]);
    contract::check(&same, |shapes, rng, device| config.init(shapes, rng, device));
    let unlike = Shapes { missing: true, classes: 3, t: 2, ..shapes([3, 5], [1, 9]) };
    contract::check(&unlike, |shapes, rng, device| config.init(shapes, rng, device));
    let one_step = TransformerConfig { layers: 1, ..config };
    contract::check(&shapes([1, 1], [1, 1]), |shapes, rng, device| one_step.init(shapes, rng, device));
}

#[test]
fn dropout_applies_in_training_only() {
    let device = Device::flex();
    let shapes = shapes([2, 6], [2, 6]);
    let network = small().init(&shapes, &mut stream(1, &[]), &device).unwrap();
    let input = batch(&shapes, 4, &mut stream(2, &[]), &device);
    let with = |dropout| values(network.forward(&Input { dropout, ..input.clone() }));
    assert_eq!(with(Some(1)), with(Some(1)));
    assert_ne!(with(Some(1)), with(Some(2)));
    assert_ne!(with(Some(1)), with(None));
}

#[test]
fn impossible_settings_are_refused_with_a_hint() {
    let series = shapes([2, 20], [2, 20]);
    let ok = TransformerConfig::default();
    assert!(ok.check(&series).is_ok());
    let images = Shapes { y: vec![3, 28, 28], ..series.clone() };
    assert!(ok.check(&images).unwrap_err().to_string().contains("[3, 28, 28]"));
    assert!(ok.check(&shapes([2, 0], [2, 20])).is_err());
    let bad = [
        TransformerConfig { heads: 7, ..ok },
        TransformerConfig { layers: 0, ..ok },
        TransformerConfig { dropout: 1.0, ..ok },
        TransformerConfig { dropout: f32::NAN, ..ok },
    ];
    assert!(bad.iter().all(|config| config.check(&series).unwrap_err().hint().is_some()));
    assert!(serde_json::from_str::<TransformerConfig>(r#"{"widht": 32}"#).is_err());
    let read: TransformerConfig = serde_json::from_str(r#"{"width": 32}"#).unwrap();
    assert_eq!(read, TransformerConfig { width: 32, ..ok });
}
