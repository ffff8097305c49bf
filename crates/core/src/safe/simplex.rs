//! The simplex of (15)-(17) of paper 3, for which shrinkage and sharpness have closed forms.
//!
//! ```text
//! S = {y : sum y_m / c_m <= 1/2,  y_m >= -1/(2 q)},   q = sum 1 / c_m
//! ```
//!
//! Scaled by widths beta_m, with `rho_m = c_m / beta_m` and `q' = sum 1/rho_m`: the maximum shrinkage is `1/(2 q')` (Lemma 10) and
//! the sharpness `Delta sqrt((M - 1) + (2 q' max rho - 1)^2)` (Lemma 8).

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    error::{finite_vector, not_negative, positive},
    geometry::Polytope,
    refuse_if,
    special::square,
};

/// A simplex around the origin whose corner on axis m lies at about `c_m`: small c_m is a tight constraint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct Simplex {
    reaches: Vec<f64>,
}

impl TryFrom<Vec<f64>> for Simplex {
    type Error = Error;

    fn try_from(reaches: Vec<f64>) -> Result<Self> {
        Simplex::new(&reaches)
    }
}

impl From<Simplex> for Vec<f64> {
    fn from(simplex: Simplex) -> Vec<f64> {
        simplex.reaches
    }
}

impl Simplex {
    /// The simplex with these c_m, all above zero.
    ///
    /// ```
    /// use reticent::safe::Simplex;
    /// // The paper's experiment.
    /// let simplex = Simplex::new(&[1.0, 0.25, 0.5])?;
    /// assert_eq!(simplex.polytope()?.rows()[0], [1.0, 4.0, 2.0]);
    /// assert_eq!(simplex.maximum_shrinkage(&[1.0; 3])?, 1.0 / 14.0);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn new(reaches: &[f64]) -> Result<Self> {
        refuse_if(reaches.is_empty(), "reaches", "an empty list", "expected one c_m per agent")?;
        for &reach in reaches {
            positive("reaches", reach)?;
        }
        Ok(Simplex { reaches: reaches.to_vec() })
    }

    /// M.
    pub fn dimension(&self) -> usize {
        self.reaches.len()
    }

    /// c.
    pub fn reaches(&self) -> &[f64] {
        &self.reaches
    }

    /// A and b of (16) and (17).
    pub fn polytope(&self) -> Result<Polytope> {
        let dimension = self.dimension();
        let mut rows = vec![self.reaches.iter().map(|c| 1.0 / c).collect::<Vec<f64>>()];
        for m in 0..dimension {
            let mut row = vec![0.0; dimension];
            row[m] = -1.0;
            rows.push(row);
        }
        let q: f64 = rows[0].iter().sum();
        let mut bounds = vec![0.5];
        bounds.resize(dimension + 1, 0.5 / q);
        Polytope::new(&rows, &bounds)
    }

    /// The simplex that `polytope` is, if its rows are those of (16) and (17) in this order.
    pub fn of(polytope: &Polytope) -> Option<Self> {
        let first = &polytope.rows()[0];
        let reaches: Vec<f64> = first.iter().map(|a| 1.0 / a).collect();
        let simplex = Simplex::new(&reaches).ok()?;
        let same = simplex.polytope().ok()?;
        let close = |a: &f64, b: &f64| (a - b).abs() <= 1e-12 * b.abs().max(1e-12);
        let rows = same.rows().len() == polytope.rows().len()
            && same
                .rows()
                .iter()
                .zip(polytope.rows())
                .all(|(a, b)| a.iter().zip(b).all(|(a, b)| close(a, b)));
        let bounds = same.bounds().iter().zip(polytope.bounds()).all(|(a, b)| close(a, b));
        (rows && bounds).then_some(simplex)
    }

    /// Lemma 10: the maximum shrinkage after scaling by `widths`.
    pub fn maximum_shrinkage(&self, widths: &[f64]) -> Result<f64> {
        Ok(0.5 / self.scaled(widths)?.0)
    }

    /// Lemma 8: the sharpness after scaling by `widths`.
    pub fn sharpness(&self, widths: &[f64], shrinkage: f64) -> Result<f64> {
        not_negative("shrinkage", shrinkage)?;
        let (q, largest) = self.scaled(widths)?;
        if shrinkage * 2.0 * q > 1.0 + 1e-12 {
            let remedy = format!("nothing is left of the simplex; expected at most {}", 0.5 / q);
            return Err(Error::invalid("shrinkage", shrinkage, remedy));
        }
        let others = (self.dimension() - 1) as f64;
        Ok(shrinkage * (others + square(2.0 * q * largest - 1.0)).sqrt())
    }

    /// `(q', max rho)`.
    fn scaled(&self, widths: &[f64]) -> Result<(f64, f64)> {
        finite_vector("widths", widths, self.dimension())?;
        let (mut q, mut largest) = (0.0, 0.0_f64);
        for (c, &width) in self.reaches.iter().zip(widths) {
            let rho = c / positive("widths", width)?;
            q += 1.0 / rho;
            largest = largest.max(rho);
        }
        Ok((q, largest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::Noise, release::testing::Seeded};

    #[test]
    fn closed_forms_are_what_program_and_projection_find() {
        let mut noise = Seeded(5);
        let mut worst: f64 = 0.0;
        for _ in 0..200 {
            let dimension = 1 + noise.below(6) as usize;
            let mut numbers = |low: f64| -> Vec<f64> {
                (0..dimension).map(|_| low + 2.0 * noise.uniform()).collect()
            };
            let (reaches, widths) = (numbers(0.1), numbers(0.3));
            let simplex = Simplex::new(&reaches).unwrap();
            let polytope = simplex.polytope().unwrap().scaled(&widths).unwrap();
            let shrinkage = simplex.maximum_shrinkage(&widths).unwrap();
            worst = worst.max((polytope.maximum_shrinkage().unwrap() / shrinkage - 1.0).abs());
            assert_eq!(polytope.vertices().unwrap().len(), dimension + 1);
            for part in [0.0, 1e-3, 0.3, 0.9, 1.0] {
                let expected = simplex.sharpness(&widths, part * shrinkage).unwrap();
                let found = polytope.sharpness(part * shrinkage).unwrap();
                worst = worst.max((found - expected).abs());
            }
        }
        assert!(worst < 2e-9, "{worst}");
    }

    #[test]
    fn a_simplex_is_recognised_and_its_neighbour_is_not() {
        let simplex = Simplex::new(&[1.0, 0.25, 0.5]).unwrap();
        let polytope = simplex.polytope().unwrap();
        let found = Simplex::of(&polytope).unwrap();
        assert!(found.reaches().iter().zip([1.0, 0.25, 0.5]).all(|(a, b)| (a - b).abs() < 1e-15));
        let mut bounds = polytope.bounds().to_vec();
        bounds[2] *= 1.001;
        assert!(Simplex::of(&Polytope::new(polytope.rows(), &bounds).unwrap()).is_none());
        assert!(simplex.sharpness(&[1.0; 3], 0.08).is_err());
        assert!(Simplex::new(&[1.0, 0.0]).is_err() && Simplex::new(&[]).is_err());
    }
}
