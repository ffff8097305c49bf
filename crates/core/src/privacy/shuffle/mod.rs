//! Privacy amplification by shuffling, for any pure-DP local randomiser.
//!
//! One person's input is replaced; `n - 1` others report through the same `epsilon_0`-DP local randomiser
//! and only the shuffled batch is seen. Each other report is, with probability `clone`, a fair coin
//! between what the person says on one input and on the other. With `C ~ Bin(n-1, clone)`,
//! `A ~ Bin(C, 1/2)`, `D ~ Bern(a)` and `a = e^epsilon_0/(e^epsilon_0 + 1)`, the batch is a
//! post-processing of the pair
//!
//! ```text
//! P = (A + D, C - A + 1 - D)      Q = (A + 1 - D, C - A + D).
//! ```
//!
//! Proof. Let `R0`, `R1` be the output laws on the two inputs. Because
//! `e^-epsilon_0 R1 <= R0 <= e^epsilon_0 R1`, there are laws `Q0`, `Q1` with `R0 = a Q0 + (1-a) Q1` and
//! `R1 = (1-a) Q0 + a Q1`. Another person's law satisfies
//! `R >= e^-epsilon_0 max(R0, R1) >= (e^-epsilon_0/2)(R0 + R1) = (e^-epsilon_0/2)(Q0 + Q1)`: it is a
//! mixture that with probability `clone = e^-epsilon_0` is a fair coin between `Q0` and `Q1`. Revealing who is not a clone, and only the
//! counts of `Q0` and `Q1` among the clones and the person, gives the pair. For binary randomised response `Q0`, `Q1` are the two answers,
//! and the fair coin has probability `2/(e^epsilon_0 + 1)`. (Taking that value for every randomiser, as Feldman, McMillan and Talwar did in
//! 2023, is withdrawn by their erratum.)
//!
//! Given `N = C + 1`, the likelihood ratio of `k` first answers is monotone in `k`, so with `tau` the
//! least `k` where it exceeds `e^epsilon`
//!
//! ```text
//! delta_C = (a - e^epsilon (1-a)) P(A = tau-1) - (e^epsilon - 1) P(A >= tau),   delta = E[delta_C].
//! ```
//!
//! `delta_C` does not increase with `C` (one more clone is a post-processing), so groups of `C` are
//! charged at their least member, and the lower tail at `C = 0`.
//!
//! Guarantee: an upper bound, exact for the pair above up to grouping (well below 1 % of delta); never
//! above `epsilon_0`.
//!
//! For PrivUnit the law of other people is known, and with it a sharper pair: `priv_unit`.
//!
//! References: Feldman, McMillan and Talwar, "Hiding among the clones", FOCS 2021, Theorem 3.1; for
//! binary randomised response also "Stronger privacy amplification by shuffling", SODA 2023, arXiv
//! 2208.04591 with erratum.

mod binomial;
mod priv_unit;
#[cfg(test)]
mod tests;

pub(super) use binomial::fair_binomial;

use binomial::{fair_binomial_tail, group_binomial};

use crate::{
    Error, Result,
    error::{not_negative, probability},
    privacy::Event,
    refuse_if,
};

/// Most groups of clone counts; a group is charged at its least count.
pub(super) const GROUPS: usize = 512;
/// More people than this are treated as this many: fewer clones cost more, never less.
const MOST_PEOPLE: u64 = 1 << 36;
/// Relative error granted to the binomial probabilities, charged upwards.
const SLACK: f64 = 1e-12;

/// Least `delta` with which a shuffled batch of `people` reports is `(epsilon, delta)`-DP.
///
/// `binary` says that the local randomiser is binary randomised response.
///
/// ```
/// let alone = reticent::privacy::shuffle::delta(1.0, 1, 0.0, false)?;
/// assert!((alone - 0.5f64.tanh()).abs() < 1e-9); // no crowd, no amplification
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn delta(epsilon_local: f64, people: u64, epsilon: f64, binary: bool) -> Result<f64> {
    let crowd = Crowd::new(epsilon_local, people, binary, GROUPS)?;
    Ok(crowd.delta(not_negative("epsilon", epsilon)?))
}

/// Least `epsilon` with which a shuffled batch of `people` reports is `(epsilon, delta)`-DP.
///
/// ```
/// let epsilon = reticent::privacy::shuffle::epsilon(1.0, 100_000, 1e-6, false)?;
/// assert!(epsilon < 0.05);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn epsilon(epsilon_local: f64, people: u64, delta: f64, binary: bool) -> Result<f64> {
    probability("delta", delta)?;
    Ok(Crowd::new(epsilon_local, people, binary, GROUPS)?.epsilon(delta))
}

/// Batches whose pair is that of `clones` clones at one local level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    /// The local level of the pair.
    pub(super) epsilon_local: f64,
    /// The least clone count of the group.
    pub(super) clones: u64,
    /// Probability of the group.
    pub(super) weight: f64,
}

/// The law of the clone count, in groups. Batches that are in no group have no loss.
#[derive(Debug, Clone)]
pub(super) struct Crowd {
    epsilon_local: f64,
    pub(super) groups: Vec<Group>,
    /// Probability of counts that no group has; charged as if there were no clones.
    pub(super) rest: f64,
}

impl Crowd {
    /// The crowd of a shuffled event, in at most this many groups of clone counts.
    pub(super) fn of_event(event: &Event, most_groups: usize) -> Result<Self> {
        match *event {
            Event::Shuffled { epsilon, people, binary } => {
                Crowd::new(epsilon, people, binary, most_groups)
            }
            Event::ShuffledPrivUnit { cap, inside, people } => {
                event.check()?;
                Ok(Crowd::of_priv_unit(cap, inside, people, most_groups))
            }
            _ => Err(Error::Unsupported {
                event: format!("{event:?} as a shuffled batch"),
                remedy: "expected a shuffled event".into(),
            }),
        }
    }

    pub(super) fn new(
        epsilon_local: f64,
        people: u64,
        binary: bool,
        most_groups: usize,
    ) -> Result<Self> {
        not_negative("epsilon_local", epsilon_local)?;
        refuse_if(people == 0, "people", people, "expected a whole number, 1 or above")?;
        let lie = libm::exp(-epsilon_local);
        let clone = if binary { 2.0 * lie / (1.0 + lie) } else { lie };
        let others = people.min(MOST_PEOPLE) - 1;
        // What is above the groups is paid by their weights, which are a little too large.
        let counts = group_binomial(others, clone, most_groups);
        let group = |(clones, weight): (u64, f64)| Group { epsilon_local, clones, weight };
        let groups = counts.groups.into_iter().map(group).collect();
        Ok(Self { epsilon_local, groups, rest: counts.below })
    }

    /// Least `delta` with which the batch is `(epsilon, delta)`-DP.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        if epsilon >= self.epsilon_local {
            return 0.0;
        }
        let in_groups = self.groups.iter().filter(|group| group.epsilon_local > epsilon);
        let sum: f64 = in_groups
            .map(|group| {
                group.weight * Curve::new(group.epsilon_local, epsilon).delta(group.clones)
            })
            .sum();
        let alone = Curve::new(self.epsilon_local, epsilon).alone;
        (sum + self.rest * alone).min(alone)
    }

    /// Least `epsilon` with which the batch is `(epsilon, delta)`-DP.
    pub(super) fn epsilon(&self, delta: f64) -> f64 {
        if self.delta(0.0) <= delta {
            return 0.0;
        }
        // The invariant delta(high) <= delta holds from the start: at epsilon_local delta is 0.
        let (mut low, mut high) = (0.0, self.epsilon_local);
        while high - low > 1e-7 * high {
            // Amplified values lie far below the local one, so the first steps are taken on a logarithmic scale.
            let middle = if low > 0.0 { 0.5 * (low + high) } else { high / 16.0 };
            if self.delta(middle) <= delta {
                high = middle
            } else {
                low = middle
            }
            if high < 1e-12 * self.epsilon_local {
                break;
            }
        }
        high
    }
}

/// The hockey stick at one `epsilon` as a function of the number of clones.
struct Curve {
    /// `a - e^epsilon (1 - a)`, the delta without clones.
    alone: f64,
    /// `e^epsilon - 1`.
    growth: f64,
    /// The ratio exceeds `e^epsilon` where fewer than `N * share` of the N answers are second answers.
    share: f64,
}

/// Share s of second answers at which the loss of a batch is `epsilon`:
/// `2s = 1 - tanh(epsilon/2)/tanh(epsilon_local/2)`, written without the cancellation that would make it 0 (and the cost of the batch 0)
/// from a local epsilon of 37 on.
pub(super) fn other_share(epsilon_local: f64, epsilon: f64) -> f64 {
    let lie = libm::exp(-epsilon);
    lie * -libm::expm1(epsilon - epsilon_local) / (-libm::expm1(-epsilon_local) * (1.0 + lie))
}

impl Curve {
    fn new(epsilon_local: f64, epsilon: f64) -> Self {
        let truth = 1.0 / (1.0 + libm::exp(-epsilon_local));
        Self {
            // a - e^eps (1-a) = a (1 - e^(eps - eps0)), which does not cancel.
            alone: -truth * libm::expm1(epsilon - epsilon_local),
            growth: libm::expm1(epsilon),
            share: other_share(epsilon_local, epsilon),
        }
    }

    fn delta(&self, clones: u64) -> f64 {
        let others = (clones as f64 + 1.0) * self.share;
        // `others` is at least 1, so tau is at most N: with first answers only, the ratio always exceeds `e^epsilon`.
        let tau = (clones + 2).saturating_sub((others.ceil() as u64).max(1));
        let gain = self.alone * fair_binomial(clones, tau - 1) * (1.0 + SLACK);
        let loss = self.growth * fair_binomial_tail(clones, tau) * (1.0 - SLACK);
        (gain - loss).max(0.0)
    }
}
