//! LinUCB without privacy: the yardstick of every private variant.
//!
//! ```text
//! V_t = rho I + sum x x^T,   u_t = sum y x,   theta_t = V_t^-1 u_t
//! beta_t = sigma sqrt(2 ln(1/alpha) + ln det V_t - d ln rho) + S sqrt(rho)
//! choose argmax <theta_t, x> + beta_t ||x||_{V_t^-1}
//! ```
//!
//! Abbasi-Yadkori, Pal and Szepesvari, "Improved Algorithms for Linear Stochastic Bandits" (2011), Theorem 2:
//! with probability 1 - alpha, `||theta* - theta_t||_{V_t} <= beta_t` at all t at once, whoever chose the features.
//! It is Algorithm 1 of Shariff and Sheffet (2018) with a constant regulariser.
//!
//! A round costs `O(d^2)`: `W` with `W^T W = V^-1` follows each observation, and so does theta, by recursive least
//! squares. Their rounding errors would add up over millions of rounds, so both are made anew from the sums once
//! in [`REFRESH`] rounds.

use serde::{Deserialize, Serialize};

use super::{Arms, Policy};
use crate::{
    Error, Result,
    error::{finite_vector, not_negative, positive, probability},
    linalg::{Cholesky, dot, triangle, whitening::add_outer_product},
    saved,
};

/// Rounds between two factorisations from the sums.
const REFRESH: u64 = 1024;
/// Beyond this, squares and products of squares could overflow.
const LARGEST: f64 = 1e100;
/// Features may pass their bound by rounding.
const SLACK: f64 = 1.0 + 1e-9;
const KIND: &str = "linucb";

/// What LinUCB is told beforehand.
///
/// ```
/// use reticent::bandit::{Arms, LinUcbParams};
/// let mut learner = LinUcbParams { noise: 0.5, ..LinUcbParams::new(2) }.check()?;
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// for _ in 0..1000 {
///     let choice = learner.choose(&arms)?;
///     learner.update(&arms.arm(choice), if choice == 1 { 0.9 } else { 0.1 })?;
/// }
/// assert!((learner.policy().theta()[1] - 0.9).abs() < 0.01);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinUcbParams {
    /// Features of an arm, d.
    pub dimension: usize,
    /// No features are longer than this, L.
    pub feature_bound: f64,
    /// Rewards are their mean plus noise that is sub-Gaussian with this deviation, sigma.
    pub noise: f64,
    /// The unknown parameter is not longer than this, S.
    pub parameter_bound: f64,
    /// Weight of the prior guess that the parameter is zero, rho.
    pub regularizer: f64,
    /// The bounds may fail with this probability, alpha.
    pub confidence: f64,
}

impl LinUcbParams {
    /// Features and parameter within the unit ball, noise of deviation 1 (as rewards of +-1 have), rho = 1,
    /// alpha = 0.01.
    pub fn new(dimension: usize) -> Self {
        LinUcbParams {
            dimension,
            feature_bound: 1.0,
            noise: 1.0,
            parameter_bound: 1.0,
            regularizer: 1.0,
            confidence: 0.01,
        }
    }

    /// A learner that has seen nothing, or the parameter that stands in the way.
    pub fn check(&self) -> Result<LinUcb> {
        let d = self.dimension;
        if d == 0 {
            return Err(Error::invalid("dimension", d, "give a whole number above 0"));
        }
        positive("feature_bound", self.feature_bound)?;
        not_negative("noise", self.noise)?;
        not_negative("parameter_bound", self.parameter_bound)?;
        positive("regularizer", self.regularizer)?;
        probability("confidence", self.confidence)?;
        let numbers = [
            ("feature_bound", self.feature_bound),
            ("noise", self.noise),
            ("parameter_bound", self.parameter_bound),
            ("regularizer", self.regularizer),
            ("regularizer", 1.0 / self.regularizer),
        ];
        for (field, number) in numbers {
            if number > LARGEST.sqrt() {
                let remedy = format!("rescale: sizes above {:e} overflow", LARGEST.sqrt());
                return Err(Error::invalid(field, number, remedy));
            }
        }
        let mut whitening = vec![0.0; triangle(d)];
        for i in 0..d {
            whitening[triangle(i) + i] = 1.0 / self.regularizer.sqrt();
        }
        let mut learner = LinUcb {
            params: *self,
            gram: vec![0.0; triangle(d)],
            moment: vec![0.0; d],
            rounds: 0,
            decisions: 0,
            ln_growth: 0.0,
            ln_confidence: -2.0 * libm::log(self.confidence),
            prior_width: self.parameter_bound * self.regularizer.sqrt(),
            policy: Policy::new(vec![0.0; d], whitening, 0.0, 0.0),
            direction: vec![0.0; d],
        };
        learner.widen();
        Ok(learner)
    }
}

/// A LinUCB learner; made by [`LinUcbParams::check`].
///
/// Decisions and rewards need not alternate: a reward may come late, out of order, or never.
#[derive(Debug, Clone, PartialEq)]
pub struct LinUcb {
    params: LinUcbParams,
    /// Upper triangle of `sum x x^T`, row by row.
    gram: Vec<f64>,
    /// `sum y x`.
    moment: Vec<f64>,
    rounds: u64,
    decisions: u64,
    /// `ln det V - d ln rho`.
    ln_growth: f64,
    /// `2 ln(1/alpha)` and `S sqrt(rho)`: constants of the width.
    ln_confidence: f64,
    prior_width: f64,
    policy: Policy,
    /// Room for `V^-1 x`.
    direction: Vec<f64>,
}

/// A learner on disk; the width follows from the rest.
#[derive(Serialize, Deserialize)]
struct Saved {
    params: LinUcbParams,
    gram: Vec<f64>,
    moment: Vec<f64>,
    rounds: u64,
    decisions: u64,
    ln_growth: f64,
    theta: Vec<f64>,
    whitening: Vec<f64>,
}

impl LinUcb {
    /// What the learner was told beforehand.
    pub fn params(&self) -> &LinUcbParams {
        &self.params
    }

    /// The rule for choosing as it stands.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// How many rewards have come.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The arm with the largest upper confidence bound; exact ties fall differently each time.
    pub fn choose(&mut self, arms: &Arms) -> Result<usize> {
        let choice = self.policy.choose(arms, self.decisions)?;
        self.decisions += 1;
        Ok(choice)
    }

    /// Learns from the reward of an arm with these features. An error changes nothing.
    pub fn update(&mut self, features: &[f64], reward: f64) -> Result<()> {
        let params = &self.params;
        finite_vector("features", features, params.dimension)?;
        let squares = dot(features, features);
        if !(squares <= params.feature_bound * params.feature_bound * SLACK) {
            let remedy = format!("no longer than feature_bound = {}", params.feature_bound);
            let value = format!("of length {}", squares.sqrt());
            return Err(Error::invalid("features", value, remedy));
        }
        if !(reward.abs() <= LARGEST) {
            let remedy = format!("give a number, at most {LARGEST:e} in size");
            return Err(Error::invalid("reward", reward, remedy));
        }
        let surprise = reward - dot(&self.policy.theta, features);
        let growth = add_outer_product(&mut self.policy.whitening, features, &mut self.direction);
        let step = surprise / growth;
        for (theta, direction) in self.policy.theta.iter_mut().zip(&self.direction) {
            *theta += step * direction;
        }
        self.ln_growth += libm::log(growth);
        let mut rest = self.gram.as_mut_slice();
        for (i, x) in features.iter().enumerate() {
            let (row, below) = rest.split_at_mut(features.len() - i);
            rest = below;
            for (entry, other) in row.iter_mut().zip(&features[i..]) {
                *entry += x * other;
            }
            self.moment[i] += reward * x;
        }
        self.rounds += 1;
        if self.rounds % REFRESH == 0 {
            self.refresh();
        }
        self.widen();
        Ok(())
    }

    /// Makes the policy anew from the sums.
    fn refresh(&mut self) {
        let LinUcbParams { dimension, regularizer, .. } = self.params;
        let factor = Cholesky::of(dimension, &self.gram, regularizer);
        // Where the sums have drowned the regulariser, what was followed step by step is the better one.
        let Some(factor) = factor else { return };
        let Ok(theta) = factor.solve(&self.moment) else { return };
        self.policy.theta = theta;
        self.policy.whitening = factor.inverse_factor();
        let ln_growth = factor.ln_determinant() - dimension as f64 * libm::log(regularizer);
        self.ln_growth = ln_growth.max(0.0);
    }

    /// Brings the width up to date.
    fn widen(&mut self) {
        let logarithm = self.ln_confidence + self.ln_growth;
        self.policy.width = self.params.noise * logarithm.sqrt() + self.prior_width;
    }

    /// The whole state; protect these bytes as the data itself.
    pub fn save(&self) -> Vec<u8> {
        let saved = Saved {
            params: self.params,
            gram: self.gram.clone(),
            moment: self.moment.clone(),
            rounds: self.rounds,
            decisions: self.decisions,
            ln_growth: self.ln_growth,
            theta: self.policy.theta.clone(),
            whitening: self.policy.whitening.clone(),
        };
        saved::save(KIND, &saved)
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let saved: Saved = saved::load(KIND, bytes)?;
        let mut learner = saved.params.check()?;
        let d = saved.params.dimension;
        finite_vector("saved gram", &saved.gram, triangle(d))?;
        finite_vector("saved moment", &saved.moment, d)?;
        finite_vector("saved theta", &saved.theta, d)?;
        finite_vector("saved whitening", &saved.whitening, triangle(d))?;
        not_negative("saved ln_growth", saved.ln_growth)?;
        (learner.gram, learner.moment) = (saved.gram, saved.moment);
        (learner.rounds, learner.decisions) = (saved.rounds, saved.decisions);
        learner.ln_growth = saved.ln_growth;
        (learner.policy.theta, learner.policy.whitening) = (saved.theta, saved.whitening);
        learner.widen();
        Ok(learner)
    }
}
