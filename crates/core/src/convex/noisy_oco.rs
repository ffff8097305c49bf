//! NoisyOCO: online mirror descent with noisy gradients and a noisy mirror map, whatever the noise is for.
//!
//! ```text
//! x_t = NoisyMap(-eta s_(t-1)),      g_t = NoisyGrad(f_t, x_t),      s_t = s_(t-1) + g_t
//! ```
//!
//! Algorithm 2 of Ene, Nguyen and Vladu (its line 5 prints `s_t = s_t + g_t`). Both routines are the caller's: the gradient is handed over, and the
//! map is a function from the dual vector to the point.
//!
//! **Lemma 4.1.** Let omega be 1-strongly convex with `0 <= omega <= D_omega^2` on the set, losses convex, and given the past
//!
//! ```text
//! E g_t = grad f_t(x_t),    E |g_t|^2 <= kappa^2,    E |x_t - grad omega*(-eta s_(t-1))| <= gamma.
//! ```
//!
//! Then the expected regret is at most `D_omega^2/eta + eta T kappa^2/2 + T kappa gamma`, which is least at `eta = D_omega sqrt(2/T)/kappa`:
//! `sqrt 2 D_omega kappa sqrt T + T kappa gamma`.
//!
//! *Proof* (appendix B). omega* is 1-smooth and `omega*(0) <= 0`, so with `z_t = grad omega*(-eta s_(t-1))` and any x of the set
//! `-eta <s_T, x> - omega(x) <= omega*(-eta s_T) <= sum (-eta <z_t, g_t> + eta^2 |g_t|^2/2)`, hence
//! `sum <g_t, z_t - x> <= omega(x)/eta + eta/2 sum |g_t|^2`. By convexity regret is at most
//! `E sum <grad f_t(x_t), x_t - x> = E sum <g_t, x_t - x> = E sum <g_t, z_t - x> + E sum <g_t, x_t - z_t>`, and given the past the last term is
//! `<grad f_t(x_t), x_t - z_t> <= kappa |x_t - z_t|`. QED
//!
//! [`PrivateBandit`](super::PrivateBandit) is this with a batch for a round: its gradient is the smoothed one of a batch, and the noise on its
//! released sums, where they are private, is an error of its map.

use crate::{
    Result,
    error::{finite_vector, not_negative, positive},
};

/// Assumptions of Lemma 4.1 on gradients and on the map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoisyAccess {
    /// kappa: the root of the largest mean square of a gradient's norm.
    pub gradient_bound: f64,
    /// gamma: the largest mean distance of the map's point from the exact one.
    pub map_error: f64,
    /// D_omega: the root of the largest value of the mirror map's omega.
    pub size: f64,
}

impl NoisyAccess {
    /// Refuses bounds that bound nothing.
    pub fn check(&self) -> Result<()> {
        positive("gradient_bound", self.gradient_bound)?;
        not_negative("map_error", self.map_error)?;
        positive("size", self.size).map(drop)
    }

    /// eta at which the bound is least.
    pub fn step(&self, rounds: u64) -> f64 {
        self.size * (2.0 / rounds as f64).sqrt() / self.gradient_bound
    }

    /// Lemma 4.1 at this eta: the expected regret is not larger.
    pub fn regret_bound(&self, rounds: u64) -> f64 {
        let t = rounds as f64;
        self.gradient_bound * ((2.0 * t).sqrt() * self.size + t * self.map_error)
    }
}

/// Online mirror descent with pluggable gradients and map.
///
/// ```
/// use reticent::convex::{Map, MirrorMap, NoisyAccess, NoisyOco, oracle::L2Ball};
/// // Losses |x - (0.3, -0.4)| on the unit ball, their gradients with bounded noise, and an exact map.
/// let set = L2Ball::set(&[0.0, 0.0], 1.0)?;
/// let mut exact = MirrorMap::new(&set, Map::Projection, 1e-9, 100)?;
/// let access = NoisyAccess { gradient_bound: 2f64.sqrt(), map_error: 0.0, size: 0.5f64.sqrt() };
/// let (rounds, target) = (10_000, [0.3, -0.4]);
/// let mut learner = NoisyOco::new(2, access.step(rounds), |dual: &[f64], point: &mut [f64]| {
///     exact.apply(&set, dual, point)
/// })?;
/// let mut regret = 0.0;
/// for round in 0..rounds {
///     let away = [0, 1].map(|i| learner.point()[i] - target[i]);
///     let length = away[0].hypot(away[1]);
///     regret += length;
///     // The noise: one of four corners of a square of diagonal 2 in turn.
///     let noise = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]][(round % 4) as usize];
///     let gradient = [0, 1].map(|i| away[i] / length.max(1e-12) + noise[i]);
///     learner.observe(&gradient)?;
/// }
/// assert!(regret < access.regret_bound(rounds));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NoisyOco<M> {
    step: f64,
    sums: Vec<f64>,
    point: Vec<f64>,
    map: M,
}

impl<M: FnMut(&[f64], &mut [f64])> NoisyOco<M> {
    /// The learner at the map of 0. The map writes the point of a dual vector, both of this dimension.
    pub fn new(dimension: usize, step: f64, mut map: M) -> Result<Self> {
        positive("dimension", dimension as f64)?;
        positive("step", step)?;
        let (sums, mut point) = (vec![0.0; dimension], vec![0.0; dimension]);
        respond(step, &sums, &mut point, &mut map);
        Ok(NoisyOco { step, sums, point, map })
    }

    /// x_t: the point to play.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// Learns the gradient of this round's loss at the point, and moves it. An error changes nothing.
    pub fn observe(&mut self, gradient: &[f64]) -> Result<()> {
        finite_vector("gradient", gradient, self.sums.len())?;
        self.sums.iter_mut().zip(gradient).for_each(|(sum, g)| *sum += g);
        respond(self.step, &self.sums, &mut self.point, &mut self.map);
        Ok(())
    }
}

/// Line 3: `x = NoisyMap(-eta s)`.
pub(super) fn respond(
    step: f64,
    sums: &[f64],
    point: &mut [f64],
    mut map: impl FnMut(&[f64], &mut [f64]),
) {
    let dual: Vec<f64> = sums.iter().map(|sum| -step * sum).collect();
    map(&dual, point);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        convex::{Map, MirrorMap, oracle::L2Ball},
        noise::Noise,
        release::testing::Seeded,
    };

    const ROUNDS: u64 = 2000;

    /// Mean regret over 20 runs of alternating linear losses under noise on gradient and point.
    fn regret(access: &NoisyAccess, sign: f64) -> f64 {
        let set = L2Ball::set(&[0.0; 3], 1.0).unwrap();
        let mut total = 0.0;
        for seed in 0..20 {
            let (mut noise, mut shaken) = (Seeded(seed), Seeded(1000 + seed));
            let mut exact = MirrorMap::new(&set, Map::Projection, 1e-9, 100).unwrap();
            let map = |dual: &[f64], point: &mut [f64]| {
                let dual: Vec<f64> = dual.iter().map(|y| sign * y).collect();
                exact.apply(&set, &dual, point);
                let error = access.map_error / 3f64.sqrt();
                point.iter_mut().for_each(|x| *x += error * (2.0 * shaken.uniform() - 1.0));
            };
            let mut learner = NoisyOco::new(3, access.step(ROUNDS), map).unwrap();
            let mut sum = [0.0; 3];
            for round in 0..ROUNDS {
                // Two thirds of the losses point to one side.
                let loss = if round % 3 == 0 { [0.0, -0.6, 0.0] } else { [0.5, 0.3, 0.0] };
                total += learner.point().iter().zip(&loss).map(|(x, l)| x * l).sum::<f64>();
                sum.iter_mut().zip(&loss).for_each(|(s, l)| *s += l);
                let gradient = loss.map(|l| l + noise.standard_normal());
                learner.observe(&gradient).unwrap();
            }
            total += sum.iter().map(|s| s * s).sum::<f64>().sqrt();
        }
        total / 20.0
    }

    /// kappa^2 = 0.6^2 + 3, D_omega^2 = 1/2. The bound is for the worst losses: the mean of 20 runs is far below it.
    #[test]
    fn regret_is_within_lemma_4_1_and_climbing_is_not() {
        for map_error in [0.0, 0.02] {
            let access =
                NoisyAccess { gradient_bound: 3.36f64.sqrt(), map_error, size: 0.5f64.sqrt() };
            access.check().unwrap();
            let bound = access.regret_bound(ROUNDS);
            let found = regret(&access, 1.0);
            assert!(found < bound, "{found} {bound}");
            // The sign that line 14 of Algorithm 1 is printed with.
            let climbing = regret(&access, -1.0);
            assert!(climbing > bound, "{climbing} {bound}");
        }
        let none = NoisyAccess { gradient_bound: 0.0, map_error: 0.0, size: 1.0 };
        assert!(none.check().is_err());
    }

    #[test]
    fn what_cannot_be_summed_is_refused_and_changes_nothing() {
        let mut learner =
            NoisyOco::new(2, 0.1, |dual: &[f64], point: &mut [f64]| point.copy_from_slice(dual))
                .unwrap();
        learner.observe(&[1.0, 2.0]).unwrap();
        let before = learner.point().to_vec();
        assert!(learner.observe(&[f64::NAN, 0.0]).is_err() && learner.observe(&[1.0]).is_err());
        assert_eq!(learner.point(), before);
        assert!(NoisyOco::new(0, 0.1, |_: &[f64], _: &mut [f64]| ()).is_err());
        assert!(NoisyOco::new(2, -0.1, |_: &[f64], _: &mut [f64]| ()).is_err());
    }
}
