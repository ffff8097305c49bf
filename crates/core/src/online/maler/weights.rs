//! From logarithms of weights to weights, many at a time and with the same bits on every machine.

use super::projection::{LANES, Row};

/// `1/k!`.
const INVERSE: [f64; 14] = {
    let mut inverse = [1.0; 14];
    let (mut k, mut factorial) = (1, 1.0);
    while k < 14 {
        factorial *= k as f64;
        inverse[k] = 1.0 / factorial;
        k += 1;
    }
    inverse
};

/// `exp` of numbers up to 0, to an error of two units in the last place; the exponential of numbers below -600 is taken to be 0: a weight
/// of 1e-261 is negligible, and slow subnormal numbers are avoided.
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
        let bounded = if *x > -600.0 { *x } else { -600.0 };
        let shifted = bounded * std::f64::consts::LOG2_E + ROUND;
        let k = shifted - ROUND;
        let r = bounded - k * LN_2_HIGH - k * LN_2_LOW;
        // Pairs, pairs of pairs and so on (Estrin): a chain of thirteen dependent operations would be slower.
        let (r2, r4) = (r * r, (r * r) * (r * r));
        let low = (1.0 + r) + (INVERSE[2] + INVERSE[3] * r) * r2;
        let middle = (INVERSE[4] + INVERSE[5] * r) + (INVERSE[6] + INVERSE[7] * r) * r2;
        let high = (INVERSE[8] + INVERSE[9] * r) + (INVERSE[10] + INVERSE[11] * r) * r2;
        let last = (INVERSE[12] + INVERSE[13] * r) * r4;
        let sum = low + middle * r4 + (high + last) * (r4 * r4);
        let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1_f64.to_bits()));
        *x = if *x > -600.0 { sum * power } else { 0.0 };
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
        for step in 0..60_000 {
            let x = -0.01 * f64::from(step);
            let row = exponentials([x; LANES]);
            assert!((row[3] / libm::exp(x) - 1.0).abs() < 1e-15, "{x}");
        }
        assert_eq!(exponentials([0.0; LANES]), [1.0; LANES]);
        assert_eq!(exponentials([-1e300; LANES])[0], 0.0);
    }
}
