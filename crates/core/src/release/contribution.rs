//! One person's contribution, in integers, and what it adds to sums.

use super::Clipper;

/// One person's contribution, clipped and on the grid of the stream that made it.
///
/// Only a stream's `clip` or its [`Clipper`] makes one.
#[derive(Clone, PartialEq)]
pub struct Contribution {
    pub(super) clipper: Clipper,
    pub(super) features: Vec<i64>,
    /// 0 where the domain has no reward.
    pub(super) reward: i64,
    /// Block of parameters that the features belong to.
    pub(super) block: usize,
    pub(super) clipped: bool,
}

impl Contribution {
    /// Returns whether the numbers given exceeded a bound and were shortened.
    pub fn clipped(&self) -> bool {
        self.clipped
    }

    pub(crate) fn clipper(&self) -> &Clipper {
        &self.clipper
    }

    /// The block, the features and the reward as they were clipped to the grid: for a randomiser.
    pub(crate) fn clipped_data(&self) -> (usize, Vec<f64>, f64) {
        let (features, reward) = self.clipper.units();
        let data = self.features.iter().map(|x| *x as f64 * features).collect();
        (self.block, data, self.reward as f64 * reward)
    }

    /// Step 4: adds the entries to a sum, the upper triangle by rows and then the vector part, to the numbers of its block and the
    /// shared ones (`structure`).
    pub(super) fn add_to(&self, sums: &mut [i128]) {
        let domain = self.clipper.domain();
        let (matrix, vector) = sums.split_at_mut(domain.matrix_coordinates());
        if let Some(pattern) = domain.pattern() {
            pattern.add(&self.features, matrix);
            let entries = vector.iter_mut().zip(&self.features);
            return entries.for_each(|(sum, x)| *sum += i128::from(x * self.reward));
        }
        let factor = if matrix.is_empty() { 1 } else { self.reward };
        let layout = domain.layout();
        let (own, shared) = self.features.split_at(layout.size());
        if !matrix.is_empty() {
            let (matrix, corner) = matrix.split_at_mut(layout.matrix_starts(0)[1]);
            let matrix = &mut matrix[layout.matrix_starts(self.block)[0]..];
            let below = add_rows(matrix, &self.features, own.len());
            debug_assert_eq!(below, layout.block_entries());
            add_rows(corner, shared, shared.len());
        }
        let middle = layout.vector_starts(0)[1].min(vector.len());
        let (vector, corner) = vector.split_at_mut(middle);
        let vector = &mut vector[layout.vector_starts(self.block)[0]..];
        for (sums, features) in [(vector, own), (corner, shared)] {
            sums.iter_mut().zip(features).for_each(|(sum, x)| *sum += i128::from(x * factor));
        }
    }
}

/// Adds the first `rows` rows of the upper triangle of `x x^T`; returns how many entries those are.
fn add_rows(sums: &mut [i128], features: &[i64], rows: usize) -> usize {
    let mut start = 0;
    for (row, x) in features[..rows].iter().enumerate() {
        let columns = &features[row..];
        let entries = &mut sums[start..start + columns.len()];
        // Fewer than 62 bits, which the clipper checked.
        let entries = entries.iter_mut().zip(columns);
        entries.for_each(|(sum, column)| *sum += i128::from(x * column));
        start += columns.len();
    }
    start
}

/// Prints no entries, so that a person's data do not reach a log.
impl std::fmt::Debug for Contribution {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Contribution")
            .field("clipped", &self.clipped)
            .finish_non_exhaustive()
    }
}
