//! Text in figures, and the colours of everything that is not data.

use std::sync::Once;

use plotters::prelude::*;

/// The colour of text.
pub(crate) const INK: RGBColor = RGBColor(30, 41, 59);
/// The colour of labels.
pub(crate) const FAINT: RGBColor = RGBColor(100, 116, 139);
/// The colour of grid lines.
pub(crate) const GRID: RGBColor = RGBColor(226, 232, 240);

/// The font families that an SVG names.
const FAMILY: &str = "Helvetica, Arial, sans-serif";

/// Text of `size` in `colour`.
///
/// Measuring text and drawing it into a bitmap needs a font, and the machine may have none: one is built in.
pub(crate) fn text(size: u32, colour: RGBColor) -> TextStyle<'static> {
    static REGISTER: Once = Once::new();
    REGISTER.call_once(|| {
        let font = epaint_default_fonts::UBUNTU_LIGHT;
        let registered = plotters::style::register_font(FAMILY, FontStyle::Normal, font);
        assert!(registered.is_ok(), "the built-in font is valid");
    });
    (FAMILY, size).into_font().color(&colour)
}
