//! `exp` and `exp - 1` of numbers that are not positive, without branches, so that loops over them become vector code.
//!
//! `x = k ln 2 + r` with `|r| <= ln(2)/2`; `e^r - 1` by its Taylor polynomial of degree 13, whose remainder is below 4e-18; `2^k` by
//! its bits. Errors stay within 2 units in the last place, as the tests show against the standard library.

/// Adding this rounds a small double to an integer, which then stands in its lowest bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts: products of the first with integers up to 2^11 are exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// `(2^k, e^r - 1)` for `-708 <= x <= 0`; smaller x count as -708.
#[inline(always)]
fn parts(x: f64) -> (f64, f64) {
    // Not `max`: its rule for NaN costs a branch.
    let x = if x > -708.0 { x } else { -708.0 };
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    // sum r^n / n!, n = 2 to 13
    let mut sum = 1.0 / 6_227_020_800.0;
    for factorial in [
        479_001_600.0,
        39_916_800.0,
        3_628_800.0,
        362_880.0,
        40_320.0,
        5_040.0,
        720.0,
        120.0,
        24.0,
        6.0,
        2.0,
    ] {
        sum = sum * r + 1.0 / factorial;
    }
    (power, r + r * r * sum)
}

/// `e^x` for `x <= 0`.
#[inline(always)]
pub(crate) fn exp_of_nonpositive(x: f64) -> f64 {
    let (power, rest) = parts(x);
    power + power * rest
}

/// `e^x - 1` for `x <= 0`, accurate near 0.
#[inline(always)]
pub(crate) fn exp_m1_of_nonpositive(x: f64) -> f64 {
    let (power, rest) = parts(x);
    power * rest + (power - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_two_units_of_the_standard_library() {
        for step in 0..400_000 {
            let x = -f64::from(step) * 1.75e-3;
            for x in [x, x * 1e-4, x * 1e-12] {
                let (got, want) = (exp_of_nonpositive(x), x.exp());
                assert!((got - want).abs() <= 4.5e-16 * want, "{x}: {got} {want}");
                let (got, want) = (exp_m1_of_nonpositive(x), x.exp_m1());
                assert!((got - want).abs() <= 4.5e-16 * want.abs(), "{x}: {got} {want}");
            }
        }
        assert!(exp_of_nonpositive(-1e9) < 1e-300);
    }
}
