//! Digits coloured by the hidden class and rotated by the treatment.

use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};

use super::glyphs::{SIDE, draw_digit};
use super::image::{Interpolation, blur, rotate};
use super::{
    Draw, Noise, Shapes, Simulated, Unit, check_rho, check_sigma, correlated, draw_class, normal, simulate,
    uniform, unit_stream,
};
use crate::data::Mnist;
use crate::{Error, Result, Rng, stream};

/// Blue, purple, red, teal, green, olive.
const COLOURS: [[f32; 3]; 6] =
    [[0.0, 0.0, 1.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]];

/// Coloured digits: the class is the colour, the treatment a rotation.
///
/// ```text
/// T = U(0, 30) + 5 sigmoid((mean pixel - 33)/11)    degrees; pixels of 0..255
/// P(z = label mod 6) = (1 - 1/6) class_correlation + 1/6, the other classes equally likely
/// y = rotate(colour_z x, T)
/// ```
///
/// Additive noise: N(0, sigma^2) on every pixel and channel of y; x has none. Non-additive: a 5 x 5 Gaussian
/// blur before the rotation, with a standard deviation of U(0.1, 1) per unit. The noise of an outcome is the same
/// under every treatment unless `rho` is below 1.
///
/// # Shapes
/// x `[1, 28, 28]` in [0, 1], t `[1]`, y `[3, 28, 28]` (red, green, blue).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Digits {
    /// How noise enters the outcome.
    pub noise: Noise,
    /// The standard deviation of additive noise; 0.01 by default.
    pub sigma: Option<f32>,
    /// The correlation of the additive noise under t and t'; 1 by default, the same noise.
    pub rho: Option<f32>,
    /// How far the label determines the class, from 0 (not at all) to 1 (completely).
    pub class_correlation: f32,
    /// Puts all units in class 0: there are no hidden classes.
    pub single_class: bool,
    /// The interpolation of rotations: bilinear, so that the outcome is continuous in the treatment, or nearest, as in the
    /// published data.
    pub interpolation: Interpolation,
}

/// The source of digits.
#[derive(Clone, Copy, Debug)]
pub enum DigitSource<'a> {
    /// Drawn from strokes with random slant, width, scale and offset.
    Drawn,
    /// From MNIST, each image at most once, in an order drawn from the seed.
    Mnist(&'a Mnist),
}

impl Digits {
    /// The standard deviation of additive noise, given or default.
    pub fn sigma(&self) -> f32 {
        self.sigma.unwrap_or(0.01)
    }

    /// Validates the settings.
    pub fn validate(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.class_correlation) {
            let problem = format!("{} is not between 0 and 1", self.class_correlation);
            return Err(Error::config("class_correlation", problem, "give a number from 0 to 1"));
        }
        if self.single_class && self.class_correlation > 0.0 {
            let problem = "the only class cannot depend on the label";
            return Err(Error::config("class_correlation", problem, "leave out this or `single_class`"));
        }
        if self.noise == Noise::NonAdditive && self.sigma.is_some() {
            let problem = "non-additive digits are blurred by U(0.1, 1) pixels: sigma has no effect";
            return Err(Error::config("sigma", problem, "leave sigma out, or use additive noise"));
        }
        if self.noise == Noise::NonAdditive && self.rho.is_some() {
            let problem = "a digit has one blur, the same under every treatment";
            return Err(Error::config("rho", problem, "leave rho out, or use additive noise"));
        }
        check_rho(self.rho)?;
        check_sigma(self.sigma())
    }

    /// Simulates `n` units, at most as many as MNIST has images. Unit `i` depends on the settings, the source, `seed` and
    /// `i` only.
    pub fn simulate(&self, source: DigitSource<'_>, n: usize, seed: u64) -> Result<Simulated> {
        self.validate()?;
        let order = match source {
            DigitSource::Drawn => Vec::new(),
            DigitSource::Mnist(mnist) => image_order(mnist, n, seed)?,
        };
        simulate(n, &Shapes { x: &[1, SIDE, SIDE], t: 1, y: &[3, SIDE, SIDE] }, |i| {
            let (pixels, label) = match source {
                DigitSource::Drawn => {
                    draw_random_digit(&mut stream(seed, &["digits", &i.to_string(), "image"]))
                }
                DigitSource::Mnist(mnist) => (mnist.image(order[i]).to_vec(), mnist.label(order[i])),
            };
            self.draw(pixels, label, &mut unit_stream(seed, "digits", i))
        })
    }

    fn draw(&self, pixels: Vec<u8>, label: usize, rng: &mut Rng) -> Draw<Digit> {
        let z = self.draw_colour(label, rng);
        let offset = rotation_offset(&pixels);
        let t = (offset + uniform(rng, 0.0, 30.0)) as f32;
        let t_new = (offset + uniform(rng, 0.0, 30.0)) as f32;
        let sd = uniform(rng, 0.1, 1.0);
        let (blur, sigma) = match self.noise {
            Noise::Additive => (None, self.sigma()),
            Noise::NonAdditive => (Some(sd), 0.0),
        };
        let x = grey(&pixels);
        let unit = Digit {
            z,
            pixels,
            blur,
            sigma,
            noise: rng.clone(),
            fresh: None,
            interpolation: self.interpolation,
        };
        let other = self.rho.filter(|&rho| rho < 1.0).map(|rho| {
            let fresh = Rng::seed_from_u64(rng.random());
            Digit {
                fresh: Some((rho, fresh)),
                pixels: unit.pixels.clone(),
                noise: unit.noise.clone(),
                ..unit
            }
        });
        Draw { x, z, t: vec![t], t_new: vec![t_new], unit, other, y_bayes: None, p_bayes: None }
    }

    /// The colour of the label with probability `class_correlation`, else a random one.
    fn draw_colour(&self, label: usize, rng: &mut Rng) -> usize {
        let z = draw_class(rng, COLOURS.len(), self.single_class);
        let by_label = rng.random::<f64>() < f64::from(self.class_correlation);
        if by_label { label % COLOURS.len() } else { z }
    }
}

/// The hidden variables of a digit.
#[derive(Debug)]
struct Digit {
    z: usize,
    pixels: Vec<u8>,
    blur: Option<f64>,
    sigma: f32,
    /// The generator of the additive noise, which is drawn for each outcome: it is three times the size of the image.
    noise: Rng,
    /// The correlation and the generator of independent noise, where the noise differs.
    fresh: Option<(f32, Rng)>,
    interpolation: Interpolation,
}

impl Unit for Digit {
    fn outcome(&self, t: &[f32]) -> Vec<f32> {
        let mut image = grey(&self.pixels);
        if let Some(sd) = self.blur {
            image = blur(&image, SIDE, sd);
        }
        // a colour only scales the channels: one rotation serves all three
        let rotated = rotate(&image, SIDE, f64::from(t[0]), self.interpolation);
        let mut y: Vec<f32> =
            COLOURS[self.z].iter().flat_map(|c| rotated.iter().map(move |p| c * p)).collect();
        if self.sigma > 0.0 {
            let mut noise = self.noise.clone();
            let mut fresh = self.fresh.clone();
            for y in &mut y {
                let mut e = normal(&mut noise, self.sigma);
                if let Some((rho, fresh)) = &mut fresh {
                    e = correlated(e, normal(fresh, self.sigma), *rho);
                }
                *y += e as f32;
            }
        }
        y
    }
}

/// The image of each unit: all images are shuffled, so that unit `i` gets the same one for any `n`.
fn image_order(mnist: &Mnist, n: usize, seed: u64) -> Result<Vec<usize>> {
    if n > mnist.len() {
        let problem = format!("{n} units requested, but there are {} images", mnist.len());
        return Err(Error::config("n", problem, "request fewer, or use drawn digits"));
    }
    let mut order: Vec<usize> = (0..mnist.len()).collect();
    order.shuffle(&mut stream(seed, &["digits", "order"]));
    Ok(order)
}

/// A drawn digit and its label.
fn draw_random_digit(rng: &mut Rng) -> (Vec<u8>, usize) {
    let label = rng.random_range(0..10);
    (draw_digit(label, rng), label)
}

/// Pixels in [0, 1].
fn grey(pixels: &[u8]) -> Vec<f32> {
    pixels.iter().map(|&pixel| f32::from(pixel) / 255.0).collect()
}

/// 5 sigmoid((mean pixel - 33)/11): bold digits are rotated further.
fn rotation_offset(pixels: &[u8]) -> f64 {
    let mean = pixels.iter().map(|&pixel| f64::from(pixel)).sum::<f64>() / pixels.len() as f64;
    5.0 / (1.0 + (-(mean - 33.0) / 11.0).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 3000;

    /// The share of units with the colour of their label.
    fn agreement(class_correlation: f32) -> f64 {
        let config = Digits { class_correlation, ..Default::default() };
        let agrees = |i: &usize| {
            let label = i % 10;
            let mut rng = unit_stream(1, "colour", *i);
            config.draw_colour(label, &mut rng) == label % COLOURS.len()
        };
        (0..N).filter(agrees).count() as f64 / N as f64
    }

    #[test]
    fn the_label_determines_the_class_as_far_as_the_correlation_says() {
        for rho in [0.0, 0.5, 1.0] {
            let expected = (1.0 - 1.0 / 6.0) * f64::from(rho) + 1.0 / 6.0;
            let seen = agreement(rho);
            assert!((seen - expected).abs() < 0.03, "{rho}: {seen} for {expected}");
        }
    }

    #[test]
    fn an_outcome_without_rotation_is_the_coloured_digit() {
        let config = Digits { sigma: Some(0.0), ..Default::default() };
        let simulated = config.simulate(DigitSource::Drawn, 30, 2).unwrap();
        for (i, &z) in simulated.truth.z.iter().enumerate() {
            let y = simulated.outcome(i, &[0.0]);
            for (channel, colour) in y.chunks(SIDE * SIDE).zip(COLOURS[z]) {
                let expected: Vec<f32> = simulated.data.x().row(i).iter().map(|x| colour * x).collect();
                assert_eq!(channel, expected);
            }
        }
    }

    #[test]
    fn a_blur_preserves_the_sum_of_pixels() {
        let config = Digits { noise: Noise::NonAdditive, single_class: true, ..Default::default() };
        let simulated = config.simulate(DigitSource::Drawn, 20, 2).unwrap();
        for i in 0..20 {
            let (x, y) = (simulated.data.x().row(i), simulated.outcome(i, &[0.0]));
            let (ink, blurred): (f32, f32) = (x.iter().sum(), y.iter().sum());
            assert!((ink - blurred).abs() < 0.01 * ink);
        }
    }

    #[test]
    fn settings_without_effect_are_refused() {
        let blurred = Digits { noise: Noise::NonAdditive, sigma: Some(0.05), ..Default::default() };
        assert!(blurred.validate().unwrap_err().to_string().starts_with("sigma: "));
        let correlated = Digits { class_correlation: 1.5, ..Default::default() };
        assert!(correlated.validate().unwrap_err().to_string().starts_with("class_correlation: "));
        let one = Digits { class_correlation: 0.5, single_class: true, ..Default::default() };
        assert!(one.validate().is_err());
    }

    #[test]
    fn mnist_images_are_used_once_each() {
        let Some(folder) = std::env::var_os("CFQP_MNIST") else {
            eprintln!("skipped: set CFQP_MNIST to a folder with the files of MNIST");
            return;
        };
        let mnist = Mnist::load(folder.as_ref(), crate::data::MnistSplit::Train).unwrap();
        assert_eq!(mnist.len(), 60_000);
        let simulated = Digits::default().simulate(DigitSource::Mnist(&mnist), 500, 1).unwrap();
        let mut rows: Vec<_> = (0..500).map(|i| simulated.data.x().row(i)).collect();
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        rows.dedup();
        assert_eq!(rows.len(), 500);
        assert!(Digits::default().simulate(DigitSource::Mnist(&mnist), 60_001, 1).is_err());
    }
}
