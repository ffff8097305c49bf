//! The constants of paper 0, "Improved rate for locally differentially private linear bandits": the printed noise, and the constants of
//! its theory and of its figure.
//!
//! The printed sigma is `2 sqrt(2 ln(1.25/delta))/epsilon`, which counts the two parts of a message as if only one of them were sent, and
//! uses the classic formula beyond epsilon = 1.
//!
//! | | theory ("literal") | figure ("tuned") |
//! | --- | --- | --- |
//! | beta | [`OnlineConfidence`](reticent::bandit::OnlineConfidence), alpha = 1/T | 10 |
//! | G | Corollary C.1 with its factor d | 48 |
//! | D | 1 | 1 |
//! | `Delta^2` | `T^(-1/4)` where lambda is not above that, else 0 | 0 |
//! | gradient descent's step | | 0.001, gradients not shortened |
//!
//! The text of section 5 names none of the right column. They were found by searching for what reproduces Figure 1(c); no constants
//! reproduce (a) and (b).

use reticent::{
    Result,
    bandit::{LearnerParams, OnlineUcbParams, Width},
    online::Step,
    privacy::{Claim, Mode, gaussian},
    randomize::FeatureRewardParams,
    release::Calibration,
};

/// beta of the figure.
const TUNED_WIDTH: f64 = 10.0;
/// G of the figure.
const TUNED_GRADIENT_BOUND: f64 = 48.0;
/// Gradient descent's step of the figure.
const TUNED_STEP: f64 = 1e-3;

/// The message with the printed sigma, beside what is claimed of it.
pub fn printed_noise(message: FeatureRewardParams) -> Result<FeatureRewardParams> {
    let FeatureRewardParams { bounds, epsilon, delta, .. } = message;
    let one_part = (2.0 * bounds.feature_bound).max(bounds.rewards.1 - bounds.rewards.0);
    let sigma = gaussian::classic_sigma(epsilon, delta, one_part, Mode::Paper)?;
    Ok(FeatureRewardParams {
        calibration: Some(Calibration::Sigma(sigma)),
        claim: Some(Claim::new(epsilon, delta, "paper 0, Theorem 3.2")),
        ..message
    })
}

/// Maler with the constants of the figure.
pub fn tuned(randomizer: FeatureRewardParams, horizon: u64) -> OnlineUcbParams {
    OnlineUcbParams {
        radius: 1.0,
        learner: LearnerParams::Maler { gradient_bound: TUNED_GRADIENT_BOUND, exp_concave: true },
        ridge: 0.0,
        width: Width::Constant(TUNED_WIDTH),
        ..OnlineUcbParams::new(randomizer, horizon)
    }
}

/// Gradient descent with the constants of the figure.
pub fn tuned_descent(randomizer: FeatureRewardParams, horizon: u64) -> OnlineUcbParams {
    OnlineUcbParams {
        learner: LearnerParams::GradientDescent { step: Step::Constant(TUNED_STEP) },
        ..tuned(randomizer, horizon)
    }
}

/// Maler with the constants of the theory, for rewards of sub-Gaussian scale 1 and `||theta*|| <= 1`.
pub fn literal(
    randomizer: FeatureRewardParams,
    horizon: u64,
    smallest_eigenvalue: f64,
) -> Result<OnlineUcbParams> {
    let threshold = (horizon.max(1) as f64).powf(-0.25);
    let ridge = if smallest_eigenvalue <= threshold { threshold } else { 0.0 };
    OnlineUcbParams::proved(randomizer, horizon, smallest_eigenvalue, ridge)
}

#[cfg(test)]
mod tests {
    use reticent::randomize::Bounds;

    use super::*;

    fn with_unit_rewards(params: FeatureRewardParams) -> FeatureRewardParams {
        let bounds = Bounds { rewards: (0.0, 1.0), ..params.bounds };
        FeatureRewardParams { bounds, ..params }
    }

    #[test]
    fn the_printed_sigma_gives_the_deltas_of_the_table() {
        // Deltas by scipy at the claimed epsilon, for rewards in [-1, 1] and in [0, 1].
        let cases = [
            (0.2, 0.1, 3.310472583884e-3, 9.073248828557e-4),
            (1.0, 0.1, 2.384566302575e-2, 6.611525124468e-3),
            (10.0, 0.1, 9.161706151880e-1, 6.075837743104e-1),
            (1.0, 1e-5, 3.736055128939e-5, 5.859136575500e-7),
            (10.0, 1e-5, 1.326022993332e-2, 2.879072556333e-4),
        ];
        for (epsilon, delta, wide, narrow) in cases {
            let params = FeatureRewardParams::new(Bounds::unit(5), epsilon, delta);
            let expected_sigma = 2.0 * (2.0 * (1.25 / delta).ln()).sqrt() / epsilon;
            for (params, expected) in [(params.clone(), wide), (with_unit_rewards(params), narrow)]
            {
                let randomizer = printed_noise(params).unwrap().check().unwrap();
                assert!((randomizer.deviation() / expected_sigma - 1.0).abs() < 1e-12);
                let guarantee = randomizer.guarantee().unwrap();
                let found = guarantee.claimed().unwrap().true_delta;
                // A margin of 1e-9 on mu is charged for rounding: up to 22 times that of these deltas, and never below the truth.
                let excess = found / expected - 1.0;
                assert!((-1e-12..3e-8).contains(&excess), "{found} {expected}");
            }
        }
    }

    #[test]
    fn the_servers_promise_has_the_papers_claim_beside_it() {
        let message = with_unit_rewards(FeatureRewardParams::new(Bounds::unit(5), 10.0, 0.1));
        let server = tuned(printed_noise(message).unwrap(), 20_000).check().unwrap();
        let guarantee = server.guarantee().unwrap();
        let claim = guarantee.claimed().unwrap();
        assert!(!claim.holds() && (claim.true_delta - 0.6076).abs() < 1e-4);
        assert!(claim.source.contains("Theorem 3.2"));
        assert!(printed_noise(FeatureRewardParams::new(Bounds::unit(5), -1.0, 0.1)).is_err());
        assert!(printed_noise(FeatureRewardParams::new(Bounds::unit(5), 1.0, 1.0)).is_err());
    }

    /// Below `T^(-1/4)` an eigenvalue is not known well enough to go without the ridge.
    #[test]
    fn the_theorys_ridge_follows_the_eigenvalue() {
        let message = FeatureRewardParams::new(Bounds::unit(2), 1.0, 1e-6);
        let ridge = |eigenvalue| literal(message.clone(), 10_000, eigenvalue).unwrap().ridge;
        assert_eq!((ridge(0.05), ridge(0.2)), (0.1, 0.0));
        assert!(literal(message, 1000, -1.0).is_err());
    }
}
