//! The affine hull of a set: the directions in which one can move inside it.
//!
//! ```text
//! hull = centre + { z : <q, z> = 0 for every normal q }
//! ```
//!
//! Simplex, matroid bases, flows and Birkhoff's polytope are flat: they have no interior in the whole space, a
//! sphere around a point of them leaves them at once, and smoothing needs directions of the hull, n' = its
//! dimension of them. Normals are kept rather than a basis, because combinatorial sets have few.

use serde::{Deserialize, Serialize};

use crate::{Error, Result, error::finite_vector, linalg::dot, noise::Noise};

/// Remainder of a row, relative to its length, below which it counts as dependent on the others.
const DEPENDENT: f64 = 1e-9;

/// The directions of a set's affine hull, by orthonormal normals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "(usize, Vec<Vec<f64>>)", into = "(usize, Vec<Vec<f64>>)")]
pub struct Hull {
    ambient: usize,
    normals: Vec<Vec<f64>>,
}

impl From<Hull> for (usize, Vec<Vec<f64>>) {
    fn from(hull: Hull) -> Self {
        (hull.ambient, hull.normals)
    }
}

impl TryFrom<(usize, Vec<Vec<f64>>)> for Hull {
    type Error = Error;

    /// Refuses normals that are not orthonormal.
    fn try_from((ambient, normals): (usize, Vec<Vec<f64>>)) -> Result<Self> {
        let hull = Hull { ambient, normals };
        hull.check()?;
        for (i, one) in hull.normals.iter().enumerate() {
            for (j, two) in hull.normals[..=i].iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                if (dot(one, two) - expected).abs() > 1e-9 {
                    let value = format!("{j} and {i}");
                    return Err(Error::invalid("normals", value, "expected orthonormal ones"));
                }
            }
        }
        Ok(hull)
    }
}

impl Hull {
    /// The whole space.
    pub fn whole(ambient: usize) -> Self {
        Hull { ambient, normals: Vec::new() }
    }

    /// The directions orthogonal to these rows; dependent rows do no harm.
    pub fn orthogonal_to(ambient: usize, rows: &[Vec<f64>]) -> Result<Self> {
        let mut hull = Hull::whole(ambient);
        for row in rows {
            finite_vector("normal", row, ambient)?;
            hull.add_normal(row);
        }
        Ok(hull)
    }

    /// Takes one more normal; says whether it was new.
    pub(super) fn add_normal(&mut self, row: &[f64]) -> bool {
        let before = dot(row, row).sqrt();
        let mut normal = row.to_vec();
        // Twice is enough (Kahan): the second pass takes off what rounding left in the first.
        self.project(&mut normal);
        self.project(&mut normal);
        let length = dot(&normal, &normal).sqrt();
        if length <= DEPENDENT * before {
            return false;
        }
        normal.iter_mut().for_each(|entry| *entry /= length);
        self.normals.push(normal);
        true
    }

    /// Entries of a vector of the space around.
    pub fn ambient(&self) -> usize {
        self.ambient
    }

    /// n', the dimension of the hull.
    pub fn dimension(&self) -> usize {
        self.ambient - self.normals.len()
    }

    /// The orthonormal normals.
    pub fn normals(&self) -> &[Vec<f64>] {
        &self.normals
    }

    /// Takes the normal part off a vector of the right length.
    pub fn project(&self, vector: &mut [f64]) {
        for normal in &self.normals {
            let part = dot(normal, vector);
            vector.iter_mut().zip(normal).for_each(|(entry, q)| *entry -= part * q);
        }
    }

    /// Length of a vector's part in the hull.
    pub(super) fn length(&self, vector: &[f64]) -> f64 {
        let mut part = vector.to_vec();
        self.project(&mut part);
        self.project(&mut part);
        dot(&part, &part).sqrt()
    }

    /// An orthonormal basis of the directions.
    pub fn basis(&self) -> Vec<Vec<f64>> {
        let mut seen = self.clone();
        let mut basis = Vec::with_capacity(self.dimension());
        for axis in 0..self.ambient {
            let mut row = vec![0.0; self.ambient];
            row[axis] = 1.0;
            if basis.len() < self.dimension() && seen.add_normal(&row) {
                basis.extend(seen.normals.last().cloned());
            }
        }
        basis
    }

    /// Fills `direction` with a uniform unit vector of the hull; with 0 if the hull is a point.
    #[inline]
    pub fn sample<N: Noise + ?Sized>(&self, direction: &mut [f64], noise: &mut N) {
        if self.dimension() == 0 {
            return direction.fill(0.0);
        }
        loop {
            direction.iter_mut().for_each(|entry| *entry = noise.standard_normal());
            self.project(direction);
            let square = dot(direction, direction);
            // A projected normal is a normal of the hull; so short a one tells no direction.
            if square > 1e-16 {
                let scale = 1.0 / square.sqrt();
                return direction.iter_mut().for_each(|entry| *entry *= scale);
            }
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.ambient == 0 || self.normals.len() > self.ambient {
            return Err(Error::invalid(
                "dimension",
                self.ambient,
                "expected a whole number above 0",
            ));
        }
        self.normals.iter().try_for_each(|normal| finite_vector("normal", normal, self.ambient))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::check;
    use crate::release::testing::Seeded;

    #[test]
    fn dependent_normals_are_dropped_and_the_basis_completes_the_rest() {
        let rows = [vec![1.0, 1.0, 1.0, 0.0], vec![0.0, 0.0, 2.0, 0.0], vec![3.0, 3.0, 1.0, 0.0]];
        let hull = Hull::orthogonal_to(4, &rows).unwrap();
        assert_eq!((hull.ambient(), hull.dimension()), (4, 2));
        let basis = hull.basis();
        assert_eq!(basis.len(), 2);
        for (i, b) in basis.iter().enumerate() {
            assert!(rows.iter().all(|row| dot(row, b).abs() < 1e-12));
            for (j, c) in basis.iter().enumerate() {
                assert!((dot(b, c) - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn forged_hulls_are_refused() {
        let hull = Hull::orthogonal_to(3, &[vec![1.0, 1.0, 1.0]]).unwrap();
        let text = serde_json::to_string(&hull).unwrap();
        assert_eq!(serde_json::from_str::<Hull>(&text).unwrap(), hull);
        for forged in ["[3,[[1.0,1.0,1.0]]]", "[3,[[1.0,0.0]]]", "[0,[]]", "[1,[[1.0],[1.0]]]"] {
            assert!(serde_json::from_str::<Hull>(forged).is_err(), "{forged}");
        }
    }

    #[test]
    fn directions_are_uniform_in_the_hull() {
        // In a plane's hull the second moment of each coordinate of a unit vector is its share of n'.
        let hull = Hull::orthogonal_to(3, &[vec![1.0, 1.0, 1.0]]).unwrap();
        let mut noise = Seeded(3);
        let mut direction = [0.0; 3];
        let mut firsts = Vec::new();
        for _ in 0..40_000 {
            hull.sample(&mut direction, &mut noise);
            assert!(direction.iter().sum::<f64>().abs() < 1e-12);
            assert!((dot(&direction, &direction) - 1.0).abs() < 1e-12);
            firsts.push(direction[0]);
        }
        // E u_1^2 = |P e_1|^2 / 2 = 1/3; u_1 = sqrt(2/3) cos(angle), so u_1^2 has deviation sqrt(1/18).
        let squares = |scale: f64| firsts.iter().map(move |x| scale * x * x);
        assert!(!check::mean_alarm(squares(1.0), 1.0 / 3.0, (1.0_f64 / 18.0).sqrt()));
        // Planted: a direction of the whole space has a third of a smaller hull's share.
        assert!(check::mean_alarm(squares(0.95), 1.0 / 3.0, (1.0_f64 / 18.0).sqrt()));
    }
}
