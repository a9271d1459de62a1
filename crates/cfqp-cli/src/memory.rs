//! The memory that the program may use.
//!
//! A damaged or hostile file can ask for any amount of memory, often deep inside a reader of another crate, where running
//! out of it would abort the program. The readers of the library check sizes that a file claims; the program's allocator, as the
//! last line, counts large blocks. A block beyond the budget ends
//! the program with an error and exit code 2, as does a block that the system refuses.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use clap::Args;

use cfqp::data::{MemorySize, memory_limit, set_memory_limit};

use crate::output::printable;

/// Smaller blocks are not counted: there are many of them, and they are small.
const MIN_COUNTED: usize = 4096;

/// Bytes in counted blocks.
static USED: AtomicUsize = AtomicUsize::new(0);
static BUDGET: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The budget that was given; 0 if none was.
static GIVEN: AtomicUsize = AtomicUsize::new(0);
/// Whether the program is being ended.
static REFUSING: AtomicBool = AtomicBool::new(false);
/// The files that the command was given.
static FILES: Mutex<String> = Mutex::new(String::new());

/// The memory budget.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MemoryArgs {
    /// The most memory to use, for example 4GB or 500MB; a file that needs more is refused, a table that `fit` needs more for
    /// is fitted in parts [default: 80% of what is free; fit: at most 4GB for tables]
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size, display_order = 903)]
    max_memory: Option<usize>,
}

impl MemoryArgs {
    /// Sets the budget of the program, which was given `files`.
    pub(crate) fn apply<'a>(&self, files: impl Iterator<Item = &'a Path>) {
        let names: Vec<String> = files.map(|file| file.display().to_string()).collect();
        if let Ok(mut files) = FILES.lock() {
            *files = printable(&names.join(", ")).into_owned();
        }
        if let Some(bytes) = self.max_memory {
            set_memory_limit(bytes as u64);
            GIVEN.store(bytes, Ordering::Relaxed);
        }
        BUDGET.store(usize::try_from(memory_limit()).unwrap_or(usize::MAX), Ordering::Relaxed);
    }
}

/// The budget in bytes, if one was given.
pub(crate) fn given_budget() -> Option<u64> {
    match GIVEN.load(Ordering::Relaxed) {
        0 => None,
        bytes => Some(bytes as u64),
    }
}

/// Parses a number of bytes, with or without a unit.
fn parse_size(text: &str) -> Result<usize, String> {
    let text = text.trim().to_ascii_uppercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: f64 = match text[digits.len()..].trim_end_matches("IB").trim_end_matches('B') {
        "" => 1.0,
        "K" => 1024.0,
        "M" => 1024.0 * 1024.0,
        "G" => 1024.0 * 1024.0 * 1024.0,
        "T" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err("expected a size such as 500MB or 4GB".to_owned()),
    };
    match digits.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number * unit < usize::MAX as f64 => Ok((number * unit) as usize),
        _ => Err("expected a size such as 500MB or 4GB".to_owned()),
    }
}

/// The allocator of the system, with a budget.
pub(crate) struct Budgeted;

impl Budgeted {
    /// Counts a block of `size` bytes in place of one of `old` bytes.
    fn count(old: usize, size: usize) {
        let counted = |size: usize| if size < MIN_COUNTED { 0 } else { size };
        let (old, new) = (counted(old), counted(size));
        // most blocks are small: no atomic operation for them
        if new == old {
            return;
        }
        if new < old {
            USED.fetch_sub(old - new, Ordering::Relaxed);
            return;
        }
        let used = USED.fetch_add(new - old, Ordering::Relaxed);
        let budget = BUDGET.load(Ordering::Relaxed);
        if used.saturating_add(new - old) > budget {
            refuse(size, used, Some(budget));
        }
    }
}

// SAFETY: blocks are those of the system's allocator; counting them does not change them.
unsafe impl GlobalAlloc for Budgeted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(0, layout.size());
        // SAFETY: as the caller guarantees.
        present(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::count(0, layout.size());
        // SAFETY: as the caller guarantees.
        present(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        Self::count(layout.size(), 0);
        // SAFETY: as the caller guarantees.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count(layout.size(), size);
        // SAFETY: as the caller guarantees.
        present(unsafe { System.realloc(block, layout, size) }, size)
    }
}

/// The block, or the end of the program if the system has none.
fn present(block: *mut u8, size: usize) -> *mut u8 {
    if block.is_null() {
        refuse(size, USED.load(Ordering::Relaxed), None);
    }
    block
}

/// Ends the program because a block of `size` bytes is beyond the `budget`, or more than the system has. Nothing is allocated
/// on the way.
fn refuse(size: usize, used: usize, budget: Option<usize>) -> ! {
    if REFUSING.swap(true, Ordering::Relaxed) {
        // another thread is about to end the program
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    let mut text = Message { bytes: [0; 1024], length: 0 };
    // messages that are too long are cut
    let _ = text.write_str("error: ");
    if let Ok(files) = FILES.try_lock()
        && !files.is_empty()
    {
        let _ = write!(text, "{files}: ");
    }
    let (more, used) = (MemorySize(size as u64), MemorySize(used as u64));
    let _ = match budget.map(|bytes| MemorySize(bytes as u64)) {
        Some(budget) => write!(
            text,
            "needs {more} of memory in addition to {used} in use; the limit is {budget}\n\
             hint: if the file should be small, it is damaged; otherwise raise the limit with --max-memory\n"
        ),
        None => write!(
            text,
            "needs {more} of memory in addition to {used} in use; the system has no more\n\
             hint: if the file should be small, it is damaged; otherwise free memory or raise the system's limit\n"
        ),
    };
    cfqp::data::remove_unfinished_files();
    // SAFETY: the text is as long as it says. Standard error is written directly, as another thread may hold its lock. The
    // process ends at once: no destructor may run inside the allocator.
    unsafe {
        libc::write(2, text.bytes.as_ptr().cast(), text.length as _);
        libc::_exit(2)
    }
}

/// A text without an allocation.
struct Message {
    bytes: [u8; 1024],
    length: usize,
}

impl std::fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = &mut self.bytes[self.length..];
        let taken = text.len().min(room.len());
        room[..taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.length += taken;
        if taken == text.len() { Ok(()) } else { Err(std::fmt::Error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("1000"), Ok(1000));
        assert_eq!(parse_size("2kB"), Ok(2048));
        assert_eq!(parse_size(" 1.5 GiB "), Ok(3 << 29));
        assert_eq!(parse_size("4G"), Ok(4 << 30));
        for wrong in ["", "GB", "-1GB", "0", "4XB", "1e400", "nan", "é"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn freed_memory_is_not_counted() {
        let before = USED.load(Ordering::Relaxed);
        let mut held = vec![1_u8; 64 << 20];
        held.resize(96 << 20, 0);
        assert!(USED.load(Ordering::Relaxed) >= before.saturating_sub(32 << 20) + (96 << 20));
        drop(held);
        assert!(USED.load(Ordering::Relaxed) < before + (32 << 20));
    }
}
