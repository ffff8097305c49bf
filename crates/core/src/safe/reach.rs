//! Reachable actions of one agent, as seen through (p, s): estimate and uncertainty of its mean response.
//!
//! ```text
//! p = <theta^, x>,   s = beta ||x||_{G^-1},   ||x|| <= K
//! ```
//!
//! Safety and optimism depend on x only through (p, s). By Cauchy-Schwarz `s >= |p| / tau`, `tau = ||theta^||_G / beta`, with
//! equality on the rays `x ~ G theta^`; in two or more dimensions everything above the rays is reachable too, since a part of x
//! orthogonal to theta^ adds to s alone. The ball cuts the cone off. Four problems are solved here:
//!
//! - **support**: the (p, s) with the largest `u p + v s` in the ball. For `v > 0` it is `K max_{||w|| = 1} ||u theta^ + v beta G^-1/2 w||`,
//!   for `v < 0` the same with min, by exchanging max and min: a trust-region problem in the eigenbasis of G either way.
//! - **recover**: the shortest x with a given (p, s), or, where s is out of reach for this p, the x that comes nearest to it.
//! - **capped support**: the same where rows that speak of this agent alone limit `p + s` and `s - p`. For linear f (`|v| <= |u|` or v < 0)
//!   the best points lie on the curve that begins at 0, follows a ray to the ball and then the ball; along it the value is concave and
//!   both limited quantities are convex, so the best allowed point is the best one or the last allowed one.
//! - **towards**: the best known x whose response may be y, that is `p + s = y` with the smallest s.

use std::cell::OnceCell;

use super::{Estimate, trust_region::maximize_on_sphere};
use crate::{
    linalg::{SymmetricEigen, dot},
    special::square,
};

mod slice;

use slice::Slice;

/// Excess of s over the ray that is rounding.
const ON_RAY: f64 = 1e-12;

/// Relative distance of a place on the ball from the place where it should be.
const ON_ARC: f64 = 1e-12;

/// The reachable set of one agent.
#[derive(Debug)]
pub(super) struct Reach<'a> {
    estimate: &'a Estimate,
    /// beta.
    width: f64,
    /// K.
    radius: f64,
    /// `||theta^||_G^2 = <theta^, g>`, since `G theta^ = g`.
    energy: f64,
    /// In one dimension only the rays exist; a search may forbid one of them: +1 or -1 allows that sign alone.
    sign: f64,
    /// Limits by the agent's own rows: `p + s` at most the first, `s - p` at most the second.
    limits: (f64, f64),
    /// The last allowed points of the two curves.
    corners: [OnceCell<Point>; 2],
    eigen: OnceCell<Eigen>,
}

/// `G^-1` in its eigenbasis.
#[derive(Debug)]
struct Eigen {
    /// Square roots of the eigenvalues of `G^-1`.
    roots: Vec<f64>,
    vectors: Vec<Vec<f64>>,
    /// theta^ in this basis.
    theta: Vec<f64>,
}

/// A point (p, s).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Point {
    /// Estimated mean response.
    pub(super) mean: f64,
    /// Uncertainty of the mean response.
    pub(super) spread: f64,
}

impl<'a> Reach<'a> {
    pub(super) fn new(estimate: &'a Estimate, width: f64, radius: f64) -> Self {
        let energy = dot(estimate.theta(), estimate.moment()).max(0.0);
        let limits = (f64::INFINITY, f64::INFINITY);
        let corners = [OnceCell::new(), OnceCell::new()];
        Reach {
            estimate,
            width,
            radius,
            energy,
            sign: 0.0,
            limits,
            corners,
            eigen: OnceCell::new(),
        }
    }

    /// The same agent under rows of its own.
    pub(super) fn limited(self, limits: (f64, f64)) -> Self {
        Reach { limits, ..self }
    }

    /// The same agent restricted to one of its rays: one dimension only.
    pub(super) fn restricted(&self, sign: f64) -> Self {
        let free = Reach::new(self.estimate, self.width, self.radius);
        Reach { sign, limits: self.limits, ..free }
    }

    /// Limits by the agent's own rows.
    pub(super) fn limits(&self) -> (f64, f64) {
        self.limits
    }

    pub(super) fn dimension(&self) -> usize {
        self.estimate.theta().len()
    }

    /// tau: the slope of the rays.
    pub(super) fn slope(&self) -> f64 {
        self.energy.sqrt() / self.width
    }

    /// Returns whether the ray with this sign may be used.
    pub(super) fn allows(&self, sign: f64) -> bool {
        self.sign * sign >= 0.0
    }

    /// No s in the ball is larger: `G >= nu I`.
    pub(super) fn largest_spread(&self) -> f64 {
        self.width * self.radius / self.estimate.regularizer().sqrt()
    }

    /// (p, s) of an action.
    pub(super) fn point(&self, x: &[f64]) -> Point {
        Point {
            mean: dot(self.estimate.theta(), x),
            spread: self.width * self.estimate.uncertainty(x),
        }
    }

    fn eigen(&self) -> &Eigen {
        self.eigen.get_or_init(|| {
            let d = self.dimension();
            let gram = self.estimate.regularized_gram();
            match SymmetricEigen::of(d, &gram) {
                Ok(eigen) => {
                    let floor = self.estimate.regularizer();
                    // Rounding must not take an eigenvalue below nu.
                    let root = |value: &f64| 1.0 / value.max(floor).sqrt();
                    let theta = eigen.vectors().iter();
                    Eigen {
                        roots: eigen.values().iter().map(root).collect(),
                        theta: theta.map(|v| dot(v, self.estimate.theta())).collect(),
                        vectors: eigen.vectors().to_vec(),
                    }
                }
                // Sums of finite actions are finite: not reached, and harmless.
                Err(_) => Eigen {
                    roots: vec![0.0; d],
                    vectors: vec![vec![0.0; d]; d],
                    theta: vec![0.0; d],
                },
            }
        })
    }

    /// The action of largest `u p + v s` in the ball, in the eigenbasis; `None` is x = 0.
    fn support_action(&self, u: f64, v: f64) -> Option<Vec<f64>> {
        if v <= 0.0 && u.abs() * self.slope() <= -v {
            return None;
        }
        let eigen = self.eigen();
        let scale = v.abs() * self.width;
        // Both cases are homogeneous in (u, v); scaled to 1 no square under- or overflows.
        let size = (u.abs() * self.energy.sqrt()).max(scale).max(1e-300);
        let (u, scale) = (u / size, scale / size);
        let sign = if v > 0.0 { 1.0 } else { -1.0 };
        let lambda: Vec<f64> = eigen.roots.iter().map(|g| sign * square(scale * g)).collect();
        let b: Vec<f64> =
            eigen.roots.iter().zip(&eigen.theta).map(|(g, t)| u * t * scale * g).collect();
        let mut w = Vec::with_capacity(b.len());
        maximize_on_sphere(&lambda, &b, 1.0, &mut w);
        let mut x: Vec<f64> = (0..w.len())
            .map(|i| u * eigen.theta[i] + sign * scale * eigen.roots[i] * w[i])
            .collect();
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm == 0.0 {
            return None;
        }
        x.iter_mut().for_each(|x| *x *= self.radius / norm);
        Some(x)
    }

    fn point_in_eigenbasis(&self, x: &[f64]) -> Point {
        let eigen = self.eigen();
        let square: f64 = x.iter().zip(&eigen.roots).map(|(x, g)| square(x * g)).sum();
        Point { mean: dot(&eigen.theta, x), spread: self.width * square.sqrt() }
    }

    /// The point of largest `u p + v s` in the ball.
    pub(super) fn support(&self, u: f64, v: f64) -> Point {
        if self.dimension() == 1 {
            return self.support_on_rays(u, v);
        }
        self.support_action(u, v).map_or(Point::default(), |x| self.point_in_eigenbasis(&x))
    }

    fn support_on_rays(&self, u: f64, v: f64) -> Point {
        let mut best = Point::default();
        for sign in [1.0, -1.0] {
            let tip = self.point(&[sign * self.radius]);
            let allowed = self.allows(if tip.mean < 0.0 { -1.0 } else { 1.0 });
            if allowed && u * tip.mean + v * tip.spread > u * best.mean + v * best.spread {
                best = tip;
            }
        }
        best
    }

    /// The point of largest `u p + v s` among those that the agent's own rows allow; `v <= |u|` or u = 0.
    pub(super) fn capped_support(&self, u: f64, v: f64) -> Point {
        self.capped(self.support(u, v))
    }

    /// The tip of a ray, or the last point before it that is allowed.
    pub(super) fn capped_tip(&self, sign: f64) -> Point {
        self.capped(self.tip(sign))
    }

    /// A point of one of the curves, or the last point of that curve that is allowed.
    fn capped(&self, point: Point) -> Point {
        let side = if point.mean < 0.0 { -1.0 } else { 1.0 };
        if self.usage(point, side) <= 1.0 {
            return point;
        }
        *self.corners[usize::from(side < 0.0)].get_or_init(|| self.corner(point, side))
    }

    /// Returns whether the agent's own rows allow a point.
    pub(super) fn allows_point(&self, point: Point) -> bool {
        self.usage(point, 1.0) <= 1.0
    }

    /// The larger share of the two limits that a point takes, where `side` is the sign of its p.
    fn usage(&self, point: Point, side: f64) -> f64 {
        let (high, low) = if side < 0.0 { (self.limits.1, self.limits.0) } else { self.limits };
        let (out, back) = (point.spread + side * point.mean, point.spread - side * point.mean);
        let share = |value: f64, limit: f64| if value <= 0.0 { 0.0 } else { value / limit };
        share(out, high).max(share(back, low))
    }

    /// Point where the curve on this side reaches the limit; `point` is one that exceeds it.
    fn corner(&self, point: Point, side: f64) -> Point {
        let scaled =
            |point: Point, by: f64| Point { mean: point.mean * by, spread: point.spread * by };
        let tip = self.tip(side);
        let share = self.usage(tip, side);
        if share >= 1.0 {
            return scaled(tip, 1.0 / share);
        }
        let mirrored = |x: &[f64]| {
            let Point { mean, spread } = self.point_in_eigenbasis(x);
            Point { mean: side * mean, spread }
        };
        if self.slope() > 0.0 && self.dimension() > 1 {
            let found = self.on_arc(share - 1.0, |x| self.usage(mirrored(x), side) - 1.0);
            if let Some(x) = found {
                let corner = mirrored(&x);
                return scaled(corner, 1.0 / self.usage(corner, side).max(1.0));
            }
        }
        // Without an estimate there is no ray: everything lies on one line.
        scaled(point, 1.0 / self.usage(point, side))
    }

    /// Point where the ray with this sign leaves the ball.
    pub(super) fn tip(&self, sign: f64) -> Point {
        let moment = self.estimate.moment();
        let norm = dot(moment, moment).sqrt();
        if norm == 0.0 || self.energy == 0.0 {
            return Point::default();
        }
        let share = sign * self.radius / norm;
        let mean = share * self.energy;
        Point { mean, spread: mean.abs() / self.slope() }
    }

    /// The action on the ray with estimate `mean`.
    fn on_ray(&self, mean: f64) -> Vec<f64> {
        self.estimate.moment().iter().map(|g| g * mean / self.energy).collect()
    }

    /// The shortest action with this (p, s); where the ball forbids it, the one in the ball with this p and the nearest s.
    pub(super) fn recover(&self, point: Point) -> Vec<f64> {
        let Point { mean, spread } = point;
        if self.energy > 0.0 {
            let least = mean.abs() / self.slope();
            if self.dimension() == 1 || spread <= least * (1.0 + ON_RAY) {
                return self.within(self.on_ray(mean));
            }
        } else if spread <= 0.0 {
            return vec![0.0; self.dimension()];
        } else if let Some(direction) = self.estimate.first_direction() {
            let length = spread / self.point(direction).spread;
            return self.within(direction.iter().map(|x| x * length).collect());
        }
        if self.dimension() == 1 {
            // theta^ = 0: p is 0 whatever x is.
            return vec![(spread / self.point(&[1.0]).spread).min(self.radius)];
        }
        self.within(Slice::new(self, mean).action(spread))
    }

    /// Rounding may leave the ball by a hair; nothing else does.
    fn within(&self, mut x: Vec<f64>) -> Vec<f64> {
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > self.radius {
            x.iter_mut().for_each(|x| *x *= self.radius / norm);
        }
        x
    }

    /// The largest response that an action in the ball may have: `max p + s`.
    pub(super) fn largest_response(&self) -> f64 {
        let point = self.support(1.0, 1.0);
        point.mean + point.spread
    }

    /// Returns whether the ray reaches a response of this size inside the ball.
    pub(super) fn ray_reaches(&self, y: f64) -> bool {
        let tip = self.tip(1.0);
        tip.mean + tip.spread >= y.abs()
    }

    /// The action whose response may be `y` (`p + s = y`, for negative y `p - s = y`) with the smallest s.
    ///
    /// y must be at most [`Reach::largest_response`] in size.
    pub(super) fn towards(&self, y: f64) -> Vec<f64> {
        let size = y.abs();
        if size == 0.0 {
            return vec![0.0; self.dimension()];
        }
        let slope = self.slope();
        if slope > 0.0 {
            let mean = size * slope / (1.0 + slope);
            let x = self.on_ray(mean.copysign(y));
            if dot(&x, &x).sqrt() <= self.radius || self.dimension() == 1 {
                return self.within(x);
            }
        } else {
            let unit = self.recover(Point { mean: 0.0, spread: size });
            return unit;
        }
        let tip = self.tip(1.0);
        let excess = |x: &[f64]| {
            let point = self.point_in_eigenbasis(x);
            (point.mean + point.spread) / size - 1.0
        };
        let coordinates =
            self.on_arc((tip.mean + tip.spread) / size - 1.0, excess).unwrap_or_default();
        let mut x = vec![0.0; self.dimension()];
        for (coordinate, vector) in coordinates.iter().zip(&self.eigen().vectors) {
            x.iter_mut().zip(vector).for_each(|(x, v)| *x += coordinate * v * y.signum());
        }
        self.within(x)
    }
}

impl Reach<'_> {
    /// Zero of `excess` on the ball between the tip of the ray, where it is `at_tip`, and the largest `p + s`; in the eigenbasis, with p
    /// above zero. Excess must grow all the way.
    ///
    /// The arc between the two is where `p + v s` is largest, `-tau <= v <= 1`. There `theta^ + v beta G^-1 x/||x||_{G^-1}` is a multiple of x, so
    /// that `x_i ~ theta_i / (1 - kappa g_i)`, `g_i` the eigenvalues of `G^-1`: one number kappa tells the place. It is `-infinity` at the tip
    /// and `beta^2 K^2 / (s (p + s))` at the end. In between denominators are mixed, `z = 1` being the tip, and since the end may be
    /// anywhere near a pole, z is sought by its logarithm.
    fn on_arc(&self, at_tip: f64, excess: impl Fn(&[f64]) -> f64) -> Option<Vec<f64>> {
        let far = self.support_action(1.0, 1.0)?;
        let mut above = excess(&far);
        if above <= ON_ARC {
            return Some(far);
        }
        let eigen = self.eigen();
        let end = self.point_in_eigenbasis(&far);
        let kappa = square(self.width * self.radius) / (end.spread * (end.mean + end.spread));
        let top = eigen.roots.iter().fold(0.0, |most: f64, root| most.max(*root));
        let near = |i: usize| (1.0 - kappa * square(eigen.roots[i])).max(0.0);
        let at_top = |i: &usize| eigen.roots[*i] >= top * (1.0 - 1e-12);
        let part = |i: &usize| (eigen.theta[*i] * far[*i]).abs();
        let largest =
            (0..far.len()).filter(|i| !at_top(i)).max_by(|i, j| part(i).total_cmp(&part(j)));
        let unit = largest.filter(|i| part(i) > 0.0).map(|i| near(i) * far[i] / eigen.theta[i]);
        // Numerators and denominators at the end. At the pole itself the end tells the denominator. Where theta^ has no part along the top,
        // the end has one all the same (the hard case): a part whose square is rounding stands for it.
        let least = 1e-8 * dot(&eigen.theta, &eigen.theta).sqrt();
        let ends: Vec<(f64, f64)> = (0..far.len())
            .map(|i| match unit {
                Some(unit) if at_top(&i) && far[i] != 0.0 => {
                    let numerator = eigen.theta[i].abs().max(least).copysign(far[i]);
                    (numerator, unit * numerator / far[i])
                }
                _ => (eigen.theta[i], near(i)),
            })
            .collect();
        let mut x = vec![0.0; far.len()];
        let place = |ln_z: f64, x: &mut Vec<f64>| {
            let z = libm::exp(ln_z);
            for ((x, root), (numerator, near)) in x.iter_mut().zip(&eigen.roots).zip(&ends) {
                let tip = square(root / top);
                *x = numerator / (near - z * (near - tip)).max(1e-300);
            }
            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            x.iter_mut().for_each(|x| *x *= self.radius / norm);
            excess(x)
        };
        // Regula falsi with Illinois' rule, and a bisection now and then.
        let (mut low, mut high) = (-45.0, 0.0);
        let mut below = at_tip.min(0.0);
        let mut last = 0;
        for step in 0..200 {
            let mut middle = (low * below - high * above) / (below - above);
            if step % 3 == 2 || !(middle > low && middle < high) {
                middle = 0.5 * (low + high);
            }
            if middle <= low || middle >= high {
                break;
            }
            let here = place(middle, &mut x);
            if here.abs() <= ON_ARC {
                break;
            }
            if here > 0.0 {
                (low, above) = (middle, here);
                below *= if last > 0 { 0.5 } else { 1.0 };
                last = 1;
            } else {
                (high, below) = (middle, here);
                above *= if last < 0 { 0.5 } else { 1.0 };
                last = -1;
            }
        }
        Some(x)
    }
}
