//! The model file: a header and the arrays of all networks.

use std::iter::Peekable;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use serde_json::Value;

use super::Support;
use super::components::Components;
use super::fitted::Model;
use super::header::{DensityHeader, Header, MixtureHeader};
use super::mixture::Mixture;
use super::predictor::{ClassNetworks, Predictor};
use crate::data::{NamedArray, container_bytes, read_bytes, read_container, write_container};
use crate::density::{Ensemble, FOLDS, KnownRows, Member, Regressor};
use crate::models::{Net, Shapes};
use crate::nn::{load_weights, save_weights};
use crate::process::Process;
use crate::runtime::{Pool, Resources};
use crate::trees::Boosted;
use crate::{Error, Result, stream};

/// What errors call a model that is not in a file.
const IN_MEMORY: &str = "model";

/// The prefix of the names of a network's arrays.
fn network_prefix(mixture: usize, member: usize, network: usize) -> String {
    format!("{mixture}.{member}.{network}.")
}

/// The name of the parameters of a mixture density network.
fn density_name(member: usize) -> String {
    format!("density.{member}")
}

/// The name of the rows that regressors were fitted to.
const KNOWN_ROWS: &str = "known_rows";

/// The names of a regressor of a fold, by its kind.
fn trees_name(fold: usize, i: usize) -> String {
    format!("trees.{fold}.{i}")
}

fn process_name(fold: usize, i: usize) -> String {
    format!("process.{fold}.{i}")
}

impl Model {
    /// Writes the model to one file, completely or not at all.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        write_container(path, &self.header, &self.arrays())
    }

    /// The content of the file that [`save`](Self::save) writes.
    ///
    /// # Errors
    /// [`Error::File`] if the model has a number that is not finite.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        container_bytes(Path::new(IN_MEMORY), &self.header, &self.arrays())
    }

    /// The arrays of the support and of all networks.
    fn arrays(&self) -> Vec<NamedArray> {
        let mut arrays = self.support.to_weights();
        match &self.predictor {
            Predictor::ClassNetworks(networks) => {
                let mixtures = std::iter::once(&networks.mixture).chain(&networks.alternatives);
                for (i, mixture) in mixtures.enumerate() {
                    arrays.extend(mixture_arrays(i, mixture));
                }
            }
            Predictor::Density(ensemble) => {
                for (i, member) in ensemble.members.iter().enumerate() {
                    let values = member.parameters.clone();
                    arrays.push(NamedArray { name: density_name(i), shape: vec![values.len()], values });
                }
                for (fold, regressors) in ensemble.regressors.iter().enumerate() {
                    for (i, regressor) in regressors.iter().enumerate() {
                        let (name, values) = match regressor {
                            Regressor::Trees(trees) => (trees_name(fold, i), trees.to_array()),
                            Regressor::Process(process) => (process_name(fold, i), process.to_array()),
                        };
                        arrays.push(NamedArray { name, shape: vec![values.len()], values });
                    }
                }
                if !ensemble.known.is_empty() {
                    let values = ensemble.known.to_array();
                    arrays.push(NamedArray {
                        name: KNOWN_ROWS.to_owned(),
                        shape: vec![values.len()],
                        values,
                    });
                }
            }
        }
        arrays
    }

    /// Reads a model, checking all of it.
    ///
    /// # Errors
    /// [`Error::File`] if the file is not a model or is damaged.
    pub fn load(path: &Path, resources: &Resources) -> Result<Self> {
        let (header, arrays) = read_container(path, &read_bytes(path)?)?;
        Self::from_content(path, header, &arrays, resources)
    }

    /// Reads the content of a model file, checking all of it.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_bytes(bytes: &[u8], resources: &Resources) -> Result<Self> {
        let path = Path::new(IN_MEMORY);
        let (header, arrays) = read_container(path, bytes)?;
        Self::from_content(path, header, &arrays, resources)
    }

    /// The model with this header and these arrays, which stand in the file `path`.
    pub(crate) fn from_content(
        path: &Path,
        header: Value,
        arrays: &[NamedArray],
        resources: &Resources,
    ) -> Result<Self> {
        let device = resources.device.open()?;
        let hint = "the file is damaged or was written by other software: fit the model again";
        let wrong = |problem: String| Error::file(path, problem, hint);
        let header: Header = serde_json::from_value(header)
            .map_err(|e| wrong("the header cannot be read".to_owned()).with_source(e))?;
        header.validate().map_err(wrong)?;
        let (support, arrays) = Support::from_weights(arrays, header.shapes.t)
            .ok_or_else(|| wrong("the support is missing".to_owned()))?;
        let mut arrays = arrays.iter().peekable();
        let predictor = match &header.density {
            Some(density) => header.read_density(density, &mut arrays),
            None => header.read_mixtures(&mut arrays, &device),
        };
        let predictor = predictor.map_err(|e| e.in_file(path))?;
        if let Some(extra) = arrays.next() {
            return Err(wrong(format!("array `{}` belongs to no network", extra.name)));
        }
        let pool = Arc::new(Pool::new(resources.threads)?);
        Ok(Self::new(header, predictor, support, device, pool))
    }
}

/// The arrays of the networks of the `i`-th mixture.
fn mixture_arrays(i: usize, mixture: &Mixture) -> Vec<NamedArray> {
    let mut arrays = Vec::new();
    for (m, member) in mixture.members.iter().enumerate() {
        for (j, net) in member.nets.iter().enumerate() {
            let prefix = network_prefix(i, m, j);
            let named = |w: NamedArray| NamedArray { name: prefix.clone() + &w.name, ..w };
            arrays.extend(save_weights(net).into_iter().map(named));
        }
    }
    arrays
}

impl Header {
    /// The mixtures of the file, whose arrays come next.
    fn read_mixtures<'a>(
        &self,
        arrays: &mut Peekable<impl Iterator<Item = &'a NamedArray>>,
        device: &Device,
    ) -> Result<Predictor> {
        let mut mixtures = Vec::new();
        for (i, part) in self.members.iter().chain(&self.alternatives).enumerate() {
            mixtures.push(self.read_mixture(i, part, arrays, device)?);
        }
        let mixture = mixtures.remove(0);
        let hint = "the file is damaged: fit the model again";
        let missing = || Error::data("calibration", "the calibration is missing", hint);
        let calibration = self.calibration.clone().ok_or_else(missing)?;
        Ok(Predictor::ClassNetworks(ClassNetworks { mixture, alternatives: mixtures, calibration }))
    }

    /// The mixture density networks of the file.
    fn read_density<'a>(
        &self,
        density: &DensityHeader,
        arrays: &mut Peekable<impl Iterator<Item = &'a NamedArray>>,
    ) -> Result<Predictor> {
        let mut members = Vec::new();
        for (i, form) in density.forms.iter().enumerate() {
            let array = arrays.next().filter(|array| array.name == density_name(i));
            let sound = array.filter(|array| {
                array.values.len() == form.len() && array.values.iter().all(|v| v.is_finite())
            });
            let hint = "the file is damaged: fit the model again";
            let problem = || Error::data(density_name(i), "the parameters are missing or damaged", hint);
            let array = sound.ok_or_else(problem)?;
            members.push(Member { form: form.clone(), parameters: array.values.clone(), regressors: None });
        }
        let mut ensemble = Ensemble {
            members,
            groups: density.groups(),
            scales: density.scales.clone(),
            ranges: density.ranges.clone(),
            regressors: Vec::new(),
            known: KnownRows::default(),
            learned_rho: density.learned_rho,
        };
        let (folds, offsets) = ensemble.offset_counts();
        let mut regressors = Vec::new();
        for fold in 0..folds {
            let mut of_fold = Vec::new();
            for i in 0..offsets {
                let columns = density.forms[0].inputs();
                let found = arrays.next().and_then(|array| match &array.name {
                    name if *name == trees_name(fold, i) => {
                        Boosted::from_array(columns, &array.values).map(Regressor::Trees)
                    }
                    name if *name == process_name(fold, i) => {
                        Process::from_array(columns, &array.values).map(Regressor::Process)
                    }
                    _ => None,
                });
                let hint = "the file is damaged: fit the model again";
                let problem =
                    || Error::data(trees_name(fold, i), "the regressor is missing or damaged", hint);
                of_fold.push(found.ok_or_else(problem)?);
            }
            regressors.push(of_fold.into());
        }
        ensemble.set_regressors(regressors);
        if let Some(array) = arrays.next_if(|array| array.name == KNOWN_ROWS) {
            let hint = "the file is damaged: fit the model again";
            let problem = || Error::data(KNOWN_ROWS, "the rows are damaged", hint);
            ensemble.known = KnownRows::from_array(&array.values, FOLDS).ok_or_else(problem)?;
        }
        Ok(Predictor::Density(ensemble))
    }

    /// The `i`-th mixture of the file, whose arrays come next.
    fn read_mixture<'a>(
        &self,
        i: usize,
        part: &MixtureHeader,
        arrays: &mut Peekable<impl Iterator<Item = &'a NamedArray>>,
        device: &Device,
    ) -> Result<Mixture> {
        let mut members = Vec::new();
        for m in 0..part.members {
            let mut nets = Vec::new();
            for j in 0..part.networks {
                let prefix = network_prefix(i, m, j);
                let mut weights = Vec::new();
                while let Some(w) = arrays.next_if(|w| w.name.starts_with(&prefix)) {
                    weights.push(NamedArray { name: w.name[prefix.len()..].to_owned(), ..w.clone() });
                }
                nets.push(self.network(part, &weights, device)?);
            }
            members.push(Components { nets, classes: self.classes });
        }
        Ok(Mixture { members, scales: part.scales.clone(), prior: part.prior.clone() })
    }

    fn network(&self, part: &MixtureHeader, weights: &[NamedArray], device: &Device) -> Result<Net> {
        let class_inputs = if part.networks == self.classes { 0 } else { self.classes };
        let shapes = Shapes { classes: class_inputs, ..self.shapes.clone() };
        let found: usize = weights.iter().map(|weight| weight.values.len()).sum();
        let expected = self.base.parameters(&shapes);
        if expected != found as u64 {
            let problem = format!("the file has {found} numbers for a network of {expected} parameters");
            return Err(Error::data("weights", problem, "the file is damaged: fit the model again"));
        }
        load_weights(self.base.init(&shapes, &mut stream(0, &[]), device)?, weights)
    }
}
