//! The dates found in a column.

use super::dates::{DateEncoding, DateOrder, DateText};
use super::place::Place;
use super::problems::{CellFault, FoundCells, Problems};

/// The dates of a column, and what they show about the order of day and month.
#[derive(Clone, Debug)]
pub(crate) struct DateScan {
    /// Dates of files that store dates.
    stored: usize,
    /// Texts that are dates, whatever the order.
    texts: FoundCells,
    day_first: FoundCells,
    month_first: FoundCells,
    ambiguous: FoundCells,
    /// Texts that look like dates or times of day but cannot be read.
    unreadable: FoundCells,
    /// The earliest date, in days since 1970-01-01, if ambiguous ones have the day first, and if they have the month first.
    earliest: [f64; 2],
}

impl Default for DateScan {
    fn default() -> Self {
        let none = FoundCells::default;
        Self {
            stored: 0,
            texts: none(),
            day_first: none(),
            month_first: none(),
            ambiguous: none(),
            unreadable: none(),
            earliest: [f64::INFINITY; 2],
        }
    }
}

impl DateScan {
    /// Adds a date of a file that stores dates.
    pub(super) fn add(&mut self, date: f64) {
        self.stored += 1;
        self.include([date; 2]);
    }

    /// Adds a text that was read as a date.
    pub(super) fn add_text(&mut self, date: DateText, place: impl FnOnce() -> Place, text: &str) {
        match date {
            DateText::Text => {}
            DateText::Ambiguous { day_first, month_first } => {
                self.ambiguous.add(place(), text);
                self.include([day_first, month_first]);
            }
            DateText::Date(date, order) => {
                let found = match order {
                    None => &mut self.texts,
                    Some(DateOrder::DayFirst) => &mut self.day_first,
                    Some(DateOrder::MonthFirst) => &mut self.month_first,
                };
                found.add(place(), text);
                self.include([date; 2]);
            }
        }
    }

    pub(super) fn add_unreadable(&mut self, place: Place, text: &str) {
        self.unreadable.add(place, text);
    }

    fn include(&mut self, dates: [f64; 2]) {
        self.earliest.iter_mut().zip(dates).for_each(|(earliest, date)| *earliest = earliest.min(date));
    }

    fn kinds(&self) -> [&FoundCells; 5] {
        [&self.texts, &self.day_first, &self.month_first, &self.ambiguous, &self.unreadable]
    }

    /// The number of cells that are dates or look like it.
    pub(super) fn count(&self) -> usize {
        self.stored + self.kinds().iter().map(|found| found.count).sum::<usize>()
    }

    /// All texts that are dates or look like it.
    pub(super) fn all(&self) -> FoundCells {
        let mut all = FoundCells::default();
        self.kinds().into_iter().for_each(|found| all.append(found));
        all.count += self.stored;
        all
    }

    pub(super) fn unreadable(&self) -> &FoundCells {
        &self.unreadable
    }

    /// The order of day and month that the dates show.
    fn order(&self) -> Option<DateOrder> {
        match (self.day_first.count, self.month_first.count) {
            (0, 0) => None,
            (_, 0) => Some(DateOrder::DayFirst),
            _ => Some(DateOrder::MonthFirst),
        }
    }

    /// How the dates become numbers; the order of day and month is the one given, or else the one that they show.
    pub(super) fn encoding(&self, given: Option<DateOrder>, parts: bool) -> DateEncoding {
        let order = given.or_else(|| self.order());
        let earliest = self.earliest[usize::from(order == Some(DateOrder::MonthFirst))];
        let origin = if earliest.is_finite() { earliest.floor() as i64 } else { 0 };
        DateEncoding { origin, order, parts }
    }

    /// Checks that the dates show one order of day and month, if they need one.
    pub(super) fn check_order(&self, column: &str, hint: &str, problems: &mut Problems) {
        let mut unclear = FoundCells::default();
        if self.day_first.count > 0 && self.month_first.count > 0 {
            [&self.day_first, &self.month_first].into_iter().for_each(|found| unclear.append(found));
        } else if self.order().is_none() {
            unclear.append(&self.ambiguous);
        }
        if unclear.count > 0 {
            problems.add(unclear.problem(CellFault::AmbiguousDate, column, hint));
        }
    }
}
