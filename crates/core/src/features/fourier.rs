//! Random Fourier features of the numbers by a public seed (Rahimi and Recht 2007).
//!
//! ```text
//! z = ( sin(w_1 u), cos(w_1 u), ..., sin(w_n u), cos(w_n u) ) / sqrt n,     w_i = g_i / scale
//! ```
//!
//! u are the coordinates of all features that are numbers, as in [`products`](super::Products); g_i has entries of mean 0 and variance 1. Then
//! `z(u) z(v)` is an unbiased estimate of `exp(-|u - v|^2 / (2 scale^2))`, up to the law of g below, so that a linear learner of z learns what a
//! kernel learner of u does.
//!
//! **Norm.** `|z|^2 = sum_i (sin^2 + cos^2) / n = 1` for every record, by rounding at most `1 + 3e-15`.
//!
//! **Frequencies.** An entry of g is the sum of twelve uniform numbers less 6, exactly, in units of 2^-32: entry j of w_i takes the two halves, the
//! lower one first, of each of the outputs `6 (i m + j) + 1, ..., + 6` of SplitMix64 from the state `seed`, for m coordinates. The sum has variance 1
//! to 1e-19 and is nearly Gaussian; every law of g gives a positive kernel (Bochner), so that neither norm nor privacy rests on it, and no logarithm is
//! needed, whose bits platforms do not share. The seed is public and part of the rule: it protects no person, and no person's data may decide it.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use super::{Numbers, projection::LAST_SEED, turn::turn};
use crate::{Error, Result, hash};

/// Frequencies, at most.
const MOST_FREQUENCIES: u32 = 1 << 16;

/// Random Fourier features of all numbers: a public map in which smooth functions of them are nearly linear.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fourier {
    /// Number of frequencies, each a sine and a cosine.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MOST_FREQUENCIES)))]
    pub count: u32,
    /// Distance at which rewards differ, where a range is 2 wide: small for functions that change quickly.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.001, max = 1000)))]
    pub scale: f64,
    /// Seed of the frequencies; public.
    #[cfg_attr(feature = "schema", schemars(range(max = LAST_SEED)))]
    pub seed: u64,
    /// A feature of the action that all of them are crossed with.
    #[serde(default)]
    pub with: Option<String>,
}

impl Fourier {
    pub(super) fn check(&self, numbers: usize) -> Result<()> {
        if !(1..=MOST_FREQUENCIES).contains(&self.count) {
            let remedy = format!(
                "expected a whole number from 1 to {MOST_FREQUENCIES}; give 16 to 64 to begin with"
            );
            return Err(Error::invalid("fourier.count", self.count, remedy));
        }
        if !(1e-3..=1e3).contains(&self.scale) {
            let remedy = "expected a number from 0.001 to 1000, where a range is 2 wide; give 0.5 to begin with";
            return Err(Error::invalid("fourier.scale", self.scale, remedy));
        }
        if self.seed > LAST_SEED {
            let remedy = format!("expected a whole number from 0 to {LAST_SEED}");
            return Err(Error::invalid("fourier.seed", self.seed, remedy));
        }
        if numbers == 0 {
            let remedy = "expected at least one feature that is a number; give one as a range or a cycle, or leave `fourier` out";
            return Err(Error::invalid("fourier", "no number among the features", remedy));
        }
        Ok(())
    }
}

/// Frequencies in turns, one row for each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Waves {
    frequencies: Vec<Vec<f64>>,
    root: f64,
}

impl Waves {
    pub(super) fn new(fourier: &Fourier, numbers: &Numbers) -> Self {
        let coordinates = numbers.coordinates() as u64;
        let turns = fourier.scale * TAU;
        let row = |i: u64| {
            let entry = |j| deviate(fourier.seed, i * coordinates + j) / turns;
            (0..coordinates).map(entry).collect()
        };
        let count = u64::from(fourier.count);
        Waves { frequencies: (0..count).map(row).collect(), root: (count as f64).sqrt() }
    }

    pub(super) fn len(&self) -> usize {
        2 * self.frequencies.len()
    }

    /// Writes the features of these coordinates.
    pub(super) fn write(&self, coordinates: &[f64], entries: &mut Vec<(usize, f64)>) {
        entries.clear();
        for (index, row) in self.frequencies.iter().enumerate() {
            let turns = row.iter().zip(coordinates).fold(0.0, |sum, (w, u)| sum + w * u);
            let (sine, cosine) = turn(turns);
            entries.push((2 * index, sine / self.root));
            entries.push((2 * index + 1, cosine / self.root));
        }
    }
}

/// Number `number` of a public sequence of mean 0 and variance 1, in units of 2^-32.
fn deviate(seed: u64, number: u64) -> f64 {
    let sum = (1..=6).fold(0_i64, |sum, step| {
        let output = number.wrapping_mul(6).wrapping_add(step);
        let word = hash::mixed(seed.wrapping_add(output.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        sum + (word & 0xffff_ffff) as i64 + (word >> 32) as i64
    });
    // Twelve halves of units bring the mean of 0, ..., 2^32 - 1 to zero.
    (sum - 6 * (1_i64 << 32) + 6) as f64 / 4_294_967_296.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Encoding;

    /// Mean and variance of 100,000 numbers, and a fourth moment of 2.9 as that of a sum of twelve: five standard errors each.
    #[test]
    fn deviates_have_the_moments_of_twelve_uniform_numbers() {
        let count = 100_000;
        let moment =
            |power| (0..count).map(|i| deviate(11, i).powi(power)).sum::<f64>() / count as f64;
        assert!(moment(1).abs() < 5.0 / 316.0);
        assert!((moment(2) - 1.0).abs() < 5.0 * f64::sqrt(1.9) / 316.0);
        assert!((moment(4) - 2.9).abs() < 5.0 * 9.0 / 316.0);
        assert_ne!(deviate(1, 0), deviate(2, 0));
    }

    /// Inner products estimate the Gaussian kernel with an error of one over the root of the number of frequencies.
    #[test]
    fn inner_products_are_the_kernel() {
        let fourier = Fourier { count: 4096, scale: 0.7, seed: 5, with: None };
        let range =
            |name: &str| (name.to_string(), Encoding::Range(-1.0, 1.0).check(name).unwrap());
        let waves = Waves::new(&fourier, &Numbers::new(&[range("x"), range("y")], &[]));
        let features = |u: [f64; 2]| {
            let mut entries = Vec::new();
            waves.write(&u, &mut entries);
            entries.into_iter().map(|(_, x)| x).collect::<Vec<f64>>()
        };
        for (u, v) in
            [([0.0, 0.0], [0.5, -0.2]), ([1.0, -1.0], [0.2, 0.1]), ([0.3, 0.3], [0.3, 0.3])]
        {
            let (x, y) = (features(u), features(v));
            let inner: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
            let square = (u[0] - v[0]).powi(2) + (u[1] - v[1]).powi(2);
            let kernel = (-square / (2.0 * 0.49)).exp();
            assert!((inner - kernel).abs() < 0.06, "{inner} {kernel}");
        }
    }
}
