//! The peak memory of this process, where the operating system reports it.

/// Restarts the measurement of peak memory from what the process holds now.
pub(super) fn reset_peak() {
    // where the system does not allow it, the peak stays that of the whole process
    #[cfg(target_os = "linux")]
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The peak resident memory of this process in megabytes of 2^20 bytes; none where the system does not report it.
pub fn peak_rss_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_includes_memory_that_is_held() {
        reset_peak();
        let before = peak_rss_mb().unwrap();
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(peak_rss_mb().unwrap() > before + 32.0);
        drop(held);
    }
}
