//! A decision set, stored by coordinate: a vector lane is an arm.

use crate::{
    Error, Result,
    linalg::lanes::{Lanes, TILE},
};

/// The arms one person can be offered: `count` vectors of `dimension` features.
///
/// Sixteen arms lie together, coordinate by coordinate, so that their scores are computed side by side and each arm's
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
    /// Lane `arm % TILE` of entry `arm / TILE * dimension + i` is feature i of the arm; the last tile is filled up with
    /// zeros. One long row per feature would crowd a power of two of arms into a handful of cache sets.
    features: Vec<Lanes>,
}

impl Arms {
    /// All arms zero, to be filled with [`Arms::set`].
    pub fn zeros(dimension: usize, count: usize) -> Result<Self> {
        for (field, value) in [("dimension", dimension), ("count", count)] {
            if value == 0 {
                return Err(Error::invalid(field, value, "give a whole number above 0"));
            }
        }
        const MOST: usize = 1 << 30;
        if dimension.checked_mul(count).is_none_or(|entries| entries > MOST) {
            let remedy = format!("{dimension} features each: give at most {MOST} in all");
            return Err(Error::invalid("count", count, remedy));
        }
        let features = vec![Lanes([0.0; TILE]); count.div_ceil(TILE) * dimension];
        Ok(Arms { dimension, count, features })
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
            self.features[index / TILE * self.dimension + i].0[index % TILE] = *value;
        }
        Ok(())
    }

    /// Replaces one feature of all arms: data that come by column need no turning. An error changes nothing.
    ///
    /// ```
    /// # use reticent::bandit::Arms;
    /// let mut arms = Arms::zeros(2, 3)?;
    /// arms.set_feature(1, &[0.1, 0.2, 0.3])?;
    /// assert_eq!(arms.arm(2), [0.0, 0.3]);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn set_feature(&mut self, feature: usize, values: &[f64]) -> Result<()> {
        crate::error::finite_vector("feature of every arm", values, self.count)?;
        if feature >= self.dimension {
            let remedy = format!("there are {} features", self.dimension);
            return Err(Error::invalid("feature", feature, remedy));
        }
        for (tile, values) in values.chunks(TILE).enumerate() {
            let lanes = &mut self.features[tile * self.dimension + feature].0;
            lanes[..values.len()].copy_from_slice(values);
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
        let tile = &self.features[index / TILE * self.dimension..][..self.dimension];
        tile.iter().map(|lanes| lanes.0[index % TILE]).collect()
    }

    /// Tile after tile of sixteen arms, each coordinate by coordinate; the last is filled up with zeros.
    pub(crate) fn tiles(&self) -> &[Lanes] {
        &self.features
    }
}
