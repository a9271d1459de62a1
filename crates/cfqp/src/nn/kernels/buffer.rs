//! Buffers that are used again from step to step.
//!
//! A training step needs the same large buffers as the step before. From the system's allocator they come as
//! fresh pages, and the page faults cost as much as the group norms.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{LazyLock, Mutex, MutexGuard};

/// Elements from which a buffer is worth keeping: smaller ones the allocator keeps itself.
const SMALLEST: usize = 1 << 12;
/// The most elements kept at once (128 MiB): never more than were in use at once.
const MOST: usize = 1 << 25;

static POOL: LazyLock<Mutex<Pool>> = LazyLock::new(Mutex::default);

/// An array whose memory is kept for others when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<f32>);

/// A buffer of which every element will be written: it may hold anything.
pub(super) fn buffer(len: usize) -> Buffer {
    let kept = if len < SMALLEST { None } else { pool().take(len) };
    Buffer(kept.unwrap_or_else(|| vec![0.0; len]))
}

/// Keep none of those that are not in use: what comes next asks for others.
pub(crate) fn release_buffers() {
    *pool() = Pool::default();
}

impl Buffer {
    /// The array itself, no longer to be kept.
    pub fn into_vec(mut self) -> Vec<f32> {
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
        if self.0.len() >= SMALLEST {
            pool().give(std::mem::take(&mut self.0));
        }
    }
}

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What is kept, by length.
#[derive(Default)]
struct Pool {
    shelves: HashMap<usize, Shelf>,
    /// Elements on all shelves.
    held: usize,
}

/// Buffers of one length.
#[derive(Default)]
struct Shelf {
    buffers: Vec<Vec<f32>>,
    /// How many more were taken than given back: no more than these are ever accepted.
    out: usize,
}

impl Pool {
    fn take(&mut self, len: usize) -> Option<Vec<f32>> {
        let shelf = self.shelves.entry(len).or_default();
        shelf.out += 1;
        let buffer = shelf.buffers.pop();
        if buffer.is_some() {
            self.held -= len;
        }
        buffer
    }

    /// Nobody asks for the lengths of yesterday: a full pool is emptied.
    fn give(&mut self, buffer: Vec<f32>) {
        let len = buffer.len();
        if self.held + len > MOST {
            *self = Self::default();
            return;
        }
        if let Some(shelf) = self.shelves.get_mut(&len).filter(|shelf| shelf.out > 0) {
            shelf.out -= 1;
            shelf.buffers.push(buffer);
            self.held += len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_taken_again() {
        let mut pool = Pool::default();
        assert!(pool.take(5).is_none());
        pool.give(vec![1.0; 5]);
        assert_eq!((pool.held, pool.take(4)), (5, None));
        assert_eq!((pool.take(5), pool.held), (Some(vec![1.0; 5]), 0));
    }

    #[test]
    fn nothing_is_kept_that_nobody_took() {
        let mut pool = Pool::default();
        pool.give(vec![1.0; 5]);
        assert_eq!(pool.held, 0);
        pool.take(5);
        pool.give(vec![1.0; 5]);
        pool.give(vec![1.0; 5]);
        assert_eq!(pool.held, 5);
    }

    #[test]
    fn a_full_pool_is_emptied() {
        let mut pool = Pool::default();
        pool.take(5);
        pool.give(vec![1.0; 5]);
        pool.take(6);
        pool.held = MOST - 5;
        pool.give(vec![1.0; 6]);
        assert_eq!((pool.held, pool.shelves.len()), (0, 0));
    }
}
