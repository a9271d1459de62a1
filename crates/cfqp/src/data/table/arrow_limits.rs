//! Checks what an Arrow IPC file claims before it is decoded: the reader allocates whatever a compressed buffer says that it
//! expands to, and whatever length a message says that it has.

use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{Block, Message, RecordBatch, root_as_footer, root_as_message};

use super::guard::Caught;
use crate::runtime::{TooLarge, check_size};

/// Every element of a column is at least one number when it is decoded.
const ELEMENT_BYTES: u64 = 8;
/// What precedes the length of a message, except in old files.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Why a file is not decoded.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It asks for too much memory.
    TooLarge(TooLarge),
    /// It contradicts itself.
    Damaged(Caught),
}

impl From<TooLarge> for Refusal {
    fn from(large: TooLarge) -> Self {
        Self::TooLarge(large)
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Self::Damaged(error.into())
    }
}

/// A refusal because of the content.
pub(crate) fn damaged(problem: impl Into<Caught>) -> Refusal {
    Refusal::Damaged(problem.into())
}

/// Checks the dictionaries and record batches of a file that begins with `ARROW1`, of which the footer says where they are.
pub(crate) fn check_file(source: &mut (impl Read + Seek)) -> Result<(), Refusal> {
    let mut messages = Messages::new(source)?;
    let Some(end) = messages.size.checked_sub(10) else { return Err(damaged("there is no footer")) };
    let length = read_footer_length(messages.array(end)?).map_err(damaged)? as u64;
    let start = end.checked_sub(length).ok_or_else(|| damaged("the footer is longer than the file"))?;
    let footer = messages.bytes(start, length)?;
    let footer = root_as_footer(&footer).map_err(|error| damaged(error.to_string()))?;
    let all = footer.dictionaries().into_iter().flatten().chain(footer.recordBatches().into_iter().flatten());
    all.into_iter().try_for_each(|block| messages.check_block(block))
}

/// Checks all messages of a stream.
pub(crate) fn check_stream(source: &mut (impl Read + Seek)) -> Result<(), Refusal> {
    let mut messages = Messages::new(source)?;
    let mut at = 0;
    while at + 4 <= messages.size {
        let mut length: [u8; 4] = messages.array(at)?;
        at += 4;
        if length == CONTINUATION {
            length = messages.array(at)?;
            at += 4;
        }
        let length = u64::from(u32::from_le_bytes(length));
        if length == 0 {
            break;
        }
        let bytes = messages.bytes(at, length)?;
        at += length;
        let message = root_as_message(&bytes).map_err(|error| damaged(error.to_string()))?;
        messages.check_message(message, at)?;
        at += message.bodyLength() as u64;
    }
    Ok(())
}

/// The messages of a file.
struct Messages<'a, R> {
    source: &'a mut R,
    /// The size of the file.
    size: u64,
    /// The memory of all dictionaries so far, which stay in memory.
    dictionaries: u64,
}

impl<'a, R: Read + Seek> Messages<'a, R> {
    fn new(source: &'a mut R) -> Result<Self, Refusal> {
        let size = source.seek(SeekFrom::End(0))?;
        Ok(Self { source, size, dictionaries: 0 })
    }

    /// `length` bytes of the file from `at` on.
    fn bytes(&mut self, at: u64, length: u64) -> Result<Vec<u8>, Refusal> {
        self.check_inside(at, length)?;
        check_size(length)?;
        let mut bytes = vec![0; length as usize];
        self.source.seek(SeekFrom::Start(at))?;
        self.source.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Some bytes of the file from `at` on.
    fn array<const N: usize>(&mut self, at: u64) -> Result<[u8; N], Refusal> {
        self.check_inside(at, N as u64)?;
        let mut bytes = [0; N];
        self.source.seek(SeekFrom::Start(at))?;
        self.source.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn check_inside(&self, at: u64, length: u64) -> Result<(), Refusal> {
        match at.checked_add(length) {
            Some(end) if end <= self.size => Ok(()),
            _ => Err(damaged(format!("{length} bytes at {at} are beyond its end at {}", self.size))),
        }
    }

    /// Checks a message of which the footer says where it is.
    fn check_block(&mut self, block: &Block) -> Result<(), Refusal> {
        let (start, length) = (unsigned(block.offset())?, unsigned(i64::from(block.metaDataLength()))?);
        let bytes = self.bytes(start, length)?;
        let prefix = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
        let message = bytes.get(prefix..).ok_or_else(|| damaged("a message is too short"))?;
        let message = root_as_message(message).map_err(|error| damaged(error.to_string()))?;
        self.check_inside(start + length, unsigned(block.bodyLength())?)?;
        self.check_message(message, start + length)
    }

    /// Checks a message whose body begins at `body`.
    fn check_message(&mut self, message: Message<'_>, body: u64) -> Result<(), Refusal> {
        let length = unsigned(message.bodyLength())?;
        self.check_inside(body, length)?;
        if let Some(dictionary) = message.header_as_dictionary_batch() {
            let batch = dictionary.data().ok_or_else(|| damaged("a dictionary has no values"))?;
            self.dictionaries = self.dictionaries.saturating_add(self.memory(batch, body)?);
            return Ok(check_size(self.dictionaries)?);
        }
        let Some(batch) = message.header_as_record_batch() else { return Ok(()) };
        let needed = self.memory(batch, body)?.saturating_add(self.dictionaries);
        Ok(check_size(needed.saturating_add(length))?)
    }

    /// The memory of a batch whose buffers begin at `body`.
    fn memory(&mut self, batch: RecordBatch<'_>, body: u64) -> Result<u64, Refusal> {
        let mut elements = unsigned(batch.length())?;
        for node in batch.nodes().into_iter().flatten() {
            elements = elements.saturating_add(unsigned(node.length())?);
        }
        let mut bytes = elements.saturating_mul(ELEMENT_BYTES);
        if batch.compression().is_none() {
            return Ok(bytes);
        }
        for buffer in batch.buffers().into_iter().flatten().filter(|buffer| buffer.length() > 0) {
            let start = body.saturating_add(unsigned(buffer.offset())?);
            let expanded = i64::from_le_bytes(self.array(start)?);
            // -1 stands for a buffer that is not compressed
            bytes = bytes.saturating_add(u64::try_from(expanded).unwrap_or(0));
        }
        Ok(bytes)
    }
}

fn unsigned(number: i64) -> Result<u64, Refusal> {
    u64::try_from(number).map_err(|_| damaged("a length is negative"))
}
