//! rho, the correlation of a unit's noise under both treatments: given, learned, or unknown.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::math::{QuadratureNode, UNIFORM_NODES};
use crate::model::Model;

/// The correlation of the noise in both worlds. Serialised as `"auto"` or a number.
///
/// ```
/// use cfqp::ask::Rho;
///
/// assert_eq!(Rho::default(), Rho::Auto);
/// assert_eq!(Rho::from(1.0), Rho::Given(1.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "RhoText", into = "RhoText")]
pub enum Rho {
    /// Learned from subjects seen more than once if the model was fitted with some; otherwise unknown: uniform on [0, 1].
    #[default]
    Auto,
    /// This number, from 0 (fresh noise) to 1 (the same noise: everything else being equal).
    Given(f32),
}

impl Rho {
    /// The number, or its mean where it is not given.
    pub(crate) fn mean(self) -> f32 {
        match self {
            Self::Auto => 0.5,
            Self::Given(rho) => rho,
        }
    }
}

impl From<f32> for Rho {
    fn from(rho: f32) -> Self {
        Self::Given(rho)
    }
}

/// `auto` or the number.
impl fmt::Display for Rho {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Given(rho) => rho.fmt(f),
        }
    }
}

/// The serialised forms of [`Rho`].
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "give a number from 0 to 1, or \"auto\"")]
enum RhoText {
    Number(f32),
    Word(Auto),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Auto {
    Auto,
}

impl From<RhoText> for Rho {
    fn from(text: RhoText) -> Self {
        match text {
            RhoText::Number(rho) => Self::Given(rho),
            RhoText::Word(Auto::Auto) => Self::Auto,
        }
    }
}

impl From<Rho> for RhoText {
    fn from(rho: Rho) -> Self {
        match rho {
            Rho::Given(rho) => Self::Number(rho),
            Rho::Auto => Self::Word(Auto::Auto),
        }
    }
}

/// Where the rho of an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RhoSource {
    /// The question gave it.
    Given,
    /// The fit learned it from subjects seen more than once.
    Learned,
    /// It is not known: uniform on [0, 1].
    Unknown,
}

impl RhoSource {
    /// The name in output and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Learned => "learned",
            Self::Unknown => "unknown",
        }
    }
}

/// The rho that answers were computed with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UsedRho {
    /// The number; `None` if it is unknown.
    pub rho: Option<f64>,
    /// Where it comes from.
    #[serde(rename = "rho_source")]
    pub source: RhoSource,
}

/// `1 (given)`, `0.62 (learned from subjects seen more than once)` or `unknown (uniform on 0 to 1)`.
impl fmt::Display for UsedRho {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.rho, self.source) {
            (Some(rho), RhoSource::Learned) => {
                write!(f, "{rho:.2} (learned from subjects seen more than once)")
            }
            (Some(rho), _) => write!(f, "{rho} (given)"),
            (None, _) => f.write_str("unknown (uniform on 0 to 1)"),
        }
    }
}

/// The two ends of what rho can be, whose answers may stand beside those of another rho.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RhoBound {
    /// rho = 0: fresh noise.
    Fresh,
    /// rho = 1: the same noise.
    Same,
}

impl RhoBound {
    /// Both, in the order in which they are written.
    pub const ALL: [Self; 2] = [Self::Fresh, Self::Same];

    /// The number.
    pub fn rho(self) -> Rho {
        match self {
            Self::Fresh => Rho::Given(0.0),
            Self::Same => Rho::Given(1.0),
        }
    }

    /// What the names of its columns and arrays end in.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Fresh => "_rho0",
            Self::Same => "_rho1",
        }
    }
}

/// One value of rho and its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RhoNode {
    pub rho: f32,
    pub weight: f64,
}

impl UsedRho {
    /// The values over which answers are averaged: one, or the nodes of the uniform distribution on [0, 1].
    pub(crate) fn nodes(&self) -> Vec<RhoNode> {
        match self.rho {
            Some(rho) => vec![RhoNode { rho: rho as f32, weight: 1.0 }],
            None => {
                let node = |&QuadratureNode { at, weight }: &_| RhoNode { rho: at as f32, weight };
                UNIFORM_NODES.iter().map(node).collect()
            }
        }
    }
}

impl Model {
    /// The rho that a question with `rho` is answered with.
    pub fn used_rho(&self, rho: Rho) -> UsedRho {
        match (rho, self.learned_rho()) {
            (Rho::Given(rho), _) => UsedRho { rho: Some(widen(rho)), source: RhoSource::Given },
            (Rho::Auto, Some(rho)) => UsedRho { rho: Some(rho), source: RhoSource::Learned },
            (Rho::Auto, None) => UsedRho { rho: None, source: RhoSource::Unknown },
        }
    }
}

/// The number of double precision with the same digits: 0.1 stays 0.1.
fn widen(rho: f32) -> f64 {
    rho.to_string().parse().unwrap_or(f64::from(rho))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rho_is_serialised_as_a_word_or_a_number() {
        for (rho, text) in [(Rho::Auto, json!("auto")), (Rho::Given(0.5), json!(0.5))] {
            assert_eq!(serde_json::to_value(rho).unwrap(), text);
            assert_eq!(serde_json::from_value::<Rho>(text).unwrap(), rho);
        }
        let error = serde_json::from_value::<Rho>(json!("same")).unwrap_err().to_string();
        assert!(error.contains("a number from 0 to 1"), "{error}");
    }

    #[test]
    fn a_given_rho_keeps_its_bits() {
        for i in 0..=100_000 {
            let rho = i as f32 / 100_000.0;
            let used = UsedRho { rho: Some(widen(rho)), source: RhoSource::Given };
            assert_eq!(used.nodes(), [RhoNode { rho, weight: 1.0 }]);
        }
    }

    #[test]
    fn a_used_rho_says_where_it_comes_from() {
        let text = |rho, source| UsedRho { rho, source }.to_string();
        assert_eq!(text(Some(widen(0.1)), RhoSource::Given), "0.1 (given)");
        assert_eq!(text(Some(1.0), RhoSource::Given), "1 (given)");
        let learned = "0.62 (learned from subjects seen more than once)";
        assert_eq!(text(Some(0.6213), RhoSource::Learned), learned);
        assert_eq!(text(None, RhoSource::Unknown), "unknown (uniform on 0 to 1)");
        let json = serde_json::to_value(UsedRho { rho: None, source: RhoSource::Unknown }).unwrap();
        assert_eq!(json, json!({ "rho": null, "rho_source": "unknown" }));
    }
}
