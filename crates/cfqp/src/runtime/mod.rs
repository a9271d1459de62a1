//! The resources of a fit or a query: threads, a device, a checkpoint and a monitor. None of them affects results.

#[cfg(feature = "wgpu")]
mod graphics;
mod monitor;
mod pool;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod probe;
mod resources;
mod stage;

pub use monitor::Monitor;
pub(crate) use pool::Pool;
pub use resources::{DeviceKind, Resources};
pub use stage::Stage;
