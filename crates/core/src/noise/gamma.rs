//! Gamma variates (Marsaglia and Tsang 2000), in floating point: radii and chi-squares for the continuous
//! mechanisms. One normal and one uniform a try, more than 95 tries in 100 accepted, any shape above 0.

use super::Noise;

/// A gamma variate of the given shape and scale 1: density `x^(shape-1) exp(-x) / Gamma(shape)`.
pub(crate) fn gamma<N: Noise + ?Sized>(shape: f64, noise: &mut N) -> f64 {
    if shape < 1.0 {
        // Gamma(a) = Gamma(a + 1) U^(1/a).
        let boosted = gamma(shape + 1.0, noise);
        return boosted * libm::exp(-noise.exponential() / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = noise.standard_normal();
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let cube = root * root * root;
        if libm::log(noise.uniform()) < 0.5 * x * x + d * (1.0 - cube + libm::log(cube)) {
            return d * cube;
        }
    }
}

/// A chi-square variate with any positive number of degrees of freedom.
pub(crate) fn chi_square<N: Noise + ?Sized>(degrees: f64, noise: &mut N) -> f64 {
    2.0 * gamma(0.5 * degrees, noise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{SecureNoise, check};
    use crate::special::erf;

    #[test]
    fn closed_forms_and_moments() {
        let mut noise = SecureNoise::seeded(20);
        let mut draw =
            |shape: f64| (0..100_000).map(|_| gamma(shape, &mut noise)).collect::<Vec<_>>();
        assert!(!check::distribution_alarm(draw(0.5), |x| erf(x.sqrt())));
        assert!(!check::distribution_alarm(draw(1.0), |x| -(-x).exp_m1()));
        assert!(!check::distribution_alarm(draw(2.0), |x| 1.0 - (1.0 + x) * (-x).exp()));
        // Planted: one degree of freedom too many.
        assert!(check::distribution_alarm(draw(2.5), |x| 1.0 - (1.0 + x) * (-x).exp()));
        for shape in [0.5, 3.3, 1000.0, 5e4] {
            let values = draw(shape);
            assert!(!check::mean_alarm(values.iter().copied(), shape, shape.sqrt()));
            let spread = (2.0 * shape * shape + 6.0 * shape).sqrt();
            let squares = values.iter().map(|x| (x - shape).powi(2));
            assert!(!check::mean_alarm(squares, shape, spread));
        }
    }
}
