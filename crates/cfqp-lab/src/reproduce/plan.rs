//! The plan of each experiment: data, sizes, methods, seeds.

use clap::ValueEnum;
use serde::Serialize;

use cfqp::rivals::{Method, MethodConfig, SyntheticControlConfig};
use cfqp::sim::Noise;
use cfqp::{Classes, FitConfig};

use super::scenario::{Scenario, Simulator};

/// A table or a figure of the paper, or an experiment of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Experiment {
    /// Counterfactual error of every method on all six data sets
    Table1,
    /// Structural similarity on digits
    Ssim,
    /// Error of effects on the cardiovascular data
    Pehe,
    /// Error against the number of classes, with the held-out score of each
    Classes,
    /// Error against the correlation of class and digit
    Correlation,
    /// Agreement of inferred and true classes
    Clustering,
    /// Error against the standard deviation of the noise, and against its counterfactual correlation
    Noise,
    /// A negative control: data without hidden classes
    Control,
    /// All of them
    All,
}

impl Experiment {
    /// All but `All`.
    pub(super) const SINGLE: [Self; 8] = [
        Self::Table1,
        Self::Ssim,
        Self::Pehe,
        Self::Classes,
        Self::Correlation,
        Self::Clustering,
        Self::Noise,
        Self::Control,
    ];

    pub(super) fn name(self) -> &'static str {
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

/// The size of the data and the training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Scale {
    /// A check that it runs: a few dozen units and two epochs; the figures mean nothing
    Smoke,
    /// The paper's sizes for series; 3,000 digits and 40 epochs for every method
    Small,
    /// The paper's sizes throughout
    Paper,
}

/// The number of training and test units, and the maximum number of seeds.
pub(super) struct Size {
    pub train: usize,
    pub test: usize,
    pub seeds: usize,
}

impl Scale {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Small => "small",
            Self::Paper => "paper",
        }
    }

    pub(super) fn size(self, simulator: Simulator) -> Size {
        let size = |train, test, seeds| Size { train, test, seeds };
        match (self, simulator) {
            (Self::Smoke, Simulator::Digits) => size(48, 12, 1),
            (Self::Smoke, _) => size(96, 24, 1),
            (_, Simulator::Ihdp) => size(2000, 1000, 5),
            (_, Simulator::Oscillator) => size(2100, 1000, 5),
            (_, Simulator::Cardio) => size(3500, 1000, 5),
            (Self::Small, Simulator::Digits) => size(3000, 500, 2),
            (Self::Paper, Simulator::Digits) => size(42_000, 1000, 5),
        }
    }

    /// The maximum number of seeds of a sweep.
    fn max_sweep_seeds(self) -> usize {
        if self == Self::Paper { 5 } else { 1 }
    }

    /// The settings of all methods on `scenario`.
    pub(super) fn config(self, scenario: &Scenario, classes: Classes) -> MethodConfig {
        let defaults = FitConfig::default();
        let (epochs, batch) = match (self, scenario.simulator) {
            (Self::Smoke, _) => (Some(2), defaults.batch),
            // the same for every method: with the default schedules a data set takes half an hour
            (Self::Small, Simulator::Digits) => (Some(40), 64),
            _ => (None, defaults.batch),
        };
        let fit = FitConfig { classes, epochs, batch, ..defaults };
        // degrees of rotation, and doses between 0 and 1
        let window = match (self, scenario.simulator) {
            (Self::Smoke, Simulator::Digits) => 20.0,
            (Self::Smoke, _) => 0.5,
            (_, Simulator::Digits) => 1.0,
            _ => 0.1,
        };
        let sc = SyntheticControlConfig { window };
        MethodConfig { fit, rho: scenario.rho().into(), sc, ..MethodConfig::default() }
    }
}

/// One data set with one seed, and the methods to run on it.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub scenario: Scenario,
    pub seed: u64,
    pub methods: Vec<Method>,
    /// The number of classes; none if it is to be chosen.
    pub classes: Option<usize>,
    /// The value of the setting that the experiment sweeps.
    pub swept_value: Option<f64>,
    /// Set if the experiment sweeps the number of classes.
    pub class_sweep: Option<ClassSweep>,
}

/// The place of a cell among several that differ only in the number of classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassSweep {
    /// Numbers of classes up to this one are scored on held-out units.
    pub max_classes: usize,
    /// Whether this is the last cell, after which they are scored.
    pub is_last: bool,
}

/// The cells of an experiment. Experiments may share cells, whose finished runs are then reused.
pub(super) fn cells(experiment: Experiment, scale: Scale, seeds: usize) -> Vec<Cell> {
    let table1 = Scenario::table1();
    let select = |keep: fn(&Scenario) -> bool| table1.iter().copied().filter(keep).collect::<Vec<_>>();
    match experiment {
        Experiment::Table1 | Experiment::Clustering | Experiment::All => {
            seeded(&table1, scale, seeds, &Method::PAPER)
        }
        Experiment::Ssim => {
            seeded(&select(|own| own.simulator == Simulator::Digits), scale, seeds, &Method::PAPER)
        }
        Experiment::Pehe => {
            let cardio = Scenario::new(Simulator::Cardio, Noise::Additive);
            seeded(&[cardio], scale, seeds, &Method::PAPER)
        }
        Experiment::Classes => by_classes(&table1, scale, seeds),
        Experiment::Correlation => {
            let digits = Scenario::new(Simulator::Digits, Noise::Additive);
            let scenarios = [0.0, 0.25, 0.5, 0.75, 1.0].map(|correlation| Scenario { correlation, ..digits });
            let methods = [Method::DeepIte, Method::Cfqp];
            swept(&scenarios, scale, seeds, &methods, |scenario| scenario.correlation)
        }
        Experiment::Noise => by_noise(scale, seeds),
        Experiment::Control => {
            let control = Scenario::new(Simulator::Ihdp, Noise::Additive);
            let cells = seeded(&[control], scale, seeds, &[Method::DeepIte, Method::Cfqp]);
            cells.into_iter().map(|cell| Cell { classes: None, ..cell }).collect()
        }
    }
}

/// A cell per scenario and seed.
fn seeded(scenarios: &[Scenario], scale: Scale, seeds: usize, methods: &[Method]) -> Vec<Cell> {
    let cells = |&scenario: &Scenario| {
        let seeds = seeds.min(scale.size(scenario.simulator).seeds) as u64;
        let cell = move |seed| Cell {
            scenario,
            seed,
            methods: methods.to_vec(),
            classes: Some(scenario.classes()),
            swept_value: None,
            class_sweep: None,
        };
        (1..=seeds).map(cell)
    };
    scenarios.iter().flat_map(cells).collect()
}

fn swept(
    scenarios: &[Scenario],
    scale: Scale,
    seeds: usize,
    methods: &[Method],
    value: impl Fn(&Scenario) -> f32,
) -> Vec<Cell> {
    let cell = |cell: Cell| Cell { swept_value: Some(f64::from(value(&cell.scenario))), ..cell };
    let cells = seeded(scenarios, scale, seeds.min(scale.max_sweep_seeds()), methods);
    cells.into_iter().map(cell).collect()
}

/// Sweeps the standard deviation of the noise, then its correlation with the counterfactual noise.
fn by_noise(scale: Scale, seeds: usize) -> Vec<Cell> {
    let oscillator = Scenario::new(Simulator::Oscillator, Noise::Additive);
    let (sigmas, rhos): (&[f32], &[f32]) = match scale {
        Scale::Smoke => (&[0.05, 0.1], &[0.0]),
        _ => (&[0.01, 0.03, 0.1, 0.3], &[0.0, 0.5, 0.9, 1.0]),
    };
    let sized: Vec<Scenario> =
        sigmas.iter().map(|&sigma| Scenario { sigma: Some(sigma), ..oscillator }).collect();
    let shared: Vec<Scenario> =
        rhos.iter().map(|&rho| Scenario { sigma: Some(0.1), rho: Some(rho), ..oscillator }).collect();
    let mut cells = swept(&sized, scale, seeds, &Method::PAPER, |own| own.sigma.unwrap_or_default());
    cells.extend(swept(&shared, scale, seeds, &Method::PAPER, |own| own.rho.unwrap_or_default()));
    cells
}

fn by_classes(scenarios: &[Scenario], scale: Scale, seeds: usize) -> Vec<Cell> {
    // the numbers of classes to fit, and the maximum to score on held-out units
    let numbers = |scenario: &Scenario| -> (Vec<usize>, usize) {
        match (scale, scenario.simulator) {
            (Scale::Smoke, _) => (vec![1, 2], 2),
            (Scale::Small, Simulator::Digits) => (vec![1, 3, 5, 6, 7], 8),
            (_, Simulator::Digits) => ((1..=9).collect(), 9),
            _ => ((1..=5).collect(), 5),
        }
    };
    let sweep = |cell: Cell| {
        let (fitted, max_classes) = numbers(&cell.scenario);
        let last = fitted.last().copied();
        fitted.into_iter().map(move |classes| Cell {
            classes: Some(classes),
            swept_value: Some(classes as f64),
            class_sweep: Some(ClassSweep { max_classes, is_last: last == Some(classes) }),
            ..cell.clone()
        })
    };
    let cells = seeded(scenarios, scale, seeds.min(scale.max_sweep_seeds()), &[Method::Cfqp]);
    cells.into_iter().flat_map(sweep).collect()
}

/// The name of the setting that a sweep varies.
pub(super) fn swept_name(experiment: Experiment, scenario: &Scenario) -> Option<&'static str> {
    match experiment {
        Experiment::Classes => Some("number of classes"),
        Experiment::Correlation => Some("correlation of class and digit"),
        Experiment::Noise if scenario.rho.is_some() => {
            Some("correlation of factual and counterfactual noise")
        }
        Experiment::Noise => Some("standard deviation of the noise"),
        _ => None,
    }
}
