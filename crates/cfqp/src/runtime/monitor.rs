//! Progress of a fit or of questions, and a way to stop them.

use super::Stage;

/// Follows a fit, or questions about many units, and may ask them to stop. Called from several threads.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// /// Stops a fit after 1,000 epochs of any network.
/// #[derive(Default)]
/// struct Budget(AtomicUsize);
///
/// impl cfqp::Monitor for Budget {
///     fn epoch(&self, _loss: f64) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
///     fn stopped(&self) -> bool {
///         self.0.load(Ordering::Relaxed) >= 1000
///     }
/// }
/// ```
pub trait Monitor: Sync {
    /// A stage begins that takes about `epochs` epochs, in addition to those announced before.
    fn stage(&self, _stage: Stage, _epochs: usize) {}
    /// A network finished an epoch with this loss; NaN for work without a loss, such as reading a part of the rows.
    fn epoch(&self, _loss: f64) {}
    /// So many more units have been read, and their questions answered.
    fn units(&self, _units: usize) {}
    /// Whether the work should stop. It then returns [`Error::Interrupted`](crate::Error::Interrupted).
    fn stopped(&self) -> bool {
        false
    }
}

/// Ignores all progress.
impl Monitor for () {}

#[cfg(test)]
pub(crate) mod testing {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::Monitor;

    /// Stops a fit after some epochs.
    pub(crate) struct StopAfter(AtomicUsize);

    impl StopAfter {
        pub(crate) fn epochs(count: usize) -> Self {
            Self(AtomicUsize::new(count))
        }
    }

    impl Monitor for StopAfter {
        fn epoch(&self, _loss: f64) {
            let _ = self.0.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        }

        fn stopped(&self) -> bool {
            self.0.load(Ordering::Relaxed) == 0
        }
    }
}
