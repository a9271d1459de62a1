//! Linear scales: values to pixels, and round tick marks.

/// A linear map from values to pixels.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    pub from: f64,
    pub to: f64,
}

impl Scale {
    /// Maps `low` to the pixel `from` and `high` to the pixel `to`. A range that is empty or not finite is replaced.
    pub fn new((low, high): (f64, f64), from: f64, to: f64) -> Self {
        let (low, high) = if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 1.0) };
        let min_width = 1e-9 * low.abs().max(high.abs()).max(1e-9);
        let (low, high) = if high - low > min_width { (low, high) } else { (low - 0.5, high + 0.5) };
        Self { low, high, from, to }
    }

    /// The pixel of `value`.
    pub fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// About `count` round values with their labels.
    pub fn ticks(&self, count: f64) -> Vec<(f64, String)> {
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
    fn empty_and_infinite_ranges_still_give_pixels() {
        for ends in [(1.0, 1.0), (f64::NAN, 1.0), (f64::INFINITY, f64::NEG_INFINITY), (0.0, 0.0)] {
            assert!(Scale::new(ends, 0.0, 100.0).at(1.0).is_finite());
        }
    }
}
