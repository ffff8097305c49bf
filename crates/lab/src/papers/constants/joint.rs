//! The constants of Shariff and Sheffet (2018), in two readings, and the parameters of core's curator that have them.
//!
//! n is the horizon, `m = 1 + ceil(log2 n)` the depth of the tree, `L~^2 = L^2 + B~^2`. Logarithms are natural.
//!
//! | | [`Constants::Authors`], `paper` mode | [`Constants::Printed`], `printed` mode |
//! | --- | --- | --- |
//! | source | the authors' own program | the paper's text, restored |
//! | Gaussian tree | the noise of all m levels in every sum | one noise per node of the prefix |
//! | alpha' of every bound on noise | `alpha / (2 * 2^(m-1))` | `alpha / (2n)` |
//! | alpha of the confidence set | `alpha / 2` | `alpha` |
//! | budget of a Wishart node, `delta_f = delta/(m+1)` | `epsilon / sqrt(8 m ln(1/delta_f))`, `(delta - delta_f)/m` | `epsilon / sqrt(8 m ln(2/delta))`, `delta/(2m)` |
//! | its degrees of freedom | rounded down | rounded up |
//! | gamma of the shifted Wishart | the unshifted one, by the shift | its simplification in Proposition 9 |
//!
//! | file | contents |
//! | --- | --- |
//! | `mechanism` | `mechanism` and `mode` of files and of Python |
//! | `regularizers` | rho_min, rho_max, gamma and the shift of each mechanism |
//! | `in_place` | the constants in parameters that were given for `exact` mode |

use reticent::{
    Result,
    bandit::{JointParams, Regularizer, Rule},
    error::{positive, probability},
    privacy::Claim,
    randomize::Bounds,
    release::{Calibration, Mechanism, Schedule, wishart_degrees},
};
use serde::{Deserialize, Serialize};

use super::Problem;
pub use in_place::{in_place_of, params};
pub use mechanism::{JointMechanism, JointMode};

mod in_place;
mod mechanism;
mod regularizers;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wishart_tests;

/// The publication's mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishedNoise {
    /// Symmetric Gaussian noise, section 4.2.
    GaussianTree,
    /// Wishart noise with the shift c of (4) taken off, section 4.1.
    Wishart,
    /// Wishart noise as it is, section 4.1.
    WishartUnshifted,
    /// The Gaussian noise with the shift that minimises the authors' bound on regret; in their program only.
    GaussianOpt,
    /// The Wishart noise with such a shift; in their program only.
    WishartOpt,
}

impl PublishedNoise {
    /// All of them, by the names that files and Python have for them.
    pub const NAMED: [(&'static str, PublishedNoise); 5] = [
        ("gaussian_tree", PublishedNoise::GaussianTree),
        ("wishart", PublishedNoise::Wishart),
        ("wishart_unshifted", PublishedNoise::WishartUnshifted),
        ("gaussian_opt", PublishedNoise::GaussianOpt),
        ("wishart_opt", PublishedNoise::WishartOpt),
    ];

    /// True if the noise is Gaussian.
    pub fn is_gaussian(self) -> bool {
        matches!(self, PublishedNoise::GaussianTree | PublishedNoise::GaussianOpt)
    }

    /// Place of its claim on privacy.
    pub fn source(self) -> &'static str {
        match self.is_gaussian() {
            true => "Shariff and Sheffet (2018), section 4.2",
            false => "Shariff and Sheffet (2018), section 4.1",
        }
    }
}

/// Reading of the publication: the text's or the authors' program's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constants {
    /// That of the authors' program, with which their figures were made.
    #[default]
    Authors,
    /// That of the text.
    Printed,
}

/// Everything the published constants depend on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Published {
    problem: Problem,
    epsilon: f64,
    delta: f64,
    alpha: f64,
    horizon: u64,
    constants: Constants,
}

impl Published {
    /// The authors' constants; refuses numbers the formulas have no meaning for.
    pub fn new(
        problem: Problem,
        epsilon: f64,
        delta: f64,
        alpha: f64,
        horizon: u64,
    ) -> Result<Self> {
        problem.check()?;
        positive("epsilon", epsilon)?;
        probability("delta", delta)?;
        probability("alpha", alpha)?;
        positive("horizon", horizon as f64)?;
        let constants = Constants::Authors;
        Ok(Published { problem, epsilon, delta, alpha, horizon, constants })
    }

    /// The same in this reading.
    pub fn reading(self, constants: Constants) -> Self {
        Published { constants, ..self }
    }

    /// m: nodes in every prefix, `1 + ceil(log2 n)`.
    pub fn levels(&self) -> u32 {
        self.horizon.saturating_sub(1).checked_ilog2().map_or(1, |floor| floor + 2)
    }

    /// The tree of the Gaussian noise.
    pub fn gaussian_tree(&self) -> Mechanism {
        let levels = Some(self.levels());
        match self.constants {
            Constants::Authors => Mechanism::PaddedTree { levels },
            Constants::Printed => Mechanism::Tree { levels },
        }
    }

    /// Deviation of one coordinate of a prefix, the sum of m nodes, with the Gaussian noise of section 4.2.
    pub fn prefix_deviation(&self) -> f64 {
        f64::from(self.levels()).sqrt() * self.gaussian_deviation()
    }

    /// `L~^2 = L^2 + B~^2`.
    pub fn squared_bound(&self) -> f64 {
        self.problem.feature_bound().powi(2) + self.problem.reward_bound().powi(2)
    }

    /// Deviation of one node's Gaussian noise, section 4.2: `4 sqrt(m) L~^2 ln(4/delta) / epsilon`.
    pub fn gaussian_deviation(&self) -> f64 {
        4.0 * f64::from(self.levels()).sqrt() * self.squared_bound() * (4.0 / self.delta).ln()
            / self.epsilon
    }

    /// The epsilon and delta that one Wishart node is made for.
    pub fn node_budget(&self) -> (f64, f64) {
        let (m, Published { epsilon, delta, .. }) = (f64::from(self.levels()), *self);
        let node = |failing: f64, times: f64| {
            (epsilon / (8.0 * times * (1.0 / failing).ln()).sqrt(), (delta - failing) / times)
        };
        match self.constants {
            Constants::Printed => node(delta / 2.0, m),
            // One node is not composed.
            Constants::Authors if m == 1.0 => (epsilon, delta),
            Constants::Authors => node(delta / (m + 1.0), m),
        }
    }

    /// Degrees of freedom of one node's Wishart noise, by Theorem 8 at the node's budget: `d + 1 + 28 epsilon_0^-2 ln(4/delta_0)`.
    pub fn wishart_degrees(&self) -> f64 {
        let (epsilon, delta) = self.node_budget();
        let dimension = self.problem.bounds.dimension;
        match self.constants {
            Constants::Printed => wishart_degrees(dimension, epsilon, delta),
            Constants::Authors => {
                (dimension + 1) as f64 + (28.0 / (epsilon * epsilon) * (4.0 / delta).ln()).floor()
            }
        }
    }

    /// The Wishart noise of section 4.1, at the budget of a node that Theorem 8 proves for its degrees of freedom. Refuses an alpha so small that
    /// Proposition 9 bounds nothing.
    pub fn wishart_calibration(&self) -> Result<Calibration> {
        self.check_wishart_bounds()?;
        let (epsilon, node_delta) = self.node_budget();
        let node_epsilon = match self.constants {
            Constants::Printed => epsilon,
            // Rounded down, the degrees are those of a slightly larger epsilon; the margin is for the rounding of this quotient.
            Constants::Authors => {
                let free = self.wishart_degrees() - (self.problem.bounds.dimension + 1) as f64;
                (28.0 * (4.0 / node_delta).ln() / free).sqrt() * (1.0 + 1e-12)
            }
        };
        Ok(Calibration::Wishart { node_epsilon, node_delta })
    }

    /// alpha of the confidence set.
    fn failure_probability(&self) -> f64 {
        match self.constants {
            Constants::Authors => 0.5 * self.alpha,
            Constants::Printed => self.alpha,
        }
    }

    /// The confidence set of Proposition 4 with these bounds.
    pub fn rule(&self, regularizer: Regularizer) -> Rule {
        let (parameter_bound, reward_noise) = self.problem.in_units();
        let failure_probability = Some(self.failure_probability());
        Rule::Regularized { regularizer, failure_probability, parameter_bound, reward_noise }
    }

    /// Core's curator with the tree, the noise and the confidence set of the publication, a release after every round, beside its claim.
    ///
    /// ```
    /// use reticent::noise::SecureNoise;
    /// use reticent_lab::papers::constants::{Problem, joint::{Published, PublishedNoise}};
    /// let published = Published::new(Problem::unit(2), 1.0, 1e-6, 1e-5, 100_000)?;
    /// let learner = published.params(PublishedNoise::Wishart)?.check()?.start(SecureNoise::from_system()?);
    /// let guarantee = learner.guarantee()?;
    /// assert!(guarantee.epsilon() < 1.0);
    /// assert!(guarantee.claimed().unwrap().holds());
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn params(&self, noise: PublishedNoise) -> Result<JointParams> {
        self.params_over(self.problem.bounds, noise)
    }

    fn params_over(&self, bounds: Bounds, noise: PublishedNoise) -> Result<JointParams> {
        let levels = Some(self.levels());
        let (calibration, mechanism) = match noise.is_gaussian() {
            true => (Calibration::Sigma(self.gaussian_deviation()), self.gaussian_tree()),
            false => (self.wishart_calibration()?, Mechanism::Tree { levels }),
        };
        Ok(JointParams {
            rule: self.rule(self.regularizer(noise)?),
            mechanism: Some(mechanism),
            schedule: Schedule::EveryRound,
            split: noise.is_gaussian().then(|| self.split()),
            calibration: Some(calibration),
            claim: Some(Claim::new(self.epsilon, self.delta, noise.source())),
            ..JointParams::new(bounds, self.epsilon, self.delta, Some(self.horizon))
        })
    }

    /// The same Gaussian noise on x y as on x x^T: that is the split (B/L)^2.
    fn split(&self) -> f64 {
        (self.problem.reward_bound() / self.problem.feature_bound()).powi(2)
    }
}
