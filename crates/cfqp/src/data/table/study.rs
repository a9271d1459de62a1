//! A study in one file: which table, what its columns are, how to fit.
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

use super::layout::TableSpec;
use crate::config::FitConfig;
use crate::{Error, Result};

/// Data, their description and the settings of a fit. Paths are relative to the study's own folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Study {
    /// The data.
    pub data: Option<PathBuf>,
    /// Data to choose and calibrate on.
    pub valid: Option<PathBuf>,
    /// The model file to write.
    pub out: Option<PathBuf>,
    /// What the columns of the data are.
    pub table: TableSpec,
    /// How to fit.
    pub fit: FitConfig,
}

impl Study {
    /// Read a TOML file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        let mut study: Self = toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            let place = line.map_or(String::new(), |line| format!("line {line}: "));
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            let hint = "a study has data, valid, out, [table] and [fit]; see `cfqp fit --help`";
            Error::file(path, place + &message, hint)
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for own in [&mut study.data, &mut study.valid, &mut study.out].into_iter().flatten() {
            *own = folder.join(&*own);
        }
        Ok(study)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Base, Classes, Start, TreatedAt};

    fn read(text: &str) -> Result<Study> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.toml");
        std::fs::write(&path, text).unwrap();
        Study::read(&path)
    }

    #[test]
    fn a_study_is_read_with_paths_beside_it() {
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
    fn what_is_wrong_is_named_with_its_line() {
        let error = read("data = 'a.csv'\n[table]\ntreatment = 'dose'\n").unwrap_err().to_string();
        assert!(error.contains("line 3: unknown field `treatment`, expected one of `x`, `t`"), "{error}");
        assert!(read("[fit]\nclasses = -1").unwrap_err().to_string().contains("line 2"));
        assert!(read("[fit\n").is_err());
    }
}
