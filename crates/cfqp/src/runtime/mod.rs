//! The resources of a fit or a query: threads, a device, a checkpoint and a monitor. None of them affects results.

mod monitor;
mod pool;
mod resources;
mod stage;

pub use monitor::Monitor;
pub(crate) use pool::Pool;
pub use resources::{DeviceKind, Resources};
pub use stage::Stage;
