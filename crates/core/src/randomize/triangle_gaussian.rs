//! The message of Zheng, Cai, Huang, Li and Wang, "Locally Differentially Private (Contextual) Bandits Learning" (2020).
//!
//! ```text
//! x x^T + N,   x y + h        N symmetric, its upper triangle of one deviation s, diagonal included;   h: deviation s
//! ```
//!
//! **Joint sensitivity.** With `|x| <= 1`, `|y| <= 1` the triangle moves by `(F^2 + G^2)/2`, where F is the Frobenius norm of
//! `x x^T - x' x'^T` and `G <= F` that of its diagonal. With `p, q, a` as in `gram_gaussian`, the pair moves by at most
//! `p^2 + q^2 - 2a^2 + p + q + 2a <= 4 + 2a - 2a^2 <= 4.5`: the sensitivity is `sqrt 4.5`, attained by `x = (c, s)`,
//! `x' = (s, c)` with `2cs = 1/2` and opposite rewards; in one dimension it is a bound that is not attained. Signs are free, so rewards in [0, 1] do no better: take -x'.
//!
//! GOE noise of the same deviation off the diagonal costs 2 in place of 2.12 and disturbs the matrix as a whole
//! hardly more, which is why nothing but the comparison uses this one.

use super::GramGaussian;
use crate::{
    Result,
    release::{Calibration, Domain, SingleRelease},
};

impl GramGaussian {
    /// `sqrt 4.5`.
    pub const TRIANGLE_SENSITIVITY: f64 = 2.121_320_343_559_642_4;

    /// A report of `x x^T` and `x y` with one deviation for all of it.
    pub fn triangle(dimension: usize, calibration: Calibration) -> Result<Self> {
        let domain = Domain::regression(dimension, 1.0, 1.0).split_as(1.0);
        domain.check()?;
        let (ratios, sensitivity) = (vec![1.0; domain.coordinates()], Self::TRIANGLE_SENSITIVITY);
        let mechanism = SingleRelease::new(domain.clone(), &ratios, sensitivity, calibration)?;
        Ok(GramGaussian { domain, off_diagonal: mechanism.deviations()[0], mechanism })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::triangle;
    use crate::randomize::{
        Bounds,
        second_moment::exact,
        testing::{Echo, largest_distance, noise_alarm},
    };
    use crate::release::testing::Seeded;

    #[test]
    fn the_stated_sensitivity_is_the_maximum_and_that_of_the_parts_is_not() {
        for d in [2, 3, 5] {
            let randomizer = GramGaussian::triangle(d, Calibration::Mu(1.0)).unwrap();
            let deviation = randomizer.precision().vector;
            let deviations = vec![deviation; triangle(d) + d];
            let largest = largest_distance(d, &deviations, exact);
            assert!(largest <= 1.0 + 1e-9 && largest > 0.999, "{d}: {largest}");
            // Planted: sqrt 2 for the triangle and 2 for the vector, hence 2 for both.
            let smaller =
                vec![deviation * 2.0 / GramGaussian::TRIANGLE_SENSITIVITY; triangle(d) + d];
            assert!(largest_distance(d, &smaller, exact) > 1.02);
        }
    }

    #[test]
    fn noise_is_as_stated_and_no_draw_is_shared() {
        let randomizer = GramGaussian::triangle(2, Calibration::Mu(0.5)).unwrap();
        let clipped = Bounds::unit(2).clip(&[0.28, 0.96], -1.0).unwrap();
        let truth = exact(&[0.28, 0.96], -1.0);
        let deviations = vec![randomizer.precision().vector; 5];
        let mut seeded = Seeded(4);
        assert!(!noise_alarm(&truth, &deviations, &mut || {
            randomizer.randomize(&clipped, &mut seeded).unwrap()
        }));
        let mut echo = Echo::new(Seeded(4));
        assert!(noise_alarm(&truth, &deviations, &mut || {
            randomizer.randomize(&clipped, &mut echo).unwrap()
        }));
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(GramGaussian::triangle(0, Calibration::Mu(1.0)).is_err());
        assert!(GramGaussian::triangle(2, Calibration::Mu(f64::NAN)).is_err());
        let randomizer = GramGaussian::triangle(2, Calibration::Mu(1.0)).unwrap();
        let other = Bounds::unit(1).clip(&[0.6], 0.5).unwrap();
        assert!(randomizer.randomize(&other, &mut Seeded(1)).is_err());
        assert!(randomizer.estimate(&[1.0]).is_err());
    }
}
