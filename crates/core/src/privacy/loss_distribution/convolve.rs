//! Sums of many independent losses by one tilted Fourier transform, every error charged upwards.
//!
//! With `M(t) = prod_j (sum_i m_j(i) e^(t i))^(k_j)`, the tilted measures `m_j(i) e^(t i)/M_j(t)`
//! convolve to the tilted convolution (Esscher). The tilt moves the centre halfway to the losses that
//! decide a small `delta`, so that one double-precision transform resolves `delta` from 1 down to 1e-14
//! and below. (Sums of a few very unequal atoms, far from Gaussian, may be charged about 1e-13 too much.)
//!
//! | error | charge |
//! | --- | --- |
//! | mass above the window | Chernoff bound, to infinity |
//! | mass below the window | raised to the lowest cell |
//! | aliasing | wraps positive mass into the window: only adds |
//! | transform, powers | `E` per cell: every output is a sum over paths of at most `O(log N)` roundings |
//! | tilting and back | relative, from the size of the exponents |
//!
//! A charge can exceed the mass that exists. Then the upper cumulative is capped at the true total, which
//! still dominates: `mass(L >= x) <= min(bound(x), total)` for every `x`.

use rustfft::{Fft, FftDirection, algorithm::Radix4, num_complex::Complex};

use super::{
    PrivacyLossDistribution,
    dots::{Dots, trim},
};
use crate::{Error, Result, refuse_if};

/// Longest transform; longer sums are taken on a coarser grid.
const LONGEST: usize = 1 << 21;
/// The bulk of the sum is all of its mass except `e^-BULK` at the lower end.
const BULK: f64 = 4.6;
/// Untilting may magnify the transform's errors by `e^GROWTH` at the low end of the bulk. For a Gaussian
/// sum this puts the centre at 3.7 standard deviations, halfway between the bulk and delta = 1e-13.
const GROWTH: f64 = 18.0;
/// Minus the logarithm of what the tilted sum may lose on each side of the window.
const TAIL: f64 = 46.0;
/// Roundings per stage of the transform, in units of the machine epsilon (twiddle, product, sum; complex).
const ROUNDINGS_PER_STAGE: f64 = 8.0;

type Parts<'a> = [(&'a PrivacyLossDistribution, u64)];

/// The distribution of the sum of `times` copies of each part.
pub(super) fn convolve(parts: &Parts) -> Result<PrivacyLossDistribution> {
    let interval = parts.iter().map(|(one, _)| one.interval).fold(0.0, f64::max);
    let parts: Vec<_> = parts.iter().copied().filter(|(_, times)| *times > 0).collect();
    match parts[..] {
        [] => return PrivacyLossDistribution::nothing(if interval > 0.0 { interval } else { 1.0 }),
        [(one, 1)] => return Ok(one.clone()),
        _ => {}
    }
    let count: f64 = parts.iter().map(|(_, times)| *times as f64).sum();
    refuse_if(count > 1e12, "times", count, "compose at most 1e12 events")?;
    if parts.iter().any(|(one, _)| one.interval != interval) {
        return convolve_coarsened(&parts, interval);
    }
    if parts.iter().any(|(one, _)| one.finite_mass() <= 0.0) {
        let everything =
            PrivacyLossDistribution { infinity: 1.0, masses: vec![0.0], lowest: 0, interval };
        return Ok(everything);
    }
    let window = Window::choose(&parts);
    let cells = window.highest - window.lowest + 1;
    if cells > LONGEST as i128 {
        let factor = (cells as f64 / LONGEST as f64).ceil().max(2.0);
        return convolve_coarsened(&parts, interval * factor);
    }
    window.transform(&parts, interval, count)
}

/// The same sum with every part on another, coarser grid.
fn convolve_coarsened(parts: &Parts, interval: f64) -> Result<PrivacyLossDistribution> {
    let coarse = parts
        .iter()
        .map(|(one, times)| Ok((coarsen(one, interval)?, *times)))
        .collect::<Result<Vec<_>>>()?;
    convolve(&coarse.iter().map(|(one, times)| (one, *times)).collect::<Vec<_>>())
}

/// Connects the dots again on a coarser grid.
fn coarsen(one: &PrivacyLossDistribution, interval: f64) -> Result<PrivacyLossDistribution> {
    if one.interval == interval {
        return Ok(one.clone());
    }
    let mut dots = Dots::new(interval, one.loss(0), one.loss(one.masses.len() - 1))?;
    one.atoms().filter(|(_, mass)| *mass > 0.0).for_each(|(loss, mass)| dots.atom(loss, mass));
    dots.at_infinity(one.infinity);
    Ok(dots.finish())
}

/// Logarithm of the moment generating function at `tilt` per cell, with the tilted mean and variance in
/// cells.
#[derive(Clone, Copy, Default)]
struct Moments {
    ln: f64,
    mean: f64,
    variance: f64,
}

impl Moments {
    /// The moments of one part, summed from the end with the largest weights, so that nothing overflows.
    fn of(one: &PrivacyLossDistribution, tilt: f64) -> Self {
        let (mut sum, mut first, mut second, mut weight, mut distance) = (0.0, 0.0, 0.0, 1.0, 0.0);
        let decay = libm::exp(-tilt.abs());
        let mut add = |mass: &f64| {
            let term = mass * weight;
            sum += term;
            first += term * distance;
            second += term * distance * distance;
            distance += 1.0;
            weight *= decay;
            weight > 1e-290
        };
        let last = one.lowest as f64 + (one.masses.len() - 1) as f64;
        let (anchor, sign) = if tilt >= 0.0 {
            let _ = one.masses.iter().rev().all(&mut add);
            (last, -1.0)
        } else {
            let _ = one.masses.iter().all(&mut add);
            (one.lowest as f64, 1.0)
        };
        let mean = first / sum;
        Self {
            ln: tilt * anchor + libm::log(sum),
            mean: anchor + sign * mean,
            variance: (second / sum - mean * mean).max(0.0),
        }
    }

    /// The moments of the whole sum.
    fn of_sum(parts: &Parts, tilt: f64) -> Self {
        parts.iter().fold(Self::default(), |all, (one, times)| {
            let (part, times) = (Self::of(one, tilt), *times as f64);
            Self {
                ln: all.ln + times * part.ln,
                mean: all.mean + times * part.mean,
                variance: all.variance + times * part.variance,
            }
        })
    }
}

/// Cells of the sum that are computed, and the tilt under which they are.
struct Window {
    tilt: f64,
    lowest: i128,
    highest: i128,
    /// Bound on the mass above `highest`.
    above: f64,
}

impl Window {
    fn choose(parts: &Parts) -> Self {
        let total = Moments::of_sum(parts, 0.0);
        let tilt = choose_tilt(parts, total);
        let centre = Moments::of_sum(parts, tilt);
        let support = |position: fn(&PrivacyLossDistribution) -> i128| -> i128 {
            parts.iter().map(|(one, times)| position(one) * i128::from(*times)).sum()
        };
        let lowest = support(|one| i128::from(one.lowest));
        let highest = support(|one| i128::from(one.lowest) + one.masses.len() as i128 - 1);
        let mut window = Self { tilt, lowest, highest, above: 0.0 };
        if centre.variance <= 0.0 {
            return window;
        }
        // Chernoff: the tilted sum exceeds (ln M(t + s) - ln M(t) + TAIL)/s with probability e^-TAIL at most.
        let best = (2.0 * TAIL / centre.variance).sqrt();
        for step in (-6..=6).map(|power| best * libm::pow(2f64, 0.5 * f64::from(power))) {
            let right = Moments::of_sum(parts, tilt + step).ln;
            let end = ((right - centre.ln + TAIL) / step).ceil() as i128;
            if end < window.highest {
                let exponent = right - (tilt + step) * (end as f64 + 1.0);
                window.highest = end;
                window.above = libm::exp(exponent) * (1.0 + 1e-6);
            }
            let left = Moments::of_sum(parts, tilt - step).ln;
            let start = ((centre.ln - left - TAIL) / step).floor() as i128;
            window.lowest = window.lowest.max(start);
        }
        // Rounding may push a degenerate window past the support.
        window.lowest = window.lowest.clamp(lowest, window.highest);
        window
    }

    fn transform(
        &self,
        parts: &Parts,
        interval: f64,
        count: f64,
    ) -> Result<PrivacyLossDistribution> {
        let cells = (self.highest - self.lowest + 1) as usize;
        let length = cells.next_power_of_two().max(4);
        let stages = f64::from(length.ilog2()) + 4.0;
        let rounding = ROUNDINGS_PER_STAGE * stages * f64::EPSILON;
        // One algorithm for powers of two, not a planner: the same digits on every machine, and a planner would compile every algorithm there is.
        let forward = Radix4::new(length, FftDirection::Forward);
        let mut spectrum = vec![Complex::new(1.0, 0.0); length / 2 + 1];
        // Logarithms of the modulus and of its upper bound, frequency by frequency.
        let mut modulus = vec![(0.0, 0.0); spectrum.len()];
        let (mut normaliser, mut exponents) = (0.0, 0.0);
        for (one, times) in parts {
            let ln = Moments::of(one, self.tilt).ln;
            normaliser += *times as f64 * ln;
            let mut tilted = vec![Complex::new(0.0, 0.0); length];
            let mut largest = 0.0f64;
            for (i, mass) in one.masses.iter().enumerate() {
                let exponent = self.tilt * (one.lowest + i as i64) as f64 - ln;
                largest = largest.max(exponent.abs());
                let cell = (one.lowest + i as i64).rem_euclid(length as i64);
                tilted[cell as usize].re += mass * libm::exp(exponent);
            }
            exponents += *times as f64 * (largest + 4.0);
            let weight: f64 = tilted.iter().map(|cell| cell.re).sum();
            forward.process(&mut tilted);
            for ((product, bound), value) in spectrum.iter_mut().zip(&mut modulus).zip(tilted) {
                let size = value.norm();
                bound.0 += *times as f64 * libm::log(size);
                bound.1 += *times as f64 * libm::log(size + rounding * weight);
                // One unit below the final threshold, because later parts may add rounding errors.
                *product *= if bound.1 > -TAIL - 1.0 { power(value, *times) } else { 0.0.into() };
            }
        }
        // Error of one cell: every frequency's error, its powers' rounding, and the inverse transform's.
        let powers = 8.0 * f64::EPSILON * count;
        let error: f64 = spectrum
            .iter_mut()
            .zip(&modulus)
            .map(|(product, &(ln, ln_bound))| {
                if ln_bound <= -TAIL {
                    *product = 0.0.into();
                    return libm::exp(ln_bound);
                }
                (libm::exp(ln_bound) - libm::exp(ln)) + (powers + rounding) * libm::exp(ln_bound)
            })
            .sum::<f64>()
            * (2.0 / length as f64);
        spectrum[0].im = 0.0;
        spectrum[length / 2].im = 0.0;
        // What is transformed is real, so the other half of the frequencies are the conjugates.
        let mirrored: Vec<_> = spectrum[1..length / 2].iter().rev().map(Complex::conj).collect();
        let mut sums = [spectrum, mirrored].concat();
        Radix4::new(length, FftDirection::Inverse).process(&mut sums);

        let finite: f64 =
            parts.iter().map(|(one, times)| *times as f64 * libm::log(one.finite_mass())).sum();
        let infinite: f64 = parts
            .iter()
            .map(|(one, times)| *times as f64 * libm::log1p(one.infinity / one.finite_mass()))
            .sum();
        let reach = self.tilt * self.highest.abs().max(self.lowest.abs()) as f64;
        let up = 1.0 + 4.0 * f64::EPSILON * (exponents + normaliser.abs() + reach + count + 16.0);
        let mut left = libm::exp(finite) * up;
        let infinity = (left * libm::expm1(infinite) * up + self.above).min(1.0);
        let mut masses = vec![0.0; cells];
        for (position, mass) in masses.iter_mut().enumerate().rev() {
            let index = self.lowest + position as i128;
            let sum = sums[index.rem_euclid(length as i128) as usize].re / length as f64 + error;
            if sum > 0.0 {
                let untilted = sum * libm::exp(normaliser - self.tilt * index as f64) * up;
                *mass = untilted.min(left);
                left -= *mass;
            }
        }
        masses[0] += left;
        let lowest = i64::try_from(self.lowest).map_err(|_| {
            Error::invalid("times", count, "compose fewer events, or use a coarser interval")
        })?;
        let mut sum = PrivacyLossDistribution { interval, lowest, masses, infinity };
        trim(&mut sum);
        Ok(sum)
    }
}

/// The largest tilt under which errors at the low end of the bulk grow by `e^GROWTH` at most.
fn choose_tilt(parts: &Parts, total: Moments) -> f64 {
    let deviation = total.variance.sqrt();
    if deviation <= 0.0 {
        return 0.0;
    }
    // Chernoff: all but e^-BULK of the sum lies above this.
    let low_end = (-4..=4)
        .map(|power| libm::ldexp((2.0 * BULK).sqrt() / deviation, power))
        .map(|step| (total.ln - Moments::of_sum(parts, -step).ln - BULK) / step)
        .fold(f64::NEG_INFINITY, f64::max);
    let growth = |tilt: f64| Moments::of_sum(parts, tilt).ln - total.ln - tilt * low_end;
    let (mut low, mut high) = (0.0, 4.0 / deviation);
    while growth(high) < GROWTH && high < 30.0 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..6 {
        let middle = 0.5 * (low + high);
        if growth(middle) < GROWTH { low = middle } else { high = middle }
    }
    low
}

/// `value^times` by squaring, with a relative error below `8 times` roundings.
fn power(value: Complex<f64>, mut times: u64) -> Complex<f64> {
    let (mut square, mut product) = (value, Complex::new(1.0, 0.0));
    while times > 1 {
        if times & 1 == 1 {
            product *= square;
        }
        square *= square;
        times >>= 1;
    }
    product * square
}
