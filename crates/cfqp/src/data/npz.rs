//! Arrays in numpy's `.npz` format: a zip file of [`.npy`](super::npy) arrays.
//!
//! | key | shape | holds |
//! |---|---|---|
//! | `x`, `y` | `[n]`, `[n, features]`, `[n, channels, steps]`, `[n, channels, height, width]` | covariates, outcomes |
//! | `t` | `[n]`, `[n, treatments]` | treatments |
//! | `x_mask`, `y_mask` | as `x`, `y` | true (or 1) where the value was observed; may be left out |
//! | `z`, `t_new`, `y_new` | | what only an evaluation or a query may read, by [`read_array`] |

use std::fs::File;
use std::io::{BufReader, Seek, Write};
use std::path::Path;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::atomic::write_atomically;
use super::npy::{self, Problem};
use super::{Dataset, Units};
use crate::{Error, Result};

/// The keys a file may have; the last three never reach a [`Dataset`].
const KEYS: [&str; 8] = ["x", "t", "y", "x_mask", "y_mask", "z", "t_new", "y_new"];
const LAYOUT: &str =
    "give the arrays x, t and y, optionally x_mask and y_mask, and no others than z, t_new, y_new";
const DAMAGED: &str = "the file is damaged or no .npz file: write it again with numpy.savez_compressed";

/// An array above this size may not be squeezed into less than a hundredth of it.
const UNSQUEEZED: u64 = 1 << 30;

impl Dataset {
    /// Reads `x`, `t`, `y` and the masks of a `.npz` file; numbers of any type become f32.
    pub fn read_npz(path: &Path) -> Result<Self> {
        let mut file = Archive::open(path)?;
        let found = file.keys();
        for key in &found {
            if !KEYS.contains(&key.as_str()) {
                return Err(Error::file(path, format!("unknown array `{key}` (found {found:?})"), LAYOUT));
            }
        }
        let mut units = |name: &str| {
            let array = file.array(name)?.ok_or_else(|| {
                Error::file(path, format!("there is no array `{name}` (found {found:?})"), LAYOUT)
            })?;
            let mask = file.array(&format!("{name}_mask"))?;
            array.into_units(name, mask).map_err(|error| error.in_file(path))
        };
        let (x, t, y) = (units("x")?, units("t")?, units("y")?);
        Self::new(x, t, y).map_err(|error| error.in_file(path))
    }

    /// Writes `x`, `t`, `y`, their masks where something is missing, and `more` arrays.
    pub fn write_npz(&self, path: &Path, more: &[(&str, NpzArray)]) -> Result<()> {
        let mut arrays = vec![
            ("x", NpzArray::units(self.x())),
            ("t", NpzArray::units(self.t())),
            ("y", NpzArray::units(self.y())),
        ];
        arrays.extend(NpzArray::mask(self.x()).map(|mask| ("x_mask", mask)));
        arrays.extend(NpzArray::mask(self.y()).map(|mask| ("y_mask", mask)));
        arrays.extend_from_slice(more);
        write_npz(path, &arrays)
    }
}

/// The array `key` of a `.npz` file, `None` if there is none; all its values are finite.
pub fn read_array(path: &Path, key: &str) -> Result<Option<Units>> {
    let array = Archive::open(path)?.array(key)?;
    array.map(|array| array.into_units(key, None)).transpose().map_err(|error| error.in_file(path))
}

/// An array to be written, in C order.
#[derive(Clone, Debug)]
pub struct NpzArray<'a> {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its values.
    pub values: NpzValues<'a>,
}

/// The values of an array to be written.
#[derive(Clone, Copy, Debug)]
pub enum NpzValues<'a> {
    /// `<f4`
    F32(&'a [f32]),
    /// `<i8`
    I64(&'a [i64]),
    /// `|b1`
    Bool(&'a [bool]),
}

impl<'a> NpzArray<'a> {
    /// The values of `units`: `[n]` if a unit is a single number, else `[n, ...]`.
    pub fn units(units: &'a Units) -> Self {
        Self { shape: whole_shape(units), values: NpzValues::F32(units.values()) }
    }

    /// The mask of `units`, if something is missing.
    pub fn mask(units: &'a Units) -> Option<Self> {
        units.mask().map(|mask| Self { shape: whole_shape(units), values: NpzValues::Bool(mask) })
    }

    /// A vector of whole numbers, such as classes.
    pub fn integers(values: &'a [i64]) -> Self {
        Self { shape: vec![values.len()], values: NpzValues::I64(values) }
    }

    fn check(&self, name: &str) -> Result<()> {
        let count = match self.values {
            NpzValues::F32(values) => values.len(),
            NpzValues::I64(values) => values.len(),
            NpzValues::Bool(values) => values.len(),
        };
        if self.shape.iter().product::<usize>() == count {
            return Ok(());
        }
        let problem = format!("{count} values do not have shape {:?}", self.shape);
        Err(Error::data(name, problem, "give as many values as the shape holds"))
    }

    fn write(&self, to: &mut impl Write) -> std::io::Result<()> {
        /// Bytes of pieces of the values: compressing element by element would be slow.
        fn pieces<T: Copy, const N: usize>(
            to: &mut impl Write,
            values: &[T],
            bytes: impl Fn(T) -> [u8; N],
        ) -> std::io::Result<()> {
            values.chunks(1 << 14).try_for_each(|piece| {
                to.write_all(piece.iter().map(|&value| bytes(value)).collect::<Vec<_>>().as_flattened())
            })
        }
        let descr = match self.values {
            NpzValues::F32(_) => "<f4",
            NpzValues::I64(_) => "<i8",
            NpzValues::Bool(_) => "|b1",
        };
        npy::write_header(to, descr, &self.shape)?;
        match self.values {
            NpzValues::F32(values) => pieces(to, values, f32::to_le_bytes),
            NpzValues::I64(values) => pieces(to, values, i64::to_le_bytes),
            NpzValues::Bool(values) => pieces(to, values, |value| [u8::from(value)]),
        }
    }
}

fn whole_shape(units: &Units) -> Vec<usize> {
    let rest = if units.shape() == [1] { &[] } else { units.shape() };
    [&[units.len()], rest].concat()
}

/// Writes a compressed `.npz` file, whole or not at all; the same arrays give the same bytes.
pub fn write_npz(path: &Path, arrays: &[(&str, NpzArray)]) -> Result<()> {
    arrays.iter().try_for_each(|(name, array)| array.check(name))?;
    write_atomically(path, |file| {
        write_zip(file, arrays).map_err(|error| match error {
            ZipError::Io(error) => Error::io(path)(error),
            error => Error::file(path, error.to_string(), "give every array a name of its own"),
        })
    })
}

fn write_zip(file: impl Write + Seek, arrays: &[(&str, NpzArray)]) -> Result<(), ZipError> {
    let mut zip = ZipWriter::new(file);
    for (name, array) in arrays {
        let large = array.shape.iter().product::<usize>() >= 1 << 28;
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default().large_file(large))?;
        array.write(&mut zip)?;
    }
    zip.finish()?;
    Ok(())
}

/// An array as it was read: all axes, the units' included.
struct Array {
    shape: Vec<usize>,
    values: Vec<f32>,
}

impl Array {
    fn into_units(self, name: &str, mask: Option<Self>) -> Result<Units> {
        let shape = match &self.shape[..] {
            [] => {
                let hint = "give an array whose first axis counts the units";
                return Err(Error::data(name, "it is a single number", hint));
            }
            [_] => vec![1],
            [_, rest @ ..] => rest.to_vec(),
        };
        if let Some(mask) = &mask
            && mask.shape != self.shape
        {
            let problem = format!("its shape is {:?}, that of {name} is {:?}", mask.shape, self.shape);
            return Err(Error::data(format!("{name}_mask"), problem, "give the mask the shape of its array"));
        }
        let mask = mask.map(|mask| mask.values.iter().map(|&value| value != 0.0).collect());
        Units::with_mask(name, shape, self.values, mask)
    }
}

/// What deflate makes of zeros: no file holds more than so many times its size.
const MOST_EXPANSION: u64 = 1032;

/// An open `.npz` file.
struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<BufReader<File>>,
    /// Size of the file.
    bytes: u64,
}

impl<'a> Archive<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io(path))?;
        if path.is_dir() {
            return Err(Error::io(path)(std::io::ErrorKind::IsADirectory.into()));
        }
        let bytes = file.metadata().map_err(Error::io(path))?.len();
        let zip = ZipArchive::new(BufReader::new(file))
            .map_err(|error| Error::file(path, error.to_string(), DAMAGED))?;
        Ok(Self { path, zip, bytes })
    }

    fn keys(&self) -> Vec<String> {
        let names = self.zip.file_names();
        names.map(|name| name.strip_suffix(".npy").unwrap_or(name).to_owned()).collect()
    }

    fn array(&mut self, key: &str) -> Result<Option<Array>> {
        let damaged = |problem: String| Error::file(self.path, format!("array `{key}`: {problem}"), DAMAGED);
        let file = match self.zip.by_name(&format!("{key}.npy")) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(damaged(error.to_string())),
        };
        let (size, packed) = (file.size(), file.compressed_size());
        if size > UNSQUEEZED && size / 100 > packed {
            let problem = format!("array `{key}`: {packed} bytes would expand to {size}");
            let hint = "if this is meant, write the file without compression, by numpy.savez";
            return Err(Error::file(self.path, problem, hint));
        }
        match npy::read(file, size, self.bytes.saturating_mul(MOST_EXPANSION)) {
            Ok((shape, values)) => Ok(Some(Array { shape, values })),
            Err(Problem::Read(error)) => Err(damaged(error.to_string())),
            Err(Problem::Format(problem)) => Err(Error::file(
                self.path,
                format!("array `{key}`: {problem}"),
                "give floating-point numbers, integers or booleans",
            )),
        }
    }
}

#[cfg(test)]
#[path = "npz_tests.rs"]
mod tests;
