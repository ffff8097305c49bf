//! A test for changes of theta*, made on releases alone.
//!
//! Let `s` be an earlier release, (theta, A) the policy made from it, and `R = S_t - g^(t-s) S_s` the sums of what came since, with the parts
//! `G` and `u`. Under a theta* that has not moved,
//!
//! ```text
//! e = <theta, u - G theta> = <theta, G (theta* - theta)> + <theta, noise of rewards> + <theta, noise of R>,      v = G theta,
//! Var e <= B^2 <theta, v> + n(R) |theta|^2 + B^2 |v|^2_{A^-1} + n(S_s) |A^-1 v|^2,
//! ```
//!
//! with `n = (deviation of u)^2 + |theta|^2 (deviation of the diagonal of G)^2` and B the largest centred reward: the noise of the new rewards, of
//! their release, and what theta does not know. People are given the arms that theta prefers, so a change shows as rewards below what theta
//! predicts: at `e < -4 sqrt(Var e)` all that came before this release is dropped, and policies are made from the sums since. The ridge makes theta
//! shorter, which raises e and delays the test, never the other way.
//!
//! With blocks of parameters G and A are block diagonal, and every product is taken block by block.
//!
//! **Privacy.** The test reads releases only: post-processing, at no cost.
//!
//! **What is claimed.** Nothing of regret. The law of e is about normal, so a test alarms without a change about once in 30,000 releases; that
//! costs what a restart costs.
//!
//! **Noise of R.** *Lemma.* `Var(S_t - g^m S_s) <= Var(S_m) + g^(2m) Var(S_s)` in every coordinate, `m = t - s`. *Proof.* The noise of `S_t` is
//! `sum_i b_(t-i) z_i`, and `b_k = sum_j w_j q_j^k` with `w_j > 0` and `0 < q_j <= g` (`release/blt.rs`). Draws after s have the variance of `S_m`. A draw
//! before s has the coefficient `b_(m+k) - g^m b_k`, which is between `-g^m b_k` and 0. QED

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    bandit::Policy,
    error::not_negative,
    linalg::{dot, triangle},
    refuse_if,
    release::{HalfLife, Release},
    special::square,
};

/// An alarm is raised this many deviations below the prediction.
const DEVIATIONS: f64 = 4.0;
/// A mark is replaced after this many releases.
const OLDEST_MARK: u64 = 8;

/// Changes found until now, and the mark that the next release is compared with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Changes {
    found: u64,
    /// The release at which the last change was found: what came before is not used.
    base: Option<Release>,
    mark: Option<Mark>,
}

/// An earlier release and the policy made from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Mark {
    release: Release,
    policy: Policy,
    /// n of the sums that the policy was made from.
    noise: f64,
}

/// Public facts about the stream.
pub(super) struct Stream<'a> {
    pub(super) half_life: HalfLife,
    /// B.
    pub(super) reward_bound: f64,
    /// The deviations of the release of this number.
    pub(super) deviations: &'a dyn Fn(u64) -> Result<Vec<f64>>,
}

impl Stream<'_> {
    /// The sums of what came between two releases; `None` if there was nothing.
    fn between(&self, earlier: &Release, later: &Release) -> Option<Release> {
        let steps = later.index().checked_sub(earlier.index()).filter(|steps| *steps > 0)?;
        let deviations = (self.deviations)(steps).ok()?;
        Some(later.since(earlier, self.half_life.kept_after(steps), &deviations))
    }

    /// e and a bound on its deviation.
    fn evidence(&self, mark: &Mark, window: &Release) -> (f64, f64) {
        let theta = mark.policy.theta();
        let dimension = mark.policy.dimension();
        let triangles = window.upper_triangle().chunks(triangle(dimension));
        let blocks = triangles.zip(theta.chunks(dimension));
        let predicted: Vec<f64> =
            blocks.flat_map(|(triangle, theta)| product(triangle, theta)).collect();
        let surplus: Vec<f64> =
            window.vector().iter().zip(&predicted).map(|(u, v)| u - v).collect();
        let evidence = dot(theta, &surplus);
        let (rewards, length) = (dot(theta, &predicted), dot(theta, theta));
        let (mut white, mut back) = (0.0, 0.0);
        for (block, predicted) in predicted.chunks(dimension).enumerate() {
            let norms = mark.policy.norms(block, predicted);
            white += square(norms.0);
            back += square(norms.1);
        }
        let variance = square(self.reward_bound) * (rewards.max(0.0) + white)
            + noise(window, theta) * length
            + mark.noise * back;
        (evidence, variance.sqrt())
    }
}

/// n.
fn noise(sums: &Release, theta: &[f64]) -> f64 {
    let [diagonal, .., vector] = sums.deviations() else { return 0.0 };
    square(*vector) + dot(theta, theta) * square(*diagonal)
}

/// The symmetric matrix with this upper triangle, by rows, times x.
fn product(mut triangle: &[f64], x: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; x.len()];
    for row in 0..x.len() {
        let (entries, below) = triangle.split_at(x.len() - row);
        triangle = below;
        product[row] += dot(entries, &x[row..]);
        for (entry, sum) in entries.iter().zip(&mut product[row..]).skip(1) {
            *sum += entry * x[row];
        }
    }
    product
}

impl Changes {
    /// Number of changes that have been found.
    pub(super) fn found(&self) -> u64 {
        self.found
    }

    /// Returns whether what came before some release is no longer used.
    pub(super) fn is_cut(&self) -> bool {
        self.base.is_some()
    }

    /// The sums since the last change; `None` if nothing has been released since.
    pub(super) fn present(&self, release: &Release, stream: &Stream<'_>) -> Option<Release> {
        match &self.base {
            None => Some(release.clone()),
            Some(base) => stream.between(base, release),
        }
    }

    /// Returns whether the contributions since the mark contradict its policy. Then this release is the new beginning.
    pub(super) fn finds(&mut self, release: &Release, stream: &Stream<'_>) -> bool {
        let Some(mark) = &self.mark else { return false };
        let Some(window) = stream.between(&mark.release, release) else { return false };
        let (evidence, deviation) = stream.evidence(mark, &window);
        // False for NaN.
        let found = evidence < -DEVIATIONS * deviation;
        if found {
            let found = self.found.saturating_add(1);
            *self = Changes { found, base: Some(release.clone()), mark: None };
        }
        found
    }

    /// Remembers the release with the policy made from the sums `present`, if there is no mark that is younger than eight releases.
    pub(super) fn mark(&mut self, release: &Release, policy: &Policy, present: &Release) {
        let age = |mark: &Mark| release.index().saturating_sub(mark.release.index());
        if self.mark.as_ref().is_none_or(|mark| age(mark) >= OLDEST_MARK) {
            let noise = noise(present, policy.theta());
            let (release, policy) = (release.clone(), policy.clone());
            self.mark = Some(Mark { release, policy, noise });
        }
    }

    /// Refuses what was read and could not have been made by a stream with this last release.
    pub(super) fn check(&self, last: Option<&Release>) -> Result<()> {
        let releases = self.base.iter().chain(self.mark.as_ref().map(|mark| &mark.release));
        for release in releases {
            release.check()?;
            let foreign = last.is_none_or(|last| {
                last.domain() != release.domain() || last.index() < release.index()
            });
            let remedy = "it does not belong to this stream: resume from another state";
            refuse_if(foreign, "changes", release.index(), remedy)?;
        }
        if let Some(mark) = &self.mark {
            let domain = mark.release.domain();
            mark.policy.check_parts(domain.dimension(), domain.structure())?;
            not_negative("changes", mark.noise)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
