//! The content of units: an order that does not depend on where they stand in a file, and a hash.

use std::cmp::Ordering;
use std::ops::Range;

use super::{Dataset, Units};
use crate::rng::fnv1a;

impl Dataset {
    /// `rows`, ordered by the content of the units alone: the same units in another order give the same sequence. Units
    /// of one subject are next to each other.
    ///
    /// # Panics
    /// If a row is out of range.
    pub(crate) fn content_order(&self, rows: &[usize]) -> Vec<usize> {
        self.subjects_by_content(rows).into_iter().flat_map(|subject| subject.rows).collect()
    }

    /// A hash of all units and of which of them share a subject: 16 hexadecimal digits, the same for any order of the
    /// units. It tells data sets apart, but is not secure against forgery.
    pub fn content_hash(&self) -> String {
        self.content_hash_of(0..self.len())
    }

    /// As [`content_hash`](Self::content_hash), of the units at `rows`.
    ///
    /// # Panics
    /// If a row is out of range.
    pub(crate) fn content_hash_of(&self, rows: Range<usize>) -> String {
        let shapes = [self.x(), self.t(), self.y()].into_iter().flat_map(|units| {
            let sides = units.shape().iter().map(|&side| side as u64);
            std::iter::once(units.shape().len() as u64).chain(sides)
        });
        let subjects = self.subjects_by_content(&rows.collect::<Vec<_>>());
        let subjects = subjects.into_iter().map(|subject| subject.hash);
        format!("{:016x}", fnv1a(shapes.chain(subjects).flat_map(u64::to_le_bytes)))
    }

    fn subjects_by_content(&self, rows: &[usize]) -> Vec<Subject> {
        let mut subjects: Vec<Subject> =
            self.groups_of(rows).into_iter().map(|rows| Subject::new(self, rows)).collect();
        subjects.sort_by(|a, b| a.hash.cmp(&b.hash).then_with(|| a.compare_content(b, self)));
        subjects
    }

    /// The values of unit `i` and which of them were observed.
    fn unit_content(&self, i: usize) -> Vec<u8> {
        [self.x(), self.t(), self.y()].into_iter().flat_map(|units| content_of(units, i)).collect()
    }
}

/// The units of one subject, ordered by their content.
struct Subject {
    hash: u64,
    rows: Vec<usize>,
}

impl Subject {
    fn new(data: &Dataset, rows: Vec<usize>) -> Self {
        let mut units: Vec<(u64, usize)> =
            rows.into_iter().map(|row| (fnv1a(data.unit_content(row)), row)).collect();
        units.sort_by(|a, b| {
            let content = || data.unit_content(a.1).cmp(&data.unit_content(b.1));
            a.0.cmp(&b.0).then_with(content)
        });
        let hash = match &units[..] {
            [(hash, _)] => *hash,
            several => fnv1a(several.iter().flat_map(|(hash, _)| hash.to_le_bytes())),
        };
        Self { hash, rows: units.into_iter().map(|(_, row)| row).collect() }
    }

    /// The order of two subjects with the same hash, which are almost always equal.
    fn compare_content(&self, other: &Self, data: &Dataset) -> Ordering {
        let content = |subject: &Self| -> Vec<Vec<u8>> {
            subject.rows.iter().map(|&row| data.unit_content(row)).collect()
        };
        content(self).cmp(&content(other))
    }
}

/// The bytes of the values of unit `i`, and one per value that says whether it was observed if any was not.
fn content_of(units: &Units, i: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = units.row(i).iter().flat_map(|value| value.to_bits().to_le_bytes()).collect();
    // a mask without gaps is the same as none
    if let Some(mask) = units.mask_row(i).filter(|mask| mask.contains(&false)) {
        bytes.extend(mask.iter().map(|&observed| u8::from(observed)));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five units with equal ones among them; the second has a gap.
    fn dataset() -> Dataset {
        let x = vec![1.0, 0.0, 2.0, 1.0, 2.0];
        let mask = Some(vec![true, false, true, true, true]);
        let x = Units::with_mask("x", vec![1], x, mask).unwrap();
        let t = Units::new("t", vec![1], vec![0.5, 0.1, 0.2, 0.5, 0.2]).unwrap();
        Dataset::new(x, t.clone(), t).unwrap()
    }

    #[test]
    fn units_in_another_order_have_the_same_order_and_hash() {
        let data = dataset().with_groups(vec![0, 1, 2, 2, 0]).unwrap();
        let ordered = |data: &Dataset| {
            let order = data.content_order(&[0, 1, 2, 3, 4]);
            data.pick(&order).unwrap()
        };
        for rows in [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [1, 4, 0, 3, 2]] {
            let other = data.pick(&rows).unwrap();
            assert_eq!(ordered(&other), ordered(&data), "{rows:?}");
            assert_eq!(other.content_hash(), data.content_hash());
        }
        let groups = ordered(&data).groups().unwrap().to_vec();
        assert!(groups.is_sorted(), "{groups:?}");
    }

    #[test]
    fn the_hash_tells_values_gaps_subjects_and_roles_apart() {
        let data = dataset();
        let hash = data.content_hash();
        let full = Units::new("x", vec![1], data.x().values().to_vec()).unwrap();
        let roles = Dataset::new(data.t().clone(), full.clone(), full.clone()).unwrap();
        let without_gap = Dataset::new(full, data.t().clone(), data.y().clone()).unwrap();
        let grouped = data.clone().with_groups(vec![0, 0, 1, 2, 3]).unwrap();
        let others = [data.pick(&[0, 1, 2, 3]).unwrap(), roles, without_gap, grouped];
        assert!(others.iter().all(|other| other.content_hash() != hash));
        assert_eq!(data.clone().with_groups(vec![5, 4, 3, 2, 1]).unwrap().content_hash(), hash);
    }
}
