//! The Euclidean ball: `{ |x - c| <= R }`. Every point of its sphere is a vertex.

use super::{MOST, between};
use crate::{
    Result,
    convex::{DecisionSet, Hull, LinearOracle, Shape},
    error::{finite_vector, positive},
    linalg::dot,
    special::square,
};

/// The oracle of a Euclidean ball.
#[derive(Debug, Clone, PartialEq)]
pub struct L2Ball {
    centre: Vec<f64>,
    radius: f64,
}

impl L2Ball {
    /// The ball around `centre`.
    pub fn set(centre: &[f64], radius: f64) -> Result<DecisionSet<Self>> {
        let dimension = between("dimension", centre.len(), 1, MOST)?;
        finite_vector("centre", centre, dimension)?;
        let radius = positive("radius", radius)?;
        let shape = Shape::new(centre.to_vec(), 2.0 * radius, radius, Hull::whole(dimension))?;
        DecisionSet::new(L2Ball { centre: centre.to_vec(), radius }, shape)
    }
}

impl LinearOracle for L2Ball {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        let peak = direction.iter().fold(0.0_f64, |peak, x| peak.max(x.abs()));
        if peak == 0.0 {
            vertex.copy_from_slice(&self.centre);
            vertex[0] += self.radius;
            return;
        }
        // Scaled by the peak first, so that no square overflows or vanishes.
        let length = direction.iter().map(|x| square(x / peak)).sum::<f64>().sqrt();
        for ((x, v), c) in vertex.iter_mut().zip(direction).zip(&self.centre) {
            *x = c - self.radius * (v / peak) / length;
        }
    }

    fn project(&self, point: &mut [f64]) -> bool {
        point.iter_mut().zip(&self.centre).for_each(|(x, c)| *x -= c);
        let length = dot(point, point).sqrt();
        let scale = if length > self.radius { self.radius / length } else { 1.0 };
        point.iter_mut().zip(&self.centre).for_each(|(x, c)| *x = c + *x * scale);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convex::oracle::testing::check_projection;

    #[test]
    fn the_vertex_lies_on_the_sphere_against_the_direction() {
        let set = L2Ball::set(&[1.0, -2.0, 0.5], 1.5).unwrap();
        let mut vertex = [0.0; 3];
        for scale in [1.0, 1e300, 1e-300] {
            set.oracle().minimize(&[3.0 * scale, 0.0, -4.0 * scale], &mut vertex);
            let expected = [1.0 - 0.9, -2.0, 0.5 + 1.2];
            assert!(vertex.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{vertex:?}");
        }
        assert_eq!((set.shape().diameter(), set.shape().inradius()), (3.0, 1.5));
        check_projection(&set);
        assert!(L2Ball::set(&[0.0], -1.0).is_err() && L2Ball::set(&[], 1.0).is_err());
    }
}
