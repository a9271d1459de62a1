//! The treatments of a table: their names and elements, and how users write them.

use super::layout::Layout;
use super::problem::Problem;
use super::treatment::{TreatmentColumn, TreatmentValue};

impl Layout {
    /// The names of the columns that hold treatments.
    pub fn treatment_names(&self) -> Vec<String> {
        self.t.iter().map(|column| column.name.clone()).collect()
    }

    /// The number of elements of a unit's treatment: more than columns if some have levels.
    pub fn treatment_elements(&self) -> usize {
        self.t.iter().map(TreatmentColumn::elements).sum()
    }

    /// Whether a treatment has levels.
    pub fn has_levels(&self) -> bool {
        self.t.iter().any(|column| column.levels.is_some())
    }

    /// Every column of treatments with its elements in `t`.
    pub(crate) fn split_treatment<'a>(
        &'a self,
        t: &'a [f32],
    ) -> impl Iterator<Item = (&'a TreatmentColumn, &'a [f32])> {
        let mut rest = t;
        self.t.iter().map(move |column| {
            let (own, others) = rest.split_at(column.elements());
            rest = others;
            (column, own)
        })
    }

    /// The values of the treatments with elements `t`, one per column.
    ///
    /// # Panics
    /// If `t` has fewer than [`Layout::treatment_elements`] elements.
    pub fn treatment_values(&self, t: &[f32]) -> Vec<TreatmentValue> {
        self.split_treatment(t).map(|(column, elements)| column.value(elements)).collect()
    }

    /// Whether `t` is a treatment: every level is 0 or 1, and at most one level of a column is 1.
    pub(crate) fn is_treatment(&self, t: &[f32]) -> bool {
        t.len() == self.treatment_elements()
            && self.split_treatment(t).all(|(column, elements)| column.has_elements(elements))
    }

    /// The elements of a treatment that a user wrote: `B` or `0.8`; of several treatments `B,0.8` or `drug=B,dose=0.8`.
    pub(crate) fn parse_treatment(&self, text: &str) -> Result<Vec<f32>, Problem> {
        if let [column] = &self.t[..] {
            // a level may contain commas and equals signs
            let whole = column.parse(text);
            return match text.split_once('=') {
                Some((name, value)) if whole.is_err() && name.trim() == column.name => column.parse(value),
                _ => whole,
            };
        }
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() != self.t.len() {
            let values =
                if parts.len() == 1 { "1 value".to_owned() } else { format!("{} values", parts.len()) };
            let problem = format!("{values} for {} treatments", self.t.len());
            return Err(Problem::new(
                problem,
                format!("give one value for each: {}", self.example_treatment()),
            ));
        }
        let named: Vec<Option<(&str, &str)>> = parts.iter().map(|part| self.split_name(part)).collect();
        let mut elements = Vec::new();
        for (column, part) in self.t.iter().zip(&parts) {
            let own = named.iter().flatten().find(|(name, _)| *name == column.name);
            let value = match own {
                Some((_, value)) => value,
                None if named.iter().all(Option::is_none) => part,
                None => {
                    let problem = format!("there is no value for the treatment `{}`", column.name);
                    return Err(Problem::new(problem, format!("write {}", self.example_treatment())));
                }
            };
            elements.extend(column.parse(value)?);
        }
        Ok(elements)
    }

    /// The name and the value of `drug=B`, if there is a treatment with this name.
    fn split_name<'a>(&self, part: &'a str) -> Option<(&'a str, &'a str)> {
        let (name, value) = part.split_once('=')?;
        self.t.iter().any(|column| column.name == name.trim()).then_some((name.trim(), value))
    }

    /// How several treatments are written, such as drug=A,dose=1.
    fn example_treatment(&self) -> String {
        let example = |column: &TreatmentColumn| {
            let value = column.levels.as_ref().and_then(|levels| levels.last()).map_or("1", String::as_str);
            format!("{}={value}", column.name).replace('`', "'")
        };
        self.t.iter().map(example).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::{Block, TableForm};
    use super::super::treatment::parse_numbers;
    use super::*;

    fn drug() -> TreatmentColumn {
        let levels = Some(["A", "B", "C"].map(String::from).to_vec());
        TreatmentColumn { levels, ..TreatmentColumn::number("drug") }
    }

    fn layout(t: Vec<TreatmentColumn>) -> Layout {
        let block = || Block::Features(Vec::new());
        Layout {
            id: None,
            group: None,
            t,
            form: TableForm::Wide { x: block(), y: block() },
            missing: Vec::new(),
            delimiter: None,
            decimal: None,
            sheet: None,
        }
    }

    #[test]
    fn treatments_are_read_by_position_or_by_name() {
        let one = layout(vec![drug()]);
        assert_eq!(one.parse_treatment("C").unwrap(), [0.0, 1.0]);
        assert_eq!(one.parse_treatment("drug=B").unwrap(), [1.0, 0.0]);
        let two = layout(vec![drug(), TreatmentColumn::number("dose")]);
        assert_eq!(two.parse_treatment("B,0.8").unwrap(), [1.0, 0.0, 0.8]);
        assert_eq!(two.parse_treatment("dose=-2, drug=A").unwrap(), [0.0, 0.0, -2.0]);
        assert_eq!(two.parse_treatment("A,true").unwrap(), [0.0, 0.0, 1.0]);
        let values: Vec<String> =
            two.treatment_values(&[0.0, 1.0, 0.5]).iter().map(ToString::to_string).collect();
        assert_eq!(values, ["C", "0.5"]);
        assert!(two.is_treatment(&[0.0, 1.0, 7.5]) && !two.is_treatment(&[1.0, 1.0, 7.5]));
    }

    #[test]
    fn what_is_not_a_treatment_is_refused_with_the_levels() {
        let one = layout(vec![drug()]).parse_treatment("D").unwrap_err();
        assert_eq!(one.problem, "`D` is not a level of the treatment `drug`");
        assert!(one.hint.ends_with("the levels are A, B, C"), "{}", one.hint);
        let two = layout(vec![drug(), TreatmentColumn::number("dose")]);
        let problem = |text: &str| two.parse_treatment(text).unwrap_err();
        assert_eq!(problem("B").hint, "give one value for each: drug=C,dose=1");
        assert!(problem("B,much").problem.contains("`much` is not a number"));
        assert!(problem("drug=B,1").problem.contains("no value for the treatment `dose`"));
        assert!(problem("drug=B,drug=C").problem.contains("no value for the treatment `dose`"));
        assert!(parse_numbers("1,x").is_err() && parse_numbers("nan").is_err());
    }
}
