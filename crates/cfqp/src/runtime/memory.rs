//! The memory that the content of a file may take.
//!
//! A damaged or hostile file can claim any size. Readers compare what they are about to allocate because of a file with one
//! limit of the process, and give an error where it is more.

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// The share of the available memory that is the limit unless another one is set.
const DEFAULT_SHARE: f64 = 0.8;

/// The limit that was set; 0 if none was.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// The most memory that the content of one file may take, in bytes: the number given to [`set_memory_limit`], or 80% of what
/// was available to the process when it was first needed. There is no limit where the system does not say what is available.
pub fn memory_limit() -> u64 {
    static DEFAULT: OnceLock<u64> = OnceLock::new();
    match LIMIT.load(Ordering::Relaxed) {
        0 => *DEFAULT.get_or_init(|| available().map_or(u64::MAX, |bytes| (DEFAULT_SHARE * bytes) as u64)),
        limit => limit,
    }
}

/// Sets the most memory, in bytes, that the content of one file may take, for the whole process; 0 stands for the default.
///
/// A file that needs more is refused with an error before the memory is allocated. The limit is for what files decide, not for
/// the memory of a fit.
pub fn set_memory_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// What is available to this process, in bytes, where the system says so.
fn available() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    // the limit of a container
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|limit| limit.trim().parse().ok()).unwrap_or(f64::INFINITY);
    Some((1024.0 * kilobytes).min(limit))
}

/// More memory than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge {
    needed: u64,
    limit: u64,
}

impl TooLarge {
    /// The error about `what` of the file `path`.
    pub(crate) fn of(self, path: &Path, what: &str) -> Error {
        let hint = "if the file should be small, it is damaged; otherwise raise the limit: `memory_limit`";
        Error::file(path, format!("{what}: {self}"), hint)
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "needs {} of memory; the limit is {}", MemorySize(self.needed), MemorySize(self.limit))
    }
}

impl std::error::Error for TooLarge {}

/// Checks `bytes` that a file asks for against the limit.
pub(crate) fn check_size(bytes: u64) -> Result<(), TooLarge> {
    let limit = memory_limit();
    if bytes > limit { Err(TooLarge { needed: bytes, limit }) } else { Ok(()) }
}

/// Checks that `count` elements of `size` bytes, which `what` of the file `path` asks for, are within the limit.
pub(crate) fn check_memory(path: &Path, what: &str, count: usize, size: usize) -> Result<()> {
    check_size((count as u64).saturating_mul(size as u64)).map_err(|large| large.of(path, what))
}

/// A number of bytes, shown in a readable unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySize(pub u64);

impl fmt::Display for MemorySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.0 as f64 / (1024.0 * 1024.0);
        if megabytes < 10.0 {
            write!(f, "{megabytes:.1} MB")
        } else if megabytes < 1000.0 {
            write!(f, "{megabytes:.0} MB")
        } else {
            write!(f, "{:.1} GB", megabytes / 1024.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_file_and_both_sizes() {
        let large = TooLarge { needed: 3 << 29, limit: 5 << 20 };
        let error = large.of(Path::new("a.npz"), "array `x`");
        assert_eq!(error.to_string(), "a.npz: array `x`: needs 1.5 GB of memory; the limit is 5.0 MB");
        assert!(error.hint().is_some_and(|hint| hint.contains("`memory_limit`")));
    }

    #[test]
    fn the_default_is_less_than_what_the_system_has() {
        let limit = memory_limit();
        assert!(limit > 0 && available().is_none_or(|bytes| (limit as f64) < 2.0 * bytes));
        assert!(check_size(u64::MAX).is_err() || limit == u64::MAX);
        assert!(check_memory(Path::new("a"), "a", 1, 1).is_ok());
    }
}
