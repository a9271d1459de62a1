//! The levels of a treatment that takes few values.

use std::collections::BTreeMap;

use crate::data::Units;

/// The largest number of values of a treatment that has levels.
const MAX_LEVELS: usize = 20;

/// A value of the treatment and the number of units that received it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TreatmentLevel {
    pub t: Vec<f32>,
    pub units: usize,
}

/// The levels of a treatment, the most frequent first; none if it takes many values.
pub(crate) fn treatment_levels(t: &Units) -> Option<Vec<TreatmentLevel>> {
    let mut counts = BTreeMap::<Vec<u32>, TreatmentLevel>::new();
    for i in 0..t.len() {
        let row = t.row(i);
        let key = row.iter().map(|value| value.to_bits()).collect();
        counts.entry(key).or_insert_with(|| TreatmentLevel { t: row.to_vec(), units: 0 }).units += 1;
        if counts.len() > MAX_LEVELS {
            return None;
        }
    }
    let mut levels: Vec<TreatmentLevel> = counts.into_values().collect();
    levels.sort_by_key(|level| std::cmp::Reverse(level.units));
    Some(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_sorted_by_frequency_and_many_values_are_none() {
        let units = |values: Vec<f32>| Units::new("t", vec![1], values).unwrap();
        let levels = treatment_levels(&units(vec![1.0, 3.0, 2.0, 3.0])).unwrap();
        assert_eq!((&levels[0].t[..], levels[0].units, levels.len()), (&[3.0][..], 2, 3));
        assert_eq!(treatment_levels(&units((0..50).map(|i| i as f32).collect())), None);
    }
}
