//! Threads, device and memory.

use std::io::Write as _;

use clap::Args;

pub use cfqp::eval::peak_rss_mb;
use cfqp::{DeviceKind, Monitor, Resources, Stage};

use crate::args::{parse_choice, parse_count};
use crate::error::Result;
use crate::output::printable;

const MAX_THREADS: usize = 1024;

/// Threads and device.
#[derive(Args, Clone, Copy, Debug)]
pub struct ResourceArgs {
    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_count(MAX_THREADS), help_heading = "Resources")]
    threads: Option<usize>,
    /// The device to compute on; wgpu and cuda require a build with that feature
    #[arg(long, default_value = "cpu", value_parser = parse_choice::<DeviceKind>(&["cpu", "wgpu", "cuda"]),
          help_heading = "Resources")]
    device: DeviceKind,
}

impl ResourceArgs {
    /// Opens the device, and says on stderr which one it is unless it is the processor.
    pub fn resolve(&self) -> Result<Resources> {
        if let Some(description) = self.device.describe()? {
            let note = format!("note: --device {}: {description}\n", self.device.name());
            // nothing can be said if stderr is closed
            let _ = std::io::stderr().write_all(printable(&note).as_bytes());
        }
        let all = Resources::default();
        let threads = self.threads.unwrap_or(all.threads);
        Ok(Resources { threads, device: self.device, ..all })
    }
}

/// Makes the allocator keep buffers for the next training step. By default it returns large ones to the system and
/// requests them again, and the page faults take as long as the group norms.
pub fn keep_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: both settings are plain numbers, and no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 128 << 20);
    }
}

/// Makes all threads that start later allocate from one heap, so that they reuse what threads before them have freed. Small
/// networks are slower: their threads wait for each other.
pub fn share_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the setting is a plain number, read when a thread first asks for memory.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// A monitor that saves memory during a fit, for images, whose layers are large.
pub struct MemorySaver<'a>(&'a dyn Monitor);

impl<'a> MemorySaver<'a> {
    /// Makes all threads share one heap.
    pub fn new(monitor: &'a dyn Monitor) -> Self {
        share_heap();
        Self(monitor)
    }
}

impl Monitor for MemorySaver<'_> {
    /// Returns the memory that the stage before has kept to the system.
    fn stage(&self, stage: Stage, epochs: usize) {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        // SAFETY: the allocator locks its own heaps.
        unsafe {
            libc::malloc_trim(0);
        }
        self.0.stage(stage, epochs);
    }

    fn epoch(&self, loss: f64) {
        self.0.epoch(loss);
    }

    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}
