//! The matrix of a release with its noise averaged over equal entries and shrunk towards what counts alone would say.
//!
//! **Averaging.** Entries (i, j) of G whose products are one monomial k are `w_i w_j` times the same sum n_k. With noise of the known deviation
//! sigma_ij on each, the estimate of n_k with the least variance has
//!
//! ```text
//! m_k = s_k^2 sum w_i w_j G_ij / sigma_ij^2,   1/s_k^2 = sum (w_i w_j / sigma_ij)^2
//! ```
//!
//! **Counts.** n = max(m, 1) for the constant squared, summed over the groups of people that have a constant of their own, t = n/cells if people
//! were spread evenly, `a = t^2/(t^2 + s^2)`:
//!
//! ```text
//! q_i = clip(t + a (m - t), .02 t, n)   of a coordinate squared, with the variance a s^2 left
//! ```
//!
//! **Other entries.** Given what both share, two features would be independent: `T = total_i total_j / total_common`. Dependence of a
//! relative size of [`DEPENDENCE`] is expected beside that:
//!
//! ```text
//! value = T + h (m - T),   h = (.3 q_i q_j / total_common)^2 / ((.3 q_i q_j / total_common)^2 + s^2),   variance left h s^2
//! ```
//!
//! A release with merged sums (`release/merged.rs`) has m_k itself, times a public number.
//!
//! The total of a coordinate is the sum of it: its count for indicators, which are their own square, and `m (t/2)^2 / ((t/2)^2 + s^2)` of its product with the
//! constant for numbers, whose sum may have either sign.

use super::{Coordinates, LEAST_DEVIATION};
use crate::{features::Monomials, linalg::triangle, release::Merging, special::square};

/// The least share of an even count that a count is believed to be.
const LEAST_SHARE: f64 = 0.02;
/// Relative size of the dependence that is expected between two coordinates, given what they share.
const DEPENDENCE: f64 = 0.3;
/// Size of a number's mean that is expected, of a largest one of 1.
const TILT: f64 = 0.5;

/// A sum of one monomial with its noise.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Mean {
    pub(super) value: f64,
    pub(super) variance: f64,
}

/// The mean of each monomial over its entries, by inverse variance.
pub(super) fn means(coordinates: &Coordinates<'_>, gram: &[f64], deviations: &[f64]) -> Vec<Mean> {
    let monomials = coordinates.levels.monomials();
    let weights = &coordinates.weights;
    // Sum of w_i w_j G_ij / sigma^2, then its variance as a precision.
    let mut means = vec![Mean::default(); monomials.count()];
    let pairs = (0..weights.len()).flat_map(|i| (i..weights.len()).map(move |j| (i, j)));
    let entries = monomials.entries().iter().zip(gram.iter().zip(deviations));
    for ((i, j), (monomial, (entry, deviation))) in pairs.zip(entries) {
        if *monomial != Monomials::ZERO {
            let signal = weights[i] * weights[j] / deviation;
            let mean = &mut means[*monomial as usize];
            mean.value += signal * (entry / deviation);
            mean.variance += square(signal);
        }
    }
    for mean in &mut means {
        *mean = Mean { value: mean.value / mean.variance, variance: 1.0 / mean.variance };
    }
    means
}

/// The same from merged sums, each of which is that mean already, times a public number.
pub(super) fn merged_means(
    pattern: &Merging,
    sums: &[f64],
    deviations: &[f64],
    feature_bound: f64,
) -> Vec<Mean> {
    // Deviations in contributions are at least that of a dense entry.
    let least = LEAST_DEVIATION * square(feature_bound);
    let ratios = pattern.noise_ratios().zip(pattern.totals());
    let numbers = sums.iter().zip(deviations).zip(ratios);
    let mean = |((sum, deviation), (ratio, total)): ((&f64, &f64), (f64, f64))| Mean {
        value: sum / total,
        variance: square(deviation.max(least * ratio) / total),
    };
    numbers.map(mean).collect()
}

/// G as it is believed to be, with the variance of the noise that is left, upper triangles by rows.
pub(super) struct Sums {
    gram: Vec<f64>,
    variances: Vec<f64>,
    dimension: usize,
}

impl Sums {
    /// Sums of a release by the mean of each monomial, for features of norm at most 1.
    pub(super) fn of(coordinates: &Coordinates<'_>, means: &[Mean]) -> Self {
        let monomials = coordinates.levels.monomials();
        let (weights, dimension) = (&coordinates.weights, coordinates.weights.len());
        let constants = dimension - coordinates.levels.groups()..dimension;
        let mean = |i: usize, j: usize| means[monomials.entry(i, j) as usize];
        let people = constants.clone().map(|i| mean(i, i).value).sum::<f64>().max(1.0);
        let present = |i: &usize| weights[*i] > 0.0;

        let (mut counts, mut totals) = (vec![Mean::default(); dimension], vec![0.0; dimension]);
        // Counts by monomial.
        let mut squares = vec![None; means.len()];
        for i in (0..dimension).filter(present) {
            let even = people / coordinates.cells[i];
            let Mean { value, variance } = mean(i, i);
            let share = square(even) / (square(even) + variance);
            let count = (even + share * (value - even)).clamp(LEAST_SHARE * even, people);
            counts[i] = match constants == (i..i + 1) {
                true => Mean { value: people, variance: 0.0 },
                false => Mean { value: count, variance: share * variance },
            };
            squares[monomials.entry(i, i) as usize] = Some(counts[i]);
            totals[i] = match monomials.is_indicator(i) {
                true => counts[i].value,
                false => {
                    let of_groups = || constants.clone().map(|constant| mean(i, constant));
                    let variance: f64 = of_groups().map(|mean| mean.variance).sum();
                    let value: f64 = of_groups().map(|mean| mean.value).sum();
                    value * square(TILT * even) / (square(TILT * even) + variance)
                }
            };
        }
        let expected = |i: usize, j: usize, Mean { value, variance }: Mean| {
            let common = monomials.common(i, j).map(|common| totals[common]);
            let common = common.filter(|total| *total > 0.0);
            let common = common.unwrap_or(people);
            let product = totals[i] * totals[j] / common;
            let spread = square(DEPENDENCE * counts[i].value * counts[j].value / common);
            let share = spread / (spread + variance);
            Mean { value: product + share * (value - product), variance: share * variance }
        };

        let entries = monomials.entries().len();
        let mut sums = Sums { gram: vec![0.0; entries], variances: vec![0.0; entries], dimension };
        let pairs = (0..dimension).flat_map(|i| (i..dimension).map(move |j| (i, j)));
        for (place, ((i, j), monomial)) in pairs.zip(monomials.entries()).enumerate() {
            if *monomial != Monomials::ZERO {
                let monomial = *monomial as usize;
                let sum = squares[monomial].unwrap_or_else(|| expected(i, j, means[monomial]));
                let weight = weights[i] * weights[j];
                sums.gram[place] = weight * sum.value;
                sums.variances[place] = square(weight) * sum.variance;
            }
        }
        sums
    }

    fn place(&self, i: usize, j: usize) -> usize {
        let (row, column) = (i.min(j), i.max(j));
        row * self.dimension - triangle(row) + column
    }

    /// G_ij.
    pub(super) fn gram(&self, i: usize, j: usize) -> f64 {
        self.gram[self.place(i, j)]
    }

    /// V_ij.
    pub(super) fn variance(&self, i: usize, j: usize) -> f64 {
        self.variances[self.place(i, j)]
    }

    /// `(G theta)_i`.
    pub(super) fn times(&self, i: usize, theta: &[f64]) -> f64 {
        theta.iter().enumerate().map(|(j, theta)| self.gram(i, j) * theta).sum()
    }
}
