//! Dates and times: texts such as 2024-03-01T08:15:00+01:00, 01.03.2024 or 3/1/2024, as days since 1970-01-01.

use serde::{Deserialize, Serialize};

/// Which number comes first in dates whose year comes last and whose separator does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DateOrder {
    /// Day, month, year: 31/12/2024.
    #[serde(rename = "dmy")]
    DayFirst,
    /// Month, day, year: 12/31/2024.
    #[serde(rename = "mdy")]
    MonthFirst,
}

/// How the dates of a column become numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DateEncoding {
    /// The first day of the training data, in days since 1970-01-01; dates become days since it.
    pub origin: i64,
    /// The order of day and month, if the training data have dates that need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<DateOrder>,
    /// Whether months and weekdays become elements too.
    #[serde(default)]
    pub parts: bool,
}

/// The elements of a date's month and weekday.
pub(crate) const PART_NAMES: [&str; 19] = [
    "month=1",
    "month=2",
    "month=3",
    "month=4",
    "month=5",
    "month=6",
    "month=7",
    "month=8",
    "month=9",
    "month=10",
    "month=11",
    "month=12",
    "weekday=Mon",
    "weekday=Tue",
    "weekday=Wed",
    "weekday=Thu",
    "weekday=Fri",
    "weekday=Sat",
    "weekday=Sun",
];

impl DateEncoding {
    /// The number of elements that a date becomes.
    pub(crate) fn elements(&self) -> usize {
        1 + if self.parts { PART_NAMES.len() } else { 0 }
    }

    /// The days since the origin.
    pub(crate) fn days(&self, date: f64) -> f64 {
        date - self.origin as f64
    }

    /// Writes the elements of a date, in days since 1970-01-01.
    pub(crate) fn write(&self, date: f64, elements: &mut [f32]) {
        elements[0] = self.days(date) as f32;
        if self.parts {
            let day = date.floor() as i64;
            elements[1..].fill(0.0);
            elements[civil(day).1 as usize] = 1.0;
            // 1970-01-01 was a Thursday
            elements[13 + (day + 3).rem_euclid(7) as usize] = 1.0;
        }
    }

    /// The date that is `days` after the origin, as 2024-03-01 or 2024-03-01T08:15:00.
    pub fn format(&self, days: f64) -> String {
        format_date(days + self.origin as f64)
    }
}

/// What a text is, as a date.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DateText {
    /// A date, in days since 1970-01-01, with the order of day and month that the text shows, if it does.
    Date(f64, Option<DateOrder>),
    /// A date whose day may be the first number or the second.
    Ambiguous { day_first: f64, month_first: f64 },
    /// Not a date.
    Text,
}

/// Reads a date; `order` is that of day and month, if it is known.
pub(crate) fn read_date(text: &str, order: Option<DateOrder>) -> DateText {
    let text = text.trim();
    if !text.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return DateText::Text;
    }
    let (date, clock) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let Some(clock) = parse_clock(clock.trim()) else { return DateText::Text };
    match read_day(date, order) {
        DateText::Date(day, order) => DateText::Date(day + clock, order),
        DateText::Ambiguous { day_first, month_first } => {
            DateText::Ambiguous { day_first: day_first + clock, month_first: month_first + clock }
        }
        DateText::Text => DateText::Text,
    }
}

/// The date of a text that is one without doubt, in days since 1970-01-01.
pub(crate) fn parse_date(text: &str, order: Option<DateOrder>) -> Option<f64> {
    match read_date(text, order) {
        DateText::Date(date, _) => Some(date),
        _ => None,
    }
}

fn read_day(text: &str, order: Option<DateOrder>) -> DateText {
    let Some(mark) = ['-', '/', '.'].into_iter().find(|mark| text.contains(*mark)) else {
        return DateText::Text;
    };
    let parts: Vec<&str> = text.split(mark).collect();
    let &[a, b, c] = &parts[..] else { return DateText::Text };
    if !parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())) {
        return DateText::Text;
    }
    let number = |part: &str| part.parse::<i64>().unwrap_or(-1);
    let day = |year: &str, month: &str, day: &str| {
        (month.len() <= 2 && day.len() <= 2).then(|| day_number(number(year), number(month), number(day)))?
    };
    let known = |day: Option<f64>, order| day.map_or(DateText::Text, |day| DateText::Date(day, order));
    if a.len() == 4 {
        return known(day(a, b, c), None);
    }
    if c.len() != 4 {
        return DateText::Text;
    }
    let (day_first, month_first) = (day(c, b, a), day(c, a, b));
    match (day_first, month_first, order) {
        (_, _, Some(DateOrder::DayFirst)) => known(day_first, None),
        // a point always comes after the day
        _ if mark == '.' => known(day_first, None),
        (_, _, Some(DateOrder::MonthFirst)) => known(month_first, None),
        (Some(one), Some(other), None) if one == other => DateText::Date(one, None),
        (Some(day_first), Some(month_first), None) => DateText::Ambiguous { day_first, month_first },
        (Some(date), None, None) => DateText::Date(date, Some(DateOrder::DayFirst)),
        (None, Some(date), None) => DateText::Date(date, Some(DateOrder::MonthFirst)),
        (None, None, None) => DateText::Text,
    }
}

/// The part of a day at a time such as 08:15, 08:15:30.5Z or 8:15 PM +01:00, in universal time if it has a zone.
fn parse_clock(text: &str) -> Option<f64> {
    if text.is_empty() {
        return Some(0.0);
    }
    let (text, zone) = split_zone(text)?;
    let (text, afternoon) = match text.to_ascii_uppercase() {
        upper if upper.ends_with("AM") => (text[..text.len() - 2].trim(), Some(false)),
        upper if upper.ends_with("PM") => (text[..text.len() - 2].trim(), Some(true)),
        _ => (text, None),
    };
    let mut parts = text.split(':');
    let whole = |part: &str| {
        let is_sound = (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<f64>().ok().filter(|_| is_sound)
    };
    let (mut hour, minute) = (whole(parts.next()?)?, whole(parts.next()?)?);
    let second = parts.next().map_or(Some(0.0), |part| {
        let is_sound = part.starts_with(|c: char| c.is_ascii_digit()) && !part.contains(['e', 'E']);
        part.parse::<f64>().ok().filter(|_| is_sound)
    })?;
    if let Some(afternoon) = afternoon {
        hour = hour % 12.0 + if afternoon { 12.0 } else { 0.0 };
    }
    let is_sound = hour < 25.0 && minute < 60.0 && second < 61.0 && parts.next().is_none();
    is_sound.then(|| (hour * 3600.0 + minute * 60.0 + second - zone * 60.0) / 86_400.0)
}

/// Splits off a zone: `Z`, `UTC` or an offset such as +01:00; it is returned in minutes east of universal time.
fn split_zone(text: &str) -> Option<(&str, f64)> {
    for name in ["Z", "z", "UTC", "GMT"] {
        if let Some(rest) = text.strip_suffix(name) {
            return Some((rest.trim_end(), 0.0));
        }
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, 0.0)) };
    let digits: String = text[at + 1..].chars().filter(|c| *c != ':').collect();
    let is_sound = matches!(digits.len(), 2 | 4) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let part = |range: std::ops::Range<usize>| digits.get(range).and_then(|part| part.parse::<f64>().ok());
    let minutes = part(0..2).filter(|_| is_sound)? * 60.0 + part(2..4).unwrap_or(0.0);
    Some((text[..at].trim_end(), if text[at..].starts_with('-') { -minutes } else { minutes }))
}

/// The days from 1970-01-01 to a day of the Gregorian calendar; `None` if there is no such day.
fn day_number(year: i64, month: i64, day: i64) -> Option<f64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap),
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) || !(1..=9999).contains(&year) {
        return None;
    }
    // years that start in March end with the leap day
    let (shifted, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = shifted.div_euclid(4) - shifted.div_euclid(100) + shifted.div_euclid(400);
    Some((365 * shifted + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468) as f64)
}

/// The year, month and day of a number of days since 1970-01-01.
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * month + 2) / 5 + 1, (month + 2) % 12 + 1);
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// A date in days since 1970-01-01 as 2024-03-01, or as 2024-03-01T08:15:00 if it is not midnight.
pub(crate) fn format_date(date: f64) -> String {
    // to the millisecond
    let millis = (date * 86_400_000.0).round() as i64;
    let (day, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = civil(day);
    let mut text = format!("{year:04}-{month:02}-{day:02}");
    if rest > 0 {
        text += &format!("T{:02}:{:02}:{:02}", rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
        if rest % 1000 > 0 {
            text += &format!(".{:03}", rest % 1000);
        }
    }
    text
}

/// Whether a text looks like a date or a time of day, whether or not it can be read: 2024-03-01, 1/3/24 or 08:15.
pub(crate) fn is_date_like(text: &str) -> bool {
    let text = text.trim();
    let dated = ['-', '/', '.'].iter().any(|&mark| {
        let parts: Vec<&str> = text.splitn(3, mark).collect();
        let &[a, b, c] = &parts[..] else { return false };
        let c = c.split(['T', ' ']).next().unwrap_or("");
        let digits = |part: &str, sizes: &[usize]| {
            sizes.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        let year_first = digits(a, &[4]) && digits(b, &[1, 2]) && digits(c, &[1, 2]);
        year_first || digits(a, &[1, 2]) && digits(b, &[1, 2]) && digits(c, &[2, 4])
    });
    let clock = |text: &str| {
        let mut parts = text.split(':');
        let two = |part: Option<&str>| {
            part.is_some_and(|part| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()))
        };
        two(parts.next()) && two(parts.next())
    };
    dated || clock(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_distinguished_from_numbers_and_names() {
        for date in ["2024-03-01", "2024-03-01T08:15:00Z", "2024-03-01 08:15", "1/3/2024", "01.03.24", "8:15"]
        {
            assert!(is_date_like(date), "{date}");
        }
        for other in ["12", "1.5", "a-b-c", "1-2", "north", "10-20", "1.2.3.4.5", "2024"] {
            assert!(!is_date_like(other), "{other}");
        }
    }

    #[test]
    fn dates_are_days_since_1970() {
        for (text, days) in [
            ("1970-01-01", 0.0),
            ("2000-02-29", 11_016.0),
            ("2024-03-01", 19_783.0),
            ("1969-12-31", -1.0),
            ("01.03.2024", 19_783.0),
            ("1.3.2024", 19_783.0),
            ("2024/3/1", 19_783.0),
            ("2024-03-01T06:00:00", 19_783.25),
            ("2024-03-01 06:00", 19_783.25),
            ("2024-03-01T06:00:00Z", 19_783.25),
            ("2024-03-01T06:00:00.000+06:00", 19_783.0),
            ("2024-03-01 06:00:00 -0600", 19_783.5),
            ("2024-03-01 6:00 PM", 19_783.75),
            ("2024-03-01 12:00 am", 19_783.0),
            ("3/3/2024", 19_785.0),
        ] {
            assert_eq!(parse_date(text, None), Some(days), "{text}");
        }
        for text in [
            "2023-02-29",
            "2024-13-01",
            "01.03.24",
            "08:15",
            "2024",
            "12",
            "2024-03-01Tx",
            "1-2",
            "31.04.2024",
            "",
        ] {
            assert_eq!(read_date(text, None), DateText::Text, "{text}");
        }
    }

    #[test]
    fn day_and_month_are_not_guessed() {
        assert_eq!(read_date("31/12/2024", None), DateText::Date(20_088.0, Some(DateOrder::DayFirst)));
        assert_eq!(read_date("12/31/2024", None), DateText::Date(20_088.0, Some(DateOrder::MonthFirst)));
        let (day_first, month_first) = (19_816.0, 19_786.0);
        assert_eq!(
            read_date("03/04/2024", None),
            DateText::Ambiguous { day_first: 19_816.0, month_first: 19_786.0 }
        );
        assert_eq!(parse_date("03/04/2024", Some(DateOrder::DayFirst)), Some(day_first));
        assert_eq!(parse_date("03/04/2024", Some(DateOrder::MonthFirst)), Some(month_first));
        assert_eq!(parse_date("31/12/2024", Some(DateOrder::MonthFirst)), None);
        // a point comes after the day, whatever the order of other dates
        assert_eq!(parse_date("03.04.2024", Some(DateOrder::MonthFirst)), Some(day_first));
    }

    #[test]
    fn every_day_of_some_centuries_is_written_and_read_back() {
        for day in -150_000..150_000 {
            assert_eq!(parse_date(&format_date(day as f64), None), Some(day as f64));
        }
        assert_eq!(format_date(19_783.25), "2024-03-01T06:00:00");
        assert_eq!(format_date(19_783.0 + 0.0015 / 86_400.0), "2024-03-01T00:00:00.002");
    }

    #[test]
    fn months_and_weekdays_are_elements() {
        let encoding = DateEncoding { origin: 19_783, order: None, parts: true };
        let mut elements = vec![f32::NAN; encoding.elements()];
        // a Tuesday
        encoding.write(parse_date("2024-03-05", None).unwrap(), &mut elements);
        assert_eq!(elements[0], 4.0);
        let set: Vec<&str> = (1..20).filter(|&j| elements[j] == 1.0).map(|j| PART_NAMES[j - 1]).collect();
        assert_eq!(set, ["month=3", "weekday=Tue"]);
        assert_eq!(encoding.format(4.5), "2024-03-05T12:00:00");
    }
}
