//! Ridge regression with a block of parameters an arm and a part that all share, updated after each observation.
//!
//! ```text
//! V = rho I + sum x x^T   an arrow (`arrow`),   u = sum y x
//! ```
//!
//! An observation changes one block and the corner: `O(p^3 + K p s)` a round. Everything is made anew from the sums, so no rounding errors
//! add up.

use serde::{Deserialize, Serialize};

use super::{
    Cholesky, Layout, Structure,
    arrow::{Arrow, ArrowBlock, split_rows},
    triangle,
};
use crate::{
    Error, Result,
    error::{finite_vector, not_negative},
};

/// The sums of a ridge regression in blocks with a shared part, laid out as in a release.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HybridRidge {
    /// rho.
    regularizer: f64,
    /// n: features of an arm.
    dimension: usize,
    structure: Structure,
    gram: Vec<f64>,
    moment: Vec<f64>,
    rounds: u64,
    /// Follows from the sums: one for each block, or none before the first solution and after reading.
    #[serde(skip)]
    blocks: Vec<ArrowBlock>,
    /// `ln det V - d ln rho` as of the last solution.
    ln_growth: f64,
}

impl HybridRidge {
    /// Nothing observed. The regulariser is above 0, and neither it nor its inverse is above 1e50.
    pub(crate) fn new(dimension: usize, structure: Structure, regularizer: f64) -> Self {
        let layout = Layout::new(dimension, structure);
        HybridRidge {
            regularizer,
            dimension,
            structure,
            gram: vec![0.0; layout.matrix()],
            moment: vec![0.0; layout.vector()],
            rounds: 0,
            blocks: Vec::new(),
            ln_growth: 0.0,
        }
    }

    fn layout(&self) -> Layout {
        Layout::new(self.dimension, self.structure)
    }

    /// Learns that features `x` of a block, not above 1e50 in size, were answered by `y`; theta and W are those of all blocks.
    pub(crate) fn observe(
        &mut self,
        block: usize,
        x: &[f64],
        y: f64,
        theta: &mut [f64],
        whitening: &mut [f64],
    ) {
        self.accumulate(block, x, y);
        if self.blocks.len() != self.structure.blocks {
            return self.refresh(theta, whitening);
        }
        // If the regulariser is lost to rounding beside the sums, the factorisation fails and the solution is kept.
        let Some(factored) = self.factored(block) else { return };
        let entries = triangle(self.dimension);
        Arrow::write_block_rows(&factored, &mut whitening[block * entries..]);
        self.blocks[block] = factored;
        self.write_shared(theta, whitening);
    }

    /// As [`HybridRidge::observe`], without a new solution.
    pub(crate) fn accumulate(&mut self, block: usize, x: &[f64], y: f64) {
        let layout = self.layout();
        let (size, [own, shared]) = (layout.size(), layout.matrix_starts(block));
        let mut add = |start: usize, x: &[f64], rows: usize| {
            let mut entries = self.gram[start..].iter_mut();
            for row in 0..rows {
                let columns = x[row..].iter().zip(entries.by_ref());
                columns.for_each(|(column, sum)| *sum += x[row] * column);
            }
        };
        add(own, x, size);
        add(shared, &x[size..], x.len() - size);
        let [own, shared] = layout.vector_starts(block);
        for (start, x) in [(own, &x[..size]), (shared, &x[size..])] {
            self.moment[start..].iter_mut().zip(x).for_each(|(sum, x)| *sum += x * y);
        }
        self.rounds += 1;
    }

    /// Takes sums of many observations, laid out as in a release, without a new solution.
    pub(crate) fn add(&mut self, gram: &[f64], moment: &[f64], rounds: u64) {
        self.gram.iter_mut().zip(gram).for_each(|(sum, more)| *sum += more);
        self.moment.iter_mut().zip(moment).for_each(|(sum, more)| *sum += more);
        self.rounds += rounds;
    }

    /// Multiplies the sums by `kept`, from 0 to 1, without a new solution.
    pub(crate) fn forget(&mut self, kept: f64) {
        self.gram.iter_mut().chain(&mut self.moment).for_each(|sum| *sum *= kept);
    }

    /// Recomputes theta and W of all blocks from the sums.
    pub(crate) fn refresh(&mut self, theta: &mut [f64], whitening: &mut [f64]) {
        let blocks: Option<Vec<_>> =
            (0..self.structure.blocks).map(|block| self.factored(block)).collect();
        let Some(blocks) = blocks else { return };
        for (block, rows) in blocks.iter().zip(whitening.chunks_mut(triangle(self.dimension))) {
            Arrow::write_block_rows(block, rows);
        }
        self.blocks = blocks;
        self.write_shared(theta, whitening);
    }

    fn factored(&self, block: usize) -> Option<ArrowBlock> {
        let layout = self.layout();
        let start = layout.matrix_starts(block)[0];
        let rows = &self.gram[start..start + layout.block_entries()];
        let (square, columns) = split_rows(layout.size(), self.structure.shared, rows);
        let factor = Cholesky::of(layout.size(), &square, self.regularizer)?;
        let start = layout.vector_starts(block)[0];
        ArrowBlock::of(&factor, &columns, &self.moment[start..start + layout.size()]).ok()
    }

    /// Quantities that follow from the corner: theta, and the last rows of each block's W.
    fn write_shared(&mut self, theta: &mut [f64], whitening: &mut [f64]) {
        let layout = self.layout();
        let corner = &self.gram[layout.matrix_starts(0)[1]..];
        let schur = Arrow::schur(&self.blocks, corner);
        let Some(factor) = Cholesky::of(self.structure.shared, &schur, self.regularizer) else {
            return;
        };
        let moment = &self.moment[layout.vector_starts(0)[1]..];
        let Ok(arrow) = Arrow::of(&self.blocks, &factor, moment) else { return };
        let theta = theta.chunks_mut(self.dimension);
        let whitening = whitening.chunks_mut(triangle(self.dimension));
        for (block, (theta, whitening)) in self.blocks.iter().zip(theta.zip(whitening)) {
            arrow.write_solution(block, theta);
            arrow.write_shared_rows(block, whitening);
        }
        let prior = layout.vector() as f64 * libm::log(self.regularizer);
        self.ln_growth = (arrow.ln_determinant(&self.blocks) - prior).max(0.0);
    }

    pub(crate) fn regularizer(&self) -> f64 {
        self.regularizer
    }

    pub(crate) fn rounds(&self) -> u64 {
        self.rounds
    }

    /// `ln det V - d ln rho`.
    pub(crate) fn ln_growth(&self) -> f64 {
        self.ln_growth
    }

    /// u.
    pub(crate) fn moment(&self) -> &[f64] {
        &self.moment
    }

    /// The sums of `x x^T`.
    pub(crate) fn gram(&self) -> &[f64] {
        &self.gram
    }

    /// Refuses deserialised sums of other sizes.
    pub(crate) fn check(&self, dimension: usize, structure: Structure) -> Result<()> {
        if self.dimension != dimension || self.structure != structure {
            let (expected, found) = (dimension, self.dimension);
            return Err(Error::Dimension { field: "saved blocks", expected, found });
        }
        structure.check(dimension)?;
        finite_vector("saved gram", &self.gram, self.layout().matrix())?;
        finite_vector("saved moment", &self.moment, self.layout().vector())?;
        not_negative("saved ln_growth", self.ln_growth).map(drop)
    }
}
