//! What a command runs on, and what it used.

use clap::Args;

use cfqp::{DeviceKind, Monitor, Resources};

use crate::args::{choice, up_to};
use crate::error::Result;

/// Threads and device.
#[derive(Args, Clone, Copy, Debug)]
pub struct ResourceArgs {
    /// How many threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = up_to(1024), help_heading = "Resources")]
    threads: Option<usize>,
    /// Where to compute; wgpu and cuda must be built in
    #[arg(long, default_value = "cpu", value_parser = choice::<DeviceKind>(&["cpu", "wgpu", "cuda"]),
          help_heading = "Resources")]
    device: DeviceKind,
}

impl ResourceArgs {
    /// Open the device.
    pub fn resolve(&self) -> Result<Resources> {
        let device = self.device.open()?;
        let all = Resources::default();
        let threads = self.threads.unwrap_or(all.threads);
        Ok(Resources { threads, device, ..all })
    }
}

/// Have the allocator keep buffers for the next training step. By default it gives large ones back to the system and
/// asks for them anew, and the page faults take as long as the group norms.
pub fn keep_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: both settings are plain numbers, and no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 128 << 20);
    }
}

/// Hears of a fit and spares memory meanwhile, for images, whose layers are large.
pub struct Sparing<'a>(&'a dyn Monitor);

impl<'a> Sparing<'a> {
    /// From now on all threads take memory from one heap: what one stage of a fit frees, the threads of the next use
    /// again. In small networks they would wait for each other.
    pub fn new(monitor: &'a dyn Monitor) -> Self {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        // SAFETY: the setting is a plain number, read when a thread first asks for memory.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
        Self(monitor)
    }
}

impl Monitor for Sparing<'_> {
    /// Gives back to the system what the stage before has kept.
    fn stage(&self, name: &str, epochs: usize) {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        // SAFETY: the allocator locks its own heaps.
        unsafe {
            libc::malloc_trim(0);
        }
        self.0.stage(name, epochs);
    }

    fn epoch(&self, loss: f64) {
        self.0.epoch(loss);
    }

    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}

/// The most memory this process has held, in megabytes of 2^20 bytes, where the system tells.
pub fn peak_rss_mb() -> Option<f64> {
    #[cfg(unix)]
    {
        // SAFETY: a `rusage` of zeros is one, and getrusage writes to nothing else.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) == 0).then_some(usage)
        };
        let bytes = if cfg!(target_os = "macos") { 1.0 } else { 1024.0 };
        usage.map(|usage| usage.ru_maxrss as f64 * bytes / f64::from(1 << 20))
    }
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(unix)]
    fn memory_is_in_megabytes() {
        let seen = super::peak_rss_mb().unwrap();
        assert!((0.5..10_000.0).contains(&seen), "{seen}");
    }
}
