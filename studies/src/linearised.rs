//! Clicks by working responses: one noisy Gram matrix and one noisy gradient a release.
//!
//! ```text
//! z = o + <x, theta>, clipped to where w = mu (1 - mu) is at most w_max <= 1/4;   mu = sigmoid(z);   theta: the last released one, o: the log-odds of the nominal rate
//! a person contributes  w x x^T  and  (w (z - o) + y - mu) x;                     theta' = (H + lambda I)^-1 b,   score <theta', x> + width |x|_(H + lambda I)^-1
//! ```
//!
//! This is Newton's method for the logistic likelihood (iteratively reweighted least squares), each person linearised once, around what was known then.
//! The nominal rate and the multiple of `rate (1 - rate)` at which w is capped are public; clipping z, and not w alone, keeps the parabola tangent to
//! the loss.
//!
//! **Privacy, with a curator.** theta follows from earlier releases, so that a contribution is a function of one person's (x, y) and of what is public. Both
//! parts are clipped: `sqrt(w) x` to norm `sqrt(w_max)` and the vector to a public norm of at most 1. Two running sums of the core with the sensitivities of their domains
//! release them; mu^2 is divided between the two, and their events compose. The noise of running sums covers contributions that are chosen after
//! earlier releases were seen (`Event::GridGaussian`).
//!
//! **Privacy, local.** The person's device makes `x'' = 2 sqrt(c) x` and `y'' = 2 sqrt(c) (z - o + (y - mu) / c)` with a constant curvature c,
//! which is public, and core's local protocol randomises them as it does any features and rewards within these bounds.

use std::sync::Arc;

use reticent::{
    bandit::{Arms, Guide, LocalParams, LocalPlan, Model, Policy, Rule, Server},
    linalg::{Cholesky, SymmetricEigen},
    noise::Noise,
    privacy::{Event, Guarantee, TrustModel, gaussian},
    randomize::{Bounds, Person, ReportParams},
    release::{
        Calibration, Domain, PrivateSum, PrivateSumParams, PrivateSumPlan, Release, Schedule,
    },
};

use super::click_environment::{DIMENSION, dot, sigmoid};
use reticent_lab::{
    FastNoise, Result,
    algorithm::bandit::Budget,
    play::{Learner, trial::mix},
};

/// The largest norm of theta, and with it of the log-odds.
const LARGEST: f64 = 12.0;
/// The ridge in units of the accumulated noise, as the default rule has it.
const RIDGE: f64 = 3.0;
/// w is at least this share of its cap.
const LEAST_SHARE: f64 = 1.0 / 16.0;
/// The share of mu^2 that the vector part has.
const VECTOR_SHARE: f64 = 0.7;

/// Parameters of a [`Linearised`].
#[derive(Debug, Clone, Copy)]
pub(super) struct LinearisedParams {
    pub(super) rounds: u64,
    pub(super) privacy: Budget,
    /// The nominal click rate.
    pub(super) rate: f64,
    /// The norm to which the vector part is clipped.
    pub(super) bound: f64,
    /// `w_max` in units of `rate (1 - rate)`.
    pub(super) cap: f64,
    /// The bonus in deviations.
    pub(super) width: f64,
}

/// Calibrated noise with its guarantee.
#[derive(Clone)]
pub(super) struct LinearisedPlan {
    params: LinearisedParams,
    gram: PrivateSumPlan,
    gradient: PrivateSumPlan,
    pub(super) guarantee: Guarantee,
}

/// The mu of a budget, less what the grid costs.
pub(super) fn mu_of(privacy: Budget) -> Result<f64> {
    Ok(gaussian::mu(privacy.epsilon, privacy.delta)? * (1.0 - 1e-6))
}

/// A running sum of contributions to a domain at this mu.
pub(super) fn running_sum(
    domain: Domain,
    rounds: u64,
    privacy: Budget,
    mu: f64,
) -> Result<PrivateSumPlan> {
    let params = PrivateSumParams {
        schedule: Schedule::suited(privacy.epsilon),
        ..PrivateSumParams::new(domain, Some(rounds), Calibration::Mu(mu))
    };
    Ok(params.check()?)
}

impl LinearisedParams {
    fn largest_weight(&self) -> f64 {
        (self.cap * self.rate * (1.0 - self.rate)).min(0.25)
    }

    /// Calibrates both sums.
    pub(super) fn check(&self) -> Result<LinearisedPlan> {
        let mu = mu_of(self.privacy)?;
        let (dimension, bound) = (DIMENSION, self.largest_weight().sqrt());
        let sum =
            |domain, share: f64| running_sum(domain, self.rounds, self.privacy, mu * share.sqrt());
        let gram = sum(Domain::Symmetric { dimension, bound }, 1.0 - VECTOR_SHARE)?;
        let gradient = sum(Domain::Vector { dimension, bound: self.bound }, VECTOR_SHARE)?;
        let both = Event::Composed { events: vec![gram.event(), gradient.event()] };
        let guarantee = Guarantee::of(&both, TrustModel::Joint, self.privacy.delta)?.simulated();
        Ok(LinearisedPlan { params: *self, gram, gradient, guarantee })
    }
}

impl LinearisedPlan {
    pub(super) fn start<N: Noise>(&self, mut noise: N) -> Result<Linearised<N>> {
        let other = noise.split()?;
        Ok(Linearised {
            params: self.params,
            gram: self.gram.clone().start(noise),
            gradient: self.gradient.clone().start(other),
            theta: vec![0.0; DIMENSION],
            policy: cold()?,
        })
    }
}

/// The policy that knows nothing.
pub(super) fn cold() -> Result<Policy> {
    let whitening = vec![0.0; DIMENSION * (DIMENSION + 1) / 2];
    Ok(Policy::from_parts(vec![0.0; DIMENSION], whitening, 0.0, 0.0)?)
}

/// theta scaled to the largest norm that is allowed.
pub(super) fn project(theta: &mut [f64]) {
    let norm = dot(theta, theta).sqrt();
    if norm > LARGEST {
        theta.iter_mut().for_each(|t| *t *= LARGEST / norm);
    }
}

/// `V = H + lambda I`, no eigenvalue below lambda / 2, from a released H whose weights are at most `largest`.
pub(super) fn regularised(release: &Release, largest: f64) -> Result<Cholesky> {
    let deviation = release.deviations()[0] / std::f64::consts::SQRT_2;
    let ridge = largest + RIDGE * deviation;
    let eigen = SymmetricEigen::of(DIMENSION, release.upper_triangle())?;
    let mut upper = vec![0.0; release.upper_triangle().len()];
    for (value, vector) in eigen.values().iter().zip(eigen.vectors()) {
        let value = (value + ridge).max(0.5 * ridge);
        let mut entries = upper.iter_mut();
        for (i, one) in vector.iter().enumerate() {
            for (two, entry) in vector[i..].iter().zip(&mut entries) {
                *entry += value * one * two;
            }
        }
    }
    let remedy = "its eigenvalues are not finite numbers";
    Cholesky::of(DIMENSION, &upper, 0.0)
        .ok_or_else(|| reticent::Error::invalid("release", "a value", remedy).into())
}

/// The learner of a curator.
pub(super) struct Linearised<N> {
    params: LinearisedParams,
    gram: PrivateSum<N>,
    gradient: PrivateSum<N>,
    /// The last released one.
    theta: Vec<f64>,
    policy: Policy,
}

fn log_odds(rate: f64) -> f64 {
    (rate / (1.0 - rate)).ln()
}

/// Linearisation of the loss at these log-odds, less the offset: z - o, mu and w, which is at most `largest`.
fn tangent(rate: f64, product: f64, largest: f64) -> (f64, f64, f64) {
    // The smaller root of mu (1 - mu) = w.
    let root = |w: f64| 0.5 * (1.0 - (1.0 - 4.0 * w).max(0.0).sqrt());
    let (low, high) = (log_odds(root(LEAST_SHARE * largest)), root(largest));
    let high = if high < 0.5 { log_odds(high) } else { -low };
    let offset = log_odds(rate);
    let z = (offset + product).clamp(low, high);
    let mu = sigmoid(z);
    (z - offset, mu, mu * (1.0 - mu))
}

impl<N: Noise> Linearised<N> {
    fn learn(&mut self, gram: &Release, gradient: &Release) -> Result<()> {
        let factor = regularised(gram, self.params.largest_weight())?;
        self.theta = factor.solve(gradient.sums())?;
        project(&mut self.theta);
        let (theta, whitening) = (self.theta.clone(), factor.inverse_factor());
        self.policy = Policy::from_parts(theta, whitening, self.params.width, 0.0)?;
        Ok(())
    }
}

impl<N: Noise> Learner for Linearised<N> {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        Ok(self.policy.choose(arms, round)?)
    }

    fn observe(&mut self, _: u64, features: &[f64], reward: f64) -> Result<()> {
        let LinearisedParams { rate, .. } = self.params;
        let product = dot(features, &self.theta);
        let (at, mu, weight) = tangent(rate, product, self.params.largest_weight());
        let scaled = |factor: f64| -> Vec<f64> { features.iter().map(|x| factor * x).collect() };
        let gram = self.gram.clip(&scaled(weight.sqrt()))?;
        let pull = weight * at + reward.clamp(0.0, 1.0) - mu;
        let gradient = self.gradient.clip(&scaled(pull))?;
        let releases = (self.gram.absorb(&gram)?, self.gradient.absorb(&gradient)?);
        if let (Some(gram), Some(gradient)) = releases {
            self.learn(&gram, &gradient)?;
        }
        Ok(())
    }
}

/// Parameters of a [`LinearisedLocal`].
#[derive(Debug, Clone)]
pub(super) struct LinearisedLocalParams {
    /// Law of the arms.
    pub(super) bounds: Bounds,
    pub(super) privacy: Budget,
    /// The nominal click rate.
    pub(super) rate: f64,
    /// c, in units of `rate (1 - rate)`; at most 1/4.
    pub(super) curvature: f64,
    pub(super) rule: Rule,
}

impl LinearisedLocalParams {
    fn constant(&self) -> f64 {
        (self.curvature * self.rate * (1.0 - self.rate)).min(0.25)
    }

    /// The local protocol for the scaled features and rewards.
    pub(super) fn check(&self) -> Result<LocalPlan> {
        let c = self.constant();
        let scale = 2.0 * c.sqrt();
        let bounds = Bounds {
            feature_bound: scale * self.bounds.feature_bound,
            rewards: (-scale / c, scale / c),
            intercept: self.bounds.intercept.map(|constant| scale * constant),
            ..self.bounds
        };
        let Budget { epsilon, delta } = self.privacy;
        let report = ReportParams::new(bounds, epsilon, delta);
        Ok(LocalParams { rule: self.rule.clone(), ..LocalParams::from(report) }.check()?)
    }

    pub(super) fn start(&self, plan: &LocalPlan, seed: u64) -> Result<LinearisedLocal> {
        let mut server = plan.server().seeded(mix(seed, 1));
        let model = Arc::new(server.publish()?);
        let noise = FastNoise::seeded(seed);
        Ok(LinearisedLocal {
            params: self.clone(),
            plan: plan.clone(),
            server,
            model,
            noise,
            person: None,
        })
    }
}

/// People and server of one trial; rewards come at once.
pub(super) struct LinearisedLocal {
    params: LinearisedLocalParams,
    plan: LocalPlan,
    server: Server,
    model: Arc<Model>,
    noise: FastNoise,
    /// People who have chosen and not reported yet.
    person: Option<Person<FastNoise>>,
}

impl Learner for LinearisedLocal {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        let mut person = self.plan.person(0, FastNoise::seeded(self.noise.bits()))?;
        // All scores are in the same proportion to those of scaled arms.
        let arm = person.choose(&self.model, arms)?;
        self.person = Some(person);
        Ok(arm)
    }

    fn observe(&mut self, _: u64, features: &[f64], reward: f64) -> Result<()> {
        let Some(mut person) = self.person.take() else { return Ok(()) };
        let product = match self.model.guide() {
            Guide::Follow(policy) => {
                let mut theta = policy.theta().to_vec();
                project(&mut theta);
                dot(features, &theta)
            }
            Guide::Uniform => 0.0,
        };
        let c = self.params.constant();
        let scale = 2.0 * c.sqrt();
        let (at, mu, _) = tangent(self.params.rate, product, c);
        let response = scale * (at + (reward.clamp(0.0, 1.0) - mu) / c);
        let scaled: Vec<f64> = features.iter().map(|x| scale * x).collect();
        let report = person.report(&self.model, &scaled, response)?;
        self.server.absorb(&report)?;
        let reports = self.server.reports();
        if reports <= 200 || reports.is_multiple_of(20) {
            self.model = Arc::new(self.server.publish()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights stay within the cap and mu, w belong to one point of the loss, whatever theta is.
    #[test]
    fn the_parabola_is_tangent_and_no_steeper_than_its_cap() {
        for rate in [0.5_f64, 0.05, 0.005] {
            for cap in [1.0, 2.0, 8.0, 1000.0] {
                let largest = (cap * rate * (1.0 - rate)).min(0.25);
                for product in [-1e9, -20.0, -1.0, 0.0, 0.7, 3.0, 50.0, 1e9] {
                    let (at, mu, weight) = tangent(rate, product, largest);
                    assert!(weight <= largest * (1.0 + 1e-9), "{rate} {cap} {product}: {weight}");
                    assert!(weight >= LEAST_SHARE * largest * (1.0 - 1e-9));
                    assert!((sigmoid(log_odds(rate) + at) - mu).abs() < 1e-12);
                    assert!((mu * (1.0 - mu) - weight).abs() < 1e-12);
                }
            }
        }
    }

    /// Without noise to speak of, people who always click on one feature and never on another are distinguished.
    #[test]
    fn a_clear_preference_is_learnt() {
        let privacy = Budget { epsilon: 1000.0, delta: 1e-6 };
        let params =
            LinearisedParams { rounds: 4000, privacy, rate: 0.3, bound: 1.0, cap: 8.0, width: 0.3 };
        let mut learner = params.check().unwrap().start(FastNoise::seeded(2)).unwrap();
        let rows = [[0.5, 0.0, 0.0, 0.0, 0.7], [0.0, 0.5, 0.0, 0.0, 0.7]];
        let arms = Arms::from_rows(DIMENSION, &rows).unwrap();
        for round in 1..=4000 {
            let arm = Learner::choose(&mut learner, &arms, round).unwrap();
            learner.observe(round, &rows[arm], f64::from(u8::from(arm == 1))).unwrap();
        }
        assert_eq!(Learner::choose(&mut learner, &arms, 1).unwrap(), 1);
        assert!(learner.theta[1] > learner.theta[0], "{:?}", learner.theta);
    }
}
