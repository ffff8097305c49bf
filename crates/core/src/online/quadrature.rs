//! The prediction by quadrature: stable for every prior, every L and every V.
//!
//! With `A = C|L|`, `Q = C^2 B` and `phi(u) = u A - u^2 Q` on (0, 1), u = v/C,
//!
//! ```text
//! w = sgn(L) factor e^{top} int_0^1 density(u) u e^{phi(u) - top} (1 - e^{-2uA}) du,   top = max phi
//! ```
//!
//! Every factor under the integral is positive, so nothing cancels; only the logarithm of `e^{top}` is used. The
//! integral is taken over the window where `top - phi < 37`: the omitted part is below `e^-37` of the rest.
//! `phi - top` is formed from the distance to the peak, not as a difference of large numbers.

use crate::special::{
    GAUSS_LEGENDRE_16,
    branchless_exp::{exp_m1_of_nonpositive, exp_of_nonpositive},
    integrate_around, square,
};

/// Distance below the top that the window reaches, in logarithms.
const DEPTH: f64 = 37.0;

/// `phi`, its peak on (0, 1] and its top.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exponent {
    a: f64,
    q: f64,
    peak: f64,
    /// `phi'(peak)`: above 0 where the peak is at 1 and phi still rises.
    slope: f64,
    top: f64,
}

impl Exponent {
    pub(super) fn new(a: f64, q: f64) -> Self {
        let (peak, slope, top) = if a >= 2.0 * q {
            (1.0, a - 2.0 * q, a - q)
        } else {
            (0.5 * a / q, 0.0, 0.25 * a * (a / q))
        };
        Exponent { a, q, peak, slope, top }
    }

    /// `phi(peak + x) - top`.
    #[inline(always)]
    fn below_top(&self, x: f64) -> f64 {
        x * (self.slope - self.q * x)
    }

    /// The window as distances from the peak: `(low, high)` with `low <= 0 <= high`.
    fn window(&self) -> (f64, f64) {
        // slope x + Q x^2 = DEPTH
        let root = (self.slope * self.slope + 4.0 * DEPTH * self.q).sqrt();
        let reach = 2.0 * DEPTH / (self.slope + root);
        (-reach.min(self.peak), reach.min(1.0 - self.peak))
    }

    /// `ln int weight(u) e^{phi} (1 - e^{-2uA}) du`.
    pub(super) fn ln_slope(&self, weight: impl Fn(f64) -> f64) -> f64 {
        let (low, high) = self.window();
        let (rate, unit) = self.odd_part();
        let integrand = |x: f64| {
            let u = self.peak + x;
            weight(u) * exp_of_nonpositive(self.below_top(x)) * -exp_m1_of_nonpositive(rate * u)
        };
        let integral = if self.a + self.q <= 4.0 {
            SHORT.integrate(low, high, integrand)
        } else {
            LONG.integrate(low, high, integrand)
        };
        self.top + libm::log(integral) + libm::log(unit)
    }

    /// `(-2A, 1)`; a tiny A is replaced by 1e-200 and restored as a factor, for there `1 - e^{-2uA}` is `2uA`.
    fn odd_part(&self) -> (f64, f64) {
        if self.a < 1e-200 { (-2e-200, self.a * 1e200) } else { (-2.0 * self.a, 1.0) }
    }

    /// As [`Exponent::ln_slope`] for the Chernov-Vovk prior, whose weight is `1/(1 - ln u)^2`. Where the window comes near 0,
    /// `u = scale y^2`: the singularity of the logarithm is multiplied by `y^3`, and one panel in y suffices.
    pub(super) fn ln_slope_stretched(&self) -> f64 {
        let (rate, unit) = self.odd_part();
        let (low, high) = self.window();
        // Two loops, because the compiler vectorises only the second.
        let integral = if self.peak + low > 0.5 * self.peak {
            let nodes = LONG.nodes(low, high);
            let weights = nodes.map(|x| 1.0 / square(1.0 - libm::log(self.peak + x)));
            LONG.sum(low, high, &nodes, &weights, |x| {
                let below = exp_of_nonpositive(self.below_top(x));
                below * -exp_m1_of_nonpositive(rate * (self.peak + x))
            })
        } else {
            let (from, scale) = self.root_window();
            let ln_scale = libm::log(scale);
            let nodes = LONG.nodes(from, 1.0);
            let weights = nodes.map(|y| 2.0 * y / square(1.0 - ln_scale - 2.0 * libm::log(y)));
            scale
                * LONG.sum(from, 1.0, &nodes, &weights, |y| {
                    let u = scale * y * y;
                    let below = exp_of_nonpositive(self.below_top(u - self.peak));
                    below * -exp_m1_of_nonpositive(rate * u)
                })
        };
        self.top + libm::log(integral) + libm::log(unit)
    }

    /// The window in y, which ends at 1, and the u that y = 1 stands for.
    fn root_window(&self) -> (f64, f64) {
        let (low, high) = self.window();
        let scale = self.peak + high;
        (((self.peak + low) / scale).max(0.0).sqrt(), scale)
    }

    /// `ln int weight(u) e^{phi} (1 - e^{-uA})^2 du`: the potential minus its value at L = 0.
    pub(super) fn ln_growth(&self, weight: impl Fn(f64) -> f64) -> f64 {
        let (low, high) = self.window();
        let integrand = |x: f64| {
            let u = self.peak + x;
            weight(u) * libm::exp(self.below_top(x)) * square(libm::expm1(-u * self.a))
        };
        self.top + libm::log(composite(16, low, high, integrand))
    }

    /// As [`Exponent::ln_growth`] for the Chernov-Vovk prior.
    pub(super) fn ln_growth_stretched(&self) -> f64 {
        let (low, _) = self.window();
        if self.peak + low > 0.5 * self.peak {
            return self.ln_growth(|u| 1.0 / (u * square(1.0 - libm::log(u))));
        }
        let (from, scale) = self.root_window();
        let integral = composite(32, from, 1.0, |y| {
            let u = scale * y * y;
            let weight = 2.0 / (y * square(1.0 - libm::log(u)));
            weight * libm::exp(self.below_top(u - self.peak)) * square(libm::expm1(-u * self.a))
        });
        self.top + libm::log(integral)
    }

    /// `int_0^1 (1 - e^{-u(s)^2 Q}) ds`: the cost of staying at zero under the Chernov-Vovk prior.
    pub(super) fn loss_at_zero_stretched(&self) -> f64 {
        composite(256, 0.0, 1.0, |s| -libm::expm1(-libm::exp(2.0 - 2.0 / s) * self.q))
    }
}

/// `panels` 16-point panels.
fn composite(panels: u32, low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let half = 0.5 * (high - low) / f64::from(panels);
    (0..panels).map(|i| integrate_around(low + half * f64::from(2 * i + 1), half, &f)).sum()
}

/// A Gauss-Legendre rule on [-1, 1].
struct Rule<const N: usize> {
    nodes: [f64; N],
    weights: [f64; N],
}

impl<const N: usize> Rule<N> {
    /// The rule with these nodes and their mirror images.
    const fn mirrored<const H: usize>(half: &[(f64, f64); H]) -> Self {
        let mut rule = Rule { nodes: [0.0; N], weights: [0.0; N] };
        let mut i = 0;
        while i < H {
            let (node, weight) = half[i];
            (rule.nodes[i], rule.nodes[N - 1 - i]) = (node, -node);
            (rule.weights[i], rule.weights[N - 1 - i]) = (weight, weight);
            i += 1;
        }
        rule
    }

    /// The nodes on `low ..= high`.
    #[inline(always)]
    fn nodes(&self, low: f64, high: f64) -> [f64; N] {
        let (centre, half) = (0.5 * (low + high), 0.5 * (high - low));
        self.nodes.map(|node| centre + half * node)
    }

    /// The integral over `low ..= high` of what is `weight f(x)` at each node.
    #[inline(always)]
    fn sum(
        &self,
        low: f64,
        high: f64,
        nodes: &[f64; N],
        weights: &[f64; N],
        f: impl Fn(f64) -> f64,
    ) -> f64 {
        let mut values = [0.0; N];
        for i in 0..N {
            values[i] = self.weights[i] * weights[i] * f(nodes[i]);
        }
        0.5 * (high - low) * values.iter().sum::<f64>()
    }

    /// The integral of `f` over `low ..= high`.
    #[inline(always)]
    fn integrate(&self, low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
        self.sum(low, high, &self.nodes(low, high), &[1.0; N], f)
    }
}

/// For integrands that change by a few e-folds.
static SHORT: Rule<16> = Rule::mirrored(&GAUSS_LEGENDRE_16);
/// For a whole window.
static LONG: Rule<48> = Rule::mirrored(&GAUSS_LEGENDRE_48);

/// Positive half of the 48-point rule on [-1, 1]: (node, weight).
const GAUSS_LEGENDRE_48: [(f64, f64); 24] = [
    (0.03238017096286936, 0.06473769681268392),
    (0.0970046992094627, 0.06446616443595009),
    (0.1612223560688917, 0.06392423858464819),
    (0.22476379039468905, 0.06311419228625402),
    (0.28736248735545555, 0.062039423159892665),
    (0.34875588629216075, 0.06070443916589388),
    (0.4086864819907167, 0.059114839698395635),
    (0.4669029047509584, 0.057277292100403214),
    (0.523160974722233, 0.055199503699984165),
    (0.5772247260839727, 0.05289018948519367),
    (0.6288673967765136, 0.05035903555385447),
    (0.6778723796326639, 0.04761665849249048),
    (0.7240341309238146, 0.04467456085669428),
    (0.7671590325157404, 0.04154508294346475),
    (0.8070662040294426, 0.03824135106583071),
    (0.8435882616243935, 0.03477722256477044),
    (0.8765720202742479, 0.03116722783279809),
    (0.9058791367155696, 0.027426509708356948),
    (0.9313866907065543, 0.02357076083932438),
    (0.9529877031604309, 0.01961616045735553),
    (0.9705915925462473, 0.015579315722943849),
    (0.9841245837228269, 0.01147723457923454),
    (0.9935301722663508, 0.0073275539012762625),
    (0.9987710072524261, 0.0031533460523058385),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same integral over `x = ln u` by 1500 panels of the library's exponentials.
    fn reference(exponent: &Exponent, density: impl Fn(f64) -> f64) -> f64 {
        let (low, high) = exponent.window();
        let top = (exponent.peak + high).ln();
        let bottom = (exponent.peak + low).ln().max(top - 90.0);
        let integral = composite(1500, bottom, top, |x| {
            let u = x.exp();
            let phi = exponent.below_top(u - exponent.peak);
            u * density(u) * phi.exp() * -(-2.0 * u * exponent.a).exp_m1()
        });
        exponent.top + integral.ln()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn panels_are_fine_enough_everywhere(ratio in -9.0_f64..5.0, width in -12.0_f64..14.0) {
            // a = |L| / (2 sqrt B) and Q = C^2 B over many orders of magnitude.
            let (a, q) = (10f64.powf(ratio), 10f64.powf(width));
            let exponent = Exponent::new(2.0 * a * q.sqrt(), q);
            let stretched = |u: f64| u / (u * (1.0 - u.ln()).powi(2));
            for (got, want) in [
                (exponent.ln_slope(|u| u), reference(&exponent, |u| u)),
                (exponent.ln_slope(|_| 1.0), reference(&exponent, |_| 1.0)),
                (exponent.ln_slope_stretched(), reference(&exponent, stretched)),
            ] {
                prop_assert!((got - want).abs() <= 1e-12 * want.abs().max(1.0), "{got} {want}");
            }
        }
    }
}
