//! Units and their observations, in memory and in files.
//!
//! | | |
//! |---|---|
//! | in memory | [`Dataset`] of [`Units`], [`View`] of some of them, [`Scaler`] |
//! | arrays | [`Dataset::read_npz`], [`read_array`], [`write_npz`]; [`Mnist`] and [`read_idx`] |
//! | tables | [`table`]: CSV, Parquet, Arrow and .xlsx files |
//! | memory | [`set_memory_limit`]: the most that the content of one file may take |

mod column_ranges;
mod content;
mod dataset;
mod extremes;
mod files;
mod named_array;
mod outcome_kind;
mod scaler;
mod shards;
pub mod table;
mod unit_data;
mod units;
mod values;

pub use dataset::{Dataset, View};
#[cfg(test)]
pub(crate) use files::faulty;
pub use files::{
    IdxArray, Mnist, MnistSplit, NpzArray, NpzValues, read_array, read_idx, remove_unfinished_files,
    write_atomically, write_npz, write_npz_with,
};
pub(crate) use files::{
    Retrying, check_npy, container_bytes, open_file, read_bytes, read_container, read_idx_from,
    read_unverified, write_container, write_folder_atomically,
};
pub(crate) use named_array::NamedArray;
pub use outcome_kind::OutcomeKind;
pub(crate) use outcome_kind::{MAX_KIND_ELEMENTS, SeenValues, element_name};
pub use scaler::{ChannelScaler, Scaler};
pub(crate) use shards::{RecordForm, SeenIds, ShardSizes, UnitBuckets, UnitShards, spread_hash};
pub use table::Warning;
pub use unit_data::UnitData;
pub use units::Units;

pub use crate::runtime::{MemorySize, memory_limit, set_memory_limit};

/// The smallest number of units that a fit accepts.
pub const MIN_UNITS: usize = 20;

/// The smallest number of subjects that a fit accepts, if units share subjects.
pub const MIN_SUBJECTS: usize = 8;
