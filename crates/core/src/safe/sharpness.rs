//! Loss of a polytope to uncertainty: shrinkage and sharpness.
//!
//! Definitions 2 to 4 of paper 3, for the sup norm: `Y_Delta = {y : y + v in Y for all ||v||_inf <= Delta}` has the rows
//! `a_i y <= b_i - Delta ||a_i||_1` (45). The maximum shrinkage is the largest Delta with a nonempty `Y_Delta`, a linear program. The
//! sharpness `max_{x in Y} min_{y in Y_Delta} ||x - y||_2` is attained at a vertex, because the distance to a convex set is convex:
//! one projection per vertex.

use super::projection::nearest;
use crate::{
    Result,
    error::not_negative,
    geometry::{Outcome, Polytope, maximize, stalled},
    refuse_if,
    special::square,
};

impl Polytope {
    /// The maximum shrinkage H of Definition 3: how far the best point lies from every wall, in sup norm.
    pub fn maximum_shrinkage(&self) -> Result<f64> {
        let with_norm = |row: &Vec<f64>| {
            let mut longer = row.clone();
            longer.push(one_norm(row));
            longer
        };
        let rows: Vec<Vec<f64>> = self.rows().iter().map(with_norm).collect();
        let mut objective = vec![0.0; self.dimension()];
        objective.push(1.0);
        match maximize(&rows, self.bounds(), &objective) {
            Outcome::Optimal { value, .. } => Ok(value.max(0.0)),
            _ => Err(stalled()),
        }
    }

    /// The sharpness of Definition 4: how far the worst corner of Y lies from what is left after shrinking by `shrinkage`.
    pub fn sharpness(&self, shrinkage: f64) -> Result<f64> {
        not_negative("shrinkage", shrinkage)?;
        let largest = self.maximum_shrinkage()?;
        let remedy = format_args!("nothing is left of the set; expected at most {largest}");
        refuse_if(shrinkage > largest * (1.0 + 1e-12), "shrinkage", shrinkage, remedy)?;
        let shrink = |(row, bound): (&Vec<f64>, &f64)| bound - shrinkage * one_norm(row);
        let bounds = self.rows().iter().zip(self.bounds()).map(shrink).collect();
        let left = Polytope::derived(self.rows().to_vec(), bounds);
        let mut sharpness: f64 = 0.0;
        for vertex in self.vertices()? {
            let nearest = nearest(&left, &vertex).ok_or_else(stalled)?;
            let square: f64 = nearest.iter().zip(&vertex).map(|(a, b)| square(a - b)).sum();
            sharpness = sharpness.max(square.sqrt());
        }
        Ok(sharpness)
    }
}

fn one_norm(row: &[f64]) -> f64 {
    row.iter().map(|a| a.abs()).sum()
}
