//! The l1 ball: `{ sum |x_i| <= R }`, whose 2n vertices are `+-R e_i`.

use super::{at_least, simplex::project_to_simplex};
use crate::{
    Result,
    convex::{DecisionSet, Hull, LinearOracle, Shape},
    error::positive,
};

/// The oracle of an l1 ball around 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct L1Ball {
    radius: f64,
}

impl L1Ball {
    /// The l1 ball of this radius.
    pub fn set(dimension: usize, radius: f64) -> Result<DecisionSet<Self>> {
        let n = at_least("dimension", dimension, 1)? as f64;
        let radius = positive("radius", radius)?;
        let hull = Hull::whole(dimension);
        let shape = Shape::new(vec![0.0; dimension], 2.0 * radius, radius / n.sqrt(), hull)?;
        DecisionSet::new(L1Ball { radius }, shape)
    }
}

impl LinearOracle for L1Ball {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        let mut best = 0;
        for (index, entry) in direction.iter().enumerate() {
            if entry.abs() > direction[best].abs() {
                best = index;
            }
        }
        vertex.fill(0.0);
        vertex[best] = if direction[best] > 0.0 { -self.radius } else { self.radius };
    }

    fn project(&self, point: &mut [f64]) -> bool {
        if point.iter().map(|x| x.abs()).sum::<f64>() > self.radius {
            let mut sizes: Vec<f64> = point.iter().map(|x| x.abs()).collect();
            project_to_simplex(&mut sizes, self.radius);
            point.iter_mut().zip(sizes).for_each(|(x, size)| *x = size.copysign(*x));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convex::oracle::testing::{check_exact, check_projection, corners};

    #[test]
    fn oracle_and_shape_agree_with_the_vertices() {
        for n in [1, 2, 4] {
            let vertices: Vec<Vec<f64>> = corners(n)
                .into_iter()
                .flat_map(|e| [1.5, -1.5].map(|r| e.iter().map(|x| x * r).collect::<Vec<f64>>()))
                .collect();
            check_exact(&L1Ball::set(n, 1.5).unwrap(), &vertices);
        }
        assert!(L1Ball::set(0, 1.0).is_err() && L1Ball::set(2, f64::NAN).is_err());
    }

    #[test]
    fn projections_satisfy_their_variational_inequality() {
        check_projection(&L1Ball::set(6, 2.0).unwrap());
    }
}
