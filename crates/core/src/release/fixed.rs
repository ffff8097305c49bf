//! Fixed-point arithmetic for factorisations whose coefficients are not whole numbers.
//!
//! A value carries [`FRACTION_BITS`] bits behind the point in an `i128`; a coefficient in [0, 1) is a
//! `u64` over 2^64. Both are exact: the factor C of a mechanism is *defined* by these coefficients.
//!
//! **Rounding.** Let `f(x)` be an exact entry of `Cx` and `e(x)` in `[0, E)` the total removed from it by rounding down. The mechanism adds
//! noise to `round(f(x) - e(x)) = f(x) - e(x) + rho(x)` with `|rho| <= 1/2`, so for two streams the noiseless entries differ from `f(x) -
//! f(x')` by at most `1 + E`. Over N noisy entries the l2 distance grows by at most `(1 + E) sqrt N`, which calibration adds to mu.

/// Bits behind the point.
const FRACTION_BITS: u32 = 40;

/// One unit in the last place, as a number.
pub(super) const UNIT: f64 = 1.0 / (1_u64 << FRACTION_BITS) as f64;

/// A whole number in fixed point.
pub(super) fn from_integer(value: i128) -> i128 {
    value << FRACTION_BITS
}

/// The nearest whole number.
pub(super) fn round(value: i128) -> i128 {
    (value + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS
}

/// `floor(value * coefficient / 2^64)`: less than one unit below the product.
pub(super) fn scale(value: i128, coefficient: u64) -> i128 {
    let coefficient = i128::from(coefficient);
    let (high, low) = (value >> 64, value & i128::from(u64::MAX));
    // low * coefficient < 2^128 fits an unsigned word but not a signed one.
    high * coefficient + ((low as u128 * coefficient as u128) >> 64) as i128
}

/// A number in [0, 1) as a coefficient, rounded down.
pub(super) fn coefficient(value: f64) -> u64 {
    // The conversion saturates; exactly 1 becomes 1 - 2^-64.
    (value * (1_u128 << 64) as f64) as u64
}

/// A coefficient as a number.
pub(super) fn value(coefficient: u64) -> f64 {
    coefficient as f64 / (1_u128 << 64) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scaling_is_the_floor_of_the_product(value in -(1_i128 << 62)..(1_i128 << 62), coefficient: u64) {
            // Small enough for plain 128-bit arithmetic to check.
            prop_assert_eq!(scale(value, coefficient), (value * i128::from(coefficient)) >> 64);
            // A shift of the value by 64 bits makes the product exact.
            prop_assert_eq!(scale(value << 64, coefficient), value * i128::from(coefficient));
        }
    }

    #[test]
    fn the_largest_values_do_not_overflow() {
        assert_eq!(scale(i128::MIN, u64::MAX), i128::MIN + (1 << 63));
        assert_eq!(scale(i128::MAX, 0), 0);
        assert_eq!(round(from_integer(-7) + (1 << 39) - 1), -7);
    }
}
