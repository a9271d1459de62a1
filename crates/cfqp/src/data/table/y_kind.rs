//! What outcomes are declared to be.

use serde::{Deserialize, Serialize};

use crate::data::OutcomeKind;

/// What the values of an outcome column are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum YKind {
    /// As the cells look like.
    #[default]
    Auto,
    /// Numbers.
    Number,
    /// One of two values: no and yes, false and true, 0 and 1, or the two levels in their order.
    YesNo,
    /// Whole numbers from 0 on.
    Count,
    /// Few levels in an order, given as numbers.
    Ordered,
    /// Zero or a positive amount.
    Amount,
    /// Names of levels without an order, even if they look like numbers.
    Category,
}

impl YKind {
    /// The name, as in the flag `--y-kind` of the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Number => "number",
            Self::YesNo => "yes-no",
            Self::Count => "count",
            Self::Ordered => "ordered",
            Self::Amount => "amount",
            Self::Category => "category",
        }
    }

    /// Whether the cells are read as names of levels.
    pub(super) fn has_levels(self) -> bool {
        matches!(self, Self::YesNo | Self::Category)
    }

    /// The kind of a column of numbers; none if it is not declared.
    pub(super) fn of_numbers(self) -> Option<OutcomeKind> {
        match self {
            Self::Auto | Self::YesNo | Self::Category => None,
            Self::Number => Some(OutcomeKind::Number),
            Self::Count => Some(OutcomeKind::Count),
            Self::Ordered => Some(OutcomeKind::Ordered),
            Self::Amount => Some(OutcomeKind::Amount),
        }
    }
}
