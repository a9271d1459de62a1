//! A fit to a table that does not fit in memory: the recipe on a sample, then members on all rows.

use super::density::{self, Rest};
use super::{Fit, setup};
use crate::config::{Base, Recipe};
use crate::data::ShardSizes;
use crate::data::table::{LargeTable, TableInput, TableSpec, TableUnits, UnitLimits};
use crate::model::Model;
use crate::models::{Shapes, YScale};
use crate::runtime::memory_limit;
use crate::train::Context;
use crate::{Error, Result};

/// The memory of a fit unless another amount is given: the same on every machine that has it, so that equal data and
/// settings give an equal model.
const DEFAULT_MEMORY: u64 = 4 << 30;

impl Fit<'_> {
    /// Reads a table, whose columns are described by `spec`. If a fit to it would need more memory than
    /// [`Resources::memory`](crate::Resources::memory), its rows are put into a temporary file.
    ///
    /// # Errors
    /// As [`Table::read`](crate::Table::read); if the temporary file cannot be written; or
    /// [`Error::Interrupted`] if the monitor stops it.
    pub fn read_table(&self, input: impl Into<TableInput>, spec: &TableSpec) -> Result<TableUnits> {
        self.read_table_by(&input.into(), spec, None)
    }

    pub(super) fn read_table_by(
        &self,
        input: &TableInput,
        spec: &TableSpec,
        sizes: Option<ShardSizes>,
    ) -> Result<TableUnits> {
        let folder = std::env::temp_dir();
        let memory = if self.can_stream() { self.memory() } else { u64::MAX };
        TableUnits::read(input, spec, &UnitLimits { memory, folder: &folder, sizes }, self.monitor)
    }

    /// Fits a model to a table, as [`run`](Self::run) to its units. A table that does not fit in memory is explored
    /// on a sample; members of the ensemble are then trained on parts of all its rows.
    ///
    /// # Errors
    /// As [`read_table`](Self::read_table) and [`run`](Self::run).
    pub fn run_table(&self, input: impl Into<TableInput>, spec: &TableSpec) -> Result<Model> {
        self.run_units(&self.read_table(input, spec)?)
    }

    /// Fits a model to a table that was read by [`read_table`](Self::read_table).
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_units(&self, table: &TableUnits) -> Result<Model> {
        match table {
            TableUnits::InMemory(table) => self.run(table),
            TableUnits::OnDisk(table) => self.run_large(table),
        }
    }

    fn memory(&self) -> u64 {
        self.resources.memory.unwrap_or(DEFAULT_MEMORY).min(memory_limit())
    }

    /// Whether the settings allow a fit to rows on disk.
    fn can_stream(&self) -> bool {
        let is_shallow = matches!(self.config.base, Base::Auto | Base::Linear | Base::Mlp);
        is_shallow && self.config.recipe == Recipe::Default && self.validation.is_none()
    }

    fn run_large(&self, table: &LargeTable) -> Result<Model> {
        if !self.can_stream() {
            let problem = "a table on disk is fitted with the default recipe, the base model auto, linear or mlp, and \
                           without validation data";
            return Err(Error::config("recipe", problem, "change the settings, or raise `memory_limit`"));
        }
        let mut fit = self.clone();
        let has_logarithm = table.lowest.iter().all(|lowest| *lowest > 0.0);
        match fit.config.y_scale {
            YScale::Auto if !has_logarithm => fit.config.y_scale = YScale::Linear,
            YScale::Log if !has_logarithm => {
                let problem = "some outcomes are 0 or less and have no logarithm";
                return Err(Error::config("y_scale", problem, "set `y_scale` to linear or auto"));
            }
            YScale::Auto | YScale::Linear | YScale::Log => {}
        }
        let model = setup::with_context(&fit, &table.sample, |context| {
            let shapes = Shapes { missing: table.shards.missing_x, ..context.shapes.clone() };
            let context = &Context { shapes: &shapes, ..*context };
            if !density::applies(context)? {
                let problem = format!(
                    "{} covariates are too many for a table on disk",
                    shapes.x.iter().product::<usize>()
                );
                return Err(Error::data("x", problem, "leave some out, or raise `memory_limit`"));
            }
            density::fit_density(context, Rest::OnDisk(table))
        })?;
        model.with_layout(table.layout.clone())
    }
}
