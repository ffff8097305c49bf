//! The privacy loss of K-norm noise for the Euclidean ball: density `~ exp(-epsilon |z| / Delta)` in d dimensions, on vectors that a person
//! moves by at most Delta.
//!
//! **The longest shift dominates.** Let the shift be `t e` with a unit vector e. The part of the output orthogonal to e has the same law on
//! both inputs, and given it the output lies on a line parallel to e, where the density is log-concave, as the restriction of a log-concave
//! one. Such a density has a loss that is monotone along the line, so the best set is a half-line, and the mass `F(y - t)` of a
//! half-line grows with t: the hockey stick of each line does not decrease in t. The whole is their mean over the orthogonal part, so it
//! does not either. The norm is the same in all directions, so every shift of length Delta has the same curve, and it dominates all
//! shorter ones. QED (Any log-concave noise has the first part; of another norm, each direction would be a pair of its own.)
//!
//! **Law of the loss.** In units of `Delta/epsilon` the density is `~ exp(-|z|)` and the shift has length epsilon, so the loss is the
//! difference of the distances of the output from the two centres. In elliptic coordinates
//!
//! ```text
//! |y| + |y - epsilon e| = epsilon xi,     |y| - |y - epsilon e| = epsilon eta = loss,     xi >= 1, |eta| <= 1
//! ```
//!
//! the volume element is `~ (xi^2 - eta^2) ((xi^2 - 1)(1 - eta^2))^((d-3)/2)` and `exp(-|y - epsilon e|) = exp(-epsilon (xi - eta)/2)`. The
//! integral over xi is one of Bessel functions, `int_1^inf e^(-z xi) (xi^2 - 1)^(nu - 1/2) ~ z^-nu K_nu(z) Gamma(nu + 1/2) 2^nu`. With
//! `nu = d/2 - 1`, `z = epsilon/2`, `eta = sin phi` this leaves for d >= 2
//!
//! ```text
//! P ~ e^(epsilon sin(phi)/2) cos(phi)^(d-2) (1 + kappa - sin(phi)^2) dphi,     kappa = 2 (d-1)/epsilon K_(nu+1)(z) / K_nu(z),
//! ```
//!
//! and Q with the sign of phi turned in the exponential: a smooth function, integrated cell by cell. In one dimension it is the Laplace
//! mechanism.

use std::f64::consts::FRAC_PI_2;

use super::dots::{Cell, Dots};
use crate::special::integrate;

/// The law of the angle phi up to a constant.
struct Law {
    dimension: f64,
    epsilon: f64,
    /// `1 / (1 + kappa)`.
    share: f64,
    /// The largest exponent, so that nothing overflows.
    peak: f64,
}

impl Law {
    fn new(dimension: u64, epsilon: f64) -> Self {
        let kappa = 2.0 * (dimension - 1) as f64 / epsilon * bessel_ratio(dimension, 0.5 * epsilon);
        let dimension = dimension as f64;
        let law = Law { dimension, epsilon, share: 1.0 / (1.0 + kappa), peak: 0.0 };
        // The root of (epsilon/2) (1 - s^2) = (d - 2) s.
        let others = dimension - 2.0;
        let top = libm::asin((epsilon / (others + libm::hypot(others, epsilon))).min(1.0));
        Law { peak: law.exponent(top), ..law }
    }

    fn exponent(&self, phi: f64) -> f64 {
        let sine = libm::sin(phi);
        // ln cos(phi), accurate at both ends; (d - 2) may be 0 where it is infinite.
        let log_cosine = if sine.abs() < 0.5 {
            0.5 * libm::log1p(-sine * sine)
        } else {
            libm::log(libm::cos(phi).max(f64::MIN_POSITIVE))
        };
        0.5 * self.epsilon * sine + (self.dimension - 2.0) * log_cosine
    }

    fn density(&self, phi: f64) -> f64 {
        let sine = libm::sin(phi);
        libm::exp(self.exponent(phi) - self.peak) * (1.0 - self.share * sine * sine)
    }

    /// Integral of `function` in panels that are short against the width of the density.
    fn integral(&self, from: f64, to: f64, function: impl Fn(f64) -> f64) -> f64 {
        let panels = (2.0 * (to - from) * (self.dimension + self.epsilon).sqrt()).ceil().max(1.0);
        let width = (to - from) / panels;
        let end = |panel: u64| from + panel as f64 * width;
        (0..panels as u64).map(|panel| integrate(end(panel), end(panel + 1), &function)).sum()
    }
}

/// `K_(d/2)(z) / K_(d/2-1)(z)` by the recurrence of the ratios, which is stable upwards.
fn bessel_ratio(dimension: u64, z: f64) -> f64 {
    let even = dimension.is_multiple_of(2);
    // K_1/K_0, or K_(1/2)/K_(-1/2) = 1.
    let (mut ratio, mut order) = if even { (ratio_of_the_first(z), 0.0) } else { (1.0, -0.5) };
    for _ in 0..(dimension - 1) / 2 {
        order += 1.0;
        ratio = 1.0 / ratio + 2.0 * order / z;
    }
    ratio
}

/// `K_1(z) / K_0(z)`: both are integrals of `e^(-z cosh t)`, times `cosh t`, over the line, for which the trapezoidal rule converges
/// exponentially; `cosh t - 1 = 2 sinh(t/2)^2` is taken out, so that nothing underflows.
fn ratio_of_the_first(z: f64) -> f64 {
    const FALL: f64 = 80.0;
    const STEPS: u32 = 1000;
    // Smaller z would overflow; there the ratio is too large to matter.
    let z = z.max(1e-290);
    let end = 2.0 * libm::asinh((0.5 * FALL / z).sqrt());
    let (mut first, mut zeroth) = (0.0, 0.0);
    for step in 0..=STEPS {
        let half = libm::sinh(0.5 * end * f64::from(step) / f64::from(STEPS));
        let weight = libm::exp(-2.0 * z * half * half) * if step == 0 { 0.5 } else { 1.0 };
        zeroth += weight;
        first += weight * (1.0 + 2.0 * half * half);
    }
    first / zeroth
}

/// Places the loss of d >= 2 dimensions.
pub(super) fn discretize(dots: &mut Dots, dimension: u64, epsilon: f64) {
    let law = Law::new(dimension, epsilon);
    let total = law.integral(-FRAC_PI_2, FRAC_PI_2, |phi| law.density(phi));
    let angle = |loss: f64| libm::asin((loss / epsilon).clamp(-1.0, 1.0));
    // Rounding of the exponent, and of the quadrature.
    let relative = 1e-13 + 8.0 * f64::EPSILON * (epsilon + law.peak.abs());
    dots.cells(-epsilon, epsilon, |from, to| {
        let (start, end) = (angle(from), angle(to));
        let p = law.integral(start, end, |phi| law.density(phi)) / total;
        let tilted = |phi: f64| law.density(phi) * libm::exp(from - epsilon * libm::sin(phi));
        let scaled_q = law.integral(start, end, tilted) / total;
        Cell { p, scaled_q, slack: relative * p }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{Event, PrivacyLossDistribution};

    // Reference values: mpmath, 30 digits.
    #[test]
    fn ratios_of_bessel_functions() {
        for (dimension, z, want) in [
            (2, 0.001, 142.374_792_868_957_5),
            (2, 0.5, 1.791_872_508_432_220_2),
            (2, 40.0, 1.012_423_755_560_572_1),
            (2, 500.0, 1.000_999_500_996_887_9),
            (3, 0.5, 3.0),
            (10, 0.5, 16.082_496_927_799_617),
            (11, 2.0, 4.760_575_296_108_291),
            (50, 0.05, 960.001_086_955_179_1),
            (1000, 3.0, 332.669_678_687_478_34),
        ] {
            let got = bessel_ratio(dimension, z);
            assert!((got / want - 1.0).abs() < 1e-13, "{dimension} {z}: {got} {want}");
        }
    }

    /// `P(loss <= x)` in three dimensions, where the cosine of z and e is uniform and the radius gamma distributed: no elliptic coordinates.
    fn below(epsilon: f64, x: f64) -> f64 {
        let a = 0.5 * (epsilon - x);
        let (second, first) = ((0.5 * a * a + a + 1.0), 0.5 * (a + 1.0));
        let less = 0.5 * (epsilon * epsilon - x * x) / epsilon * first;
        0.5 * (-a).exp() * ((1.0 + x / epsilon) * second - less)
    }

    fn exact(shift: f64, epsilon: f64) -> f64 {
        if epsilon >= shift {
            0.0
        } else {
            1.0 - below(shift, epsilon) - epsilon.exp() * below(shift, -epsilon)
        }
    }

    #[test]
    fn one_report_in_three_dimensions_has_its_closed_form() {
        for shift in [0.1, 1.0, 4.0, 12.0] {
            let event = Event::KNorm { dimension: 3, epsilon: shift };
            let loss = PrivacyLossDistribution::of_composition(&[(event, 1)]).unwrap();
            // Planted: one dimension more than there are.
            let more = Event::KNorm { dimension: 4, epsilon: shift };
            let more = PrivacyLossDistribution::of_composition(&[(more, 1)]).unwrap();
            for share in [0.0, 0.1, 0.5, 0.9] {
                let (epsilon, want) = (share * shift, exact(shift, share * shift));
                let got = loss.delta(epsilon);
                assert!(
                    got >= want * (1.0 - 1e-11) && got <= 1.001 * want,
                    "{shift} {epsilon}: {got} {want}"
                );
                assert!(more.delta(epsilon) < 0.999 * want);
                // A shorter shift costs less.
                assert!(exact(0.9 * shift, epsilon) < want);
            }
        }
    }

    #[test]
    fn reports_compose_to_less_than_their_pure_epsilons_and_less_in_more_dimensions() {
        // Wanted: by numpy on 20,000 cells, thirty and a hundred reports at delta = 1e-9.
        let price = |event: Event, times| {
            PrivacyLossDistribution::of_composition(&[(event, times)]).unwrap().epsilon(1e-9)
        };
        let pure =
            [30, 100].map(|times| price(Event::Pure { epsilon: 1.0 }, times).min(times as f64));
        println!("| as pure | {:.2} | {:.2} |", pure[0], pure[1]);
        for (dimension, wants) in
            [(3, [20.53_f64, 47.23]), (10, [11.06, 23.07]), (50, [4.64, 9.08])]
        {
            let got = [30, 100].map(|times| price(Event::KNorm { dimension, epsilon: 1.0 }, times));
            println!("| {dimension} | {:.2} | {:.2} |", got[0], got[1]);
            for (got, want) in got.iter().zip(wants) {
                assert!((got / want - 1.0).abs() < 5e-3, "{dimension}: {got}");
            }
        }
        let line = price(Event::KNorm { dimension: 1, epsilon: 1.0 }, 30);
        assert_eq!(line, price(Event::Laplace { sensitivity: 1.0, scale: 1.0 }, 30));
    }
}
