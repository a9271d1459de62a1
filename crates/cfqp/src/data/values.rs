//! The values of many units in memory.
//!
//! Images read from files often have at most 256 distinct values. They are stored as one byte per value, a quarter of
//! the memory, and decoded where they are needed. The encoding is lossless: every code stands for one exact value.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

/// Values, plain or encoded as bytes.
#[derive(Clone, Debug)]
pub(super) enum Values {
    Plain(Vec<f32>),
    Encoded(Encoded),
}

/// One byte per value, an index into `levels`.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    codes: Vec<u8>,
    levels: Vec<f32>,
    /// All values decoded, filled by the first call of [`Values::as_slice`].
    decoded: OnceLock<Vec<f32>>,
}

impl Values {
    /// Encodes the values if there are at most 256 distinct ones.
    pub(super) fn encode(values: Vec<f32>) -> Self {
        match encode(&values) {
            Some((codes, levels)) => Self::Encoded(Encoded { codes, levels, decoded: OnceLock::new() }),
            None => Self::Plain(values),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Plain(values) => values.len(),
            Self::Encoded(encoded) => encoded.codes.len(),
        }
    }

    /// All values. Encoded values are decoded on the first call, and the result is kept.
    pub(super) fn as_slice(&self) -> &[f32] {
        match self {
            Self::Plain(values) => values,
            Self::Encoded(encoded) => encoded.decoded.get_or_init(|| encoded.decode(0..encoded.codes.len())),
        }
    }

    /// The values in `range`; decodes no others.
    pub(super) fn slice(&self, range: Range<usize>) -> Cow<'_, [f32]> {
        match self {
            Self::Plain(values) => Cow::Borrowed(&values[range]),
            Self::Encoded(encoded) => match encoded.decoded.get() {
                Some(decoded) => Cow::Borrowed(&decoded[range]),
                None => Cow::Owned(encoded.decode(range)),
            },
        }
    }

    /// Whether all values are in memory as numbers.
    #[cfg(test)]
    pub(super) fn is_decoded(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Encoded(encoded) => encoded.decoded.get().is_some(),
        }
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        const CHUNK: usize = 1 << 12;
        let is_equal = |start: usize| {
            let range = start..self.len().min(start + CHUNK);
            self.slice(range.clone()) == other.slice(range)
        };
        self.len() == other.len() && (0..self.len()).step_by(CHUNK).all(is_equal)
    }
}

impl Encoded {
    fn decode(&self, range: Range<usize>) -> Vec<f32> {
        self.codes[range].iter().map(|&code| self.levels[usize::from(code)]).collect()
    }
}

/// The code of every value, and the distinct values in order of first appearance; `None` if there are more than 256.
fn encode(values: &[f32]) -> Option<(Vec<u8>, Vec<f32>)> {
    let (mut code_by_bits, mut levels) = (HashMap::new(), Vec::new());
    let mut codes = Vec::with_capacity(values.len());
    let mut previous = None;
    for &value in values {
        let bits = value.to_bits();
        // neighbouring pixels are often equal: skip the map
        let code = match previous {
            Some((previous_bits, code)) if previous_bits == bits => code,
            _ => match code_by_bits.get(&bits) {
                Some(&code) => code,
                None => {
                    let code = u8::try_from(levels.len()).ok()?;
                    code_by_bits.insert(bits, code);
                    levels.push(value);
                    code
                }
            },
        };
        previous = Some((bits, code));
        codes.push(code);
    }
    Some((codes, levels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_256_distinct_values_are_encoded_without_loss() {
        let grey: Vec<f32> =
            (0..2000).map(|i| (i * 7 % 256) as f32 / 255.0).chain([0.0, -0.0, 1e-40]).collect();
        let Values::Encoded(_) = Values::encode(grey[..2000].to_vec()) else { panic!("256 values fit") };
        let Values::Plain(_) = Values::encode(grey.clone()) else { panic!("258 values do not") };
        let few: Vec<f32> = grey.iter().skip(1990).copied().collect();
        let (encoded, plain) = (Values::encode(few.clone()), Values::Plain(few.clone()));
        assert!(matches!(encoded, Values::Encoded(_)) && encoded == plain && encoded.len() == plain.len());
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&encoded.slice(3..13)), bits(&few[3..13]));
        assert_eq!(bits(encoded.as_slice()), bits(&few));
        assert!(encoded != Values::Plain(few.iter().map(|value| value + 1.0).collect()));
    }
}
