//! The constants of Shariff and Sheffet (2018), restored: `paper` mode is these numbers and nothing else.
//!
//! n is the horizon, `m = ceil(log2 n + 1)` the depth of the tree, `L~^2 = L^2 + B~^2`. Logarithms are natural.

use serde::{Deserialize, Serialize};

use super::{Problem, Regularizer};
use crate::{
    Error, Result,
    error::{positive, probability, requested_epsilon},
    release::{Calibration, paper_levels, wishart_degrees},
};

/// Which of the publication's mechanisms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishedNoise {
    /// Symmetric Gaussian noise, section 4.2.
    #[default]
    Gaussian,
    /// Wishart noise with the shift c of (4) taken off, section 4.1.
    Wishart,
    /// Wishart noise as it is, section 4.1.
    WishartUnshifted,
}

impl PublishedNoise {
    /// Where its privacy is claimed.
    pub(super) fn source(self) -> &'static str {
        match self {
            PublishedNoise::Gaussian => "Shariff and Sheffet (2018), section 4.2",
            _ => "Shariff and Sheffet (2018), section 4.1",
        }
    }
}

/// Everything the published constants depend on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Published {
    problem: Problem,
    epsilon: f64,
    delta: f64,
    alpha: f64,
    horizon: u64,
}

impl Published {
    /// Refuses numbers the formulas have no meaning for.
    pub fn new(
        problem: Problem,
        epsilon: f64,
        delta: f64,
        alpha: f64,
        horizon: u64,
    ) -> Result<Self> {
        problem.check()?;
        requested_epsilon(epsilon)?;
        probability("delta", delta)?;
        probability("alpha", alpha)?;
        positive("horizon", horizon as f64)?;
        Ok(Published { problem, epsilon, delta, alpha, horizon })
    }

    /// m: nodes in every prefix.
    pub fn levels(&self) -> u32 {
        paper_levels(self.horizon)
    }

    /// `L~^2 = L^2 + B~^2`.
    pub fn squared_bound(&self) -> f64 {
        self.problem.feature_bound.powi(2) + self.problem.reward_bound.powi(2)
    }

    /// Deviation of one node's Gaussian noise, section 4.2: `4 sqrt(m) L~^2 ln(4/delta) / epsilon`.
    pub fn gaussian_deviation(&self) -> f64 {
        4.0 * f64::from(self.levels()).sqrt() * self.squared_bound() * (4.0 / self.delta).ln()
            / self.epsilon
    }

    /// Proposition 11: `Y = sigma sqrt(2m) (4 sqrt d + 2 ln(2n/alpha))`, shift 2Y once, `[Y, 3Y]`, gamma by its definition.
    ///
    /// `deviation` is that of one node, [`Published::gaussian_deviation`] in the paper: the bounds hold for any.
    pub fn gaussian_regularizer(&self, deviation: f64) -> Regularizer {
        let (m, root_d) = (f64::from(self.levels()), self.root_dimension());
        let log = (2.0 * self.horizon as f64 / self.alpha).ln();
        let upsilon = deviation * (2.0 * m).sqrt() * (4.0 * root_d + 2.0 * log);
        Regularizer {
            shift: 2.0 * upsilon,
            minimum: upsilon,
            maximum: 3.0 * upsilon,
            vector: deviation * (m / upsilon).sqrt() * (root_d + (2.0 * log).sqrt()),
        }
    }

    /// What one node has to give, section 4: `(epsilon / sqrt(8 m ln(2/delta)), delta / (2m))`.
    pub fn node_budget(&self) -> (f64, f64) {
        let m = f64::from(self.levels());
        (self.epsilon / (8.0 * m * (2.0 / self.delta).ln()).sqrt(), self.delta / (2.0 * m))
    }

    /// Degrees of freedom of one node's Wishart noise, section 4.1: Theorem 8 at the node's budget,
    /// `d + 1 + ceil(224 m epsilon^-2 ln(8m/delta) ln(2/delta))`.
    pub fn wishart_degrees(&self) -> f64 {
        let (epsilon, delta) = self.node_budget();
        wishart_degrees(self.problem.dimension, epsilon, delta)
    }

    /// The Wishart noise of section 4.1. Refuses an alpha so small that Proposition 9 bounds nothing.
    pub fn wishart_calibration(&self) -> Result<Calibration> {
        let (_, root, q) = self.wishart_parts();
        if root <= q {
            let remedy = format!(
                "Proposition 9 needs sqrt(mk) = {root:.1} above sqrt d + sqrt(2 ln(8n/alpha)) = {q:.1}: give a larger alpha"
            );
            return Err(Error::invalid("alpha", self.alpha, remedy));
        }
        let (node_epsilon, node_delta) = self.node_budget();
        Ok(Calibration::Wishart { node_epsilon, node_delta })
    }

    /// Proposition 9 without the shift.
    pub fn wishart_regularizer(&self) -> Regularizer {
        let (squared, root, q) = self.wishart_parts();
        Regularizer {
            shift: 0.0,
            minimum: squared * (root - q).powi(2),
            maximum: squared * (root + q).powi(2),
            vector: squared.sqrt() * self.vector_quantile(),
        }
    }

    /// Proposition 9 with the shift c of (4) taken off.
    pub fn shifted_wishart_regularizer(&self) -> Regularizer {
        let (squared, root, q) = self.wishart_parts();
        let minimum = 4.0 * squared * root * q;
        Regularizer {
            shift: minimum - squared * (root - q).powi(2),
            minimum,
            maximum: 2.0 * minimum,
            vector: (squared * root * self.vector_quantile()).sqrt(),
        }
    }

    /// `(L~^2, sqrt(m k), q = sqrt d + sqrt(2 ln(8n/alpha)))`.
    fn wishart_parts(&self) -> (f64, f64, f64) {
        let root = (f64::from(self.levels()) * self.wishart_degrees()).sqrt();
        let log = (8.0 * self.horizon as f64 / self.alpha).ln();
        (self.squared_bound(), root, self.root_dimension() + (2.0 * log).sqrt())
    }

    /// `sqrt d + sqrt(2 ln(2n/alpha))`.
    fn vector_quantile(&self) -> f64 {
        self.root_dimension() + (2.0 * (2.0 * self.horizon as f64 / self.alpha).ln()).sqrt()
    }

    fn root_dimension(&self) -> f64 {
        (self.problem.dimension as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The paper's setting: n = 5e7, d = 5, epsilon = 1, delta = 0.1, alpha = 1/n; figures of the design notes.
    fn setting() -> Published {
        Published::new(Problem::unit(5), 1.0, 0.1, 1.0 / 5e7, 50_000_000).unwrap()
    }

    #[test]
    fn the_gaussian_constants_are_those_of_the_notes() {
        let published = setting();
        assert_eq!(published.levels(), 27);
        assert!((published.gaussian_deviation() - 153.3).abs() < 0.05);
        let regularizer = published.gaussian_regularizer(published.gaussian_deviation());
        assert!((regularizer.minimum - 91546.0).abs() < 1.0, "{}", regularizer.minimum);
        assert_eq!(regularizer.shift, 2.0 * regularizer.minimum);
        // Two misreadings that are in circulation give other numbers: log2 for ln, and the shift per node.
        let log2 = 4.0 * 27f64.sqrt() * 2.0 * 40f64.log2();
        assert!((log2 - 153.3).abs() > 50.0);
        assert!(regularizer.shift * 27.0 > 1e6);
    }

    #[test]
    fn the_degrees_of_freedom_are_the_printed_ones() {
        let printed = 6.0 + (224.0 * 27.0 * (8.0 * 27.0 / 0.1f64).ln() * 20f64.ln()).ceil();
        assert_eq!(setting().wishart_degrees(), printed);
        // log2 for ln would be twice as many.
        assert!(printed < 0.6 * 224.0 * 27.0 * (8.0 * 27.0 / 0.1f64).log2() * 20f64.log2());
    }

    #[test]
    fn the_shift_enters_the_policy_once_and_not_per_node() {
        use crate::{
            bandit::Rule,
            release::{Domain, Release, testing::Seeded},
        };
        let published = setting();
        let regularizer = published.gaussian_regularizer(published.gaussian_deviation());
        let rule = Rule::Regularized {
            regularizer,
            failure_probability: Some(1.0 / 5e7),
            parameter_bound: 1.0,
            reward_noise: 1.0,
        };
        let rule = rule.plan(Domain::regression(5, 1.0, 1.0), None, None).unwrap();
        // A prefix of 27 nodes in which nothing was seen but u: theta = u / shift.
        let mut sums = vec![0.0; 20];
        sums[15] = 1e6;
        let domain = Domain::regression(5, 1.0, 1.0);
        let release =
            Release::simulated::<Seeded>(domain, (1 << 26) - 1, 1, sums, vec![1.0; 20]).unwrap();
        let theta = rule.policy(&release).unwrap().theta()[0];
        assert!((theta * 2.0 * 91546.0 / 1e6 - 1.0).abs() < 1e-4, "{theta}");
        // Planted: the shift of every node.
        assert!((theta * 27.0 * 2.0 * 91546.0 / 1e6 - 1.0).abs() > 1.0);
    }

    #[test]
    fn the_shifted_wishart_is_better_conditioned_and_its_shift_is_the_papers() {
        let published = setting();
        let (plain, shifted) =
            (published.wishart_regularizer(), published.shifted_wishart_regularizer());
        // Shifting moves both ends by c; (4) chooses c such that the lower end becomes 4 L~^2 sqrt(mk) q.
        let c = -shifted.shift;
        assert!((plain.minimum - c - shifted.minimum).abs() < 1e-6 * plain.minimum);
        assert!((plain.maximum - c - shifted.maximum).abs() < 1e-6 * plain.maximum);
        assert!(shifted.maximum < plain.maximum && c > 0.0);
    }
}
