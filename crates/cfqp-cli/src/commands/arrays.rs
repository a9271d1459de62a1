//! Answers as arrays of an `.npz` file.

use std::path::Path;

use cfqp::ask::Diagnosis;
use cfqp::data::{NpzArray, NpzValues, write_npz};
use cfqp::{Answers, Units};

/// The classes of units and their probabilities, which do not depend on the new treatment.
struct ClassArrays<'a> {
    posterior: &'a [f32],
    class: Vec<i64>,
    entropy: Vec<f32>,
    ambiguous: Vec<bool>,
}

impl<'a> ClassArrays<'a> {
    fn new(answers: &'a Answers) -> Self {
        let diagnoses = &answers.diagnoses;
        Self {
            posterior: &answers.posterior,
            class: diagnoses.iter().map(|diagnosis| diagnosis.class as i64).collect(),
            entropy: diagnoses.iter().map(|diagnosis| diagnosis.entropy).collect(),
            ambiguous: diagnoses.iter().map(|diagnosis| diagnosis.ambiguous_class).collect(),
        }
    }

    fn arrays(&self) -> [(&'static str, NpzArray<'_>); 4] {
        let n = self.class.len();
        let posterior = vec![n, self.posterior.len() / n.max(1)];
        [
            ("posterior", NpzArray { shape: posterior, values: NpzValues::F32(self.posterior) }),
            ("class", NpzArray::integers(&self.class)),
            ("entropy", NpzArray { shape: vec![n], values: NpzValues::F32(&self.entropy) }),
            ("ambiguous_class", NpzArray { shape: vec![n], values: NpzValues::Bool(&self.ambiguous) }),
        ]
    }
}

/// Writes one answer per unit, with the ids of the units if they are integers.
pub(super) fn write_answer_arrays(
    path: &Path,
    answers: &Answers,
    t_new: &Units,
    ids: Option<&[i64]>,
) -> cfqp::Result<()> {
    let classes = ClassArrays::new(answers);
    let flag = |flag: fn(&Diagnosis) -> bool| answers.diagnoses.iter().map(flag).collect::<Vec<_>>();
    let (off, disagree) = (flag(|d| d.off_support), flag(|d| d.starts_disagree));
    let bools = |values| NpzArray { shape: vec![off.len()], values: NpzValues::Bool(values) };
    let mut arrays = vec![
        ("answer", NpzArray::units(&answers.point)),
        ("lower", NpzArray::units(&answers.lower)),
        ("upper", NpzArray::units(&answers.upper)),
        ("t_new", NpzArray::units(t_new)),
        ("off_support", bools(&off)),
        ("starts_disagree", bools(&disagree)),
    ];
    arrays.extend(classes.arrays());
    arrays.extend(ids.map(|ids| ("id", NpzArray::integers(ids))));
    write_npz(path, &arrays)
}

/// Writes the answers at every treatment of a grid.
pub(super) fn write_curve_arrays(path: &Path, curve: &[Answers], grid: &Units) -> cfqp::Result<()> {
    let (first, steps) = (&curve[0], curve.len());
    let n = first.point.len();
    let unit = first.point.shape();
    let mut shape = vec![n, steps];
    shape.extend(unit.iter().filter(|_| unit != [1]));
    let join = |part: fn(&Answers) -> &Units| -> Vec<f32> {
        (0..n).flat_map(|i| curve.iter().flat_map(move |answers| part(answers).row(i).into_owned())).collect()
    };
    let flag = |flag: fn(&Diagnosis) -> bool| -> Vec<bool> {
        (0..n).flat_map(|i| curve.iter().map(move |answers| flag(&answers.diagnoses[i]))).collect()
    };
    let (answer, lower, upper) = (join(|a| &a.point), join(|a| &a.lower), join(|a| &a.upper));
    let (off, disagree) = (flag(|d| d.off_support), flag(|d| d.starts_disagree));
    let numbers = |values| NpzArray { shape: shape.clone(), values: NpzValues::F32(values) };
    let bools = |values| NpzArray { shape: vec![n, steps], values: NpzValues::Bool(values) };
    let classes = ClassArrays::new(first);
    let mut arrays = vec![
        ("answer", numbers(&answer)),
        ("lower", numbers(&lower)),
        ("upper", numbers(&upper)),
        ("grid", NpzArray::units(grid)),
        ("off_support", bools(&off)),
        ("starts_disagree", bools(&disagree)),
    ];
    arrays.extend(classes.arrays());
    write_npz(path, &arrays)
}
