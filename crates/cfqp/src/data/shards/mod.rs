//! Units that do not fit in memory: a random sample of them, and the others in shards on disk, each a random part.
//!
//! Units come in any order. They are first put into buckets by the hash of their content (or of their subject), each bucket
//! is sorted by content, and then every unit (every subject) is dealt at random to the sample or to a shard. What the sample
//! and the shards hold so depends on the units alone, not on their order or on how they are cut into files; and equal units
//! are spread over all shards like any others.

mod distinct;
mod ids;
mod piles;
mod record;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rand::RngExt as _;

use self::distinct::Distinct;
pub(crate) use self::ids::{SeenIds, spread_hash};
use self::piles::{BLOCK_BYTES, Piles};
pub(crate) use self::record::RecordForm;
use super::Dataset;
use crate::error::{Error, Result};
use crate::rng::{fnv1a, stream};
use crate::runtime::{MemorySize, Monitor};

/// The bytes of a shard, unless there would be too many of them.
const SHARD_BYTES: usize = 16 << 20;
/// A bucket is at most this many times as large as the average one, except for equal units.
const MAX_BUCKET: usize = 64;

/// How units are cut: nothing of it depends on the memory that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShardSizes {
    /// The expected number of units of the sample.
    pub sample: usize,
    /// The bytes of a shard, about.
    pub shard_bytes: usize,
}

impl ShardSizes {
    /// A sample of `sample` units, and shards of a size such that shards and the blocks of all of them take about the same
    /// memory.
    pub(crate) fn new(sample: usize, rows: usize, form: RecordForm) -> Self {
        let all = rows as f64 * bytes(form) as f64;
        Self { sample, shard_bytes: SHARD_BYTES.max((all * BLOCK_BYTES as f64).sqrt() as usize) }
    }

    /// The number of shards of `rows` rows.
    fn shards(self, rows: usize, form: RecordForm) -> usize {
        rows.saturating_mul(bytes(form)).div_ceil(self.shard_bytes.max(1)).max(1)
    }

    /// The memory that it takes to cut the units, and to hold a shard as units and as what a network learns from.
    pub(crate) fn memory(self, rows: usize, form: RecordForm) -> u64 {
        let blocks = self.shards(rows, form).saturating_mul(4 * BLOCK_BYTES);
        (blocks as u64).saturating_add(8 * self.shard_bytes as u64)
    }
}

fn bytes(form: RecordForm) -> usize {
    form.words() * size_of::<u32>()
}

/// Units that are being put into buckets.
pub(crate) struct UnitBuckets {
    form: RecordForm,
    sizes: ShardSizes,
    folder: PathBuf,
    buckets: Piles,
    units: usize,
    missing_x: bool,
    record: Vec<u32>,
}

/// Units that have been dealt.
pub(crate) struct DealtUnits {
    pub sample: Dataset,
    pub shards: UnitShards,
    /// The hash of all units, as [`Dataset::content_hash`]; not known of units with subjects.
    pub content_hash: Option<String>,
}

/// Units in shards on disk.
pub(crate) struct UnitShards {
    form: RecordForm,
    piles: Mutex<Piles>,
    shards: usize,
    /// The units of all shards and the sample.
    pub units: usize,
    /// A hash of all units, of the sample too.
    pub fingerprint: String,
    /// The subjects in the shards, and those of the sample; units, if there are no subjects.
    pub subjects: usize,
    pub sample_subjects: usize,
    /// Whether any covariate is missing.
    pub missing_x: bool,
}

impl UnitBuckets {
    /// Buckets for at most `rows` units, in a temporary file in `folder`.
    pub(crate) fn new(form: RecordForm, rows: usize, sizes: ShardSizes, folder: &Path) -> Result<Self> {
        let buckets = Piles::create(folder, sizes.shards(rows, form))?;
        let folder = folder.to_owned();
        Ok(Self { form, sizes, folder, buckets, units: 0, missing_x: false, record: Vec::new() })
    }

    /// Adds units; with subjects, the hash of each unit's subject.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub(crate) fn add(&mut self, data: &Dataset, subjects: Option<&[u64]>) -> Result<()> {
        self.units += data.len();
        self.missing_x |= data.x().mask().is_some();
        let count = self.buckets.len() as u128;
        for i in 0..data.len() {
            self.record.clear();
            self.form.push(data, i, subjects.map(|subjects| subjects[i]), &mut self.record);
            // keys in order, so that the buckets together are in the order of the keys, too
            let bucket = (u128::from(self.form.key(&self.record)) * count) >> 64;
            self.buckets.push(bucket as usize, &self.record)?;
        }
        Ok(())
    }

    /// Deals all units to the sample and to shards.
    ///
    /// # Errors
    /// If the temporary files cannot be read or written, one subject has too many rows, or the monitor asks to stop.
    pub(crate) fn deal(mut self, monitor: &dyn Monitor) -> Result<DealtUnits> {
        let (form, count) = (self.form, self.buckets.len());
        let mut deal = Deal {
            sample: Vec::new(),
            piles: Piles::create(&self.folder, count)?,
            // of every subject; subjects are as many as units at most
            threshold: (self.sizes.sample as f64 / self.units.max(1) as f64).min(1.0),
            subjects: 0,
            sample_subjects: 0,
        };
        let shapes = [form.x, form.t, form.y].into_iter().flat_map(|side| [1, side as u64]);
        let mut hash = ContentHash::new(shapes);
        for bucket in 0..count {
            if monitor.stopped() {
                return Err(Error::Interrupted);
            }
            let mut records = self.read_bucket(bucket)?;
            let mut rng = stream(0, &["deal", &bucket.to_string()]);
            let mut before = None;
            let mut to = None;
            for (record, copies) in records.sorted() {
                let key = form.key(record);
                for _ in 0..copies {
                    if !form.grouped || before != Some(key) {
                        to = deal.draw(count, &mut rng);
                    }
                    hash.add(form.hash(record));
                    before = Some(key);
                    deal.give(to, record)?;
                }
            }
            monitor.epoch(f64::NAN);
        }
        let sample = form.units(&deal.sample)?;
        let shards = UnitShards {
            form,
            piles: Mutex::new(deal.piles),
            shards: count,
            units: self.units,
            fingerprint: hash.finish(),
            subjects: deal.subjects,
            sample_subjects: deal.sample_subjects,
            missing_x: self.missing_x,
        };
        let content_hash = (!form.grouped).then(|| shards.fingerprint.clone());
        Ok(DealtUnits { sample, shards, content_hash })
    }

    /// The number of buckets, and of shards.
    pub(crate) fn len(&self) -> usize {
        self.buckets.len()
    }

    fn read_bucket(&mut self, bucket: usize) -> Result<Distinct> {
        let most = MAX_BUCKET * self.sizes.shard_bytes;
        let mut records = Distinct::new(self.form, 4 * self.sizes.shard_bytes / bytes(self.form));
        self.buckets.read(bucket, |block| {
            records.add(block);
            let size = records.words() * size_of::<u32>();
            if size <= most {
                return Ok(());
            }
            let problem = format!("one subject has rows of more than {}", MemorySize(most as u64));
            let hint = "give a column that names smaller groups of rows, or leave `group` out";
            Err(Error::data("group", problem, hint))
        })?;
        Ok(records)
    }
}

/// The sample and the shards while units are dealt.
struct Deal {
    sample: Vec<u32>,
    piles: Piles,
    /// The probability of the sample.
    threshold: f64,
    subjects: usize,
    sample_subjects: usize,
}

impl Deal {
    /// Where the next subject goes: to a shard or, if none, to the sample.
    fn draw(&mut self, shards: usize, rng: &mut crate::rng::Rng) -> Option<usize> {
        if rng.random::<f64>() < self.threshold {
            self.sample_subjects += 1;
            return None;
        }
        self.subjects += 1;
        Some(rng.random_range(0..shards))
    }

    fn give(&mut self, shard: Option<usize>, record: &[u32]) -> Result<()> {
        match shard {
            Some(shard) => self.piles.push(shard, record),
            None => {
                self.sample.extend_from_slice(record);
                Ok(())
            }
        }
    }
}

/// The hash of all units, from their hashes in ascending order.
struct ContentHash(u64);

impl ContentHash {
    fn new(shapes: impl Iterator<Item = u64>) -> Self {
        Self(fnv1a(shapes.flat_map(u64::to_le_bytes)))
    }

    fn add(&mut self, unit: u64) {
        self.0 = crate::rng::fnv1a_on(self.0, unit.to_le_bytes());
    }

    fn finish(self) -> String {
        format!("{:016x}", self.0)
    }
}

impl UnitShards {
    /// The number of shards.
    pub(crate) fn len(&self) -> usize {
        self.shards
    }

    /// The units of a shard; none, if it is empty.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub(crate) fn read(&self, shard: usize) -> Result<Option<Dataset>> {
        let mut records = Vec::new();
        let mut piles = self.piles.lock().unwrap_or_else(PoisonError::into_inner);
        piles.read(shard, |block| {
            records.extend_from_slice(block);
            Ok(())
        })?;
        drop(piles);
        if records.is_empty() { Ok(None) } else { self.form.units(&records).map(Some) }
    }
}

#[cfg(test)]
mod tests;
