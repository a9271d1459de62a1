//! One array in numpy's `.npy` format.
//!
//! `\x93NUMPY`, the version (two bytes), the header's length (two bytes in version 1, four in 2 and 3), the
//! header, such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }`, then the elements. The header is not
//! trusted with allocations: its shape must match the size of the file, and the elements are read in chunks.

use std::io::{self, Read, Write};

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::Float16Type;

use crate::data::column_ranges::ColumnRanges;
use crate::runtime::{TooLarge, check_size};

/// A floating-point number of 16 bits.
type Half = <Float16Type as ArrowPrimitiveType>::Native;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Numpy itself writes about a hundred bytes.
const MAX_HEADER_BYTES: usize = 1 << 16;
/// Bytes read at a time; a multiple of every element size.
const CHUNK_BYTES: usize = 1 << 16;

/// The parsed header.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    kind: u8,
    size: usize,
    big_endian: bool,
    fortran: bool,
    pub shape: Vec<usize>,
}

/// Why an array could not be read.
#[derive(Debug)]
pub(super) enum NpyError {
    /// The bytes could not be read or decompressed.
    Read(io::Error),
    /// The bytes are not an array of numbers.
    Format(String),
    /// The array does not fit into memory.
    TooLarge(TooLarge),
}

impl From<io::Error> for NpyError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

fn invalid<T>(problem: impl Into<String>) -> Result<T, NpyError> {
    Err(NpyError::Format(problem.into()))
}

/// What may be allocated for an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Memory for the elements is reserved up front if the file has at most so many bytes, and grows as they are read
    /// otherwise.
    pub credible: u64,
    /// The memory of other arrays, which counts too.
    pub used: u64,
}

impl Limits {
    /// Checks the memory of the elements of an array, as they will be in memory, before they are read.
    fn check<T>(&self, header: &Header, elements: u64) -> Result<(), NpyError> {
        let copies = if header.fortran && header.shape.len() > 1 { 2 } else { 1 };
        let needed = elements.saturating_mul(copies * size_of::<T>() as u64);
        check_size(needed.saturating_add(self.used)).map_err(NpyError::TooLarge)
    }
}

/// Reads an array in C order: numbers of any type as f32, or integers as i64; `bytes` is the size of the whole file.
pub(super) fn read<T: Element>(
    from: impl Read,
    bytes: u64,
    limits: Limits,
) -> Result<(Vec<usize>, Vec<T>), NpyError> {
    read_measured(from, bytes, limits).map(|(shape, values, _)| (shape, values))
}

/// As [`read`], with the ranges of numbers that single precision does not hold exactly.
pub(super) fn read_measured<T: Element>(
    mut from: impl Read,
    bytes: u64,
    limits: Limits,
) -> Result<(Vec<usize>, Vec<T>, ColumnRanges), NpyError> {
    let (header, head) = read_header(&mut from)?;
    if header.kind == b'f' && !T::MAY_BE_FRACTIONS {
        return invalid("the elements are not stored as integers");
    }
    let shape = &header.shape;
    let size = shape.iter().try_fold(header.size as u64, |size, &axis| size.checked_mul(axis as u64));
    if size.and_then(|size| size.checked_add(head)) != Some(bytes) {
        return invalid(format!("the header gives shape {shape:?}, which does not match {bytes} bytes"));
    }
    let mut values = Vec::new();
    limits.check::<T>(&header, (bytes - head) / header.size as u64)?;
    if bytes <= limits.credible {
        values.reserve_exact(shape.iter().product());
    }
    let mut ranges = ColumnRanges::new(shape, header.fortran);
    read_values(&mut from, &header, bytes - head, &mut values, &mut ranges)?;
    if from.read(&mut [0])? != 0 {
        return invalid("there are bytes after the last element");
    }
    if header.fortran && shape.len() > 1 {
        values = c_order(shape, &values);
    }
    Ok((header.shape, values, ranges))
}

/// Reads a whole `.npy` file as numbers and as integers; whether it is an array of numbers.
pub(crate) fn check_bytes(bytes: &[u8]) -> bool {
    let limits = Limits { credible: bytes.len() as u64, used: 0 };
    let size = bytes.len() as u64;
    let integers = read::<i64>(bytes, size, limits);
    integers.is_ok() | read::<f32>(bytes, size, limits).is_ok()
}

fn read_header(from: &mut impl Read) -> Result<(Header, u64), NpyError> {
    let mut start = [0; 8];
    from.read_exact(&mut start)?;
    if !start.starts_with(MAGIC) {
        return invalid("not a .npy array");
    }
    let mut length = [0; 4];
    let width = if start[6] == 1 { 2 } else { 4 };
    from.read_exact(&mut length[..width])?;
    let length = u32::from_le_bytes(length) as usize;
    if !(1..=3).contains(&start[6]) || length > MAX_HEADER_BYTES {
        return invalid(format!("the header has version {} and {length} bytes", start[6]));
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    match parse(&text) {
        Some(header) => Ok((header, (8 + width + length) as u64)),
        None => invalid(format!("the header `{}` does not describe an array of numbers", text.trim())),
    }
}

/// Parses the three entries of a header, in any order.
fn parse(text: &str) -> Option<Header> {
    let after = |key: &str| {
        let found = text.split_once(&format!("'{key}'"))?.1.trim_start();
        found.strip_prefix(':').map(str::trim_start)
    };
    let descr = after("descr")?.strip_prefix('\'')?.split_once('\'')?.0;
    let (order, kind) = descr.split_at_checked(1)?;
    let (kind, size) = kind.split_at_checked(1)?;
    let (kind, size) = (kind.as_bytes()[0], size.parse().ok()?);
    let known = match kind {
        b'f' => matches!(size, 2 | 4 | 8),
        b'i' | b'u' => matches!(size, 1 | 2 | 4 | 8),
        b'b' => size == 1,
        _ => false,
    };
    let fortran = match after("fortran_order")? {
        rest if rest.starts_with("True") => true,
        rest if rest.starts_with("False") => false,
        _ => return None,
    };
    let axes = after("shape")?.strip_prefix('(')?.split_once(')')?.0;
    let axes = axes.split(',').map(str::trim).filter(|axis| !axis.is_empty());
    let shape = axes.map(|axis| axis.parse().ok()).collect::<Option<_>>()?;
    let big_endian = order == ">";
    (known && matches!(order, "<" | ">" | "|" | "=")).then_some(Header {
        kind,
        size,
        big_endian,
        fortran,
        shape,
    })
}

fn read_values<T: Element>(
    from: &mut impl Read,
    header: &Header,
    bytes: u64,
    values: &mut Vec<T>,
    ranges: &mut ColumnRanges,
) -> Result<(), NpyError> {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut left = bytes;
    while left > 0 {
        let chunk = &mut buffer[..left.min(CHUNK_BYTES as u64) as usize];
        from.read_exact(chunk)?;
        left -= chunk.len() as u64;
        if header.big_endian {
            chunk.chunks_exact_mut(header.size).for_each(<[u8]>::reverse);
        }
        T::convert(header, chunk, values);
        if T::MAY_BE_FRACTIONS {
            header.measure(chunk, ranges);
        }
    }
    Ok(())
}

impl Header {
    /// Adds little-endian elements of the types that have more digits than single precision to `ranges`.
    fn measure(&self, bytes: &[u8], ranges: &mut ColumnRanges) {
        let (short, long) = (bytes.as_chunks().0, bytes.as_chunks().0);
        match (self.kind, self.size) {
            (b'f', 8) => long.iter().for_each(|&word| ranges.add(f64::from_le_bytes(word))),
            (b'i', 8) => long.iter().for_each(|&word| ranges.add(i64::from_le_bytes(word) as f64)),
            (b'u', 8) => long.iter().for_each(|&word| ranges.add(u64::from_le_bytes(word) as f64)),
            (b'i', 4) => short.iter().for_each(|&word| ranges.add(i32::from_le_bytes(word).into())),
            (b'u', 4) => short.iter().for_each(|&word| ranges.add(u32::from_le_bytes(word).into())),
            _ => {}
        }
    }
}

/// The type that elements are converted to.
pub(super) trait Element: Copy {
    /// Whether floating-point elements are accepted.
    const MAY_BE_FRACTIONS: bool;

    /// Appends little-endian elements.
    fn convert(header: &Header, bytes: &[u8], to: &mut Vec<Self>);
}

macro_rules! element {
    ($to:ty, may_be_fractions: $fractions:literal) => {
        impl Element for $to {
            const MAY_BE_FRACTIONS: bool = $fractions;

            fn convert(header: &Header, bytes: &[u8], to: &mut Vec<Self>) {
                macro_rules! numbers {
                    ($from:ty) => {{
                        let (words, _) = bytes.as_chunks::<{ size_of::<$from>() }>();
                        to.extend(words.iter().map(|&word| <$from>::from_le_bytes(word) as $to))
                    }};
                }
                match (header.kind, header.size) {
                    (b'f', 2) => {
                        let (words, _) = bytes.as_chunks::<2>();
                        to.extend(words.iter().map(|&word| Half::from_le_bytes(word).to_f32() as $to))
                    }
                    (b'f', 4) => numbers!(f32),
                    (b'f', _) => numbers!(f64),
                    (b'i', 1) => numbers!(i8),
                    (b'i', 2) => numbers!(i16),
                    (b'i', 4) => numbers!(i32),
                    (b'i', _) => numbers!(i64),
                    (b'u', 2) => numbers!(u16),
                    (b'u', 4) => numbers!(u32),
                    (b'u', 8) => numbers!(u64),
                    (b'u', _) => numbers!(u8),
                    _ => to.extend(bytes.iter().map(|&byte| u8::from(byte != 0) as $to)),
                }
            }
        }
    };
}

element!(f32, may_be_fractions: true);
// integers above the range of i64 wrap around, so that different ones stay different
element!(i64, may_be_fractions: false);

/// Converts Fortran order (the first axis runs fastest) to C order (the last one does).
fn c_order<T: Copy>(shape: &[usize], values: &[T]) -> Vec<T> {
    let mut strides = vec![1; shape.len()];
    for axis in 1..shape.len() {
        strides[axis] = strides[axis - 1] * shape[axis - 1];
    }
    let mut index = vec![0; shape.len()];
    let mut at = 0;
    let mut sorted = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        sorted.push(values[at]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
    sorted
}

/// Writes the header of an array in C order, padded so that the elements start at a multiple of 64 bytes.
pub(super) fn write_header(to: &mut impl Write, descr: &str, shape: &[usize]) -> io::Result<()> {
    let axes: String = shape.iter().map(|axis| format!("{axis},")).collect();
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({axes}), }}");
    let width = (10 + text.len() + 1).next_multiple_of(64) - 10;
    to.write_all(MAGIC)?;
    to.write_all(&[1, 0])?;
    to.write_all(&u16::try_from(width).map_err(io::Error::other)?.to_le_bytes())?;
    writeln!(to, "{text:<pad$}", pad = width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(header: &str, elements: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(elements);
        bytes
    }

    fn read_all(bytes: &[u8]) -> Result<(Vec<usize>, Vec<f32>), NpyError> {
        read(bytes, bytes.len() as u64, limits(bytes.len()))
    }

    fn limits(credible: usize) -> Limits {
        Limits { credible: credible as u64, used: 0 }
    }

    fn header(descr: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
    }

    #[test]
    fn every_number_type_and_both_byte_orders_are_read() {
        let check = |descr: &str, elements: &[u8]| {
            let (shape, values) = read_all(&npy(&header(descr, "False", "(2,)"), elements)).unwrap();
            assert_eq!((shape, values), (vec![2], vec![0.0, 1.0]), "{descr}");
        };
        macro_rules! check_type {
            ($type:ty, $descr:literal) => {
                let little = [(0 as $type).to_le_bytes(), (1 as $type).to_le_bytes()];
                check(&format!("<{}", $descr), little.as_flattened());
                let big = [(0 as $type).to_be_bytes(), (1 as $type).to_be_bytes()];
                check(&format!(">{}", $descr), big.as_flattened());
            };
        }
        check_type!(f32, "f4");
        check_type!(f64, "f8");
        check_type!(i8, "i1");
        check_type!(i16, "i2");
        check_type!(i32, "i4");
        check_type!(i64, "i8");
        check_type!(u8, "u1");
        check_type!(u16, "u2");
        check_type!(u32, "u4");
        check_type!(u64, "u8");
        check("|b1", &[0, 1]);
    }

    #[test]
    fn integers_are_read_exactly_and_fractions_are_not_integers() {
        let large = [(1_i64 << 53) + 1, -3];
        let bytes = npy(&header("<i8", "False", "(2,)"), large.map(i64::to_le_bytes).as_flattened());
        let size = bytes.len() as u64;
        assert_eq!(read::<i64>(&bytes[..], size, limits(bytes.len())).unwrap(), (vec![2], large.to_vec()));
        let bytes = npy(&header("<f4", "False", "(2,)"), &[0; 8]);
        let error = read::<i64>(&bytes[..], bytes.len() as u64, limits(0)).unwrap_err();
        assert!(matches!(error, NpyError::Format(text) if text.contains("not stored as integers")));
    }

    #[test]
    fn fortran_order_is_converted_to_c_order() {
        let fortran: Vec<u8> = [0, 3, 1, 4, 2, 5].to_vec();
        let (shape, values) = read_all(&npy(&header("|u1", "True", "(2, 3)"), &fortran)).unwrap();
        assert_eq!((shape, values), (vec![2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
        let bytes: Vec<u8> = (0..24).collect();
        let (_, values) = read_all(&npy(&header("|u1", "True", "(2, 3, 4)"), &bytes)).unwrap();
        // element (i, j, k) was at i + 2 j + 6 k
        let wanted = |at: usize| (at / 12 + 2 * (at / 4 % 3) + 6 * (at % 4)) as f32;
        assert_eq!(values, (0..24).map(wanted).collect::<Vec<_>>());
    }

    #[test]
    fn a_written_header_is_read_back() {
        for shape in [vec![], vec![3], vec![3, 0], vec![1; 40]] {
            let mut bytes = Vec::new();
            write_header(&mut bytes, "<i8", &shape).unwrap();
            assert!(bytes.len().is_multiple_of(64) && bytes.ends_with(b"\n"));
            assert_eq!(read_header(&mut &bytes[..]).unwrap().0.shape, shape);
        }
    }

    #[test]
    fn a_header_with_a_wrong_size_allocates_nothing() {
        for shape in ["(1000000000000,)", "(18446744073709551615, 2)", "(3,)", "(-1,)", "(2.5,)", "2"] {
            assert!(read_all(&npy(&header("<f4", "False", shape), &[0; 8])).is_err(), "{shape}");
        }
        let huge = npy(&header("<f4", "False", "(1000000000000,)"), &[0; 8]);
        let size = huge.len() as u64 - 8 + 4_000_000_000_000;
        assert!(matches!(read::<f32>(&huge[..], size, limits(huge.len())), Err(NpyError::TooLarge(_))));
        let mut long = b"\x93NUMPY\x02\x00".to_vec();
        long.extend(u32::MAX.to_le_bytes());
        assert!(matches!(read_all(&long), Err(NpyError::Format(_))));
    }

    #[test]
    fn other_element_types_are_errors_that_show_the_header() {
        for descr in ["|O", "<U3", "<c8", "<M8[ns]", "", "<", "é4", "<i3"] {
            let error = read_all(&npy(&header(descr, "False", "(2,)"), &[0; 16])).unwrap_err();
            assert!(matches!(error, NpyError::Format(text) if text.contains(descr)), "{descr}");
        }
    }
}
