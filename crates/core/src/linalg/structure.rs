//! Structure of parameters: an arm touches one block of several, and a part that all arms share.
//!
//! ```text
//! parameters   (theta_1, ..., theta_K, beta),  theta_k of length p,  beta of length s
//! an arm       (k, (z, u)):  <theta_k, z> + <beta, u>,  n = p + s features, the block's first
//! ```
//!
//! An arm is the vector x of length `K p + s` with z in block k, u at the end and zeros elsewhere. Two blocks never meet in `x x^T`, so the
//! entries of `sum x x^T` between them are zero for all people, publicly: they are neither kept nor released, and cost no noise and no work.
//!
//! Kept are, in this order,
//!
//! ```text
//! for each block k   the first p rows of the upper triangle of (z, u) (z, u)^T     triangle(n) - triangle(s) numbers
//! shared             the upper triangle of u u^T                                   triangle(s) numbers
//! for each block k   z y                                                           p numbers
//! shared             u y                                                           s numbers
//! ```
//!
//! With one block and nothing shared this is the upper triangle by rows and then the vector.

use serde::{Deserialize, Serialize};

use super::triangle;
use crate::{Error, Result, error::finite_vector, refuse_if};

/// Division of the parameters of a linear model into blocks. The default is one block: every arm touches all parameters.
///
/// ```
/// use reticent::release::Structure;
/// let classes = Structure::blocks(26);
/// assert_eq!(classes.parameters(17), 26 * 17);
/// let hybrid = Structure { blocks: 26, shared: 3 };
/// assert_eq!(hybrid.parameters(17), 26 * 14 + 3);
/// assert_eq!(Structure::default().parameters(17), 17);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Structure {
    /// K: how many blocks there are.
    #[serde(default = "one")]
    pub blocks: usize,
    /// s: how many of an arm's features, its last ones, belong to parameters that all blocks share.
    #[serde(default)]
    pub shared: usize,
}

fn one() -> usize {
    1
}

impl Default for Structure {
    fn default() -> Self {
        Structure::DENSE
    }
}

impl std::fmt::Display for Structure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Structure { blocks, shared } = self;
        match self.is_dense() {
            true => formatter.write_str("one block"),
            false => write!(formatter, "{blocks} blocks with {shared} shared features"),
        }
    }
}

impl Structure {
    /// Every arm touches all parameters.
    pub const DENSE: Structure = Structure { blocks: 1, shared: 0 };

    /// A block of parameters for each of this many arms, and nothing shared.
    pub const fn blocks(blocks: usize) -> Self {
        Structure { blocks, shared: 0 }
    }

    /// Returns whether every arm touches all parameters.
    pub fn is_dense(&self) -> bool {
        self.blocks == 1
    }

    /// The features of an arm with zeros for all other blocks: its own block's at their place, the shared ones at the end.
    ///
    /// ```
    /// use reticent::release::Structure;
    /// let hybrid = Structure { blocks: 3, shared: 1 };
    /// assert_eq!(hybrid.embed(1, &[0.6, 0.8])?, [0.0, 0.6, 0.0, 0.8]);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn embed(&self, block: usize, features: &[f64]) -> Result<Vec<f64>> {
        self.check(features.len())?;
        self.expect(block)?;
        let layout = Layout::new(features.len(), *self);
        let mut embedded = vec![0.0; layout.vector()];
        let [own, shared] = layout.vector_starts(block);
        let (block, rest) = features.split_at(layout.size());
        embedded[own..own + block.len()].copy_from_slice(block);
        embedded[shared..].copy_from_slice(rest);
        Ok(embedded)
    }

    /// Numbers that an arm of a block adds to sums: the upper triangle by rows of its `x x^T` and then its `x y`, among zeros for other blocks.
    pub fn embed_sums(
        &self,
        dimension: usize,
        block: usize,
        entries: Vec<f64>,
    ) -> Result<Vec<f64>> {
        self.check(dimension)?;
        self.expect(block)?;
        finite_vector("entries", &entries, triangle(dimension) + dimension)?;
        Ok(Layout::new(dimension, *self).embed(block, entries))
    }

    /// Number of parameters, for arms of this many features.
    pub fn parameters(&self, dimension: usize) -> usize {
        Layout::new(dimension, *self).vector()
    }

    /// Refuses structures that divide nothing.
    pub(crate) fn check(&self, dimension: usize) -> Result<()> {
        if self.blocks == 0 {
            return Err(Error::invalid("blocks", 0, "expected 1 or more"));
        }
        if self.blocks == 1 && self.shared > 0 {
            let remedy = "with one block all parameters are shared: leave it out";
            return Err(Error::invalid("shared", self.shared, remedy));
        }
        if self.shared >= dimension {
            let remedy = format!("an arm has {dimension} features: leave some to its block");
            return Err(Error::invalid("shared", self.shared, remedy));
        }
        Ok(())
    }

    /// `block`, if there is such a block.
    pub(crate) fn expect(&self, block: usize) -> Result<usize> {
        if block < self.blocks {
            return Ok(block);
        }
        let remedy = format!("there are {}, counted from 0", self.blocks);
        Err(Error::invalid("block", block, remedy))
    }

    /// The one block that there is; where there are several, an error that names the `call` which takes a block.
    pub(crate) fn only_block(&self, call: &str) -> Result<usize> {
        let remedy = format_args!("name the arm's block of parameters: call `{call}`");
        refuse_if(!self.is_dense(), "block", "missing", remedy)?;
        Ok(0)
    }

    /// Refuses blocks in the name of a learner that has none.
    pub(crate) fn expect_dense(&self, learner: &str) -> Result<()> {
        if self.is_dense() {
            return Ok(());
        }
        let remedy = format!(
            "{learner} has none: embed the arms into all {} blocks' features, or take LinUCB, the joint or the local bandit",
            self.blocks
        );
        Err(Error::invalid("blocks", self.blocks, remedy))
    }
}

/// Places of a block's numbers among the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// n.
    dimension: usize,
    structure: Structure,
}

impl Layout {
    pub(crate) fn new(dimension: usize, structure: Structure) -> Self {
        Layout { dimension, structure }
    }

    /// p.
    pub(crate) fn size(&self) -> usize {
        self.dimension.saturating_sub(self.structure.shared)
    }

    /// Numbers of one block in the matrix part.
    pub(crate) fn block_entries(&self) -> usize {
        // Numbers that were read and not checked yet may be large.
        let entries = |rows: usize| rows.saturating_mul(rows.saturating_add(1)) / 2;
        entries(self.dimension).saturating_sub(entries(self.structure.shared))
    }

    /// Numbers of the matrix part.
    pub(crate) fn matrix(&self) -> usize {
        let blocks = self.structure.blocks.saturating_mul(self.block_entries());
        let shared = self.structure.shared;
        blocks.saturating_add(shared.saturating_mul(shared.saturating_add(1)) / 2)
    }

    /// Numbers of the vector part, which is also how many parameters there are.
    pub(crate) fn vector(&self) -> usize {
        self.structure.blocks.saturating_mul(self.size()).saturating_add(self.structure.shared)
    }

    /// Index of the block's first number in the matrix part, and of the first shared one.
    pub(crate) fn matrix_starts(&self, block: usize) -> [usize; 2] {
        [block, self.structure.blocks].map(|blocks| blocks * self.block_entries())
    }

    /// Index of the block's first number in the vector part, and of the first shared one.
    pub(crate) fn vector_starts(&self, block: usize) -> [usize; 2] {
        [block, self.structure.blocks].map(|blocks| blocks * self.size())
    }

    /// The upper triangle by rows over the features of a block's arms. Its last rows, the shared ones, are the sums over all blocks.
    pub(crate) fn gram_of(&self, block: usize, matrix: &[f64]) -> Vec<f64> {
        let [own, shared] = self.matrix_starts(block);
        let own = &matrix[own..own + self.block_entries()];
        own.iter().chain(&matrix[shared..]).copied().collect()
    }

    /// The vector over the features of a block's arms.
    pub(crate) fn vector_of(&self, block: usize, vector: &[f64]) -> Vec<f64> {
        let [own, shared] = self.vector_starts(block);
        vector[own..own + self.size()].iter().chain(&vector[shared..]).copied().collect()
    }

    /// The numbers of one arm of a block, the upper triangle by rows and then the vector, among zeros for the other blocks.
    pub(crate) fn embed(&self, block: usize, entries: Vec<f64>) -> Vec<f64> {
        if self.structure.is_dense() {
            return entries;
        }
        let mut all = vec![0.0; self.matrix() + self.vector()];
        let (matrix, vector) = entries.split_at(triangle(self.dimension));
        let parts = [
            (self.matrix_starts(block), matrix.split_at(self.block_entries()), 0),
            (self.vector_starts(block), vector.split_at(self.size()), self.matrix()),
        ];
        for ([own, shared], (block, corner), first) in parts {
            all[first + own..][..block.len()].copy_from_slice(block);
            all[first + shared..][..corner.len()].copy_from_slice(corner);
        }
        all
    }

    /// Index of the entry of two parameters in the matrix part; `None` if it is zero for all people.
    pub(crate) fn entry(&self, row: usize, column: usize) -> Option<usize> {
        let (row, column) = (row.min(column), row.max(column));
        let (p, n) = (self.size(), self.dimension);
        let shared = self.vector_starts(0)[1];
        // Rows above hold n, n - 1, ... numbers.
        let within = |row: usize, column: usize| row * (2 * n - row + 1) / 2 + column - row;
        match (row >= shared, column >= shared) {
            (true, _) => {
                let at = within(p + row - shared, p + column - shared);
                Some(self.matrix_starts(0)[1] + at - self.block_entries())
            }
            (false, true) => {
                Some(self.matrix_starts(row / p)[0] + within(row % p, p + column - shared))
            }
            (false, false) if row / p == column / p => {
                Some(self.matrix_starts(row / p)[0] + within(row % p, column % p))
            }
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every entry that can be other than zero has a place of its own, and nothing else has one.
    #[test]
    fn the_layout_is_a_bijection_of_what_can_be_other_than_zero() {
        for (n, blocks, shared) in [(3, 1, 0), (2, 4, 0), (3, 2, 1), (5, 3, 2), (1, 7, 0)] {
            let structure = Structure { blocks, shared };
            structure.check(n).unwrap();
            let (layout, p) = (Layout::new(n, structure), n - shared);
            let parameters = structure.parameters(n);
            let mut seen = vec![false; layout.matrix()];
            for row in 0..parameters {
                for column in row..parameters {
                    let meet = column >= blocks * p || row / p == column / p;
                    let place = layout.entry(row, column);
                    assert_eq!(place.is_some(), meet, "{structure:?} {row} {column}");
                    assert_eq!(place, layout.entry(column, row));
                    if let Some(place) = place {
                        assert!(!std::mem::replace(&mut seen[place], true));
                    }
                }
            }
            assert!(seen.iter().all(|seen| *seen));
        }
        // Dense: the upper triangle by rows.
        let dense = Layout::new(4, Structure::DENSE);
        let places: Vec<_> = (0..4)
            .flat_map(|i| (i..4).map(move |j| (i, j)))
            .map(|(i, j)| dense.entry(i, j))
            .collect();
        assert_eq!(places, (0..10).map(Some).collect::<Vec<_>>());
    }

    #[test]
    fn structures_that_divide_nothing_are_refused() {
        for (n, blocks, shared, field) in
            [(3, 0, 0, "blocks"), (3, 1, 1, "shared"), (3, 2, 3, "shared"), (3, 2, 9, "shared")]
        {
            let error = Structure { blocks, shared }.check(n).unwrap_err().to_string();
            assert!(error.contains(field), "{error}");
        }
        assert!(Structure::blocks(3).expect(3).unwrap_err().to_string().contains("block: got 3"));
        assert!(Structure::blocks(3).expect_dense("this").is_err());
    }
}
