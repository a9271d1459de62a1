//! What the columns of a table are used for.

use serde::Serialize;

/// What a column is used for. It is serialised as the field of [`TableSpec`](super::TableSpec) that names the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ColumnRole {
    /// A covariate.
    #[serde(rename = "x")]
    Covariate,
    /// A treatment.
    #[serde(rename = "t")]
    Treatment,
    /// An outcome.
    #[serde(rename = "y")]
    Outcome,
    /// A variable measured over time.
    #[serde(rename = "series")]
    Series,
    /// The time of a sample.
    #[serde(rename = "time")]
    Time,
    /// The time of treatment.
    #[serde(rename = "treated_at")]
    TreatedAt,
}

impl ColumnRole {
    /// The field of [`TableSpec`](super::TableSpec) that names columns of this role.
    pub fn field(self) -> &'static str {
        match self {
            Self::Covariate => "x",
            Self::Treatment => "t",
            Self::Outcome => "y",
            Self::Series => "series",
            Self::Time => "time",
            Self::TreatedAt => "treated_at",
        }
    }
}

impl std::fmt::Display for ColumnRole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.field())
    }
}
