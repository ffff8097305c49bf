//! Estimate of one agent's parameters: ridge regression on its private reports, and the width of its confidence set.
//!
//! ```text
//! G = sum x x^T + nu I,   g = sum u x,   theta^ = G^-1 g                                                        (10)
//! ||theta* - theta^||_G <= beta  for all rounds and agents at once, with probability 1 - delta'                  (11)
//! ```
//!
//! With `R'^2 = R^2 + sigma_m^2`, the noise of the response and of the randomiser (Lemma 3):
//!
//! - **the paper's** `beta = R' sqrt(d ln((1 + t K^2/nu) M/delta')) + S sqrt(nu)`, (12) with `S sqrt(nu)` where Theorem 2 of
//!   Abbasi-Yadkori, Pal and Szepesvari (2011) has it, outside the root, and with `2 ln(M/delta')` for d = 1, where (12) has half of it
//!   and would fail several times as often as stated;
//! - **the tight one** `beta = R' sqrt(ln det(G/nu) + 2 ln(M/delta')) + S sqrt(nu)`, their Theorem 2 before the determinant is bounded.
//!
//! Reports may come late and in any order: in the order of arrival each noise is fresh given what arrived before, as long as *when* a
//! report arrives does not depend on its noise.

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    error::{finite_vector, not_negative},
    linalg::{
        dot,
        ridge::{Ridge, Solution},
        triangle,
    },
    special::square,
};

/// Width beta of an agent's confidence set. It is for exact sums of one agent's private reports, where
/// [`bandit::Rule`](crate::bandit::Rule) is for sums that carry noise themselves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Confidence {
    /// (12), corrected.
    Paper,
    /// By the determinant.
    #[default]
    Tight,
    /// The tight width times a factor. Anything below 1 is not certified.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::NotNegative"))]
    Scaled(f64),
}

impl Confidence {
    /// Returns whether the width is a theorem's.
    pub fn certified(&self) -> bool {
        !matches!(self, Confidence::Scaled(factor) if *factor < 1.0)
    }

    pub(super) fn check(&self) -> Result<()> {
        match self {
            Confidence::Scaled(factor) => not_negative("confidence scale", *factor).map(drop),
            _ => Ok(()),
        }
    }
}

/// Parameters of the width of one agent's set, beside the data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentWidth {
    pub(super) confidence: Confidence,
    /// R'.
    pub(super) noise: f64,
    /// S.
    pub(super) parameter_bound: f64,
    /// K.
    pub(super) action_bound: f64,
    /// nu.
    pub(super) regularizer: f64,
    /// M / delta'.
    pub(super) odds: f64,
}

impl AgentWidth {
    /// beta after `reports` reports with `ln det(G/nu) = ln_growth`.
    pub(super) fn width(&self, dimension: usize, reports: u64, ln_growth: f64) -> f64 {
        let bias = self.parameter_bound * self.regularizer.sqrt();
        let tight = self.noise * (ln_growth + 2.0 * libm::log(self.odds)).max(0.0).sqrt() + bias;
        match self.confidence {
            Confidence::Tight => tight,
            Confidence::Scaled(factor) => factor * tight,
            Confidence::Paper => {
                let rounds = (reports + 1) as f64;
                let grown = 1.0 + rounds * square(self.action_bound) / self.regularizer;
                self.noise * dimension_logarithm(dimension, grown, self.odds).sqrt() + bias
            }
        }
    }
}

/// `d ln(1 + t K^2/nu) + max(d, 2) ln(M/delta')`: what stands under the root of (12), and for d = 1 what should.
pub fn dimension_logarithm(dimension: usize, grown: f64, odds: f64) -> f64 {
    dimension as f64 * libm::log(grown) + dimension.max(2) as f64 * libm::log(odds)
}

/// Ridge regression on one agent's reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Estimate {
    ridge: Ridge,
    /// `W`, lower triangular, `W^T W = G^-1`.
    whitening: Vec<f64>,
    theta: Vec<f64>,
    /// Direction to take while all directions are equal: a unit vector, drawn once.
    first_direction: Vec<f64>,
}

impl Estimate {
    /// Before the first report every direction is as good as another; the rule that breaks this tie is to draw one. From then on
    /// the rays `x ~ G theta^` keep to it until the ball binds, so an axis by convention could be the one that never answers.
    pub(super) fn new(regularizer: f64, first_direction: Vec<f64>) -> Self {
        let ridge = Ridge::new(first_direction.len(), regularizer);
        let (theta, whitening) = ridge.cold();
        Estimate { ridge, whitening, theta, first_direction }
    }

    /// Learns that action `x` was answered by the report `u`.
    pub(super) fn observe(&mut self, x: &[f64], u: f64) {
        let (theta, whitening) = (&mut self.theta, &mut self.whitening);
        self.ridge.observe(x, u, Solution { theta, whitening, direction: &mut vec![0.0; x.len()] });
    }

    /// Refuses a saved state whose parts do not fit together.
    pub(super) fn check(&self, dimension: usize) -> Result<()> {
        finite_vector("saved direction", &self.first_direction, dimension)?;
        self.ridge.check(dimension, &self.theta, &self.whitening)
    }

    /// The drawn direction, as long as nothing is known.
    pub(super) fn first_direction(&self) -> Option<&[f64]> {
        (self.ridge.rounds() == 0).then_some(&self.first_direction)
    }

    pub(super) fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// `g = G theta^`.
    pub(super) fn moment(&self) -> &[f64] {
        self.ridge.moment()
    }

    pub(super) fn regularizer(&self) -> f64 {
        self.ridge.regularizer()
    }

    pub(super) fn reports(&self) -> u64 {
        self.ridge.rounds()
    }

    pub(super) fn ln_growth(&self) -> f64 {
        self.ridge.ln_growth()
    }

    /// Upper triangle of G.
    pub(super) fn regularized_gram(&self) -> Vec<f64> {
        let d = self.theta.len();
        let mut gram = self.ridge.gram().to_vec();
        let mut at = 0;
        for row in 0..d {
            gram[at] += self.ridge.regularizer();
            at += d - row;
        }
        gram
    }

    /// `W x`.
    pub(super) fn whiten(&self, x: &[f64]) -> Vec<f64> {
        (0..x.len()).map(|i| dot(&self.whitening[triangle(i)..triangle(i + 1)], &x[..=i])).collect()
    }

    /// `||x||_{G^-1}`.
    pub(super) fn uncertainty(&self, x: &[f64]) -> f64 {
        let row = |i: usize| dot(&self.whitening[triangle(i)..triangle(i + 1)], &x[..=i]);
        (0..x.len()).map(|i| square(row(i))).sum::<f64>().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::Noise, release::testing::Seeded};

    /// The determinant is at most `(1 + t K^2/nu)^d`, so (12) is the wider one whatever the data are, in one dimension too.
    #[test]
    fn the_papers_width_is_never_below_the_tight_one() {
        let mut noise = Seeded(5);
        for dimension in 1..=4 {
            let rule = AgentWidth {
                confidence: Confidence::Tight,
                noise: 0.3,
                parameter_bound: 0.5,
                action_bound: 2.0,
                regularizer: 0.1,
                odds: 300.0,
            };
            let looser = AgentWidth { confidence: Confidence::Paper, ..rule };
            let mut first = vec![0.0; dimension];
            first[0] = 1.0;
            let mut estimate = Estimate::new(0.1, first);
            for reports in 0..300 {
                let width =
                    |rule: &AgentWidth| rule.width(dimension, reports, estimate.ln_growth());
                assert!(width(&looser) >= width(&rule), "{dimension} {reports}");
                let mut x: Vec<f64> = (0..dimension).map(|_| noise.standard_normal()).collect();
                let norm = dot(&x, &x).sqrt();
                x.iter_mut().for_each(|x| *x *= 2.0 / norm);
                estimate.observe(&x, 0.1);
            }
        }
    }
}
