//! The records of one bucket in the order of their content, each with the number of its copies.

use super::record::RecordForm;

/// Distinct records, and how often each occurs. Equal records are merged when many have come together, so that a bucket of
/// few distinct records needs little memory, however often they occur.
pub(super) struct Distinct {
    form: RecordForm,
    records: Vec<u32>,
    counts: Vec<u64>,
    /// The number of records at which equal ones are merged.
    merge_at: usize,
}

impl Distinct {
    /// No records; equal ones are merged when there are `merge_at`.
    pub(super) fn new(form: RecordForm, merge_at: usize) -> Self {
        Self { form, records: Vec::new(), counts: Vec::new(), merge_at }
    }

    /// Adds the records of a block.
    pub(super) fn add(&mut self, block: &[u32]) {
        self.records.extend_from_slice(block);
        self.counts.resize(self.records.len() / self.form.words(), 1);
        if self.counts.len() > self.merge_at {
            self.merge();
            self.merge_at = self.merge_at.max(2 * self.counts.len());
        }
    }

    /// All records in order, with the number of their copies.
    pub(super) fn sorted(&mut self) -> impl Iterator<Item = (&[u32], u64)> {
        self.merge();
        self.records.chunks_exact(self.form.words()).zip(self.counts.iter().copied())
    }

    /// The number of words.
    pub(super) fn words(&self) -> usize {
        self.records.len()
    }

    /// Sorts by key, then by content, and merges equal records.
    fn merge(&mut self) {
        let width = self.form.words();
        let record = |i: usize| &self.records[i * width..][..width];
        let mut order: Vec<(u64, usize)> =
            (0..self.counts.len()).map(|i| (self.form.key(record(i)), i)).collect();
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| record(a.1).cmp(record(b.1))));
        let mut records: Vec<u32> = Vec::with_capacity(self.records.len());
        let mut counts: Vec<u64> = Vec::with_capacity(self.counts.len());
        for (_, i) in order {
            match counts.last_mut() {
                Some(count) if records[records.len() - width..] == *record(i) => *count += self.counts[i],
                _ => {
                    records.extend_from_slice(record(i));
                    counts.push(self.counts[i]);
                }
            }
        }
        (self.records, self.counts) = (records, counts);
    }
}
