//! The held-out score of every number of classes, on one data set.

use std::path::Path;

use serde::{Deserialize, Serialize};

use cfqp::ClassScore;

use super::plan::{Cell, Scale};
use super::tables::Grid;

/// The first characters of the names of class searches, which tell them from runs in the same folder.
pub(super) const FILE_PREFIX: &str = "ladder-";

/// The held-out score of each number of classes that was tried.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ClassSearch {
    pub data: String,
    pub seed: u64,
    pub candidates: Vec<ClassScore>,
}

impl ClassSearch {
    /// Reads a finished search. None if there is none, or one of a version that had no penalty per class.
    pub(super) fn load(path: &Path) -> Option<Self> {
        let search: Self = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        search.candidates.iter().all(|tried| tried.penalty > 0.0).then_some(search)
    }

    /// The attempts with the selected base model.
    pub(super) fn with_selected_base(&self) -> Vec<&ClassScore> {
        let chosen = self.candidates.iter().find(|tried| tried.chosen).or(self.candidates.first());
        let base = chosen.map(|tried| &tried.base);
        self.candidates.iter().filter(|tried| Some(&tried.base) == base).collect()
    }
}

/// The name of a search's files, without extension: it contains everything that the search depends on.
pub(super) fn file_name(cell: &Cell, max_classes: usize, scale: Scale, mnist: bool) -> String {
    let digits = if mnist { "mnist" } else { "drawn" };
    let data = cell.scenario.name().replace(", ", "-");
    format!("{FILE_PREFIX}{data}-{digits}-{}-{max_classes}-{}", cell.seed, scale.name()).to_lowercase()
}

/// The scores of each number of classes without and with the penalty per class, a row per data set.
pub(super) fn grids(searches: &[ClassSearch]) -> Vec<Grid> {
    let tried = searches.iter().flat_map(|search| &search.candidates);
    let Some(max_classes) = tried.map(|tried| tried.classes).max() else {
        return Vec::new();
    };
    vec![
        grid("negative held-out log-likelihood per unit", searches, max_classes, |tried| tried.full_nll),
        grid(
            "negative held-out log-likelihood per unit plus the penalty per class (K has the minimum)",
            searches,
            max_classes,
            ClassScore::score,
        ),
    ]
}

fn grid(title: &str, searches: &[ClassSearch], max_classes: usize, score: fn(&ClassScore) -> f64) -> Grid {
    let dash = || "–".to_owned();
    let mut rows = vec![vec!["data".to_owned()]];
    rows[0].extend((1..=max_classes).map(|k| format!("K = {k}")));
    rows[0].push("chosen".to_owned());
    for search in searches {
        let tried = search.with_selected_base();
        let cell = |k: usize| {
            let at_k = tried.iter().find(|tried| tried.classes == k);
            at_k.map_or_else(dash, |tried| format!("{:.2}", score(tried)))
        };
        let mut row = vec![format!("{}, seed {}", search.data, search.seed)];
        row.extend((1..=max_classes).map(cell));
        let chosen = tried.iter().find(|tried| tried.chosen);
        row.push(chosen.map_or_else(dash, |tried| tried.classes.to_string()));
        rows.push(row);
    }
    Grid::new(title, rows)
}
