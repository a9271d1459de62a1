//! Writers and readers that fail, for tests.

use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happens to one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It fails, as on a full disk, and so do all later ones.
    Full,
    /// A signal interrupts it before anything is done.
    Interrupted,
    /// One byte is transferred.
    Short,
}

/// A file in memory, of which the operation number `at`, and with `Full` all later ones, have a fault. Every write, read,
/// seek and flush counts.
#[derive(Debug)]
pub(crate) struct Faulty {
    pub bytes: Vec<u8>,
    position: usize,
    fault: Option<(Fault, usize)>,
    /// The number of operations so far.
    operations: Arc<AtomicUsize>,
}

impl Faulty {
    /// A file with this content and no faults.
    pub(crate) fn sound(bytes: Vec<u8>) -> Self {
        Self { bytes, position: 0, fault: None, operations: Arc::default() }
    }

    /// A file with this content and a fault.
    pub(crate) fn new(bytes: Vec<u8>, fault: Fault, at: usize) -> Self {
        Self { fault: Some((fault, at)), ..Self::sound(bytes) }
    }

    /// Counts an operation; returns whether it transfers one byte only.
    fn operate(&mut self) -> Result<bool> {
        let now = self.operations.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Some((Fault::Full, at)) if now >= at => Err(ErrorKind::StorageFull.into()),
            Some((Fault::Interrupted, at)) if now == at => Err(ErrorKind::Interrupted.into()),
            Some((Fault::Short, at)) => Ok(now == at),
            _ => Ok(false),
        }
    }
}

impl Write for Faulty {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let taken = if self.operate()? { bytes.len().min(1) } else { bytes.len() };
        let end = self.position + taken;
        self.bytes.resize(self.bytes.len().max(end), 0);
        self.bytes[self.position..end].copy_from_slice(&bytes[..taken]);
        self.position = end;
        Ok(taken)
    }

    fn flush(&mut self) -> Result<()> {
        // no writer repeats an interrupted flush, and a flush of a file does nothing
        Ok(())
    }
}

impl Read for Faulty {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let wanted = if self.operate()? { buffer.len().min(1) } else { buffer.len() };
        let count = wanted.min(self.bytes.len().saturating_sub(self.position));
        buffer[..count].copy_from_slice(&self.bytes[self.position..self.position + count]);
        self.position += count;
        Ok(count)
    }
}

impl Seek for Faulty {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let target = match to {
            SeekFrom::Start(position) => Some(position as i64),
            SeekFrom::End(offset) => (self.bytes.len() as i64).checked_add(offset),
            SeekFrom::Current(offset) => (self.position as i64).checked_add(offset),
        };
        let target = target.filter(|target| *target >= 0).ok_or(Error::from(ErrorKind::InvalidInput))?;
        self.position = target as usize;
        Ok(target as u64)
    }
}

/// Runs `write` without faults and then with every fault at every operation: a full disk must be an error, the other faults
/// must not change what is written.
pub(crate) fn check_writer<E: std::fmt::Debug>(
    mut write: impl FnMut(&mut Faulty) -> std::result::Result<(), E>,
) {
    let mut sound = Faulty::sound(Vec::new());
    write(&mut sound).unwrap();
    let operations = sound.operations.load(Ordering::Relaxed);
    assert!(operations > 0 && !sound.bytes.is_empty());
    for at in 0..operations {
        let mut full = Faulty::new(Vec::new(), Fault::Full, at);
        assert!(write(&mut full).is_err(), "the disk is full at operation {at}, and nothing says so");
        for fault in [Fault::Interrupted, Fault::Short] {
            let mut file = Faulty::new(Vec::new(), fault, at);
            write(&mut file).unwrap_or_else(|error| panic!("{fault:?} at {at}: {error:?}"));
            assert!(file.bytes == sound.bytes, "{fault:?} at {at}: other bytes");
        }
    }
}

/// Runs `read` without faults and then with every fault at every operation: a disk that fails must be an error, the other
/// faults must not change what is read.
pub(crate) fn check_reader<T: PartialEq + std::fmt::Debug, E: std::fmt::Debug>(
    bytes: &[u8],
    mut read: impl FnMut(Faulty) -> std::result::Result<T, E>,
) {
    let sound = Faulty::sound(bytes.to_vec());
    let counter = sound.operations.clone();
    let expected = read(sound).unwrap();
    let operations = counter.load(Ordering::Relaxed);
    assert!(operations > 0);
    for at in 0..operations {
        let failed = read(Faulty::new(bytes.to_vec(), Fault::Full, at));
        assert!(failed.is_err(), "reading fails at operation {at}, and nothing says so");
        for fault in [Fault::Interrupted, Fault::Short] {
            let found = read(Faulty::new(bytes.to_vec(), fault, at));
            assert_eq!(found.unwrap(), expected, "{fault:?} at {at}");
        }
    }
}
