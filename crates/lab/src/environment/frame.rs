//! Coordinates in which theta* is the first axis.
//!
//! ```text
//! Q = s (I - 2 v v^T / v^T v),   v = theta* - s e_1,   s = -sign(theta*_1)
//! ```
//!
//! `Q e_1 = theta*`, and Q is symmetric and its own inverse, so one routine converts in both directions. The sign makes `v` the longer of
//! the two candidates, so that nothing cancels however close theta* is to the first axis.

/// The reflection `Q`.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// `v`, scaled so that `Q = s (I - v v^T)`.
    normal: Vec<f64>,
    sign: f64,
}

impl Frame {
    /// The frame of a unit vector.
    pub(crate) fn new(theta: &[f64]) -> Self {
        let sign = if theta[0] > 0.0 { -1.0 } else { 1.0 };
        let mut normal = theta.to_vec();
        normal[0] -= sign;
        let scale = (2.0 / normal.iter().map(|v| v * v).sum::<f64>()).sqrt();
        normal.iter_mut().for_each(|v| *v *= scale);
        Frame { normal, sign }
    }

    /// `Q x`, in place.
    pub(crate) fn turn(&self, x: &mut [f64]) {
        let along: f64 = self.normal.iter().zip(&*x).map(|(v, x)| v * x).sum();
        for (x, v) in x.iter_mut().zip(&self.normal) {
            *x = self.sign * (*x - along * v);
        }
    }

    /// `Q M Q` of a square matrix by rows, in place.
    pub(crate) fn turn_matrix(&self, matrix: &mut [f64]) {
        let dimension = self.normal.len();
        matrix.chunks_exact_mut(dimension).for_each(|row| self.turn(row));
        let mut column = vec![0.0; dimension];
        for j in 0..dimension {
            for (entry, row) in column.iter_mut().zip(matrix.chunks_exact(dimension)) {
                *entry = row[j];
            }
            self.turn(&mut column);
            for (entry, row) in column.iter().zip(matrix.chunks_exact_mut(dimension)) {
                row[j] = *entry;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_axis_becomes_theta_and_back() {
        let almost = (1.0 - 1e-20_f64).sqrt();
        for theta in [[0.6, 0.0, -0.8], [-0.6, 0.8, 0.0], [1.0, 0.0, 0.0], [-almost, 1e-10, 0.0]] {
            let frame = Frame::new(&theta);
            let mut axis = [1.0, 0.0, 0.0];
            frame.turn(&mut axis);
            let distance = |x: &[f64], y: &[f64]| {
                x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
            };
            assert!(distance(&axis, &theta) < 1e-15, "{axis:?}");
            // Q diag(1, 2, 3) Q, applied to theta = Q e_1, gives Q e_1.
            let mut matrix = [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0];
            frame.turn_matrix(&mut matrix);
            let image: Vec<f64> = matrix
                .chunks(3)
                .map(|row| row.iter().zip(&theta).map(|(m, t)| m * t).sum())
                .collect();
            assert!(distance(&image, &theta) < 1e-15, "{image:?}");
        }
    }
}
