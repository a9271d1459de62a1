//! Numbers as people write them: with a percent sign, a currency, thousands separators or a decimal comma.

/// What separates the fraction of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Decimal {
    /// Not said: a point, and a single comma is never guessed to be one or the other.
    #[default]
    Unknown,
    /// A point; commas separate thousands.
    Point,
    /// A comma; points separate thousands.
    Comma,
}

impl Decimal {
    /// The separator that a user gave, if any.
    pub(crate) fn new(given: Option<char>) -> Self {
        match given {
            None => Self::Unknown,
            Some(',') => Self::Comma,
            Some(_) => Self::Point,
        }
    }
}

impl Decimal {
    /// The separator, if it is known.
    pub(crate) fn mark(self) -> Option<char> {
        match self {
            Self::Unknown => None,
            Self::Point => Some('.'),
            Self::Comma => Some(','),
        }
    }
}

/// What was removed from the text of a number to read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    pub percent: bool,
    pub currency: bool,
    pub thousands: bool,
    /// Whether a decimal comma became a point.
    pub comma: bool,
}

impl Removed {
    /// What either of the two says.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            percent: self.percent || other.percent,
            currency: self.currency || other.currency,
            thousands: self.thousands || other.thousands,
            comma: self.comma || other.comma,
        }
    }
}

impl std::fmt::Display for Removed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names =
            [(self.percent, "%"), (self.currency, "currency"), (self.thousands, "thousands separators")];
        let names: Vec<&str> =
            names.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect();
        f.write_str("read as a number")?;
        if !names.is_empty() {
            write!(f, ", {} removed", names.join(" and "))?;
        }
        f.write_str(if self.comma { ", decimal comma" } else { "" })
    }
}

/// What a text is, as a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NumberText {
    /// A number as computers write it.
    Plain(f64),
    /// A number after something was removed.
    Formatted(f64, Removed),
    /// A number only if its comma is a decimal comma, or its points separate thousands.
    DecimalComma,
    /// A number such as 1,234, which is 1234 or 1.234.
    Ambiguous,
    /// Not a number.
    Text,
}

/// Signs and codes of currencies, longer ones before their parts.
const CURRENCIES: [&str; 50] = [
    "US$", "CA$", "AU$", "NZ$", "HK$", "A$", "C$", "R$", "S$", "$", "€", "£", "¥", "￥", "₹", "₩", "₽", "₺",
    "₪", "₫", "฿", "₴", "₦", "₱", "zł", "Kč", "kr", "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "CAD", "AUD",
    "NZD", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "INR", "BRL", "ZAR", "KRW", "MXN", "SGD", "HKD", "TRY",
];

/// Separators of thousands that cannot separate a fraction: spaces of all kinds and apostrophes.
const SPACES: [char; 6] = [' ', '\u{a0}', '\u{202f}', '\u{2009}', '\'', '’'];

/// Parses a number, as computers write it, that is finite as f32.
pub(crate) fn parse_number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|value| (*value as f32).is_finite())
}

/// Reads a number as people write it. The value is the number as written: `5%` is 5.
pub(crate) fn read_number(text: &str, decimal: Decimal) -> NumberText {
    let text = text.trim();
    let is_plain = decimal != Decimal::Comma || !text.contains('.');
    if let Some(value) = parse_number(text).filter(|_| is_plain) {
        return NumberText::Plain(value);
    }
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return NumberText::Text;
    }
    let bare = Bare::new(text);
    let read = |comma: bool| {
        let (value, thousands) = bare.read(comma)?;
        let removed = Removed { thousands, comma: comma && bare.body.contains(','), ..bare.removed };
        Some(NumberText::Formatted(value, removed))
    };
    let count = |mark: char| bare.body.matches(mark).count();
    match decimal {
        Decimal::Point => read(false).unwrap_or(NumberText::Text),
        Decimal::Comma => read(true).unwrap_or(NumberText::Text),
        Decimal::Unknown => match (read(false), read(true)) {
            (Some(_), Some(_)) if count(',') == 1 && count('.') == 0 => NumberText::Ambiguous,
            (Some(number), _) => number,
            (None, Some(_)) => NumberText::DecimalComma,
            (None, None) => NumberText::Text,
        },
    }
}

/// The digits and separators of a number.
struct Bare<'a> {
    body: &'a str,
    is_negative: bool,
    removed: Removed,
}

impl<'a> Bare<'a> {
    /// Removes signs, currencies and `%`, each at most once.
    fn new(text: &'a str) -> Self {
        let mut bare = Self { body: text, is_negative: false, removed: Removed::default() };
        let (mut is_signed, mut is_changed) = (false, true);
        if let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            // accountants write negative amounts so
            (bare.body, bare.is_negative, is_signed) = (inner, true, true);
        }
        while is_changed {
            bare.body = bare.body.trim();
            is_changed = false;
            if let Some(rest) = bare.body.strip_prefix(['-', '−', '+']).filter(|_| !is_signed) {
                bare.is_negative = !bare.body.starts_with('+');
                (bare.body, is_signed, is_changed) = (rest, true, true);
            } else if let Some(rest) = bare.body.strip_suffix('%').filter(|_| !bare.removed.percent) {
                (bare.body, bare.removed.percent, is_changed) = (rest, true, true);
            } else if let Some(rest) = without_currency(bare.body).filter(|_| !bare.removed.currency) {
                (bare.body, bare.removed.currency, is_changed) = (rest, true, true);
            }
        }
        bare
    }

    /// The value, and whether there are thousands separators; `comma` if the fraction follows a comma.
    fn read(&self, comma: bool) -> Option<(f64, bool)> {
        let (mark, group) = if comma { (',', '.') } else { ('.', ',') };
        let (mantissa, exponent) = self.body.split_once(['e', 'E']).unwrap_or((self.body, "0"));
        let (whole, fraction) = mantissa.split_once(mark).unwrap_or((mantissa, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_sound = is_digits(fraction) && !(whole.is_empty() && fraction.is_empty());
        let (digits, thousands) = join_groups(whole, group).filter(|_| is_sound)?;
        let exponent: i32 = exponent.parse().ok()?;
        let sign = if self.is_negative { "-" } else { "" };
        Some((parse_number(&format!("{sign}{digits}.{fraction}0e{exponent}"))?, thousands))
    }
}

fn without_currency(text: &str) -> Option<&str> {
    let next_to_number = |rest: &&str| !rest.is_empty();
    let strip = |name: &&str| text.strip_prefix(*name).or_else(|| text.strip_suffix(*name));
    CURRENCIES.iter().find_map(strip).filter(next_to_number)
}

/// The digits of a whole number without separators, and whether there were any: all of one kind, between groups of
/// three digits.
fn join_groups(text: &str, group: char) -> Option<(String, bool)> {
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let Some(mark) = text.chars().find(|c| *c == group || SPACES.contains(c)) else {
        return is_digits(text).then(|| (text.to_owned(), false));
    };
    let mut parts = text.split(mark);
    let first = parts.next()?;
    let is_first_sound = (1..=3).contains(&first.len()) && is_digits(first) && !first.starts_with('0');
    let is_sound = is_first_sound && parts.all(|part| part.len() == 3 && is_digits(part));
    is_sound.then(|| (text.replace(mark, ""), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, decimal: Decimal) -> Option<f64> {
        match read_number(text, decimal) {
            NumberText::Plain(value) | NumberText::Formatted(value, _) => Some(value),
            _ => None,
        }
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, expected) in [
            ("5%", 5.0),
            ("12.5 %", 12.5),
            ("$1,234.50", 1234.5),
            ("-$5", -5.0),
            ("$-5", -5.0),
            ("($1,200.00)", -1200.0),
            ("1,234,567", 1_234_567.0),
            ("1 234", 1234.0),
            ("1\u{a0}234\u{202f}567", f64::NAN),
            ("1\u{202f}234\u{202f}567", 1_234_567.0),
            ("1'234.5", 1234.5),
            ("1’234", 1234.0),
            ("EUR 5.20", 5.2),
            ("5.20 €", 5.2),
            ("£3", 3.0),
            ("¥1,000,000", 1e6),
            ("100 USD", 100.0),
            ("US$7", 7.0),
            ("−3", -3.0),
            ("+$3", 3.0),
            ("1e-3", 1e-3),
            (".5%", 0.5),
        ] {
            let found = value(text, Decimal::Unknown);
            assert_eq!(found, Some(expected).filter(|value| !value.is_nan()), "{text}");
        }
        for text in
            ["5 kg", "A5", "1-2", "10 20", "%", "$", "5%%", "1,23,456", "12.03.2024", "08:15", "", "1 2345"]
        {
            assert_eq!(read_number(text, Decimal::Unknown), NumberText::Text, "{text}");
        }
    }

    #[test]
    fn a_single_comma_is_not_guessed() {
        let unknown = |text: &str| read_number(text, Decimal::Unknown);
        for text in ["1,234", "-12,345", "$1,234", "123,456"] {
            assert_eq!(unknown(text), NumberText::Ambiguous, "{text}");
        }
        for text in ["1,5", "0,123", "1234,567", "1.234,5", "1 234,5", "1.234.567", "3,50 €", ",5"] {
            assert_eq!(unknown(text), NumberText::DecimalComma, "{text}");
        }
        assert_eq!(value("1,234", Decimal::Point), Some(1234.0));
        assert_eq!(value("1,5", Decimal::Point), None);
        for (text, expected) in
            [("1,234", 1.234), ("1.234", 1234.0), ("1.234,5", 1234.5), ("12", 12.0), ("1,5e3", 1500.0)]
        {
            assert_eq!(value(text, Decimal::Comma), Some(expected), "{text}");
        }
        assert_eq!(value("1.5", Decimal::Comma), None);
        let NumberText::Formatted(_, removed) = read_number("-1.234,5 %", Decimal::Comma) else { panic!() };
        assert_eq!(
            removed.to_string(),
            "read as a number, % and thousands separators removed, decimal comma"
        );
    }

    #[test]
    fn plain_numbers_keep_their_bits() {
        for text in ["0.1", "1e300", "-2e-7", "123456789.123", "1234", "inf", "nan"] {
            let plain = parse_number(text);
            assert_eq!(value(text, Decimal::Unknown), plain, "{text}");
        }
    }
}
