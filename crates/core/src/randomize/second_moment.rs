//! Value of reports to least squares: their shrinkage of the truth, and the noise they leave.
//!
//! A report V of a unit vector u has `E V = first u` and `E V V^T = second u u^T + c (I - u u^T)` with
//! `c = (1 - second)/(D - 1)`: PrivUnit treats all directions orthogonal to u alike, and the trace is 1. Both are linear in
//! the law of the report, so for people of different epsilon, whose own level stays hidden, the server divides by the means of
//! `first` and `second` over the levels and is still without bias, as long as levels do not depend on the data.

use crate::linalg::triangle;

/// Share of the truth that is left in a report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlation {
    /// `E V = first u`; 1 for additive noise.
    pub first: f64,
    /// `E <V, u>^2`; 1 for additive noise.
    pub second: f64,
}

impl Correlation {
    /// Additive noise leaves the truth whole.
    pub const WHOLE: Correlation = Correlation { first: 1.0, second: 1.0 };
}

/// Deviation of what one report says of `x x^T` off the diagonal, and of each entry of `x z`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// Of an entry of `x x^T` off the diagonal; 0 where the matrix is known.
    pub matrix: f64,
    /// Of an entry of `x z`.
    pub vector: f64,
}

/// Upper triangle by rows of `x x^T`, then `x z`.
pub(crate) fn exact(features: &[f64], reward: f64) -> Vec<f64> {
    let d = features.len();
    let mut sums = Vec::with_capacity(triangle(d) + d);
    for (row, x) in features.iter().enumerate() {
        sums.extend(features[row..].iter().map(|column| x * column));
    }
    sums.extend(features.iter().map(|x| x * reward));
    sums
}

/// A vector of the ball as a random unit vector with that mean: itself made longer, or its opposite.
///
/// With `s = |u|` the chances `(1 + s)/2` and `(1 - s)/2` do it. The zero vector becomes either pole.
pub(crate) fn on_the_sphere<N: crate::noise::Noise + ?Sized>(
    mut vector: Vec<f64>,
    noise: &mut N,
) -> crate::Result<Vec<f64>> {
    let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    if norm < 1e-100 {
        vector.iter_mut().for_each(|x| *x = 0.0);
        vector[0] = 1.0;
    } else {
        vector.iter_mut().for_each(|x| *x /= norm);
    }
    let keep = crate::noise::Bernoulli::new((0.5 + 0.5 * norm).min(1.0))?;
    if !keep.sample(noise) {
        vector.iter_mut().for_each(|x| *x = -*x);
    }
    Ok(vector)
}

/// A number in [-1, 1] as a random sign with that mean.
pub(crate) fn sign<N: crate::noise::Noise + ?Sized>(
    reward: f64,
    noise: &mut N,
) -> crate::Result<f64> {
    let coin = crate::noise::Bernoulli::new((0.5 + 0.5 * reward).clamp(0.0, 1.0))?;
    Ok(if coin.sample(noise) { 1.0 } else { -1.0 })
}
