//! Ctrl-C: once to stop in good order, twice to stop at once.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C is a wish that [`stopped`] hears.
pub fn listen() {
    let heard = || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\nstopping; press Ctrl-C again to stop at once");
    };
    // where no handler can be set, Ctrl-C ends the program as it always does
    let _ = ctrlc::set_handler(heard);
}

/// Whether the user asked to stop.
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}
