//! Distributions of an outcome under another treatment, as mixtures over classes.

use super::outcome::{NumberLaw, OutcomeLaw};
use crate::math::{UNIFORM_NODES, normal_cdf, normal_quantile};
use crate::sim::whole_law::{Ranks, WholeLaw};

/// Halvings of the bracket in which a quantile is sought.
const BISECTIONS: usize = 50;
/// The nodes of an integral over a standard normal: from -5 to 5, this far apart.
const NODE_STEP: f64 = 0.5;
const NODES_PER_SIDE: i32 = 10;
/// The number of ranks that stand for a range of ranks.
const RANK_NODES: u32 = 8;

/// The distribution of the score of the noise: N(mean, sd^2).
#[derive(Clone, Copy, Debug)]
pub(super) struct ScoreLaw {
    pub mean: f64,
    pub sd: f64,
}

impl ScoreLaw {
    /// Noise of which nothing is known.
    pub(super) const FRESH: Self = Self { mean: 0.0, sd: 1.0 };

    /// The score that has the correlation `rho` to this one.
    pub(super) fn correlated(self, rho: f64) -> Self {
        let variance = rho * rho * self.sd * self.sd + 1.0 - rho * rho;
        Self { mean: rho * self.mean, sd: variance.sqrt() }
    }
}

/// What is known of the noise of a unit, if its class is given.
#[derive(Clone, Copy, Debug)]
pub(super) enum KnownNoise {
    Score(ScoreLaw),
    /// The rank is uniform on a range.
    Ranks(Ranks),
}

/// One class: its probability, the distribution of the outcome and what is known of the noise.
#[derive(Clone, Debug)]
pub(super) struct Component {
    pub weight: f64,
    pub law: OutcomeLaw,
    pub noise: KnownNoise,
}

impl Component {
    /// E[y], or the probability of yes; E[log y] of positive outcomes.
    fn mean(&self) -> f64 {
        match (&self.law, self.noise) {
            (OutcomeLaw::Number(law), KnownNoise::Score(score)) => score_mean(*law, score),
            (OutcomeLaw::Whole(law), KnownNoise::Ranks(ranks)) => law.mean(ranks),
            _ => unreachable!("numbers have scores, whole numbers have ranks"),
        }
    }

    /// The same if the noise has an unknown correlation, uniform on [0, 1], to what is known.
    fn mean_unknown_rho(&self) -> f64 {
        let at = |rho: f64| match (&self.law, self.noise) {
            (OutcomeLaw::Number(law), KnownNoise::Score(score)) => score_mean(*law, score.correlated(rho)),
            (OutcomeLaw::Whole(law), KnownNoise::Ranks(ranks)) => rank_mean(law, ranks, rho),
            _ => unreachable!("numbers have scores, whole numbers have ranks"),
        };
        UNIFORM_NODES.iter().map(|node| node.weight * at(node.at)).sum()
    }

    /// P(outcome <= value); of positive outcomes, of their logarithm.
    fn cdf(&self, value: f64) -> f64 {
        match (&self.law, self.noise) {
            (OutcomeLaw::Number(law), KnownNoise::Score(ScoreLaw { mean, sd })) => {
                if sd > 0.0 {
                    normal_cdf((law.score(value) - mean) / sd)
                } else {
                    f64::from(u8::from(law.value(mean) <= value))
                }
            }
            (OutcomeLaw::Whole(law), KnownNoise::Ranks(ranks)) => {
                let below = Ranks { low: 0.0, high: law.ranks(value.max(0.0)).high };
                ranks.share_in(below, || law.at_rank(ranks.low) <= value)
            }
            _ => unreachable!("numbers have scores, whole numbers have ranks"),
        }
    }

    fn quantile(&self, p: f64) -> f64 {
        match (&self.law, self.noise) {
            (OutcomeLaw::Number(law), KnownNoise::Score(ScoreLaw { mean, sd })) => {
                law.value(mean + sd * normal_quantile(p))
            }
            (OutcomeLaw::Whole(law), KnownNoise::Ranks(ranks)) => law.at_rank(ranks.low + p * ranks.width()),
            _ => unreachable!("numbers have scores, whole numbers have ranks"),
        }
    }
}

/// The distribution of an outcome: a mixture over classes.
#[derive(Clone, Debug)]
pub(super) struct Predictive(pub Vec<Component>);

impl Predictive {
    /// The best point answer: E[y], the probability of yes, or exp(E[log y]) of positive outcomes.
    pub(super) fn point(&self) -> f64 {
        self.outcome(self.0.iter().map(|component| component.weight * component.mean()).sum())
    }

    /// The same if the correlation of the noise to what is known is uniform on [0, 1].
    pub(super) fn point_unknown_rho(&self) -> f64 {
        self.outcome(self.0.iter().map(|component| component.weight * component.mean_unknown_rho()).sum())
    }

    /// The smallest outcome with at least this probability at or below it.
    pub(super) fn quantile(&self, p: f64) -> f64 {
        let ends =
            self.0.iter().filter(|component| component.weight > 0.0).map(|component| component.quantile(p));
        let (mut low, mut high) =
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| (low.min(end), high.max(end)));
        if self.is_whole() {
            let mut value = low;
            while value < high && self.cdf(value) < p {
                value += 1.0;
            }
            return value;
        }
        // the lower end itself may be an atom with enough probability
        if self.cdf(low) >= p {
            return self.outcome(low);
        }
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            if self.cdf(middle) < p {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.outcome(high)
    }

    fn cdf(&self, value: f64) -> f64 {
        // sums of weights have rounding errors
        self.0.iter().map(|component| component.weight * component.cdf(value)).sum::<f64>() + 1e-12
    }

    fn is_whole(&self) -> bool {
        self.0.iter().any(|component| matches!(component.law, OutcomeLaw::Whole(_)))
    }

    /// The exponential, if the outcome is positive.
    fn outcome(&self, value: f64) -> f64 {
        let is_log = |component: &Component| matches!(component.law, OutcomeLaw::Number(law) if law.is_log);
        if self.0.iter().any(is_log) { value.exp() } else { value }
    }
}

/// The mean of the value of a score.
fn score_mean(law: NumberLaw, score: ScoreLaw) -> f64 {
    if score.sd == 0.0 {
        return law.value(score.mean);
    }
    let node = |i: i32| {
        let u = f64::from(i) * NODE_STEP;
        ((-0.5 * u * u).exp(), law.value(score.mean + score.sd * u))
    };
    let (mass, sum) = (-NODES_PER_SIDE..=NODES_PER_SIDE)
        .map(node)
        .fold((0.0, 0.0), |(mass, sum), (weight, value)| (mass + weight, sum + weight * value));
    sum / mass
}

/// The mean of a whole number whose score has the correlation `rho` to one whose rank is uniform on `ranks`.
fn rank_mean(law: &WholeLaw, ranks: Ranks, rho: f64) -> f64 {
    let rest = (1.0 - rho * rho).sqrt();
    let limits: Vec<f64> = law.upper[..law.upper.len() - 1].iter().map(|&upper| score(upper)).collect();
    let node = |i: u32| {
        let known = score(ranks.low + ranks.width() * (f64::from(i) + 0.5) / f64::from(RANK_NODES));
        // E[y] = sum over values of P(y > value)
        limits.iter().map(|limit| normal_cdf((rho * known - limit) / rest)).sum::<f64>()
    };
    (0..RANK_NODES).map(node).sum::<f64>() / f64::from(RANK_NODES)
}

/// The standard normal score of a rank.
fn score(rank: f64) -> f64 {
    normal_quantile(rank.clamp(1e-300, 1.0 - f64::EPSILON))
}
