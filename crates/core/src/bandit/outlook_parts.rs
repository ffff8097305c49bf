//! Sample size estimate by part: the events from which what is learnt of a feature, a cross or a match changes decisions for the better.
//!
//! Part p has d cells, the weight w and the mean square M (`features/moments.rs`), so that each cell is touched by `t = n M / d` of n events. Its
//! effects are assumed to move a reward in [-1, 1] by the deviation tau: [`MAIN`] for features of actions and for matches, [`CROSS`] for the rest. In
//! units where features have norm 1, with `A = G~ + lambda`, G~ = G + E, the part's score has
//!
//! ```text
//! S = tau^2                                             signal
//! N = M w^2 (v + s^2 g) m_2 / (g m_1)^2,  g = w^2 t     noise
//! v = s_u^2 + sum_q s_pq^2 (f_q theta_q)^2 d_q          that of the sums: of x y, and of x x^T times what is learnt
//! m_k = mean of 1 / max(g + lambda + z, lambda/2)^k     z: the eigenvalues of E, a semicircle of radius 2 (sum_q s_pq^2 d_q)^1/2
//! ```
//!
//! theta_q^2 = tau^2 / (M w^2), s^2 the variance of rewards, f_q = g m_1. Where E is small against g + lambda, N is `M (v/w^2 + s^2 t) / t^2`. A
//! choice by scores that are signal plus noise gains the share
//!
//! ```text
//! (S / (S + N))^1/2
//! ```
//!
//! of what a choice by the signal gains (both Gaussian), and half of it, the level that is asked for, at N = 3 S. For all parts
//! together the share is that of choices by `sum f (signal + noise)` over [`DECISIONS`] drawn decisions, always the same ones: parts that are noise take from
//! those that are learnt, by what the rule does not shrink (`two_level` shrinks by f = S/(S + N), the others by f above). Signals are Gaussian, but a match of
//! n words is zero for all but one action in n, and large there.
//!
//! **Choices.** Learners prefer what they have learnt to be good: once main effects are known, the cells of a cross with other words are seen less. By simulation
//! crosses of words take [`SELDOM`] times the events that even choices would (0.6 to 1.3 times that, where they were reached), which decisions do not feel; and under
//! `tuned`, which tries what it does not know, N is [`TRYING`] of the above. Both constants were set on the files of `defaults/parts`.
//!
//! **Time.** With the number of contributions in a tick r, a release at tick T has the contributions of the ticks that its reward window leaves,
//! weighted by what is not forgotten, and the noise of release T: the first T at which the share is one half names `r T` events. Without a known pace
//! the noise is that of the last release, and nothing is forgotten.
//!
//! **Use.** It is computed from public parameters or from a release, and assumes how much rewards differ: where they differ half as
//! much, it takes two to four times as many events. `reticent reproduce defaults/parts` compares it with learning curves. Nothing is certified.

use serde::Serialize;

use super::{JointPlan, Rule};
use crate::{
    Result,
    features::{FeaturesPlan, PartKind},
    hash,
    release::Release,
    special::square,
};

/// Assumed deviation of the effects of actions' features and of matches, for rewards in [-1, 1].
pub const MAIN: f64 = 0.2;
/// Assumed deviation of the effects of crosses, products and Fourier features.
pub const CROSS: f64 = 0.1;
/// Assumed distance of the mean reward from the middle of its range.
const MEAN: f64 = 0.5;
/// s^2: variance of a reward in [-1, 1] around its mean.
const REWARD_VARIANCE: f64 = 0.8;
/// Times as many events as even choices would take, for a cross whose factors are all words.
const SELDOM: f64 = 1.7;
/// Share of the noise that is left under `tuned`.
const TRYING: f64 = 0.5;
/// Share of what a part can gain from which it counts as learnt.
const LEARNT: f64 = 0.5;
/// Points at which the semicircle is taken.
const POINTS: usize = 48;
/// Drawn decisions, and actions of each.
const DECISIONS: usize = 512;
const ACTIONS: usize = 10;
/// Half-lives after which sums that forget no longer grow.
const HALF_LIVES: f64 = 12.0;

/// Arrival of events at a learner that releases by the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Contributions in a tick.
    pub per_tick: f64,
    /// Ticks from a decision to the tick that sums it: the reward window.
    pub delay: f64,
}

/// Estimate of one part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartOutlook {
    /// Name of the part: `action.topic`, `device*topic`, `liked==genre`.
    pub part: String,
    /// Number of coordinates.
    pub cells: u64,
    /// Events from which the part gains half of what it can; none where it stays noise at this pace.
    pub events: Option<u64>,
}

/// Estimates of all parts that decide between actions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartsOutlook {
    /// Parts, in the order of their coordinates.
    pub parts: Vec<PartOutlook>,
    /// Events from which decisions by all parts together gain half of what they can; none where they never do at this pace.
    pub all: Option<u64>,
}

/// A part in units where features have norm 1 and rewards lie in [-1, 1].
struct Piece {
    name: String,
    kind: PartKind,
    offset: usize,
    cells: usize,
    /// w^2.
    weight: f64,
    moment: f64,
    /// tau^2.
    signal: f64,
    /// Times as many events as even choices would take until all of its cells are known.
    seldom: f64,
}

impl Piece {
    fn decides(&self) -> bool {
        !matches!(self.kind, PartKind::Context | PartKind::Constant)
    }

    /// g for this number of contributions.
    fn gram(&self, contributions: f64) -> f64 {
        self.weight * contributions * self.moment / self.cells as f64
    }

    /// The squared norm of its parameters.
    fn parameters(&self) -> f64 {
        self.cells as f64 * self.signal / (self.moment * self.weight)
    }
}

/// Variances of the noise of a release as the parts meet them.
struct Noise {
    /// s_G, of an entry off the diagonal.
    matrix: f64,
    /// s_u^2 of each part.
    vector: Vec<f64>,
    /// s_pq^2: by part, and in it by part.
    entries: Vec<Vec<f64>>,
}

/// The estimate of a file, for any number of contributions and any noise.
pub struct PartsModel {
    pieces: Vec<Piece>,
    rule: Rule,
    dimension: usize,
    half_range: f64,
    drawn: Drawn,
}

/// Signals of deciding parts, and noise of deviation 1, by decision, action and part; the noise last.
struct Drawn {
    numbers: Vec<f64>,
    width: usize,
    /// Mean of the best signals, less that of all.
    possible: f64,
}

impl Drawn {
    fn of(pieces: &[Piece]) -> Self {
        let deciding: Vec<&Piece> = pieces.iter().filter(|piece| piece.decides()).collect();
        let width = deciding.len() + 1;
        let mut counter = 0;
        let mut uniform = || {
            counter += 1;
            (hash::mixed(counter) >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut normal = || {
            let (radius, turn) = (uniform().max(1e-300), uniform());
            (-2.0 * libm::log(radius)).sqrt() * libm::cos(std::f64::consts::TAU * turn)
        };
        let mut numbers = Vec::with_capacity(DECISIONS * ACTIONS * width);
        for _ in 0..DECISIONS {
            // The size of a match's effect is the same for all actions.
            let sizes: Vec<f64> = deciding.iter().map(|_| normal()).collect();
            for _ in 0..ACTIONS {
                for (piece, size) in deciding.iter().zip(&sizes) {
                    let (z, deviation) = (normal(), piece.signal.sqrt());
                    // A normal number is below this with the probability M.
                    let matches = 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2) < piece.moment;
                    numbers.push(match piece.kind {
                        PartKind::Match if matches => size * deviation / piece.moment.sqrt(),
                        PartKind::Match => 0.0,
                        _ => z * deviation,
                    });
                }
                numbers.push(normal());
            }
        }
        let mut drawn = Drawn { numbers, width, possible: 1.0 };
        drawn.possible = drawn.share(&vec![1.0; width - 1], 0.0);
        drawn
    }

    /// The share of what can be gained by choices with these factors of the parts and noise of this deviation.
    fn share(&self, kept: &[f64], noise: f64) -> f64 {
        let parts = self.width - 1;
        let gained: f64 = self
            .numbers
            .chunks(self.width * ACTIONS)
            .map(|decision| {
                let (mut best, mut of_best, mut sum) = (f64::NEG_INFINITY, 0.0, 0.0);
                for action in decision.chunks(self.width) {
                    let signal: f64 = action[..parts].iter().sum();
                    let learnt: f64 =
                        action[..parts].iter().zip(kept).map(|(x, kept)| x * kept).sum();
                    let score = learnt + noise * action[parts];
                    sum += signal;
                    if score > best {
                        (best, of_best) = (score, signal);
                    }
                }
                of_best - sum / ACTIONS as f64
            })
            .sum();
        gained / DECISIONS as f64 / self.possible
    }
}

/// Shares of the possible gain, by part and in all.
#[derive(Debug, Clone, PartialEq)]
pub struct Gains {
    /// By part, of those that decide between actions, in their order.
    pub parts: Vec<f64>,
    /// By all parts together.
    pub all: f64,
}

impl PartsModel {
    /// The model of a plan with these features; `None` where coordinates are not those of parts (a projection), or where nothing tells actions apart.
    pub fn new(plan: &JointPlan, features: &FeaturesPlan) -> Option<Self> {
        let bounds = &plan.params.bounds;
        if features.params().projection.is_some() || !bounds.structure.is_dense() {
            return None;
        }
        let of_part = |part: &crate::features::Part| Piece {
            name: part.name.clone(),
            kind: part.kind,
            offset: part.offset,
            cells: part.cells,
            weight: square(part.weight / bounds.feature_bound),
            moment: features.moment(part),
            signal: match part.kind {
                PartKind::Context | PartKind::Action | PartKind::Match => square(MAIN),
                _ => square(CROSS),
            },
            seldom: match part.kind {
                PartKind::Cross if features.moment(part) == 1.0 => SELDOM,
                _ => 1.0,
            },
        };
        let mut pieces: Vec<Piece> = features.parts().iter().map(of_part).collect();
        if !pieces.iter().any(Piece::decides) {
            return None;
        }
        pieces.extend(features.constant().map(|constant| Piece {
            name: "constant".into(),
            kind: PartKind::Constant,
            offset: features.dimension() - 1,
            cells: 1,
            weight: square(constant / bounds.feature_bound),
            moment: 1.0,
            signal: square(MEAN),
            seldom: 1.0,
        }));
        let (rule, half_range) = (plan.params.rule.clone(), bounds.half_range());
        let drawn = Drawn::of(&pieces);
        Some(PartsModel { pieces, rule, dimension: bounds.dimension, half_range, drawn })
    }

    /// Names of the parts that decide between actions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.deciding().map(|piece| piece.name.as_str())
    }

    fn deciding(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().filter(|piece| piece.decides())
    }

    fn noise(&self, deviations: &[f64]) -> Noise {
        let d = self.dimension;
        let entry = |i: usize, j: usize| {
            let (row, column) = (i.min(j), i.max(j));
            deviations[row * d - row * row.saturating_sub(1) / 2 + column - row]
        };
        let matrix = d * (d + 1) / 2;
        let vector = |piece: &Piece| {
            let of = &deviations[matrix + piece.offset..matrix + piece.offset + piece.cells];
            of.iter().map(|deviation| square(deviation / self.half_range)).sum::<f64>()
                / piece.cells as f64
        };
        let entries = |of: &Piece| {
            let row = |with: &Piece| {
                let each = (with.offset..with.offset + with.cells).filter(|j| *j != of.offset);
                let squares = each.map(|j| square(entry(of.offset, j))).sum::<f64>();
                squares / with.cells as f64
            };
            self.pieces.iter().map(row).collect()
        };
        Noise {
            matrix: deviations[0] / std::f64::consts::SQRT_2,
            vector: self.pieces.iter().map(vector).collect(),
            entries: self.pieces.iter().map(entries).collect(),
        }
    }

    /// The shares after this many contributions, for sums whose noise has these deviations.
    pub fn gains(&self, contributions: f64, deviations: &[f64]) -> Gains {
        self.gains_of(contributions, &self.noise(deviations))
    }

    /// The shares of a release with this many contributions.
    pub fn gains_at(&self, contributions: f64, release: &Release) -> Gains {
        self.gains(contributions, release.deviations())
    }

    fn gains_of(&self, contributions: f64, noise: &Noise) -> Gains {
        let (parts, scores) = self.scores_of(contributions, noise);
        Gains { parts, all: self.all_of(&scores) }
    }

    /// The share of all parts together, from what the rule keeps of each and its noise.
    fn all_of(&self, scores: &[(f64, f64)]) -> f64 {
        let kept: Vec<f64> = scores.iter().map(|(kept, _)| *kept).collect();
        let noise = scores.iter().map(|(kept, noise)| square(*kept) * noise).sum::<f64>();
        if kept.iter().all(|kept| *kept <= 0.0) {
            0.0
        } else {
            self.drawn.share(&kept, noise.sqrt())
        }
    }

    /// The shares of the parts, and what the rule keeps of each with its noise.
    fn scores_of(&self, contributions: f64, noise: &Noise) -> (Vec<f64>, Vec<(f64, f64)>) {
        // The ridge, the share of sampling that is noise on top, and whether parts are shrunk by their own noise.
        let (ridge, sampling, levels) = match self.rule {
            Rule::Tuned { ridge, .. } => (1.0 + ridge * noise.matrix, TRYING - 1.0, false),
            Rule::Thompson { ridge, width, .. } => {
                (1.0 + ridge * noise.matrix, square(width), false)
            }
            Rule::TwoLevel { width, .. } => (1e-9, square(width), true),
            Rule::Fixed { ridge, .. } => (ridge, 0.0, false),
            // A plan of sums never has the rule for fixed actions.
            Rule::Certified { .. } | Rule::Regularized { .. } | Rule::Episodes { .. } => {
                (1.0 + 3.0 * noise.matrix, 0.0, false)
            }
        };
        let inverse = |place: usize, gram: f64| {
            let radius = match levels {
                true => 0.0,
                false => {
                    let entries = noise.entries[place].iter().zip(&self.pieces);
                    2.0 * entries.map(|(s, piece)| s * piece.cells as f64).sum::<f64>().sqrt()
                }
            };
            moments(gram + ridge, radius, 0.5 * ridge)
        };
        let fit = |place: usize| {
            let gram = self.pieces[place].gram(contributions);
            (gram * inverse(place, gram).0).min(1.0)
        };
        let learnt: Vec<f64> = (0..self.pieces.len())
            .map(|place| square(fit(place)) * self.pieces[place].parameters())
            .collect();
        // What the rule keeps of a part, and the noise of its score.
        let scored = |place: usize, contributions: f64| {
            let piece = &self.pieces[place];
            let gram = piece.gram(contributions);
            let (first, second) = inverse(place, gram);
            let of_matrix: f64 =
                noise.entries[place].iter().zip(&learnt).map(|(s, theta)| s * theta).sum();
            let variance = noise.vector[place] + of_matrix + REWARD_VARIANCE * gram;
            let squared = piece.moment * piece.weight * variance * second / square(gram * first);
            (gram * first, (1.0 + sampling) * squared)
        };
        let (mut parts, mut scores) = (Vec::new(), Vec::new());
        for (place, piece) in self.pieces.iter().enumerate().filter(|(_, piece)| piece.decides()) {
            if contributions <= 0.0 {
                parts.push(0.0);
                scores.push((0.0, 0.0));
                continue;
            }
            let reliability = |noise: f64| piece.signal / (piece.signal + noise);
            parts.push(reliability(scored(place, contributions / piece.seldom).1).sqrt());
            let (kept, noise) = scored(place, contributions);
            scores.push((if levels { reliability(noise) } else { kept }, noise));
        }
        (parts, scores)
    }

    /// Contributions from which a part, or all of them (`None`), gain half of what they can under this noise.
    fn needed(&self, part: Option<usize>, noise: &Noise) -> f64 {
        let enough = |contributions: f64| {
            let (parts, scores) = self.scores_of(contributions, noise);
            part.map_or_else(|| self.all_of(&scores), |part| parts[part]) >= LEARNT
        };
        let (mut low, mut high) = (1.0, 1.0);
        while !enough(high) && high < 1e15 {
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..20 {
            let middle = (low * high).sqrt();
            if enough(middle) { high = middle } else { low = middle }
        }
        high
    }

    /// Contributions that each part, and all together, need under the noise of this release.
    pub fn needed_at(&self, release: &Release) -> PartsOutlook {
        self.needed_under(&self.noise(release.deviations()))
    }

    fn needed_under(&self, noise: &Noise) -> PartsOutlook {
        let count = |part| Some(self.needed(part, noise).ceil() as u64);
        let of = |(place, piece): (usize, &Piece)| piece.outlook(count(Some(place)));
        PartsOutlook { parts: self.deciding().enumerate().map(of).collect(), all: count(None) }
    }

    /// Events that each part, and all together, need at this pace; without one under the noise of the last release.
    pub fn outlook(&self, plan: &JointPlan, pace: Option<Pace>) -> Result<PartsOutlook> {
        let Some(pace) = pace else {
            return Ok(self.needed_under(&self.noise(&plan.plan.last_deviations()?)));
        };
        let kept = plan.params.forget.map_or(1.0, |ticks| libm::exp2(-1.0 / ticks));
        let last = match (plan.params.horizon, plan.params.forget) {
            (Some(horizon), _) => horizon as f64,
            (None, Some(ticks)) => HALF_LIVES * ticks + pace.delay,
            (None, None) => {
                return Ok(self.needed_under(&self.noise(&plan.plan.last_deviations()?)));
            }
        };
        let count = self.deciding().count();
        let mut found: Vec<Option<u64>> = vec![None; count + 1];
        let mut tick = 1.0_f64;
        while tick <= last && found.iter().any(Option::is_none) {
            let ticks = (tick - pace.delay).max(0.0);
            let weight =
                if kept < 1.0 { (1.0 - libm::pow(kept, ticks)) / (1.0 - kept) } else { ticks };
            let gains = self.gains(pace.per_tick * weight, &plan.plan.deviations(tick as u64)?);
            let events = (pace.per_tick * tick).ceil() as u64;
            for (place, gain) in gains.parts.iter().chain([&gains.all]).enumerate() {
                if *gain >= LEARNT {
                    found[place].get_or_insert(events);
                }
            }
            tick = (tick * 1.04).max(tick + 1.0).floor();
        }
        let of = |(place, piece): (usize, &Piece)| piece.outlook(found[place]);
        Ok(PartsOutlook { parts: self.deciding().enumerate().map(of).collect(), all: found[count] })
    }
}

impl Piece {
    fn outlook(&self, events: Option<u64>) -> PartOutlook {
        PartOutlook { part: self.name.clone(), cells: self.cells as u64, events }
    }
}

/// The means of `1 / max(a + z, least)` and of its square, for z on a semicircle of this radius.
fn moments(a: f64, radius: f64, least: f64) -> (f64, f64) {
    if radius <= 1e-3 * a {
        return (1.0 / a, 1.0 / square(a));
    }
    let (mut first, mut second, mut total) = (0.0, 0.0, 0.0);
    for point in 0..POINTS {
        let angle = std::f64::consts::PI * (point as f64 + 0.5) / POINTS as f64;
        let weight = square(libm::sin(angle));
        let inverse = 1.0 / (a + radius * libm::cos(angle)).max(least);
        first += weight * inverse;
        second += weight * square(inverse);
        total += weight;
    }
    (first / total, second / total)
}

#[cfg(test)]
mod tests;
