//! A fitted model.

use std::sync::Arc;

use burn::tensor::Device;

use super::header::Header;
use super::mixture::Mixture;
use super::{Calibration, FitReport, Support};
use crate::config::{Base, FitConfig};
use crate::data::Scaler;
use crate::data::table::Layout;
use crate::models::Shapes;
use crate::runtime::Pool;
use crate::{Error, Result};

/// A fitted model: asked by [`ask`](Self::ask), saved to and loaded from one file.
///
/// ```
/// use cfqp::sim::Oscillator;
/// use cfqp::{Base, Classes, Fit, FitConfig, Model, Resources};
///
/// # fn main() -> cfqp::Result<()> {
/// let simulated = Oscillator::default().simulate(200, 1)?;
/// let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
/// let model = Fit::new(config).run(&simulated.data)?;
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("model.cfqp");
/// model.save(&path)?;
/// let again = Model::load(&path, &Resources::default())?;
/// assert_eq!(
///     again.ask(&simulated.data).under(0.5).answers()?.point,
///     model.ask(&simulated.data).under(0.5).answers()?.point,
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) header: Header,
    pub(crate) mixture: Mixture,
    /// Other solutions that held-out units do not rule out.
    pub(crate) alternatives: Vec<Mixture>,
    pub(crate) support: Support,
    pub(crate) device: Device,
    /// The threads that answer questions.
    pub(crate) pool: Arc<Pool>,
}

impl Model {
    /// A model of these parts, with `threads` threads of its own.
    pub(crate) fn new(
        header: Header,
        mixture: Mixture,
        alternatives: Vec<Mixture>,
        support: Support,
        device: Device,
        threads: usize,
    ) -> Result<Self> {
        let pool = Arc::new(Pool::new(threads)?);
        Ok(Self { header, mixture, alternatives, support, device, pool })
    }

    /// The report of the fit.
    pub fn fit_report(&self) -> &FitReport {
        &self.header.report
    }

    /// The settings of the fit.
    pub fn config(&self) -> &FitConfig {
        &self.header.config
    }

    /// The columns of the table that the model was fitted to, if it was a table.
    pub fn layout(&self) -> Option<&Layout> {
        self.header.layout.as_ref()
    }

    /// The same model, with the columns of the table that it was fitted to.
    pub(crate) fn with_layout(mut self, layout: Layout) -> Result<Self> {
        self.header.layout = Some(layout);
        let checked = self.header.validate();
        checked.map_err(|problem| Error::data("layout", problem, "give the layout of the data"))?;
        Ok(self)
    }

    /// The version of this library that fitted the model.
    pub fn version(&self) -> &str {
        &self.header.version
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.header.classes
    }

    /// The base model; never [`Base::Auto`].
    pub fn base(&self) -> Base {
        self.header.base.kind()
    }

    /// The number of members of the ensemble.
    pub fn members(&self) -> usize {
        self.mixture.members.len()
    }

    /// Whether all classes share one network with the class as input.
    pub fn is_shared(&self) -> bool {
        self.classes() > 1 && self.mixture.members[0].nets.len() == 1
    }

    /// The shapes of x, t and y.
    pub fn shapes(&self) -> &Shapes {
        &self.header.shapes
    }

    /// The standardisation of x, t and y.
    pub fn scaler(&self) -> &Scaler {
        &self.header.scaler
    }

    /// Whether the noise scale of any class depends on the treatment.
    pub fn scale_depends_on_treatment(&self) -> bool {
        (0..self.classes()).any(|k| self.mixture.scales.depends_on_treatment(k))
    }

    /// Whether the class weights depend on the covariates.
    pub fn weights_depend_on_covariates(&self) -> bool {
        self.mixture.prior.depends_on_x()
    }

    /// The number of calibration units.
    pub fn calibration_units(&self) -> usize {
        self.calibration().units
    }

    /// The share of outcome elements that do not respond to the treatment, if effects are sparse.
    pub fn unresponsive_share(&self) -> Option<f64> {
        self.calibration().sparse_effects.map(|sparse| sparse.unresponsive_share())
    }

    /// The correlation of the noise of two units of one subject; `None` if the fit saw no subject more than once.
    pub fn learned_rho(&self) -> Option<f64> {
        None
    }

    pub(crate) fn calibration(&self) -> &Calibration {
        &self.header.calibration
    }
}
