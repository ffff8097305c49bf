//! A decision set, stored by coordinate: a vector lane is an arm.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    linalg::lanes::{Lanes, TILE},
    refuse_if,
    release::Structure,
    special::square,
    wire,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Rows", into = "Rows")]
pub struct Arms {
    dimension: usize,
    count: usize,
    /// Lane `arm % TILE` of entry `arm / TILE * dimension + i` is feature i of the arm; the last tile is filled up with
    /// zeros. One long row per feature would crowd a power of two of arms into a handful of cache sets.
    features: Vec<Lanes>,
    /// Squared norm of every arm; infinite where it overflows.
    squares: Vec<f64>,
    /// The block of parameters that each arm belongs to, where there are several.
    blocks: Option<Vec<u32>>,
}

/// Arms as they travel.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    dimension: usize,
    rows: Vec<Vec<f64>>,
    blocks: Option<Vec<u32>>,
}

impl From<Arms> for Rows {
    fn from(arms: Arms) -> Self {
        let rows = (0..arms.count).map(|index| arms.arm(index)).collect();
        Rows { dimension: arms.dimension, rows, blocks: arms.blocks }
    }
}

impl TryFrom<Rows> for Arms {
    type Error = Error;

    fn try_from(Rows { dimension, rows, blocks }: Rows) -> Result<Self> {
        // Before memory for all of them is taken.
        if let Some(row) = rows.iter().find(|row| row.len() != dimension) {
            let found = row.len();
            return Err(Error::Dimension { field: "arm", expected: dimension, found });
        }
        let mut arms = Arms::from_rows(dimension, &rows)?;
        if let Some(blocks) = blocks {
            arms.set_blocks(&blocks.iter().map(|block| *block as usize).collect::<Vec<_>>())?;
        }
        Ok(arms)
    }
}

impl wire::Checked for Arms {}
impl wire::Message for Arms {
    const KIND: wire::Kind = wire::kinds::ARMS;
}

/// Excess of a norm over its bound that is a matter of rounding, not of clipping.
pub(super) const ROUNDING: f64 = 1e-9;

/// Scales a vector of finite entries to norm `bound`, if it is longer; says whether it was.
///
/// This is the one way in which features that are too long are treated, in every learner: a refusal would depend on a
/// person's data, and so would everything that is counted from then on.
///
/// ```
/// use reticent::bandit::clip_to_ball;
/// let mut features = [3.0, 4.0];
/// assert!(clip_to_ball(&mut features, 1.0));
/// assert!((features[0] - 0.6).abs() < 1e-15 && (features[1] - 0.8).abs() < 1e-15);
/// assert!(!clip_to_ball(&mut features, 1.0));
/// ```
pub fn clip_to_ball(features: &mut [f64], bound: f64) -> bool {
    // Divided by the largest entry, squares neither overflow nor vanish.
    let peak = features.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
    let relative = features.iter().map(|x| square(x / peak)).sum::<f64>().sqrt();
    if peak / bound * relative <= 1.0 + ROUNDING {
        return false;
    }
    features.iter_mut().for_each(|x| *x = *x / peak * (bound / relative));
    true
}

/// Returns whether any number is above `most`: eight are compared side by side, without a branch for each.
fn any_above(numbers: &[f64], most: f64) -> bool {
    let (chunks, rest) = numbers.as_chunks::<8>();
    let largest = chunks.iter().fold([f64::NEG_INFINITY; 8], |largest, chunk| {
        std::array::from_fn(|i| if chunk[i] > largest[i] { chunk[i] } else { largest[i] })
    });
    largest.iter().chain(rest).any(|number| *number > most)
}

impl Arms {
    /// All arms zero, to be filled with [`Arms::set`].
    pub fn zeros(dimension: usize, count: usize) -> Result<Self> {
        for (field, value) in [("dimension", dimension), ("count", count)] {
            refuse_if(value == 0, field, value, "expected a whole number above 0")?;
        }
        const MOST: usize = 1 << 30;
        let refused = dimension.checked_mul(count).is_none_or(|entries| entries > MOST);
        let remedy = format_args!("{dimension} features each; expected at most {MOST} in all");
        refuse_if(refused, "count", count, remedy)?;
        let features = vec![Lanes([0.0; TILE]); count.div_ceil(TILE) * dimension];
        Ok(Arms { dimension, count, features, squares: vec![0.0; count], blocks: None })
    }

    /// One arm per row.
    pub fn from_rows<R: AsRef<[f64]>>(dimension: usize, rows: &[R]) -> Result<Self> {
        let mut arms = Self::zeros(dimension, rows.len())?;
        for (index, row) in rows.iter().enumerate() {
            arms.set(index, row.as_ref())?;
        }
        Ok(arms)
    }

    /// One arm per row, each of its own block of parameters: the features of the block first, then the shared ones.
    ///
    /// ```
    /// # use reticent::bandit::Arms;
    /// let arms = Arms::in_blocks(2, &[(0, [1.0, 0.0]), (25, [0.6, 0.8])])?;
    /// assert_eq!((arms.block(1), arms.arm(1)), (25, vec![0.6, 0.8]));
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn in_blocks<R: AsRef<[f64]>>(dimension: usize, rows: &[(usize, R)]) -> Result<Self> {
        let mut arms = Self::zeros(dimension, rows.len())?;
        for (index, (_, row)) in rows.iter().enumerate() {
            arms.set(index, row.as_ref())?;
        }
        let blocks: Vec<usize> = rows.iter().map(|(block, _)| *block).collect();
        arms.set_blocks(&blocks)?;
        Ok(arms)
    }

    /// Says which block of parameters each arm belongs to. An error changes nothing.
    pub fn set_blocks(&mut self, blocks: &[usize]) -> Result<()> {
        if blocks.len() != self.count {
            let (expected, found) = (self.count, blocks.len());
            return Err(Error::Dimension { field: "blocks", expected, found });
        }
        let narrow = |block: &usize| {
            u32::try_from(*block)
                .map_err(|_| Error::invalid("block", block, "there are fewer: count from 0"))
        };
        self.blocks = Some(blocks.iter().map(narrow).collect::<Result<_>>()?);
        Ok(())
    }

    /// Replaces one arm. An error changes nothing.
    pub fn set(&mut self, index: usize, features: &[f64]) -> Result<()> {
        crate::error::finite_vector("arm", features, self.dimension)?;
        let remedy = format_args!("there are {} arms", self.count);
        refuse_if(index >= self.count, "arm", index, remedy)?;
        let mut square = 0.0;
        for (i, value) in features.iter().enumerate() {
            self.features[index / TILE * self.dimension + i].0[index % TILE] = *value;
            square += value * value;
        }
        self.squares[index] = square;
        Ok(())
    }

    /// Replaces all arms, given one column a feature: data that come so need no turning. An error changes nothing.
    ///
    /// ```
    /// # use reticent::bandit::Arms;
    /// let mut arms = Arms::zeros(2, 3)?;
    /// arms.set_columns(&[[1.0, 0.5, 0.0], [0.1, 0.2, 0.3]])?;
    /// assert_eq!(arms.arm(1), [0.5, 0.2]);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn set_columns<C: AsRef<[f64]>>(&mut self, columns: &[C]) -> Result<()> {
        if columns.len() != self.dimension {
            let (expected, found) = (self.dimension, columns.len());
            return Err(Error::Dimension { field: "columns", expected, found });
        }
        for column in columns {
            crate::error::finite_vector("feature of every arm", column.as_ref(), self.count)?;
        }
        self.squares.fill(0.0);
        for (feature, column) in columns.iter().enumerate() {
            for (tile, values) in column.as_ref().chunks(TILE).enumerate() {
                let lanes = &mut self.features[tile * self.dimension + feature].0;
                lanes[..values.len()].copy_from_slice(values);
            }
            // In the order of `set`, for the same bits.
            for (square, value) in self.squares.iter_mut().zip(column.as_ref()) {
                *square += value * value;
            }
        }
        Ok(())
    }

    /// The same arms with those above `bound` scaled to it by [`clip_to_ball`], and how many those are; `None` if there are none.
    ///
    /// ```
    /// # use reticent::bandit::Arms;
    /// let arms = Arms::from_rows(2, &[[0.6, 0.8], [3.0, 4.0]])?;
    /// let (clipped, count) = arms.clipped_to(1.0).expect("one arm is too long");
    /// assert_eq!((clipped.arm(0), count), (arms.arm(0), 1));
    /// assert!(clipped.clipped_to(1.0).is_none());
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn clipped_to(&self, bound: f64) -> Option<(Arms, usize)> {
        let most = bound * bound * (1.0 + ROUNDING);
        // Where the bound's square overflows or vanishes, squares tell nothing.
        if most.is_normal() && !any_above(&self.squares, most) {
            return None;
        }
        let (mut clipped, mut count) = (self.clone(), 0);
        for index in 0..self.count {
            let mut features = self.arm(index);
            if clip_to_ball(&mut features, bound) {
                clipped.set(index, &features).expect("finite, and as long as the others");
                count += 1;
            }
        }
        (count > 0).then_some((clipped, count))
    }

    /// Subset of the arms, each with its features and its block; `indices` are below [`Arms::count`], and there is at least one.
    pub fn subset(&self, indices: &[usize]) -> Arms {
        let mut arms = Arms::zeros(self.dimension, indices.len()).expect("fewer than there are");
        for (index, from) in indices.iter().enumerate() {
            arms.set(index, &self.arm(*from)).expect("finite");
        }
        let block = |blocks: &Vec<u32>| indices.iter().map(|index| blocks[*index]).collect();
        arms.blocks = self.blocks.as_ref().map(block);
        arms
    }

    /// Number of features an arm has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of arms.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The features of one arm; `index` is below [`Arms::count`].
    pub fn arm(&self, index: usize) -> Vec<f64> {
        assert!(index < self.count, "there are {} arms", self.count);
        let tile = &self.features[index / TILE * self.dimension..][..self.dimension];
        tile.iter().map(|lanes| lanes.0[index % TILE]).collect()
    }

    /// The block of parameters that an arm belongs to; 0 where there is one. `index` is below [`Arms::count`].
    pub fn block(&self, index: usize) -> usize {
        self.blocks.as_ref().map_or(0, |blocks| blocks[index] as usize)
    }

    /// The same arms for learners that know of no blocks: each with zeros for the blocks of others ([`Structure::embed`]).
    pub fn embedded(&self, structure: Structure) -> Result<Arms> {
        let mut arms = Arms::zeros(structure.parameters(self.dimension), self.count)?;
        for index in 0..self.count {
            arms.set(index, &structure.embed(self.block(index), &self.arm(index))?)?;
        }
        Ok(arms)
    }

    /// Returns whether it has been said which block each arm belongs to.
    pub fn names_blocks(&self) -> bool {
        self.blocks.is_some()
    }

    /// From here on no arm is said to belong to a block.
    pub fn forget_blocks(&mut self) {
        self.blocks = None;
    }

    /// The block of every arm, where they have been named.
    pub(crate) fn blocks(&self) -> Option<&[u32]> {
        self.blocks.as_deref()
    }

    /// Refuses arms of another dimension, or of other blocks.
    pub(in crate::bandit) fn expect(&self, dimension: usize, structure: Structure) -> Result<()> {
        if self.dimension != dimension {
            let (expected, found) = (dimension, self.dimension);
            return Err(Error::Dimension { field: "every arm", expected, found });
        }
        match &self.blocks {
            None if structure.is_dense() => Ok(()),
            None => {
                let remedy = format!(
                    "there are {} blocks of parameters: say which each arm belongs to",
                    structure.blocks
                );
                Err(Error::invalid("blocks of the arms", "missing", remedy))
            }
            Some(blocks) => {
                let last = blocks.iter().max().copied().unwrap_or(0);
                structure.expect(last as usize).map(drop)
            }
        }
    }

    /// Tile after tile of sixteen arms, each coordinate by coordinate; the last is filled up with zeros.
    pub(crate) fn tiles(&self) -> &[Lanes] {
        &self.features
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_rows_turned_to_the_last_bit_and_an_error_changes_nothing() {
        let entry = |i: usize, j: usize| (1.0 + i as f64).sqrt() / (3.0 + j as f64);
        let (dimension, count) = (5, TILE + 3);
        let rows: Vec<Vec<f64>> =
            (0..count).map(|j| (0..dimension).map(|i| entry(i, j)).collect()).collect();
        let mut columns: Vec<Vec<f64>> =
            (0..dimension).map(|i| (0..count).map(|j| entry(i, j)).collect()).collect();
        let by_row = Arms::from_rows(dimension, &rows).unwrap();
        let mut by_column = Arms::zeros(dimension, count).unwrap();
        // Set twice: what was there before is replaced.
        for _ in 0..2 {
            by_column.set_columns(&columns).unwrap();
            assert_eq!(by_column, by_row);
        }
        assert!(by_column.set_columns(&columns[1..]).is_err());
        columns[dimension - 1][count - 1] = f64::NAN;
        assert!(by_column.set_columns(&columns).is_err());
        columns[dimension - 1].pop();
        assert!(by_column.set_columns(&columns).is_err());
        assert_eq!(by_column, by_row);
    }
}
