//! What a unit must have to be used.

use super::layout::Layout;

/// What a unit may lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnitRules {
    /// Whether covariates may be missing.
    pub missing_x: bool,
    /// Whether the whole outcome may be missing. The treatment received may then be missing, too.
    pub missing_outcome: bool,
    /// How many of the columns of treatments, the last ones, are asked about rather than received. They are never missing.
    pub new_treatments: usize,
}

impl UnitRules {
    /// Units with treatment and outcome, and with all covariates unless `missing_x`.
    pub(super) fn observed(missing_x: bool) -> Self {
        Self { missing_x, ..Self::default() }
    }

    /// Whether a unit can be used in which `missing` tells of every column of treatments whether it is missing.
    pub(super) fn accept_treatment(&self, missing: &[bool], has_outcome: bool) -> bool {
        let (received, new) = missing.split_at(missing.len() - self.new_treatments);
        let may_lack = self.missing_outcome && !has_outcome;
        !new.contains(&true) && (may_lack || !received.contains(&true))
    }

    /// The columns of `layout` that a table with these `columns` need not have, and has not: all outcomes, and with them
    /// all treatments received. A table of samples needs its columns, as outcomes are covariates before the treatment.
    pub(super) fn absent_columns(&self, layout: &Layout, columns: &[String]) -> Vec<String> {
        let is_absent = |names: &[String]| names.iter().all(|name| !columns.contains(name));
        let outcomes = layout.outcome_columns();
        if layout.samples().is_some() || !self.missing_outcome || !is_absent(&outcomes) {
            return Vec::new();
        }
        let mut received = layout.treatment_names();
        received.truncate(layout.t.len() - self.new_treatments);
        let received = if is_absent(&received) { received } else { Vec::new() };
        [outcomes, received].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_units_without_an_outcome_may_lack_the_treatment_received() {
        let strict = UnitRules::observed(true);
        assert!(strict.accept_treatment(&[false], true) && !strict.accept_treatment(&[true], false));
        let asked = UnitRules { missing_outcome: true, new_treatments: 1, ..strict };
        assert!(asked.accept_treatment(&[true, false], false));
        assert!(!asked.accept_treatment(&[true, false], true));
        assert!(!asked.accept_treatment(&[false, true], false), "a treatment asked about is never missing");
    }
}
