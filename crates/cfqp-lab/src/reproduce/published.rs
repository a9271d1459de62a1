//! The figures published in the paper (De Brouwer, NeurIPS 2022).

use cfqp::rivals::Method;
use cfqp::sim::Noise;

use super::plan::Experiment;
use super::scenario::{Scenario, Simulator};

/// Counterfactual error, in the order of table 1: oscillator, digits, cardio, additive and non-additive.
const TABLE1: [(Method, [f64; 6]); 6] = [
    (Method::DeepIte, [0.187, 0.017, 1.084, 0.174, 0.017, 1.14]),
    (Method::Sc, [0.177, 0.020, 1.610, 0.167, 0.020, 1.628]),
    (Method::DeepScm, [0.124, 0.011, 0.405, 0.123, 0.011, 0.424]),
    (Method::DiffScm, [0.082, 0.008, 0.206, 0.106, 0.009, 0.311]),
    (Method::CfqpKmeans, [0.013, 0.001, 0.077, 0.009, 0.002, 0.188]),
    (Method::CfqpGmm, [0.001, 0.002, 0.067, 0.009, 0.002, 0.192]),
];

/// Structural similarity on digits, additive and non-additive. The paper's row for synthetic control is misprinted.
const SSIM: [(Method, [f64; 2]); 4] = [
    (Method::DeepIte, [0.490, 0.484]),
    (Method::DeepScm, [0.857, 0.856]),
    (Method::DiffScm, [0.780, 0.750]),
    (Method::CfqpKmeans, [0.964, 0.959]),
];

/// PEHE(0.5, 0.8) on additive cardio, printed without its root.
const PEHE: [(Method, f64); 4] =
    [(Method::DeepIte, 0.594), (Method::Sc, 0.258), (Method::DiffScm, 0.377), (Method::CfqpKmeans, 0.143)];

/// The published figure of a method, if there is one.
pub(super) fn figure(experiment: Experiment, method: Method, scenario: &Scenario) -> Option<f64> {
    let additive = scenario.noise == Noise::Additive;
    match experiment {
        Experiment::Table1 => {
            let column = match scenario.simulator {
                Simulator::Oscillator => 0,
                Simulator::Digits => 1,
                Simulator::Cardio => 2,
                Simulator::Ihdp => return None,
            };
            row(&TABLE1, method).map(|row| row[column + if additive { 0 } else { 3 }])
        }
        Experiment::Ssim => row(&SSIM, method).map(|row| row[usize::from(!additive)]),
        Experiment::Pehe => row(&PEHE, method).copied(),
        _ => None,
    }
}

fn row<T>(table: &[(Method, T)], method: Method) -> Option<&T> {
    table.iter().find(|(published, _)| *published == method).map(|(_, row)| row)
}
