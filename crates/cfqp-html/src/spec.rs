//! What a page shows, and how it is made, for readers who want to make it again.

use cfqp::report::ReportSpec;

/// What a page shows, and where it comes from.
#[derive(Clone, Debug)]
pub struct PageSpec<'a> {
    /// The treatments that are compared, and the options of the questions.
    pub question: ReportSpec,
    /// The ids of the units to show one by one; if there are none, typical and flagged units are shown.
    pub units: &'a [String],
    /// The name of the model, such as that of its file.
    pub model: &'a str,
    /// The name of the data, such as that of their file.
    pub data: &'a str,
    /// The [`checksum`](crate::checksum) of the model file.
    pub checksum: u32,
    /// How the page is made.
    pub provenance: Provenance,
}

/// What makes a report again: commands of the program, or Python code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// The program `cfqp`.
    Program {
        /// The command that makes the report.
        report: String,
        /// The command that fits the model.
        fit: String,
        /// Names and values of the settings of the fit that no flag sets: they belong in a study file.
        study_settings: Vec<(String, String)>,
    },
    /// The Python package.
    Python {
        /// The code that makes the report.
        report: String,
        /// The code that fits the model.
        fit: String,
    },
}

impl Provenance {
    /// What makes the report.
    pub(crate) fn report(&self) -> &str {
        match self {
            Self::Program { report, .. } | Self::Python { report, .. } => report,
        }
    }

    /// What fits the model.
    pub(crate) fn fit(&self) -> &str {
        match self {
            Self::Program { fit, .. } | Self::Python { fit, .. } => fit,
        }
    }

    /// The settings of the fit that are not part of [`fit`](Self::fit).
    pub(crate) fn study_settings(&self) -> &[(String, String)] {
        match self {
            Self::Program { study_settings, .. } => study_settings,
            Self::Python { .. } => &[],
        }
    }

    /// Says that the same page can be made again.
    pub(crate) fn promise(&self) -> &'static str {
        match self {
            Self::Program { .. } => "The same command on the same files gives the same page, byte for byte:",
            Self::Python { .. } => "The same code on the same data gives the same page, byte for byte:",
        }
    }

    /// What computes dose-response curves.
    pub(crate) fn curve(&self) -> &'static str {
        match self {
            Self::Program { .. } => "cfqp curve",
            Self::Python { .. } => "the method curve of the model",
        }
    }

    /// How to find out why no unit can be used.
    pub(crate) fn hint_on_dropped_units(&self) -> &'static str {
        match self {
            Self::Program { .. } => "to see why, run: cfqp query MODEL FILE --treatment T --out answers.csv",
            Self::Python { .. } => {
                "to see why, ask the model about them: its answers count the units that are dropped"
            }
        }
    }
}
