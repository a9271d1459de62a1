//! Export to ONNX: a folder with one file per member and `model.json`.
//!
//! A file computes what a member says of every class k, from x and t on the scale of the data: the mean, the scale of the
//! noise and the logarithm of the class weight. `docs/ONNX.md` has the abduction and prediction on top of them.

mod classes;
mod density;
mod description;
mod graph;
mod input;
mod layers;
mod linear;
mod messages;
mod mlp;
mod output;
mod transformer;
mod unet;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use description::{Description, member_file};
use graph::Graph;

use crate::data::{OutcomeKind, write_atomically, write_folder_atomically};
use crate::model::{Model, Predictor};
use crate::{Error, Result};

/// The file that describes the others.
const DESCRIPTION: &str = "model.json";

impl Model {
    /// Writes the networks as ONNX files (opset 17) to a new folder, one file per member, with a `model.json` that says what
    /// else abduction needs. Returns the paths of the files. The folder is written completely or not at all.
    ///
    /// Each file has the inputs `x` `[n, ...]` and `t` `[n, d_t]` on the scale of the data, and of every class k the outputs
    /// `mean` and `scale` `[n, K, ...]`, and `log_weight` `[n, K]`. Where the logarithm of an outcome is modelled, mean and
    /// scale are those of the logarithm.
    ///
    /// # Errors
    /// [`Error::Data`] if outcomes are not numbers; [`Error::File`] if the folder is not empty or a network is too large for
    /// the format; [`Error::Io`] if a file cannot be written.
    ///
    /// # Examples
    /// ```
    /// use cfqp::sim::Oscillator;
    /// use cfqp::{Base, Classes, Fit, FitConfig};
    ///
    /// # fn main() -> cfqp::Result<()> {
    /// let simulated = Oscillator::default().simulate(100, 1)?;
    /// let config =
    ///     FitConfig { classes: Classes::Given(2), base: Base::Linear, members: Some(1), ..FitConfig::default() };
    /// let model = Fit::new(config).run(&simulated.data)?;
    /// let folder = tempfile::tempdir().unwrap();
    /// let files = model.export_onnx(&folder.path().join("onnx"))?;
    /// assert!(files[0].ends_with("onnx/member-0.onnx") && files[1].ends_with("onnx/model.json"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn export_onnx(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        self.check_numbers()?;
        let description = Description::new(self);
        let mut json = serde_json::to_vec_pretty(&description).map_err(|error| {
            Error::file(folder, "the model cannot be described as JSON", "fit it again").with_source(error)
        })?;
        json.push(b'\n');
        let mut names: Vec<String> = (0..self.members()).map(member_file).collect();
        write_folder_atomically(folder, |temporary| {
            for (i, name) in names.iter().enumerate() {
                let bytes = self.member_graph(i).into_bytes(name).ok_or_else(|| too_large(folder, name))?;
                write_file(&temporary.join(name), &bytes)?;
            }
            write_file(&temporary.join(DESCRIPTION), &json)
        })?;
        names.push(DESCRIPTION.to_owned());
        Ok(names.iter().map(|name| folder.join(name)).collect())
    }

    /// Checks that all outcomes are numbers: the others have laws of their own, which are not exported.
    fn check_numbers(&self) -> Result<()> {
        let kinds = self.outcome_kinds();
        match kinds.iter().position(|kind| *kind != OutcomeKind::Number) {
            None => Ok(()),
            Some(i) => Err(Error::data(
                format!("y, element {i}"),
                "is not a number, and only models of numbers can be exported to ONNX",
                "query the model with cfqp, or fit the outcome as a number",
            )),
        }
    }

    fn member_graph(&self, member: usize) -> Graph {
        let (shapes, scaler) = (self.shapes(), self.scaler());
        match &self.predictor {
            Predictor::ClassNetworks(networks) => {
                classes::member_graph(&networks.mixture, member, shapes, scaler)
            }
            Predictor::Density(ensemble) => {
                let scales = density::element_scales(&ensemble.scales, &classes::element_scales(&scaler.y));
                density::member_graph(&ensemble.members[member], shapes, scaler, &scales)
            }
        }
    }
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    write_atomically(path, |file| file.write_all(bytes).map_err(Error::io(path)))
}

fn too_large(folder: &Path, name: &str) -> Error {
    let problem = "the network has more than 2 GB, which an ONNX file cannot hold";
    Error::file(&folder.join(name), problem, "fit a smaller base model, or fewer classes")
}

#[cfg(test)]
mod tests;
