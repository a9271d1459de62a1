//! Records on disk, sorted into piles, in one temporary file.
//!
//! Every pile is a list of blocks. A block is written where the file ends, so piles grow together and only one file is open.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::runtime::MemorySize;

/// The bytes of a block: what is kept in memory of every pile that is being written.
pub(super) const BLOCK_BYTES: usize = 1 << 16;
const BLOCK_WORDS: usize = BLOCK_BYTES / size_of::<u32>();

/// Piles of records of the same number of words.
pub(super) struct Piles<F = File> {
    file: F,
    folder: PathBuf,
    /// The length of the file in bytes.
    end: u64,
    piles: Vec<Pile>,
}

#[derive(Clone, Default)]
struct Pile {
    /// Words that are not yet written.
    rest: Vec<u32>,
    blocks: Vec<Block>,
}

/// A part of the file, in bytes and words.
#[derive(Clone, Copy)]
struct Block {
    start: u64,
    words: usize,
}

impl Piles {
    /// `count` empty piles in a temporary file in `folder`. The file has no name: the system removes it when the program ends,
    /// in whatever way.
    pub(super) fn create(folder: &Path, count: usize) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|cause| failed(folder, "created", 0, cause))?;
        Ok(Self::new(file, folder, count))
    }
}

impl<F: Read + Write + Seek> Piles<F> {
    fn new(file: F, folder: &Path, count: usize) -> Self {
        Self { file, folder: folder.to_owned(), end: 0, piles: vec![Pile::default(); count] }
    }

    /// The number of piles.
    pub(super) fn len(&self) -> usize {
        self.piles.len()
    }

    /// Puts a record on a pile.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn push(&mut self, pile: usize, record: &[u32]) -> Result<()> {
        let own = &mut self.piles[pile];
        own.rest.extend_from_slice(record);
        if own.rest.len() < BLOCK_WORDS {
            return Ok(());
        }
        let words = std::mem::take(&mut own.rest);
        own.blocks.push(Block { start: self.end, words: words.len() });
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let written = self.file.seek(SeekFrom::Start(self.end)).and_then(|_| self.file.write_all(&bytes));
        written.map_err(|cause| failed(&self.folder, "written", self.end, cause))?;
        self.end += bytes.len() as u64;
        let own = &mut self.piles[pile];
        own.rest = words;
        own.rest.clear();
        Ok(())
    }

    /// Calls `take` with the words of every block of a pile, in the order in which they were put there.
    ///
    /// # Errors
    /// If the file cannot be read, or `take` fails.
    pub(super) fn read(&mut self, pile: usize, mut take: impl FnMut(&[u32]) -> Result<()>) -> Result<()> {
        let (mut bytes, mut words) = (Vec::new(), Vec::new());
        for i in 0..self.piles[pile].blocks.len() {
            let block = self.piles[pile].blocks[i];
            bytes.resize(block.words * size_of::<u32>(), 0);
            let read =
                self.file.seek(SeekFrom::Start(block.start)).and_then(|_| self.file.read_exact(&mut bytes));
            read.map_err(|cause| failed(&self.folder, "read", self.end, cause))?;
            words.clear();
            words.extend(
                bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])),
            );
            take(&words)?;
        }
        take(&self.piles[pile].rest)
    }
}

fn failed(folder: &Path, what: &str, bytes: u64, cause: io::Error) -> Error {
    let size = if bytes > 0 { format!(" of {} so far", MemorySize(bytes)) } else { String::new() };
    let problem = format!("the temporary file{size} cannot be {what}: {cause}");
    let hint = "set the environment variable TMPDIR to a folder with more space, or fit fewer rows";
    Error::file(folder, problem, hint).with_source(cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::faulty::{Faulty, check_writer};

    fn fill<F: Read + Write + Seek>(piles: &mut Piles<F>) -> Result<()> {
        (0..60_000_u32).try_for_each(|i| piles.push((i % 3) as usize, &[i, i + 1]))
    }

    fn words<F: Read + Write + Seek>(piles: &mut Piles<F>, pile: usize) -> Vec<u32> {
        let mut all = Vec::new();
        piles
            .read(pile, |words| {
                all.extend_from_slice(words);
                Ok(())
            })
            .unwrap();
        all
    }

    #[test]
    fn piles_keep_their_records_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut piles = Piles::create(folder.path(), 3).unwrap();
        fill(&mut piles).unwrap();
        for pile in 0..3 {
            let expected: Vec<u32> = (pile..60_000).step_by(3).flat_map(|i| [i, i + 1]).collect();
            assert!(words(&mut piles, pile as usize) == expected);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
    }

    #[test]
    fn a_full_disk_is_an_error_that_says_what_to_do() {
        check_writer(|file| fill(&mut Piles::new(file, Path::new("folder"), 3)));
        let mut full = Faulty::new(Vec::new(), crate::data::faulty::Fault::Full, 2);
        let error = fill(&mut Piles::new(&mut full, Path::new("folder"), 3)).unwrap_err();
        assert!(error.to_string().starts_with("folder: the temporary file of "), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("TMPDIR")));
        let error = Piles::create(Path::new("no such folder"), 3).err().unwrap();
        assert!(error.to_string().contains("cannot be created"), "{error}");
    }
}
