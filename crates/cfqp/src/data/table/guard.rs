//! Turns panics of other crates' readers into errors: some of them panic on damaged files.

use std::cell::Cell;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The error of a reader, or a description of its panic.
pub(crate) type Caught = Box<dyn Error + Send + Sync>;

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic on this thread would be returned as an error by the library. A panic hook can use this to stay
/// silent about such panics.
pub fn is_catching_panics() -> bool {
    CATCHING.get()
}

/// Runs `read` and returns its error, or an error if it panics. The reader must not be used after an error.
pub(crate) fn catch_panics<T, E>(read: impl FnOnce() -> Result<T, E>) -> Result<T, Caught>
where
    E: Error + Send + Sync + 'static,
{
    CATCHING.set(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    CATCHING.set(false);
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err("the reader panicked: the content is inconsistent".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_and_is_announced_to_the_hook() {
        assert!(!is_catching_panics());
        let inside = catch_panics(|| Ok::<bool, std::fmt::Error>(is_catching_panics())).unwrap();
        assert!(inside && !is_catching_panics());
        let error = catch_panics(|| Err::<(), _>(std::fmt::Error)).unwrap_err();
        assert!(error.is::<std::fmt::Error>());
        let caught = catch_panics(|| -> Result<(), std::fmt::Error> { panic!("damaged") }).unwrap_err();
        assert!(caught.to_string().contains("panicked") && !is_catching_panics());
    }
}
