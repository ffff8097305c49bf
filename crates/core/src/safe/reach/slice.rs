//! The actions of one estimated response, by the uncertainty they have.

use super::Reach;
use crate::{
    linalg::{SymmetricEigen, dot, triangle},
    safe::trust_region::maximize_on_sphere,
    special::square,
};

/// The actions with one p: `x = p theta^/||theta^||^2 + Q z`, on which `||x||^2_{G^-1} = z B z + 2 b z + c`.
pub(super) struct Slice<'a, 'b> {
    reach: &'b Reach<'a>,
    /// The part along theta^.
    base: Vec<f64>,
    /// Columns: eigenvectors of B, as directions of x.
    directions: Vec<Vec<f64>>,
    lambda: Vec<f64>,
    linear: Vec<f64>,
    constant: f64,
}

impl<'a, 'b> Slice<'a, 'b> {
    pub(super) fn new(reach: &'b Reach<'a>, mean: f64) -> Self {
        let d = reach.dimension();
        let theta = reach.estimate.theta();
        let square = dot(theta, theta);
        let (base, basis) = if square > 0.0 {
            let base: Vec<f64> = theta.iter().map(|t| t * mean / square).collect();
            (base, orthogonal_basis(theta, square.sqrt()))
        } else {
            let unit = |i: usize| (0..d).map(|j| f64::from(u8::from(i == j))).collect();
            (vec![0.0; d], (0..d).map(unit).collect::<Vec<Vec<f64>>>())
        };
        let whiten = |x: &[f64]| reach.estimate.whiten(x);
        let white: Vec<Vec<f64>> = basis.iter().map(|q| whiten(q)).collect();
        let white_base = whiten(&base);
        let mut upper = Vec::with_capacity(triangle(basis.len()));
        for i in 0..basis.len() {
            upper.extend(white[i..].iter().map(|other| dot(&white[i], other)));
        }
        let (lambda, rotations) = match SymmetricEigen::of(basis.len(), &upper) {
            Ok(eigen) => (eigen.values().to_vec(), eigen.vectors().to_vec()),
            Err(_) => (Vec::new(), Vec::new()),
        };
        let combine = |parts: &[Vec<f64>], rotation: &[f64], length: usize| {
            let mut sum = vec![0.0; length];
            for (part, r) in parts.iter().zip(rotation) {
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += r * part);
            }
            sum
        };
        let directions = rotations.iter().map(|r| combine(&basis, r, d)).collect();
        let linear = rotations.iter().map(|r| dot(&combine(&white, r, d), &white_base)).collect();
        let constant = dot(&white_base, &white_base);
        Slice { reach, base, directions, lambda, linear, constant }
    }

    /// The shortest action with this spread, or the one in the ball nearest to it.
    pub(super) fn action(&self, spread: f64) -> Vec<f64> {
        let floor = 1e-300;
        // In w = sqrt(lambda) z + linear / sqrt(lambda) the actions with this spread are a sphere of square radius
        // (spread / beta)^2 - constant + sum linear^2 / lambda.
        let centre: f64 =
            self.linear.iter().zip(&self.lambda).map(|(b, l)| b * b / l.max(floor)).sum();
        let squared_radius = square(spread / self.reach.width) - self.constant + centre;
        let inverse: Vec<f64> = self.lambda.iter().map(|l| -1.0 / l.max(floor)).collect();
        let pull: Vec<f64> = self
            .linear
            .iter()
            .zip(&self.lambda)
            .map(|(b, l)| b * libm::pow(l.max(floor), -1.5))
            .collect();
        let mut w = Vec::with_capacity(inverse.len());
        maximize_on_sphere(&inverse, &pull, squared_radius.max(floor).sqrt(), &mut w);
        let mut z: Vec<f64> = (0..w.len())
            .map(|i| {
                let l = self.lambda[i].max(floor);
                w[i] / l.sqrt() - self.linear[i] / l
            })
            .collect();
        let base = dot(&self.base, &self.base);
        let room = (square(self.reach.radius) - base).max(0.0);
        if dot(&z, &z) > room {
            let current = square(spread / self.reach.width);
            if room == 0.0 {
                z.fill(0.0);
            } else if current >= self.constant {
                // Too uncertain for the ball: as uncertain as it allows.
                maximize_on_sphere(&self.lambda, &self.linear, room.sqrt(), &mut z);
            } else {
                let negative = |values: &[f64]| values.iter().map(|x| -x).collect::<Vec<f64>>();
                let (lambda, linear) = (negative(&self.lambda), negative(&self.linear));
                maximize_on_sphere(&lambda, &linear, room.sqrt(), &mut z);
            }
        }
        let mut x = self.base.clone();
        for (z, direction) in z.iter().zip(&self.directions) {
            x.iter_mut().zip(direction).for_each(|(x, v)| *x += z * v);
        }
        x
    }
}

/// Unit vectors that span the complement of `theta`: the other columns of Householder's reflection of the first axis onto it.
fn orthogonal_basis(theta: &[f64], norm: f64) -> Vec<Vec<f64>> {
    let d = theta.len();
    let sign = if theta[0] < 0.0 { -1.0 } else { 1.0 };
    let mut reflector: Vec<f64> = theta.iter().map(|t| t / norm).collect();
    reflector[0] += sign;
    let square = dot(&reflector, &reflector);
    let column = |k: usize| {
        (0..d)
            .map(|i| f64::from(u8::from(i == k)) - 2.0 * reflector[k] * reflector[i] / square)
            .collect()
    };
    (1..d).map(column).collect()
}
