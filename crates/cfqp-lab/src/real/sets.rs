//! Sets of measurements: a table of rows that are shown, and a table of pairs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cfqp::data::table::{Block, Feature, FileOptions, TableForm, TreatmentColumn, read_column_names};
use cfqp::{Dataset, Layout, Table, TableSpec};
use cfqp_cli::error::{Failure, Result};

/// The column of a file of pairs that names the subject.
const SUBJECT: &str = "subject";

/// The files of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SetFiles {
    name: String,
    data: PathBuf,
    pairs: PathBuf,
}

/// A set that was read. Its pairs are not: they are for scoring.
pub(super) struct MeasuredSet {
    pub name: String,
    pub table: Table,
    pub pairs_path: PathBuf,
    /// The subject of each row, if the pairs name it.
    subjects: Option<Vec<u32>>,
}

/// The sets in `dir` and in its folders, by name.
///
/// # Errors
/// If a folder cannot be read or there is no set.
pub(super) fn find(dir: &Path) -> Result<Vec<SetFiles>> {
    let mut folders = entries(dir)?;
    folders.retain(|path| path.is_dir());
    folders.insert(0, dir.to_owned());
    let mut sets = Vec::new();
    for folder in folders {
        sets.extend(entries(&folder)?.iter().filter_map(|data| SetFiles::new(&folder, data)));
    }
    if sets.is_empty() {
        let message = format!("{}: there are no files data*.csv with pairs*.csv beside them", dir.display());
        let hint =
            "give a folder that holds such files, or folders with such files; see cfqp-lab real --help";
        return Err(Failure::new(message, hint));
    }
    Ok(sets)
}

/// What `folder` contains, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let io = |error| Failure::io(folder, error);
    let read = std::fs::read_dir(folder).map_err(io)?;
    let mut paths =
        read.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(io)?;
    paths.sort();
    Ok(paths)
}

impl SetFiles {
    /// The set whose rows are in the file `data` of `folder`; none if it is no such file or has no pairs.
    fn new(folder: &Path, data: &Path) -> Option<Self> {
        let ending = data.file_name()?.to_str()?.strip_prefix("data")?.strip_suffix(".csv")?;
        let pairs = folder.join(format!("pairs{ending}.csv"));
        let full = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let folder = full.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let name = format!("{folder}{}", ending.replacen('_', " ", 1));
        pairs.is_file().then(|| Self { name, data: data.to_owned(), pairs })
    }

    /// Reads the rows, and their subjects from the file of pairs.
    pub(super) fn read(&self) -> Result<MeasuredSet> {
        let names = |name: &str| vec![name.to_owned()];
        let columns = read_column_names(&(&self.data).into(), &FileOptions::default())?;
        let treatments = if columns.iter().any(|column| column == "t") { "t" } else { "t_*" };
        let spec = TableSpec {
            x: names("x_*"),
            t: names(treatments),
            y: names("y"),
            id: Some("id".to_owned()),
            ..TableSpec::default()
        };
        let table = Table::read(&self.data, &spec)?;
        let has_subjects = read_column_names(&(&self.pairs).into(), &FileOptions::default())?
            .iter()
            .any(|column| column == SUBJECT);
        let subjects = if has_subjects { Some(self.subjects(&table)?) } else { None };
        Ok(MeasuredSet { name: self.name.clone(), table, pairs_path: self.pairs.clone(), subjects })
    }

    /// The subject of each row of `table`, by the pairs of the row. A row without pairs is its own subject.
    fn subjects(&self, table: &Table) -> Result<Vec<u32>> {
        let layout = Layout {
            id: Some("id".to_owned()),
            group: Some(SUBJECT.to_owned()),
            // pairs have no covariates
            form: TableForm::Wide {
                x: Block::Features(Vec::new()),
                y: Block::Features(vec![Feature::number("y_new")]),
            },
            t: vec![TreatmentColumn::number("t_new")],
            missing: Vec::new(),
            delimiter: None,
            decimal: None,
            sheet: None,
        };
        let pairs = layout.read(&self.pairs, true)?.batch;
        let groups = pairs.data.groups().unwrap_or_default();
        let known: HashMap<String, u32> =
            groups.iter().enumerate().map(|(i, &group)| (pairs.ids.text(i), group)).collect();
        let first_free = groups.iter().max().map_or(0, |last| last + 1);
        let subject =
            |row: usize| known.get(&table.ids.text(row)).copied().unwrap_or(first_free + row as u32);
        Ok((0..table.data.len()).map(subject).collect())
    }
}

impl MeasuredSet {
    /// Whether a subject has several rows.
    pub(super) fn has_repeats(&self) -> bool {
        let mut subjects = self.subjects.clone().unwrap_or_default();
        subjects.sort_unstable();
        subjects.windows(2).any(|two| two[0] == two[1])
    }

    /// The rows with their subjects.
    pub(super) fn grouped(&self) -> Result<Dataset> {
        let data = self.table.data.clone();
        Ok(match &self.subjects {
            Some(subjects) => data.with_groups(subjects.clone())?,
            None => data,
        })
    }
}

#[cfg(test)]
mod tests {
    use cfqp::eval::{PairedUnits, Pairs};

    use super::*;

    #[test]
    fn several_treatments_are_numbered() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("data.csv"), "id,x_a,t_1,t_2,y\n1,0,1,a,2\n2,1,2,b,3\n3,0,3,a,4\n").unwrap();
        std::fs::write(at("pairs.csv"), "id,t_new_1,t_new_2,y_new\n3,1,b,2\n").unwrap();
        let set = find(folder.path()).unwrap()[0].read().unwrap();
        let units =
            PairedUnits { data: &set.table.data, ids: &set.table.ids, layout: Some(&set.table.layout) };
        let pairs = Pairs::read(&set.pairs_path, units).unwrap();
        assert_eq!((pairs.rows, pairs.truth.t_new.row(0).len()), (vec![2], set.table.data.t().elements()));
    }

    #[test]
    fn sets_are_found_and_rows_get_the_subjects_of_their_pairs() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(find(folder.path()).is_err(), "there is no set");
        std::fs::create_dir(at("plants")).unwrap();
        let rows = "id,x_a,t,y\n1,0,1,2\n2,1,2,3\n3,0,3,4\n4,0,3,5\n";
        std::fs::write(at("plants/data.csv"), rows).unwrap();
        std::fs::write(at("plants/data_one.csv"), rows).unwrap();
        std::fs::write(at("plants/data_alone.csv"), rows).unwrap();
        let pairs = "id,t_new,y_new,subject,cls\n3,1,2,b,q\n1,3,4,b,q\n1,3,4,b,q\n2,9,9,c,q\n";
        std::fs::write(at("plants/pairs.csv"), pairs).unwrap();
        std::fs::write(at("plants/pairs_one.csv"), "id,t_new,y_new\n1,3,4\n").unwrap();
        let sets: Vec<MeasuredSet> =
            find(folder.path()).unwrap().iter().map(|set| set.read().unwrap()).collect();
        let names: Vec<&str> = sets.iter().map(|set| &*set.name).collect();
        assert_eq!(names, ["plants", "plants one"], "data_alone.csv has no pairs");
        assert!(sets[0].has_repeats() && !sets[1].has_repeats());
        assert_eq!(sets[0].grouped().unwrap().groups(), Some(&[0, 1, 0, 2][..]));
        assert_eq!(find(&at("plants")).unwrap(), find(folder.path()).unwrap(), "a folder with a set itself");
    }
}
