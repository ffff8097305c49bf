//! Upper confidence bounds of arms that belong to different blocks of parameters: each is scored by its block's theta and W.
//!
//! The same sums in the same order as in `lanes`, arm by arm: lanes of a tile have different coefficients here, so that only the rows of one
//! arm's W are independent work.

use pulp::{Arch, Simd, WithSimd};

use super::{
    lanes::{Bound, Lanes, TILE, Take},
    triangle,
};

/// True if several rows are taken together. Not where fused multiply-adds are calls, and code is downloaded.
const SIDE_BY_SIDE: bool = !cfg!(little);

/// Computes the scores, tile after tile. `bound` has the parts of all blocks one after the other, each for `dimension` features; `blocks` says
/// which block each arm belongs to.
pub(crate) fn each_tile_by_block(
    arch: Arch,
    bound: Bound<'_>,
    dimension: usize,
    blocks: &[u32],
    tiles: &[Lanes],
    take: &mut impl Take,
) {
    let scratch = &mut vec![0.0; 2 * dimension];
    arch.dispatch(EachTile { bound, dimension, blocks, tiles, scratch, take });
}

struct EachTile<'a, T> {
    bound: Bound<'a>,
    dimension: usize,
    blocks: &'a [u32],
    tiles: &'a [Lanes],
    scratch: &'a mut [f64],
    take: &'a mut T,
}

impl<T: Take> WithSimd for EachTile<'_, T> {
    type Output = ();

    // Compiled for the instruction set that was found: `mul_add` is one instruction there.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (features, back) = self.scratch.split_at_mut(self.dimension);
        let tiles = self.tiles.chunks_exact(self.dimension).zip(self.blocks.chunks(TILE));
        for (tile, blocks) in tiles {
            let mut scores = Lanes([0.0; TILE]);
            for (lane, block) in blocks.iter().enumerate() {
                for (feature, lanes) in features.iter_mut().zip(tile) {
                    *feature = lanes.0[lane];
                }
                scores.0[lane] = self.bound.of_block(*block as usize, features, back);
            }
            self.take.take(scores);
        }
    }
}

impl Bound<'_> {
    /// The bound of one arm of a block; `back` is scratch space as long as the features.
    #[inline(always)]
    pub(crate) fn of_block(&self, block: usize, features: &[f64], back: &mut [f64]) -> f64 {
        let dimension = features.len();
        let theta = &self.theta[block * dimension..(block + 1) * dimension];
        let mean = fused(theta, features);
        if self.width == 0.0 && self.drift == 0.0 {
            return mean;
        }
        let entries = triangle(dimension);
        let whitening = &self.whitening[block * entries..(block + 1) * entries];
        let row = |i: usize| &whitening[triangle(i)..triangle(i + 1)];
        let mut white = 0.0_f64;
        back.fill(0.0);
        let mut take = |i: usize, z: f64| {
            white = z.mul_add(z, white);
            if self.drift != 0.0 {
                for (back, w) in back.iter_mut().zip(row(i)) {
                    *back = w.mul_add(z, *back);
                }
            }
        };
        let mut i = 0;
        while SIDE_BY_SIDE && i + 8 <= dimension {
            let sums = products::<8>(whitening, i, features);
            sums.into_iter().enumerate().for_each(|(r, sum)| take(i + r, sum));
            i += 8;
        }
        while SIDE_BY_SIDE && i + 4 <= dimension {
            let sums = products::<4>(whitening, i, features);
            sums.into_iter().enumerate().for_each(|(r, sum)| take(i + r, sum));
            i += 4;
        }
        for i in i..dimension {
            take(i, fused(row(i), features));
        }
        let bound = self.width.mul_add(white.sqrt(), mean);
        if self.drift == 0.0 {
            return bound;
        }
        self.drift.mul_add(fused(back, back).sqrt(), bound)
    }
}

/// Inner products of the features with R rows from `first` on, side by side: each sum waits for its last addition, and two units of a core
/// take four cycles for one, so that eight sums keep them busy.
#[inline(always)]
fn products<const R: usize>(whitening: &[f64], first: usize, features: &[f64]) -> [f64; R] {
    let (common, corner) = features.split_at(first + 1);
    let rows: [_; R] = std::array::from_fn(|r| {
        let row = &whitening[triangle(first + r)..triangle(first + r + 1)];
        row.split_at(common.len())
    });
    let mut sums = [0.0_f64; R];
    for (j, x) in common.iter().enumerate() {
        for r in 0..R {
            sums[r] = rows[r].0[j].mul_add(*x, sums[r]);
        }
    }
    for (j, x) in corner[..R - 1].iter().enumerate() {
        for r in j + 1..R {
            sums[r] = rows[r].1[j].mul_add(*x, sums[r]);
        }
    }
    sums
}

/// In ascending order, as in `lanes`.
#[inline(always)]
fn fused(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).fold(0.0, |sum, (a, b)| a.mul_add(*b, sum))
}
