//! Time series: fit a simulated oscillator and compare answers with the true counterfactuals.
//!
//!     cargo run --release -p cfqp --example series

use cfqp::eval::{Reference, evaluate};
use cfqp::sim::Oscillator;
use cfqp::{AskOptions, Base, Classes, Fit, FitConfig, Rho};

fn main() -> cfqp::Result<()> {
    let simulator = Oscillator::default();
    let (train, test) = (simulator.simulate(600, 1)?, simulator.simulate(300, 1000)?);
    let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
    let model = Fit::new(config).run(&train.data)?;

    // the truth is used for scoring only
    let truth = Reference::from(test.truth.clone());
    let same_noise = AskOptions { rho: Rho::Given(1.0), ..AskOptions::default() };
    let scores = evaluate(&model, &test.data, &truth, same_noise)?;
    println!("counterfactual error {:.6}, with fresh noise {:.6}", scores.cf_mse, scores.cf_mse_rho0);
    println!("coverage of 90% intervals {:.3}", scores.coverage.unwrap_or(f64::NAN));

    let answers = model.ask(&test.data).under(&test.truth.t_new).options(same_noise).answers()?;
    println!("unit 0, first steps of channel 0:");
    println!("  answer {:.2?}", &answers.point.row(0)[..5]);
    println!("  truth  {:.2?}", &test.truth.y_new.row(0)[..5]);
    Ok(())
}
