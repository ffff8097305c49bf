//! Exploration as paper 3 prints it: all agents' actions together from one ball of safe actions.
//!
//! ```text
//! X = v + (r/2) u,     u uniform on the unit sphere of R^(M d),  v + B(r) in D_0                                   (21)
//! D_0 = {X : sum_m |a_im| S ||x_m|| <= b_i,  ||x_m|| <= K}                                                          (7)
//! ```
//!
//! Here `v = 0`, the centre of D_0. By Cauchy and Schwarz the largest ball has `r = min(K, min_i b_i / (S ||a_i||))`, and `E x_m x_m^T = r^2/(4 M d) I`: twelve times less
//! than the spheres of their own that core's coordinator draws from, on the paper's example.

use reticent::{
    geometry::Polytope,
    noise::{Noise, uniform_direction},
};

/// The largest ball around 0 of actions that are safe whatever the parameters are.
pub(super) fn radius(polytope: &Polytope, parameter_bound: f64, action_bound: f64) -> f64 {
    let rows = polytope.rows().iter().zip(polytope.bounds());
    let of = |(row, bound): (&Vec<f64>, &f64)| {
        let norm = row.iter().map(|a| a * a).sum::<f64>().sqrt();
        if norm > 0.0 { bound / (parameter_bound * norm) } else { f64::INFINITY }
    };
    rows.map(of).fold(action_bound, f64::min)
}

/// One draw of (21): an action for each agent of these dimensions.
pub(super) fn sample(radius: f64, dimensions: &[usize], noise: &mut impl Noise) -> Vec<Vec<f64>> {
    let whole = uniform_direction(dimensions.iter().sum(), noise);
    let mut rest = whole.iter().map(|u| 0.5 * radius * u);
    dimensions.iter().map(|d| rest.by_ref().take(*d).collect()).collect()
}

#[cfg(test)]
mod tests {
    use reticent::safe::Simplex;

    use super::*;
    use crate::FastNoise;

    /// The paper's example: its least eigenvalue is 5.7e-4.
    #[test]
    fn draws_are_safe_and_have_the_paper_s_eigenvalue() {
        let polytope = Simplex::new(&[1.0, 0.25, 0.5]).unwrap().polytope().unwrap();
        let radius = radius(&polytope, 0.5, 2.0);
        let mut noise = FastNoise::seeded(3);
        let (mut squares, mut longest) = ([0.0_f64; 9], 0.0_f64);
        let draws = 20_000;
        for _ in 0..draws {
            let actions = sample(radius, &[3; 3], &mut noise);
            let norms: Vec<f64> =
                actions.iter().map(|x| x.iter().map(|x| x * x).sum::<f64>().sqrt()).collect();
            for (row, bound) in polytope.rows().iter().zip(polytope.bounds()) {
                let worst: f64 = row.iter().zip(&norms).map(|(a, n)| a.abs() * 0.5 * n).sum();
                assert!(worst <= bound * (1.0 + 1e-12));
            }
            longest = norms.iter().copied().fold(longest, f64::max);
            squares.iter_mut().zip(actions.iter().flatten()).for_each(|(sum, x)| *sum += x * x);
        }
        let expected = radius * radius / 36.0;
        assert!((expected / 5.7e-4 - 1.0).abs() < 0.01, "{expected}");
        // The squares of a coordinate vary by sqrt(8/5) of their mean: seven standard errors.
        let far = 7.0 * (1.6_f64 / f64::from(draws)).sqrt();
        for square in squares {
            assert!((square / f64::from(draws) / expected - 1.0).abs() < far, "{squares:?}");
        }
        assert!(longest <= 0.5 * radius && longest > 0.45 * radius, "{longest}");
    }
}
