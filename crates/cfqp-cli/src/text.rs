//! Text in pictures, and the colours of what is no data.

use std::sync::Once;

use plotters::prelude::*;

/// Of text, of labels, of lines behind the data.
pub const INK: RGBColor = RGBColor(30, 41, 59);
pub const FAINT: RGBColor = RGBColor(100, 116, 139);
pub const GRID: RGBColor = RGBColor(226, 232, 240);

/// What a browser looks for.
const FAMILY: &str = "Helvetica, Arial, sans-serif";

/// Text of `size` in `colour`. Measuring it, and drawing it into a bitmap, needs a face, and there may be none on the
/// machine: the program brings its own.
pub fn text(size: u32, colour: RGBColor) -> TextStyle<'static> {
    static FACE: Once = Once::new();
    FACE.call_once(|| {
        let face = epaint_default_fonts::UBUNTU_LIGHT;
        assert!(
            plotters::style::register_font(FAMILY, FontStyle::Normal, face).is_ok(),
            "the face is a font"
        );
    });
    (FAMILY, size).into_font().color(&colour)
}
