//! The constants and bounds of paper 3 (Zibaie, Hutchinson, Pedarsani and Alizadeh), corrected.
//!
//! Theorem 2 (without its stray n), Lemmas 8, 10 and 13, (66) to (68) and Theorem 3. `sigma_m = alpha_m sigma` is the noise of agent m,
//! alpha the privacy vector, lambda the smallest eigenvalue of exploration.

use reticent::{
    Error, Result,
    error::{not_negative, positive, probability},
    geometry::Polytope,
    privacy::{Claim, Mode, gaussian},
    safe::{ResponsePrivacy, Simplex, dimension_logarithm},
};
use serde::{Deserialize, Serialize};

/// The delta at which the exact guarantee of the published noise is stated.
const CERTIFICATE_DELTA: f64 = 1e-5;

/// The noise of one agent: `sigma_m = level sensitivity sqrt(2 ln(1.25/delta)) / epsilon`, claimed to be `(epsilon / level, delta)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedResponse {
    /// The base epsilon.
    pub epsilon: f64,
    /// The delta.
    pub delta: f64,
    /// The sensitivity assumed: 2 in section III, 1 in Appendix E.
    pub sensitivity: f64,
    /// alpha_m of (8).
    pub level: f64,
}

impl PublishedResponse {
    /// Parameters of core's agent.
    pub fn privacy(&self) -> Result<ResponsePrivacy> {
        let PublishedResponse { epsilon, delta, sensitivity, level } = *self;
        let classic = gaussian::classic_sigma(epsilon, delta, sensitivity, Mode::Paper)?;
        let source = "Zibaie, Hutchinson, Pedarsani and Alizadeh, Fact 1, for one response";
        Ok(ResponsePrivacy::Sigma {
            sigma: positive("level", level)? * classic,
            delta: CERTIFICATE_DELTA,
            claim: Some(Claim::new(epsilon / level, delta, source)),
        })
    }
}

/// Everything the published bounds depend on beside the safe set and the privacy vector.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// d.
    pub dimension: usize,
    /// L: the Lipschitz constant of f.
    pub lipschitz: f64,
    /// K.
    pub action_bound: f64,
    /// S.
    pub parameter_bound: f64,
    /// R.
    pub response_noise: f64,
    /// sigma: the noise at privacy level 1.
    pub sigma: f64,
    /// lambda: the smallest eigenvalue of `E x x^T` during exploration.
    pub eigenvalue: f64,
    /// nu.
    pub regularizer: f64,
    /// delta'.
    pub failure: f64,
}

/// The regret bound of Theorem 2, with its parts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RegretBound {
    /// The rounds of exploration T' it needs.
    pub exploration: f64,
    /// Largest cost of exploration.
    pub exploring: f64,
    /// Largest cost of staying inside the shrunk set.
    pub shrinking: f64,
    /// Largest cost of not knowing the parameters.
    pub learning: f64,
    /// The sum.
    pub total: f64,
    /// T' exceeds the horizon: the theorem says nothing about this many rounds.
    pub exploration_exceeds_horizon: bool,
}

impl Published {
    /// Refuses numbers the formulas have no meaning for.
    pub fn check(&self) -> Result<()> {
        positive("dimension", self.dimension as f64)?;
        positive("lipschitz", self.lipschitz)?;
        positive("action_bound", self.action_bound)?;
        positive("parameter_bound", self.parameter_bound)?;
        not_negative("response_noise", self.response_noise)?;
        positive("sigma", self.sigma)?;
        positive("eigenvalue", self.eigenvalue)?;
        positive("regularizer", self.regularizer)?;
        probability("failure", self.failure).map(drop)
    }

    /// `R' = sqrt(R^2 + alpha^2 sigma^2)`.
    fn noise(&self, level: f64) -> f64 {
        self.response_noise.hypot(level * self.sigma)
    }

    fn check_levels(&self, levels: &[f64], agents: usize) -> Result<()> {
        self.check()?;
        if levels.len() != agents {
            let found = levels.len();
            return Err(Error::Dimension { field: "levels", expected: agents, found });
        }
        levels.iter().try_for_each(|&level| not_negative("levels", level).map(drop))?;
        if levels.iter().any(|&level| self.noise(level) == 0.0) {
            let remedy =
                "without any noise there is nothing to bound; expected R or every level above 0";
            return Err(Error::invalid("levels", 0, remedy));
        }
        Ok(())
    }

    /// beta_{T,m} of (12) for every agent, corrected for d = 1.
    pub fn widths(&self, levels: &[f64], horizon: u64) -> Result<Vec<f64>> {
        self.check_levels(levels, levels.len())?;
        let agents = levels.len() as f64;
        let grown = 1.0 + horizon as f64 * self.action_bound.powi(2) / self.regularizer;
        let log = dimension_logarithm(self.dimension, grown, agents / self.failure);
        let bias = self.parameter_bound * self.regularizer.sqrt();
        let width = |&level: &f64| self.noise(level) * log.sqrt() + bias;
        Ok(levels.iter().map(width).collect())
    }

    /// Theorem 2 with `T' = max(t_delta', t_h', (2/lambda)(beta T)^(2/3))` as in (66), for any polytope.
    pub fn regret(&self, polytope: &Polytope, levels: &[f64], horizon: u64) -> Result<RegretBound> {
        self.check_levels(levels, polytope.dimension())?;
        positive("horizon", horizon as f64)?;
        let widths = self.widths(levels, horizon)?;
        let widest = widths.iter().fold(0.0, |most: f64, w| most.max(*w));
        let scaled = polytope.scaled(&widths)?;
        let simplex = Simplex::of(polytope);
        let shrinkage = match &simplex {
            Some(simplex) => simplex.maximum_shrinkage(&widths)?,
            None => scaled.maximum_shrinkage()?,
        };
        let (k, lambda, nu) = (self.action_bound, self.eigenvalue, self.regularizer);
        let agents = levels.len() as f64;
        let rounds = horizon as f64;
        let concentration = 8.0 * k * k / lambda * (self.dimension as f64 / self.failure).ln();
        let nonempty = 8.0 * k * k / (lambda * shrinkage.powi(2)) - 2.0 * nu / lambda;
        let balance = 2.0 / lambda * (widest * rounds).powf(2.0 / 3.0);
        let exploration = concentration.max(nonempty).max(balance);
        let step =
            (2.0 * 2f64.sqrt() * k / (2.0 * nu + exploration * lambda).sqrt()).min(shrinkage);
        let sharpness = match &simplex {
            Some(simplex) => simplex.sharpness(&widths, step)?,
            None => scaled.sharpness(step)?,
        };
        let rest = (rounds - exploration).max(0.0);
        let exploring =
            2.0 * self.lipschitz * k * self.parameter_bound * exploration * agents.sqrt();
        let shrinking = self.lipschitz * widest * rest * sharpness;
        let squares: f64 = widths.iter().map(|w| w * w).sum();
        let d = self.dimension as f64;
        let log = (rounds * k * k / (d * nu)).ln_1p();
        let learning =
            self.lipschitz * shrinkage.max(2.0) * (2.0 * d * log * rest * squares).sqrt();
        Ok(RegretBound {
            exploration,
            exploring,
            shrinking,
            learning,
            total: exploring + shrinking + learning,
            exploration_exceeds_horizon: exploration > rounds,
        })
    }

    /// r(a) of Lemma 13: the bound on the simplex, divided by `(T^2 ln T)^(1/3)`, as T grows.
    ///
    /// ```text
    /// 2 L K (d (R^2 + max alpha^2 sigma^2))^(1/3) (2 S sqrt(M)/lambda + sqrt(M - 1 + (2 f(a) - 1)^2))          (67)
    /// ```
    pub fn rate(&self, simplex: &Simplex, levels: &[f64]) -> Result<f64> {
        self.check_levels(levels, simplex.dimension())?;
        let noises: Vec<f64> = levels.iter().map(|&level| self.noise(level)).collect();
        let sum: f64 = noises.iter().zip(simplex.reaches()).map(|(noise, c)| noise / c).sum();
        // f(a) of (68): the largest c_m / R'_m times that sum.
        let tightest =
            noises.iter().zip(simplex.reaches()).map(|(noise, c)| c / noise).fold(0.0, f64::max);
        let loudest = noises.iter().fold(0.0, |most: f64, noise| most.max(*noise));
        let agents = levels.len() as f64;
        let spread = (agents - 1.0 + (2.0 * tightest * sum - 1.0).powi(2)).sqrt();
        let cube = (self.dimension as f64 * loudest * loudest).cbrt();
        let explore = 2.0 * self.parameter_bound * agents.sqrt() / self.eigenvalue;
        Ok(2.0 * self.lipschitz * self.action_bound * cube * (explore + spread))
    }

    /// The factor of Theorem 3: `8 L^3 K^3 d M^(3/2) (2 S/lambda + sqrt(4 M - 3))^3`.
    fn budget_factor(&self, agents: usize) -> f64 {
        let agents = agents as f64;
        let bracket = 2.0 * self.parameter_bound / self.eigenvalue + (4.0 * agents - 3.0).sqrt();
        8.0 * (self.lipschitz * self.action_bound).powi(3)
            * self.dimension as f64
            * agents.powf(1.5)
            * bracket.powi(3)
    }

    /// The smallest budget U that Theorem 3 has a vector for: below, the tightest agent's level would be imaginary.
    ///
    /// `U^3 = R^2 (max c / min c)^2 8 L^3 K^3 d M^(3/2) (2 S/lambda + sqrt(4 M - 3))^3`.
    pub fn smallest_budget(&self, simplex: &Simplex) -> Result<f64> {
        self.check()?;
        let (least, most) = extremes(simplex.reaches());
        let ratio = self.response_noise * most / least;
        Ok((ratio * ratio * self.budget_factor(simplex.dimension())).cbrt())
    }

    /// a* of Theorem 3: the privacy vector with `r(a*) = budget` of which no level can be raised alone.
    ///
    /// A budget below [`Published::smallest_budget`] is refused, and that one named.
    pub fn unimprovable(&self, simplex: &Simplex, budget: f64) -> Result<Vec<f64>> {
        let smallest = self.smallest_budget(simplex)?;
        positive("budget", budget)?;
        let noise = budget.powi(3) / self.budget_factor(simplex.dimension());
        let (_, most) = extremes(simplex.reaches());
        let level = |c: &f64| {
            let square = noise * (c / most).powi(2) - self.response_noise.powi(2);
            // At the threshold itself rounding may take the difference below zero.
            let rounding = 1e-12 * self.response_noise.powi(2);
            if square < -rounding { None } else { Some(square.max(0.0).sqrt() / self.sigma) }
        };
        let levels: Option<Vec<f64>> = simplex.reaches().iter().map(level).collect();
        levels.ok_or_else(|| {
            let remedy = format!(
                "no privacy vector is that cheap: responses alone vary too much; expected at least {smallest}"
            );
            Error::invalid("budget", budget, remedy)
        })
    }
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, 0.0), |(least, most), &c| (c.min(least), c.max(most)))
}

/// The eigenvalue that the paper's own exploration has: one ball of radius r around 0 for all agents together, `r^2 / (4 M d)` (9).
pub fn joint_ball_eigenvalue(
    polytope: &Polytope,
    dimension: usize,
    parameter_bound: f64,
    action_bound: f64,
) -> f64 {
    // On ||X|| <= r the largest sum of |a_m| S ||x_m|| is S r ||a||.
    let reach = |(row, bound): (&Vec<f64>, &f64)| {
        let norm = row.iter().map(|a| a * a).sum::<f64>().sqrt();
        if norm > 0.0 { bound / (parameter_bound * norm) } else { f64::INFINITY }
    };
    let rows = polytope.rows().iter().zip(polytope.bounds());
    let radius = rows.map(reach).fold(action_bound, f64::min).max(0.0);
    radius * radius / (4.0 * polytope.dimension() as f64 * dimension as f64)
}

#[cfg(test)]
mod tests {
    use reticent::{noise::Noise, privacy::Guarantee, safe::AgentParams};

    use super::*;
    use crate::FastNoise;

    fn setting() -> (Published, Simplex) {
        let simplex = Simplex::new(&[1.0, 0.25, 0.5]).unwrap();
        let published = Published {
            dimension: 3,
            lipschitz: (0.64 + 0.02_f64).sqrt(),
            action_bound: 2.0,
            parameter_bound: 0.5,
            response_noise: 0.001,
            sigma: 0.5 * (2.0 * (1.25_f64 / 0.9).ln()).sqrt(),
            eigenvalue: joint_ball_eigenvalue(&simplex.polytope().unwrap(), 3, 0.5, 2.0),
            regularizer: 0.1,
            failure: 0.01,
        };
        (published, simplex)
    }

    /// Guarantee of one response under the noise of Appendix E: sensitivity 1, an agent that clips to a range of 1.
    fn promise(epsilon: f64, level: f64) -> Guarantee {
        let noise = PublishedResponse { epsilon, delta: 0.9, sensitivity: 1.0, level };
        let agent = AgentParams {
            dimension: 3,
            parameter_bound: 0.5,
            action_bound: 2.0,
            response_noise: 0.001,
            lower: -0.25,
            upper: 0.75,
            privacy: noise.privacy().unwrap(),
        };
        agent.check().unwrap().guarantee().unwrap().unwrap()
    }

    #[test]
    fn the_papers_noise_is_shown_with_what_it_gives() {
        let guarantee = promise(2.0, 1.0);
        let claim = guarantee.claimed().unwrap();
        assert!((claim.true_delta - 0.513).abs() < 1e-3, "{}", claim.true_delta);
        assert!((guarantee.epsilon() - 13.0).abs() < 0.05, "{}", guarantee.epsilon());
        assert!(claim.holds());
        // eps_m = eps / alpha_m breaks even delta = 0.9.
        for (level, delta) in [(0.5, 0.923), (0.25, 0.99997)] {
            let claim = promise(2.0, level).claimed().unwrap().clone();
            assert!((claim.true_delta - delta).abs() < 6e-4, "{}", claim.true_delta);
            assert!(!claim.holds());
        }
        let good = PublishedResponse { epsilon: 2.0, delta: 0.9, sensitivity: 1.0, level: 1.0 };
        for bad in [
            PublishedResponse { epsilon: 0.0, ..good },
            PublishedResponse { delta: 1.0, ..good },
            PublishedResponse { sensitivity: f64::NAN, ..good },
            PublishedResponse { level: -1.0, ..good },
        ] {
            assert!(bad.privacy().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_papers_own_setting_is_vacuous() {
        let (published, simplex) = setting();
        assert!((published.sigma - 0.4053).abs() < 1e-4);
        assert!((published.eigenvalue / 5.67e-4 - 1.0).abs() < 1e-3);
        let bound =
            published.regret(&simplex.polytope().unwrap(), &[1.0, 0.25, 0.5], 30_000).unwrap();
        assert!(bound.exploration_exceeds_horizon);
        assert!(bound.exploration > 2e7, "{}", bound.exploration);
        let balance = 2.0 / published.eigenvalue
            * (published.widths(&[1.0, 0.25, 0.5], 30_000).unwrap()[0] * 3e4).powf(2.0 / 3.0);
        assert!((balance / 7.5e6 - 1.0).abs() < 0.02, "{balance}");
        // r(a) (T^2 ln T)^(1/3), against the 2.2e4 that doing nothing costs.
        let rate = published.rate(&simplex, &[1.0, 0.25, 0.5]).unwrap();
        let printed = rate * (9e8 * 3e4_f64.ln()).cbrt();
        assert!((printed / 1.65e7 - 1.0).abs() < 0.01, "{printed}");
    }

    #[test]
    fn theorem_3_on_random_instances() {
        let mut noise = FastNoise::seeded(12);
        let mut worst: f64 = 0.0;
        for _ in 0..500 {
            let agents = 1 + noise.below(6) as usize;
            let mut between = |low: f64, high: f64| low + (high - low) * noise.uniform();
            let reaches: Vec<f64> = (0..agents).map(|_| between(0.1, 3.0)).collect();
            let simplex = Simplex::new(&reaches).unwrap();
            let published = Published {
                dimension: 1 + between(0.0, 5.0) as usize,
                lipschitz: between(0.1, 3.0),
                action_bound: between(0.1, 3.0),
                parameter_bound: between(0.1, 3.0),
                response_noise: if between(0.0, 1.0) < 0.3 { 0.0 } else { between(0.0, 0.2) },
                sigma: between(0.05, 3.0),
                eigenvalue: between(0.001, 0.5),
                regularizer: 0.1,
                failure: 0.01,
            };
            let smallest = published.smallest_budget(&simplex).unwrap();
            let budget = smallest * between(1.001, 3.0) + between(1e-3, 10.0);
            let levels = published.unimprovable(&simplex, budget).unwrap();
            let rate = published.rate(&simplex, &levels).unwrap();
            worst = worst.max((rate / budget - 1.0).abs());
            // No single level, and no set of levels, can be raised within the budget.
            for mask in 1_u32..1 << agents {
                for step in [1e-6, 0.01, 1.0] {
                    let mut raised = levels.clone();
                    for (m, level) in raised.iter_mut().enumerate() {
                        if mask >> m & 1 == 1 {
                            *level += step;
                        }
                    }
                    let after = published.rate(&simplex, &raised).unwrap();
                    assert!(after > budget * (1.0 + 1e-13), "{after} {budget}");
                }
            }
            if published.response_noise > 0.0 {
                // The threshold is exact: feasible at it, not below.
                assert!(published.unimprovable(&simplex, smallest).is_ok());
                let error = published.unimprovable(&simplex, smallest * (1.0 - 1e-9)).unwrap_err();
                assert!(error.to_string().contains(&format!("at least {smallest}")), "{error}");
            } else {
                assert_eq!(smallest, 0.0);
                // Corollary 1: proportional to c.
                let ratio = levels[0] / reaches[0];
                for (level, reach) in levels.iter().zip(&reaches) {
                    assert!((level / reach / ratio - 1.0).abs() < 1e-12);
                }
            }
        }
        assert!(worst < 1e-12, "{worst}");
    }

    #[test]
    fn the_rate_is_the_limit_of_the_bound() {
        let (published, simplex) = setting();
        let levels = [1.0, 0.25, 0.5];
        let rate = published.rate(&simplex, &levels).unwrap();
        let ratio = |horizon: u64| {
            let bound = published.regret(&simplex.polytope().unwrap(), &levels, horizon).unwrap();
            let rounds = horizon as f64;
            bound.total / (rounds * rounds * rounds.ln()).cbrt() / rate
        };
        let ratios = [1_u64 << 50, 1 << 56, 1 << 62].map(ratio);
        // S sqrt(nu) and the constants in the logarithm fade slowly.
        assert!(ratios[0] > ratios[1] && ratios[1] > ratios[2], "{ratios:?}");
        assert!(ratios[2] > 1.0 && ratios[2] < 1.35, "{ratios:?}");
    }

    #[test]
    fn one_dimension_has_the_whole_logarithm() {
        let (published, _) = setting();
        let line = Published { dimension: 1, ..published };
        let bias = 0.5 * 0.1_f64.sqrt();
        let grown = 1.0 + 1000.0 * 4.0 / 0.1;
        let exact = line.noise(1.0) * (f64::ln(grown) + 2.0 * f64::ln(300.0)).sqrt() + bias;
        assert!((line.widths(&[1.0; 3], 1000).unwrap()[0] / exact - 1.0).abs() < 1e-12);
    }

    #[test]
    fn bad_levels_are_refused() {
        let (published, simplex) = setting();
        let polytope = simplex.polytope().unwrap();
        assert!(published.regret(&polytope, &[1.0, 1.0], 100).is_err());
        assert!(published.rate(&simplex, &[1.0, -1.0, 0.5]).is_err());
        assert!(published.rate(&simplex, &[1.0, f64::NAN, 0.5]).is_err());
        let silent = Published { response_noise: 0.0, ..published };
        assert!(silent.rate(&simplex, &[1.0, 0.0, 0.5]).is_err());
        assert!(published.unimprovable(&simplex, -1.0).is_err());
        assert!(Published { eigenvalue: 0.0, ..published }.check().is_err());
    }
}
