//! IDX files, the format of MNIST: big-endian sizes, then bytes.
//!
//! ```text
//! 0 0 8 d    two zeros, the element type (8: unsigned bytes), the number of dimensions
//! n_1 .. n_d one big-endian u32 per dimension
//! values     n_1 * .. * n_d bytes, the last dimension running fastest
//! ```

use std::io::{BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::open::open_file;
use super::retrying::Retrying;
use crate::error::{Error, Result};
use crate::runtime::check_size;

/// Larger arrays are rejected; MNIST has 47 million bytes.
const MAX_BYTES: u64 = 1 << 30;
const DAMAGED: &str = "the file may be damaged or incomplete: download it again";

/// An array of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdxArray {
    /// The shape.
    pub shape: Vec<usize>,
    /// The values in C order.
    pub values: Vec<u8>,
}

/// Reads an IDX file of unsigned bytes, plain or compressed by gzip (detected from its content, not from its name).
///
/// # Errors
/// If the file cannot be read, is not such a file, is truncated, has more than 2^30 values, or more than the limit on memory.
pub fn read_idx(path: &Path) -> Result<IdxArray> {
    read_from(path, open_file(path)?)
}

/// Reads an IDX file from `file`, which errors call `path`.
pub(crate) fn read_from(path: &Path, file: impl Read) -> Result<IdxArray> {
    let mut file = Retrying(file);
    let mut start = Vec::new();
    file.by_ref().take(2).read_to_end(&mut start).map_err(Error::io(path))?;
    let is_gzip = start == [0x1f, 0x8b];
    let mut file = BufReader::new(Cursor::new(start).chain(file));
    if is_gzip { read(path, &mut MultiGzDecoder::new(file)) } else { read(path, &mut file) }
}

fn read(path: &Path, stream: &mut dyn Read) -> Result<IdxArray> {
    let shape = read_shape(path, stream)?;
    let sizes = shape.iter().try_fold(1, |product: u64, &size| product.checked_mul(u64::from(size)));
    let Some(expected) = sizes.filter(|&product| product <= MAX_BYTES) else {
        let problem = format!("the header gives shape {shape:?}, more than {MAX_BYTES} bytes");
        return Err(Error::file(path, problem, DAMAGED));
    };
    check_size(expected).map_err(|large| large.of(path, "the array"))?;
    // memory grows with what can be read, not with what the header claims
    let mut values = Vec::new();
    stream.take(expected + 1).read_to_end(&mut values).map_err(|source| read_error(path, source))?;
    let found = values.len() as u64;
    if found != expected {
        let found = if found < expected { format!("only {found}") } else { "more".to_owned() };
        let problem = format!("the header gives shape {shape:?}, {expected} bytes, but the file has {found}");
        return Err(Error::file(path, problem, DAMAGED));
    }
    Ok(IdxArray { shape: shape.iter().map(|&size| size as usize).collect(), values })
}

fn read_shape(path: &Path, stream: &mut dyn Read) -> Result<Vec<u32>> {
    let magic = read_four(path, stream)?;
    let [0, 0, 8, dimensions @ 1..=4] = magic else {
        let problem = format!("not an IDX file of unsigned bytes: it starts with the bytes {magic:?}");
        return Err(Error::file(path, problem, "give a file such as train-images-idx3-ubyte, plain or .gz"));
    };
    (0..dimensions).map(|_| read_four(path, stream).map(u32::from_be_bytes)).collect()
}

fn read_four(path: &Path, stream: &mut dyn Read) -> Result<[u8; 4]> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).map_err(|source| read_error(path, source))?;
    Ok(bytes)
}

/// Truncated or invalid content is an error of the file, anything else one of the operating system.
fn read_error(path: &Path, source: std::io::Error) -> Error {
    match source.kind() {
        ErrorKind::UnexpectedEof => Error::file(path, "the file is truncated", DAMAGED),
        ErrorKind::InvalidInput | ErrorKind::InvalidData => {
            Error::file(path, "the file cannot be decompressed", DAMAGED).with_source(source)
        }
        _ => Error::io(path)(source),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use tempfile::TempDir;

    use super::*;
    use crate::data::files::faulty::check_reader;

    pub(crate) fn idx(shape: &[u32], values: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, 8, shape.len() as u8];
        bytes.extend(shape.iter().flat_map(|size| size.to_be_bytes()));
        bytes.extend(values);
        bytes
    }

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Reads a file of these bytes.
    fn read_bytes(bytes: &[u8]) -> Result<IdxArray> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("digits");
        std::fs::write(&path, bytes).unwrap();
        read_idx(&path)
    }

    fn problem(bytes: &[u8]) -> String {
        let error = read_bytes(bytes).unwrap_err();
        assert!(error.hint().is_some(), "{error}");
        let text = error.to_string();
        assert!(text.contains("digits: "), "{text}");
        text
    }

    #[test]
    fn plain_and_compressed_files_give_the_same_array() {
        let bytes = idx(&[2, 3], &[1, 2, 3, 4, 5, 6]);
        let expected = IdxArray { shape: vec![2, 3], values: vec![1, 2, 3, 4, 5, 6] };
        assert_eq!(read_bytes(&bytes).unwrap(), expected);
        assert_eq!(read_bytes(&gzip(&bytes)).unwrap(), expected);
    }

    #[test]
    fn damaged_files_are_errors() {
        let bytes = idx(&[2, 3], &[1, 2, 3, 4, 5, 6]);
        assert!(problem(&bytes[..13]).contains("only 1"));
        assert!(problem(&bytes[..6]).contains("truncated"));
        assert!(problem(b"").contains("truncated"));
        assert!(problem(&[&bytes[..], b"more"].concat()).contains("has more"));
        let zipped = gzip(&bytes);
        assert!(problem(&zipped[..zipped.len() - 3]).contains("truncated"));
        let mut corrupt = zipped.clone();
        let crc = corrupt.len() - 8;
        corrupt[crc] ^= 1;
        assert!(problem(&corrupt).contains("cannot be decompressed"));
        assert!(problem(&[&zipped[..], b"more than that"].concat()).contains("cannot be decompressed"));
    }

    #[test]
    fn faults_are_errors_or_change_nothing() {
        let bytes = idx(&[2, 3], &[1, 2, 3, 4, 5, 6]);
        for bytes in [gzip(&bytes), bytes] {
            check_reader(&bytes, |file| read_from(Path::new("digits"), file));
        }
    }

    #[test]
    fn other_files_are_errors() {
        assert!(problem(b"PK\x03\x04 and more").contains("not an IDX file"));
        assert!(problem(&[0, 0, 13, 1, 0, 0, 0, 0]).contains("not an IDX file"));
        assert!(problem(&[0, 0, 8, 0]).contains("not an IDX file"));
        assert!(problem(&[0, 0, 8, 255, 0, 0, 0, 1]).contains("not an IDX file"));
    }

    #[test]
    fn a_hostile_header_does_not_allocate_memory() {
        assert!(problem(&idx(&[u32::MAX; 4], &[1])).contains("more than"));
        assert!(problem(&idx(&[u32::MAX, 28, 28], &[1])).contains("more than"));
        assert!(problem(&idx(&[1_000_000, 28, 28], &[1])).contains("only 1"));
        assert!(problem(&gzip(&idx(&[1_000_000, 28, 28], &[1]))).contains("only 1"));
    }
}
