//! The finished jobs of a fit, in a file from which an interrupted fit resumes.
//!
//! A fit consists of jobs that each depend on the data, the settings and their own random stream alone. A job found in
//! the file is not run again, and all others run as they would have, so a resumed fit gives the same bits as an
//! uninterrupted one.
//!
//! The file is a sequence of records, each with its length and its CRC-32. The first identifies the fit, every later
//! one holds a job and is appended when the job is done. An incomplete record at the end, left by a crash, is
//! overwritten; a damaged record is an error.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::Crc;
use serde::{Deserialize, Serialize};

use crate::config::{Classes, FitConfig};
use crate::data::{Dataset, NamedArray, Units, read_bytes};
use crate::density::{Finished, Jobs};
use crate::rng::fnv1a;
use crate::runtime::Resources;
use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"cfqpjob1";

/// The result of one job: the weights of networks, and numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct JobResult {
    pub nets: Vec<Vec<NamedArray>>,
    pub numbers: Vec<f64>,
}

/// What must be equal for a fit to resume from a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    version: String,
    settings: String,
    data: String,
    /// The units given for validation.
    validation: String,
}

impl Identity {
    fn new(config: &FitConfig, data: &Dataset, validation_units: usize) -> Result<Self> {
        // every job is named by its number of classes, so fits that differ only in K share a checkpoint
        let config = FitConfig { classes: Classes::Auto, max_classes: 1, ..config.clone() };
        let first_validation = data.len() - validation_units;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: fingerprint(&config, &[])?,
            data: data.content_hash_of(0..first_validation),
            validation: data.content_hash_of(first_validation..data.len()),
        })
    }

    /// What differs from `other`, if anything.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        let differences = [
            (self.version != other.version, "the version of the program differs"),
            (self.validation != other.validation, "the validation data differ"),
            (self.data != other.data, "the data differ"),
            (self.settings != other.settings, "the settings differ"),
        ];
        differences.into_iter().find(|(differs, _)| *differs).map(|(_, text)| text)
    }
}

/// Finished jobs by name.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    /// Jobs of the fit that is resumed.
    found: BTreeMap<String, JobResult>,
    /// Where new jobs are appended, if anywhere.
    journal: Option<Mutex<Journal>>,
}

impl Checkpoint {
    /// The checkpoint of a fit of `config` to `data`, the last `validation_units` of which were given for validation.
    ///
    /// It has no jobs unless `resources` ask to resume and the file exists.
    pub(crate) fn open(
        resources: &Resources,
        config: &FitConfig,
        data: &Dataset,
        validation_units: usize,
    ) -> Result<Self> {
        let Some(path) = &resources.checkpoint else {
            return Ok(Self { found: BTreeMap::new(), journal: None });
        };
        let identity = Identity::new(config, data, validation_units)?;
        let (mut found, mut end, mut file) = (BTreeMap::new(), 0, None);
        if resources.resume && path.exists() {
            let locked = open_locked(path, false).map_err(Error::io(path))?;
            let content = read(path, &read_bytes(path)?)?;
            let difference = content.identity.as_ref().and_then(|found| identity.difference(found));
            if let Some(difference) = difference {
                let problem = format!("the checkpoint belongs to another fit: {difference}");
                return Err(Error::file(path, problem, REMOVE));
            }
            (found, end) = (content.jobs, content.end);
            locked.set_len(end).map_err(Error::io(path))?;
            file = Some(locked);
        }
        let journal = Journal { path: path.clone(), identity, end, file };
        Ok(Self { found, journal: Some(Mutex::new(journal)) })
    }

    /// The result of the job `name`, if the resumed fit has finished it.
    pub(crate) fn get(&self, name: &str) -> Option<JobResult> {
        self.found.get(name).cloned()
    }

    /// Appends the result of the job `name`.
    pub(crate) fn insert(&self, name: &str, job: JobResult) -> Result<()> {
        let Some(journal) = &self.journal else { return Ok(()) };
        // a job that panicked while it held the lock has ended the fit anyway
        journal.lock().unwrap_or_else(PoisonError::into_inner).append(name, &job)
    }
}

/// The jobs of densities: networks without names of their weights.
impl Jobs for Checkpoint {
    fn find(&self, name: &str) -> Option<Finished> {
        let JobResult { nets, numbers } = self.get(name)?;
        Some(Finished { arrays: nets.into_iter().flatten().map(|array| array.values).collect(), numbers })
    }

    fn keep(&self, name: &str, job: Finished) -> Result<()> {
        if self.journal.is_none() {
            return Ok(());
        }
        let array = |values: Vec<f32>| NamedArray { name: String::new(), shape: vec![values.len()], values };
        let nets = vec![job.arrays.into_iter().map(array).collect()];
        self.insert(name, JobResult { nets, numbers: job.numbers })
    }
}

/// A checkpoint file that grows.
#[derive(Debug)]
struct Journal {
    path: PathBuf,
    identity: Identity,
    /// Where the next record goes; 0 for a new file.
    end: u64,
    /// Opened at the first job, so that a fit that finishes none leaves no file. Nobody else can open it meanwhile.
    file: Option<File>,
}

impl Journal {
    fn append(&mut self, name: &str, job: &JobResult) -> Result<()> {
        let mut record = Vec::new();
        if self.end == 0 {
            record.extend(MAGIC);
            push_record(&mut record, &json(&self.identity)?, &[]);
        }
        let values: Vec<u8> =
            job.nets.iter().flatten().flat_map(|w| &w.values).flat_map(|value| value.to_le_bytes()).collect();
        push_record(&mut record, &json(&JobHeader::new(name, job))?, &values);
        if let Err(error) = self.write(&record) {
            self.undo();
            return Err(Error::io(&self.path)(error));
        }
        self.end += record.len() as u64;
        Ok(())
    }

    /// Removes what was written of a record, and a file without records. What cannot be removed is overwritten later.
    fn undo(&mut self) {
        let Some(file) = &self.file else { return };
        let _ = file.set_len(self.end);
        if self.end == 0 {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.file.is_none() {
            let file = open_locked(&self.path, true)?;
            file.set_len(self.end)?;
            self.file = Some(file);
        }
        let file = self.file.as_mut().expect("it was opened above");
        write_at(file, self.end, bytes)?;
        file.sync_data()
    }
}

/// Opens a checkpoint for one fit alone, until the file is closed.
fn open_locked(path: &Path, create: bool) -> std::io::Result<File> {
    let file = OpenOptions::new().write(true).create(create).truncate(false).open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(std::io::Error::new(ErrorKind::WouldBlock, "another fit is using this checkpoint"))
        }
        // some file systems have no locks
        _ => Ok(file),
    }
}

fn write_at(file: &mut (impl Write + Seek), start: u64, bytes: &[u8]) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(start))?;
    file.write_all(bytes)
}

/// A job without the values of its weights, which follow it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobHeader {
    name: String,
    /// Name and shape of every weight of every network.
    nets: Vec<Vec<(String, Vec<usize>)>>,
    /// Numbers as bits: JSON has no infinities.
    bits: Vec<u64>,
}

impl JobHeader {
    fn new(name: &str, job: &JobResult) -> Self {
        let weights = |net: &Vec<NamedArray>| net.iter().map(|w| (w.name.clone(), w.shape.clone())).collect();
        Self {
            name: name.to_owned(),
            nets: job.nets.iter().map(weights).collect(),
            bits: job.numbers.iter().map(|number| number.to_bits()).collect(),
        }
    }

    /// The job with the given weight values; `None` if there are too few or too many.
    fn with_values(self, values: &[u8]) -> Option<(String, JobResult)> {
        let mut rest = values;
        let mut nets = Vec::new();
        for weights in self.nets {
            let mut net = Vec::new();
            for (name, shape) in weights {
                let size = shape.iter().try_fold(4_usize, |size, &side| size.checked_mul(side))?;
                let own = rest.split_off(..size)?;
                let values = own.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
                net.push(NamedArray { name, shape, values });
            }
            nets.push(net);
        }
        let numbers = self.bits.into_iter().map(f64::from_bits).collect();
        rest.is_empty().then_some((self.name, JobResult { nets, numbers }))
    }
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    let problem = "a job cannot be written to the checkpoint";
    serde_json::to_vec(value).map_err(|e| Error::fit(problem, "report this as a defect").with_source(e))
}

/// Appends a record: total length, header length, CRC-32, header, values.
fn push_record(out: &mut Vec<u8>, header: &[u8], values: &[u8]) {
    let mut crc = Crc::new();
    crc.update(header);
    crc.update(values);
    out.extend(((header.len() + values.len()) as u64).to_le_bytes());
    out.extend((header.len() as u32).to_le_bytes());
    out.extend(crc.sum().to_le_bytes());
    out.extend(header);
    out.extend(values);
}

/// Length of what precedes a record's content.
const RECORD_HEAD: usize = 16;

/// The content of a record.
struct Record<'a> {
    header: &'a [u8],
    values: &'a [u8],
}

/// `bytes` with the checksum that the content of every record has: what is damaged besides is found by other checks.
pub(crate) fn with_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut at = MAGIC.len();
    while let Some(head) = bytes.get(at..at + RECORD_HEAD) {
        let length = head[..8].iter().rev().fold(0, |number: usize, &byte| number << 8 | usize::from(byte));
        let start = at + RECORD_HEAD;
        let Some(content) = start.checked_add(length).and_then(|end| bytes.get(start..end)) else { break };
        let mut crc = Crc::new();
        crc.update(content);
        bytes[at + 12..start].copy_from_slice(&crc.sum().to_le_bytes());
        at = start + length;
    }
    bytes
}

/// Splits the first record off `bytes`; `Ok(None)` if it is incomplete.
fn take_record<'a>(bytes: &mut &'a [u8]) -> Result<Option<Record<'a>>, String> {
    let Some((head, rest)) = bytes.split_first_chunk::<RECORD_HEAD>() else { return Ok(None) };
    let [length, header, crc] = [&head[..8], &head[8..12], &head[12..]]
        .map(|field| field.iter().rev().fold(0_u64, |number, &byte| number << 8 | u64::from(byte)));
    if length > rest.len() as u64 {
        return Ok(None);
    }
    let (content, rest) = rest.split_at(length as usize);
    let mut found = Crc::new();
    found.update(content);
    if u64::from(found.sum()) != crc || header > length {
        return Err("the checksum of a job does not match".to_owned());
    }
    *bytes = rest;
    let (header, values) = content.split_at(header as usize);
    Ok(Some(Record { header, values }))
}

/// The content of a checkpoint.
#[derive(Default)]
pub(crate) struct Content {
    /// None if the fit ended before its first job was done.
    identity: Option<Identity>,
    jobs: BTreeMap<String, JobResult>,
    /// Where the last complete record ends.
    end: u64,
}

/// What to do about a checkpoint that cannot be used.
const REMOVE: &str = "remove the file, or start over without resuming";

/// Reads the content of the checkpoint `path`.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<Content> {
    let wrong = |problem: String| Error::file(path, problem, REMOVE);
    let damaged = || wrong("it is not a checkpoint of this program, or it is damaged".to_owned());
    if MAGIC.starts_with(bytes) {
        return Ok(Content::default());
    }
    let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(damaged)?;
    let Some(first) = take_record(&mut rest).map_err(wrong)? else { return Ok(Content::default()) };
    let identity = serde_json::from_slice(first.header).map_err(|_| damaged())?;
    let mut jobs = BTreeMap::new();
    while let Some(record) = take_record(&mut rest).map_err(wrong)? {
        let header: JobHeader = serde_json::from_slice(record.header).map_err(|_| damaged())?;
        jobs.extend(header.with_values(record.values).map(Some).ok_or_else(damaged)?);
    }
    Ok(Content { identity: Some(identity), jobs, end: (bytes.len() - rest.len()) as u64 })
}

/// A text that differs between fits whose settings or data differ.
pub(crate) fn fingerprint(config: &impl Serialize, data: &[&Units]) -> Result<String> {
    let text = serde_json::to_string(config);
    let text = text.map_err(|e| {
        Error::config("config", "the settings cannot be written as JSON", "give finite numbers")
            .with_source(e)
    })?;
    let shapes = data.iter().flat_map(|units| units.shape()).flat_map(|&side| (side as u64).to_le_bytes());
    let values = data.iter().flat_map(|units| (0..units.len()).flat_map(|i| unit_bytes(units, i)));
    let masks = data.iter().flat_map(|units| units.mask().unwrap_or_default()).map(|&seen| seen.into());
    Ok(format!("{:016x}", fnv1a(text.bytes().chain(shapes).chain(values).chain(masks))))
}

fn unit_bytes(units: &Units, i: usize) -> Vec<u8> {
    units.row(i).iter().flat_map(|value| value.to_bits().to_le_bytes()).collect()
}

#[cfg(test)]
mod tests;
