//! What a fit has finished, kept in a file so that an interrupted fit can go on.
//!
//! A fit is made of jobs that each depend on the data, the settings and their own random stream alone. A job that
//! is found in the file is not run again; all others run as they would have. So a resumed fit ends with the bits of
//! an uninterrupted one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::Resources;
use crate::config::{Classes, FitConfig};
use crate::data::{Dataset, Units, read_container, write_container};
use crate::nn::Weight;
use crate::{Error, Result};

/// What one job came to: networks, one after the other, and numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Entry {
    pub nets: Vec<Vec<Weight>>,
    pub numbers: Vec<f64>,
}

/// Finished jobs by name.
#[derive(Debug)]
pub(crate) struct Store {
    path: Option<PathBuf>,
    fingerprint: String,
    entries: Mutex<BTreeMap<String, Entry>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    fingerprint: String,
    jobs: Vec<Job>,
}

/// Numbers are kept as bits: infinities have no place in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    name: String,
    nets: Vec<usize>,
    bits: Vec<u64>,
}

impl Store {
    /// The checkpoint of a fit of `config` on `data`, empty unless `resources` ask to resume one that is there.
    pub fn open(resources: &Resources, config: &FitConfig, data: &Dataset) -> Result<Self> {
        // every job is named by its number of classes: fits that differ in nothing else share them
        let config = FitConfig { classes: Classes::Auto, max_classes: 1, ..config.clone() };
        let fingerprint = fingerprint(&config, &[data.x(), data.t(), data.y()])?;
        let entries = match &resources.checkpoint {
            Some(path) if resources.resume && path.exists() => read(path, &fingerprint)?,
            _ => BTreeMap::new(),
        };
        Ok(Self { path: resources.checkpoint.clone(), fingerprint, entries: Mutex::new(entries) })
    }

    /// What the job called `name` came to, if it has run.
    pub fn recall(&self, name: &str) -> Option<Entry> {
        self.entries.lock().ok()?.get(name).cloned()
    }

    /// Keep what the job called `name` came to.
    pub fn keep(&self, name: &str, entry: Entry) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let Ok(mut entries) = self.entries.lock() else { return Ok(()) };
        entries.insert(name.to_owned(), entry);
        let job = |(name, entry): (&String, &Entry)| Job {
            name: name.clone(),
            nets: entry.nets.iter().map(Vec::len).collect(),
            bits: entry.numbers.iter().map(|number| number.to_bits()).collect(),
        };
        let index = Index { fingerprint: self.fingerprint.clone(), jobs: entries.iter().map(job).collect() };
        let mut arrays = Vec::new();
        for (name, entry) in entries.iter() {
            for (i, net) in entry.nets.iter().enumerate() {
                let named = |w: &Weight| Weight { name: format!("{name}:{i}:{}", w.name), ..w.clone() };
                arrays.extend(net.iter().map(named));
            }
        }
        write_container(path, &index, &arrays)
    }
}

fn read(path: &Path, fingerprint: &str) -> Result<BTreeMap<String, Entry>> {
    let wrong =
        |problem: String| Error::file(path, problem, "remove the file, or start over without --resume");
    let (index, arrays) = read_container(path)?;
    let index: Index = serde_json::from_value(index).map_err(|e| wrong(format!("not a checkpoint: {e}")))?;
    if index.fingerprint != fingerprint {
        return Err(wrong("the checkpoint is of another fit: data or settings differ".to_owned()));
    }
    let mut arrays = arrays.into_iter();
    let mut entries = BTreeMap::new();
    for job in index.jobs {
        let mut nets = Vec::new();
        for (i, count) in job.nets.into_iter().enumerate() {
            let prefix = format!("{}:{i}:", job.name);
            let strip = |w: Weight| {
                w.name.strip_prefix(&prefix).map(|name| Weight { name: name.to_owned(), ..w.clone() })
            };
            let net: Option<Vec<Weight>> = arrays.by_ref().take(count).map(strip).collect();
            let net = net.filter(|net| net.len() == count);
            nets.push(net.ok_or_else(|| wrong(format!("job `{}` is incomplete", job.name)))?);
        }
        entries.insert(job.name, Entry { nets, numbers: job.bits.into_iter().map(f64::from_bits).collect() });
    }
    Ok(entries)
}

/// A number that differs between fits whose settings or data differ.
pub(crate) fn fingerprint(config: &impl Serialize, data: &[&Units]) -> Result<String> {
    let text = serde_json::to_string(config);
    let text = text.map_err(|e| Error::config("config", e.to_string(), "give settings that are numbers"))?;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |word: u64| hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    text.bytes().for_each(|byte| mix(byte.into()));
    for units in data {
        units.shape().iter().for_each(|&side| mix(side as u64));
        (0..units.len()).for_each(|i| units.unit(i).iter().for_each(|value| mix(value.to_bits().into())));
        units.mask().unwrap_or_default().iter().for_each(|&seen| mix(seen.into()));
    }
    Ok(format!("{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_jobs_come_back_for_the_same_fit_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.part");
        let units = |shift: f32| Units::new("x", vec![1], vec![shift, 1.0, 2.0]).unwrap();
        let data = |shift| Dataset::new(units(shift), units(0.0), units(0.0)).unwrap();
        let resources = |resume| Resources { checkpoint: Some(path.clone()), resume, ..Resources::default() };
        let (config, entry) = (
            FitConfig::default(),
            Entry {
                nets: vec![vec![Weight { name: "w".into(), shape: vec![2], values: vec![1.0, 2.0] }], vec![]],
                numbers: vec![f64::INFINITY, 0.1],
            },
        );
        let store = Store::open(&resources(false), &config, &data(0.0)).unwrap();
        store.keep("a", entry.clone()).unwrap();
        let again = Store::open(&resources(true), &config, &data(0.0)).unwrap();
        assert_eq!(again.recall("a"), Some(entry));
        assert_eq!(again.recall("b"), None);
        let fresh = Store::open(&resources(false), &config, &data(0.0)).unwrap();
        assert_eq!(fresh.recall("a"), None);
        let error = Store::open(&resources(true), &config, &data(5.0)).unwrap_err();
        assert!(error.to_string().contains("another fit"), "{error}");
    }
}
