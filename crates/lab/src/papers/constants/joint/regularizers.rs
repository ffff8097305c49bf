//! rho_min, rho_max, gamma and the shift of each mechanism: Propositions 9 and 11, and the shifts that the authors' program searches for.
//!
//! Each bound holds with probability 1 - alpha' in one round. With `q = sqrt d + sqrt(2 ln(4/alpha'))` and k degrees of freedom
//!
//! ```text
//! Gaussian:   Y = sigma sqrt(2m) (4 sqrt d + 2 ln(1/alpha')),   [Y, 3Y] with the shift 2Y,   gamma = sigma sqrt(m/Y) (sqrt d + sqrt(2 ln(1/alpha')))
//! Wishart:    L~^2 (sqrt(mk) -+ q)^2,   gamma = L~ (sqrt d + sqrt(2 ln(1/alpha')))
//! shifted:    rho_min' = 4 L~^2 sqrt(mk) q,   rho_max' = 2 rho_min',   gamma' = gamma sqrt(rho_min/rho_min')
//! ```

use reticent::{Error, Result, bandit::Regularizer};

use super::{Constants, Published, PublishedNoise};
use crate::papers::constants::regret;

impl Published {
    /// The bounds of this mechanism. Those of the text have no searched shift.
    pub fn regularizer(&self, noise: PublishedNoise) -> Result<Regularizer> {
        let gaussian = |log| self.gaussian_bounds(self.gaussian_deviation(), log);
        let wishart = |log| self.wishart_bounds(log);
        Ok(match (noise, self.constants) {
            (PublishedNoise::GaussianTree, _) => gaussian(self.log_failure()),
            (PublishedNoise::WishartUnshifted, _) => wishart(self.log_failure()),
            (PublishedNoise::Wishart, _) => self.shifted_wishart_regularizer(),
            (PublishedNoise::GaussianOpt, Constants::Authors) => self.searched(gaussian),
            (PublishedNoise::WishartOpt, Constants::Authors) => self.searched(wishart),
            (_, Constants::Printed) => {
                let name = PublishedNoise::NAMED.iter().find(|(_, named)| *named == noise);
                let remedy = "the text has no searched shift: give mode = \"paper\"";
                return Err(Error::invalid("mechanism", name.map_or("", |named| named.0), remedy));
            }
        })
    }

    /// Proposition 11: see the head of this file. `deviation` is that of one node, [`Published::gaussian_deviation`] in the paper: the bounds hold for
    /// any.
    pub fn gaussian_regularizer(&self, deviation: f64) -> Regularizer {
        self.gaussian_bounds(deviation, self.log_failure())
    }

    /// Proposition 9 with the shift c of (4) taken off. The text simplifies gamma' to `sqrt(L~^2 sqrt(mk) (sqrt d + sqrt(2 ln(1/alpha'))))`, which is
    /// about twice as large.
    pub fn shifted_wishart_regularizer(&self) -> Regularizer {
        let log = self.log_failure();
        let root = self.wishart_root();
        let minimum = 4.0 * self.squared_bound() * root * self.eigenvalue_quantile(log);
        let shifted = self.wishart_bounds(log).shifted_to(minimum);
        match self.constants {
            Constants::Authors => shifted,
            Constants::Printed => {
                let squared = self.squared_bound() * root * self.vector_quantile(log);
                Regularizer { vector: squared.sqrt(), ..shifted }
            }
        }
    }

    /// Refuses an alpha so small that Proposition 9 bounds nothing.
    pub(super) fn check_wishart_bounds(&self) -> Result<()> {
        let (root, q) = (self.wishart_root(), self.eigenvalue_quantile(self.log_failure()));
        let remedy = format_args!(
            "Proposition 9 needs sqrt(mk) = {root:.1} above sqrt d + sqrt(2 ln(4/alpha')) = {q:.1}; expected a larger alpha"
        );
        reticent::refuse_if(root <= q, "alpha", self.alpha, remedy)
    }

    /// The shift that minimises the bound of the proof of Theorem 5, by golden sections over ln rho_min between 1 and the square of the unshifted
    /// rho_min. The authors' search divides alpha by n, the mechanism itself by the tree's 2^(m-1).
    fn searched(&self, bounds: impl Fn(f64) -> Regularizer) -> Regularizer {
        let during = bounds((2.0 * self.horizon as f64 / self.alpha).ln());
        let bound = |log_minimum: f64| {
            let regularizer = during.shifted_to(log_minimum.exp());
            regret::regret_of_proof(&self.problem, &regularizer, 0.5 * self.alpha, self.horizon)
        };
        let highest = 2.0 * during.minimum.max(1.0).ln();
        bounds(self.log_failure()).shifted_to(golden_section(0.0, highest, bound).exp())
    }

    fn gaussian_bounds(&self, deviation: f64, log: f64) -> Regularizer {
        let (m, root_d) = (f64::from(self.levels()), self.root_dimension());
        let upsilon = deviation * (2.0 * m).sqrt() * (4.0 * root_d + 2.0 * log);
        Regularizer {
            shift: 2.0 * upsilon,
            minimum: upsilon,
            maximum: 3.0 * upsilon,
            vector: deviation * (m / upsilon).sqrt() * self.vector_quantile(log),
        }
    }

    fn wishart_bounds(&self, log: f64) -> Regularizer {
        let (squared, root) = (self.squared_bound(), self.wishart_root());
        let q = self.eigenvalue_quantile(log);
        Regularizer {
            shift: 0.0,
            minimum: squared * (root - q).powi(2),
            maximum: squared * (root + q).powi(2),
            vector: squared.sqrt() * self.vector_quantile(log),
        }
    }

    /// `ln(1/alpha')`.
    fn log_failure(&self) -> f64 {
        let rounds = match self.constants {
            Constants::Authors => 2f64.powi(self.levels() as i32 - 1),
            Constants::Printed => self.horizon as f64,
        };
        (2.0 * rounds / self.alpha).ln()
    }

    /// `sqrt(m k)`.
    fn wishart_root(&self) -> f64 {
        (f64::from(self.levels()) * self.wishart_degrees()).sqrt()
    }

    /// `sqrt d + sqrt(2 ln(4/alpha'))`, by `log = ln(1/alpha')`.
    fn eigenvalue_quantile(&self, log: f64) -> f64 {
        self.root_dimension() + (2.0 * (4f64.ln() + log)).sqrt()
    }

    /// `sqrt d + sqrt(2 ln(1/alpha'))`.
    fn vector_quantile(&self, log: f64) -> f64 {
        self.root_dimension() + (2.0 * log).sqrt()
    }

    fn root_dimension(&self) -> f64 {
        (self.problem.bounds.dimension as f64).sqrt()
    }
}

/// The place in `[low, high]` at which a function with one minimum is least.
fn golden_section(low: f64, high: f64, function: impl Fn(f64) -> f64) -> f64 {
    let share = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = (low, high);
    // 60 sections leave less than 1e-12 of the interval.
    for _ in 0..60 {
        let part = share * (high - low);
        if function(high - part) < function(low + part) {
            high = low + part
        } else {
            low = high - part
        }
    }
    0.5 * (low + high)
}
