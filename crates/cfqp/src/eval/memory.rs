//! The most memory that a piece of work held, where the system tells.

/// Forget the highest memory so far: what follows is measured from what is held now.
pub(super) fn reset_peak() {
    // where it cannot be reset, the peak is that of the whole process
    #[cfg(target_os = "linux")]
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The highest memory since, in megabytes of 2^20 bytes.
pub(super) fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_seen() {
        reset_peak();
        let before = peak_mb().unwrap();
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(peak_mb().unwrap() > before + 32.0);
        drop(held);
    }
}
