//! The noisy state that a BLT leaves after many steps without data, drawn at once.
//!
//! Without data `y_t = z_t`, and the state `s = (h_1 .. h_m, prefix)` of `blt` obeys
//!
//! ```text
//! s(t) = M s(t-1) + (1, .., 1) z_t,   M = diag(theta_1 .. theta_m, g) - (1, .., 1) (omega_1 .. omega_m, 0)^T
//! Cov s(a + b) = M^b Cov s(a) (M^b)^T + Cov s(b),   Cov s(1) = (1, .., 1) (1, .., 1)^T            (in units of one draw's variance)
//! ```
//!
//! so that doubling gives the covariance after any number of steps in logarithmic time. With `S = diag(sqrt omega)` the part of the buffers, `S M S^-1`, is
//! symmetric with eigenvalues in (0, 1): its powers lose no digits. The state is drawn as `D V Lambda^(1/2) e`, where D holds the deviations, `V Lambda V^T`
//! is the correlation matrix, and e are draws of the coordinate's noise: integers of about 2^44, whose law is normal to 13 digits. No data are in it, so
//! that the digits concern accuracy alone.

use crate::linalg::SymmetricEigen;

/// Root of the covariance of the state after a number of steps.
pub(super) struct History {
    size: usize,
    /// `D V Lambda^(1/2)`, by rows.
    root: Vec<f64>,
}

impl History {
    /// The state of these rates `1 - theta` and weights of C after `steps` steps.
    pub(super) fn of(rates: &[f64], weights: &[f64], forgotten: f64, steps: u64) -> Self {
        let size = rates.len() + 1;
        let covariance = covariance(rates, weights, forgotten, steps);
        let deviations: Vec<f64> =
            (0..size).map(|i| covariance[i * size + i].max(0.0).sqrt()).collect();
        let correlation = |i: usize, j: usize| match deviations[i] * deviations[j] {
            0.0 => 0.0,
            product => covariance[i * size + j] / product,
        };
        let triangle: Vec<f64> = (0..size)
            .flat_map(|i| (i..size).map(move |j| (i, j)))
            .map(|(i, j)| correlation(i, j))
            .collect();
        // Correlations are finite, and a state has at least one entry.
        let Ok(eigen) = SymmetricEigen::of(size, &triangle) else {
            return History { size, root: vec![0.0; size * size] };
        };
        let mut root = vec![0.0; size * size];
        for (place, (value, vector)) in eigen.values().iter().zip(eigen.vectors()).enumerate() {
            for (row, entry) in vector.iter().enumerate() {
                root[row * size + place] = deviations[row] * entry * value.max(0.0).sqrt();
            }
        }
        History { size, root }
    }

    /// A state: the buffers, then the prefix sum.
    pub(super) fn draw(&self, draw: &mut dyn FnMut() -> f64) -> Vec<f64> {
        let normals: Vec<f64> = (0..self.size).map(|_| draw()).collect();
        let rows = self.root.chunks(self.size);
        rows.map(|row| row.iter().zip(&normals).map(|(entry, normal)| entry * normal).sum())
            .collect()
    }
}

/// Covariance of the state after `steps` steps, by rows.
fn covariance(rates: &[f64], weights: &[f64], forgotten: f64, steps: u64) -> Vec<f64> {
    let size = rates.len() + 1;
    let mut power = vec![0.0; size * size];
    for (row, rate) in rates.iter().chain([&forgotten]).enumerate() {
        for (column, weight) in weights.iter().chain([&0.0]).enumerate() {
            power[row * size + column] = if row == column { 1.0 - rate } else { 0.0 } - weight;
        }
    }
    let (mut part, mut sum) = (vec![1.0; size * size], vec![0.0; size * size]);
    let mut left = steps;
    while left > 0 {
        if left & 1 == 1 {
            sum = added(&moved(&power, &sum, size), &part);
        }
        left >>= 1;
        part = added(&moved(&power, &part, size), &part);
        power = product(&power, &power, size);
    }
    sum
}

/// `M P M^T`.
fn moved(m: &[f64], p: &[f64], size: usize) -> Vec<f64> {
    let left = product(m, p, size);
    let transposed: Vec<f64> = (0..size * size).map(|at| m[at % size * size + at / size]).collect();
    product(&left, &transposed, size)
}

fn product(left: &[f64], right: &[f64], size: usize) -> Vec<f64> {
    let entry = |at: usize| {
        let (row, column) = (at / size, at % size);
        (0..size).map(|k| left[row * size + k] * right[k * size + column]).sum()
    };
    (0..size * size).map(entry).collect()
}

fn added(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(a, b)| a + b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        release::{Factor, HalfLife, Mechanism, Schedule, blt::Blt},
        special::square,
    };

    fn blts(steps: u64) -> Vec<Blt> {
        let half_life = HalfLife::new(4096.0, &Schedule::Clock).unwrap();
        let Factor::Blt(known) = Mechanism::default().build(steps).unwrap() else { panic!() };
        vec![known, Blt::forgetting(1 << 32, 8, half_life).unwrap()]
    }

    /// The prefix has the deviation that the closed form of `blt` states, which comes from the zeros of C and not from this recursion.
    #[test]
    fn the_prefix_has_the_stated_deviation_after_any_number_of_steps() {
        use crate::release::Factorization;
        for steps in [1_u64, 2, 7, 1000, 123_457, 1 << 24, 1 << 32] {
            for blt in blts(steps) {
                let (rates, weights, forgotten) = blt.parts();
                let size = rates.len() + 1;
                let found = covariance(&rates, &weights, forgotten, steps)[size * size - 1];
                let wanted = square(blt.prefix_deviation(steps));
                assert!((found / wanted - 1.0).abs() < 1e-6, "{steps}: {found}, not {wanted}");
            }
        }
    }

    /// Doubling against one step after the other, and the root against the covariance.
    #[test]
    fn it_is_the_covariance_of_the_recursion() {
        for blt in blts(300) {
            let (rates, weights, forgotten) = blt.parts();
            let size = rates.len() + 1;
            // Coefficients of each draw in the state: the newest first.
            let mut sum = vec![0.0; size * size];
            let mut state = vec![1.0; size];
            for _ in 0..300 {
                for (at, entry) in sum.iter_mut().enumerate() {
                    *entry += state[at / size] * state[at % size];
                }
                let known: f64 = state.iter().zip(&weights).map(|(h, omega)| h * omega).sum();
                let decays = rates.iter().chain([&forgotten]);
                state.iter_mut().zip(decays).for_each(|(h, rate)| *h += -known - rate * *h);
            }
            let found = covariance(&rates, &weights, forgotten, 300);
            let history = History::of(&rates, &weights, forgotten, 300);
            for (at, wanted) in sum.iter().enumerate() {
                let (row, column) = (at / size, at % size);
                let scale = (sum[row * size + row] * sum[column * size + column]).sqrt();
                assert!((found[at] - wanted).abs() < 1e-12 * scale);
                let rows = [row, column].map(|row| &history.root[row * size..(row + 1) * size]);
                let of_root: f64 = rows[0].iter().zip(rows[1]).map(|(a, b)| a * b).sum();
                assert!((of_root - wanted).abs() < 1e-12 * scale);
            }
        }
    }
}
