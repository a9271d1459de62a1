//! The resources of a fit or a query: threads, a device, a checkpoint, a monitor and the limit on memory. None of them affects
//! results.

#[cfg(feature = "wgpu")]
mod graphics;
mod memory;
mod monitor;
mod pool;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod probe;
mod resources;
mod stage;

pub use memory::{MemorySize, memory_limit, set_memory_limit};
pub(crate) use memory::{TooLarge, check_memory, check_size};
pub use monitor::Monitor;
#[cfg(test)]
pub(crate) use monitor::testing;
pub(crate) use pool::Pool;
pub use resources::{DeviceKind, Resources};
pub use stage::Stage;
