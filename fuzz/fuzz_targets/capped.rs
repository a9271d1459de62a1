//! The allocator of the fuzz targets and of the test of saved inputs: it ends the process where far more memory is used than the
//! limit allows.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Beside what a file decides, a reader needs buffers, and a model its threads.
const MOST_BYTES: usize = 8 * cfqp::fuzzing::MEMORY_LIMIT as usize;

static USED: AtomicUsize = AtomicUsize::new(0);

/// The allocator of the system, with a cap.
struct Capped;

#[global_allocator]
static ALLOCATOR: Capped = Capped;

impl Capped {
    fn add(bytes: usize) {
        if USED.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > MOST_BYTES {
            // no message: it would allocate
            std::process::abort();
        }
    }
}

// SAFETY: blocks are those of the system's allocator; counting them does not change them.
unsafe impl GlobalAlloc for Capped {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::add(layout.size());
        // SAFETY: as the caller guarantees.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::add(layout.size());
        // SAFETY: as the caller guarantees.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        Self::add(size);
        // SAFETY: as the caller guarantees.
        unsafe { System.realloc(block, layout, size) }
    }
}
