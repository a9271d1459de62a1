//! Linear and logarithmic scales: values to pixels, and round tick marks.

/// A linear or logarithmic map from values to pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    is_log: bool,
}

impl Scale {
    /// Maps `low` to the pixel `from` and `high` to the pixel `to`. A range that is empty or not finite is replaced.
    pub(super) fn new((low, high): (f64, f64), from: f64, to: f64) -> Self {
        let (low, high) = if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 1.0) };
        let min_width = 1e-9 * low.abs().max(high.abs()).max(1e-9);
        let (low, high) = if high - low > min_width { (low, high) } else { (low - 0.5, high + 0.5) };
        Self { low, high, from, to, is_log: false }
    }

    /// The same range on a logarithmic scale, where smaller values are drawn at its lower end. A range that is not
    /// positive stays linear.
    pub(super) fn into_log(self) -> Self {
        Self { is_log: self.low > 0.0, ..self }
    }

    /// The pixel of `value`.
    pub(super) fn at(&self, value: f64) -> f64 {
        let position = |value: f64| if self.is_log { value.max(self.low).log10() } else { value };
        let (low, high) = (position(self.low), position(self.high));
        self.from + (position(value) - low) / (high - low) * (self.to - self.from)
    }

    /// About `count` round values with their labels.
    pub(super) fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        let ticks = if self.is_log { self.log_ticks(count) } else { Vec::new() };
        // about a decade may hold too few of them
        if ticks.len() > 2 { ticks } else { self.linear_ticks(count) }
    }

    fn log_ticks(&self, count: f64) -> Vec<(f64, String)> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().floor() as i32);
        let decades = f64::from(last - first);
        let factors: &[u32] = if decades < 3.0 { &[1, 2, 5] } else { &[1] };
        let step = (decades / count).ceil().max(1.0) as usize;
        let tick = |power: i32, factor: u32| {
            let (value, decimals) = (f64::from(factor) * 10_f64.powi(power), (-power).max(0) as usize);
            let is_short = (-4..6).contains(&power);
            (value, if is_short { format!("{value:.decimals$}") } else { format!("{factor}e{power}") })
        };
        let ticks = (first..=last).step_by(step);
        let ticks = ticks.flat_map(|power| factors.iter().map(move |&factor| tick(power, factor)));
        ticks.filter(|(value, _)| (self.low..=self.high).contains(value)).collect()
    }

    fn linear_ticks(&self, count: f64) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / count;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        let tick = |i: i64| (i as f64 * step, format!("{:.decimals$}", i as f64 * step));
        (first..=last).take(30).map(tick).collect()
    }
}

/// The smallest and the largest finite value, with a margin.
pub fn padded_range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let margin = 0.06 * (high - low);
    (low - margin, high + margin)
}

/// The same for a logarithmic scale, of the positive values.
pub fn padded_log_range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = padded_range(values.filter(|value| *value > 0.0).map(f64::log10));
    (10_f64.powf(low) / 1.1, 10_f64.powf(high) * 1.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        let texts = |scale: Scale| scale.ticks(5.0).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(texts(Scale::new((0.0, 1.0), 0.0, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(Scale::new((-120.0, 330.0), 0.0, 1.0)), ["-100", "0", "100", "200", "300"]);
    }

    #[test]
    fn a_logarithmic_scale_has_equal_distances_between_powers_of_ten() {
        let scale = Scale::new((1e-6, 1.0), 0.0, 60.0).into_log();
        let at = [1e-6, 1e-5, 0.1, 1.0, 0.0].map(|value| scale.at(value).round());
        assert_eq!(at, [0.0, 10.0, 50.0, 60.0, 0.0]);
        let texts = |low, high| {
            let ticks = Scale::new((low, high), 0.0, 1.0).into_log().ticks(6.0);
            ticks.into_iter().map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert_eq!(texts(5e-7, 0.3), ["1e-6", "1e-5", "0.0001", "0.001", "0.01", "0.1"]);
        assert_eq!(texts(6e-4, 6e-3), ["0.001", "0.002", "0.005"]);
        assert_eq!(texts(9e-10, 11.0), ["1e-8", "1e-6", "0.0001", "0.01", "1"]);
        assert_eq!(texts(7e-4, 4.6e-3), ["0.001", "0.002", "0.003", "0.004"]);
        assert_eq!(texts(0.61, 0.89), ["0.65", "0.70", "0.75", "0.80", "0.85"]);
        assert_eq!(texts(-1.0, 1.0), ["-1.0", "-0.5", "0.0", "0.5", "1.0"], "stays linear");
    }

    #[test]
    fn empty_and_infinite_ranges_still_give_pixels() {
        for ends in [(1.0, 1.0), (f64::NAN, 1.0), (f64::INFINITY, f64::NEG_INFINITY), (0.0, 0.0)] {
            assert!(Scale::new(ends, 0.0, 100.0).at(1.0).is_finite());
        }
    }
}
