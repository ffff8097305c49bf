//! Theoretical bounds on regret, as numbers beside measured ones.
//!
//! | file | source |
//! | --- | --- |
//! | this one | Shariff and Sheffet (2018), paper 1 |
//! | [`online_ucb`] | paper 0 |
//! | [`convex`] | Ene, Nguyen and Vladu, paper 4 |
//!
//! Theorems 5 and 6, Corollaries 10 and 12 and section 5 of Shariff and Sheffet (2018). The corollaries are [`regret`] at the
//! published regularisers, without the O(.): that is the number a curve can be compared with.

use reticent::bandit::Regularizer;

use super::Problem;

pub mod convex;
pub mod online_ucb;

/// Theorem 5: with probability 1 - alpha the pseudo-regret after `rounds` rounds is at most
///
/// ```text
/// B sqrt(8n) (sigma (2 ln(2/alpha) + d ln(rho_max/rho_min + n L^2/(d rho_min))) + (S sqrt(rho_max) + gamma) sqrt(d ln(1 + n L^2/(d rho_min))))
/// ```
///
/// where B is the largest mean reward, at least 1.
pub fn regret(problem: &Problem, regularizer: &Regularizer, alpha: f64, rounds: u64) -> f64 {
    largest_mean(problem)
        * (8.0 * rounds as f64).sqrt()
        * potential(problem, regularizer, alpha, rounds)
}

/// The bound that the proof of Theorem 5 ends with before it is simplified, which the authors' program minimises:
/// `B sqrt(8 n d ln(1 + n L^2/(d rho_min))) beta_n`, with
/// `beta_n = sigma sqrt(2 ln(2/alpha) + d ln(rho_max/rho_min + n L^2/(d rho_min))) + S sqrt(rho_max) + gamma`.
pub fn regret_of_proof(
    problem: &Problem,
    regularizer: &Regularizer,
    alpha: f64,
    rounds: u64,
) -> f64 {
    let Problem { bounds, parameter_bound, reward_noise } = *problem;
    let (n, d) = (rounds as f64, bounds.dimension as f64);
    let growth = n * bounds.feature_bound.powi(2) / (d * regularizer.minimum);
    let log =
        2.0 * (2.0 / alpha).ln() + d * (regularizer.maximum / regularizer.minimum + growth).ln();
    let width = reward_noise * log.sqrt()
        + parameter_bound * regularizer.maximum.sqrt()
        + regularizer.vector;
    largest_mean(problem) * (8.0 * n * d * growth.ln_1p()).sqrt() * width
}

/// Theorem 6: the same when the best arm is better than the others by `gap` in every round: `(8B/gap) potential^2`.
pub fn gap_regret(
    problem: &Problem,
    regularizer: &Regularizer,
    alpha: f64,
    rounds: u64,
    gap: f64,
) -> f64 {
    8.0 * largest_mean(problem) / gap * potential(problem, regularizer, alpha, rounds).powi(2)
}

/// Claim 13: a learner whose *actions* are (epsilon, delta)-DP in the ordinary sense, with epsilon < ln 2 and
/// delta < 1/4, errs in a constant share of rounds. On two contexts that swap the means of two arms `gap` apart, an action that
/// is right with probability q under one context is right with probability at most `1 - (q - delta) e^-epsilon` under the
/// other, so the worse of the two is wrong with probability at least `(1 - delta)/(1 + e^epsilon)`.
pub fn ordinary_privacy_lower_bound(epsilon: f64, delta: f64, gap: f64, rounds: u64) -> f64 {
    rounds as f64 * gap * ((1.0 - delta) / (1.0 + epsilon.exp())).max(0.0)
}

/// Corollary 15: an epsilon-DP learner for `arms` arms whose regret is at most n^(3/4) has, for large n, pseudo-regret of at
/// least `(k - 1) ln(n) / (200 epsilon)`.
pub fn private_lower_bound(epsilon: f64, arms: u64, rounds: u64) -> f64 {
    arms.saturating_sub(1) as f64 * (rounds as f64).ln() / (200.0 * epsilon)
}

fn largest_mean(problem: &Problem) -> f64 {
    (problem.feature_bound() * problem.parameter_bound).max(1.0)
}

/// `sigma (2 ln(2/alpha) + d ln(...)) + (S sqrt(rho_max) + gamma) sqrt(d ln(...))`.
fn potential(problem: &Problem, regularizer: &Regularizer, alpha: f64, rounds: u64) -> f64 {
    let Problem { bounds, parameter_bound, reward_noise } = *problem;
    let (d, feature_bound) = (bounds.dimension as f64, bounds.feature_bound);
    let growth = rounds as f64 * feature_bound * feature_bound / (d * regularizer.minimum);
    let statistical =
        2.0 * (2.0 / alpha).ln() + d * (regularizer.maximum / regularizer.minimum + growth).ln();
    let private = parameter_bound * regularizer.maximum.sqrt() + regularizer.vector;
    reward_noise * statistical + private * (d * growth.ln_1p()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::constants::joint::Published;

    #[test]
    fn privacy_costs_and_a_gap_helps() {
        let (n, alpha) = (50_000_000, 1.0 / 5e7);
        let problem = Problem::unit(5);
        let published = Published::new(problem, 1.0, 0.1, alpha, n).unwrap();
        let none = Regularizer { shift: 1.0, minimum: 1.0, maximum: 1.0, vector: 0.0 };
        let plain = regret(&problem, &none, alpha, n);
        let gaussian = {
            let deviation = published.gaussian_deviation();
            regret(&problem, &published.gaussian_regularizer(deviation), alpha, n)
        };
        let wishart = regret(&problem, &published.shifted_wishart_regularizer(), alpha, n);
        assert!(plain < gaussian && gaussian < wishart, "{plain} {gaussian} {wishart}");
        // With the published constants neither bound says anything at this horizon: regret cannot exceed 2 n B.
        assert!(plain < 1e8);
        let gap = gap_regret(&problem, &none, alpha, n, 0.1);
        assert!(gap < plain, "{gap} {plain}");
    }

    #[test]
    fn lower_bounds_scale_as_they_should() {
        let half = private_lower_bound(0.5, 25, 1_000_000);
        assert!((half / private_lower_bound(1.0, 25, 1_000_000) - 2.0).abs() < 1e-12);
        let linear = ordinary_privacy_lower_bound(0.5, 0.1, 0.1, 1000);
        assert!((ordinary_privacy_lower_bound(0.5, 0.1, 0.1, 2000) / linear - 2.0).abs() < 1e-12);
        // At epsilon = 0 a coin decides.
        assert_eq!(ordinary_privacy_lower_bound(0.0, 0.0, 1.0, 100), 50.0);
    }
}
