//! Sine and cosine of a part of a full turn: the same bits on every platform, which the mathematical library of a platform does not promise.
//!
//! ```text
//! f = t - floor(t),  q = floor(4 f + 1/2),  a = (4 f - q) pi/2 in [-pi/4, pi/4]
//! sin a = a (1 - a^2/(2*3) (1 - a^2/(4*5) (1 - ...))),   cos a = 1 - a^2/(1*2) (1 - a^2/(3*4) (1 - ...))
//! ```
//!
//! Nine terms of each leave out less than 1e-18. Only `+ - * /` and `floor` of doubles, in this order. The result is rotated by q quarters.
//! Errors are below 4e-16, so that `sin^2 + cos^2 <= 1 + 2e-15`.

use std::f64::consts::FRAC_PI_2;

/// Sine and cosine of `turns` full turns, which is finite.
pub(super) fn turn(turns: f64) -> (f64, f64) {
    let fraction = 4.0 * (turns - turns.floor());
    let quarter = (fraction + 0.5).floor();
    let angle = (fraction - quarter) * FRAC_PI_2;
    let square = angle * angle;
    let (mut sine, mut cosine) = (1.0, 1.0);
    for term in (1..=9).rev() {
        let even = f64::from(2 * term);
        sine = 1.0 - square / (even * (even + 1.0)) * sine;
        cosine = 1.0 - square / ((even - 1.0) * even) * cosine;
    }
    sine *= angle;
    match quarter as u8 & 3 {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quarters_are_exact() {
        for (turns, expected) in
            [(0.0, (0.0, 1.0)), (0.25, (1.0, 0.0)), (-0.5, (0.0, -1.0)), (7.75, (-1.0, 0.0))]
        {
            assert_eq!(turn(turns), expected, "{turns}");
        }
        assert_eq!(turn(-1e-300), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn it_is_the_sine_and_the_cosine(fraction in 0.0..1.0_f64, whole in -9..9_i32) {
            let (sine, cosine) = turn(fraction);
            let angle = fraction * TAU;
            // Half a unit in the last place of an angle up to 2 pi is 4.4e-16.
            prop_assert!((sine - angle.sin()).abs() < 1.5e-15 && (cosine - angle.cos()).abs() < 1.5e-15);
            prop_assert!(sine * sine + cosine * cosine <= 1.0 + 2e-15);
            let (other, _) = turn(fraction + f64::from(whole));
            prop_assert!((sine - other).abs() < 1e-14);
        }

        #[test]
        fn every_finite_number_has_one(turns: f64) {
            if turns.is_finite() {
                let (sine, cosine) = turn(turns);
                prop_assert!((sine * sine + cosine * cosine - 1.0).abs() < 2e-15);
            }
        }
    }
}
