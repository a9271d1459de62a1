//! PNG images.

/// Encodes red, green and blue of every pixel, row by row, as a PNG file.
fn png(width: u32, height: u32, rgb: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(rgb));
    written.expect("three bytes per pixel, written to memory");
    bytes
}

/// Encodes red, green and blue of every pixel, row by row, as a data URI of a PNG file.
///
/// # Panics
/// If there are not three bytes per pixel.
pub fn data_uri(width: usize, height: usize, rgb: &[u8]) -> String {
    format!("data:image/png;base64,{}", base64(&png(width as u32, height as u32, rgb)))
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
    fn an_encoded_image_decodes_to_the_same_pixels() {
        let rgb: Vec<u8> = (0..24).collect();
        let bytes = png(4, 2, &rgb);
        let mut reader = png::Decoder::new(&bytes[..]).read_info().unwrap();
        let mut seen = vec![0; reader.output_buffer_size()];
        reader.next_frame(&mut seen).unwrap();
        assert_eq!(seen, rgb);
    }

    #[test]
    fn base64_agrees_with_the_standard() {
        assert_eq!(["", "f", "fo", "foo"].map(|text| base64(text.as_bytes())), ["", "Zg==", "Zm8=", "Zm9v"]);
    }
}
