//! Model files whose checksum is right and whose content is not: refused before anything is built.

use std::collections::HashMap;
use std::path::Path;

use cfqp::sim::{Oscillator, Table};
use cfqp::{Base, Classes, Dataset, Fit, FitConfig, Model, Resources, Start};
use flate2::Crc;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::{Value, json};

/// The name, the shape and the values of an array.
type NamedValues = (String, Vec<usize>, Vec<f32>);

/// The content of a model file.
#[derive(Clone)]
struct Content {
    model: Value,
    arrays: Vec<NamedValues>,
}

impl Content {
    fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
        let head: Value = serde_json::from_str(&metadata.metadata().as_ref().unwrap()["cfqp"]).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let read = |name: &Value| {
            let name = name.as_str().unwrap();
            let tensor = tensors.tensor(name).unwrap();
            let values = tensor.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            (name.to_owned(), tensor.shape().to_vec(), values)
        };
        let arrays = head["order"].as_array().unwrap().iter().map(read).collect();
        Self { model: head["model"].clone(), arrays }
    }

    /// The file, with a checksum that matches.
    fn to_bytes(&self) -> Vec<u8> {
        let data: Vec<Vec<u8>> = self.arrays.iter().map(|(_, _, values)| to_bytes(values)).collect();
        let mut crc = Crc::new();
        crc.update(self.model.to_string().as_bytes());
        for ((name, shape, _), bytes) in self.arrays.iter().zip(&data) {
            crc.update(format!("{name:?} {shape:?}").as_bytes());
            crc.update(bytes);
        }
        let order: Vec<&String> = self.arrays.iter().map(|(name, ..)| name).collect();
        let head = json!({ "format": 1, "checksum": crc.sum(), "order": order, "model": self.model });
        let views = self.arrays.iter().zip(&data).map(|((name, shape, _), bytes)| {
            (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap())
        });
        let metadata = HashMap::from([("cfqp".to_owned(), head.to_string())]);
        safetensors::serialize(views, Some(metadata)).unwrap()
    }

    /// The error of reading this content.
    fn error(&self) -> String {
        self.load().expect_err("the model is refused").to_string()
    }

    fn load(&self) -> cfqp::Result<Model> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.cfqp");
        std::fs::write(&path, self.to_bytes()).unwrap();
        Model::load(&path, &Resources::default())
    }
}

fn to_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A small model of series or, with mixture density networks, of a table.
fn contents() -> [Content; 2] {
    let series = Oscillator::default().simulate(40, 1).unwrap().data;
    let table = Table::default().simulate(40, 1).unwrap().data;
    [(series, Base::Linear), (table, Base::Auto)].map(|(data, base)| fitted(&data, base))
}

fn fitted(data: &Dataset, base: Base) -> Content {
    let starts = vec![Start::Kmeans];
    let classes = Classes::Given(2);
    let config = FitConfig { classes, base, members: Some(2), starts, ..FitConfig::default() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.cfqp");
    Fit::new(config).run(data).unwrap().save(&path).unwrap();
    let content = Content::read(&path);
    // what the test writes is read, unless it is changed
    content.load().unwrap();
    content
}

#[test]
fn values_that_are_not_finite_are_refused_in_every_array() {
    for content in contents() {
        for i in 0..content.arrays.len() {
            for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut bad = content.clone();
                let (name, _, values) = &mut bad.arrays[i];
                let Some(last) = values.last_mut() else { continue };
                *last = value;
                let expected = format!("array `{name}`, element");
                let error = bad.error();
                assert!(error.contains(&expected) && error.contains(&value.to_string()), "{error}");
            }
        }
    }
}

#[test]
fn arrays_that_do_not_fit_the_header_are_refused() {
    for content in contents() {
        for i in 0..content.arrays.len() {
            let change = |change: &dyn Fn(&mut NamedValues)| {
                let mut bad = content.clone();
                change(&mut bad.arrays[i]);
                bad
            };
            let cut = change(&|(_, shape, values)| {
                let rows = shape[0].max(1);
                values.truncate(values.len() / rows * (rows - 1));
                shape[0] = rows - 1;
            });
            let renamed = change(&|(name, ..)| name.push('x'));
            let mut missing = content.clone();
            missing.arrays.remove(i);
            let mut twice = content.clone();
            let (name, shape, values) = content.arrays[i].clone();
            twice.arrays.insert(i, (name + "y", shape, values));
            for (what, bad) in [("cut", cut), ("renamed", renamed), ("missing", missing), ("twice", twice)] {
                // files of early versions do not have them
                let is_optional =
                    what == "missing" && ["support.t", "known_rows"].contains(&content.arrays[i].0.as_str());
                assert!(is_optional || bad.load().is_err(), "array {} {what}", content.arrays[i].0);
            }
        }
    }
}

#[test]
fn sizes_of_the_header_are_compared_before_a_network_is_built() {
    let [series, table] = contents();
    // networks of 69 GB and more
    let treatment = json!({ "kind": "smooth", "frequencies": 4, "scale": 0.25 });
    let endless = json!({ "kind": "smooth", "frequencies": u64::MAX, "scale": 0.25 });
    let bases = [
        json!({ "model": "mlp", "hidden": vec![1 << 14; 64], "treatment": treatment }),
        json!({ "model": "mlp", "hidden": [4], "treatment": endless }),
        json!({ "model": "unet", "channels": [16384, 16384, 16384, 16384], "groups": 32, "embed": 16384,
                "treatment": treatment }),
        json!({ "model": "transformer", "width": 16384, "layers": 64, "heads": 8, "feed_forward": 16384,
                "dropout": 0.1, "embed": 8, "treatment": treatment }),
    ];
    for base in bases {
        let mut bad = series.clone();
        bad.model["base"] = base;
        let error = bad.error();
        assert!(error.contains("numbers for a network of"), "{error}");
    }
    let networks = if series.model["members"]["networks"] == 1 { 2 } else { 1 };
    for (field, value) in [("members", json!(u64::MAX)), ("networks", json!(networks))] {
        let mut bad = series.clone();
        bad.model["members"][field] = value;
        bad.error();
    }
    for (field, value) in [("hidden", json!(4096)), ("classes", json!(1000)), ("outcomes", json!(9))] {
        let mut bad = table.clone();
        bad.model["density"]["forms"][0][field] = value;
        bad.error();
    }
}
