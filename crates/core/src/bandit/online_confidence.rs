//! The confidence set of OnlineUCB with every constant: Lemma 3.3 of paper 0, corrected and finished.
//!
//! Reports are `x~ = x + eta`, `y~ = <x, theta*> + z` with `eta ~ N(0, sigma^2 I)` and z centred and
//! `sqrt(R^2 + sigma^2)`-sub-Gaussian. The learner's theta_t lies in a ball of radius D, theta* in one of radius S <= D,
//! `e_t = theta_t - theta*`, and the learner's observation is
//!
//! ```text
//! g_t = 2 x~ (<x~, theta_t> - y~) - 2 (sigma^2 - Delta^2) theta_t,
//! ```
//!
//! the gradient of `(<x~, theta> - y~)^2 - (sigma^2 - Delta^2) ||theta||^2`. (Delta^2 is the paper's extra noise on x, here as the ridge
//! that it amounts to.) The set is `||theta - theta^||_V <= beta`, `V = I + sum x~ x~^T`, `theta^ = V^-1 sum <x~, theta_t> x~`.
//!
//! **Theorem.** With `q = sum <x~_t, e_t>^2` and `E = sum ||e_t||^2`,
//!
//! ```text
//! ||theta* - theta^||_V^2 <= S^2 + q,
//! q = sum <g_t, e_t> / 2 + sigma^2 E - Delta^2 sum <theta_t, e_t> + A - B - C,
//! A = sum z <x~, e>,   B = sum <x, e> <eta, theta*>,   C = sum e^T (eta eta^T - sigma^2 I) theta*.
//! ```
//!
//! *Proof.* theta^ minimises `F(theta) = ||theta||^2 + sum <x~, theta_t - theta>^2`, a quadratic with Hessian 2V, so
//! `F(theta*) = F(theta^) + ||theta* - theta^||_V^2`, and `F(theta*) <= S^2 + q`. For the second line write the residual as `<x~, e> + <eta, theta*> - z` in
//! `<g, e>`, and use `<theta_t, e> - <theta*, e> = ||e||^2`. QED
//!
//! **What bounds the parts**, each line with probability 1 - alpha, for all rounds at once:
//!
//! | part | bound |
//! | --- | --- |
//! | `sum <g, e>` | the learner's own: `constant + slope sqrt E`, no probability |
//! | A | `sqrt(R^2 + sigma^2) sqrt(2 (1 + q) ln(sqrt(1 + q)/alpha))`, Corollary H.12 given x~ |
//! | B | `sigma S sqrt(2 (1 + L^2 E) ln(sqrt(1 + L^2 E)/alpha))`, the same |
//! | C | `2 sigma^2 S sqrt(E ln(1/alpha)) + 2 sigma^2 S (D + S) ln(1/alpha)`: a quadratic form of rank 2 has `ln E exp(tC) <= t^2 sigma^4 S^2 \|\|e\|\|^2 / (1 - 2 t sigma^2 S \|\|e\|\|)` |
//! | gradients | `\|\|g\|\| <= G`, from `\|\|eta\|\| <= sigma sqrt(2 d ln(2T/alpha))` and the same with d = 1 for y; the print lacks the d, and as printed the event has probability 0.14 at the paper's setting |
//! | E | Theorem C.2: the expected loss is `mu = 2 (lambda + Delta^2)`-strongly convex, its gradient at theta* is `2 Delta^2 theta*`, and `mu E <= sum <g, e> + 2 G sqrt(2 (1 + E) ln(sqrt(1 + E)/alpha)) + 2 Delta^2 S sqrt(T E)` |
//!
//! lambda must bound the least eigenvalue of `E[x x^T]` *given the history* from below. For fixed arms that is 0, and then only
//! `E <= T (D + S)^2` is left.

use crate::{
    Result,
    error::{not_negative, positive, probability},
    randomize::Bounds,
    refuse_if,
    special::square,
};

/// Regrets and rewards that the set is built from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnlineConfidence {
    /// d, L, and the largest reward in size.
    pub bounds: Bounds,
    /// sigma: the deviation of the noise in every coordinate of a report.
    pub deviation: f64,
    /// R: the sub-Gaussian scale of a reward around its mean.
    pub reward_noise: f64,
    /// S: theta* is not longer.
    pub parameter_bound: f64,
    /// D: predictions are not longer.
    pub radius: f64,
    /// T.
    pub horizon: u64,
    /// Each of the six events may fail with this probability.
    pub alpha: f64,
    /// lambda: the least eigenvalue of `E[x x^T]`, given any history.
    pub smallest_eigenvalue: f64,
    /// `Delta^2`.
    pub ridge: f64,
}

/// Regret bound of a learner: `sum <g_t, theta_t - u> <= constant + slope sqrt(sum ||theta_t - u||^2)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LinearRegret {
    pub(super) constant: f64,
    pub(super) slope: f64,
}

impl OnlineConfidence {
    /// Refuses numbers the theorem has no meaning for.
    pub fn check(&self) -> Result<()> {
        self.bounds.check()?;
        positive("horizon", self.horizon as f64)?;
        positive("radius", self.radius)?;
        positive("parameter_bound", self.parameter_bound)?;
        not_negative("deviation", self.deviation)?;
        not_negative("reward_noise", self.reward_noise)?;
        not_negative("smallest_eigenvalue", self.smallest_eigenvalue)?;
        not_negative("ridge", self.ridge)?;
        probability("alpha", self.alpha)?;
        let refused = self.parameter_bound > self.radius;
        let remedy = format_args!("expected at most radius = {}", self.radius);
        refuse_if(refused, "parameter_bound", self.parameter_bound, remedy)?;
        Ok(())
    }

    /// With probability 1 - alpha no noise on any person's features is longer than this: event E_1, with its root of d.
    pub fn feature_noise_bound(&self) -> f64 {
        (self.bounds.dimension as f64).sqrt() * self.reward_noise_bound()
    }

    /// With probability 1 - alpha no noise on any person's reward is larger than this: event E_2.
    pub fn reward_noise_bound(&self) -> f64 {
        self.deviation * (2.0 * libm::log(2.0 * self.horizon as f64 / self.alpha)).sqrt()
    }

    fn largest_reward(&self) -> f64 {
        let (low, high) = self.bounds.rewards;
        low.abs().max(high.abs())
    }

    /// G: no gradient is longer, on these two events (Corollary C.1).
    pub fn gradient_bound(&self) -> f64 {
        let features = self.bounds.feature_bound + self.feature_noise_bound();
        let residual = features * self.radius + self.largest_reward() + self.reward_noise_bound();
        let shrink = (self.deviation * self.deviation - self.ridge).abs();
        2.0 * features * residual + 2.0 * shrink * self.radius
    }

    /// `sqrt E` (Theorem C.2, its quadratic solved): the smaller of what strong convexity and what the ball says.
    pub(super) fn distance(&self, learner: LinearRegret, gradient_bound: f64) -> f64 {
        let rounds = self.horizon as f64;
        let ball = rounds.sqrt() * (self.radius + self.parameter_bound);
        let strong = 2.0 * (self.smallest_eigenvalue + self.ridge);
        if strong == 0.0 {
            return ball;
        }
        // strong s^2 <= constant + slope s, with sqrt(1 + E) <= 1 + s.
        let noise = 2.0 * gradient_bound * (2.0 * self.logarithm(ball * ball)).sqrt();
        let slope = learner.slope + noise + 2.0 * self.ridge * self.parameter_bound * rounds.sqrt();
        let constant = learner.constant + noise;
        let root = (slope * slope + 4.0 * strong * constant).sqrt();
        ball.min((slope + root) / (2.0 * strong))
    }

    /// beta: the set's width in all T rounds, with probability 1 - 6 alpha.
    pub(super) fn width(&self, learner: LinearRegret, gradient_bound: f64) -> f64 {
        let distance = self.distance(learner, gradient_bound);
        let (variance, size) = (square(self.deviation), self.parameter_bound);
        let log = -libm::log(self.alpha);
        let reach = square(self.bounds.feature_bound * distance);
        let along = self.deviation * size * (2.0 * (1.0 + reach) * self.logarithm(reach)).sqrt();
        let quadratic =
            2.0 * variance * size * (distance * log.sqrt() + (self.radius + size) * log);
        let fixed = 0.5 * (learner.constant + learner.slope * distance)
            + variance * distance * distance
            + self.ridge * size * (self.horizon as f64).sqrt() * distance
            + along
            + quadratic;
        // q <= fixed + scale sqrt(2 (1 + q) ln(sqrt(1 + q)/alpha)): the right side is concave in q, and iterates from below rise
        // to its largest solution.
        let scale = libm::hypot(self.reward_noise, self.deviation);
        let mut q = fixed;
        for _ in 0..1000 {
            let next = fixed + scale * (2.0 * (1.0 + q) * self.logarithm(q)).sqrt();
            if next <= q * (1.0 + 1e-12) {
                break;
            }
            q = next;
        }
        (size * size + q).sqrt()
    }

    /// `ln(sqrt(1 + square)/alpha)`.
    fn logarithm(&self, square: f64) -> f64 {
        0.5 * libm::log1p(square) - libm::log(self.alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Noise, SecureNoise};

    /// The paper's setting at epsilon = 10.
    fn setting() -> OnlineConfidence {
        OnlineConfidence {
            bounds: Bounds::unit(5),
            deviation: 0.2 * (2.0 * 12.5_f64.ln()).sqrt(),
            reward_noise: 0.5,
            parameter_bound: 1.0,
            radius: 1.0,
            horizon: 20_000,
            alpha: 0.1,
            smallest_eigenvalue: 0.1,
            ridge: 0.0,
        }
    }

    /// Share of trials in which no noise vector is longer than the bound.
    fn share_within(bound: f64, trials: u32) -> f64 {
        let setting = setting();
        let mut noise = SecureNoise::seeded(61);
        let inside = (0..trials).filter(|_| {
            (0..setting.horizon).all(|_| {
                let square: f64 = (0..setting.bounds.dimension)
                    .map(|_| (setting.deviation * noise.standard_normal()).powi(2))
                    .sum();
                square <= bound * bound
            })
        });
        inside.count() as f64 / f64::from(trials)
    }

    #[test]
    fn the_event_of_the_noise_holds_with_its_root_of_d_and_not_as_printed() {
        let bound = setting().feature_noise_bound();
        // 60 trials: were each good with probability 0.9 only, all would be with probability 0.002; the truth is 1 - 1e-11.
        assert_eq!(share_within(bound, 60), 1.0);
        // As printed: 20 trials hold with probability 0.14 each, and more than 0.6 of them with probability 1e-6.
        let printed = share_within(bound / 5_f64.sqrt(), 20);
        assert!(printed < 0.6, "{printed}");
    }

    #[test]
    fn the_bounds_grow_as_the_theorem_says() {
        let learner = LinearRegret { constant: 1000.0, slope: 100.0 };
        let setting = setting();
        let g = setting.gradient_bound();
        let distance = |setting: OnlineConfidence| setting.distance(learner, g);
        let better = OnlineConfidence { smallest_eigenvalue: 0.2, ..setting };
        assert!(distance(better) <= distance(setting));
        let blind = OnlineConfidence { smallest_eigenvalue: 0.0, ..setting };
        assert_eq!(distance(blind), 2.0 * 20_000_f64.sqrt());
        let width = setting.width(learner, g);
        // It contains sqrt(S^2 + sum<g, e>/2 + sigma^2 E), and little is left for the martingales.
        let s = distance(setting);
        let core = 1.0 + 500.0 + 50.0 * s + (setting.deviation * s).powi(2);
        assert!(width > core.sqrt() && width < 2.0 * core.sqrt(), "{width} {}", core.sqrt());
    }
}
