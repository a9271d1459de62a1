//! A file whose errors are reported at the end: the writer of zip archives prints another one if it is told of an error.

use std::io::{self, Seek, SeekFrom, Write};

/// A file that keeps its first error and discards what is written after it.
pub(super) struct Deferring<F> {
    file: F,
    position: u64,
    error: Option<io::Error>,
}

impl<F> Deferring<F> {
    pub(super) fn new(file: F) -> Self {
        Self { file, position: 0, error: None }
    }

    /// The first error, if there was one.
    pub(super) fn finish(self) -> io::Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}

impl<F: Write> Write for Deferring<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.error.is_some() {
            self.position += bytes.len() as u64;
            return Ok(bytes.len());
        }
        // repeats what a signal has interrupted: the writer of archives does not
        self.error = self.file.write_all(bytes).err();
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.error.is_none() {
            self.error = self.file.flush().err();
        }
        Ok(())
    }
}

impl<F: Seek> Seek for Deferring<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if self.error.is_none() {
            match self.file.seek(to) {
                Ok(position) => self.position = position,
                Err(error) => self.error = Some(error),
            }
        } else if let SeekFrom::Start(position) = to {
            self.position = position;
        }
        Ok(self.position)
    }
}
