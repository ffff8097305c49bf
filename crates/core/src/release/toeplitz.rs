//! The square-root Toeplitz factorisation: `A = C C` with C the Toeplitz matrix of `(1 - z)^(-1/2)`.
//!
//! ```text
//! c_0 = 1,  c_j = c_{j-1} (2j - 1) / (2j),   ||C e_1||^2 = sum_{j<n} c_j^2 = (ln n + gamma + 4 ln 2)/pi + O(1/n)
//! ```
//!
//! Column norm times last row norm is that sum itself, within an additive constant of the best
//! factorisation. Its disadvantage is memory and time: the whole stream is kept, and step t takes time proportional to t.
//!
//! **Several contributions.** The coefficients are nonnegative and nonincreasing, so the inner product of
//! columns s < t, `sum_{j < n-t} c_j c_{j+t-s}`, grows when t falls and when t - s falls. The first k
//! consecutive columns make all pairwise products as large as they can be at once.
//!
//! **Rounding.** Each of at most 2^17 products is floored by less than one unit of 2^-40: see `fixed`.
//!
//! Reference: Fichtenberger, Henzinger, Upadhyay, "Constant matters" (ICML 2023).

use std::f64::consts::{LN_2, PI};

use serde::{Deserialize, Serialize};

use super::{
    append::{Places, appended, new_coordinates},
    factorization::{Draw, Factorization},
    fixed,
};

/// The square-root Toeplitz factorisation over a number of steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Toeplitz {
    steps: u64,
    /// `c_0, ..., c_{n-1}`, which define C; from c_1 on they are multiples of 2^-64.
    coefficients: Vec<f64>,
}

impl From<u64> for Toeplitz {
    fn from(steps: u64) -> Self {
        Toeplitz::new(steps)
    }
}

impl From<Toeplitz> for u64 {
    fn from(toeplitz: Toeplitz) -> Self {
        toeplitz.steps
    }
}

impl Toeplitz {
    pub(super) fn new(steps: u64) -> Self {
        Toeplitz { steps, coefficients: coefficients().take(steps as usize).collect() }
    }
}

/// `c_0, c_1, ...`
fn coefficients() -> impl Iterator<Item = f64> {
    let mut last = 1.0;
    std::iter::once(1.0).chain((1_u64..).map(move |j| {
        last *= (2 * j - 1) as f64 / (2 * j) as f64;
        last
    }))
}

/// `sum_{j<n} c_j^2`: column norm times last row norm, by summation or by Landau's expansion.
pub fn square_root_product(steps: u64) -> f64 {
    const EULER: f64 = 0.577_215_664_901_532_9;
    if steps < 10_000 {
        return coefficients().take(steps as usize).map(|c| c * c).sum();
    }
    let n = steps as f64;
    // The first omitted term is of order n^-3.
    (libm::log(n) + EULER + 4.0 * LN_2 - 1.0 / (4.0 * n) + 5.0 / (192.0 * n * n)) / PI
}

impl Factorization for Toeplitz {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn person_norm(&self, contributions: u64) -> f64 {
        let width = contributions.min(self.steps) as usize;
        let (mut window, mut squares) = (0.0, 0.0);
        for (j, entering) in self.coefficients.iter().enumerate() {
            window += entering;
            if j >= width {
                window -= self.coefficients[j - width];
            }
            squares += window * window;
        }
        squares.sqrt()
    }

    fn prefix_deviation(&self, step: u64) -> f64 {
        let row = self.coefficients.iter().take(step.min(self.steps) as usize);
        row.map(|b| b * b).sum::<f64>().sqrt()
    }

    fn draws(&self) -> f64 {
        self.steps as f64
    }

    fn rounding(&self) -> f64 {
        1.0 + self.steps as f64 * fixed::UNIT
    }
}

/// The running state of the factorisation: the stream so far, exact and noisy, per coordinate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ToeplitzSums {
    toeplitz: Toeplitz,
    exact: Vec<Vec<i128>>,
    noisy: Vec<Vec<f64>>,
}

impl ToeplitzSums {
    pub(super) fn new(toeplitz: Toeplitz, coordinates: usize) -> Self {
        ToeplitzSums {
            toeplitz,
            exact: vec![Vec::new(); coordinates],
            noisy: vec![Vec::new(); coordinates],
        }
    }

    /// Returns whether a deserialised state has the right shape and stands at `step`.
    pub(super) fn fits(&self, coordinates: usize, step: u64) -> bool {
        let length = usize::try_from(step).unwrap_or(usize::MAX);
        step <= self.toeplitz.steps()
            && (self.exact.len(), self.noisy.len()) == (coordinates, coordinates)
            && self.exact.iter().all(|entries| entries.len() == length)
            && self.noisy.iter().all(|entries| entries.len() == length)
    }

    pub(super) fn factor(&self) -> &Toeplitz {
        &self.toeplitz
    }

    /// Appends coordinates that were zero until now, with the noise of every step.
    pub(super) fn append(&mut self, places: &Places, draw: Draw) {
        let length = self.exact.first().map_or(0, Vec::len);
        self.exact = appended(&self.exact, places, vec![0; length]);
        self.noisy = appended(&self.noisy, places, Vec::new());
        for coordinate in new_coordinates(places) {
            self.noisy[coordinate] = (0..length).map(|_| draw(coordinate) as f64).collect();
        }
    }

    pub(super) fn step(&mut self, entries: &[i128], draw: Draw) -> Vec<f64> {
        let coefficients = &self.toeplitz.coefficients;
        let mut prefix = |coordinate: usize| {
            let (past, noisy) = (&mut self.exact[coordinate], &mut self.noisy[coordinate]);
            let earlier: i128 = past
                .iter()
                .rev()
                .zip(&coefficients[1..])
                .map(|(entry, c)| fixed::scale(*entry, fixed::coefficient(*c)))
                .sum();
            let entry = fixed::from_integer(entries[coordinate]);
            past.push(entry);
            noisy.push((fixed::round(entry + earlier) + i128::from(draw(coordinate))) as f64);
            noisy.iter().rev().zip(coefficients).map(|(y, b)| y * b).sum()
        };
        (0..entries.len()).map(&mut prefix).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{
        Mechanism,
        testing::{check_deviation, check_exactness, check_privacy},
    };

    #[test]
    fn releases_are_exact_without_noise() {
        check_exactness(Mechanism::Toeplitz, 1e-12);
    }

    #[test]
    fn person_norms_are_those_of_the_running_code() {
        check_privacy(Mechanism::Toeplitz);
    }

    #[test]
    fn prefix_deviation_agrees_with_simulated_noise() {
        check_deviation(Mechanism::Toeplitz, Mechanism::Blt { buffers: 1 });
    }

    #[test]
    fn landaus_expansion_meets_the_sum() {
        let direct: f64 = coefficients().take(10_000).map(|c| c * c).sum();
        assert!((square_root_product(10_000) / direct - 1.0).abs() < 1e-13);
        let toeplitz = Toeplitz::new(10_000);
        assert!((toeplitz.column_norm().powi(2) / direct - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_error_for_too_long_a_horizon_recommends_blt() {
        let error = Mechanism::Toeplitz.build((1 << 17) + 1).unwrap_err();
        assert!(error.to_string().contains("use BLT"), "{error}");
    }

    #[test]
    fn person_norm_is_the_worst_pattern_of_a_small_matrix() {
        const STEPS: usize = 9;
        let toeplitz = Toeplitz::new(STEPS as u64);
        let mut worst = [0.0_f64; STEPS + 1];
        for pattern in 0_u32..1 << STEPS {
            let entry = |row: usize| -> f64 {
                (0..=row)
                    .filter(|column| pattern >> column & 1 == 1)
                    .map(|column| toeplitz.coefficients[row - column])
                    .sum()
            };
            let k = pattern.count_ones() as usize;
            worst[k] = worst[k].max((0..STEPS).map(|row| entry(row).powi(2)).sum::<f64>().sqrt());
        }
        for (k, norm) in worst.iter().enumerate().skip(1) {
            assert!((toeplitz.person_norm(k as u64) / norm - 1.0).abs() < 1e-14);
        }
    }
}
