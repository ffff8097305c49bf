//! Algorithm 1: the one-dimensional potential, the learner that needs no tuning.
//!
//! ```text
//! w_t = E_v[v exp(-sum (v g_s + (v g_s)^2))] = E_v[v exp(v L - v^2 V)],   v ~ prior on [-C, C],   C = 1/(5G)   (3.3.2)
//! F_t = E_v[exp(v L - v^2 V) - 1],   w = dF/dL                                                                 (3.3.1)
//! ```
//!
//! with `L = -sum g` and `V = sum g^2` over the gradients seen so far, noisy or not.
//!
//! Van der Hoeven, "User-Specified Local Differential Privacy in Unconstrained Adaptive Online Learning" (2019).
//!
//! **Guarantee** (Lemmas 5, 6, 8). If every `g_t` is its mean plus symmetric noise and the mean is at most G in absolute
//! value, then for every competitor u the expected regret is at most `E[F*_T(u)]`, whatever the noise: see
//! [`bounds`](super::bounds). G is the only parameter.
//!
//! All priors share one stable evaluation, `quadrature.rs`; for three of them a closed form is used where it is accurate, `closed_form.rs`.
//! Both return `ln|w|` with a relative error below 1e-12 for any L and V.

use serde::{Deserialize, Serialize};

use super::{SignedLog, closed_form, quadrature::Exponent};
#[cfg(feature = "schema")]
use crate::schema::{Positive, add_names};
use crate::{
    Error, Result,
    error::{finite_vector, not_negative, positive},
    named::named,
    refuse_if,
    special::{ein, erf},
};

/// G lies between the reciprocal of this and this.
pub(super) const LARGEST_BOUND: f64 = 1e80;
/// Gradients are refused beyond this many times G: their squares, summed, stay within a double.
pub(super) const LARGEST_RATIO: f64 = 1e50;

/// The prior over learning rates v on `[-C, C]`.
///
/// In files and in Python it is its name, `"improper"`, or its name with parameters, `{ conjugate = { precision = 4.0 } }`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Prior", transform = add_names::<Self>))]
pub enum Prior {
    /// `exp(-b v^2) / Z`: every cost beyond 1 scales with the competitor (Theorem 10).
    Conjugate {
        /// b, in the units of a squared gradient; by default `G^2`.
        #[cfg_attr(feature = "schema", schemars(with = "Option<Positive>"))]
        precision: Option<f64>,
    },
    /// `1 / (2C)` (Jun and Orabona 2019).
    Uniform,
    /// `1 / |v|`, which has no mass: smaller constants, but staying at 0 costs about `ln(C^2 V)` (Theorem 12).
    Improper,
    /// `1 / (2|v| (1 + ln(C/|v|))^2)`: Chernov and Vovk's prior in the form that is valid for every G.
    ChernovVovk,
}

named!(Prior, "{ conjugate = { precision = 4.0 } }", {
    "conjugate": Prior::Conjugate { .. } => Prior::default(),
    "uniform": Prior::Uniform => Prior::Uniform,
    "improper": Prior::Improper => Prior::Improper,
    "chernov_vovk": Prior::ChernovVovk => Prior::ChernovVovk,
});

impl Default for Prior {
    fn default() -> Self {
        Prior::Conjugate { precision: None }
    }
}

/// The potential of a prior and a gradient bound.
///
/// ```
/// use reticent::online::{Potential, Prior};
/// let potential = Potential::new(Prior::Improper, 1.0)?;
/// let w = potential.play(40.0, 100.0)?;
/// assert!((w.value() - 4.793_367_433_528_55).abs() < 1e-12); // mpmath
/// assert!(potential.play(1e9, 1e9)?.ln() > 1e8); // no overflow
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "(Prior, f64)", into = "(Prior, f64)")]
pub struct Potential {
    prior: Prior,
    gradient_bound: f64,
    /// C.
    pub(super) reach: f64,
    /// The logarithm of the factor of the integral over `u = v/C` in w.
    ln_factor: f64,
    /// `ln Z`; 0 for the improper prior.
    ln_mass: f64,
    /// b; 0 for priors without it.
    precision: f64,
}

impl From<Potential> for (Prior, f64) {
    fn from(potential: Potential) -> Self {
        (potential.prior, potential.gradient_bound)
    }
}

impl TryFrom<(Prior, f64)> for Potential {
    type Error = Error;

    fn try_from((prior, gradient_bound): (Prior, f64)) -> Result<Self> {
        Potential::new(prior, gradient_bound)
    }
}

impl Potential {
    /// The potential for gradients whose mean is at most `gradient_bound` in absolute value.
    pub fn new(prior: Prior, gradient_bound: f64) -> Result<Self> {
        positive("gradient_bound", gradient_bound)?;
        let refused = !(1.0 / LARGEST_BOUND..=LARGEST_BOUND).contains(&gradient_bound);
        let remedy = "choose units in which it lies between 1e-80 and 1e80";
        refuse_if(refused, "gradient_bound", gradient_bound, remedy)?;
        let reach = 0.2 / gradient_bound;
        let precision = match prior {
            Prior::Conjugate { precision } => precision.unwrap_or(gradient_bound * gradient_bound),
            _ => 0.0,
        };
        let ln_mass = match prior {
            Prior::Conjugate { .. } => {
                positive("precision", precision)?;
                let relative = precision.sqrt() / gradient_bound;
                let remedy = "expected between 1e-100 and 1e100 times gradient_bound^2";
                refuse_if(!(1e-50..=1e50).contains(&relative), "precision", precision, remedy)?;
                // Z = sqrt(pi/b) erf(C sqrt b)
                0.5 * libm::log(std::f64::consts::PI / precision)
                    + libm::log(erf(reach * precision.sqrt()))
            }
            Prior::Uniform => libm::log(2.0 * reach),
            Prior::Improper => 0.0,
            Prior::ChernovVovk => std::f64::consts::LN_2,
        };
        // v dv = C^2 u du where the density is in v, v dP(v) = C u ds / 2 where s is uniform.
        let powers = match prior {
            Prior::Conjugate { .. } | Prior::Uniform => 2.0,
            Prior::Improper | Prior::ChernovVovk => 1.0,
        };
        let ln_factor = powers * libm::log(reach) - ln_mass;
        Ok(Potential { prior, gradient_bound, reach, ln_factor, ln_mass, precision })
    }

    /// The prior.
    pub fn prior(&self) -> Prior {
        self.prior
    }

    /// G.
    pub fn gradient_bound(&self) -> f64 {
        self.gradient_bound
    }

    /// The prediction `w` at `L = sum`, `V = squares`.
    pub fn play(&self, sum: f64, squares: f64) -> Result<SignedLog> {
        finite_vector("sum", &[sum], 1)?;
        not_negative("squares", squares)?;
        Ok(self.slope(sum, squares))
    }

    /// As [`Potential::play`], for numbers known to be valid.
    #[inline]
    pub(super) fn slope(&self, sum: f64, squares: f64) -> SignedLog {
        let total = self.total(squares);
        if sum == 0.0 {
            return SignedLog::ZERO;
        }
        let negative = sum < 0.0;
        let root = total.sqrt();
        let (a, c) = (0.5 * sum.abs() / root, self.reach * root);
        let closed = match self.prior {
            Prior::Conjugate { .. } | Prior::Uniform if c >= 1.0 => {
                closed_form::proper_slope(a, c).map(|ln| ln - libm::log(total) - self.ln_mass)
            }
            Prior::Improper if c >= 1.0 => {
                closed_form::improper_slope(a, c).map(|ln| ln - libm::log(root))
            }
            _ => None,
        };
        let ln = closed.unwrap_or_else(|| {
            let exponent = Exponent::new(self.reach * sum.abs(), c * c);
            self.ln_factor
                + match self.prior {
                    Prior::Conjugate { .. } | Prior::Uniform => exponent.ln_slope(|u| u),
                    Prior::Improper => exponent.ln_slope(|_| 1.0),
                    Prior::ChernovVovk => exponent.ln_slope_stretched(),
                }
        });
        SignedLog::new(negative, ln)
    }

    /// The potential `F` itself; infinite where it is beyond a double.
    pub fn value(&self, sum: f64, squares: f64) -> Result<f64> {
        finite_vector("sum", &[sum], 1)?;
        not_negative("squares", squares)?;
        let c = self.reach * self.total(squares).sqrt();
        let exponent = Exponent::new(self.reach * sum.abs(), c * c);
        // E[exp(vL - v^2 V)] = E[exp(-v^2 V)] + E[(exp(vL/2) - exp(-vL/2))^2 exp(-v^2 V)] on the positive half.
        let grown =
            |ln_integral: f64| libm::exp(ln_integral + self.ln_factor - libm::log(self.reach));
        Ok(match self.prior {
            Prior::Conjugate { .. } | Prior::Uniform => {
                // int exp(-v^2 B) dv = sqrt(pi/B) erf(c)
                let at_zero = if c > 1e-8 {
                    libm::log(2.0 * self.reach)
                        + libm::log(0.5 * std::f64::consts::PI.sqrt() * erf(c) / c)
                } else {
                    libm::log(2.0 * self.reach)
                };
                libm::expm1(at_zero - self.ln_mass)
                    + libm::exp(exponent.ln_growth(|_| 1.0) + libm::log(self.reach) - self.ln_mass)
            }
            Prior::Improper => grown(exponent.ln_growth(|u| 1.0 / u)) - ein(c * c),
            Prior::ChernovVovk => {
                grown(exponent.ln_growth_stretched()) - exponent.loss_at_zero_stretched()
            }
        })
    }

    /// `B = b + V`.
    fn total(&self, squares: f64) -> f64 {
        self.precision + squares
    }
}

/// The statistics that one instance of Algorithm 1 keeps.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Statistics {
    /// `L = -sum g`.
    pub sum: f64,
    /// `V = sum g^2`.
    pub squares: f64,
    /// Number of gradients that were not zero.
    pub count: u64,
}

impl Statistics {
    /// Returns whether some gradients could have produced these numbers.
    pub(super) fn is_sound(&self) -> bool {
        self.sum.is_finite() && self.squares.is_finite() && self.squares >= 0.0
    }

    /// Adds a gradient.
    #[inline]
    pub(super) fn absorb(&mut self, gradient: f64) {
        if gradient != 0.0 {
            self.sum -= gradient;
            self.squares += gradient * gradient;
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VECTORS: &str = include_str!("../../../../vectors/potential.csv");

    /// `(potential, sum, squares, ln_w, value)` of every vector.
    fn vectors() -> Vec<(Potential, f64, f64, f64, Option<f64>)> {
        let parse = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |index: usize| fields[index].parse::<f64>().unwrap();
            let prior = match fields[0] {
                "conjugate" => Prior::Conjugate { precision: Some(number(1)) },
                "uniform" => Prior::Uniform,
                "improper" => Prior::Improper,
                "cv" => Prior::ChernovVovk,
                other => panic!("{other}"),
            };
            let potential = Potential::new(prior, number(2)).unwrap();
            (potential, number(3), number(4), number(5), fields[6].parse().ok())
        };
        VECTORS.lines().skip(1).map(parse).collect()
    }

    #[test]
    fn the_prediction_agrees_with_mpmath() {
        for (potential, sum, squares, ln_w, _) in vectors() {
            for sign in [1.0, -1.0] {
                let w = potential.play(sign * sum, squares).unwrap();
                let error = (w.ln() - ln_w).abs() / ln_w.abs().max(1.0);
                assert!(error <= 1e-12, "{potential:?} at {sum}, {squares}: {} {ln_w}", w.ln());
                assert_eq!(w.sign(), sign);
            }
        }
    }

    #[test]
    fn the_potential_agrees_with_mpmath() {
        let mut checked = 0;
        for (potential, sum, squares, _, value) in vectors() {
            let Some(want) = value else { continue };
            let got = potential.value(sum, squares).unwrap();
            let error = (got - want).abs() / want.abs().max(1.0);
            assert!(error <= 1e-12, "{potential:?} at {sum}, {squares}: {got} {want}");
            checked += 1;
        }
        assert!(checked > 100);
    }

    /// (3.3.4), character by character.
    fn printed_conjugate(b: f64, g: f64, l: f64, v: f64) -> f64 {
        let (c, total) = (1.0 / (5.0 * g), b + v);
        let (plus, minus) = (l + 2.0 * c * total, l - 2.0 * c * total);
        let root = 2.0 * total.sqrt();
        let scale = erf(c * b.sqrt()) * (c * (l + c * total)).exp() * 4.0 * total.powf(1.5);
        let first = b.sqrt()
            * l
            * (plus * plus / (4.0 * total)).exp()
            * (erf(minus / root) - erf(plus / root));
        let second = 2.0 * total.sqrt() * (2.0 * c * l).exp_m1();
        (first + second) / scale
    }

    /// The same with the sign of both terms turned and `sqrt(b/pi)` restored in the second.
    fn corrected_conjugate(b: f64, g: f64, l: f64, v: f64) -> f64 {
        let (c, total) = (1.0 / (5.0 * g), b + v);
        let second = 2.0 * total.sqrt() * (2.0 * c * l).exp_m1()
            / (erf(c * b.sqrt()) * (c * (l + c * total)).exp() * 4.0 * total.powf(1.5));
        let first = printed_conjugate(b, g, l, v) - second;
        -first - second * (b / std::f64::consts::PI).sqrt()
    }

    #[test]
    fn the_printed_prediction_is_not_the_integral_and_ours_is() {
        for (b, l, v) in [(1.0, 12.0, 60.0), (2.0, 6.0, 30.0), (0.5, 30.0, 200.0), (1.0, 3.0, 9.0)]
        {
            let potential = Potential::new(Prior::Conjugate { precision: Some(b) }, 1.0).unwrap();
            let ours = potential.play(l, v).unwrap().value();
            // The integral by a thousand panels, straight from (3.3.2).
            let z = (std::f64::consts::PI / b).sqrt() * erf(0.2 * b.sqrt());
            let panel = |i: i32| {
                let from = -0.2 + 4e-4 * f64::from(i);
                crate::special::integrate(from, from + 4e-4, |x| {
                    x * (x * l - x * x * (b + v)).exp() / z
                })
            };
            let integral: f64 = (0..1000).map(panel).sum();
            assert!((ours / integral - 1.0).abs() < 1e-11, "{ours} {integral}");
            let printed = printed_conjugate(b, 1.0, l, v);
            assert!((printed / integral - 1.0).abs() > 0.1, "{printed} {integral}");
            let corrected = corrected_conjugate(b, 1.0, l, v);
            assert!((corrected / integral - 1.0).abs() < 1e-9, "{corrected} {integral}");
        }
    }

    #[test]
    fn extremes_stay_finite_and_zero_is_zero() {
        for prior in [
            Prior::Conjugate { precision: Some(1.0) },
            Prior::Uniform,
            Prior::Improper,
            Prior::ChernovVovk,
        ] {
            let potential = Potential::new(prior, 1.0).unwrap();
            assert_eq!(potential.play(0.0, 0.0).unwrap(), SignedLog::ZERO);
            assert_eq!(potential.play(0.0, 1e12).unwrap().value(), 0.0);
            for sum in [1e-250, 1e-20, 1.0, 1e20, 1e60] {
                for squares in [0.0, 1e-300, 1e-9, 1.0, 1e12, 1e100] {
                    let w = potential.play(sum, squares).unwrap();
                    assert!(w.ln().is_finite(), "{prior:?} {sum} {squares}: {w:?}");
                    assert!(w.value() >= 0.0 && w.value().is_finite());
                }
            }
            // With gradients of -1 in every round the prediction exceeds the range of doubles; its logarithm stays correct.
            let w = potential.play(1e5, 1e5).unwrap();
            assert!(w.ln() > 15_000.0 && w.value() == crate::online::LARGEST_PREDICTION);
            for bad in [f64::NAN, f64::INFINITY] {
                assert!(potential.play(bad, 1.0).is_err());
                assert!(potential.play(1.0, bad).is_err());
            }
            assert!(potential.play(1.0, -1.0).is_err());
        }
        for bound in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-90, 1e90] {
            assert!(Potential::new(Prior::Uniform, bound).is_err());
        }
        for precision in [0.0, -1.0, f64::NAN, 1e-120, 1e120] {
            assert!(Potential::new(Prior::Conjugate { precision: Some(precision) }, 1.0).is_err());
        }
    }
}
