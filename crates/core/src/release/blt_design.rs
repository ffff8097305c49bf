//! Choosing the rates of a buffered linear Toeplitz factorisation.
//!
//! With rates `kappa = 1 - theta`, the generating functions are
//!
//! ```text
//! C(z) = prod (1 - zero_k z) / prod (1 - pole_k z),   c_0 = 1, c_{j+1} = sum_i omega_i pole_i^j
//! B(z) = 1 / ((1 - z) C(z)),                          b_j = sum_i s_i zero_i^j,  zero_0 = 1
//! omega_i = prod_k (zero_k - pole_i)' / prod_{k != i} (pole_k - pole_i)'      (' : taken on the rates)
//! s_i     = prod_k (pole_k - zero_i)' / prod_{k != i} (zero_k - zero_i)'
//! ```
//!
//! The two weights are the same formula with the roles swapped. When the rates interlace,
//! `pole_1 < zero_1 < pole_2 < ...`, every weight is positive, so both sums of squares are sums of
//! positive geometric series: nothing cancels, and `expm1`/`log1p` keep rates of 1e-9 accurate.
//! We minimise `ln ||c|| + ln ||b||` (column norm times last row norm, the worst prefix deviation at a
//! given privacy) over the logits of the rates with BFGS and exact gradients.
//!
//! Reference: Dvijotham, McMahan, Pillutla, Steinke, Thakurta, "Efficient and near-optimal noise
//! generation for streaming differential privacy" (FOCS 2024).

/// Decay rates `1 - theta` of the poles of C and of the zeros of C, interlacing and increasing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rates {
    pub(super) poles: Vec<f64>,
    pub(super) zeros: Vec<f64>,
}

/// `sum_{j<terms} q^j` and its derivative in `q`, for `q = (1 - a)(1 - b)`.
fn geometric(a: f64, b: f64, terms: f64) -> (f64, f64) {
    let gap = a + b - a * b;
    if gap == 0.0 {
        return (terms, 0.5 * terms * (terms - 1.0));
    }
    let ratio = (1.0 - a) * (1.0 - b);
    let ln_power = terms * (libm::log1p(-a) + libm::log1p(-b));
    let sum = -libm::expm1(ln_power) / gap;
    (sum, (sum - terms * libm::exp(ln_power) / ratio) / gap)
}

/// `sum_{j<terms} (sum_i weights_i (1 - rates_i)^j)^2`.
pub(super) fn sum_of_squares(weights: &[f64], rates: &[f64], terms: f64) -> f64 {
    let ln_powers: Vec<f64> = rates.iter().map(|rate| terms * libm::log1p(-rate)).collect();
    let mut sum = 0.0;
    for i in 0..rates.len() {
        for k in 0..=i {
            let gap = rates[i] + rates[k] - rates[i] * rates[k];
            let ln_power = ln_powers[i] + ln_powers[k];
            let series = if gap == 0.0 { terms } else { -libm::expm1(ln_power) / gap };
            let pairs = if i == k { 1.0 } else { 2.0 };
            sum += pairs * weights[i] * weights[k] * series;
        }
    }
    sum
}

/// The weights above: `own` are the rates of the series, `other` those of the factor it divides.
pub(super) fn weights(own: &[f64], other: &[f64]) -> Vec<f64> {
    let weight = |(i, rate): (usize, &f64)| {
        let mut product = 1.0;
        // Interleaving the two products keeps every partial product near 1.
        for k in 0..own.len().max(other.len()) {
            if let Some(there) = other.get(k) {
                product *= (there - rate).abs();
            }
            if k != i
                && let Some(there) = own.get(k)
            {
                product /= (there - rate).abs();
            }
        }
        product
    };
    own.iter().enumerate().map(weight).collect()
}

/// A sum of squares with its gradients in `own` and in `other`.
fn differentiated(own: &[f64], other: &[f64], terms: f64) -> (f64, Vec<f64>, Vec<f64>) {
    let weight = weights(own, other);
    let (mut value, mut by_own, mut by_other) = (0.0, vec![0.0; own.len()], vec![0.0; other.len()]);
    for i in 0..own.len() {
        let (mut share, mut slope) = (0.0, 0.0);
        for k in 0..own.len() {
            let (sum, derivative) = geometric(own[i], own[k], terms);
            share += weight[i] * weight[k] * sum;
            slope -= 2.0 * weight[i] * weight[k] * derivative * (1.0 - own[k]);
        }
        value += share;
        by_own[i] += slope;
        // d value / d ln weight_i = 2 share, and ln weight_i is a sum of log-differences.
        for k in 0..other.len() {
            let change = 2.0 * share / (other[k] - own[i]);
            by_other[k] += change;
            by_own[i] -= change;
        }
        for k in (0..own.len()).filter(|&k| k != i) {
            let change = 2.0 * share / (own[k] - own[i]);
            by_own[k] -= change;
            by_own[i] += change;
        }
    }
    (value, by_own, by_other)
}

/// `ln ||c|| + ln ||b||` and its gradient in the interleaved logits; `None` where rates do not interlace.
fn objective(logits: &[f64], steps: f64) -> Option<(f64, Vec<f64>)> {
    let rates: Vec<f64> = logits.iter().map(|u| 1.0 / (1.0 + libm::exp(-u))).collect();
    let ordered = rates.windows(2).all(|pair| pair[0] < pair[1]);
    if !(ordered && rates[0] > 1e-15 && rates[rates.len() - 1] < 1.0 - 1e-9) {
        return None;
    }
    let poles: Vec<f64> = rates.iter().copied().step_by(2).collect();
    let zeros: Vec<f64> =
        std::iter::once(0.0).chain(rates.iter().copied().skip(1).step_by(2)).collect();
    let (tail, column_by_pole, column_by_zero) = differentiated(&poles, &zeros[1..], steps - 1.0);
    let (row, row_by_zero, row_by_pole) = differentiated(&zeros, &poles, steps);
    let column = 1.0 + tail;
    let gradient = (0..rates.len())
        .map(|index| {
            let k = index / 2;
            let by_rate = if index % 2 == 0 {
                column_by_pole[k] / column + row_by_pole[k] / row
            } else {
                column_by_zero[k] / column + row_by_zero[k + 1] / row
            };
            0.5 * by_rate * rates[index] * (1.0 - rates[index])
        })
        .collect();
    let value = 0.5 * (libm::log(column) + libm::log(row));
    value.is_finite().then_some((value, gradient))
}

/// The rates that minimise the worst prefix deviation over `steps` steps, from a geometric first guess.
pub(super) fn design(steps: u64, buffers: usize) -> Rates {
    let steps = steps.max(2) as f64;
    let size = 2 * buffers;
    let (slowest, fastest) = (libm::log(0.3 / steps), libm::log(0.8_f64));
    let mut logits: Vec<f64> = (0..size)
        .map(|index| {
            let rate = libm::exp(slowest + (fastest - slowest) * index as f64 / (size - 1) as f64);
            libm::log(rate / (1.0 - rate))
        })
        .collect();
    minimize(&mut logits, |point| objective(point, steps));
    let rates = logits.iter().map(|u| 1.0 / (1.0 + libm::exp(-u)));
    Rates { poles: rates.clone().step_by(2).collect(), zeros: rates.skip(1).step_by(2).collect() }
}

/// BFGS with backtracking; `None` from the function means "outside the domain, step less far".
fn minimize(point: &mut Vec<f64>, function: impl Fn(&[f64]) -> Option<(f64, Vec<f64>)>) {
    const ITERATIONS: usize = 200;
    const ENOUGH: f64 = 1e-9;
    let size = point.len();
    let Some((mut value, mut gradient)) = function(point) else { return };
    let mut inverse_hessian = identity(size);
    let mut stalled = 0;
    for _ in 0..ITERATIONS {
        let mut direction: Vec<f64> =
            inverse_hessian.iter().map(|row| -dot(row, &gradient)).collect();
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            inverse_hessian = identity(size);
            direction = gradient.iter().map(|g| -g).collect();
            slope = -dot(&gradient, &gradient);
        }
        let longest = direction.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
        let mut length = 1.0_f64.min(2.0 / longest);
        let accepted = loop {
            let trial: Vec<f64> =
                point.iter().zip(&direction).map(|(x, d)| x + length * d).collect();
            match function(&trial) {
                Some((found, slopes)) if found <= value + 1e-4 * length * slope => {
                    break Some((trial, found, slopes));
                }
                _ if length < 1e-12 => break None,
                _ => length *= 0.5,
            }
        };
        let Some((trial, found, slopes)) = accepted else { return };
        let moved: Vec<f64> = direction.iter().map(|d| length * d).collect();
        let turned: Vec<f64> = slopes.iter().zip(&gradient).map(|(new, old)| new - old).collect();
        update(&mut inverse_hessian, &moved, &turned);
        stalled = if value - found < ENOUGH { stalled + 1 } else { 0 };
        (*point, value, gradient) = (trial, found, slopes);
        if stalled == 3 {
            return;
        }
    }
}

/// The BFGS update of the inverse Hessian, skipped where curvature is not positive.
fn update(inverse_hessian: &mut [Vec<f64>], moved: &[f64], turned: &[f64]) {
    let curvature = dot(moved, turned);
    if curvature <= 1e-300 {
        return;
    }
    let image: Vec<f64> = inverse_hessian.iter().map(|row| dot(row, turned)).collect();
    let factor = (1.0 + dot(turned, &image) / curvature) / curvature;
    for (i, row) in inverse_hessian.iter_mut().enumerate() {
        for (j, entry) in row.iter_mut().enumerate() {
            *entry += factor * moved[i] * moved[j]
                - (image[i] * moved[j] + moved[i] * image[j]) / curvature;
        }
    }
}

fn identity(size: usize) -> Vec<Vec<f64>> {
    (0..size).map(|i| (0..size).map(|j| f64::from(i == j)).collect()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_that_of_the_objective() {
        let logits = [-12.0, -10.5, -7.0, -5.0, -2.0, 0.5];
        for steps in [50.0, 1e5, 1e9] {
            let (_, gradient) = objective(&logits, steps).unwrap();
            for (index, slope) in gradient.iter().enumerate() {
                let at = |shift: f64| {
                    let mut moved = logits;
                    moved[index] += shift;
                    objective(&moved, steps).unwrap().0
                };
                let numeric = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((numeric - slope).abs() < 1e-7, "{numeric} against {slope}");
            }
        }
    }

    #[test]
    fn rates_that_do_not_interlace_have_no_value() {
        assert!(objective(&[-3.0, -4.0], 100.0).is_none());
        assert!(objective(&[-3.0, -3.0], 100.0).is_none());
        assert!(objective(&[-3.0, 50.0], 100.0).is_none());
    }

    #[test]
    fn more_buffers_are_never_worse() {
        for steps in [1_000_u64, 1_000_000, 1_000_000_000] {
            let products: Vec<f64> = (1..=16)
                .map(|buffers| {
                    let Rates { poles, mut zeros } = design(steps, buffers);
                    let tail = sum_of_squares(&weights(&poles, &zeros), &poles, steps as f64 - 1.0);
                    zeros.insert(0, 0.0);
                    let row = sum_of_squares(&weights(&zeros, &poles), &zeros, steps as f64);
                    ((1.0 + tail) * row).sqrt()
                })
                .collect();
            let improves = |pair: &[f64]| pair[1] < pair[0] * (1.0 + 1e-5);
            assert!(products.windows(2).all(improves), "{steps}: {products:?}");
        }
    }
}
