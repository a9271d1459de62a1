//! Ctrl-C, and the signals that ask a program to end: a command that can stop between two steps does so, any other ends at
//! once. Neither leaves temporary files.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Failure;

static STOP: AtomicBool = AtomicBool::new(false);
/// Whether the running command asks [`stopped`] from time to time.
static ASKS: AtomicBool = AtomicBool::new(false);

/// Installs a handler for Ctrl-C and the signals that ask a program to end.
pub fn listen() {
    // without a handler, Ctrl-C ends the program as usual
    let _ = ctrlc::set_handler(handle);
}

/// Says that the command asks [`stopped`] from now on, and ends by itself.
pub fn stop_between_steps() {
    ASKS.store(true, Ordering::Relaxed);
}

/// Says that the command no longer asks [`stopped`].
pub fn stop_at_once() {
    ASKS.store(false, Ordering::Relaxed);
}

/// Whether the user has pressed Ctrl-C.
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

fn handle() {
    let is_second = STOP.swap(true, Ordering::Relaxed);
    if ASKS.load(Ordering::Relaxed) && !is_second {
        eprintln!("\nstopping; press Ctrl-C again to exit immediately");
        return;
    }
    cfqp::data::remove_unfinished_files();
    Failure::interrupted("run the command again").exit();
}
