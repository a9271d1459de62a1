//! Reading that a signal interrupts and that goes on.

use std::io::{ErrorKind, Read, Result, Seek, SeekFrom};

/// A reader that repeats what a signal has interrupted: not every reader above it does.
pub(crate) struct Retrying<R>(pub R);

impl<R: Read> Read for Retrying<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl<R: Seek> Seek for Retrying<R> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.0.seek(to)
    }
}
