//! The rows of a table on disk, as networks learn from them.

use super::outcomes::OutcomeHeads;
use crate::Result;
use crate::data::{Dataset, Scaler, UnitShards};
use crate::density::{Rows, Shards};
use crate::model::density_rows;
use crate::models::Batcher;

/// The rows of a table on disk, standardised as its sample.
pub(super) struct StandardisedShards<'a> {
    pub shards: &'a UnitShards,
    pub scaler: &'a Scaler,
    pub heads: &'a OutcomeHeads,
}

impl Shards for StandardisedShards<'_> {
    fn count(&self) -> usize {
        self.shards.len()
    }

    fn subjects(&self) -> usize {
        self.shards.subjects
    }

    fn name(&self) -> &str {
        &self.shards.fingerprint
    }

    fn read(&self, shard: usize) -> Result<Option<Rows>> {
        let data: Option<Dataset> = self.shards.read(shard)?;
        let rows = |data: Dataset| {
            let batcher = Batcher { data: &data, scaler: self.scaler, missing: self.shards.missing_x };
            density_rows(&batcher, &self.heads.laws, &self.heads.scales)
        };
        Ok(data.map(rows))
    }
}
