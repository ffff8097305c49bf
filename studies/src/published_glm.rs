//! The generalised linear bandit under joint privacy of Sarmasarkar 2026 (arXiv 2602.00417, Algorithm 2), at our certificate.
//!
//! ```text
//! every time the number of people has doubled:  theta <- theta - (rate / n) (sum over all people so far of clip((mu - y) x) + z),   `steps` times
//! all the time:                                 H = sum mu (1 - mu) x x^T by a private running sum,     score <theta, x> + width |x|_(H + lambda I)^-1
//! ```
//!
//! Kept from the paper: a GLM fitted by private gradient descent on all people so far at logarithmically many switches, a private H weighted by the
//! curvature, and thirds of the budget. Different: the accountant's prices in place of theirs, full batches, BLT in place of the binary tree, switches at
//! doublings of the number of people in place of det H, and no warm-up (with its third of the budget): each of these is in its favour. Their log-odds
//! of the nominal rate are given to it as to the others.
//!
//! **Privacy.** A gradient is clipped to norm 1 and rounded towards zero on a grid, so that one person moves the sum of a step by at most 2. A person is in
//! all later steps, of which there are `switches x steps` at most: their events compose, with that of H.

use reticent::{
    bandit::{Arms, Policy},
    noise::{DiscreteGaussian, Noise},
    privacy::{Event, Guarantee, TrustModel},
    release::{Domain, PrivateSum, PrivateSumPlan, Release},
};

use super::{
    click_environment::{DIMENSION, dot, sigmoid},
    linearised::{cold, mu_of, project, regularised, running_sum},
};
use reticent_lab::{Result, algorithm::bandit::Budget, play::Learner};

/// Steps of the grid in a gradient of norm 1.
const GRID: f64 = (1_u64 << 20) as f64;
/// People before the first fit.
const FIRST: u64 = 256;

/// Parameters of a [`PublishedGlm`].
#[derive(Debug, Clone, Copy)]
pub(super) struct PublishedGlmParams {
    pub(super) rounds: u64,
    pub(super) privacy: Budget,
    /// The nominal click rate.
    pub(super) rate: f64,
    /// Gradient steps of a fit.
    pub(super) steps: u64,
    /// The step in units of `1 / (rate (1 - rate))`, which is about one over the curvature.
    pub(super) step: f64,
    pub(super) width: f64,
}

/// Calibrated noise with its guarantee.
#[derive(Clone)]
pub(super) struct PublishedGlmPlan {
    params: PublishedGlmParams,
    hessian: PrivateSumPlan,
    law: DiscreteGaussian,
    pub(super) guarantee: Guarantee,
}

impl PublishedGlmParams {
    /// Calibrates the noise of H with a third of mu^2 and that of all steps with the rest.
    pub(super) fn check(&self) -> Result<PublishedGlmPlan> {
        let mu = mu_of(self.privacy)?;
        let switches = (self.rounds / FIRST).max(1).ilog2() + 1;
        let times = u64::from(switches) * self.steps;
        let third = (1.0_f64 / 3.0).sqrt();
        let hessian = running_sum(
            Domain::Symmetric { dimension: DIMENSION, bound: 0.5 },
            self.rounds,
            self.privacy,
            mu * third,
        )?;
        let each = mu * third * (2.0 / times as f64).sqrt();
        let law = DiscreteGaussian::new((2.0 * GRID / each).ceil() as u64)?;
        let sigma = law.sigma() as f64;
        let coordinates = DIMENSION as f64;
        let step = Event::GridGaussian { mu: 2.0 * GRID / sigma, sigma, coordinates };
        let fits = Event::Repeated { event: Box::new(step), times };
        let both = Event::Composed { events: vec![hessian.event(), fits] };
        let guarantee = Guarantee::of(&both, TrustModel::Joint, self.privacy.delta)?.simulated();
        Ok(PublishedGlmPlan { params: *self, hessian, law, guarantee })
    }
}

impl PublishedGlmPlan {
    pub(super) fn start<N: Noise>(&self, mut noise: N) -> Result<PublishedGlm<N>> {
        let other = noise.split()?;
        Ok(PublishedGlm {
            plan: self.clone(),
            noise,
            hessian: self.hessian.clone().start(other),
            release: None,
            people: Vec::new(),
            switch: FIRST,
            theta: vec![0.0; DIMENSION],
            policy: cold()?,
        })
    }
}

/// The learner.
pub(super) struct PublishedGlm<N> {
    plan: PublishedGlmPlan,
    noise: N,
    hessian: PrivateSum<N>,
    /// The last release of H.
    release: Option<Release>,
    /// All people so far: features and clicks.
    people: Vec<([f64; DIMENSION], f64)>,
    /// The number of people at the next fit.
    switch: u64,
    theta: Vec<f64>,
    policy: Policy,
}

/// `loss x`, clipped to norm 1, in steps of the grid.
fn clipped(x: &[f64; DIMENSION], loss: f64) -> [i64; DIMENSION] {
    let norm = loss.abs() * dot(x, x).sqrt();
    let scale = GRID * loss / norm.max(1.0);
    // Towards zero: the norm does not grow.
    x.map(|x| (scale * x) as i64)
}

impl<N: Noise> PublishedGlm<N> {
    fn offset(&self) -> f64 {
        let rate = self.plan.params.rate;
        (rate / (1.0 - rate)).ln()
    }

    /// One noisy gradient of the loss of all people.
    fn gradient(&mut self) -> Result<Vec<f64>> {
        let offset = self.offset();
        let mut sums = [0_i64; DIMENSION];
        for (x, reward) in &self.people {
            let loss = sigmoid(offset + dot(x, &self.theta)) - reward;
            sums.iter_mut().zip(clipped(x, loss)).for_each(|(sum, step)| *sum += step);
        }
        self.noise.rekey()?;
        let law = self.plan.law;
        Ok(sums
            .iter()
            .map(|sum| (sum + self.noise.discrete_gaussian(&law)) as f64 / GRID)
            .collect())
    }

    fn fit(&mut self) -> Result<()> {
        let PublishedGlmParams { rate, steps, step, width, .. } = self.plan.params;
        let pace = step / (rate * (1.0 - rate)) / self.people.len() as f64;
        for _ in 0..steps {
            let gradient = self.gradient()?;
            self.theta.iter_mut().zip(gradient).for_each(|(t, g)| *t -= pace * g);
            project(&mut self.theta);
        }
        if let Some(release) = &self.release {
            let whitening = regularised(release, 0.25)?.inverse_factor();
            self.policy = Policy::from_parts(self.theta.clone(), whitening, width, 0.0)?;
        }
        Ok(())
    }
}

impl<N: Noise> Learner for PublishedGlm<N> {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        Ok(self.policy.choose(arms, round)?)
    }

    fn observe(&mut self, _: u64, features: &[f64], reward: f64) -> Result<()> {
        let mu = sigmoid(self.offset() + dot(features, &self.theta));
        let root = (mu * (1.0 - mu)).sqrt();
        let weighted: Vec<f64> = features.iter().map(|x| root * x).collect();
        let contribution = self.hessian.clip(&weighted)?;
        if let Some(release) = self.hessian.absorb(&contribution)? {
            self.release = Some(release);
        }
        let mut x = [0.0; DIMENSION];
        x.iter_mut().zip(features).for_each(|(x, feature)| *x = *feature);
        self.people.push((x, reward.clamp(0.0, 1.0)));
        if self.people.len() as u64 == self.switch {
            self.switch *= 2;
            self.fit()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_lab::FastNoise;

    #[test]
    fn one_person_moves_a_gradient_by_no_more_than_is_priced() {
        let mut noise = FastNoise::seeded(8);
        for scale in [1e-9, 0.3, 1.0, 50.0, 1e9] {
            for _ in 0..200 {
                let x = std::array::from_fn(|_| scale * noise.standard_normal());
                let loss = 2.0 * noise.uniform() - 1.0;
                let steps = clipped(&x, loss).map(|step| step as f64);
                assert!(dot(&steps, &steps).sqrt() <= GRID, "{scale} {loss}");
            }
        }
    }

    /// The whole budget is spent, and no more.
    #[test]
    fn all_fits_together_are_within_the_budget() {
        let privacy = Budget { epsilon: 1.0, delta: 1e-6 };
        for (rounds, steps) in [(300, 1), (20_000, 12), (1_000_000, 3)] {
            let (rate, step, width) = (0.05, 1.0, 0.3);
            let params = PublishedGlmParams { rounds, privacy, rate, steps, step, width };
            let epsilon = params.check().unwrap().guarantee.epsilon();
            assert!((0.999..=1.0).contains(&epsilon), "{rounds} {steps}: {epsilon}");
            // No more fits are made than are paid for.
            let fits = (0..64).take_while(|k| FIRST << k <= rounds).count() as u32;
            assert!(fits <= (rounds / FIRST).ilog2() + 1);
        }
    }
}
