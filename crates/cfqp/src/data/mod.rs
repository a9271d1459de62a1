//! Units: what was seen of them, in memory and in files.

mod atomic;
mod batch;
mod container;
mod dataset;
mod idx;
mod npy;
mod npz;
mod scaler;
mod table;
mod values;

pub use atomic::write_atomically;
pub(crate) use batch::{Batcher, Target, Told};
pub use container::{read_container, write_container};
pub use dataset::{Dataset, Units, View};
pub use idx::{Idx, Mnist, MnistPart, read_idx};
pub use npz::{NpzArray, NpzValues, read_array, write_npz};
pub use scaler::{Moments, Scaler};
pub use table::{
    Block, ColumnCount, Counts, Dropped, Feature, Form, Format, Grid, Ids, Layout, Long, Part, Parts, Sheet,
    SheetCells, Study, Table, TableSpec, Tally, TreatedAt, Treatment, columns_of, panics_are_errors,
    write_sheets,
};
