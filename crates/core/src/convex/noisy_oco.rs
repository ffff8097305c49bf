//! NoisyOCO: online convex optimisation with noisy gradients and a noisy mirror map.
//!
//! ```text
//! x~_t = NoisyMap(-eta s_{t-1}),   g~_t = NoisyGrad(f_t, x~_t),   s_t = s_{t-1} + g~_t
//! ```
//!
//! Algorithm 2 of Ene, Nguyen and Vladu; line 5 is printed with s_t on both sides. **Regret** (Lemma 4.1):
//! `O(T^(1/2) kappa D_omega + T kappa gamma)` if `E |g~|^2 <= kappa^2` and the map is within gamma on average. Privacy is
//! whatever the two plugs give; [`PrivateBandit`](super::PrivateBandit) is this with a batch of smoothed values as the
//! gradient and a private prefix sum in the map.

use super::{DecisionSet, Hull, LinearOracle, Loss, MirrorMap};
use crate::{Result, error::positive, linalg::dot, noise::Noise};

/// A randomised gradient of a loss: right on average.
pub trait NoisyGradient<L: ?Sized> {
    /// Writes an unbiased estimate of the gradient of `loss` at `point`.
    fn estimate(&mut self, loss: &L, point: &[f64], gradient: &mut [f64]) -> Result<()>;
}

/// A randomised mirror map: near the exact one on average.
pub trait NoisyMap {
    /// Writes the point that the dual vector y = -eta s maps to.
    fn map(&mut self, dual: &[f64], point: &mut [f64]) -> Result<()>;
}

/// The smoothing estimate: the mean of `(n'/zeta) (f(x + zeta u) - b) u` over `directions` of the hull (Lemma 2.2).
#[derive(Debug, Clone)]
pub struct Smoothed<N> {
    /// Directions to sample from.
    pub hull: Hull,
    /// zeta.
    pub smoothing: f64,
    /// b, subtracted from every value.
    pub baseline: f64,
    /// Values per estimate.
    pub directions: u64,
    /// Where directions come from.
    pub noise: N,
}

impl<L: Loss + ?Sized, N: Noise> NoisyGradient<L> for Smoothed<N> {
    fn estimate(&mut self, loss: &L, point: &[f64], gradient: &mut [f64]) -> Result<()> {
        positive("smoothing", self.smoothing)?;
        positive("directions", self.directions as f64)?;
        gradient.fill(0.0);
        let mut u = vec![0.0; point.len()];
        let scale = self.hull.dimension() as f64 / (self.smoothing * self.directions as f64);
        for _ in 0..self.directions {
            self.hull.sample(&mut u, &mut self.noise);
            let at: Vec<f64> = point.iter().zip(&u).map(|(x, u)| x + self.smoothing * u).collect();
            let weight = scale * (loss.value(&at) - self.baseline);
            gradient.iter_mut().zip(&u).for_each(|(g, u)| *g += weight * u);
        }
        Ok(())
    }
}

/// The exact gradient, for full information: `gradient(loss, point)`.
#[derive(Debug, Clone)]
pub struct Exact<F>(pub F);

impl<L: ?Sized, F: FnMut(&L, &[f64]) -> Vec<f64>> NoisyGradient<L> for Exact<F> {
    fn estimate(&mut self, loss: &L, point: &[f64], gradient: &mut [f64]) -> Result<()> {
        let exact = (self.0)(loss, point);
        crate::error::finite_vector("gradient", &exact, gradient.len())?;
        gradient.copy_from_slice(&exact);
        Ok(())
    }
}

/// A set with its mirror map.
#[derive(Debug, Clone)]
pub struct MappedSet<O> {
    /// The set.
    pub set: DecisionSet<O>,
    /// Its map.
    pub map: MirrorMap,
}

impl<O: LinearOracle> NoisyMap for MappedSet<O> {
    fn map(&mut self, dual: &[f64], point: &mut [f64]) -> Result<()> {
        self.map.apply(&self.set, dual, point);
        Ok(())
    }
}

/// Algorithm 2 at work.
///
/// ```
/// use reticent::convex::{DistanceLoss, Exact, Map, MappedSet, MirrorMap, NoisyOco, oracle::Simplex};
/// let set = Simplex::set(3)?;
/// let map = MirrorMap::new(&set, Map::Entropic, 1e-3, 1000)?;
/// // Linear losses: the gradient is the loss.
/// let slope = Exact(|slope: &Vec<f64>, _: &[f64]| slope.clone());
/// let mut learner = NoisyOco::new(3, 0.1, slope, MappedSet { set, map })?;
/// for _ in 0..200 {
///     learner.step(&vec![1.0, 0.0, 1.0])?;
/// }
/// assert!(learner.point()[1] > 0.99);
/// # let _: Option<DistanceLoss> = None;
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NoisyOco<G, M> {
    step: f64,
    gradient: G,
    map: M,
    sum: Vec<f64>,
    point: Vec<f64>,
}

impl<G, M: NoisyMap> NoisyOco<G, M> {
    /// Starts at the map of 0 with step eta.
    pub fn new(dimension: usize, step: f64, gradient: G, mut map: M) -> Result<Self> {
        positive("step", step)?;
        positive("dimension", dimension as f64)?;
        let (sum, mut point) = (vec![0.0; dimension], vec![0.0; dimension]);
        map.map(&sum, &mut point)?;
        Ok(NoisyOco { step, gradient, map, sum, point })
    }

    /// x~_t, to be played against the next loss.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// Learns from the loss at the point played, and moves. If the gradient fails, nothing changes.
    pub fn step<L: ?Sized>(&mut self, loss: &L) -> Result<()>
    where
        G: NoisyGradient<L>,
    {
        let mut gradient = vec![0.0; self.point.len()];
        self.gradient.estimate(loss, &self.point, &mut gradient)?;
        self.sum.iter_mut().zip(&gradient).for_each(|(s, g)| *s += g);
        let dual: Vec<f64> = self.sum.iter().map(|s| -self.step * s).collect();
        self.map.map(&dual, &mut self.point)
    }

    /// `<s, x>`: what the sum of gradients says of a point.
    pub fn linearized(&self, point: &[f64]) -> f64 {
        dot(&self.sum, point)
    }
}
