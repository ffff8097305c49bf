//! The cost of the grid: discrete Gaussian noise compared with the continuous Gaussian of the privacy curve.
//!
//! **Theorem.** Let `P` add independent discrete Gaussians of parameter `sigma` (grid units) to an integer
//! vector of `N` coordinates, possibly chosen adaptively, and let neighbouring vectors differ by an integer
//! `s`, `|s| <= mu sigma`. With `unit = 1/(24 sigma^2)`, for every `tau` in (0, 1),
//!
//! ```text
//! delta(epsilon) <= e^a delta_G(epsilon - a - b; mu) + tau,    a = N unit (1 + unit),   b = R^2 unit,
//! R = mu + sqrt(N + 2 sqrt(N x) + 2 x),   x = ln(1/tau).
//! ```
//!
//! *Proof.* Rounding a real Gaussian to integers is post-processing, because the data are integers: the
//! rounded mechanism has exactly the Gaussian curve `delta_G`. Its mass at `k` is that of the discrete
//! Gaussian times `theta E_u[exp(-k u/sigma^2 - u^2/(2 sigma^2))]`, `u` uniform on [-1/2, 1/2], with the same
//! normaliser `theta >= 1` everywhere. The expectation is at least `1 - unit` and at most
//! `exp(k^2 unit/sigma^2)`, since `sinh(v)/v <= exp(v^2/6)`. Multiply over coordinates: the discrete mass under
//! the data is at most `e^a/theta` times the rounded one, under the neighbour at least `e^-b/theta` times,
//! wherever the noise vector has norm at most `R sigma` there. Elsewhere is an event of probability at most
//! tau: the moment generating function of `(k/sigma)^2` is a ratio of theta functions bounded by
//! `(1 - 2 t)^(-1/2)`, which is all that the chi-square tail bound of Laurent and Massart (2000) uses. QED
//!
//! **Sums.** The sum of n discrete Gaussians of parameter sigma has masses within a factor `e^t` of those of one discrete Gaussian of
//! parameter `sigma sqrt n`, `t = 10 sum_{k<n} exp(-2 pi^2 sigma^2 k/(k+1)) <= 10 n exp(-pi^2 sigma^2)` (Kairouz, Liu and Steinke, "The
//! Distributed Discrete Gaussian Mechanism", 2021; by Poisson summation). From sigma = [`LEAST_SUMMED`] on t is below `n 1e-17000` a coordinate, far below what rounding in doubles leaves,
//! so the sum is priced as that one discrete Gaussian.
//!
//! At the sigma of 2^44 grid units that the running sums use, a and b are below 1e-15 for a billion draws:
//! a negligible cost, which is charged nevertheless.

use serde::Serialize;

use super::gaussian;
use crate::{
    Result,
    error::{requested_delta, requested_epsilon},
    refuse_if,
};

/// The share of delta that the tail event of the theorem may take.
pub(crate) const TAIL_SHARE: f64 = 1e-12;

/// The least sigma whose sums are priced.
pub(crate) const LEAST_SUMMED: f64 = 64.0;

/// All the grid noise in a composition: how many draws, and the coarsest of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct GridNoise {
    /// Number of discrete Gaussians drawn.
    pub(crate) coordinates: f64,
    /// The smallest of their parameters, in grid units.
    pub(crate) sigma: f64,
    /// The distance of neighbours, in units of sigma, over all these draws.
    pub(crate) mu: f64,
}

/// The terms of the theorem at one tau.
pub(crate) struct Slack {
    /// ln of the factor on delta.
    pub(crate) factor: f64,
    /// The term added to epsilon: a + b.
    pub(crate) shift: f64,
}

impl GridNoise {
    /// The composition of two, priced with the coarser grid.
    pub(crate) fn join(self, other: Self) -> Self {
        GridNoise {
            coordinates: self.coordinates + other.coordinates,
            sigma: self.sigma.min(other.sigma),
            mu: libm::hypot(self.mu, other.mu),
        }
    }

    /// The composition of `times` copies.
    pub(crate) fn repeat(self, times: u64) -> Self {
        let times = times as f64;
        GridNoise { coordinates: self.coordinates * times, mu: self.mu * times.sqrt(), ..self }
    }

    /// The noise of the sum of `people` such reports.
    pub(crate) fn summed(self, people: u64) -> Self {
        let root = (people as f64).sqrt();
        GridNoise { sigma: self.sigma * root, mu: self.mu / root, ..self }
    }

    pub(crate) fn slack(&self, tau: f64) -> Slack {
        let unit = 1.0 / (24.0 * self.sigma * self.sigma);
        let x = -libm::log(tau);
        let radius =
            self.mu + (self.coordinates + 2.0 * (self.coordinates * x).sqrt() + 2.0 * x).sqrt();
        let factor = self.coordinates * unit * (1.0 + unit);
        Slack { factor, shift: factor + radius * radius * unit }
    }
}

/// The largest mu at which `coordinates` discrete Gaussians of parameter `sigma` or more are
/// (epsilon, delta)-DP.
pub(crate) fn largest_mu(epsilon: f64, delta: f64, coordinates: f64, sigma: f64) -> Result<f64> {
    let mu = gaussian::mu(requested_epsilon(epsilon)?, requested_delta(delta)?)?;
    let tau = TAIL_SHARE * delta;
    let slack = GridNoise { coordinates, sigma, mu }.slack(tau);
    let remedy = format_args!("the grid alone costs {:e}; expected more than that", slack.shift);
    refuse_if(slack.shift >= epsilon, "epsilon", epsilon, remedy)?;
    gaussian::mu(epsilon - slack.shift, (delta - tau) * libm::exp(-slack.factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exact delta of one discrete Gaussian on one integer (Canonne, Kamath, Steinke 2020, Theorem 7).
    fn exact_delta(epsilon: f64, sensitivity: i64, sigma: f64) -> f64 {
        let reach = (40.0 * sigma) as i64;
        let weight = |k: i64| (-0.5 * (k as f64 / sigma).powi(2)).exp();
        let total: f64 = (-reach..=reach).map(weight).sum();
        (-reach..=reach)
            .map(|k| (weight(k) - epsilon.exp() * weight(k + sensitivity)).max(0.0))
            .sum::<f64>()
            / total
    }

    fn bound(epsilon: f64, noise: GridNoise) -> f64 {
        let tau = TAIL_SHARE;
        let slack = noise.slack(tau);
        slack.factor.exp() * gaussian::delta(epsilon - slack.shift, noise.mu).unwrap() + tau
    }

    #[test]
    fn the_bound_covers_the_exact_discrete_gaussian_and_is_close() {
        for sigma in [8.0, 30.0, 300.0] {
            for sensitivity in [1, 7, 25] {
                let noise = GridNoise { coordinates: 1.0, sigma, mu: sensitivity as f64 / sigma };
                for epsilon in [0.3, 0.5, 1.0, 2.0] {
                    let exact = exact_delta(epsilon, sensitivity, sigma);
                    assert!(bound(epsilon, noise) >= exact * (1.0 - 1e-12));
                }
            }
        }
    }

    #[test]
    fn without_slack_the_gaussian_curve_is_below_the_truth_on_a_coarse_grid() {
        // The known-bad variant: pricing a coarse grid as if it were the real line.
        let noise = GridNoise { coordinates: 1.0, sigma: 2.0, mu: 1.0 };
        let mut below = 0;
        for step in 0..100 {
            let epsilon = 1.0 + 0.01 * f64::from(step);
            let exact = exact_delta(epsilon, 2, 2.0);
            below += u32::from(gaussian::delta(epsilon, noise.mu).unwrap() < exact);
            assert!(bound(epsilon, noise) >= exact);
        }
        assert!(below > 10, "{below}");
    }

    #[test]
    fn on_the_grid_of_the_running_sums_it_costs_nothing_visible() {
        let noise = GridNoise { coordinates: 1e9, sigma: 2f64.powi(43), mu: 0.9 };
        assert!(noise.slack(1e-30).shift < 1e-15);
    }
}
