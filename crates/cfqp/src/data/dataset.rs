//! Covariates, treatments and outcomes of n units, and views of some of them.

use std::collections::HashMap;

use super::extremes::{Extremes, LostDigits};
use super::outcome_kind::{check_kinds, element_name, recognise_kinds};
use super::{OutcomeKind, Units};
use crate::error::{Error, Result};

/// The observations of `n >= 1` units: covariates `x`, treatment `t`, outcome `y`, and optionally the subject of each.
///
/// A model can be asked about units whose outcome was not observed; their treatment may be missing too.
///
/// # Examples
/// ```
/// use cfqp::data::{Dataset, Units};
///
/// let x = Units::new("x", vec![2], vec![30.0, 1.0, 40.0, 0.0, 50.0, 1.0])?;
/// let t = Units::new("t", vec![1], vec![0.1, 0.2, 0.3])?;
/// let y = Units::new("y", vec![1], vec![1.0, 2.0, 3.0])?;
/// let data = Dataset::new(x, t, y)?;
/// assert_eq!(data.len(), 3);
/// let last = data.pick(&[2])?;
/// assert_eq!(last.y().values(), [3.0]);
/// // the first and the last unit are rows of one subject
/// let data = data.with_groups(vec![7, 4, 7])?;
/// assert_eq!(data.groups(), Some(&[0, 1, 0][..]));
/// # Ok::<(), cfqp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    x: Units,
    t: Units,
    y: Units,
    /// The subject of each unit: indices 0, 1, ... in order of first appearance.
    groups: Option<Vec<u32>>,
    /// The kind of every outcome element, if it was given.
    kinds: Option<Vec<OutcomeKind>>,
}

impl Dataset {
    /// A data set of at least one unit; `t` is one vector per unit, missing at most where the whole outcome is.
    ///
    /// # Errors
    /// If the arrays differ in the number of units, are empty, have more than three axes per unit, or if `t` is not a
    /// vector per unit or is missing for a unit with an outcome.
    pub fn new(x: Units, t: Units, y: Units) -> Result<Self> {
        for (name, units) in [("t", &t), ("y", &y)] {
            if units.len() != x.len() {
                let problem = format!("{} units, but x has {}", units.len(), x.len());
                return Err(Error::data(name, problem, "give x, t and y of the same units"));
            }
        }
        if x.is_empty() {
            return Err(no_units());
        }
        for (name, units) in [("x", &x), ("y", &y)] {
            if units.shape().len() > 3 {
                let problem = format!("a unit has shape {:?}", units.shape());
                let hint = "give vectors, series [channels, steps] or images [channels, height, width]";
                return Err(Error::data(name, problem, hint));
            }
        }
        if t.shape().len() != 1 {
            let hint = "give t as [units] or [units, treatments]";
            return Err(Error::data("t", format!("a unit has shape {:?}", t.shape()), hint));
        }
        let data = Self { x, t, y, groups: None, kinds: None };
        match (0..data.len()).find(|&i| !data.has_treatment(i) && data.has_outcome(i)) {
            None => Ok(data),
            Some(i) => {
                let hint = "give the treatment of every unit that has an outcome";
                Err(Error::data(format!("t, unit {i}"), "the treatment is missing", hint))
            }
        }
    }

    /// Whether any element of the outcome of unit `i` was observed.
    ///
    /// # Panics
    /// If there is no unit `i`.
    pub fn has_outcome(&self, i: usize) -> bool {
        self.y.mask_row(i).is_none_or(|mask| mask.contains(&true))
    }

    /// Whether the treatment of unit `i` is known.
    ///
    /// # Panics
    /// If there is no unit `i`.
    pub fn has_treatment(&self, i: usize) -> bool {
        self.t.mask_row(i).is_none_or(|mask| !mask.contains(&false))
    }

    /// Checks that every unit has a treatment and an outcome, as fitting and checking a model need.
    pub(crate) fn check_observed(&self) -> Result<()> {
        let hint = "leave the unit out: units without an outcome can be asked about, but not learned from";
        match (0..self.len()).find(|&i| !self.has_outcome(i)) {
            None => Ok(()),
            Some(i) => Err(Error::data(format!("y, unit {i}"), "no outcome was observed", hint)),
        }
    }

    /// Checks that the values can be standardised in single precision: none is far from all others, and they do not differ in
    /// late digits only.
    pub(crate) fn check_scales(&self) -> Result<()> {
        for (name, units) in [("x", &self.x), ("t", &self.t), ("y", &self.y)] {
            if let Some(LostDigits { problem, hint }) = units.lost_digits() {
                return Err(Error::data(name, problem.clone(), hint.clone()));
            }
            let sites = (units.elements() / units.shape().first().copied().unwrap_or(1)).max(1);
            let mut channels = vec![Extremes::default(); units.elements() / sites];
            for i in 0..units.len() {
                let mask = units.mask_row(i);
                for (j, &value) in units.row(i).iter().enumerate() {
                    if mask.is_none_or(|mask| mask[j]) {
                        channels[j / sites].add(value.into(), i);
                    }
                }
            }
            for (channel, extremes) in channels.iter().enumerate() {
                if let Some(outlier) = extremes.outlier() {
                    let place = format!("{name}, unit {}", outlier.place);
                    return Err(Error::data(place, outlier.to_string(), "correct it, or mark it as missing"));
                }
                if let Some(LostDigits { problem, hint }) = extremes.lost_digits() {
                    return Err(Error::data(format!("{name}, channel {channel}"), problem, hint));
                }
            }
        }
        Ok(())
    }

    /// The same units, with the subject that each belongs to. Any numbers will do; they become 0, 1, ... in order of first
    /// appearance. Units of one subject may be anywhere in the data set.
    ///
    /// # Errors
    /// If there is not one number per unit.
    pub fn with_groups(self, groups: Vec<u32>) -> Result<Self> {
        if groups.len() != self.len() {
            let problem = format!("{} subjects are given for {} units", groups.len(), self.len());
            return Err(Error::data("group", problem, "give the subject of every unit"));
        }
        Ok(Self { groups: Some(number_by_appearance(groups)), ..self })
    }

    /// The subject of each unit: indices 0, 1, ... in order of first appearance; `None` if every unit is its own subject.
    pub fn groups(&self) -> Option<&[u32]> {
        self.groups.as_deref()
    }

    /// The same units, with the kind of every element of an outcome.
    ///
    /// # Errors
    /// If there is not one kind per element, or values are not of their kind.
    pub fn with_outcome_kinds(self, kinds: Vec<OutcomeKind>) -> Result<Self> {
        check_kinds(&self.y, &kinds, element_name)?;
        Ok(Self { kinds: Some(kinds), ..self })
    }

    /// As [`with_outcome_kinds`](Self::with_outcome_kinds), for units that are asked about: they need not have all levels.
    /// `name` gives the place of an element in messages.
    pub(crate) fn with_stored_kinds(
        self,
        kinds: Vec<OutcomeKind>,
        name: impl Fn(usize) -> String,
    ) -> Result<Self> {
        self.check_outcomes(&kinds, name)?;
        Ok(Self { kinds: Some(kinds), ..self })
    }

    /// Checks that outcomes are of these kinds.
    pub(crate) fn check_outcomes(&self, kinds: &[OutcomeKind], name: impl Fn(usize) -> String) -> Result<()> {
        let checked = kinds.iter().map(|kind| match kind {
            OutcomeKind::Ordered => OutcomeKind::Number,
            kind => *kind,
        });
        check_kinds(&self.y, &checked.collect::<Vec<_>>(), name)
    }

    /// The kind of every element of an outcome: as given, or as it looks like.
    pub fn outcome_kinds(&self) -> Vec<OutcomeKind> {
        self.kinds.clone().unwrap_or_else(|| recognise_kinds(&self.y))
    }

    /// The covariates.
    pub fn x(&self) -> &Units {
        &self.x
    }

    /// The treatments, `[d_t]` per unit.
    pub fn t(&self) -> &Units {
        &self.t
    }

    /// The outcomes.
    pub fn y(&self) -> &Units {
        &self.y
    }

    /// The number of subjects; `None` if every unit is its own subject.
    pub fn subjects(&self) -> Option<usize> {
        self.groups().map(|groups| groups.iter().max().map_or(0, |last| *last as usize + 1))
    }

    /// `rows` by subject, in order of first appearance among `rows`. Without subjects, every row is alone.
    ///
    /// # Panics
    /// If a row is out of range.
    pub fn groups_of(&self, rows: &[usize]) -> Vec<Vec<usize>> {
        let Some(groups) = self.groups() else { return rows.iter().map(|&row| vec![row]).collect() };
        let mut place: HashMap<u32, usize> = HashMap::new();
        let mut subjects: Vec<Vec<usize>> = Vec::new();
        for &row in rows {
            let at = *place.entry(groups[row]).or_insert(subjects.len());
            if at == subjects.len() {
                subjects.push(Vec::new());
            }
            subjects[at].push(row);
        }
        subjects
    }

    /// The rows of every `step`-th unit; with subjects, all rows of every `step`-th subject.
    ///
    /// # Panics
    /// If `step` is 0.
    pub fn even_sample(&self, step: usize) -> Vec<usize> {
        match self.groups() {
            None => (0..self.len()).step_by(step).collect(),
            Some(groups) => {
                (0..self.len()).filter(|&row| (groups[row] as usize).is_multiple_of(step)).collect()
            }
        }
    }

    /// The number of units.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Always `false`: a data set has at least one unit.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// These units followed by those of `other`.
    ///
    /// # Errors
    /// If the shapes differ.
    pub fn join(&self, other: &Self) -> Result<Self> {
        Self::concat(&[self, other])
    }

    /// The units of all `datasets`, one after the other. Units of different data sets belong to different subjects; if only
    /// some data sets have subjects, every unit of the others is a subject of its own.
    ///
    /// # Errors
    /// If `datasets` is empty or the shapes differ.
    pub fn concat(datasets: &[&Self]) -> Result<Self> {
        if datasets.is_empty() {
            return Err(no_units());
        }
        let join = |name, units: fn(&Self) -> &Units| {
            Units::concat(name, &datasets.iter().map(|data| units(data)).collect::<Vec<_>>())
        };
        let groups = concat_groups(datasets);
        let kinds = datasets[0].kinds.clone();
        Ok(Self { x: join("x", Self::x)?, t: join("t", Self::t)?, y: join("y", Self::y)?, groups, kinds })
    }

    /// A data set of the units at `rows`, in that order.
    ///
    /// # Errors
    /// If `rows` is empty or names a unit that does not exist.
    pub fn pick(&self, rows: &[usize]) -> Result<Self> {
        if let Some(row) = rows.iter().find(|&&row| row >= self.len()) {
            let hint = format!("give rows below {}", self.len());
            return Err(Error::data("x", format!("there is no unit {row}"), hint));
        }
        let mut picked = Self::new(self.x.pick(rows), self.t.pick(rows), self.y.pick(rows))?;
        picked.kinds.clone_from(&self.kinds);
        match &self.groups {
            Some(groups) => picked.with_groups(rows.iter().map(|&row| groups[row]).collect()),
            None => Ok(picked),
        }
    }

    /// A view of all units.
    pub fn all(&self) -> View<'_> {
        self.view((0..self.len()).collect())
    }

    /// A view of the units at `rows`, in that order.
    ///
    /// # Panics
    /// If a row is out of range.
    pub fn view(&self, rows: Vec<usize>) -> View<'_> {
        assert!(rows.iter().all(|&row| row < self.len()), "a row is out of range");
        View { data: self, rows }
    }
}

/// Replaces numbers by 0, 1, ... in order of first appearance.
fn number_by_appearance(mut numbers: Vec<u32>) -> Vec<u32> {
    let mut known: HashMap<u32, u32> = HashMap::new();
    for number in &mut numbers {
        let next = known.len() as u32;
        *number = *known.entry(*number).or_insert(next);
    }
    numbers
}

/// The subjects of joined data sets; `None` if no data set has any.
fn concat_groups(datasets: &[&Dataset]) -> Option<Vec<u32>> {
    datasets.iter().any(|data| data.groups.is_some()).then(|| {
        let (mut all, mut first) = (Vec::new(), 0);
        for data in datasets {
            match &data.groups {
                Some(groups) => all.extend(groups.iter().map(|group| first + group)),
                None => all.extend(first..first + data.len() as u32),
            }
            first = all.iter().max().map_or(0, |last| last + 1);
        }
        all
    })
}

fn no_units() -> Error {
    Error::data("x", "there are no units", "give at least one unit")
}

/// Some units of a data set, by reference.
#[derive(Clone, Debug)]
pub struct View<'a> {
    data: &'a Dataset,
    rows: Vec<usize>,
}

impl<'a> View<'a> {
    /// The data set behind the view.
    pub fn data(&self) -> &'a Dataset {
        self.data
    }

    /// The units, as rows of the data set.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The subject of each unit of the view, numbered as in the data set; `None` if every unit is its own subject.
    pub fn groups(&self) -> Option<Vec<u32>> {
        let groups = self.data.groups()?;
        Some(self.rows.iter().map(|&row| groups[row]).collect())
    }

    /// The number of units.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether the view has no units.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The units of this view at `positions`.
    ///
    /// # Panics
    /// If a position is out of range.
    pub fn pick(&self, positions: &[usize]) -> Self {
        Self { data: self.data, rows: positions.iter().map(|&i| self.rows[i]).collect() }
    }

    /// Splits the view into views of at most `size` units.
    ///
    /// # Panics
    /// If `size` is 0.
    pub fn chunks(&self, size: usize) -> impl Iterator<Item = Self> + '_ {
        self.rows.chunks(size).map(|rows| Self { data: self.data, rows: rows.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_t_and_y_must_have_the_same_number_of_units() {
        let units = |n: usize| Units::new("a", vec![1], vec![0.0; n]).unwrap();
        let error = Dataset::new(units(3), units(2), units(3)).unwrap_err();
        assert_eq!(error.to_string(), "t: 2 units, but x has 3");
        assert!(Dataset::new(units(0), units(0), units(0)).is_err());
    }

    #[test]
    fn joined_units_keep_their_order_and_their_missing_values() {
        let units = |values: &[f32], mask: Option<&[bool]>| {
            Units::with_mask("a", vec![1], values.to_vec(), mask.map(<[bool]>::to_vec)).unwrap()
        };
        let data = |values: &[f32], mask: Option<&[bool]>| {
            Dataset::new(units(values, mask), units(values, None), units(values, None)).unwrap()
        };
        let joined = data(&[1.0, 2.0], None).join(&data(&[3.0, 4.0], Some(&[false, true]))).unwrap();
        assert_eq!(joined.t().values(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(joined.x().mask(), Some(&[true, true, false, true][..]));
        assert_eq!(joined.pick(&[0, 3]).unwrap().x().mask(), None);
        assert!(Dataset::concat(&[]).is_err());
        assert!(joined.pick(&[4]).unwrap_err().to_string().contains("there is no unit 4"));
    }

    #[test]
    fn only_a_unit_without_an_outcome_may_lack_its_treatment() {
        let units =
            |mask: [bool; 3]| Units::with_mask("a", vec![1], vec![1.0; 3], Some(mask.to_vec())).unwrap();
        let all = units([true; 3]);
        let data =
            Dataset::new(all.clone(), units([true, false, true]), units([true, false, false])).unwrap();
        let seen = |i: usize| (data.has_outcome(i), data.has_treatment(i));
        assert_eq!([0, 1, 2].map(seen), [(true, true), (false, false), (false, true)]);
        let error = data.check_observed().unwrap_err();
        assert_eq!(error.to_string(), "y, unit 1: no outcome was observed");
        assert!(data.pick(&[0]).unwrap().check_observed().is_ok());
        let error = Dataset::new(all.clone(), units([true, false, true]), all).unwrap_err();
        assert_eq!(error.to_string(), "t, unit 1: the treatment is missing");
    }

    #[test]
    fn subjects_follow_their_units() {
        let data = |n: usize| {
            let units = || Units::new("a", vec![1], vec![0.0; n]).unwrap();
            Dataset::new(units(), units(), units()).unwrap()
        };
        let grouped = data(4).with_groups(vec![9, 3, 9, 5]).unwrap();
        assert_eq!(grouped.groups(), Some(&[0, 1, 0, 2][..]));
        assert_eq!(grouped.pick(&[3, 0, 2]).unwrap().groups(), Some(&[0, 1, 1][..]));
        assert_eq!(grouped.view(vec![3, 0]).groups(), Some(vec![2, 0]));
        assert_eq!((grouped.subjects(), data(2).subjects()), (Some(3), None));
        assert_eq!(grouped.groups_of(&[3, 2, 1, 0]), [vec![3], vec![2, 0], vec![1]]);
        assert_eq!(data(2).groups_of(&[1, 0]), [[1], [0]]);
        assert_eq!((grouped.even_sample(2), data(4).even_sample(3)), (vec![0, 2, 3], vec![0, 3]));
        let joined = grouped.join(&grouped).unwrap();
        assert_eq!(joined.groups(), Some(&[0, 1, 0, 2, 3, 4, 3, 5][..]));
        let mixed = Dataset::concat(&[&data(2), &grouped, &data(1)]).unwrap();
        assert_eq!(mixed.groups(), Some(&[0, 1, 2, 3, 2, 4, 5][..]));
        assert_eq!(data(2).join(&data(2)).unwrap().groups(), None);
        let error = data(2).with_groups(vec![0]).unwrap_err().to_string();
        assert_eq!(error, "group: 1 subjects are given for 2 units");
    }
}
