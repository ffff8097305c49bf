//! One round of [`Gap`] after another, for a policy that changes every round, without drawing the arms that cannot win.
//!
//! Let q be the unit vector that makes theta* and q span the policy's theta. A unit arm is
//!
//! ```text
//! x = c theta* + y q + r v,   c^2 + y^2 + r^2 = 1,   v a uniform direction orthogonal to both
//! ```
//!
//! and for a uniform x the pair is `(c, y) = sqrt(1 - t) (cos, sin)(2 pi u)` with `t = r^2 = w^(2/(d - 2))`, u and w uniform:
//! two coordinates of a uniform direction. With `M = V^-1`, P the projection on what is orthogonal to theta* and q, and m at
//! least the largest eigenvalue of M,
//!
//! ```text
//! bound(x) <= <theta, c theta* + y q> + width sqrt(z^T M z + 2 r |P M z| + m r^2),   z = c theta* + y q,
//! ```
//!
//! so two numbers rule out nearly all arms against the optimal one's bound; v is drawn only for the rest, those with the largest bound
//! first. Skipped arms could not have been chosen, so the law is that of the plain rounds.

#![allow(clippy::needless_range_loop)] // The inner loops index, see `lanes`.

use pulp::{Arch, Simd, WithSimd};
use reticent::{
    Result,
    bandit::{Arms, Policy},
    linalg::SymmetricEigen,
    noise::Noise,
};

use super::lanes::{Column, LaneNoise, ROUNDS, ZEROS, circle, exponential, logarithm, normals};
use crate::{
    FastNoise,
    environment::{BEST, Gap, Slice},
};

/// Arms scored at a time.
const BATCH: usize = 16;
/// Features that are made from one column of normals.
const FEATURES: usize = ROUNDS / BATCH;
/// Tolerance for rounding errors when bounds are compared.
const ROOM: f64 = 1e-9;

/// The arm a policy chose.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Its features.
    pub features: Vec<f64>,
    /// `<x, theta*>`.
    pub product: f64,
}

/// [`Gap`] in at least three dimensions, played round by round.
#[derive(Debug, Clone)]
pub struct GapSteps {
    theta: Vec<f64>,
    others: Slice,
    count: usize,
    lanes: LaneNoise,
    noise: FastNoise,
    arch: Arch,
    /// A batch of arms, feature by feature.
    features: Vec<[f64; BATCH]>,
    candidates: Vec<Candidate>,
    columns: [Column; 2],
    arms: Arms,
    scores: Vec<f64>,
}

/// An arm that two numbers did not rule out.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    bound: f64,
    product: f64,
    side: f64,
    rest: f64,
}

/// The bound above as a function of c and y.
#[derive(Debug, Clone, Copy)]
struct ScoreBound {
    /// `<theta, theta*>` and `<theta, q>`.
    mean: [f64; 2],
    /// M and `M P M` on the plane: the entries (1,1), (1,2), (2,2).
    plane: [f64; 3],
    cross: [f64; 3],
    largest: f64,
    width: f64,
}

impl GapSteps {
    /// The rounds this environment would play next, in law. Its dimension is at least 3.
    pub fn new(mut gap: Gap) -> Result<Self> {
        let params = *gap.plan().params();
        let remedy = "expected at least 3; or step the environment itself";
        reticent::refuse_if(params.dimension < 3, "dimension", params.dimension, remedy)?;
        Ok(GapSteps {
            theta: gap.theta().to_vec(),
            others: gap.plan().others(),
            count: params.arms,
            lanes: LaneNoise::new(gap.noise()),
            noise: gap.noise().clone(),
            arch: Arch::new(),
            features: vec![[0.0; BATCH]; params.dimension.next_multiple_of(FEATURES)],
            candidates: Vec::new(),
            columns: [ZEROS; 2],
            arms: Arms::zeros(params.dimension, BATCH)?,
            scores: Vec::new(),
        })
    }

    /// Randomness for rewards.
    pub fn noise(&mut self) -> &mut FastNoise {
        &mut self.noise
    }

    /// The choice of a policy without drift from a fresh decision set. `largest` is at least the largest eigenvalue of
    /// `V^-1`, the square of the policy's whitening; see [`largest_variance`].
    pub fn choose(&mut self, policy: &Policy, largest: f64) -> Result<Choice> {
        let plane = self.plane(policy);
        if policy.theta().iter().all(|t| *t == 0.0) && is_multiple_of_identity(policy.whitening()) {
            return Ok(self.any());
        }
        let score_bound = ScoreBound::new(policy, &self.theta, &plane, largest);
        let mut best = self.arm(BEST);
        let mut bound = policy.bound(&best.features);
        self.draw(&score_bound, bound);
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.sort_unstable_by(|a, b| b.bound.total_cmp(&a.bound));
        for batch in candidates.chunks(BATCH) {
            if batch[0].bound <= bound {
                break;
            }
            self.complete(batch, &plane)?;
            policy.scores(&self.arms, &mut self.scores)?;
            for (slot, candidate) in batch.iter().enumerate() {
                if self.scores[slot] > bound {
                    bound = self.scores[slot];
                    best = Choice { features: self.arms.arm(slot), product: candidate.product };
                }
            }
        }
        self.candidates = candidates;
        Ok(best)
    }

    /// If all arms tie, the choice is uniform, because the slot of the optimal arm is.
    fn any(&mut self) -> Choice {
        if self.noise.below(self.count as u64) == 0 {
            self.arm(BEST)
        } else {
            let product = self.others.draw(&mut self.noise);
            self.arm(product)
        }
    }

    /// q: the direction of the policy's theta orthogonal to theta*, or any direction orthogonal to theta*.
    fn plane(&mut self, policy: &Policy) -> Vec<f64> {
        let mut q = policy.theta().to_vec();
        loop {
            remove(&mut q, &self.theta);
            let length = dot(&q, &q).sqrt();
            if length > 1e-12 {
                q.iter_mut().for_each(|x| *x /= length);
                // Orthogonalise twice to remove rounding errors along theta*.
                remove(&mut q, &self.theta);
                return q;
            }
            q.iter_mut().for_each(|x| *x = self.noise.standard_normal());
        }
    }

    /// An arm with this product.
    fn arm(&mut self, product: f64) -> Choice {
        let mut features: Vec<f64> =
            self.theta.iter().map(|_| self.noise.standard_normal()).collect();
        remove(&mut features, &self.theta);
        let scale = ((1.0 - product * product) / dot(&features, &features)).sqrt();
        for (x, t) in features.iter_mut().zip(&self.theta) {
            *x = product * t + scale * *x;
        }
        Choice { features, product }
    }

    /// Draws the missing directions of at most a batch of candidates.
    fn complete(&mut self, candidates: &[Candidate], plane: &[f64]) -> Result<()> {
        let mut lanes = [[0.0; BATCH]; 3];
        for (slot, candidate) in candidates.iter().enumerate() {
            lanes[0][slot] = candidate.product;
            lanes[1][slot] = candidate.side;
            lanes[2][slot] = candidate.rest;
        }
        self.arch.dispatch(Complete {
            noise: &mut self.lanes,
            columns: &mut self.columns,
            features: &mut self.features,
            theta: &self.theta,
            plane,
            lanes,
        });
        self.arms.set_columns(&self.features[..self.theta.len()])
    }

    /// The suboptimal arms whose upper bound is above `bound`.
    fn draw(&mut self, score_bound: &ScoreBound, bound: f64) {
        self.candidates.clear();
        let exponent = 2.0 / (self.theta.len() as f64 - 2.0);
        let mut missing = self.count - 1;
        let mut bounds = ZEROS;
        let mut rests = ZEROS;
        while missing > 0 {
            // Draw a quarter more than needed, because some fall outside the slice.
            let count = (missing + missing / 4 + 4).next_multiple_of(32).min(ROUNDS);
            let [products, sides] = &mut self.columns;
            self.arch.dispatch(Sweep {
                noise: &mut self.lanes,
                products,
                sides,
                rests: &mut rests,
                bounds: &mut bounds,
                score_bound,
                exponent,
                count,
            });
            for r in 0..count {
                let product = products[r];
                if product < self.others.low || product > self.others.high {
                    continue;
                }
                if bounds[r] > bound {
                    let (bound, side, rest) = (bounds[r], sides[r], rests[r]);
                    self.candidates.push(Candidate { bound, product, side, rest });
                }
                missing -= 1;
                if missing == 0 {
                    break;
                }
            }
        }
    }
}

/// Draws `count` pairs (c, y) and computes their upper bounds, on the widest SIMD vectors available.
struct Sweep<'a> {
    noise: &'a mut LaneNoise,
    products: &'a mut Column,
    sides: &'a mut Column,
    rests: &'a mut Column,
    bounds: &'a mut Column,
    score_bound: &'a ScoreBound,
    exponent: f64,
    count: usize,
}

impl WithSimd for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Sweep { noise, products, sides, rests, bounds, score_bound, exponent, count } = self;
        assert!(count <= ROUNDS);
        noise.uniforms(products, count);
        noise.uniforms(sides, count);
        for r in 0..count {
            let rest = exponential(exponent * logarithm(1.0 - products[r]));
            let radius = (1.0 - rest).sqrt();
            let (c, s) = circle(sides[r]);
            products[r] = radius * c;
            sides[r] = radius * s;
            rests[r] = rest.sqrt();
        }
        for r in 0..count {
            bounds[r] = score_bound.of(products[r], sides[r], rests[r]);
        }
    }
}

/// Draws the direction v of a batch of arms and puts the arms together.
struct Complete<'a> {
    noise: &'a mut LaneNoise,
    columns: &'a mut [Column; 2],
    features: &'a mut [[f64; BATCH]],
    theta: &'a [f64],
    plane: &'a [f64],
    /// c, y and r.
    lanes: [[f64; BATCH]; 3],
}

impl WithSimd for Complete<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Complete { noise, columns, features, theta, plane, lanes: [c, y, r] } = self;
        let [first, second] = columns;
        let dimension = theta.len();
        let plane = &plane[..dimension];
        let mut from = 0;
        while from < dimension {
            noise.uniforms(first, ROUNDS);
            noise.uniforms(second, ROUNDS);
            normals(first, second, ROUNDS);
            for column in [&*first, &*second] {
                for i in 0..FEATURES {
                    if from + i < features.len() {
                        for l in 0..BATCH {
                            features[from + i][l] = column[i * BATCH + l];
                        }
                    }
                }
                from += FEATURES;
            }
        }
        let features = &mut features[..dimension];
        for unit in [theta, plane] {
            let mut along = [0.0; BATCH];
            for i in 0..dimension {
                for l in 0..BATCH {
                    along[l] += unit[i] * features[i][l];
                }
            }
            for i in 0..dimension {
                for l in 0..BATCH {
                    features[i][l] -= unit[i] * along[l];
                }
            }
        }
        let mut scale = [0.0; BATCH];
        for i in 0..dimension {
            for l in 0..BATCH {
                scale[l] += features[i][l] * features[i][l];
            }
        }
        for l in 0..BATCH {
            scale[l] = r[l] / scale[l].sqrt();
        }
        for i in 0..dimension {
            for l in 0..BATCH {
                features[i][l] = c[l] * theta[i] + y[l] * plane[i] + scale[l] * features[i][l];
            }
        }
    }
}

impl ScoreBound {
    fn new(policy: &Policy, theta: &[f64], plane: &[f64], largest: f64) -> Self {
        let (one, two) = (variance_times(policy, theta), variance_times(policy, plane));
        let (a, b, c) = (dot(&one, theta), dot(&one, plane), dot(&two, plane));
        ScoreBound {
            mean: [dot(policy.theta(), theta), dot(policy.theta(), plane)],
            plane: [a, b, c],
            cross: [
                dot(&one, &one) - a * a - b * b,
                dot(&one, &two) - a * b - b * c,
                dot(&two, &two) - b * b - c * c,
            ],
            largest,
            width: policy.width(),
        }
    }

    #[inline(always)]
    fn of(&self, c: f64, y: f64, r: f64) -> f64 {
        let form = |[a, b, d]: [f64; 3]| c * c * a + 2.0 * c * y * b + y * y * d;
        // Rounding may leave the nonnegative forms a little below zero.
        let cross = form(self.cross).max(0.0).sqrt();
        let variance = form(self.plane).max(0.0) + 2.0 * r * cross + r * r * self.largest;
        let bound = c * self.mean[0] + y * self.mean[1] + self.width * variance.sqrt();
        bound + ROOM * (1.0 + bound.abs())
    }
}

/// The largest eigenvalue of `V^-1`, rounded up a little. It decreases with more observations, so an earlier value remains valid.
pub fn largest_variance(policy: &Policy) -> Result<f64> {
    let dimension = policy.dimension();
    let mut upper = Vec::with_capacity(dimension * (dimension + 1) / 2);
    let mut unit = vec![0.0; dimension];
    for i in 0..dimension {
        unit.fill(0.0);
        unit[i] = 1.0;
        upper.extend_from_slice(&variance_times(policy, &unit)[i..]);
    }
    Ok(SymmetricEigen::of(dimension, &upper)?.largest() * (1.0 + 1e-6))
}

/// `V^-1 x = W^T W x` with the lower triangle W packed by rows.
fn variance_times(policy: &Policy, x: &[f64]) -> Vec<f64> {
    let mut result = vec![0.0; x.len()];
    let mut row = policy.whitening();
    for i in 0..x.len() {
        let (now, later) = row.split_at(i + 1);
        let white = dot(now, &x[..=i]);
        result.iter_mut().zip(now).for_each(|(sum, w)| *sum += white * w);
        row = later;
    }
    result
}

fn is_multiple_of_identity(whitening: &[f64]) -> bool {
    let mut entries = whitening.iter();
    let mut row = 0;
    while let Some(last) = entries.as_slice().get(row) {
        if *last != whitening[0] || entries.by_ref().take(row).any(|w| *w != 0.0) {
            return false;
        }
        entries.next();
        row += 1;
    }
    true
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Removes from x its component along a unit vector.
fn remove(x: &mut [f64], unit: &[f64]) {
    let along = dot(x, unit);
    x.iter_mut().zip(unit).for_each(|(x, u)| *x -= along * u);
}
