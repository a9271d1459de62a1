//! An even sample of a stream of units.

use crate::Result;
use crate::data::table::UnitBatch;

/// Every `step`-th unit of a stream, where `step` grows with the stream.
pub(crate) struct EvenSample {
    parts: Vec<UnitBatch>,
    units: usize,
    step: usize,
    max: usize,
}

impl EvenSample {
    /// A sample of about `max` units at most.
    pub(crate) fn new(max: usize) -> Self {
        Self { parts: Vec::new(), units: 0, step: 1, max }
    }

    /// Adds the next units of the stream.
    pub(crate) fn add(&mut self, part: &UnitBatch) -> Result<()> {
        let is_sampled = |i: &usize| (self.units + i).is_multiple_of(self.step);
        let rows: Vec<usize> = match part.data.groups() {
            // a file with subjects is one part
            Some(_) => part.data.even_sample(self.step),
            None => (0..part.data.len()).filter(is_sampled).collect(),
        };
        self.units += part.data.len();
        if !rows.is_empty() {
            self.parts.push(part.pick(&rows)?);
        }
        if self.parts.iter().map(|part| part.data.len()).sum::<usize>() > self.max {
            let all = UnitBatch::concat(std::mem::take(&mut self.parts))?;
            let factor = all.data.groups().map_or(2, |_| all.data.len().div_ceil(self.max));
            self.parts.push(all.pick(&all.data.even_sample(factor))?);
            self.step *= factor;
        }
        Ok(())
    }

    /// The number of units of the stream so far.
    pub(crate) fn units(&self) -> usize {
        self.units
    }

    /// The sample; none if there were no units.
    pub(crate) fn finish(self) -> Result<Option<UnitBatch>> {
        if self.parts.is_empty() { Ok(None) } else { Ok(Some(UnitBatch::concat(self.parts)?)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Units};

    #[test]
    fn a_long_stream_is_sampled_evenly() {
        let units = |from: usize, count: usize| {
            let values: Vec<f32> = (from..from + count).map(|i| i as f32).collect();
            let array = || Units::new("a", vec![1], values.clone()).unwrap();
            UnitBatch::from(Dataset::new(array(), array(), array()).unwrap())
        };
        let mut sample = EvenSample::new(5);
        (0..5).for_each(|i| sample.add(&units(3 * i, 3)).unwrap());
        assert_eq!(sample.units(), 15);
        assert_eq!(sample.finish().unwrap().unwrap().data.x().values(), [0.0, 4.0, 8.0, 12.0]);
        assert!(EvenSample::new(5).finish().unwrap().is_none());
    }
}
