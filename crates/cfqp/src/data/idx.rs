//! IDX files, the format of MNIST: big-endian sizes, then bytes.
//!
//! ```text
//! 0 0 8 d    two zeros, the type (8: unsigned bytes), how many dimensions
//! n_1 .. n_d one big-endian u32 per dimension
//! values     n_1 * .. * n_d bytes, the last dimension running fastest
//! ```

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::{Error, Result};

/// More bytes than this are refused; MNIST has 47 million.
const MOST: u64 = 1 << 30;
const AGAIN: &str = "the file may be damaged or half downloaded: fetch it again";

/// An array of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idx {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its values, in C order: as many as the shape says.
    pub values: Vec<u8>,
}

/// Reads an IDX file of unsigned bytes, plain or compressed by gzip (told by its content, not by its name).
pub fn read_idx(path: &Path) -> Result<Idx> {
    let mut file = BufReader::new(File::open(path).map_err(Error::io(path))?);
    let start = file.fill_buf().map_err(Error::io(path))?;
    if start.starts_with(&[0x1f, 0x8b]) {
        read(path, &mut MultiGzDecoder::new(file))
    } else {
        read(path, &mut file)
    }
}

fn read(path: &Path, stream: &mut dyn Read) -> Result<Idx> {
    let shape = read_shape(path, stream)?;
    let sizes = shape.iter().try_fold(1, |product: u64, &size| product.checked_mul(u64::from(size)));
    let Some(expected) = sizes.filter(|&product| product <= MOST) else {
        let problem = format!("the header says {shape:?}: more than {MOST} bytes");
        return Err(Error::file(path, problem, AGAIN));
    };
    // The memory grows with what is there to be read, not with what the header says.
    let mut values = Vec::new();
    stream.take(expected + 1).read_to_end(&mut values).map_err(|source| unread(path, source))?;
    let found = values.len() as u64;
    if found < expected {
        let problem = format!("the header says {shape:?}, {expected} bytes, but only {found} are there");
        return Err(Error::file(path, problem, AGAIN));
    }
    if found > expected {
        let problem = format!("the header says {shape:?}, {expected} bytes, but more are there");
        return Err(Error::file(path, problem, AGAIN));
    }
    Ok(Idx { shape: shape.iter().map(|&size| size as usize).collect(), values })
}

fn read_shape(path: &Path, stream: &mut dyn Read) -> Result<Vec<u32>> {
    let magic = read_four(path, stream)?;
    let [0, 0, 8, dimensions @ 1..=4] = magic else {
        let problem = format!("it starts with the bytes {magic:?}: no IDX file of unsigned bytes");
        return Err(Error::file(path, problem, "give a file such as train-images-idx3-ubyte, plain or .gz"));
    };
    (0..dimensions).map(|_| read_four(path, stream).map(u32::from_be_bytes)).collect()
}

fn read_four(path: &Path, stream: &mut dyn Read) -> Result<[u8; 4]> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).map_err(|source| unread(path, source))?;
    Ok(bytes)
}

/// A file that ends early or is no sound gzip is the file's fault, anything else the system's.
fn unread(path: &Path, source: std::io::Error) -> Error {
    match source.kind() {
        ErrorKind::UnexpectedEof => Error::file(path, "it ends too early", AGAIN),
        ErrorKind::InvalidInput | ErrorKind::InvalidData => {
            Error::file(path, format!("it cannot be decompressed: {source}"), AGAIN)
        }
        _ => Error::io(path)(source),
    }
}

/// Which half of MNIST.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MnistPart {
    /// The 60,000 training digits.
    #[default]
    Train,
    /// The 10,000 test digits.
    Test,
}

/// Handwritten digits and their labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mnist {
    images: Vec<u8>,
    labels: Vec<u8>,
}

impl Mnist {
    const SIDE: usize = 28;

    /// Reads one part from a folder that has its two files, such as `train-images-idx3-ubyte` and
    /// `train-labels-idx1-ubyte`, each plain or as `.gz`.
    pub fn load(folder: &Path, part: MnistPart) -> Result<Self> {
        let prefix = match part {
            MnistPart::Train => "train",
            MnistPart::Test => "t10k",
        };
        let images_path = find(folder, &format!("{prefix}-images-idx3-ubyte"))?;
        let labels_path = find(folder, &format!("{prefix}-labels-idx1-ubyte"))?;
        let (images, labels) = (read_idx(&images_path)?, read_idx(&labels_path)?);
        let &[n, Self::SIDE, Self::SIDE] = &images.shape[..] else {
            let problem = format!("its shape is {:?}, not [images, 28, 28]", images.shape);
            return Err(Error::file(&images_path, problem, "give the files of MNIST"));
        };
        if labels.shape != [n] {
            let problem = format!("its shape is {:?}, but there are {n} images", labels.shape);
            return Err(Error::file(
                &labels_path,
                problem,
                "give images and labels of the same part of MNIST",
            ));
        }
        if let Some(i) = labels.values.iter().position(|&label| label > 9) {
            let problem = format!("label {i} is {}, no digit", labels.values[i]);
            return Err(Error::file(&labels_path, problem, "give the files of MNIST"));
        }
        Ok(Self { images: images.values, labels: labels.values })
    }

    /// How many digits.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The pixels of image `i`, `[28, 28]`, white on black.
    pub fn image(&self, i: usize) -> &[u8] {
        let each = Self::SIDE * Self::SIDE;
        &self.images[i * each..(i + 1) * each]
    }

    /// The digit that image `i` shows.
    pub fn label(&self, i: usize) -> usize {
        usize::from(self.labels[i])
    }
}

/// The file `name` or `name.gz` in `folder`.
fn find(folder: &Path, name: &str) -> Result<PathBuf> {
    let candidates = [folder.join(name), folder.join(format!("{name}.gz"))];
    candidates.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        let problem = format!("there is neither {name} nor {name}.gz here");
        Error::file(folder, problem, "give a folder with the files of MNIST, or use drawn digits")
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use tempfile::TempDir;

    use super::*;

    fn idx(shape: &[u32], values: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, 8, shape.len() as u8];
        bytes.extend(shape.iter().flat_map(|size| size.to_be_bytes()));
        bytes.extend(values);
        bytes
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// What reading a file of these bytes gives.
    fn read_bytes(bytes: &[u8]) -> Result<Idx> {
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
    fn plain_and_compressed_files_are_read_alike() {
        let bytes = idx(&[2, 3], &[1, 2, 3, 4, 5, 6]);
        let expected = Idx { shape: vec![2, 3], values: vec![1, 2, 3, 4, 5, 6] };
        assert_eq!(read_bytes(&bytes).unwrap(), expected);
        assert_eq!(read_bytes(&gzip(&bytes)).unwrap(), expected);
    }

    #[test]
    fn damaged_files_are_refused() {
        let bytes = idx(&[2, 3], &[1, 2, 3, 4, 5, 6]);
        assert!(problem(&bytes[..13]).contains("only 1 are there"));
        assert!(problem(&bytes[..6]).contains("ends too early"));
        assert!(problem(b"").contains("ends too early"));
        assert!(problem(&[&bytes[..], b"more"].concat()).contains("more are there"));
        let zipped = gzip(&bytes);
        assert!(problem(&zipped[..zipped.len() - 3]).contains("ends too early"));
        let mut corrupt = zipped.clone();
        let crc = corrupt.len() - 8;
        corrupt[crc] ^= 1;
        assert!(problem(&corrupt).contains("cannot be decompressed"));
        assert!(problem(&[&zipped[..], b"more than that"].concat()).contains("cannot be decompressed"));
    }

    #[test]
    fn other_files_are_refused() {
        assert!(problem(b"PK\x03\x04 and more").contains("no IDX file"));
        assert!(problem(&[0, 0, 13, 1, 0, 0, 0, 0]).contains("no IDX file"));
        assert!(problem(&[0, 0, 8, 0]).contains("no IDX file"));
        assert!(problem(&[0, 0, 8, 255, 0, 0, 0, 1]).contains("no IDX file"));
    }

    #[test]
    fn a_header_cannot_ask_for_memory() {
        assert!(problem(&idx(&[u32::MAX; 4], &[1])).contains("more than"));
        assert!(problem(&idx(&[u32::MAX, 28, 28], &[1])).contains("more than"));
        assert!(problem(&idx(&[1_000_000, 28, 28], &[1])).contains("only 1 are there"));
        assert!(problem(&gzip(&idx(&[1_000_000, 28, 28], &[1]))).contains("only 1 are there"));
    }

    #[test]
    fn mnist_needs_both_files_of_the_same_digits() {
        let folder = TempDir::new().unwrap();
        let save = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        let problem = || Mnist::load(folder.path(), MnistPart::Test).unwrap_err().to_string();

        assert!(problem().contains("neither t10k-images-idx3-ubyte nor"));
        save("t10k-images-idx3-ubyte.gz", &gzip(&idx(&[2, 28, 28], &[7; 2 * 784])));
        save("t10k-labels-idx1-ubyte", &idx(&[3], &[1, 2, 3]));
        assert!(problem().contains("[3], but there are 2 images"));
        save("t10k-labels-idx1-ubyte", &idx(&[2], &[1, 12]));
        assert!(problem().contains("label 1 is 12"));
        save("t10k-labels-idx1-ubyte", &idx(&[2], &[1, 2]));
        let mnist = Mnist::load(folder.path(), MnistPart::Test).unwrap();
        assert_eq!((mnist.len(), mnist.label(1), mnist.image(1)), (2, 2, &[7; 784][..]));
        save("t10k-images-idx3-ubyte.gz", &idx(&[2, 2], &[7; 4]));
        assert!(problem().contains("not [images, 28, 28]"));
    }
}
