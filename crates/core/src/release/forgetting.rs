//! Sums that forget: `S_t = sum_i g^(t-i) x_i` after every release, a private stream without an end.
//!
//! With `D = diag(g^t)` the matrix of these sums is `D A D^-1`. So a Toeplitz factorisation `A(z) = B(z) C(z)` of prefix sums gives one
//! of sums that forget, `1/(1 - g z) = B(g z) C(g z)`. The square root has
//!
//! ```text
//! C(z) = B(z) = (1 - g z)^(-1/2),   c_k = g^k binom(2k, k) / 4^k,   |c|^2 = |b|^2 = (2/pi) K(g)      (modulus g)
//! ```
//!
//! and a BLT for the square root becomes one for this: `c_{j+1} = g^{j+1} sum_i omega_i theta_i^j = sum_i (g omega_i) (g theta_i)^j`. Rates
//! and weights are scaled, memory is as constant as before. C is *defined* by the scaled numbers rounded to multiples of 2^-64.
//!
//! **Norm.** Let `c_0 = 1, c_{j+1} = sum_i w_i q_i^j` with `w_i > 0` and `0 < q_i < 1`, as the integers have them. Every column of C on the
//! stream without end has
//!
//! ```text
//! |c|^2 = 1 + sum_{i,k} w_i w_k / (1 - q_i q_k).
//! ```
//!
//! *Proof.* Columns of a Toeplitz matrix are shifts of c. `sum_j c_{j+1}^2 = sum_{i,k} w_i w_k sum_j (q_i q_k)^j`: geometric series of
//! positive terms, which may be exchanged. QED. A stream that ends has the first rows of these columns, which are no longer. So one calibration
//! holds for any number of steps.
//!
//! **Several contributions.** k visits of a person cost `k |c| Delta`: by the lemma of `schedule`, since entries are 0 or more, and by the
//! triangle inequality. It is reached when they fall into one step. The norm of k different columns is smaller (at k = 10 and a half-life of
//! 50 steps, 0.75 of it) and is not used, also where a schedule keeps contributions apart.
//!
//! **Rounding.** The deficit of a buffer obeys `e(t+1) < q e(t) + 1` unit, so it stays below `1/(1 - q)` units however long the stream is. The
//! output takes `sum_i w_i e_i < sum_i w_i / (1 - q_i) = C(1) - 1`, about `(1 - g)^(-1/2)` units, and one unit more per buffer. What does grow is
//! the number of rounded and noisy entries. It is priced for [`STEPS`] = 2^32 steps: rounding then costs 5e-8 of mu at 152 coordinates, and
//! after this many steps the stream is over.
//!
//! **Exact data** are in two places: the contributions since the last release, and the buffers of C, which are sums without noise that forget
//! at the rates of its poles. Both are in a saved state and nowhere else, and leave only as `round(C x) + z`. B works on that, so the sum that is
//! multiplied by g after every release is a noisy one.
//!
//! **Size.** A buffer holds at most `1/(1 - g)` times the contributions of one step, so 128 bits suffice for ever or not at all.

use super::Schedule;
use crate::{Error, Result, error::positive};

/// Steps for which rounding and grid of a stream that forgets are priced, and after which it is over.
pub(super) const STEPS: u64 = 1 << 32;

/// After how many steps of a mechanism a contribution counts half.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HalfLife {
    steps: f64,
    /// Rounds of the first step, and of every other one.
    first: u64,
    gap: u64,
}

impl HalfLife {
    /// `forget` contributions, or ticks, on this schedule; or what is wrong with them.
    pub(crate) fn new(forget: f64, schedule: &Schedule) -> Result<Self> {
        positive("forget", forget)?;
        let Some(gap) = schedule.constant_gap() else {
            let remedy = "sums forget by the same factor at every release: with `forget`, give constant gaps: capped_geometric with `least` equal to `most`, every_round or clock";
            return Err(Error::invalid("schedule", schedule, remedy));
        };
        let steps = forget / gap as f64;
        if steps < 1.0 {
            let remedy = format!(
                "more than half would be forgotten from one release to the next; expected at least the gap between them, {gap}, or shorter gaps"
            );
            return Err(Error::invalid("forget", forget, remedy));
        }
        if steps > STEPS as f64 {
            let remedy = "a stream lasts 2^32 releases, so it would not forget; expected a shorter half-life, or none";
            return Err(Error::invalid("forget", forget, remedy));
        }
        Ok(HalfLife { steps, first: schedule.first(), gap })
    }

    /// `1 - g`, the part of a sum that is forgotten at every step.
    pub(super) fn forgotten(&self) -> f64 {
        -libm::expm1(-std::f64::consts::LN_2 / self.steps)
    }

    /// `g^steps`: what a contribution counts after this many steps.
    pub(crate) fn kept_after(&self, steps: u64) -> f64 {
        libm::exp2(-(steps as f64) / self.steps)
    }

    /// Number of rounds of full weight a buffer holds at most.
    pub(super) fn remembered(&self) -> u64 {
        // The conversion saturates.
        (self.first.max(self.gap) as f64 / self.forgotten()).ceil() as u64
    }

    /// The round of the last of all steps.
    pub(super) fn last_round(&self) -> u64 {
        self.first.saturating_add((STEPS - 1).saturating_mul(self.gap))
    }
}

#[cfg(test)]
mod tests;
