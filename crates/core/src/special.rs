//! Special functions the accountant, the noise and the release mechanisms share.
//!
//! Wrappers of `libm`, plus functions that it does not provide: tails that do not underflow, the regularised incomplete beta function, and fixed
//! Gauss-Legendre quadrature.

pub(crate) mod branchless_exp;
pub(crate) mod decimal;
pub(crate) mod double_double;

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

pub use libm::{erf, erfc, lgamma as ln_gamma};

/// Scaled complementary error function `exp(x^2) erfc(x)`: no underflow for large `x`, and a relative error below 2e-15 for `x >= 0`.
pub fn erfcx(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 * libm::exp(x * x) - erfcx(-x);
    }
    if x < 25.0 {
        // The square rounded would cost `x^2` units in the last place: that of the first 26 bits is exact, and the rest is small.
        let first = f64::from_bits(x.to_bits() & !((1 << 27) - 1));
        return libm::exp(first * first) * libm::exp((x - first) * (x + first)) * erfc(x);
    }
    // DLMF 7.12.1, x sqrt(pi) erfcx(x) = sum of (-1)^k 1 3 ... (2k - 1) / (2 x^2)^k: the eighth term is below 1e-18.
    let share = 0.5 / (x * x);
    let sum = (1..8).rev().fold(1.0, |sum, k| 1.0 - f64::from(2 * k - 1) * share * sum);
    sum / (x * std::f64::consts::PI.sqrt())
}

/// The entire exponential integral `Ein(x) = int_0^x (1 - e^-t)/t dt = ln x + gamma + E_1(x)` for `x >= 0` (DLMF 6.2.4).
pub fn ein(x: f64) -> f64 {
    const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;
    if x < 1.0 {
        // sum (-1)^(k+1) x^k / (k k!)
        let (mut sum, mut power) = (0.0, 1.0);
        for k in 1..24 {
            power *= -x / f64::from(k);
            sum -= power / f64::from(k);
        }
        return sum;
    }
    if x > 750.0 {
        return libm::log(x) + EULER_GAMMA;
    }
    // E_1 by the even part of its continued fraction (DLMF 6.9.1), from the far end.
    let terms = 40 + (120.0 / x) as i32;
    let mut tail = 0.0;
    for k in (1..=terms).rev() {
        let k = f64::from(k);
        tail = k * k / (x + 2.0 * k + 1.0 - tail);
    }
    libm::log(x) + EULER_GAMMA + libm::exp(-x) / (x + 1.0 - tail)
}

/// Euclidean norm that neither overflows nor, which would hide an unclipped vector, underflows.
pub fn euclidean_norm(vector: &[f64]) -> f64 {
    let peak = vector.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if peak == 0.0 {
        return 0.0;
    }
    peak * vector.iter().map(|x| square(x / peak)).sum::<f64>().sqrt()
}

/// `x^2`. Unlike `f64::powi`, whose rounding is the platform's own, it has the same bits everywhere.
pub fn square(x: f64) -> f64 {
    x * x
}

/// `x^3`, in the same way.
pub fn cube(x: f64) -> f64 {
    x * x * x
}

/// Standard normal distribution function.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// Standard normal density.
pub fn normal_density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x) / (SQRT_2 * std::f64::consts::PI.sqrt())
}

/// `ln B(a, b)` for `a, b > 0`. Large arguments go through Stirling's series, where the difference of two
/// log-gammas would cancel.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large < 16.0 {
        return ln_gamma(small) + ln_gamma(large) - ln_gamma(small + large);
    }
    // ln Gamma(x) - (x - 1/2) ln x + x - ln(2 pi)/2, DLMF 5.11.1: six terms give 1e-17 at x = 16.
    let remainder = |x: f64| {
        let square = 1.0 / (x * x);
        let series = [-691.0 / 360_360.0, 1.0 / 1188.0, -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0];
        (series.iter().fold(0.0, |sum, term| (sum + term) * square) + 1.0 / 12.0) / x
    };
    let sum = small + large;
    ln_gamma(small) - (large - 0.5) * libm::log1p(small / large) - small * (libm::log(sum) - 1.0)
        + remainder(large)
        - remainder(sum)
}

/// Regularised incomplete beta function `I_x(a, b)` for `a, b > 0`, by Lentz's continued fraction
/// (DLMF 8.17.22), evaluated on the side where it converges fast.
///
/// ```
/// let median = reticent::special::incomplete_beta(3.0, 3.0, 0.5);
/// assert!((median - 0.5).abs() < 1e-14);
/// ```
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    incomplete_beta_pair(a, b, x, 1.0 - x)
}

/// As [`incomplete_beta`], for callers who know `y = 1 - x` more accurately than a subtraction would.
pub fn incomplete_beta_pair(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    // The logarithm of a number near 1 is better taken from its distance to 1.
    let ln =
        |value: f64, other: f64| if other < 0.5 { libm::log1p(-other) } else { libm::log(value) };
    let ln_front = a * ln(x, y) + b * ln(y, x) - ln_beta(a, b);
    if x < (a + 1.0) / (a + b + 2.0) {
        (libm::exp(ln_front) / a) * beta_continued_fraction(a, b, x)
    } else {
        1.0 - (libm::exp(ln_front) / b) * beta_continued_fraction(b, a, y)
    }
}

fn beta_continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..20_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        let factor = d * c;
        h *= factor;
        if (factor - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h
}

/// Positive half of the 16-point Gauss-Legendre rule on [-1, 1]: (node, weight).
pub(crate) const GAUSS_LEGENDRE_16: [(f64, f64); 8] = [
    (0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_6),
    (0.458_016_777_657_227_4, 0.169_156_519_395_002_54),
    (0.617_876_244_402_643_7, 0.149_595_988_816_576_73),
    (0.755_404_408_355_003, 0.124_628_971_255_533_87),
    (0.865_631_202_387_831_7, 0.095_158_511_682_492_78),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_89),
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_1),
];

/// Integral of a smooth `function` over `from ..= to`: see [`integrate_around`].
pub fn integrate(from: f64, to: f64, function: impl Fn(f64) -> f64) -> f64 {
    integrate_around(0.5 * (from + to), 0.5 * (to - from), function)
}

/// Integral of a smooth `function` over `centre - half ..= centre + half` by one 16-point Gauss-Legendre
/// panel. Centre and half-width are given apart because subtracting two nearly equal ends would lose the digits of a tiny width.
pub fn integrate_around(centre: f64, half: f64, function: impl Fn(f64) -> f64) -> f64 {
    half * GAUSS_LEGENDRE_16
        .iter()
        .map(|&(node, weight)| {
            weight * (function(centre - half * node) + function(centre + half * node))
        })
        .sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got / want - 1.0).abs() <= tolerance, "{got} against {want}");
    }

    // Reference values: mpmath, 30 digits.
    #[test]
    fn scaled_complementary_error_function() {
        for (x, want) in [
            (0.0, 1.0),
            (0.3, 0.73459933456765515),
            (0.999, 0.427856942621416833),
            (1.7, 0.291663297075343473),
            (4.3, 0.127913720149762884),
            (8.1, 0.0691339201773431517),
            (19.9, 0.0283155739831857665),
            (24.999, 0.0225504730140420841),
            (25.0, 0.0225495724326413589),
            (26.7, 0.0211159066417102205),
            (51.0, 0.0110604154853277202),
            (1e9, 5.64189583547756287e-10),
        ] {
            close(erfcx(x), want, 1e-15);
        }
        assert!(erfcx(f64::INFINITY) == 0.0 && erfcx(f64::NAN).is_nan());
        close(erfcx(10.0), 0.056_140_992_743_822_59, 1e-14);
        close(erfcx(-2.0), 108.940_904_389_977_97, 1e-14);
    }

    /// Against 400 values of mpmath at 40 digits: three in four of them from 0 to 26, the others up to 10^4, all with the last bits of their mantissas set at random.
    #[test]
    fn scaled_complementary_error_function_densely() {
        let table = include_str!("special/erfcx.txt");
        let mut worst: f64 = 0.0;
        for line in table.lines() {
            let (bits, want) = line.split_once(' ').unwrap();
            let x = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
            worst = worst.max((erfcx(x) / want.parse::<f64>().unwrap() - 1.0).abs());
        }
        assert_eq!(table.lines().count(), 400);
        assert!(worst < 2e-15, "{worst:e}");
        // The square rounded, which the first 26 bits avoid, loses far more.
        let careless = libm::exp(23.7 * 23.7) * erfc(23.7) / erfcx(23.7) - 1.0;
        assert!(careless.abs() > 4e-15, "{careless:e}");
    }

    #[test]
    fn entire_exponential_integral() {
        close(ein(1e-9), 9.999_999_997_5e-10, 1e-15);
        close(ein(0.7), 0.594_309_564_196_309_63, 1e-14);
        close(ein(1.0), 0.796_599_599_297_053_13, 1e-14);
        close(ein(5.0), 2.187_801_872_926_908_6, 1e-14);
        close(ein(1e6), 14.392_726_222_865_807, 1e-14);
    }

    #[test]
    fn incomplete_beta_on_both_sides() {
        close(incomplete_beta(9.5, 0.5, 0.3), 2.282_790_103_997_658_6e-6, 1e-12);
        close(incomplete_beta(0.5, 9.5, 0.3), 0.989_837_427_879_309_4, 1e-13);
        close(incomplete_beta(500.0, 700.0, 0.45), 0.990_094_777_521_568_4, 1e-13);
    }

    #[test]
    fn log_beta_does_not_cancel() {
        close(ln_beta(2.5, 3.5), -3.30183526996205261, 1e-14);
        close(ln_beta(0.5, 4999.5), -3.6861566477830436, 1e-15);
        close(ln_beta(500.0, 700.0), -816.950570185658394, 1e-15);
        close(ln_beta(16.0, 0.5), -0.806118188275222907, 1e-15);
    }

    #[test]
    fn quadrature_is_exact_for_polynomials() {
        close(integrate_around(1.0, 1.0, |x| x.powi(31)), 2f64.powi(32) / 32.0, 1e-13);
    }
}
