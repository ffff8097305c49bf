//! Two levels of effects from one release: main effects first, then each cross from what they leave.
//!
//! | file | contents |
//! | --- | --- |
//! | `sums` | G of the release with the noise of each monomial averaged and shrunk, and the variance that is left |
//! | `mains` | main effects and the constant: one regression with errors in its matrix |
//! | `crosses` | crosses, each by itself, with the size of each part's effects estimated |
//!
//! A file of one-hot features with crosses has hundreds of coordinates, most of which few people touch. A ridge as large as the noise
//! (`thompson`) then shrinks everything alike: the constant and main effects, which thousands of people touch, as much as crosses, which a few dozen do.
//! Here each level has a prior of its own, and the noise of the release is known entry by entry.
//!
//! ```text
//! theta_A = P^-1 D^1/2 Q e/(1 + s^2 e) Q^T D^-1/2 (u_A - G_AX theta_X)      mains A, given the crosses X
//! theta_i = rho_i r_i / g_i,   r_i = u_i - sum_(j != i) G_ij theta_j        each cross i, given the rest
//! ```
//!
//! alternating for [`SWEEPS`] sweeps; the files have the symbols. The law that parameters are drawn from has the covariance of the noise and the
//! rewards in `theta_A`, and a deviation of its own for each cross.
//!
//! Everything is stated for features of norm at most 1 and rewards in [-1, 1]; the release is scaled to that and the policy back. All of it is computed
//! from the release and the public levels: post-processing. The constants were tuned by simulation and nothing is certified.

mod crosses;
mod mains;
mod sums;
#[cfg(test)]
mod tests;

use self::{crosses::Crosses, mains::Mains, sums::Sums};
use super::RulePlan;
use crate::{
    Error, Result,
    bandit::{Ensemble, Policy},
    features::{Level, Levels},
    linalg::{arrow::triangular_root, triangle},
    release::Release,
    special::square,
};

/// Deviation of the constant's effect before anything is known, for rewards in [-1, 1].
const CONSTANT: f64 = 1.0;
/// That of main effects.
const MAIN: f64 = 0.2;
/// That of crosses; their parts are estimated around it.
const CROSS: f64 = 0.1;
/// The largest deviation of crosses that is believed.
const LARGEST_CROSS: f64 = 0.6;
/// s^2: variance of a reward in [-1, 1] around its mean.
const REWARD_VARIANCE: f64 = 0.8;
/// Number of times that crosses and then main effects are estimated, each given the other.
const SWEEPS: usize = 4;
/// Deviations below this, in contributions, are taken for it: without noise nothing is divided by zero.
const LEAST_DEVIATION: f64 = 1e-6;

/// Coordinates of a weight above 0, for features of norm at most 1.
struct Coordinates<'a> {
    levels: &'a Levels,
    weights: Vec<f64>,
    /// Number of coordinates among which the part of each divides people.
    cells: Vec<f64>,
    /// Main effects and the constant, which is the last.
    mains: Vec<usize>,
    /// The deviation of the effects of each of these.
    prior: Vec<f64>,
    /// Crosses by part.
    crosses: Vec<Vec<usize>>,
}

impl<'a> Coordinates<'a> {
    fn of(levels: &'a Levels, feature_bound: f64) -> Self {
        let (mut weights, mut cells) = (Vec::new(), Vec::new());
        let (mut mains, mut prior, mut crosses) = (Vec::new(), Vec::new(), Vec::new());
        for (part, places) in levels.parts() {
            weights.extend(places.clone().map(|_| part.weight / feature_bound));
            cells.extend(places.clone().map(|_| levels.cells(part)));
            let deviation = match part.level() {
                _ if part.weight == 0.0 => continue,
                Level::Cross => {
                    crosses.push(places.collect());
                    continue;
                }
                Level::Main => MAIN,
                Level::Constant => CONSTANT,
            };
            prior.extend(places.clone().map(|_| deviation));
            mains.extend(places);
        }
        Coordinates { levels, weights, cells, mains, prior, crosses }
    }
}

/// The vector part of a release and the deviations of its noise.
struct Moments<'a> {
    sums: &'a [f64],
    deviations: &'a [f64],
    /// s^2.
    reward_variance: f64,
}

impl RulePlan {
    pub(super) fn two_level(
        &self,
        release: &Release,
        levels: Option<&Levels>,
        width: f64,
        ensemble: Ensemble,
    ) -> Result<Policy> {
        self.rule.check_levels(self.dimension, self.structure)?;
        let Some(levels) = levels else { return Ok(self.cold_policy()) };
        let (l, b) = (self.feature_bound, self.reward_bound);
        let coordinates = Coordinates::of(levels, l);
        let domain = release.domain();
        let scaled = |values: &[f64], unit: f64| -> Vec<f64> {
            values.iter().map(|value| value / unit).collect()
        };
        let deviations = |part: &[f64], unit: f64| -> Vec<f64> {
            part.iter().map(|deviation| (deviation / unit).max(LEAST_DEVIATION)).collect()
        };
        let (of_matrix, of_vector) = release.deviations().split_at(domain.matrix_coordinates());
        let means = match domain.pattern() {
            Some(pattern) => sums::merged_means(pattern, release.merged_sums(), of_matrix, l),
            None => {
                let gram = scaled(release.upper_triangle(), l * l);
                sums::means(&coordinates, &gram, &deviations(of_matrix, l * l))
            }
        };
        let sums = Sums::of(&coordinates, &means);
        let moments = Moments {
            sums: &scaled(release.vector(), l * b),
            deviations: &deviations(of_vector, l * b),
            reward_variance: REWARD_VARIANCE + square(self.reward_deviation),
        };

        let mut theta = vec![0.0; self.dimension];
        let mains = Mains::of(&coordinates, &sums, &moments)?;
        let mut crosses = Crosses::of(&coordinates, &sums, &moments);
        mains.fit(&sums, &moments, &mut theta)?;
        for _ in 0..SWEEPS {
            crosses.fit(&mut theta);
            mains.fit(&sums, &moments, &mut theta)?;
        }

        let mut whitening = vec![0.0; triangle(self.dimension)];
        let lost = || Error::invalid("release", "flat", "its sums are lost in rounding");
        let root = triangular_root(&mains.covariance()?).ok_or_else(lost)?;
        for (row, i) in coordinates.mains.iter().enumerate() {
            for (column, j) in coordinates.mains[..=row].iter().enumerate() {
                whitening[triangle(*i) + j] = root[triangle(row) + column] / l;
            }
        }
        for (i, deviation) in crosses.deviations() {
            whitening[triangle(i) + i] = deviation / l;
        }
        theta.iter_mut().for_each(|theta| *theta *= b / l);
        Ok(self.policy_of(theta, whitening, width * b, 0.0).with_ensemble(ensemble))
    }
}
