//! Units as records of words: 32-bit floats, NaN where missing.

use crate::data::{Dataset, Units};
use crate::error::Result;
use crate::rng::fnv1a;

/// What stands for a missing value.
const MISSING: u32 = 0x7fc0_0000;

/// The elements of a unit, and whether the words of its subject come before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordForm {
    pub x: usize,
    pub t: usize,
    pub y: usize,
    pub grouped: bool,
}

impl RecordForm {
    /// The words of the subject.
    fn subject_words(self) -> usize {
        if self.grouped { 2 } else { 0 }
    }

    /// The words of a record.
    pub(crate) fn words(self) -> usize {
        self.subject_words() + self.x + self.t + self.y
    }

    /// Appends the record of unit `i`.
    pub(super) fn push(self, data: &Dataset, i: usize, subject: Option<u64>, out: &mut Vec<u32>) {
        out.extend(subject.into_iter().flat_map(|subject| [(subject >> 32) as u32, subject as u32]));
        for units in [data.x(), data.t(), data.y()] {
            let mask = units.mask_row(i);
            out.extend(
                units.row(i).iter().enumerate().map(|(j, value)| {
                    if mask.is_none_or(|mask| mask[j]) { value.to_bits() } else { MISSING }
                }),
            );
        }
    }

    /// The key of a record, by which it is put into a bucket: its subject or, without subjects, the hash of its content.
    pub(super) fn key(self, record: &[u32]) -> u64 {
        match self.grouped {
            true => u64::from(record[0]) << 32 | u64::from(record[1]),
            false => self.hash(record),
        }
    }

    /// The hash of the content of a record and its subject; without subjects, that of the unit in
    /// [`content`](crate::data::Dataset::content_hash).
    pub(super) fn hash(self, record: &[u32]) -> u64 {
        let (subject, values) = record.split_at(self.subject_words());
        let (x, rest) = values.split_at(self.x);
        let (t, y) = rest.split_at(self.t);
        let content = [x, t, y].into_iter().flat_map(|values| {
            let observed =
                values.iter().flat_map(|&word| if word == MISSING { 0 } else { word }.to_le_bytes());
            // a mask without gaps is the same as none
            let mask = if values.contains(&MISSING) { values } else { &[] };
            observed.chain(mask.iter().map(|&word| u8::from(word != MISSING)))
        });
        fnv1a(subject.iter().flat_map(|word| word.to_le_bytes()).chain(content))
    }

    /// The units of records. Records of one subject are next to each other.
    pub(super) fn units(self, records: &[u32]) -> Result<Dataset> {
        let rows = || records.chunks_exact(self.words());
        let mut start = self.subject_words();
        let mut part = |name: &str, width: usize| {
            let values: Vec<f32> = rows()
                .flat_map(|row| row[start..start + width].iter().map(|&word| f32::from_bits(word)))
                .collect();
            start += width;
            let mask = values.iter().map(|value| !value.is_nan()).collect();
            Units::with_mask(name, vec![width], values, Some(mask))
        };
        let data = Dataset::new(part("x", self.x)?, part("t", self.t)?, part("y", self.y)?)?;
        if !self.grouped {
            return Ok(data);
        }
        let (mut groups, mut last, mut count) = (Vec::new(), None, 0);
        for row in rows() {
            let key = self.key(row);
            count += u32::from(last.is_some_and(|last| last != key));
            last = Some(key);
            groups.push(count);
        }
        data.with_groups(groups)
    }
}
