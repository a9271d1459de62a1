//! Arrays in numpy's `.npz` format: a zip file of [`.npy`](super::npy) arrays.
//!
//! | key | shape | content |
//! |---|---|---|
//! | `x`, `y` | `[n]`, `[n, features]`, `[n, channels, steps]`, `[n, channels, height, width]` | covariates, outcomes |
//! | `t` | `[n]`, `[n, treatments]` | treatments |
//! | `x_mask`, `t_mask`, `y_mask` | as `x`, `t`, `y` | true (or 1) where the value was observed; optional |
//! | `group` | `[n]` | the subject of each unit, as integers; optional |
//! | `z`, `t_new`, `y_new`, `y_bayes`, `p_bayes` | | true classes, other treatments, their outcomes, the best answers and probabilities; read by [`read_array`] only |
//!
//! Kinds of outcomes are not in the file: they are recognised from the values.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::atomic::write_atomically;
use super::deferring::Deferring;
use super::npy::{self, Element, Limits, NpyError};
use super::open::open_file;
use super::retrying::Retrying;
use crate::data::extremes::LostDigits;
use crate::data::{Dataset, Units};
use crate::error::{Error, Result};

/// The keys that a file may have; the last five are not part of a [`Dataset`].
const KNOWN_KEYS: [&str; 12] =
    ["x", "t", "y", "x_mask", "t_mask", "y_mask", "group", "z", "t_new", "y_new", "y_bayes", "p_bayes"];
const EXPECTED_KEYS: &str = "give the arrays x, t and y, optionally x_mask, t_mask, y_mask and group, and no others except z, t_new, y_new, y_bayes and p_bayes";
const DAMAGED: &str =
    "the file is damaged or is not an .npz file: write it again with numpy.savez_compressed";

/// Larger arrays must not be compressed to less than a hundredth of their size.
const MAX_UNCHECKED_BYTES: u64 = 1 << 30;
/// The highest compression ratio of deflate.
const MAX_EXPANSION: u64 = 1032;

impl Dataset {
    /// Reads `x`, `t`, `y`, the masks and the subjects (`group`) of a `.npz` file; numbers of any type are converted to f32.
    ///
    /// # Errors
    /// If the file cannot be read, lacks an array, has an unknown one, or the arrays do not form a data set.
    pub fn read_npz(path: &Path) -> Result<Self> {
        Self::read_arrays(Archive::open(path)?, None)
    }

    /// As [`read_npz`](Self::read_npz), from the content of a file, which errors call `path`.
    pub(crate) fn read_npz_bytes(path: &Path, bytes: &[u8]) -> Result<Self> {
        Self::read_arrays(Archive::new(path, Cursor::new(bytes))?, None)
    }

    /// As [`read_npz`](Self::read_npz), for units that a model with outcomes of shape `y` and treatments of `treatments`
    /// numbers is asked about: `y` may be absent, and then `t` may be, too.
    pub(crate) fn read_npz_to_ask(path: &Path, y: &[usize], treatments: usize) -> Result<Self> {
        Self::read_arrays(Archive::open(path)?, Some((y, treatments)))
    }

    /// Reads a data set; `absent` has the shapes of y and t if these need not be there.
    fn read_arrays(
        mut file: Archive<'_, impl Read + Seek>,
        absent: Option<(&[usize], usize)>,
    ) -> Result<Self> {
        let path = file.path;
        let found = file.keys();
        for key in &found {
            if !KNOWN_KEYS.contains(&key.as_str()) {
                return Err(Error::file(
                    path,
                    format!("unknown array `{key}` (found {found:?})"),
                    EXPECTED_KEYS,
                ));
            }
        }
        let mut units = |name: &str| {
            let array = file.array(name)?.ok_or_else(|| {
                Error::file(path, format!("there is no array `{name}` (found {found:?})"), EXPECTED_KEYS)
            })?;
            let mask = file.array(&format!("{name}_mask"))?;
            array.into_units(name, mask).map_err(|error| error.in_file(path))
        };
        let x = units("x")?;
        let is_absent = |name: &str| !found.iter().any(|key| key == name);
        let (t, y) = match absent {
            Some((shape, treatments)) if is_absent("y") => {
                let missing_t = || Ok(Units::all_missing(vec![treatments], x.len()));
                let t = if is_absent("t") { missing_t() } else { units("t") };
                (t?, Units::all_missing(shape.to_vec(), x.len()))
            }
            _ => (units("t")?, units("y")?),
        };
        let data = Self::new(x, t, y);
        let data = match file.groups()? {
            Some(groups) => data.and_then(|data| data.with_groups(groups)),
            None => data,
        };
        data.map_err(|error| error.in_file(path))
    }

    /// Writes `x`, `t` and `y`, the masks of missing values and the subjects if there are any, and `more` arrays.
    ///
    /// # Errors
    /// If a name repeats, an array of `more` does not match its shape, or the file cannot be written.
    pub fn write_npz(&self, path: &Path, more: &[(&str, NpzArray)]) -> Result<()> {
        let mut arrays = vec![
            ("x", NpzArray::units(self.x())),
            ("t", NpzArray::units(self.t())),
            ("y", NpzArray::units(self.y())),
        ];
        arrays.extend(NpzArray::mask(self.x()).map(|mask| ("x_mask", mask)));
        arrays.extend(NpzArray::mask(self.t()).map(|mask| ("t_mask", mask)));
        arrays.extend(NpzArray::mask(self.y()).map(|mask| ("y_mask", mask)));
        let groups: Option<Vec<i64>> =
            self.groups().map(|groups| groups.iter().map(|&group| i64::from(group)).collect());
        arrays.extend(groups.as_deref().map(|groups| ("group", NpzArray::integers(groups))));
        arrays.extend_from_slice(more);
        write_npz(path, &arrays)
    }
}

/// Reads the array `key` of a `.npz` file; `None` if there is no such array.
///
/// # Errors
/// If the file cannot be read, or the array is a single number or has a value that is not finite.
pub fn read_array(path: &Path, key: &str) -> Result<Option<Units>> {
    let array = Archive::open(path)?.array(key)?;
    array.map(|array| array.into_units(key, None)).transpose().map_err(|error| error.in_file(path))
}

/// An array to write, in C order.
#[derive(Clone, Debug)]
pub struct NpzArray<'a> {
    /// The shape.
    pub shape: Vec<usize>,
    /// The values.
    pub values: NpzValues<'a>,
}

/// The values of an array to write.
#[derive(Clone, Copy, Debug)]
pub enum NpzValues<'a> {
    /// `<f4`
    F32(&'a [f32]),
    /// `<i8`
    I64(&'a [i64]),
    /// `|b1`
    Bool(&'a [bool]),
    /// `<U` with the length of the longest text
    Text(&'a [&'a str]),
}

impl<'a> NpzArray<'a> {
    /// The values of `units`: `[n]` if a unit is a single number, `[n, ...]` otherwise.
    pub fn units(units: &'a Units) -> Self {
        Self { shape: whole_shape(units), values: NpzValues::F32(units.values()) }
    }

    /// The mask of `units`; `None` if nothing is missing.
    pub fn mask(units: &'a Units) -> Option<Self> {
        units.mask().map(|mask| Self { shape: whole_shape(units), values: NpzValues::Bool(mask) })
    }

    /// A vector of integers, such as classes.
    pub fn integers(values: &'a [i64]) -> Self {
        Self { shape: vec![values.len()], values: NpzValues::I64(values) }
    }

    fn check(&self, name: &str) -> Result<()> {
        let count = match self.values {
            NpzValues::F32(values) => values.len(),
            NpzValues::I64(values) => values.len(),
            NpzValues::Bool(values) => values.len(),
            NpzValues::Text(values) => values.len(),
        };
        if self.shape.iter().product::<usize>() == count {
            return Ok(());
        }
        let problem = format!("{count} values do not have shape {:?}", self.shape);
        Err(Error::data(name, problem, "give one value per element of the shape"))
    }

    fn write(&self, to: &mut impl Write) -> std::io::Result<()> {
        /// Writes many values at a time: compressing element by element would be slow.
        fn write_chunks<T: Copy, const N: usize>(
            to: &mut impl Write,
            values: &[T],
            bytes: impl Fn(T) -> [u8; N],
        ) -> std::io::Result<()> {
            values.chunks(1 << 14).try_for_each(|chunk| {
                to.write_all(chunk.iter().map(|&value| bytes(value)).collect::<Vec<_>>().as_flattened())
            })
        }
        let descr = match self.values {
            NpzValues::F32(_) => "<f4".to_owned(),
            NpzValues::I64(_) => "<i8".to_owned(),
            NpzValues::Bool(_) => "|b1".to_owned(),
            NpzValues::Text(values) => format!("<U{}", longest(values)),
        };
        npy::write_header(to, &descr, &self.shape)?;
        match self.values {
            NpzValues::F32(values) => write_chunks(to, values, f32::to_le_bytes),
            NpzValues::I64(values) => write_chunks(to, values, i64::to_le_bytes),
            NpzValues::Bool(values) => write_chunks(to, values, |value| [u8::from(value)]),
            NpzValues::Text(values) => {
                let length = longest(values);
                let padded = |text: &&str| -> Vec<u32> {
                    text.chars().map(u32::from).chain(std::iter::repeat(0)).take(length).collect()
                };
                write_chunks(to, &values.iter().flat_map(padded).collect::<Vec<_>>(), u32::to_le_bytes)
            }
        }
    }
}

/// The number of characters of the longest text; at least 1, as an element cannot be empty.
fn longest(texts: &[&str]) -> usize {
    texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1)
}

fn whole_shape(units: &Units) -> Vec<usize> {
    let rest = if units.shape() == [1] { &[] } else { units.shape() };
    [&[units.len()], rest].concat()
}

/// Writes a compressed `.npz` file, completely or not at all; the same arrays give the same bytes.
///
/// # Errors
/// If a name repeats, an array does not match its shape, or the file cannot be written.
pub fn write_npz(path: &Path, arrays: &[(&str, NpzArray)]) -> Result<()> {
    write_npz_with(path, arrays, || Ok(()))
}

/// Writes a compressed `.npz` file together with another file: it appears once it is complete and `write_other` has
/// succeeded.
///
/// # Errors
/// As [`write_npz`], and if `write_other` fails.
pub fn write_npz_with(
    path: &Path,
    arrays: &[(&str, NpzArray)],
    write_other: impl FnOnce() -> Result<()>,
) -> Result<()> {
    arrays.iter().try_for_each(|(name, array)| array.check(name))?;
    write_atomically(path, |file| {
        write_zip(&mut *file, arrays).map_err(|error| match error {
            ZipError::Io(error) => Error::io(path)(error),
            error => Error::file(path, "the archive cannot be written", "give every array a different name")
                .with_source(error),
        })?;
        file.flush().map_err(Error::io(path))?;
        write_other()
    })
}

fn write_zip(file: impl Write + Seek, arrays: &[(&str, NpzArray)]) -> Result<(), ZipError> {
    let mut file = Deferring::new(file);
    let mut zip = ZipWriter::new(&mut file);
    let written = write_entries(&mut zip, arrays).and_then(|()| zip.finish().map(|_| ()));
    file.finish().map_err(ZipError::Io).and(written)
}

fn write_entries(
    zip: &mut ZipWriter<impl Write + Seek>,
    arrays: &[(&str, NpzArray)],
) -> Result<(), ZipError> {
    for (name, array) in arrays {
        let large = array.shape.iter().product::<usize>() >= 1 << 28;
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default().large_file(large))?;
        array.write(zip)?;
    }
    Ok(())
}

/// An array as read from the file; the first axis counts the units.
struct Array<T = f32> {
    shape: Vec<usize>,
    values: Vec<T>,
    lost_digits: Option<LostDigits>,
}

impl Array {
    fn into_units(self, name: &str, mask: Option<Self>) -> Result<Units> {
        let shape = match &self.shape[..] {
            [] => {
                let hint = "give an array whose first axis counts the units";
                return Err(Error::data(name, "the array is a single number", hint));
            }
            [_] => vec![1],
            [_, rest @ ..] => rest.to_vec(),
        };
        if let Some(mask) = &mask
            && mask.shape != self.shape
        {
            let problem = format!("the shape is {:?}, but {name} has {:?}", mask.shape, self.shape);
            return Err(Error::data(format!("{name}_mask"), problem, "give the mask the shape of its array"));
        }
        let mask = mask.map(|mask| mask.values.iter().map(|&value| value != 0.0).collect());
        let units = Units::with_mask(name, shape, self.values, mask)?;
        Ok(units.with_lost_digits(self.lost_digits))
    }
}

/// The number of entries that a zip archive of `bytes` bytes says that it has; `None` if it has no such record, or too many
/// entries for it.
fn entry_count(file: &mut (impl Read + Seek), bytes: u64) -> std::io::Result<Option<usize>> {
    const RECORD: usize = 22;
    const SIGNATURE: &[u8] = b"PK\x05\x06";
    // the record is followed by a comment of at most 64 KiB
    let tail = bytes.min((RECORD + (1 << 16)) as u64);
    file.seek(SeekFrom::Start(bytes - tail))?;
    let mut end = Vec::new();
    file.by_ref().take(tail).read_to_end(&mut end)?;
    file.rewind()?;
    let found = end.windows(RECORD).rposition(|record| record.starts_with(SIGNATURE));
    let count = found.map(|at| usize::from(u16::from_le_bytes([end[at + 10], end[at + 11]])));
    Ok(count.filter(|count| *count < usize::from(u16::MAX)))
}

/// An open `.npz` file.
struct Archive<'a, R> {
    path: &'a Path,
    zip: ZipArchive<R>,
    /// The size of the file.
    bytes: u64,
    /// The memory of the arrays read so far.
    used: u64,
}

impl<'a> Archive<'a, BufReader<Retrying<File>>> {
    fn open(path: &'a Path) -> Result<Self> {
        Self::new(path, BufReader::new(Retrying(open_file(path)?)))
    }
}

impl<'a, R: Read + Seek> Archive<'a, R> {
    fn new(path: &'a Path, mut file: R) -> Result<Self> {
        let bytes = file.seek(SeekFrom::End(0)).map_err(Error::io(path))?;
        let entries = entry_count(&mut file, bytes).map_err(Error::io(path))?;
        let zip = ZipArchive::new(file)
            .map_err(|error| Error::file(path, "not a readable zip archive", DAMAGED).with_source(error))?;
        // the reader keeps one of several entries with the same name
        if let Some(entries) = entries.filter(|entries| *entries > zip.len()) {
            let problem = format!("the archive has {entries} entries, but only {} names", zip.len());
            return Err(Error::file(path, problem, "give every array a different name"));
        }
        Ok(Self { path, zip, bytes, used: 0 })
    }

    fn keys(&self) -> Vec<String> {
        let names = self.zip.file_names();
        names.map(|name| name.strip_suffix(".npy").unwrap_or(name).to_owned()).collect()
    }

    /// The subjects of the units, as indices in order of first appearance.
    fn groups(&mut self) -> Result<Option<Vec<u32>>> {
        let Some(Array { shape, values, .. }) = self.array::<i64>("group")? else { return Ok(None) };
        if shape.len() != 1 {
            let problem = format!("array `group` has shape {shape:?}");
            return Err(Error::file(self.path, problem, "give one integer per unit, the subject"));
        }
        let mut known = HashMap::new();
        let index = |value| {
            let next = known.len() as u32;
            *known.entry(value).or_insert(next)
        };
        Ok(Some(values.into_iter().map(index).collect()))
    }

    fn array<T: Element>(&mut self, key: &str) -> Result<Option<Array<T>>> {
        let unreadable = || Error::file(self.path, format!("array `{key}` cannot be read"), DAMAGED);
        let file = match self.zip.by_name(&format!("{key}.npy")) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(unreadable().with_source(error)),
        };
        let (size, packed) = (file.size(), file.compressed_size());
        if size > MAX_UNCHECKED_BYTES && size / 100 > packed {
            let problem = format!("array `{key}`: {packed} bytes would expand to {size}");
            let hint = "if this is intended, write the file without compression, using numpy.savez";
            return Err(Error::file(self.path, problem, hint));
        }
        let limits = Limits { credible: self.bytes.saturating_mul(MAX_EXPANSION), used: self.used };
        match npy::read_measured(file, size, limits) {
            Ok((shape, values, ranges)) => {
                self.used += size_of_val(&values[..]) as u64;
                Ok(Some(Array { shape, values, lost_digits: ranges.lost_digits() }))
            }
            Err(NpyError::TooLarge(large)) => Err(large.of(self.path, &format!("array `{key}`"))),
            Err(NpyError::Read(error)) => Err(unreadable().with_source(error)),
            Err(NpyError::Format(problem)) => Err(Error::file(
                self.path,
                format!("array `{key}`: {problem}"),
                if T::MAY_BE_FRACTIONS {
                    "give floating-point numbers, integers or booleans"
                } else {
                    "give integers"
                },
            )),
        }
    }
}

#[cfg(test)]
mod tests;
