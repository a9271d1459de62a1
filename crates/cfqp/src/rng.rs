//! One kind of random generator, always passed in, and named streams drawn from a seed.
//!
//! A stream depends on the seed and its name alone, never on what ran before it or beside it: work may be
//! split over threads, skipped on resuming or put in another order and every part still sees the same numbers.

use rand::SeedableRng;

/// The generator used throughout: the same numbers on every machine.
pub type Rng = rand_chacha::ChaCha8Rng;

/// The stream called `name` (any number of parts) of `seed`.
///
/// ```
/// use rand::Rng as _;
/// let (mut a, mut b) = (cfqp::stream(7, &["class", "2"]), cfqp::stream(7, &["class", "2"]));
/// assert_eq!(a.next_u64(), b.next_u64());
/// ```
pub fn stream(seed: u64, name: &[&str]) -> Rng {
    // FNV-1a over the parts, each closed by a byte that UTF-8 never holds.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name.iter().flat_map(|part| part.bytes().chain([0xff])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&hash.to_le_bytes());
    Rng::from_seed(key)
}
