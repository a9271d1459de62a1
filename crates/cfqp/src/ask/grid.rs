//! Units repeated over a grid of treatments, for dose-response curves.

use super::curve::{point_of_unit, unknown_treatment};
use crate::Result;
use crate::data::Units;
use crate::data::table::UnitBatch;

/// Every unit of a batch under every treatment of a grid, with the rows of a unit together.
pub(crate) struct GridUnits {
    /// The units, each repeated for every treatment.
    pub units: UnitBatch,
    /// The treatment of every row of `units`.
    pub treatments: Units,
}

impl GridUnits {
    pub(crate) fn new(batch: &UnitBatch, grid: &Units) -> Result<Self> {
        let (n, points) = (batch.data.len(), grid.len());
        let rows: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, points)).collect();
        let at = |row: usize| {
            let unit = row / points;
            point_of_unit(grid, row % points, &batch.data, unit)
                .ok_or_else(|| unknown_treatment(batch.ids.text(unit)))
        };
        let values = (0..n * points).map(at).collect::<Result<Vec<_>>>()?.concat();
        let treatments = Units::new("grid", grid.shape().to_vec(), values)?;
        let units = batch.pick(&rows)?;
        Ok(Self { units: separate_points(units, points)?, treatments })
    }
}

/// Gives every point of the grid its own copy of every subject: the copies of a unit are not several measurements of it.
fn separate_points(batch: UnitBatch, points: usize) -> Result<UnitBatch> {
    let Some(groups) = batch.data.groups() else { return Ok(batch) };
    let separate = |(row, group): (usize, &u32)| group * points as u32 + (row % points) as u32;
    let groups = groups.iter().enumerate().map(separate).collect();
    Ok(UnitBatch { data: batch.data.with_groups(groups)?, ..batch })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Base, Classes, FitConfig};
    use crate::data::table::Ids;
    use crate::fit::Fit;
    use crate::sim::Oscillator;

    #[test]
    fn copies_of_a_unit_are_not_several_units_of_its_subject() {
        let units = || Units::new("a", vec![1], vec![1.0, 2.0, 3.0]).unwrap();
        let data =
            crate::Dataset::new(units(), units(), units()).unwrap().with_groups(vec![5, 6, 5]).unwrap();
        let grid = Units::new("grid", vec![1], vec![0.3, 0.5]).unwrap();
        let repeated = GridUnits::new(&UnitBatch::from(data), &grid).unwrap();
        // unit 0 and unit 2, of one subject, are together at each point of the grid
        assert_eq!(repeated.units.data.groups(), Some(&[0, 1, 2, 3, 0, 1][..]));
    }

    #[test]
    fn units_repeated_over_a_grid_give_dose_response_curves() {
        let data = Oscillator::default().simulate(200, 1).unwrap().data;
        let config = FitConfig { classes: Classes::Given(2), base: Base::Linear, ..FitConfig::default() };
        let model = Fit::new(config).run(&data).unwrap();
        let few = data.pick(&[4, 9]).unwrap();
        let ids = Ids::Text(vec!["a".into(), "b".into()]);
        let batch = UnitBatch { data: few.clone(), ids, treated_at: None, subjects: None, rows: None };
        let grid = Units::new("grid", vec![1], vec![0.3, 0.5, 0.7]).unwrap();
        let repeated = GridUnits::new(&batch, &grid).unwrap();
        assert_eq!(repeated.units.ids.text(3), "b");
        let all = model.ask(&repeated.units.data).under(&repeated.treatments).answers().unwrap();
        let curve = model.ask(&few).curve(&grid).answers().unwrap();
        for (row, unit) in [(1, 0), (4, 1)] {
            let (repeated, single) = (all.point.row(row), curve[1].point.row(unit));
            let gap = repeated.iter().zip(&*single).map(|(a, b)| (a - b).abs());
            assert!(gap.fold(0.0, f32::max) < 1e-5);
        }
    }
}
