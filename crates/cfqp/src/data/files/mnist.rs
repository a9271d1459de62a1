//! MNIST: images of handwritten digits and their labels.

use std::path::{Path, PathBuf};

use super::idx::read_idx;
use crate::error::{Error, Result};

/// One of the two sets that MNIST is split into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MnistSplit {
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

    /// Loads one split from a folder with its two files, such as `train-images-idx3-ubyte` and
    /// `train-labels-idx1-ubyte`, each plain or with the extension `.gz`.
    ///
    /// # Errors
    /// If a file is missing or invalid, or the two files do not belong together.
    pub fn load(folder: &Path, split: MnistSplit) -> Result<Self> {
        let prefix = match split {
            MnistSplit::Train => "train",
            MnistSplit::Test => "t10k",
        };
        let images_path = find(folder, &format!("{prefix}-images-idx3-ubyte"))?;
        let labels_path = find(folder, &format!("{prefix}-labels-idx1-ubyte"))?;
        let (images, labels) = (read_idx(&images_path)?, read_idx(&labels_path)?);
        let &[n, Self::SIDE, Self::SIDE] = &images.shape[..] else {
            let problem = format!("the shape is {:?}, not [images, 28, 28]", images.shape);
            return Err(Error::file(&images_path, problem, "give the MNIST files"));
        };
        if labels.shape != [n] {
            let problem = format!("the shape is {:?}, but there are {n} images", labels.shape);
            let hint = "give images and labels of the same MNIST split";
            return Err(Error::file(&labels_path, problem, hint));
        }
        if let Some(i) = labels.values.iter().position(|&label| label > 9) {
            let problem = format!("label {i} is {}, not a digit", labels.values[i]);
            return Err(Error::file(&labels_path, problem, "give the MNIST files"));
        }
        Ok(Self { images: images.values, labels: labels.values })
    }

    /// The number of digits.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no digits.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The pixels of image `i`, `[28, 28]`, white on black.
    ///
    /// # Panics
    /// If there is no image `i`.
    pub fn image(&self, i: usize) -> &[u8] {
        let size = Self::SIDE * Self::SIDE;
        &self.images[i * size..(i + 1) * size]
    }

    /// The digit that image `i` shows.
    ///
    /// # Panics
    /// If there is no image `i`.
    pub fn label(&self, i: usize) -> usize {
        usize::from(self.labels[i])
    }
}

/// The file `name` or `name.gz` in `folder`.
fn find(folder: &Path, name: &str) -> Result<PathBuf> {
    let candidates = [folder.join(name), folder.join(format!("{name}.gz"))];
    candidates.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        let problem = format!("the folder has neither {name} nor {name}.gz");
        Error::file(folder, problem, "give a folder with the MNIST files, or use drawn digits")
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::data::files::idx::tests::{gzip, idx};

    #[test]
    fn mnist_needs_both_files_of_the_same_digits() {
        let folder = TempDir::new().unwrap();
        let save = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        let problem = || Mnist::load(folder.path(), MnistSplit::Test).unwrap_err().to_string();

        assert!(problem().contains("neither t10k-images-idx3-ubyte nor"));
        save("t10k-images-idx3-ubyte.gz", &gzip(&idx(&[2, 28, 28], &[7; 2 * 784])));
        save("t10k-labels-idx1-ubyte", &idx(&[3], &[1, 2, 3]));
        assert!(problem().contains("[3], but there are 2 images"));
        save("t10k-labels-idx1-ubyte", &idx(&[2], &[1, 12]));
        assert!(problem().contains("label 1 is 12"));
        save("t10k-labels-idx1-ubyte", &idx(&[2], &[1, 2]));
        let mnist = Mnist::load(folder.path(), MnistSplit::Test).unwrap();
        assert_eq!((mnist.len(), mnist.label(1), mnist.image(1)), (2, 2, &[7; 784][..]));
        save("t10k-images-idx3-ubyte.gz", &idx(&[2, 2], &[7; 4]));
        assert!(problem().contains("not [images, 28, 28]"));
    }
}
