//! Dose-response curves of single units, with intervals and flags.
//!
//!     cargo run --release -p cfqp --example dose_curve

use cfqp::sim::Oscillator;
use cfqp::{AskOptions, Base, Classes, Fit, FitConfig, Rho, Units};

fn main() -> cfqp::Result<()> {
    let world = Oscillator::default().simulate(600, 1)?;
    let config = FitConfig { classes: Classes::Given(3), base: Base::Linear, ..FitConfig::default() };
    let model = Fit::new(config).run(&world.data)?;

    let few = world.data.pick(&[0, 1])?;
    let doses: Vec<f32> = (0..7).map(|i| 0.2 * i as f32).collect();
    let grid = Units::new("dose", vec![1], doses.clone())?;
    let options = AskOptions { rho: Rho::Given(1.0), level: 0.95 };
    let curve = model.ask(&few).curve(&grid).options(options).answers()?;
    for unit in 0..few.len() {
        println!("unit {unit}, class {}:", curve[0].diagnoses[unit].class);
        for (dose, answers) in doses.iter().zip(&curve) {
            // the last step of channel 0
            let [point, lower, upper] =
                [&answers.point, &answers.lower, &answers.upper].map(|units| units.row(unit)[19]);
            println!(
                "  dose {dose:.1}: {point:.2} [{lower:.2}, {upper:.2}] {}",
                answers.diagnoses[unit].flag()
            );
        }
    }
    Ok(())
}
