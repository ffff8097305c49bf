//! The constants of Ene, Nguyen and Vladu, as printed: `paper` mode is these numbers and nothing else.
//!
//! ```text
//! T_round = T_batch = T^(1/2),   zeta = D n^(1/2) / T^(1/4),   eta = D / (T^(3/4) n^(1/2) L)          (Algorithm 1)
//! Laplace:   lambda = T^(1/2) n L ln T / epsilon                                                       (Lemma 5.1)
//! Gaussian:  sigma = T^(1/4) n^(1/2) L ln T ln(T/delta) (l + sqrt((1 + T^(1/2)/n) l)) / epsilon,
//!            l = ln((n + T)/delta)                                                                     (Lemma 5.4)
//! ```
//!
//! **What they give.** Lemma 5.1's own l1 bound is `T^(3/4) n L`, not the `T^(1/2) n L` that it is printed with, and
//! Lemma 5.4 drops Lemma 5.3's factor 10. Neither matters: directions are public, one loss moves one clipped
//! number, so the exact sensitivity `n L D / zeta` is far smaller than either bound, the claims hold with much
//! to spare, and nothing is learnt under so much noise.

use serde::{Deserialize, Serialize};

use crate::{Result, error::positive};

/// Everything the printed constants depend on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PublishedBandit {
    /// T.
    horizon: f64,
    /// n, of the affine hull.
    dimension: f64,
    /// L.
    lipschitz: f64,
    /// D.
    diameter: f64,
}

impl PublishedBandit {
    /// Refuses numbers the formulas have no meaning for.
    pub fn new(horizon: u64, dimension: usize, lipschitz: f64, diameter: f64) -> Result<Self> {
        Ok(PublishedBandit {
            horizon: positive("horizon", horizon as f64)?,
            dimension: positive("dimension", dimension as f64)?,
            lipschitz: positive("lipschitz", lipschitz)?,
            diameter: positive("diameter", diameter)?,
        })
    }

    /// T_batch.
    pub fn batch(&self) -> u64 {
        (self.horizon / self.horizon.sqrt().floor()) as u64
    }

    /// zeta.
    pub fn smoothing(&self) -> f64 {
        self.diameter * self.dimension.sqrt() / self.horizon.powf(0.25)
    }

    /// eta.
    pub fn step(&self) -> f64 {
        self.diameter / (self.horizon.powf(0.75) * self.dimension.sqrt() * self.lipschitz)
    }

    /// eps_cg, a distance.
    pub fn tolerance(&self) -> f64 {
        self.diameter / (self.batch() as f64).sqrt()
    }

    /// lambda, the scale of a node's Laplace noise.
    pub fn laplace_scale(&self, epsilon: f64) -> f64 {
        self.horizon.sqrt() * self.dimension * self.lipschitz * self.horizon.ln() / epsilon
    }

    /// sigma, the deviation of a node's Gaussian noise.
    pub fn gaussian_deviation(&self, epsilon: f64, delta: f64) -> f64 {
        let (t, n) = (self.horizon, self.dimension);
        let log = ((n + t) / delta).ln();
        t.powf(0.25) * n.sqrt() * self.lipschitz * t.ln() * (t / delta).ln() / epsilon
            * (log + ((1.0 + t.sqrt() / n) * log).sqrt())
    }

    /// `ceil(log2 T_round)`: noises in every prefix, dummies included (Algorithm 4).
    pub fn padding(&self) -> u32 {
        ((self.horizon / self.batch() as f64).floor() as u64).next_power_of_two().ilog2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_are_those_of_algorithm_1_and_its_lemmas() {
        let paper = PublishedBandit::new(1_000_000, 20, 1.0, 2.0).unwrap();
        assert_eq!((paper.batch(), paper.padding()), (1000, 10));
        assert!((paper.smoothing() - 0.282_842_712).abs() < 1e-8);
        assert!((paper.step() - 2.0 / (31_622.776_6 * 4.472_135_95)).abs() < 1e-12);
        assert!((paper.laplace_scale(1.0) - 1000.0 * 20.0 * 13.815_510_56).abs() < 1e-2);
        // 31.62 * 4.472 * 13.8155 * ln(1e12) * (l + sqrt(51 l)), l = ln(1.00002e12).
        let l = 1.000_02e12_f64.ln();
        let expected =
            31.622_776_6 * 4.472_135_95 * 13.815_510_56 * 27.631_021_1 * (l + (51.0 * l).sqrt());
        assert!((paper.gaussian_deviation(1.0, 1e-6) / expected - 1.0).abs() < 1e-6);
        assert!(PublishedBandit::new(0, 2, 1.0, 1.0).is_err());
        assert!(PublishedBandit::new(9, 2, f64::NAN, 1.0).is_err());
    }
}
