//! PNG files.

/// The bytes of a picture: red, green and blue of every pixel, row by row.
///
/// # Panics
/// Where there are not three bytes for each pixel.
pub fn png(width: u32, height: u32, rgb: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(rgb));
    written.expect("three bytes for each pixel, written to memory");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_come_back() {
        let rgb: Vec<u8> = (0..24).collect();
        let bytes = png(4, 2, &rgb);
        let mut reader = png::Decoder::new(&bytes[..]).read_info().unwrap();
        let mut seen = vec![0; reader.output_buffer_size()];
        reader.next_frame(&mut seen).unwrap();
        assert_eq!(seen, rgb);
    }
}
