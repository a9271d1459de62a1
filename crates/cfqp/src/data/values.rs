//! The values of many units in memory.
//!
//! Images from files mostly have few different values, 256 at the most. They are kept as bytes, in a quarter of the
//! memory, and become numbers where a batch is put together. Nothing is lost: a byte stands for one value as it was read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

/// Numbers, or bytes that stand for them.
#[derive(Clone, Debug)]
pub(super) enum Values {
    Plain(Vec<f32>),
    Coded(Coded),
}

/// Bytes and what each of them stands for.
#[derive(Clone, Debug)]
pub(super) struct Coded {
    codes: Vec<u8>,
    levels: Vec<f32>,
    /// All values as numbers, once somebody has asked for them at once.
    plain: OnceLock<Vec<f32>>,
}

impl Values {
    /// As bytes where there are no more than 256 different values.
    pub fn coded(values: Vec<f32>) -> Self {
        match code(&values) {
            Some((codes, levels)) => Self::Coded(Coded { codes, levels, plain: OnceLock::new() }),
            None => Self::Plain(values),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Plain(values) => values.len(),
            Self::Coded(coded) => coded.codes.len(),
        }
    }

    /// All of them; bytes are turned into numbers the first time, and both kept.
    pub fn all(&self) -> &[f32] {
        match self {
            Self::Plain(values) => values,
            Self::Coded(coded) => coded.plain.get_or_init(|| coded.decode(0..coded.codes.len())),
        }
    }

    /// Some of them.
    pub fn part(&self, range: Range<usize>) -> Cow<'_, [f32]> {
        match self {
            Self::Plain(values) => Cow::Borrowed(&values[range]),
            Self::Coded(coded) => Cow::Owned(coded.decode(range)),
        }
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        const AT_ONCE: usize = 1 << 12;
        let same = |from: usize| {
            let range = from..self.len().min(from + AT_ONCE);
            self.part(range.clone()) == other.part(range)
        };
        self.len() == other.len() && (0..self.len()).step_by(AT_ONCE).all(same)
    }
}

impl Coded {
    fn decode(&self, range: Range<usize>) -> Vec<f32> {
        self.codes[range].iter().map(|&code| self.levels[usize::from(code)]).collect()
    }
}

/// A byte for every value, and the values they stand for, in the order of their first appearance.
fn code(values: &[f32]) -> Option<(Vec<u8>, Vec<f32>)> {
    let (mut known, mut levels) = (HashMap::new(), Vec::new());
    let mut codes = Vec::with_capacity(values.len());
    let mut last = None;
    for &value in values {
        let bits = value.to_bits();
        // neighbours in an image are often the same
        let code = match last {
            Some((before, code)) if before == bits => code,
            _ => match known.get(&bits) {
                Some(&code) => code,
                None => {
                    let code = u8::try_from(levels.len()).ok()?;
                    known.insert(bits, code);
                    levels.push(value);
                    code
                }
            },
        };
        last = Some((bits, code));
        codes.push(code);
    }
    Some((codes, levels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_few_values_are_bytes_and_come_back_bit_by_bit() {
        let grey: Vec<f32> =
            (0..2000).map(|i| (i * 7 % 256) as f32 / 255.0).chain([0.0, -0.0, 1e-40]).collect();
        let Values::Coded(_) = Values::coded(grey[..2000].to_vec()) else { panic!("256 values fit") };
        let Values::Plain(_) = Values::coded(grey.clone()) else { panic!("258 values do not") };
        let few: Vec<f32> = grey.iter().skip(1990).copied().collect();
        let (coded, plain) = (Values::coded(few.clone()), Values::Plain(few.clone()));
        assert!(matches!(coded, Values::Coded(_)) && coded == plain && coded.len() == plain.len());
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&coded.part(3..13)), bits(&few[3..13]));
        assert_eq!(bits(coded.all()), bits(&few));
        assert!(coded != Values::Plain(few.iter().map(|value| value + 1.0).collect()));
    }
}
