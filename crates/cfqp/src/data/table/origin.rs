//! Values that differ in late digits only are stored relative to an origin, because single precision has about 7 digits.

/// A value that is stored relative to `origin`, with the digits of its text: 100000000.9, not 100000000.89999998.
pub(crate) fn absolute(origin: f64, value: f32) -> f64 {
    let digits = value.to_string().parse().unwrap_or_else(|_| f64::from(value));
    origin + digits
}

/// The name of values that are stored relative to `origin`, such as `y - 1000000`.
pub(crate) fn relative_name(name: &str, origin: Option<f64>) -> String {
    match origin {
        None => name.to_owned(),
        Some(origin) if origin < 0.0 => format!("{name} + {}", -origin),
        Some(origin) => format!("{name} - {origin}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_digits_again_and_names_say_what_was_subtracted() {
        assert_eq!(absolute(1e8, 0.9), 100_000_000.9);
        assert_eq!(absolute(-5001.0, f32::NAN).to_string(), "NaN");
        let names = [None, Some(1e7), Some(-2.5)].map(|origin| relative_name("y", origin));
        assert_eq!(names, ["y", "y - 10000000", "y + 2.5"]);
    }
}
