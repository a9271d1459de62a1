//! One kind of random generator, always passed in, and named streams drawn from a seed.
//!
//! A stream depends on the seed and its name alone, not on what ran before it or runs beside it: work may be split over
//! threads, skipped on resuming or reordered, and every part still sees the same numbers.

use rand::SeedableRng;

/// The random generator of this library: the same numbers on every machine.
pub type Rng = rand_chacha::ChaCha8Rng;

/// The random stream `name` (any number of words) of `seed`.
pub fn stream(seed: u64, name: &[&str]) -> Rng {
    // every word ends in a byte that UTF-8 never contains
    let hash = fnv1a(name.iter().flat_map(|word| word.bytes().chain([0xff])));
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&hash.to_le_bytes());
    Rng::from_seed(key)
}

/// The 64-bit FNV-1a hash of `bytes`.
pub(crate) fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    fnv1a_on(0xcbf2_9ce4_8422_2325, bytes)
}

/// The hash of what has the hash `before`, followed by `bytes`.
pub(crate) fn fnv1a_on(before: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(before, step)
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use super::{fnv1a, stream};

    #[test]
    fn a_stream_depends_on_the_seed_and_its_name_alone() {
        let first = |seed, name: &[&str]| stream(seed, name).next_u64();
        assert_eq!(first(7, &["class", "2"]), first(7, &["class", "2"]));
        assert_ne!(first(7, &["class", "2"]), first(8, &["class", "2"]));
        assert_ne!(first(7, &["class", "2"]), first(7, &["class2"]), "words are kept apart");
    }

    #[test]
    fn the_hash_agrees_with_published_values() {
        assert_eq!(fnv1a(*b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(*b"foobar"), 0x8594_4171_f739_67e8);
    }
}
