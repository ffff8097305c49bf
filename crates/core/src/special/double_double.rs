//! The error function in double-double arithmetic (thirty digits).
//!
//! `epsilon(delta, mu)` at tiny epsilon is the small difference of two numbers near `erf(mu / sqrt 8)`; its
//! relative error is that of `erf` magnified a million times. A number is the unevaluated sum of two
//! doubles (Dekker 1971); products use the fused multiply-add.

/// An unevaluated sum `high + low` with `|low| <= ulp(high)/2`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DoubleDouble {
    pub(crate) high: f64,
    pub(crate) low: f64,
}

const TWO_OVER_SQRT_PI: DoubleDouble =
    DoubleDouble { high: std::f64::consts::FRAC_2_SQRT_PI, low: 1.533545961316588e-17 };
const SQRT_2_OVER_4: DoubleDouble =
    DoubleDouble { high: 0.3535533905932738, low: -2.4168233283632284e-17 };

impl DoubleDouble {
    fn normal(high: f64, low: f64) -> Self {
        let sum = high + low;
        DoubleDouble { high: sum, low: low - (sum - high) }
    }

    fn add(self, other: Self) -> Self {
        let sum = self.high + other.high;
        let part = sum - self.high;
        let error = (self.high - (sum - part)) + (other.high - part);
        Self::normal(sum, error + self.low + other.low)
    }

    fn multiply(self, other: Self) -> Self {
        let product = self.high * other.high;
        let error = self.high.mul_add(other.high, -product);
        Self::normal(product, error + self.high * other.low + self.low * other.high)
    }

    fn divide(self, divisor: f64) -> Self {
        let quotient = self.high / divisor;
        let remainder = quotient.mul_add(-divisor, self.high) + self.low;
        Self::normal(quotient, remainder / divisor)
    }

    /// `self - value`, correct to the last bit of the result where the two nearly cancel.
    pub(crate) fn minus(self, value: f64) -> f64 {
        self.add(DoubleDouble { high: -value, low: 0.0 }).high
    }
}

/// `erf(mu / sqrt 8)` for `0 <= mu <= 12`: its Taylor series, whose largest term is below `1e8`, so that
/// at least 23 digits survive.
pub(crate) fn erf_of_mu_over_sqrt_8(mu: f64) -> DoubleDouble {
    let x = SQRT_2_OVER_4.multiply(DoubleDouble { high: mu, low: 0.0 });
    let square = x.multiply(x);
    let (mut power, mut sum) = (x, x);
    for n in 1..200 {
        let order = f64::from(n);
        power = power.multiply(square).divide(-order);
        let term = power.divide(2.0 * order + 1.0);
        sum = sum.add(term);
        if term.high.abs() < 1e-33 * sum.high.abs() {
            break;
        }
    }
    TWO_OVER_SQRT_PI.multiply(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    // mpmath, 40 digits: erf(mu/sqrt(8)) split into the nearest double and the rest.
    #[test]
    fn agrees_with_mpmath_to_twenty_three_digits() {
        for (mu, high, low) in REFERENCE {
            let value = erf_of_mu_over_sqrt_8(mu);
            assert!((value.minus(high) - low).abs() < 1e-23, "{mu}: {value:?}");
        }
    }

    const REFERENCE: [(f64, f64, f64); 4] = [
        (0.001, 0.0003989422637788383, -5.584902874568287e-22),
        (1.0, 0.3829249225480262, 2.6373594679859223e-17),
        (5.0, 0.9875806693484477, 4.79669446698184e-17),
        (11.0, 0.999999962020875, 2.4291373278926363e-17),
    ];
}
