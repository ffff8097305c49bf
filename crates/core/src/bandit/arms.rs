//! A decision set, stored by coordinate: a vector lane is an arm.

use crate::{Error, Result};

/// The arms one person can be offered: `count` vectors of `dimension` features.
///
/// Feature i of all arms lies together, so that scores of many arms are computed side by side and each arm's
/// sum is taken in the same order whatever the width of the machine's vectors.
///
/// ```
/// use reticent::bandit::Arms;
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])?;
/// assert_eq!(arms.arm(2), [0.6, 0.8]);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Arms {
    dimension: usize,
    count: usize,
    /// `features[i * stride + arm]`; the padding up to the stride is zero.
    features: Vec<f64>,
    stride: usize,
}

/// Coordinates are padded to a multiple of this, so that a whole vector can always be read.
pub(crate) const LANES: usize = 8;

impl Arms {
    /// All arms zero, to be filled with [`Arms::set`].
    pub fn zeros(dimension: usize, count: usize) -> Result<Self> {
        for (field, value) in [("dimension", dimension), ("count", count)] {
            if value == 0 {
                return Err(Error::invalid(field, value, "give a whole number above 0"));
            }
        }
        let stride = count.next_multiple_of(LANES);
        Ok(Arms { dimension, count, features: vec![0.0; dimension * stride], stride })
    }

    /// One arm per row.
    pub fn from_rows<R: AsRef<[f64]>>(dimension: usize, rows: &[R]) -> Result<Self> {
        let mut arms = Self::zeros(dimension, rows.len())?;
        for (index, row) in rows.iter().enumerate() {
            arms.set(index, row.as_ref())?;
        }
        Ok(arms)
    }

    /// Replaces one arm. An error changes nothing.
    pub fn set(&mut self, index: usize, features: &[f64]) -> Result<()> {
        crate::error::finite_vector("arm", features, self.dimension)?;
        if index >= self.count {
            let remedy = format!("there are {} arms", self.count);
            return Err(Error::invalid("arm", index, remedy));
        }
        for (i, value) in features.iter().enumerate() {
            self.features[i * self.stride + index] = *value;
        }
        Ok(())
    }

    /// How many features an arm has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// How many arms there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The features of one arm; `index` is below [`Arms::count`].
    pub fn arm(&self, index: usize) -> Vec<f64> {
        assert!(index < self.count, "there are {} arms", self.count);
        (0..self.dimension).map(|i| self.features[i * self.stride + index]).collect()
    }

    /// Feature `i` of every arm, padded with zeros to a multiple of eight.
    pub(crate) fn coordinate(&self, i: usize) -> &[f64] {
        &self.features[i * self.stride..(i + 1) * self.stride]
    }

    /// Length of a coordinate with its padding.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }
}
