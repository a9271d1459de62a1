//! `model.json`: what abduction needs besides the networks.

use serde::Serialize;

use crate::config::Base;
use crate::data::ChannelScaler;
use crate::data::table::Layout;
use crate::density::{Ensemble, Noise, OutcomeRange};
use crate::math::UNIFORM_NODES;
use crate::model::{Calibration, ClassNetworks, Components, Model, Predictor, SparseEffects};

/// The version of the format of the folder.
const FORMAT_VERSION: u32 = 2;

/// The content of `model.json`.
#[derive(Debug, Serialize)]
pub(super) struct Description<'a> {
    format: &'static str,
    format_version: u32,
    cfqp_version: &'a str,
    base: Base,
    classes: usize,
    x_shape: &'a [usize],
    t_shape: [usize; 1],
    y_shape: &'a [usize],
    /// Whether x may be NaN, for a missing value.
    missing_x: bool,
    members: Vec<MemberDescription>,
    /// How answers are computed from the members.
    #[serde(flatten)]
    answers: AnswerDescription<'a>,
    learned_rho: Option<f64>,
    /// `[weight, at]`: what an unknown rho is averaged over.
    uniform_nodes: Vec<[f64; 2]>,
    layout: Option<&'a Layout>,
}

/// One member.
#[derive(Debug, Serialize)]
struct MemberDescription {
    file: String,
    classes: usize,
    noise: NoiseDescription,
    /// The group of members of one form that it belongs to; classes are those of group 0.
    group: usize,
    /// The weight of its answers; those of all members add up to 1.
    weight: f64,
}

/// The law of a standardised residual z = (y - mean) / scale.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "law")]
enum NoiseDescription {
    Gaussian,
    StudentT { nu: f64 },
    Skewed { skewness: f64, tail: f64 },
}

impl NoiseDescription {
    fn new(noise: Noise) -> Self {
        match noise {
            Noise::Gaussian => Self::Gaussian,
            Noise::StudentT { nu, .. } => Self::StudentT { nu },
            Noise::Skewed { skewness, tail } => Self::Skewed { skewness, tail },
        }
    }
}

/// How answers are computed from the members.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "predictor")]
enum AnswerDescription<'a> {
    /// The means of all members are averaged; there is one posterior.
    ClassNetworks {
        /// The share of scale^2 that is noise, of every element.
        noise_share: &'a [f32],
        /// The factor on the variance between members.
        member_factor: f32,
        sparse_effects: Option<SparseEffects>,
    },
    /// Every member has its own posterior and answer.
    Density {
        /// Smallest and largest outcome of elements whose logarithm is modelled.
        log_range: Vec<Option<[f64; 2]>>,
        /// What answers about elements of positive outcomes are at least.
        floor: Vec<Option<f64>>,
        /// Means of slices of equal probability of a normal score.
        slices: Vec<f64>,
        /// Whether all treatments have few values: then the class under one need not be that under another.
        few_values: bool,
    },
}

/// The name of the file of a member.
pub(super) fn member_file(member: usize) -> String {
    format!("member-{member}.onnx")
}

impl<'a> Description<'a> {
    /// The description of a model.
    pub(super) fn new(model: &'a Model) -> Self {
        let (members, answers) = match &model.predictor {
            Predictor::ClassNetworks(networks) => class_networks(networks),
            Predictor::Density(ensemble) => density(ensemble, &model.scaler().y),
        };
        let shapes = model.shapes();
        Self {
            format: "cfqp-onnx",
            format_version: FORMAT_VERSION,
            cfqp_version: env!("CARGO_PKG_VERSION"),
            base: model.base(),
            classes: model.classes(),
            x_shape: &shapes.x,
            t_shape: [shapes.t],
            y_shape: &shapes.y,
            missing_x: shapes.missing,
            members,
            answers,
            learned_rho: model.learned_rho(),
            uniform_nodes: UNIFORM_NODES.iter().map(|node| [node.weight, node.at]).collect(),
            layout: model.layout(),
        }
    }
}

fn class_networks(networks: &ClassNetworks) -> (Vec<MemberDescription>, AnswerDescription<'_>) {
    let member = |(i, member): (usize, &Components)| MemberDescription {
        file: member_file(i),
        classes: member.classes,
        noise: NoiseDescription::Gaussian,
        group: 0,
        weight: 1.0 / networks.mixture.members.len() as f64,
    };
    let Calibration { noise_share, member_factor, sparse_effects, .. } = &networks.calibration;
    let answers = AnswerDescription::ClassNetworks {
        noise_share,
        member_factor: *member_factor,
        sparse_effects: *sparse_effects,
    };
    (networks.mixture.members.iter().enumerate().map(member).collect(), answers)
}

fn density(
    ensemble: &Ensemble,
    scaler: &ChannelScaler,
) -> (Vec<MemberDescription>, AnswerDescription<'static>) {
    let mut members = Vec::new();
    for (group, (of_group, own)) in ensemble.groups.iter().zip(ensemble.member_groups()).enumerate() {
        for member in own {
            members.push(MemberDescription {
                file: member_file(members.len()),
                classes: member.form.classes,
                noise: NoiseDescription::new(member.evaluator().noise),
                group,
                weight: of_group.weight / of_group.members as f64,
            });
        }
    }
    let floor = |(j, range): (usize, &OutcomeRange)| {
        let mut zero = vec![0.0; scaler.elements()];
        scaler.restore(&mut zero);
        range.floor.map(|floor| f64::from(zero[j]) + f64::from(scaler.deviation(j)) * floor)
    };
    let answers = AnswerDescription::Density {
        log_range: ensemble.scales.iter().map(|scale| scale.log_range()).collect(),
        floor: ensemble.ranges.iter().enumerate().map(floor).collect(),
        slices: Noise::slices(),
        few_values: ensemble.members[0].form.has_few_values(),
    };
    (members, answers)
}
