//! The headers of Parquet pages, in Thrift's compact encoding; only what decides how much memory a page takes.

use std::io::Read;

/// Nested deeper than any page header.
const MAX_DEPTH: usize = 8;
/// The codes of types.
const STOP: u8 = 0;
const BINARY: u8 = 8;
const LIST: [u8; 2] = [9, 10];
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// What a page claims.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PageHeader {
    pub is_dictionary: bool,
    /// The size in the file, and after decompression.
    pub compressed: u64,
    pub expanded: u64,
    pub values: u64,
    pub encoding: i64,
}

/// Reads the header of a page, and nothing behind it; `None` if it is not one.
pub(super) fn read_page_header(from: &mut impl Read) -> Option<PageHeader> {
    let mut header = PageHeader::default();
    let mut id = 0;
    while let Some(kind) = read_field(from, &mut id)? {
        match (id, kind) {
            (1, 5) => header.is_dictionary = read_signed(from)? == 2,
            (2, 5) => header.expanded = u64::try_from(read_signed(from)?).ok()?,
            (3, 5) => header.compressed = u64::try_from(read_signed(from)?).ok()?,
            // a data page, a dictionary, a data page of version 2
            (5, STRUCT) => read_content(from, 2, &mut header)?,
            (7, STRUCT) => read_content(from, 2, &mut header)?,
            (8, STRUCT) => read_content(from, 4, &mut header)?,
            _ => skip(from, kind, 0)?,
        }
    }
    Some(header)
}

/// Reads the number of values and, from the field `encoding`, the encoding.
fn read_content(from: &mut impl Read, encoding: i64, header: &mut PageHeader) -> Option<()> {
    let mut id = 0;
    while let Some(kind) = read_field(from, &mut id)? {
        match (id, kind) {
            (1, 5) => header.values = u64::try_from(read_signed(from)?).ok()?,
            (field, 5) if field == encoding => header.encoding = read_signed(from)?,
            _ => skip(from, kind, 0)?,
        }
    }
    Some(())
}

/// Reads the type and the number of the next field; `Some(None)` at the end of the struct.
fn read_field(from: &mut impl Read, id: &mut i64) -> Option<Option<u8>> {
    let byte = read_byte(from)?;
    let (step, kind) = (byte >> 4, byte & 15);
    if kind == STOP {
        return Some(None);
    }
    *id = if step == 0 { read_signed(from)? } else { id.checked_add(i64::from(step))? };
    Some(Some(kind))
}

/// Skips a value of a field.
fn skip(from: &mut impl Read, kind: u8, depth: usize) -> Option<()> {
    match kind {
        // a truth value is in the type
        1 | 2 => Some(()),
        3 => read_byte(from).map(drop),
        4..=6 => read_number(from).map(drop),
        7 => skip_bytes(from, 8),
        BINARY => {
            let length = read_number(from)?;
            skip_bytes(from, length)
        }
        _ if depth == MAX_DEPTH => None,
        kind if LIST.contains(&kind) => {
            let byte = read_byte(from)?;
            let length = if byte >> 4 == 15 { read_number(from)? } else { u64::from(byte >> 4) };
            (0..length).try_for_each(|_| skip_element(from, byte & 15, depth))
        }
        MAP => {
            let length = read_number(from)?;
            let kinds = if length == 0 { 0 } else { read_byte(from)? };
            (0..length).try_for_each(|_| {
                skip_element(from, kinds >> 4, depth)?;
                skip_element(from, kinds & 15, depth)
            })
        }
        STRUCT => {
            let mut id = 0;
            while let Some(kind) = read_field(from, &mut id)? {
                skip(from, kind, depth + 1)?;
            }
            Some(())
        }
        _ => None,
    }
}

/// Skips an element of a list: there, a truth value is a byte.
fn skip_element(from: &mut impl Read, kind: u8, depth: usize) -> Option<()> {
    match kind {
        1 | 2 => read_byte(from).map(drop),
        kind => skip(from, kind, depth + 1),
    }
}

fn skip_bytes(from: &mut impl Read, length: u64) -> Option<()> {
    let skipped = std::io::copy(&mut from.take(length), &mut std::io::sink()).ok()?;
    (skipped == length).then_some(())
}

fn read_byte(from: &mut impl Read) -> Option<u8> {
    let mut byte = [0];
    from.read_exact(&mut byte).ok()?;
    Some(byte[0])
}

/// A number of seven bits per byte, the lowest first.
fn read_number(from: &mut impl Read) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = read_byte(from)?;
        number |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(number);
        }
    }
    None
}

/// A number whose lowest bit is its sign.
fn read_signed(from: &mut impl Read) -> Option<i64> {
    let number = read_number(from)?;
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_and_nothing_behind_it() {
        // type 0, 300 bytes, 20 bytes, checksum 1, a data page: 5 values, encoding 3, statistics with a text
        let bytes = [
            0x15, 0, 0x15, 0xd8, 0x04, 0x15, 40, 0x15, 2, 0x1c, 0x15, 10, 0x15, 6, 0x3c, 0x18, 2, 1, 2, 0, 0,
            0, 99,
        ];
        let mut rest = &bytes[..];
        let header = read_page_header(&mut rest).unwrap();
        let wanted =
            PageHeader { is_dictionary: false, compressed: 20, expanded: 300, values: 5, encoding: 3 };
        assert_eq!((header, rest), (wanted, &[99][..]));
        for end in 0..bytes.len() - 1 {
            assert_eq!(read_page_header(&mut &bytes[..end]), None, "{end}");
        }
    }

    #[test]
    fn negative_sizes_and_endless_nesting_are_refused() {
        assert_eq!(read_page_header(&mut &[0x25, 1, 0][..]), None);
        assert_eq!(read_page_header(&mut &[0x4c; 1000][..]), None);
        assert_eq!(read_page_header(&mut &[0x49; 1000][..]), None);
    }
}
