//! The simulated data sets of the experiments.

use clap::ValueEnum;
use serde::Serialize;

use cfqp::data::Mnist;
use cfqp::sim::{Cardio, DigitSource, Digits, Ihdp, Noise, Oscillator, Simulated};
use cfqp_cli::error::Result;

/// The simulator of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(super) enum Simulator {
    Oscillator,
    Digits,
    Cardio,
    Ihdp,
}

/// A simulated data set: the simulator and its settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Scenario {
    pub simulator: Simulator,
    pub noise: Noise,
    pub sigma: Option<f32>,
    /// The correlation of the factual and the counterfactual noise.
    pub rho: Option<f32>,
    /// The correlation of class and digit.
    pub correlation: f32,
}

impl Scenario {
    pub(super) fn new(simulator: Simulator, noise: Noise) -> Self {
        Self { simulator, noise, sigma: None, rho: None, correlation: 0.0 }
    }

    /// The six columns of table 1, in the paper's order.
    pub(super) fn table1() -> Vec<Self> {
        let simulators = [Simulator::Oscillator, Simulator::Digits, Simulator::Cardio];
        [Noise::Additive, Noise::NonAdditive]
            .into_iter()
            .flat_map(|noise| simulators.map(|simulator| Self::new(simulator, noise)))
            .collect()
    }

    pub(super) fn name(&self) -> String {
        let simulator = match self.simulator {
            Simulator::Oscillator => "oscillator",
            Simulator::Digits => "digits",
            Simulator::Cardio => "cardio",
            Simulator::Ihdp => return "ihdp".to_owned(),
        };
        let noise = if self.noise == Noise::Additive { "additive" } else { "non-additive" };
        match (self.sigma, self.rho) {
            (Some(sigma), Some(_)) => format!("{simulator}, {noise}, sigma {sigma}"),
            _ => format!("{simulator}, {noise}"),
        }
    }

    pub(super) fn classes(&self) -> usize {
        match self.simulator {
            Simulator::Oscillator => 3,
            Simulator::Digits => 6,
            Simulator::Cardio => 2,
            Simulator::Ihdp => 1,
        }
    }

    /// The share of the noise that is the same in the counterfactual.
    pub(super) fn rho(&self) -> f32 {
        self.rho.unwrap_or(if self.simulator == Simulator::Ihdp { 0.0 } else { 1.0 })
    }

    /// The treatments under which a gallery shows its units.
    pub(super) fn gallery_treatments(&self) -> Vec<f32> {
        match self.simulator {
            Simulator::Oscillator => vec![0.3, 0.6, 0.9],
            Simulator::Cardio => vec![0.5, 0.7, 0.9],
            Simulator::Digits => vec![5.0, 12.0, 19.0, 26.0, 33.0],
            Simulator::Ihdp => Vec::new(),
        }
    }

    pub(super) fn simulate(&self, n: usize, seed: u64, mnist: Option<&Mnist>) -> Result<Simulated> {
        let &Self { noise, sigma, rho, correlation, .. } = self;
        Ok(match self.simulator {
            Simulator::Oscillator => {
                Oscillator { noise, sigma, rho, ..Oscillator::default() }.simulate(n, seed)?
            }
            Simulator::Cardio => Cardio { noise, sigma, rho, ..Cardio::default() }.simulate(n, seed)?,
            Simulator::Digits => {
                let source = mnist.map_or(DigitSource::Drawn, DigitSource::Mnist);
                Digits { noise, sigma, rho, class_correlation: correlation, ..Digits::default() }
                    .simulate(source, n, seed)?
            }
            Simulator::Ihdp => Ihdp { sigma, rho }.simulate(n, seed)?,
        })
    }
}
