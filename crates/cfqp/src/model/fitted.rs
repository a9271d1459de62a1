//! A fitted model.

use std::sync::Arc;

use burn::tensor::Device;

use super::density_units::outcome_kinds;
use super::header::Header;
use super::predictor::Predictor;
use super::{FitReport, Support};
use crate::config::{Base, FitConfig};
use crate::data::table::Layout;
use crate::data::{Dataset, OutcomeKind, Scaler};
use crate::density::{ClassWeights, Group, JACKKNIFE_RATIO, NoiseLaw};
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
    pub(crate) predictor: Predictor,
    pub(crate) support: Support,
    pub(crate) device: Device,
    /// The threads that answer questions.
    pub(crate) pool: Arc<Pool>,
}

impl Model {
    /// A model of these parts; `pool` answers questions.
    pub(crate) fn new(
        mut header: Header,
        predictor: Predictor,
        support: Support,
        device: Device,
        pool: Arc<Pool>,
    ) -> Self {
        header.describe(&predictor);
        Self { header, predictor, support, device, pool }
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

    /// The hash of the units that the model was fitted to, those given for validation included; see
    /// [`Dataset::content_hash`]. `None` for files of early versions.
    pub fn data_hash(&self) -> Option<&str> {
        self.header.data_hash.as_deref()
    }

    /// Whether `data` are the units that the model was fitted to, in any order.
    pub fn is_fitted_to(&self, data: &Dataset) -> bool {
        self.data_hash().is_some_and(|hash| hash == data.content_hash())
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
        self.predictor.members()
    }

    /// A model of one member alone.
    pub(crate) fn with_member(&self, member: usize) -> Self {
        let mut one = self.clone();
        match &mut one.predictor {
            Predictor::ClassNetworks(networks) => {
                networks.alternatives.clear();
                networks.mixture.members = vec![networks.mixture.members.swap_remove(member)];
            }
            Predictor::Density(ensemble) => {
                ensemble.members = vec![ensemble.members.swap_remove(member)];
                ensemble.groups =
                    vec![Group { members: 1, weight: 1.0, error_ratio: 1.0, unseen_share: 0.0 }];
                // a member may have another number of classes
                one.header.classes = ensemble.classes();
            }
        }
        one
    }

    /// Whether all classes share one network with the class as input.
    pub fn is_shared(&self) -> bool {
        match &self.predictor {
            Predictor::ClassNetworks(networks) => {
                self.classes() > 1 && networks.mixture.members[0].nets.len() == 1
            }
            Predictor::Density(_) => self.classes() > 1,
        }
    }

    /// The kind of every element of an outcome.
    pub fn outcome_kinds(&self) -> Vec<OutcomeKind> {
        match &self.predictor {
            Predictor::ClassNetworks(_) => vec![OutcomeKind::Number; self.scaler().y.elements()],
            Predictor::Density(ensemble) => outcome_kinds(ensemble.outcome_laws(), ensemble.elements().len()),
        }
    }

    /// Whether there are classes whose effects data show: with treatments of few values they do not show which class under one value
    /// is which under another.
    pub fn has_class_effects(&self) -> bool {
        let identified = match &self.predictor {
            Predictor::ClassNetworks(_) => true,
            Predictor::Density(ensemble) => ensemble.has_identified_classes(),
        };
        self.classes() > 1 && identified
    }

    /// The variance of the error of an average over that between members, as far as members err independently, and that of the
    /// error that all members have in common.
    pub(crate) fn member_error_ratios(&self) -> [f64; 2] {
        match &self.predictor {
            Predictor::ClassNetworks(networks) => [f64::from(networks.calibration.member_factor), 0.0],
            Predictor::Density(_) => [JACKKNIFE_RATIO, 0.0],
        }
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
        match &self.predictor {
            Predictor::ClassNetworks(networks) => {
                (0..self.classes()).any(|k| networks.mixture.scales.depends_on_treatment(k))
            }
            Predictor::Density(ensemble) => ensemble.members[0].form.varying_scale,
        }
    }

    /// Whether the class weights depend on the covariates.
    pub fn weights_depend_on_covariates(&self) -> bool {
        self.class_weights() != ClassWeights::Constant
    }

    /// What the class weights depend on before the outcome is observed.
    pub fn class_weights(&self) -> ClassWeights {
        match &self.predictor {
            Predictor::ClassNetworks(networks) if networks.mixture.prior.depends_on_x() => {
                ClassWeights::Covariates
            }
            Predictor::ClassNetworks(_) => ClassWeights::Constant,
            Predictor::Density(ensemble) => match &ensemble.members[0].form {
                form if form.classes == 1 => ClassWeights::Constant,
                form => form.weights,
            },
        }
    }

    /// The law of the noise.
    pub fn noise_law(&self) -> NoiseLaw {
        match &self.predictor {
            Predictor::ClassNetworks(_) => NoiseLaw::Gaussian,
            Predictor::Density(ensemble) => ensemble.members[0].form.law,
        }
    }

    /// Whether outcomes are modelled on the logarithmic scale.
    pub fn is_log_scale(&self) -> bool {
        match &self.predictor {
            Predictor::ClassNetworks(_) => false,
            Predictor::Density(ensemble) => ensemble.scales.iter().any(|scale| scale.is_log()),
        }
    }

    /// The number of calibration units.
    pub fn calibration_units(&self) -> usize {
        match &self.predictor {
            Predictor::ClassNetworks(networks) => networks.calibration.units,
            Predictor::Density(_) => self.header.report.units.total(),
        }
    }

    /// The share of outcome elements that do not respond to the treatment, if effects are sparse.
    pub fn unresponsive_share(&self) -> Option<f64> {
        match &self.predictor {
            Predictor::ClassNetworks(networks) => {
                networks.calibration.sparse_effects.map(|sparse| sparse.unresponsive_share())
            }
            Predictor::Density(_) => None,
        }
    }

    /// The correlation of the noise of two units of one subject; `None` if the fit saw no subject more than once.
    pub fn learned_rho(&self) -> Option<f64> {
        match &self.predictor {
            Predictor::ClassNetworks(_) => None,
            Predictor::Density(ensemble) => ensemble.learned_rho,
        }
    }
}
