//! From logarithms of weights to weights, many at a time and with the same bits on every machine.

use super::projection::{LANES, Row};

/// `exp` of numbers up to 0, to an error of two units in the last place; below -700 that of -700, which is 1e-304.
///
/// `x = k ln 2 + r` with `|r| <= ln(2)/2`, and Taylor's polynomial of degree 13 for `exp(r)`.
#[inline(always)]
pub(super) fn exponentials(logarithms: Row) -> Row {
    // Adding and taking off 1.5 2^52 rounds to an integer, which then stands in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // ln 2 in two parts, the first with zeros at its end, so that its product with k is exact.
    const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
    const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
    let mut out = logarithms;
    for x in &mut out {
        let bounded = if *x > -700.0 { *x } else { -700.0 };
        let shifted = bounded * std::f64::consts::LOG2_E + ROUND;
        let k = shifted - ROUND;
        let r = bounded - k * LN_2_HIGH - k * LN_2_LOW;
        let mut sum = 1.0;
        for divisor in [13.0, 12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0] {
            sum = 1.0 + sum * r * (1.0 / divisor);
        }
        *x = sum * f64::from_bits((shifted.to_bits() << 52).wrapping_add(1_f64.to_bits()));
    }
    out
}

/// The sum of a row, pairwise in a fixed order.
#[inline(always)]
pub(super) fn total(row: &Row) -> f64 {
    let mut four = [0.0; 4];
    for chunk in 0..LANES / 4 {
        for lane in 0..4 {
            four[lane] += row[4 * chunk + lane];
        }
    }
    (four[0] + four[1]) + (four[2] + four[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_agree_with_the_library() {
        for step in 0..70_000 {
            let x = -0.01 * f64::from(step);
            let row = exponentials([x; LANES]);
            assert!((row[3] / libm::exp(x) - 1.0).abs() < 1e-15, "{x}");
        }
        assert_eq!(exponentials([0.0; LANES]), [1.0; LANES]);
        assert!(exponentials([-1e300; LANES])[0] < 1e-300);
    }
}
