//! Study files: a table, the roles of its columns and the settings of a fit in one TOML file.
//!
//! ```toml
//! data = "patients.csv"
//! out = "model.cfqp"
//!
//! [table]
//! id = "patient"
//! time = "minute"
//! series = ["pa", "pv"]
//! t = ["dose"]
//! treated_at = 20
//!
//! [fit]
//! classes = "auto"
//! seed = 1
//! ```

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::FitConfig;
use crate::data::read_bytes;
use crate::data::table::TableSpec;
use crate::{Error, Result};

/// The data, the roles of the columns and the settings of a fit.
///
/// ```
/// use cfqp::{Classes, Study};
///
/// # fn main() -> cfqp::Result<()> {
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("study.toml");
/// std::fs::write(&path, "data = 'patients.csv'\n[table]\nt = ['dose']\n[fit]\nclasses = 3\n").unwrap();
///
/// let study = Study::read(&path)?;
/// assert_eq!(study.data, Some(folder.path().join("patients.csv")));
/// assert_eq!(study.fit.classes, Classes::Given(3));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Study {
    /// The path of the data.
    pub data: Option<PathBuf>,
    /// The path of data to select and calibrate on.
    pub valid: Option<PathBuf>,
    /// The path of the model file to write.
    pub out: Option<PathBuf>,
    /// The roles of the columns.
    pub table: TableSpec,
    /// The settings of the fit.
    pub fit: FitConfig,
}

impl Study {
    /// Reads a TOML file. Relative paths in it are relative to its folder.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::File`] with the line if it is not a study.
    pub fn read(path: &Path) -> Result<Self> {
        let text = String::from_utf8(read_bytes(path)?).map_err(|error| {
            Error::file(path, "not UTF-8 text", "save the study as UTF-8").with_source(error)
        })?;
        Self::parse(path, &text)
    }

    /// The study with this text, which stands in the file `path`.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self> {
        let mut study: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            let line = line.map_or(String::new(), |line| format!("line {line}: "));
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            let hint = "a study has data, valid, out, [table] and [fit]";
            Error::file(path, line + &message, hint)
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for path in [&mut study.data, &mut study.valid, &mut study.out].into_iter().flatten() {
            *path = folder.join(&*path);
        }
        Ok(study)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Base, Classes, Start};
    use crate::data::table::TreatedAt;

    fn read(text: &str) -> Result<Study> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.toml");
        std::fs::write(&path, text).unwrap();
        Study::read(&path)
    }

    #[test]
    fn paths_are_relative_to_the_folder_of_the_study() {
        let study = read(
            "data = 'a.csv'\n[table]\nt = ['dose']\ntreated_at = 20\nstep = 1\n\
             [fit]\nclasses = 3\nbase = 'mlp'\nstarts = ['kmeans-unit']\n",
        )
        .unwrap();
        assert!(study.data.unwrap().ends_with("a.csv"));
        assert_eq!(study.table.treated_at, Some(TreatedAt::Number(20.0)));
        assert_eq!((study.fit.classes, study.fit.base), (Classes::Given(3), Base::Mlp));
        assert_eq!(study.fit.starts, [Start::KmeansUnit]);
        assert_eq!(read("[fit]\nclasses = 'auto'").unwrap().fit.classes, Classes::Auto);
    }

    #[test]
    fn errors_name_the_line() {
        let error = read("data = 'a.csv'\n[table]\ntreatment = 'dose'\n").unwrap_err().to_string();
        assert!(
            error.contains("line 3: unknown field `treatment`, expected one of `x`, `except`"),
            "{error}"
        );
        assert!(read("[fit]\nclasses = -1").unwrap_err().to_string().contains("line 2"));
        assert!(read("[fit\n").is_err());
    }
}
