//! Bounds of paper 4 on regret, as numbers: Lemma 3.1 with the constants of its proof, and Lemmas 5.2 and 5.5, which are it at their noise.
//!
//! ```text
//! R_T <= D^2/eta + eta T_round kappa^2/2 + T_round kappa gamma + 2 T zeta L
//! kappa = T_batch^(1/2) L D n/zeta + T_batch L,    gamma = eta (m mu + kappa) + sqrt 20 D/T_batch^(1/2)
//! ```
//!
//! mu is the expected norm of one node's noise, m the number of noises in a prefix, `ceil(log2 T_round)` (Algorithm 4). These are inequalities (3)
//! of appendix B, Corollary C.5, (C.1) and (C.3), at the step and the smoothing of Algorithm 1; the text goes on to O(.), and with it the constants are
//! lost. The bound is for the algorithm as analysed, whose line 14 has the right sign.

use reticent::{
    convex::{Baseline, PrivateBanditParams, Protection, Shape, Territory},
    release::Calibration,
};

use crate::papers::constants::convex::PublishedBandit;

/// Lemma 3.1: `O(T^(3/4) n^(1/2) L D + T^(1/4) D mu ln T)`, by the expected norm of a node's noise.
pub fn of_noise(bandit: &PublishedBandit, norm: f64) -> f64 {
    let (t, n, l, d) = bandit.parts();
    let (batch, eta, zeta) = (bandit.batch() as f64, bandit.step(), bandit.smoothing());
    let rounds = (t / batch).floor();
    let kappa = batch.sqrt() * l * d * n / zeta + batch * l;
    let gamma =
        eta * (f64::from(bandit.padding()) * norm + kappa) + 20f64.sqrt() * d / batch.sqrt();
    d * d / eta + 0.5 * eta * rounds * kappa * kappa + rounds * kappa * gamma + 2.0 * t * zeta * l
}

/// Lemma 5.2, pure epsilon: Laplace noise of the printed scale, `mu <= sqrt(2n) lambda`.
pub fn laplace(bandit: &PublishedBandit, epsilon: f64) -> f64 {
    let (_, n, ..) = bandit.parts();
    of_noise(bandit, (2.0 * n).sqrt() * bandit.laplace_scale(epsilon))
}

/// Lemma 5.5, (epsilon, delta): Gaussian noise of the printed deviation, `mu <= sqrt n sigma`.
pub fn gaussian(bandit: &PublishedBandit, epsilon: f64, delta: f64) -> f64 {
    let (_, n, ..) = bandit.parts();
    of_noise(bandit, n.sqrt() * bandit.gaussian_deviation(epsilon, delta))
}

/// The lemma on these parameters with its number, if they are those of Algorithm 1 with the printed noise.
pub fn of_params(params: &PrivateBanditParams, shape: &Shape) -> Option<(&'static str, f64)> {
    let paper = PublishedBandit::of(shape, params.lipschitz, params.horizon).ok()?;
    let tuning = (params.batch, params.smoothing, params.step);
    let printed = tuning == (Some(paper.batch()), Some(paper.smoothing()), Some(paper.step()))
        && params.territory == Territory::Around
        && params.baseline == Baseline::Zero
        && params.stale
        && !params.antithetic;
    let found = match (params.protection, params.calibration) {
        (Protection::CentralPure { epsilon }, Some(Calibration::Scale(scale)))
            if scale == paper.laplace_scale(epsilon) =>
        {
            ("Lemma 5.2", laplace(&paper, epsilon))
        }
        (Protection::Central { epsilon, delta, .. }, Some(Calibration::Sigma(sigma)))
            if sigma == paper.gaussian_deviation(epsilon, delta) =>
        {
            ("Lemma 5.5", gaussian(&paper, epsilon, delta))
        }
        _ => return None,
    };
    printed.then_some(found)
}

#[cfg(test)]
mod tests {
    use reticent::convex::oracle::L1Ball;

    use super::*;
    use crate::papers::constants::convex::{algorithm_1, with_printed_noise};

    #[test]
    fn a_lemma_is_for_its_own_parameters() {
        let set = L1Ball::set(5, 1.0).unwrap();
        let paper = bandit(30_000, 5);
        for (protection, lemma, value) in [
            (Protection::CentralPure { epsilon: 1.0 }, "Lemma 5.2", laplace(&paper, 1.0)),
            (Protection::central(1.0, 1e-6), "Lemma 5.5", gaussian(&paper, 1.0, 1e-6)),
        ] {
            let exact = algorithm_1(&set, 1.0, 30_000, protection).unwrap();
            let printed = with_printed_noise(exact.clone(), set.shape()).unwrap();
            assert_eq!(of_params(&printed, set.shape()), Some((lemma, value)));
            assert_eq!(of_params(&exact, set.shape()), None);
            let other = PrivateBanditParams { step: Some(1.0), ..printed };
            assert_eq!(of_params(&other, set.shape()), None);
        }
    }

    fn bandit(horizon: u64, dimension: usize) -> PublishedBandit {
        PublishedBandit::new(horizon, dimension, 1.0, 2.0).unwrap()
    }

    /// By other code, from the formulas at the head of this file.
    #[test]
    fn the_numbers_are_those_of_the_formulas() {
        let near = |value: f64, expected: f64| {
            assert!((value / expected - 1.0).abs() < 1e-6, "{value} beside {expected}");
        };
        let paper = bandit(1_000_000, 5);
        near(of_noise(&paper, 0.0), 1.7838574141e+06);
        near(laplace(&paper, 1.0), 2.0172380450e+08);
        near(gaussian(&paper, 1.0, 1e-6), 5.6453877280e+09);
    }

    /// `T^(3/4)` with logarithms; `n^(1/2)` without noise, and `n^(3/2)` with the Laplace noise where it dominates.
    #[test]
    fn growth_is_what_the_lemmas_say() {
        let slope = |low: f64, high: f64, times: f64| (high / low).ln() / times.ln();
        let (short, long) = (bandit(1 << 30, 5), bandit(1 << 40, 5));
        let times = 1024.0;
        let plain = slope(of_noise(&short, 0.0), of_noise(&long, 0.0), times);
        assert!((plain - 0.75).abs() < 1e-3, "{plain}");
        let noisy = slope(laplace(&short, 1.0), laplace(&long, 1.0), times);
        assert!((0.76..0.85).contains(&noisy), "{noisy}");
        let wide = |of: &dyn Fn(&PublishedBandit) -> f64| {
            slope(of(&bandit(1 << 30, 1000)), of(&bandit(1 << 30, 4000)), 4.0)
        };
        assert!((wide(&|paper| of_noise(paper, 0.0)) - 0.5).abs() < 0.05);
        assert!((wide(&|paper| laplace(paper, 1.0)) - 1.5).abs() < 0.05);
    }

    /// Theorem 1.1 says nothing at the horizons of `reticent reproduce paper4`: a point of the set cannot lose more than T L D.
    #[test]
    fn the_private_bounds_are_vacuous_at_a_million_rounds() {
        let trivial = |rounds: u64| 2.0 * rounds as f64;
        assert!(laplace(&bandit(1_000_000, 5), 1.0) > trivial(1_000_000));
        assert!(gaussian(&bandit(1_000_000, 5), 1.0, 1e-6) > trivial(1_000_000));
        // Without noise it says something from about a million rounds on.
        assert!(of_noise(&bandit(100_000_000, 5), 0.0) < trivial(100_000_000));
    }
}
