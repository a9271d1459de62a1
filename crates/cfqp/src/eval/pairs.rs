//! Pairs: real measurements of units under a second treatment, to score answers with.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::Reference;
use crate::data::table::{
    Block, Feature, FileOptions, Ids, Layout, ReadSummary, TableForm, TableInput, TreatmentColumn, UnitBatch,
    list_names, read_column_names,
};
use crate::data::{Dataset, Units};
use crate::{Error, Result};

const COLUMNS_HINT: &str = "a file of pairs has the id of the unit that was seen, its other treatment t_new and the outcome \
                            y_new measured under it; with several treatments or outcomes, NAME_new for each (or t_new_1 for t_1)";

/// Units that were measured under a second treatment; a unit may be in any number of pairs.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// The unit of each pair, as a row of the data.
    pub rows: Vec<usize>,
    /// The second treatment and the outcome of each pair.
    pub truth: Reference,
    /// What was read and dropped.
    pub summary: ReadSummary,
}

/// The units that pairs refer to.
#[derive(Clone, Copy, Debug)]
pub struct PairedUnits<'a> {
    /// The units.
    pub data: &'a Dataset,
    /// Their ids.
    pub ids: &'a Ids,
    /// Their columns, if they come from a table.
    pub layout: Option<&'a Layout>,
}

impl Pairs {
    /// Reads a table with one row per pair: the id of the unit in `id` or a column named as the units' own, the
    /// second treatment in `t_new` or `NAME_new` for every treatment (also `t_new_1` for `t_1`), the outcome in `y_new` or `NAME_new` for every
    /// outcome. Other columns are ignored.
    ///
    /// # Errors
    /// If a column is missing, a cell is not a number, or an id is not that of a unit.
    pub fn read(input: impl Into<TableInput>, units: PairedUnits<'_>) -> Result<Self> {
        let input = input.into();
        let layout = pair_layout(&input, units)?;
        let read = layout.read(input.clone(), true)?;
        let path = input.name();
        let UnitBatch { data, ids, .. } = read.batch;
        let known: HashMap<String, usize> =
            (0..units.ids.len()).map(|row| (units.ids.text(row), row)).collect();
        let row = |i: usize| {
            let id = ids.text(i);
            known.get(&id).copied().ok_or_else(|| {
                let problem = format!("pair {}: the data have no unit with the id {id}", i + 1);
                let hint =
                    "give the ids of units that can be used; `cfqp check` shows which are dropped and why";
                Error::file(path, problem, hint)
            })
        };
        let rows = (0..ids.len()).map(row).collect::<Result<Vec<_>>>()?;
        let truth = Reference {
            y_bayes: None,
            p_bayes: None,
            t_new: data.t().clone(),
            y_new: data.y().clone(),
            z: None,
        };
        Ok(Self { rows, truth, summary: read.summary })
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of units that are in a pair.
    pub fn units(&self) -> usize {
        self.rows.iter().collect::<HashSet<_>>().len()
    }

    /// The number of pairs whose treatment and outcome are also those of another unit of the same subject in `data`.
    /// A method that sees all units of a subject has seen the outcomes of such pairs.
    pub fn seen(&self, data: &Dataset) -> usize {
        let Some(groups) = data.groups() else { return 0 };
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let key = |group: u32, t: &[f32], y: &[f32]| (group, bits(t), bits(y));
        let seen: HashSet<_> =
            (0..data.len()).map(|i| key(groups[i], &data.t().row(i), &data.y().row(i))).collect();
        let is_seen = |(pair, &row): (usize, &usize)| {
            seen.contains(&key(groups[row], &self.truth.t_new.row(pair), &self.truth.y_new.row(pair)))
        };
        self.rows.iter().enumerate().filter(|pair| is_seen(*pair)).count()
    }
}

/// `t_new_1` for `t_1`.
fn numbered(name: &str) -> Option<String> {
    let (stem, number) = name.rsplit_once('_')?;
    number.bytes().all(|b| b.is_ascii_digit()).then(|| format!("{stem}_new_{number}"))
}

/// The columns of a file of pairs.
fn pair_layout(input: &TableInput, units: PairedUnits<'_>) -> Result<Layout> {
    let path = input.name();
    let options = units.layout.map(FileOptions::from).unwrap_or_default();
    let columns = read_column_names(input, &options)?;
    let found = |names: &[String]| {
        names.iter().find(|name| columns.contains(name)).cloned().ok_or_else(|| {
            let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let problem = format!("there is no column {}", quoted.join(" or "));
            Error::file(path, problem, format!("{COLUMNS_HINT}; the columns are {}", list_names(&columns)))
        })
    };
    let new = |names: &[String], only: &str| -> Result<Vec<String>> {
        let own = |name: &String| format!("{name}_new");
        match names {
            [name] => Ok(vec![found(&[only.to_owned(), own(name)])?]),
            names => {
                let either = |name: &String| {
                    found(&[Some(own(name)), numbered(name)].into_iter().flatten().collect::<Vec<_>>())
                };
                names.iter().map(either).collect()
            }
        }
    };
    let mut id = vec!["id".to_owned()];
    id.splice(0..0, units.layout.and_then(|layout| layout.id.clone()));
    id.dedup();
    let t = new(&treatment_names(units), "t_new")?.into_iter().enumerate();
    let column = |(j, name): (usize, String)| match units.layout {
        Some(layout) => TreatmentColumn { name, ..layout.t[j].clone() },
        None => TreatmentColumn::number(name),
    };
    let origins: Vec<Option<f64>> = units.layout.map_or(Vec::new(), |layout| {
        layout.outcome_features().iter().map(|(_, feature)| feature.origin).collect()
    });
    let outcome = |(j, name): (usize, &String)| Feature {
        origin: origins.get(j).copied().flatten(),
        ..Feature::number(name)
    };
    let y = new(&outcome_names(path, units)?, "y_new")?;
    Ok(Layout {
        id: Some(found(&id)?),
        group: None,
        form: TableForm::Wide {
            // pairs have no covariates
            x: Block::Features(Vec::new()),
            y: Block::Features(y.iter().enumerate().map(outcome).collect()),
        },
        t: t.map(column).collect(),
        missing: units.layout.map_or(Vec::new(), |layout| layout.missing.clone()),
        delimiter: options.delimiter,
        decimal: units.layout.and_then(|layout| layout.decimal),
        sheet: options.sheet,
    })
}

fn treatment_names(units: PairedUnits<'_>) -> Vec<String> {
    let numbered = || (0..units.data.t().elements()).map(|j| format!("t{j}")).collect();
    units.layout.map_or_else(numbered, Layout::treatment_names)
}

fn outcome_names(path: &Path, units: PairedUnits<'_>) -> Result<Vec<String>> {
    let elements = units.data.y().elements();
    match units.layout.map(|layout| &layout.form) {
        Some(TableForm::Wide { y: Block::Features(y), .. }) => {
            Ok(y.iter().flat_map(Feature::names).collect())
        }
        None if units.data.y().shape().len() == 1 => Ok((0..elements).map(|j| format!("y{j}")).collect()),
        _ => {
            let hint = "pairs are for tables with one row per unit and one column per outcome; for series and images give \
                        arrays t_new and y_new with --eval";
            Err(Error::file(path, "the outcomes of the data are series or images", hint))
        }
    }
}

/// The answers to all pairs, in their order, from a function that answers one question per unit at a time.
///
/// A unit with several pairs is asked about once per round. Where units belong to subjects, the other units of a subject
/// are asked about too, under the treatment they received, so that the method sees all of them; their answers are not used.
pub(super) fn answer_pairs<const N: usize>(
    data: &Dataset,
    rows: &[usize],
    t_new: &Units,
    answer: impl Fn(&Dataset, &Units) -> Result<[Units; N]>,
) -> Result<[Units; N]> {
    let mut found: [(Vec<usize>, Vec<f32>); N] = std::array::from_fn(|_| (Vec::new(), Vec::new()));
    for round in rounds(rows) {
        let asked: HashMap<usize, usize> = round.iter().map(|&pair| (rows[pair], pair)).collect();
        let shown = shown_units(data, &asked);
        let treatment = |row: &usize| match asked.get(row) {
            Some(&pair) => t_new.row(pair).into_owned(),
            None => data.t().row(*row).into_owned(),
        };
        let to = Units::new("t_new", t_new.shape().to_vec(), shown.iter().flat_map(treatment).collect())?;
        let answers = answer(&data.pick(&shown)?, &to)?;
        for (found, answers) in found.iter_mut().zip(answers) {
            for (i, pair) in shown.iter().enumerate().filter_map(|(i, row)| Some((i, asked.get(row)?))) {
                found.0.push(*pair);
                found.1.extend_from_slice(&answers.row(i));
            }
        }
    }
    let shape = data.y().shape();
    let sorted = found.map(|(pairs, values)| in_order(&pairs, &values, shape));
    sorted
        .into_iter()
        .collect::<Result<Vec<_>>>()
        .map(|units| units.try_into().expect("as many as were answered"))
}

/// The pairs of every round: round r has the r-th pair of every unit.
fn rounds(rows: &[usize]) -> Vec<Vec<usize>> {
    let (mut rounds, mut count) = (Vec::<Vec<usize>>::new(), HashMap::<usize, usize>::new());
    for (pair, &row) in rows.iter().enumerate() {
        let round = count.entry(row).or_default();
        if rounds.len() == *round {
            rounds.push(Vec::new());
        }
        rounds[*round].push(pair);
        *round += 1;
    }
    rounds
}

/// The units asked about and all others of their subjects, in the order of the data.
fn shown_units(data: &Dataset, asked: &HashMap<usize, usize>) -> Vec<usize> {
    let all = 0..data.len();
    match data.groups() {
        None => all.filter(|row| asked.contains_key(row)).collect(),
        Some(groups) => {
            let subjects: HashSet<u32> = asked.keys().map(|&row| groups[row]).collect();
            all.filter(|&row| subjects.contains(&groups[row])).collect()
        }
    }
}

/// Units whose values are sorted by `places`.
fn in_order(places: &[usize], values: &[f32], shape: &[usize]) -> Result<Units> {
    let size = shape.iter().product::<usize>();
    let mut sorted = vec![0.0; values.len()];
    for (&place, values) in places.iter().zip(values.chunks_exact(size)) {
        sorted[place * size..][..size].copy_from_slice(values);
    }
    Units::new("answer", shape.to_vec(), sorted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::table::{Table, TableSpec};

    fn units(values: &[f32]) -> Units {
        Units::new("a", vec![1], values.to_vec()).unwrap()
    }

    fn read(data: &str, pairs: &str, spec: TableSpec) -> Result<Pairs> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("data.csv"), data).unwrap();
        std::fs::write(path("pairs.csv"), pairs).unwrap();
        let table = Table::read(path("data.csv"), &spec).unwrap();
        let units = PairedUnits { data: &table.data, ids: &table.ids, layout: Some(&table.layout) };
        Pairs::read(path("pairs.csv"), units)
    }

    fn spec(t: &[&str]) -> TableSpec {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        TableSpec {
            x: names(&["x"]),
            t: names(t),
            y: names(&["y"]),
            id: Some("plant".into()),
            ..TableSpec::default()
        }
    }

    const DATA: &str = "plant,x,t,u,y\na,1,0,5,1\nb,2,1,6,2\nc,3,2,7,3\n";

    #[test]
    fn pairs_name_units_by_id_and_ignore_other_columns() {
        let pairs = read(DATA, "id,t_new,y_new,class\nc,7,8,z\na,5,6,\nc,9,10,q\n", spec(&["t"])).unwrap();
        assert_eq!((&pairs.rows[..], pairs.units()), (&[2, 0, 2][..], 2));
        assert_eq!(
            (pairs.truth.t_new.values(), pairs.truth.y_new.values()),
            (&[7.0, 5.0, 9.0][..], &[8.0, 6.0, 10.0][..])
        );
        let both = read(DATA, "plant,t_new,u_new,y_new\nb,7,1,8\n", spec(&["t", "u"])).unwrap();
        assert_eq!((&both.rows[..], both.truth.t_new.values()), (&[1][..], &[7.0, 1.0][..]));
    }

    #[test]
    fn unknown_ids_and_missing_columns_are_reported() {
        let error = |pairs: &str| read(DATA, pairs, spec(&["t"])).unwrap_err().to_string();
        assert!(
            error("id,t_new,y_new\na,1,2\nd,1,2\n").contains("pair 2: the data have no unit with the id d")
        );
        assert!(
            error("id,y_new\na,1\n").contains("there is no column `t_new`"),
            "{}",
            error("id,y_new\na,1\n")
        );
        assert!(error("t_new,y_new\n1,1\n").contains("there is no column `plant` or `id`"));
        assert!(error("id,t_new,y_new\na,b,1\n").contains("is not a number"));
    }

    #[test]
    fn every_pair_gets_its_own_answer_and_subjects_are_shown_as_a_whole() {
        let t: Vec<f32> = vec![0.0, 1.0, 2.0, 3.0];
        let data = Dataset::new(units(&t), units(&t), units(&t)).unwrap();
        let (rows, t_new) = ([2, 0, 2, 2], units(&[10.0, 20.0, 30.0, 40.0]));
        let answer = |data: &Dataset, to: &Units| {
            let sums = data.x().values().iter().zip(to.values()).map(|(x, t)| x + t).collect();
            let lens = vec![data.len() as f32; data.len()];
            Ok([Units::new("a", vec![1], sums)?, Units::new("a", vec![1], lens)?])
        };
        let [sums, lens] = answer_pairs(&data, &rows, &t_new, answer).unwrap();
        assert_eq!(
            (sums.values(), lens.values()),
            (&[12.0, 20.0, 32.0, 42.0][..], &[2.0, 2.0, 1.0, 1.0][..])
        );
        let grouped = data.with_groups(vec![0, 1, 1, 2]).unwrap();
        let [sums, lens] = answer_pairs(&grouped, &rows, &t_new, answer).unwrap();
        assert_eq!(
            (sums.values(), lens.values()),
            (&[12.0, 20.0, 32.0, 42.0][..], &[3.0, 3.0, 2.0, 2.0][..])
        );
        let truth = Reference {
            y_bayes: None,
            p_bayes: None,
            t_new: units(&[1.0, 3.0]),
            y_new: units(&[1.0, 3.0]),
            z: None,
        };
        let pairs = Pairs { rows: vec![2, 0], truth, summary: ReadSummary::default() };
        assert_eq!(
            pairs.seen(&grouped),
            1,
            "unit 1 is the first pair; unit 3 is of another subject than unit 0"
        );
    }
}
