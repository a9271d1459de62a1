//! Ctrl-C: once to stop cleanly, twice to exit immediately.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Installs a handler for Ctrl-C that makes [`stopped`] return true.
pub fn listen() {
    let handle = || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\nstopping; press Ctrl-C again to exit immediately");
    };
    // without a handler, Ctrl-C ends the program as usual
    let _ = ctrlc::set_handler(handle);
}

/// Whether the user has pressed Ctrl-C.
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}
