//! Images: coloured digits, rotated by the treatment. A small U-Net, trained briefly.
//!
//!     cargo run --release -p cfqp --example images

use cfqp::eval::ssim;
use cfqp::models::UnetConfig;
use cfqp::sim::{DigitSource, Digits};
use cfqp::{Classes, Fit, FitConfig};

fn main() -> cfqp::Result<()> {
    let world = Digits::default().simulate(DigitSource::Drawn, 200, 1)?;
    let config = FitConfig {
        classes: Classes::Given(2),
        epochs: Some(5),
        members: Some(2),
        unet: UnetConfig { channels: [8, 16, 16, 16], embed: 16, groups: 8, ..UnetConfig::default() },
        ..FitConfig::default()
    };
    let model = Fit::new(config).run(&world.data)?;
    println!("{} classes, base model {}", model.classes(), model.base());

    let answers = model.ask(&world.data).under(&world.truth.t_new).rho(1.0).answers()?;
    println!("outcome shape {:?}", answers.point.shape());
    println!("structural similarity {:.3}", ssim(&world.truth.y_new, &answers.point)?);
    if let Some(share) = model.unresponsive_share() {
        println!("{:.0}% of pixels do not respond to the treatment", 100.0 * share);
    }
    Ok(())
}
