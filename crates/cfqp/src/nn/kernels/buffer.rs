//! A pool of buffers that are reused from step to step.
//!
//! A training step needs the same large buffers as the step before. The system's allocator would return fresh pages, whose
//! page faults cost as much as the group norms.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{LazyLock, Mutex, MutexGuard};

/// The minimal length of a pooled buffer; smaller ones are cached by the allocator itself.
const MIN_POOLED_LEN: usize = 1 << 12;
/// The maximal number of elements in the pool (128 MiB).
const MAX_POOLED_ELEMENTS: usize = 1 << 25;

static POOL: LazyLock<Mutex<Pool>> = LazyLock::new(Mutex::default);

/// An array whose memory returns to the pool when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<f32>);

/// A buffer with arbitrary contents: the caller must write every element.
pub(super) fn buffer(len: usize) -> Buffer {
    let kept = if len < MIN_POOLED_LEN { None } else { pool().take(len) };
    Buffer(kept.unwrap_or_else(|| vec![0.0; len]))
}

/// Empties the pool, when buffers of other lengths will be needed.
pub(crate) fn release_buffers() {
    *pool() = Pool::default();
}

impl Buffer {
    /// The array, which no longer returns to the pool.
    pub(crate) fn into_vec(mut self) -> Vec<f32> {
        std::mem::take(&mut self.0)
    }
}

impl From<Vec<f32>> for Buffer {
    fn from(values: Vec<f32>) -> Self {
        Self(values)
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.0.len() >= MIN_POOLED_LEN {
            pool().put_back(std::mem::take(&mut self.0));
        }
    }
}

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Free buffers by length.
#[derive(Default)]
struct Pool {
    by_len: HashMap<usize, FreeList>,
    /// The elements of all free buffers.
    held: usize,
}

/// Free buffers of one length.
#[derive(Default)]
struct FreeList {
    buffers: Vec<Vec<f32>>,
    /// How many more were taken than returned: no more than these are accepted.
    in_use: usize,
}

impl Pool {
    fn take(&mut self, len: usize) -> Option<Vec<f32>> {
        let list = self.by_len.entry(len).or_default();
        list.in_use += 1;
        let buffer = list.buffers.pop();
        if buffer.is_some() {
            self.held -= len;
        }
        buffer
    }

    /// Accepts a buffer that was taken. A full pool is emptied: its lengths are probably no longer in use.
    fn put_back(&mut self, buffer: Vec<f32>) {
        let len = buffer.len();
        if self.held + len > MAX_POOLED_ELEMENTS {
            *self = Self::default();
            return;
        }
        if let Some(list) = self.by_len.get_mut(&len).filter(|list| list.in_use > 0) {
            list.in_use -= 1;
            list.buffers.push(buffer);
            self.held += len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_returned_buffer_is_taken_again() {
        let mut pool = Pool::default();
        assert!(pool.take(5).is_none());
        pool.put_back(vec![1.0; 5]);
        assert_eq!((pool.held, pool.take(4)), (5, None));
        assert_eq!((pool.take(5), pool.held), (Some(vec![1.0; 5]), 0));
    }

    #[test]
    fn a_buffer_that_was_not_taken_is_not_accepted() {
        let mut pool = Pool::default();
        pool.put_back(vec![1.0; 5]);
        assert_eq!(pool.held, 0);
        pool.take(5);
        pool.put_back(vec![1.0; 5]);
        pool.put_back(vec![1.0; 5]);
        assert_eq!(pool.held, 5);
    }

    #[test]
    fn a_full_pool_is_emptied() {
        let mut pool = Pool::default();
        pool.take(5);
        pool.put_back(vec![1.0; 5]);
        pool.take(6);
        pool.held = MAX_POOLED_ELEMENTS - 5;
        pool.put_back(vec![1.0; 6]);
        assert_eq!((pool.held, pool.by_len.len()), (0, 0));
    }
}
