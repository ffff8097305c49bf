//! The prediction in closed form, where that is accurate: `c >= 1`.
//!
//! With `a = |L| / (2 sqrt B)` and `c = C sqrt B` the conjugate prior (and the uniform one, `b = 0`) gives
//!
//! ```text
//! w = sgn(L)/(B Z) [ (a sqrt(pi)/2) e^{a^2} (erf(c+a) + erf(c-a)) - e^{-c^2} sinh(2ac) ]
//! ```
//!
//! and the improper one, (3.8.1), `sqrt(pi)/(2 sqrt B) e^{a^2} (2 erf(a) - erf(a+c) - erf(a-c))`. (3.3.4) as printed has the
//! sign of both terms flipped and lacks `sqrt(b/pi)` in the second; a test shows it.
//!
//! The dominant exponential is taken out: `e^{a^2}` where the peak `L/2B` lies inside the prior (`a <= c`), `e^{2ac - c^2}` where
//! it lies beyond; there `erfc` becomes `erfcx`, which does not underflow.

use crate::special::{erf, erfcx};

const SQRT_PI: f64 = 1.772_453_850_905_516;

/// `ln(|w| B Z)` for the conjugate and the uniform prior, or `None` so far beyond the edge that its two terms cancel.
pub(super) fn proper_slope(a: f64, c: f64) -> Option<f64> {
    if a > 100.0 * c {
        return None;
    }
    let product = a * c;
    let decay = libm::expm1(-4.0 * product);
    Some(if a <= c {
        let edge = libm::exp(-(c - a) * (c - a));
        a * a + libm::log(0.5 * SQRT_PI * a * (erf(c + a) + erf(c - a)) + 0.5 * edge * decay)
    } else {
        let tails = erfcx(a - c) - (decay + 1.0) * erfcx(a + c);
        c * (2.0 * a - c) + libm::log(0.5 * SQRT_PI * a * tails + 0.5 * decay)
    })
}

/// `ln(|w| sqrt B)` for the improper prior, or `None` where differences of error functions would cancel.
pub(super) fn improper_slope(a: f64, c: f64) -> Option<f64> {
    let half = libm::log(0.5 * SQRT_PI);
    if a > c {
        // All three terms relative to the first exponential.
        let top = c * (2.0 * a - c);
        let rest = erfcx(a - c) - 2.0 * libm::exp(-top) * erfcx(a)
            + libm::exp(-4.0 * a * c) * erfcx(a + c);
        return Some(half + top + libm::log(rest));
    }
    // Where c > 6.2 both edges are 1 to the last bit, and the error is below e^-38 of the result.
    if a < 0.03 && c < 6.2 {
        return None;
    }
    let middle = if c - a > 6.2 { 2.0 * erf(a) } else { 2.0 * erf(a) - erf(a + c) + erf(c - a) };
    Some(half + a * a + libm::log(middle))
}
