//! The Gaussian mechanism, exactly (Balle and Wang 2018; Dong, Roth and Su 2022).
//!
//! Noise of standard deviation sigma on something of sensitivity Delta is mu-GDP with mu = Delta/sigma, and
//!
//! ```text
//! delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
//! ```
//!
//! is attained: no smaller delta holds. Gaussian releases compose exactly, adaptively chosen or not:
//! mu = sqrt(sum mu_i^2). The classic sigma = Delta sqrt(2 ln(1.25/delta))/epsilon is neither exact nor, for
//! epsilon >= 1, true; it is here only for `paper` mode.
//!
//! With `a = epsilon/mu - mu/2` and `b = epsilon/mu + mu/2`, `b^2 - a^2 = 2 epsilon`, so that
//! `delta = exp(-a^2/2) (erfcx(a/sqrt 2) - erfcx(b/sqrt 2)) / 2`: no overflow, no underflow before delta
//! itself underflows. Where a and b nearly meet (mu < 1) the difference is the integral of `-erfcx'`.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

use super::Mode;
use crate::{
    Result,
    error::{not_negative, positive, probability},
    refuse_if,
    special::{
        double_double::erf_of_mu_over_sqrt_8, erf, erfcx, integrate, integrate_around, normal_cdf,
    },
};

/// The smallest delta for which a mu-GDP mechanism is (epsilon, delta)-DP.
///
/// ```
/// let delta = reticent::privacy::gaussian::delta(1.0, 1.0 / 3.730631634816464)?;
/// assert!((delta - 1e-5).abs() < 1e-14);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn delta(epsilon: f64, mu: f64) -> Result<f64> {
    not_negative("epsilon", epsilon)?;
    not_negative("mu", mu)?;
    Ok(delta_unchecked(epsilon, mu))
}

/// The smallest epsilon for which a mu-GDP mechanism is (epsilon, delta)-DP; 0 if already total variation
/// is below delta.
///
/// ```
/// let epsilon = reticent::privacy::gaussian::epsilon(1e-5, 0.5)?;
/// assert!((epsilon - 1.993_091).abs() < 1e-6);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn epsilon(delta: f64, mu: f64) -> Result<f64> {
    probability("delta", delta)?;
    not_negative("mu", mu)?;
    if mu == 0.0 || delta >= erf(mu / (2.0 * SQRT_2)) && total_variation_minus(mu, delta) <= 0.0 {
        return Ok(0.0);
    }
    // delta <= exp(-a^2/2) for a >= 0 gives the upper end.
    let upper = mu * (0.5 * mu + (-2.0 * libm::log(delta)).sqrt());
    if upper.is_infinite() {
        return Ok(f64::INFINITY);
    }
    let root = newton(0.5 * upper, 0.0, upper, Monotone::Falling, |epsilon| {
        let profile = Profile::at(epsilon, mu);
        (profile.ln_delta() - libm::log(delta), -profile.slope_in_epsilon())
    });
    Ok(refine_small_epsilon(root, delta, mu))
}

/// The largest mu for which a mu-GDP mechanism is (epsilon, delta)-DP.
///
/// ```
/// let mu = reticent::privacy::gaussian::mu(1.0, 0.1)?;
/// assert!((mu - 0.92091).abs() < 5e-6);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn mu(epsilon: f64, delta: f64) -> Result<f64> {
    not_negative("epsilon", epsilon)?;
    refuse_if(epsilon > 1e300, "epsilon", epsilon, "expected at most 1e300")?;
    probability("delta", delta)?;
    // delta <= exp(-a^2/2) and delta <= mu/sqrt(2 pi) bound mu from below, and closely;
    // at a = -40 delta is 1 to the last bit.
    let tail = (-2.0 * libm::log(delta)).sqrt();
    let lower = 2.0 * epsilon / ((tail * tail + 2.0 * epsilon).sqrt() + tail);
    let lower = libm::log(lower.max(SQRT_2 * PI.sqrt() * delta).max(1e-310));
    let upper = libm::log(40.0 + (1600.0 + 2.0 * epsilon).sqrt());
    let log_mu = newton(lower, lower, upper, Monotone::Rising, |log_mu| {
        let mu = libm::exp(log_mu);
        let profile = Profile::at(epsilon, mu);
        (profile.ln_delta() - libm::log(delta), mu * profile.slope_in_mu())
    });
    Ok(libm::exp(log_mu))
}

/// The noise that makes a release of sensitivity `sensitivity`, made `times` times, (epsilon, delta)-DP.
///
/// ```
/// let sigma = reticent::privacy::gaussian::sigma(1.0, 1e-5, 1.0, 1)?;
/// assert!((sigma - 3.730_631_634_8).abs() < 1e-9);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn sigma(epsilon: f64, delta: f64, sensitivity: f64, times: u64) -> Result<f64> {
    positive("epsilon", epsilon)?;
    positive("sensitivity", sensitivity)?;
    Ok(sensitivity * (check_times(times)? as f64).sqrt() / mu(epsilon, delta)?)
}

/// mu of a release of sensitivity `sensitivity` under noise `sigma`, made `times` times.
pub fn mu_of(sensitivity: f64, sigma: f64, times: u64) -> Result<f64> {
    not_negative("sensitivity", sensitivity)?;
    positive("sigma", sigma)?;
    Ok(sensitivity * (check_times(times)? as f64).sqrt() / sigma)
}

/// The textbook sigma, `sensitivity sqrt(2 ln(1.25/delta)) / epsilon`, for comparison and `paper` mode.
///
/// For epsilon >= 1, where its theorem does not hold, it is refused outside [`Mode::Paper`].
pub fn classic_sigma(epsilon: f64, delta: f64, sensitivity: f64, mode: Mode) -> Result<f64> {
    positive("epsilon", epsilon)?;
    let remedy = "the classic Gaussian formula is proved below 1 only; use the exact `sigma`";
    refuse_if(epsilon >= 1.0 && mode != Mode::Paper, "epsilon", epsilon, remedy)?;
    probability("delta", delta)?;
    positive("sensitivity", sensitivity)?;
    Ok(sensitivity * (2.0 * libm::log(1.25 / delta)).sqrt() / epsilon)
}

fn check_times(times: u64) -> Result<u64> {
    refuse_if(times == 0, "compose", times, "expected a whole number, 1 or above")?;
    Ok(times)
}

/// [`delta`] for arguments already known to be valid.
pub(crate) fn delta_unchecked(epsilon: f64, mu: f64) -> f64 {
    // Beyond 40 standard deviations delta is below the smallest double.
    if mu == 0.0 || epsilon / mu - 0.5 * mu > 40.0 {
        0.0
    } else {
        Profile::at(epsilon, mu).delta().clamp(0.0, 1.0)
    }
}

/// One point of the curve, in the scaled form of the module's head.
struct Profile {
    a: f64,
    b: f64,
    /// `erfcx(a/sqrt 2) - erfcx(b/sqrt 2)`, where a is not so negative that it would overflow.
    difference: Option<f64>,
}

impl Profile {
    fn at(epsilon: f64, mu: f64) -> Self {
        let (a, b) = (epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu);
        let (low, high) = (a * FRAC_1_SQRT_2, b * FRAC_1_SQRT_2);
        let difference = if mu < 1.0 {
            let centre = epsilon / mu * FRAC_1_SQRT_2;
            Some(integrate_around(centre, 0.5 * mu * FRAC_1_SQRT_2, minus_erfcx_derivative))
        } else if a > 0.0 {
            Some(erfcx(low) - erfcx(high))
        } else {
            None
        };
        Profile { a, b, difference }
    }

    fn delta(&self) -> f64 {
        match self.difference {
            Some(difference) => 0.5 * libm::exp(-0.5 * self.a * self.a) * difference,
            None => normal_cdf(-self.a) - self.tail(),
        }
    }

    fn ln_delta(&self) -> f64 {
        match self.difference {
            Some(difference) => libm::log(0.5 * difference) - 0.5 * self.a * self.a,
            None => libm::log(self.delta()),
        }
    }

    /// `e^epsilon Phi(-b)`, the rate at which delta falls with epsilon.
    fn tail(&self) -> f64 {
        0.5 * libm::exp(-0.5 * self.a * self.a) * erfcx(self.b * FRAC_1_SQRT_2)
    }

    /// `-d ln delta / d epsilon`.
    fn slope_in_epsilon(&self) -> f64 {
        match self.difference {
            Some(difference) => erfcx(self.b * FRAC_1_SQRT_2) / difference,
            None => self.tail() / self.delta(),
        }
    }

    /// `d ln delta / d mu`, from `d delta / d mu = phi(a)`.
    fn slope_in_mu(&self) -> f64 {
        let sqrt_2_over_pi = SQRT_2 / PI.sqrt();
        match self.difference {
            Some(difference) => sqrt_2_over_pi / difference,
            None => 0.5 * sqrt_2_over_pi * libm::exp(-0.5 * self.a * self.a) / self.delta(),
        }
    }
}

/// `-erfcx'(x) = 2/sqrt(pi) - 2 x erfcx(x)`; beyond x = 20 by its asymptotic series, since there the two
/// terms cancel.
fn minus_erfcx_derivative(x: f64) -> f64 {
    if x < 20.0 {
        return 2.0 / PI.sqrt() - 2.0 * x * erfcx(x);
    }
    let inverse = 1.0 / (2.0 * x * x);
    let mut term = 2.0 * inverse / PI.sqrt();
    let mut sum = term;
    for odd in [3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0] {
        term *= -odd * inverse;
        sum += term;
    }
    sum
}

/// `TV - delta` for the pair at distance mu, with TV = erf(mu/sqrt 8) to thirty digits where it matters.
fn total_variation_minus(mu: f64, delta: f64) -> f64 {
    if mu <= 12.0 {
        erf_of_mu_over_sqrt_8(mu).minus(delta)
    } else {
        erf(mu / (2.0 * SQRT_2)) - delta
    }
}

/// Corrects epsilon where it is a small difference of large numbers: there
/// `TV - delta = integral_0^epsilon e^t Phi(-b(t)) dt`, whose left side is known to thirty digits and whose
/// right side has no cancellation.
fn refine_small_epsilon(root: f64, delta: f64, mu: f64) -> f64 {
    let condition = 1.0 / (root * Profile::at(root, mu).slope_in_epsilon());
    if condition < 100.0 || root > mu || mu > 12.0 {
        return root;
    }
    let gap = total_variation_minus(mu, delta);
    let mut epsilon = root;
    for _ in 0..3 {
        let integral = integrate(0.0, epsilon, |t| Profile::at(t, mu).tail());
        epsilon += (gap - integral) / Profile::at(epsilon, mu).tail();
        epsilon = epsilon.max(0.0);
    }
    epsilon
}

/// True if a function rises or falls.
#[derive(PartialEq)]
enum Monotone {
    Rising,
    Falling,
}

/// Root of a monotone function of which value and derivative are given, by Newton's method inside a
/// bracket that bisection keeps, from `start`.
fn newton(
    start: f64,
    mut low: f64,
    mut high: f64,
    way: Monotone,
    function: impl Fn(f64) -> (f64, f64),
) -> f64 {
    let mut x = start;
    for _ in 0..200 {
        let (value, slope) = function(x);
        if (value > 0.0) == (way == Monotone::Rising) {
            high = x;
        } else {
            low = x;
        }
        let step = x - value / slope;
        let next = if step > low && step < high { step } else { 0.5 * (low + high) };
        if (next - x).abs() <= 1e-16 * x.abs() || next == low || next == high {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VECTORS: &str = include_str!("../../../../vectors/gaussian.csv");

    /// Lines of the vectors: epsilon, delta, mu, delta at that mu, epsilon at that mu.
    fn vectors() -> impl Iterator<Item = [f64; 5]> {
        VECTORS.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            cells.try_into().unwrap()
        })
    }

    #[test]
    fn mu_delta_and_epsilon_agree_with_mpmath_on_ten_thousand_points() {
        assert!(vectors().count() >= 10_000);
        let close = |got: f64, want: f64| (got / want - 1.0).abs() <= 1e-10;
        for [e, d, m, delta_at, epsilon_at] in vectors() {
            let got = [mu(e, d).unwrap(), delta(e, m).unwrap(), epsilon(d, m).unwrap()];
            assert!(close(got[0], m), "mu({e:e}, {d:e}) = {:e}, not {m:e}", got[0]);
            assert!(
                close(got[1], delta_at),
                "delta({e:e}, {m:e}) = {:e}, not {delta_at:e}",
                got[1]
            );
            assert!(
                close(got[2], epsilon_at),
                "epsilon({d:e}, {m:e}) = {:e}, not {epsilon_at:e}",
                got[2]
            );
        }
    }

    #[test]
    fn the_classic_formula_is_refused_where_it_is_false() {
        assert!(classic_sigma(1.0, 1e-5, 1.0, Mode::Exact).is_err());
        let sigma = classic_sigma(0.5, 1e-5, 1.0, Mode::Exact).unwrap();
        assert!(delta(0.5, 1.0 / sigma).unwrap() < 1e-5);
        // The formula that `paper` mode reproduces does not give the epsilon it claims.
        let sigma = classic_sigma(10.0, 0.1, 1.0, Mode::Paper).unwrap();
        assert!(delta(10.0, 1.0 / sigma).unwrap() > 0.1);
    }

    proptest! {
        #[test]
        fn bad_input_is_an_error(bad in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), -1e300..-1e-300]) {
            prop_assert!(delta(bad, 1.0).is_err());
            prop_assert!(delta(1.0, bad).is_err());
            prop_assert!(epsilon(bad, 1.0).is_err());
            prop_assert!(epsilon(1e-5, bad).is_err());
            prop_assert!(mu(bad, 1e-5).is_err());
            prop_assert!(mu(1.0, bad).is_err());
        }

        #[test]
        fn delta_outside_the_unit_interval_is_an_error(bad in prop_oneof![Just(0.0), 1.0..1e9]) {
            prop_assert!(epsilon(bad, 1.0).is_err());
            prop_assert!(mu(1.0, bad).is_err());
        }

        #[test]
        fn no_valid_input_panics_or_gives_nan(e in -320.0..308.0f64, d in -323.0..0.0f64, m in -320.0..308.0f64) {
            let (e, d, m) = (10f64.powf(e), 10f64.powf(d).clamp(5e-324, 1.0 - 1e-16), 10f64.powf(m));
            prop_assert!((0.0..=1.0).contains(&delta(e, m).unwrap()));
            prop_assert!(epsilon(d, m).unwrap() >= 0.0);
            prop_assert!(e > 1e300 || mu(e, d).unwrap() >= 0.0);
        }
    }
}
