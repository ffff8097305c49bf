//! A box: `{ l <= x <= u }`, coordinate by coordinate. Where `l_i = u_i` it is flat.

use super::{MOST, between};
use crate::{
    Error, Result,
    convex::{DecisionSet, Hull, LinearOracle, Shape},
    error::finite_vector,
    refuse_if,
};

/// The oracle of a box with sides along the axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Cuboid {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Cuboid {
    /// The box between two corners, at least one coordinate of which differs.
    pub fn set(lower: &[f64], upper: &[f64]) -> Result<DecisionSet<Self>> {
        let dimension = between("dimension", lower.len(), 1, MOST)?;
        finite_vector("lower", lower, dimension)?;
        finite_vector("upper", upper, dimension)?;
        let widths: Vec<f64> = upper.iter().zip(lower).map(|(u, l)| u - l).collect();
        if let Some(index) = widths.iter().position(|width| *width < 0.0) {
            let remedy = format!("at index {index} give at least `lower` = {}", lower[index]);
            return Err(Error::invalid("upper", upper[index], remedy));
        }
        let mut hull = Hull::whole(dimension);
        let mut inradius = f64::INFINITY;
        for (axis, width) in widths.iter().enumerate() {
            if *width > 0.0 {
                inradius = inradius.min(0.5 * width);
            } else {
                let mut normal = vec![0.0; dimension];
                normal[axis] = 1.0;
                hull.add_normal(&normal);
            }
        }
        refuse_if(hull.dimension() == 0, "upper", "lower", "leave some coordinate a choice")?;
        let centre = upper.iter().zip(lower).map(|(u, l)| 0.5 * (u + l)).collect();
        let diameter = widths.iter().map(|width| width * width).sum::<f64>().sqrt();
        let shape = Shape::new(centre, diameter, inradius, hull)?;
        DecisionSet::new(Cuboid { lower: lower.to_vec(), upper: upper.to_vec() }, shape)
    }
}

impl LinearOracle for Cuboid {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        for (((x, v), l), u) in vertex.iter_mut().zip(direction).zip(&self.lower).zip(&self.upper) {
            *x = if *v > 0.0 { *l } else { *u };
        }
    }

    fn project(&self, point: &mut [f64]) -> bool {
        for ((x, l), u) in point.iter_mut().zip(&self.lower).zip(&self.upper) {
            *x = x.clamp(*l, *u);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convex::oracle::testing::{check_exact, check_projection};

    #[test]
    fn oracle_and_shape_agree_with_the_corners() {
        let (lower, upper) = ([0.0, -1.0, 3.0, 2.0], [1.0, 0.5, 3.0, 5.0]);
        let corner = |bits: usize| -> Vec<f64> {
            (0..4).map(|i| if bits >> i & 1 == 1 { upper[i] } else { lower[i] }).collect()
        };
        let mut vertices: Vec<Vec<f64>> = (0..16).map(corner).collect();
        vertices.sort_by(|a, b| a.partial_cmp(b).unwrap());
        vertices.dedup();
        let set = Cuboid::set(&lower, &upper).unwrap();
        assert_eq!(set.shape().hull().dimension(), 3);
        check_exact(&set, &vertices);
        check_projection(&set);
    }

    #[test]
    fn bounds_the_wrong_way_round_are_refused() {
        assert!(Cuboid::set(&[0.0, 1.0], &[1.0, 0.5]).is_err());
        assert!(Cuboid::set(&[0.0], &[f64::INFINITY]).is_err());
        assert!(Cuboid::set(&[1.0], &[1.0]).is_err());
        assert!(Cuboid::set(&[], &[]).is_err());
    }
}
