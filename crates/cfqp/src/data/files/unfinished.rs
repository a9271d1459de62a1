//! The temporary files that this process writes: a program that ends at once removes them.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tempfile::NamedTempFile;

static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Paths of more bytes are copied to the heap by the standard library when a file is removed.
const MAX_BYTES: usize = 300;

/// A temporary file that is of no use until it is complete.
pub(super) struct Unfinished(PathBuf);

impl Unfinished {
    /// Creates a file and remembers it.
    pub(super) fn create(
        create: impl FnOnce() -> io::Result<NamedTempFile>,
    ) -> io::Result<(NamedTempFile, Self)> {
        let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        let file = create()?;
        let path = file.path().to_owned();
        files.push(path.clone());
        Ok((file, Self(path)))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = files.iter().position(|path| *path == self.0) {
            files.swap_remove(at);
        }
    }
}

/// Removes the temporary files of all outputs that are being written, for a program that ends at once, for example after a
/// signal. From then on this process neither begins nor completes an output: threads that try wait for its end.
///
/// It allocates no memory, so that it can be called where memory has run out. Files that it cannot remove are removed when
/// the next output is written to their folder.
pub fn remove_unfinished_files() {
    // another thread may be creating a file just now
    for _ in 0..100 {
        if let Ok(files) = FILES.try_lock() {
            for path in files.iter().filter(|path| path.as_os_str().len() < MAX_BYTES) {
                let _ = std::fs::remove_file(path);
            }
            std::mem::forget(files);
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
