//! Any bounded polytope `{ A x <= b }`, by linear programs.
//!
//! The hull and the diameter are measured with the oracle. The centre is Chebyshev's within the hull: the largest rho with
//! `a_i x + rho |P a_i| <= b_i`, P the projection on the hull's directions, one linear program more; so the inradius is the
//! best there is.

use crate::{
    Result,
    convex::{DecisionSet, LinearOracle, Shape},
    geometry::Polytope,
    linalg::dot,
    refuse_if,
};

/// The oracle of a polytope given by its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneralPolytope {
    polytope: Polytope,
    /// Vertices to fall back on, should rounding keep the simplex method from ending.
    known: Vec<Vec<f64>>,
}

impl GeneralPolytope {
    /// The polytope of these rows (A) and bounds (b); equalities are pairs of rows.
    pub fn set<R: AsRef<[f64]>>(rows: &[R], bounds: &[f64]) -> Result<DecisionSet<Self>> {
        let polytope = Polytope::new(rows, bounds)?;
        let n = polytope.dimension();
        let mut known = Vec::new();
        for axis in 0..2 * n {
            let mut direction = vec![0.0; n];
            direction[axis / 2] = if axis % 2 == 0 { 1.0 } else { -1.0 };
            known.push(polytope.maximize(&direction)?.1);
        }
        let oracle = GeneralPolytope { polytope, known };
        let measured = DecisionSet::measure(n, oracle.clone())?;
        let hull = measured.shape().hull().clone();
        refuse_if(hull.dimension() == 0, "rows", rows.len(), "they leave one point: no choice")?;
        let lifted = |row: &Vec<f64>| -> Vec<f64> {
            let length = hull.length(row);
            // A row constant on the hull holds everywhere on it.
            let length = if length > 1e-9 * dot(row, row).sqrt() { length } else { 0.0 };
            row.iter().copied().chain([length]).collect()
        };
        let mut lifted: Vec<Vec<f64>> = oracle.polytope.rows().iter().map(lifted).collect();
        let unit = |sign: f64| -> Vec<f64> { (0..n).map(|_| 0.0).chain([sign]).collect() };
        lifted.extend([unit(-1.0), unit(1.0)]);
        let mut limits = oracle.polytope.bounds().to_vec();
        limits.extend([0.0, measured.shape().diameter()]);
        let mut centre = Polytope::new(&lifted, &limits)?.maximize(&unit(1.0))?.1;
        centre.truncate(n);
        let rows = oracle.polytope.rows().iter().map(Vec::as_slice);
        let rows = rows.zip(oracle.polytope.bounds().iter().copied());
        let inradius = Shape::distance_to_rows(&centre, &hull, rows).max(0.0);
        let diameter = measured.shape().diameter();
        let shape = Shape::new(centre, diameter, inradius.min(0.5 * diameter), hull)?;
        DecisionSet::new(oracle, shape)
    }
}

impl LinearOracle for GeneralPolytope {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        let against: Vec<f64> = direction.iter().map(|v| -v).collect();
        match self.polytope.maximize(&against) {
            Ok((_, point)) => vertex.copy_from_slice(&point),
            Err(_) => {
                let value = |v: &&Vec<f64>| dot(v, direction);
                let best = self.known.iter().min_by(|a, b| value(a).total_cmp(&value(b)));
                if let Some(best) = best {
                    vertex.copy_from_slice(best);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convex::oracle::{
        UniformMatroid,
        testing::{check_bounds, slates},
    };

    #[test]
    fn oracle_and_shape_agree_with_all_vertices() {
        // A cube with a corner cut off.
        let rows = [
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, 0.0, 1.0],
            [-1.0, 0.0, 0.0],
            [0.0, -1.0, 0.0],
            [0.0, 0.0, -1.0],
            [1.0, 1.0, 1.0],
        ];
        let bounds = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 2.0];
        let set = GeneralPolytope::set(&rows, &bounds).unwrap();
        let vertices = Polytope::new(&rows, &bounds).unwrap().vertices().unwrap();
        assert_eq!(vertices.len(), 7, "the cut takes a corner and leaves its neighbours");
        check_bounds(&set, &vertices);
        // The largest ball touches three faces and the cut: rho = c, 3 c + sqrt 3 rho = 2.
        assert!((set.shape().inradius() - 2.0 / (3.0 + 3f64.sqrt())).abs() < 1e-9);
    }

    #[test]
    fn equalities_make_it_flat_and_slates_come_out_as_slates() {
        let (n, k) = (4, 2.0);
        let (mut rows, mut bounds) = (Vec::new(), Vec::new());
        for i in 0..n {
            for (sign, bound) in [(1.0, 1.0), (-1.0, 0.0)] {
                rows.push((0..n).map(|j| if i == j { sign } else { 0.0 }).collect::<Vec<f64>>());
                bounds.push(bound);
            }
        }
        rows.extend([vec![1.0; n], vec![-1.0; n]]);
        bounds.extend([k, -k]);
        let set = GeneralPolytope::set(&rows, &bounds).unwrap();
        check_bounds(&set, &slates(n, 2));
        let exact = UniformMatroid::set(n, 2).unwrap();
        assert!((set.shape().inradius() - exact.shape().inradius()).abs() < 1e-9);
        assert_eq!(set.shape().hull().dimension(), 3);
    }

    #[test]
    fn what_is_no_polytope_is_refused() {
        assert!(GeneralPolytope::set(&[[1.0, 0.0]], &[1.0]).is_err(), "no end");
        let point = [[1.0], [-1.0]];
        assert!(GeneralPolytope::set(&point, &[1.0, -1.0]).is_err(), "one point");
        assert!(GeneralPolytope::set(&point, &[1.0, -2.0]).is_err(), "nothing");
    }
}
