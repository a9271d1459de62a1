//! What each experiment runs: data, sizes, methods, seeds.

use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;

use cfqp::sim::{Cardio, DigitSource, Digits, Ihdp, Noise, Oscillator, Simulated};
use cfqp::{Classes, FitConfig, Method, MethodConfig, Mnist, MnistPart, SyntheticControlConfig};

use crate::error::Result;

/// A table or a figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Counterfactual error of every method on all six data sets
    Table1,
    /// Structural similarity on digits
    Ssim,
    /// Error of effects on the cardiovascular data
    Pehe,
    /// Error against the number of classes, with what held-out units say of it
    Classes,
    /// Error against the correlation of class and digit
    Correlation,
    /// How well the classes are found
    Clustering,
    /// Error against the size of the noise, and against how much of it the two worlds share
    Noise,
    /// A negative control: nothing is hidden, and nothing may be found
    Control,
    /// All of them
    All,
}

impl Experiment {
    pub const EACH: [Self; 8] = [
        Self::Table1,
        Self::Ssim,
        Self::Pehe,
        Self::Classes,
        Self::Correlation,
        Self::Clustering,
        Self::Noise,
        Self::Control,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Table1 => "table1",
            Self::Ssim => "ssim",
            Self::Pehe => "pehe",
            Self::Classes => "classes",
            Self::Correlation => "correlation",
            Self::Clustering => "clustering",
            Self::Noise => "noise",
            Self::Control => "control",
            Self::All => "all",
        }
    }
}

/// How large everything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Does it run? A few dozen units and two epochs; figures mean nothing
    Smoke,
    /// The paper's sizes for series; 3,000 digits and 40 epochs for every method
    Small,
    /// The paper's sizes throughout
    Paper,
}

/// Where units come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Oscillator,
    Digits,
    Cardio,
    Ihdp,
}

/// A data set and how its noise and classes are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct World {
    pub kind: Kind,
    pub noise: Noise,
    pub sigma: Option<f32>,
    /// Of the noise in the two worlds.
    pub rho: Option<f32>,
    /// Of class and digit.
    pub correlation: f32,
}

impl World {
    fn new(kind: Kind, noise: Noise) -> Self {
        Self { kind, noise, sigma: None, rho: None, correlation: 0.0 }
    }

    /// The six columns of table 1, in the paper's order.
    pub fn six() -> Vec<Self> {
        let kinds = [Kind::Oscillator, Kind::Digits, Kind::Cardio];
        [Noise::Additive, Noise::NonAdditive]
            .into_iter()
            .flat_map(|noise| kinds.map(|kind| Self::new(kind, noise)))
            .collect()
    }

    pub fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Oscillator => "oscillator",
            Kind::Digits => "digits",
            Kind::Cardio => "cardio",
            Kind::Ihdp => return "ihdp".to_owned(),
        };
        let noise = if self.noise == Noise::Additive { "additive" } else { "non-additive" };
        match (self.sigma, self.rho) {
            (Some(sigma), Some(_)) => format!("{kind}, {noise}, sigma {sigma}"),
            _ => format!("{kind}, {noise}"),
        }
    }

    pub fn classes(&self) -> usize {
        match self.kind {
            Kind::Oscillator => 3,
            Kind::Digits => 6,
            Kind::Cardio => 2,
            Kind::Ihdp => 1,
        }
    }

    /// How much of the noise the two worlds share.
    pub fn rho(&self) -> f32 {
        self.rho.unwrap_or(if self.kind == Kind::Ihdp { 0.0 } else { 1.0 })
    }

    /// The treatments under which a few units are shown.
    pub fn shown_treatments(&self) -> Vec<f32> {
        match self.kind {
            Kind::Oscillator => vec![0.3, 0.6, 0.9],
            Kind::Cardio => vec![0.5, 0.7, 0.9],
            Kind::Digits => vec![5.0, 12.0, 19.0, 26.0, 33.0],
            Kind::Ihdp => Vec::new(),
        }
    }

    pub fn simulate(&self, n: usize, seed: u64, mnist: Option<&Mnist>) -> Result<Simulated> {
        let &Self { noise, sigma, rho, correlation, .. } = self;
        Ok(match self.kind {
            Kind::Oscillator => {
                Oscillator { noise, sigma, rho, ..Oscillator::default() }.simulate(n, seed)?
            }
            Kind::Cardio => Cardio { noise, sigma, rho, ..Cardio::default() }.simulate(n, seed)?,
            Kind::Digits => {
                let source = mnist.map_or(DigitSource::Drawn, DigitSource::Mnist);
                Digits { noise, sigma, rho, class_correlation: correlation, ..Digits::default() }
                    .simulate(source, n, seed)?
            }
            Kind::Ihdp => Ihdp { sigma, rho }.simulate(n, seed)?,
        })
    }
}

/// Units to learn from and to be asked about, and how many seeds at most.
pub struct Size {
    pub train: usize,
    pub test: usize,
    pub seeds: usize,
}

impl Scale {
    pub fn size(self, kind: Kind) -> Size {
        let size = |train, test, seeds| Size { train, test, seeds };
        match (self, kind) {
            (Self::Smoke, Kind::Digits) => size(48, 12, 1),
            (Self::Smoke, _) => size(96, 24, 1),
            (_, Kind::Ihdp) => size(2000, 1000, 5),
            (_, Kind::Oscillator) => size(2100, 1000, 5),
            (_, Kind::Cardio) => size(3500, 1000, 5),
            (Self::Small, Kind::Digits) => size(3000, 500, 2),
            (Self::Paper, Kind::Digits) => size(42_000, 1000, 5),
        }
    }

    /// The most seeds of an experiment that sweeps something.
    fn sweep_seeds(self) -> usize {
        if self == Self::Paper { 5 } else { 1 }
    }

    /// Settings of all methods on such data.
    pub fn config(self, world: &World, classes: Classes) -> MethodConfig {
        let usual = FitConfig::default();
        let (epochs, batch) = match (self, world.kind) {
            (Self::Smoke, _) => (Some(2), usual.batch),
            // the same for every method: with the usual schedules a data set takes half an hour
            (Self::Small, Kind::Digits) => (Some(40), 64),
            _ => (None, usual.batch),
        };
        let fit = FitConfig { classes, epochs, batch, ..usual };
        // degrees of turning, and doses between 0 and 1
        let window = match (self, world.kind) {
            (Self::Smoke, Kind::Digits) => 20.0,
            (Self::Smoke, _) => 0.5,
            (_, Kind::Digits) => 1.0,
            _ => 0.1,
        };
        let sc = SyntheticControlConfig { window };
        MethodConfig { fit, rho: world.rho(), sc, ..MethodConfig::default() }
    }
}

/// One data set with one seed, and what runs on it.
#[derive(Clone, Debug)]
pub struct Cell {
    pub world: World,
    pub seed: u64,
    pub methods: Vec<Method>,
    /// None: to be found.
    pub classes: Option<usize>,
    /// Where the experiment sweeps something: its value.
    pub at: Option<f64>,
    /// Where the experiment sweeps the number of classes.
    pub sweep: Option<Sweep>,
}

/// One of several cells that differ in the number of classes alone.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// Held-out units are asked about every number of classes up to this one ...
    pub most: usize,
    /// ... after the last of the cells.
    pub last: bool,
}

/// What an experiment runs; some share their runs, which are then found again.
pub fn cells(experiment: Experiment, scale: Scale, seeds: usize) -> Vec<Cell> {
    let six = World::six();
    let of = |noise: Noise, kind: Kind| move |world: &&World| (world.noise, world.kind) == (noise, kind);
    let some = |keep: &dyn Fn(&&World) -> bool| six.iter().filter(keep).copied().collect::<Vec<_>>();
    match experiment {
        Experiment::Table1 | Experiment::Clustering | Experiment::All => {
            each(&six, scale, seeds, &Method::ALL)
        }
        Experiment::Ssim => each(&some(&|w| w.kind == Kind::Digits), scale, seeds, &Method::ALL),
        Experiment::Pehe => each(&some(&of(Noise::Additive, Kind::Cardio)), scale, seeds, &Method::ALL),
        Experiment::Classes => by_classes(&six, scale, seeds),
        Experiment::Correlation => {
            let sweep = [0.0, 0.25, 0.5, 0.75, 1.0]
                .map(|correlation| World { correlation, ..World::new(Kind::Digits, Noise::Additive) });
            swept(&sweep, scale, seeds, &[Method::DeepIte, Method::Cfqp], |world| {
                f64::from(world.correlation)
            })
        }
        Experiment::Noise => {
            let sigmas = if scale == Scale::Smoke { vec![0.05, 0.1] } else { vec![0.01, 0.03, 0.1, 0.3] };
            let oscillator = World::new(Kind::Oscillator, Noise::Additive);
            let sizes: Vec<World> =
                sigmas.into_iter().map(|sigma| World { sigma: Some(sigma), ..oscillator }).collect();
            let rhos = if scale == Scale::Smoke { vec![0.0] } else { vec![0.0, 0.5, 0.9, 1.0] };
            let shared: Vec<World> = rhos
                .into_iter()
                .map(|rho| World { sigma: Some(0.1), rho: Some(rho), ..oscillator })
                .collect();
            let value = |value: Option<f32>| f64::from(value.unwrap_or_default());
            let mut cells = swept(&sizes, scale, seeds, &Method::ALL, |world| value(world.sigma));
            cells.extend(swept(&shared, scale, seeds, &Method::ALL, |world| value(world.rho)));
            cells
        }
        Experiment::Control => {
            let control = World::new(Kind::Ihdp, Noise::Additive);
            let found = |cell: Cell| Cell { classes: None, ..cell };
            each(&[control], scale, seeds, &[Method::DeepIte, Method::Cfqp]).into_iter().map(found).collect()
        }
    }
}

fn each(worlds: &[World], scale: Scale, seeds: usize, methods: &[Method]) -> Vec<Cell> {
    worlds
        .iter()
        .flat_map(|&world| {
            let seeds = seeds.min(scale.size(world.kind).seeds) as u64;
            let methods = methods.to_vec();
            (1..=seeds).map(move |seed| Cell {
                world,
                seed,
                methods: methods.clone(),
                classes: Some(world.classes()),
                at: None,
                sweep: None,
            })
        })
        .collect()
}

fn swept(
    worlds: &[World],
    scale: Scale,
    seeds: usize,
    methods: &[Method],
    at: impl Fn(&World) -> f64,
) -> Vec<Cell> {
    let cell = |cell: Cell| Cell { at: Some(at(&cell.world)), ..cell };
    each(worlds, scale, seeds.min(scale.sweep_seeds()), methods).into_iter().map(cell).collect()
}

fn by_classes(worlds: &[World], scale: Scale, seeds: usize) -> Vec<Cell> {
    // the numbers of classes to fit, and how far up held-out units are asked about all of them
    let numbers = |world: &World| -> (Vec<usize>, usize) {
        match (scale, world.kind) {
            (Scale::Smoke, _) => (vec![1, 2], 2),
            (Scale::Small, Kind::Digits) => (vec![1, 3, 5, 6, 7], 8),
            (_, Kind::Digits) => ((1..=9).collect(), 9),
            _ => ((1..=5).collect(), 5),
        }
    };
    let cells = each(worlds, scale, seeds.min(scale.sweep_seeds()), &[Method::Cfqp]);
    let by = |cell: Cell| {
        let (fitted, most) = numbers(&cell.world);
        let last = fitted.last().copied();
        fitted.into_iter().map(move |classes| Cell {
            classes: Some(classes),
            at: Some(classes as f64),
            sweep: Some(Sweep { most, last: last == Some(classes) }),
            ..cell.clone()
        })
    };
    cells.into_iter().flat_map(by).collect()
}

/// What a sweep varies, in words.
pub fn swept_name(experiment: Experiment, world: &World) -> Option<&'static str> {
    match experiment {
        Experiment::Classes => Some("number of classes"),
        Experiment::Correlation => Some("correlation of class and digit"),
        Experiment::Noise if world.rho.is_some() => Some("correlation of the noise in the two worlds"),
        Experiment::Noise => Some("standard deviation of the noise"),
        _ => None,
    }
}

/// The digits of MNIST, where a folder is given.
pub fn read_mnist(folder: Option<&Path>, part: MnistPart) -> Result<Option<Mnist>> {
    Ok(folder.map(|folder| Mnist::load(folder, part)).transpose()?)
}
