//! Small pictures inside a page: PNG without compression, as a `data:` address.

/// Red, green, blue of every pixel, row by row, as an address that a page can hold.
pub fn data_uri(width: usize, height: usize, rgb: &[u8]) -> String {
    format!("data:image/png;base64,{}", base64(&png(width, height, rgb)))
}

fn png(width: usize, height: usize, rgb: &[u8]) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::new();
    header.extend((width as u32).to_be_bytes());
    header.extend((height as u32).to_be_bytes());
    // eight bits, colours, the usual compression and filter, not interlaced
    header.extend([8, 2, 0, 0, 0]);
    chunk(&mut out, b"IHDR", &header);
    // every row begins with its filter: none
    let rows: Vec<u8> =
        rgb.chunks(3 * width).flat_map(|row| std::iter::once(&0).chain(row)).copied().collect();
    chunk(&mut out, b"IDAT", &stored(&rows));
    chunk(&mut out, b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    out.extend((data.len() as u32).to_be_bytes());
    let begin = out.len();
    out.extend(name);
    out.extend(data);
    let sum = crc32(&out[begin..]);
    out.extend(sum.to_be_bytes());
}

/// A zlib stream of blocks that are stored as they are.
fn stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let blocks = data.chunks(65_535).count();
    for (i, block) in data.chunks(65_535).enumerate() {
        let length = block.len() as u16;
        out.push(u8::from(i + 1 == blocks));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    let (a, b) = data.iter().fold((1_u32, 0_u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    out.extend(((b << 16) | a).to_be_bytes());
    out
}

/// The check sum of PNG and zip files.
pub fn crc32(data: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ if sum & 1 == 1 { 0xEDB8_8320 } else { 0 })
    };
    !data.iter().fold(u32::MAX, step)
}

fn base64(data: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(data.len().div_ceil(3) * 4);
    for three in data.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte)) << (8 * (3 - three.len()));
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= three.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_digits_are_those_of_the_standards() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(["", "f", "fo", "foo"].map(|text| base64(text.as_bytes())), ["", "Zg==", "Zm8=", "Zm9v"]);
        // Adler-32 of "Wikipedia" is known
        assert!(stored(b"Wikipedia").ends_with(&0x11E6_0398_u32.to_be_bytes()));
    }
}
