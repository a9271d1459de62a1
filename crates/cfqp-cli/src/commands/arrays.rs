//! Answers as arrays of an `.npz` file.

use std::path::Path;
use std::slice;

use cfqp::ask::{Diagnosis, RhoBound, UsedRho};
use cfqp::data::{NpzArray, NpzValues, write_npz};
use cfqp::{Answers, Units};

/// The classes of units, their probabilities, and whether units have an outcome: what does not depend on the new treatment.
struct ClassArrays<'a> {
    posterior: &'a [f32],
    class: Vec<i64>,
    entropy: Vec<f32>,
    ambiguous: Vec<bool>,
    no_outcome: Vec<bool>,
    extreme_value: Vec<bool>,
}

impl<'a> ClassArrays<'a> {
    fn new(answers: &'a Answers) -> Self {
        let diagnoses = &answers.diagnoses;
        Self {
            posterior: &answers.posterior,
            class: diagnoses.iter().map(|diagnosis| diagnosis.class as i64).collect(),
            entropy: diagnoses.iter().map(|diagnosis| diagnosis.entropy).collect(),
            ambiguous: diagnoses.iter().map(|diagnosis| diagnosis.ambiguous_class).collect(),
            no_outcome: diagnoses.iter().map(|diagnosis| diagnosis.no_outcome).collect(),
            extreme_value: diagnoses.iter().map(|diagnosis| diagnosis.extreme_value).collect(),
        }
    }

    fn arrays(&self) -> [(&'static str, NpzArray<'_>); 6] {
        let n = self.class.len();
        let posterior = vec![n, self.posterior.len() / n.max(1)];
        [
            ("posterior", NpzArray { shape: posterior, values: NpzValues::F32(self.posterior) }),
            ("class", NpzArray::integers(&self.class)),
            ("entropy", NpzArray { shape: vec![n], values: NpzValues::F32(&self.entropy) }),
            ("ambiguous_class", NpzArray { shape: vec![n], values: NpzValues::Bool(&self.ambiguous) }),
            ("no_outcome", NpzArray { shape: vec![n], values: NpzValues::Bool(&self.no_outcome) }),
            ("extreme_value", NpzArray { shape: vec![n], values: NpzValues::Bool(&self.extreme_value) }),
        ]
    }
}

/// The points and intervals of answers, with their shape and what their names end in.
struct PointArrays {
    suffix: &'static str,
    shape: Vec<usize>,
    point: Vec<f32>,
    lower: Vec<f32>,
    upper: Vec<f32>,
    /// Of the bounds of rho only.
    width: Option<Vec<f32>>,
}

impl PointArrays {
    /// Those of one or several answers for every unit: `[n, ...]`, or `[n, answers, ...]` if `is_curve`.
    fn new(answers: &[Answers], is_curve: bool, bound: Option<RhoBound>) -> Self {
        let (n, unit) = (answers[0].point.len(), answers[0].point.shape());
        let steps = is_curve.then_some(answers.len());
        let join = |part: fn(&Answers) -> &Units| -> Vec<f32> {
            (0..n).flat_map(|i| answers.iter().flat_map(move |one| part(one).row(i).into_owned())).collect()
        };
        let (lower, upper) = (join(|one| &one.lower), join(|one| &one.upper));
        let width = || lower.iter().zip(&upper).map(|(lower, upper)| upper - lower).collect();
        Self {
            suffix: bound.map_or("", RhoBound::suffix),
            shape: [n].into_iter().chain(steps).chain(unit.iter().copied().filter(|_| unit != [1])).collect(),
            point: join(|one| &one.point),
            width: bound.map(|_| width()),
            lower,
            upper,
        }
    }

    fn arrays(&self) -> Vec<(String, NpzArray<'_>)> {
        let numbers = |values| NpzArray { shape: self.shape.clone(), values: NpzValues::F32(values) };
        let parts = [("answer", &self.point), ("lower", &self.lower), ("upper", &self.upper)];
        let all = parts.into_iter().chain(self.width.iter().map(|width| ("width", width)));
        all.map(|(name, values)| (format!("{name}{}", self.suffix), numbers(values))).collect()
    }
}

/// The rho of every unit, NaN if it is unknown, and where it comes from.
struct RhoArrays {
    rho: Vec<f32>,
    source: Vec<&'static str>,
}

impl RhoArrays {
    fn new(used: UsedRho, n: usize) -> Self {
        let rho = used.rho.map_or(f32::NAN, |rho| rho as f32);
        Self { rho: vec![rho; n], source: vec![used.source.name(); n] }
    }

    fn arrays(&self) -> [(&'static str, NpzArray<'_>); 2] {
        let shape = || vec![self.rho.len()];
        [
            ("rho", NpzArray { shape: shape(), values: NpzValues::F32(&self.rho) }),
            ("rho_source", NpzArray { shape: shape(), values: NpzValues::Text(&self.source) }),
        ]
    }
}

/// Writes one answer per unit and those under `bounds`, with the ids of the units if they are integers.
pub(super) fn write_answer_arrays(
    path: &Path,
    answers: &Answers,
    bounds: &[(RhoBound, Answers)],
    t_new: &Units,
    ids: Option<&[i64]>,
) -> cfqp::Result<()> {
    let bounds: Vec<_> = bounds
        .iter()
        .map(|(bound, one)| PointArrays::new(slice::from_ref(one), false, Some(*bound)))
        .collect();
    let mut more = vec![("t_new", NpzArray::units(t_new))];
    more.extend(ids.map(|ids| ("id", NpzArray::integers(ids))));
    write_arrays(path, slice::from_ref(answers), false, &bounds, more)
}

/// Writes the answers at every treatment of a grid, and those under `bounds`.
pub(super) fn write_curve_arrays(
    path: &Path,
    curve: &[Answers],
    bounds: &[(RhoBound, Vec<Answers>)],
    grid: &Units,
) -> cfqp::Result<()> {
    let bounds: Vec<_> =
        bounds.iter().map(|(bound, curve)| PointArrays::new(curve, true, Some(*bound))).collect();
    write_arrays(path, curve, true, &bounds, vec![("grid", NpzArray::units(grid))])
}

/// Writes one or several answers for every unit, the `bounds` and `more` arrays.
fn write_arrays(
    path: &Path,
    answers: &[Answers],
    is_curve: bool,
    bounds: &[PointArrays],
    more: Vec<(&str, NpzArray<'_>)>,
) -> cfqp::Result<()> {
    let n = answers[0].point.len();
    let flag = |flag: fn(&Diagnosis) -> bool| -> Vec<bool> {
        (0..n).flat_map(|i| answers.iter().map(move |one| flag(&one.diagnoses[i]))).collect()
    };
    let flags = [
        ("off_support", flag(|d| d.off_support)),
        ("starts_disagree", flag(|d| d.starts_disagree)),
        ("not_identified", flag(|d| d.not_identified)),
        ("extreme_answer", flag(|d| d.extreme_answer)),
        ("single_member", flag(|d| d.single_member)),
    ];
    let shape: Vec<usize> = [n].into_iter().chain(is_curve.then_some(answers.len())).collect();
    let bools = |values| NpzArray { shape: shape.clone(), values: NpzValues::Bool(values) };
    let (classes, rho) = (ClassArrays::new(&answers[0]), RhoArrays::new(answers[0].rho, n));
    let points = PointArrays::new(answers, is_curve, None);
    let mut arrays = points.arrays();
    let mut push = |name: &str, array| arrays.push((name.to_owned(), array));
    more.into_iter().for_each(|(name, array)| push(name, array));
    flags.iter().for_each(|(name, values)| push(name, bools(values)));
    classes.arrays().into_iter().chain(rho.arrays()).for_each(|(name, array)| push(name, array));
    arrays.extend(bounds.iter().flat_map(PointArrays::arrays));
    let arrays: Vec<(&str, NpzArray<'_>)> =
        arrays.iter().map(|(name, array)| (name.as_str(), array.clone())).collect();
    write_npz(path, &arrays)
}
