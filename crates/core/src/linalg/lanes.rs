//! Upper confidence bounds of sixteen arms at a time, one arm per SIMD lane.
//!
//! ```text
//! score(x) = <theta, x> + width ||W x||_2 + drift ||W^T W x||_2
//! ```
//!
//! Every sum is a chain of fused multiply-adds in ascending order of its index, and so is every norm:
//! the number of arms or rows processed together changes the speed but not the result. AVX-512, AVX2, NEON and the portable
//! path therefore give the same scores; without fused multiply-add in hardware the portable path is slow but gives the same bits.
//!
//! Rows are taken four at a time, so that each loaded coordinate is used in four products and the two fused units of a core always have
//! independent work; `theta` is processed together with the last four.

use std::sync::LazyLock;

use pulp::{Arch, Simd, WithSimd};

use super::triangle;

/// The best instruction set of this machine, cached: querying the processor's flags on every call would be noticeable at d = 5.
#[inline(always)]
pub(crate) fn arch() -> Arch {
    // There arms are scored one by one.
    if cfg!(little) {
        return Arch::Scalar;
    }
    static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);
    *ARCH
}

/// Arms stored and scored together.
pub(crate) const TILE: usize = 16;
/// Rows of `W`, or columns in the product with `W^T`, processed together.
const ROWS: usize = 4;

/// One number for each arm of a tile, aligned to a cache line so that no vector spans two lines.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(crate) struct Lanes(pub(crate) [f64; TILE]);

const ZERO: Lanes = Lanes([0.0; TILE]);

/// The parts of an upper confidence bound.
#[derive(Clone, Copy)]
pub(crate) struct Bound<'a> {
    pub(crate) theta: &'a [f64],
    /// `W`, lower triangular, row by row; not looked at where width and drift are zero.
    pub(crate) whitening: &'a [f64],
    pub(crate) width: f64,
    /// If it is zero, the product with `W^T` is skipped.
    pub(crate) drift: f64,
}

/// A consumer of scores. (A trait, because a closure would not be compiled for the selected instruction set.)
pub(crate) trait Take {
    /// The scores of the next sixteen arms.
    fn take(&mut self, scores: Lanes);
}

/// Computes the scores, tile after tile.
///
/// A tile is `dimension` entries of `tiles`, one for each coordinate.
pub(crate) fn each_tile(arch: Arch, bound: Bound<'_>, tiles: &[Lanes], take: &mut impl Take) {
    // The product with `W^T` needs all of `W x`. Up to dimension 64 it is kept on the stack; above, the cost of one allocation is
    // negligible beside thousands of products per arm.
    let dimension = bound.theta.len();
    let (mut small, mut medium, mut large);
    let white: &mut [Lanes] = match dimension {
        _ if bound.drift == 0.0 => &mut [],
        0..=8 => {
            small = [ZERO; 8];
            &mut small
        }
        9..=64 => {
            medium = [ZERO; 64];
            &mut medium
        }
        _ => {
            large = vec![ZERO; dimension];
            &mut large
        }
    };
    // Two functions, so that the loops of one do not take registers from the other.
    match bound.width == 0.0 && bound.drift == 0.0 {
        true => arch.dispatch(EachTile::<_, true> { bound, tiles, white, take }),
        false => arch.dispatch(EachTile::<_, false> { bound, tiles, white, take }),
    }
}

/// `LINEAR` if width and drift are zero, so that a score is `<theta, x>`.
struct EachTile<'a, T, const LINEAR: bool> {
    bound: Bound<'a>,
    tiles: &'a [Lanes],
    white: &'a mut [Lanes],
    take: &'a mut T,
}

impl<T: Take, const LINEAR: bool> WithSimd for EachTile<'_, T, LINEAR> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Two wide vectors or four narrow ones fill the registers with four rows. A single row needs the whole tile to have enough independent sums.
        match (S::F64_LANES, LINEAR) {
            (8.., _) | (4.., false) => self.unroll::<S, 2>(simd),
            (4.., true) | (_, false) => self.unroll::<S, 4>(simd),
            (2.., true) => self.unroll::<S, 8>(simd),
            (_, true) => self.unroll::<S, 16>(simd),
        }
    }
}

impl<T: Take, const LINEAR: bool> EachTile<'_, T, LINEAR> {
    // Small dimensions are compiled one by one: there, loops cost more than sums.
    #[inline(always)]
    fn unroll<S: Simd, const N: usize>(self, simd: S) {
        match self.bound.theta.len() {
            1 => self.run::<S, N>(simd, 1),
            2 => self.run::<S, N>(simd, 2),
            3 => self.run::<S, N>(simd, 3),
            4 => self.run::<S, N>(simd, 4),
            5 => self.run::<S, N>(simd, 5),
            6 => self.run::<S, N>(simd, 6),
            7 => self.run::<S, N>(simd, 7),
            8 => self.run::<S, N>(simd, 8),
            dimension => self.run::<S, N>(simd, dimension),
        }
    }

    #[inline(always)]
    fn run<S: Simd, const N: usize>(self, simd: S, dimension: usize) {
        let entries = if LINEAR { 0 } else { triangle(dimension) };
        let bound = Bound {
            theta: &self.bound.theta[..dimension],
            whitening: &self.bound.whitening[..entries],
            ..self.bound
        };
        for tile in self.tiles.chunks_exact(dimension) {
            let mut scores = ZERO;
            for (index, out) in S::as_mut_simd_f64s(&mut scores.0).0.chunks_exact_mut(N).enumerate()
            {
                let group = Group::<S, N> { simd, tile, first: index * N };
                out.copy_from_slice(&match LINEAR {
                    true => group.products([bound.theta])[0],
                    false => group.scores(bound, self.white),
                });
            }
            self.take.take(scores);
        }
    }
}

/// Row `i` of a lower triangle.
#[inline(always)]
fn row(lower: &[f64], i: usize) -> &[f64] {
    &lower[triangle(i)..triangle(i) + i + 1]
}

/// `N` vectors of arms of one tile.
///
/// Loops and no closures: a closure is compiled for the selected instruction set only where the optimiser inlines it, which it does not in test builds.
#[derive(Clone, Copy)]
struct Group<'a, S: Simd, const N: usize> {
    simd: S,
    tile: &'a [Lanes],
    /// Index at which the group begins within a coordinate.
    first: usize,
}

impl<S: Simd, const N: usize> Group<'_, S, N> {
    #[inline(always)]
    fn scores(self, bound: Bound<'_>, white: &mut [Lanes]) -> [S::f64s; N] {
        let Bound { theta, whitening, width, drift } = bound;
        let row = |i| row(whitening, i);
        let mut norm =
            Norm { group: self, squares: self.zeros(), white, keep: drift != 0.0, next: 0 };
        let dimension = theta.len();
        let mean = if dimension < ROWS {
            for i in 0..dimension {
                norm.add(self.products([row(i)]));
            }
            self.products([theta])[0]
        } else {
            // The short rows first, so that the rest is whole blocks.
            let mut i = dimension % ROWS;
            match i {
                1 => norm.add(self.products([row(0)])),
                2 => norm.add(self.products([row(0), row(1)])),
                3 => norm.add(self.products([row(0), row(1), row(2)])),
                _ => {}
            }
            while i + ROWS < dimension {
                norm.add(self.products([row(i), row(i + 1), row(i + 2), row(i + 3)]));
                i += ROWS;
            }
            let last = [row(i), row(i + 1), row(i + 2), row(i + 3), theta];
            let [a, b, c, d, mean] = self.products(last);
            norm.add([a, b, c, d]);
            mean
        };
        let squares = norm.squares;
        let mut scores = self.add_root(width, squares, mean);
        if drift != 0.0 {
            scores = self.add_root(drift, self.back(whitening, norm.white, dimension), scores);
        }
        scores
    }

    /// Inner products of all arms with these rows: each row has one entry more than the one before, except that a fifth is as long as the
    /// fourth.
    #[inline(always)]
    fn products<const R: usize>(self, rows: [&[f64]; R]) -> [[S::f64s; N]; R] {
        let shared = rows[0].len();
        let (mut common, mut own) = (rows, rows);
        for r in 0..R {
            (common[r], own[r]) = rows[r].split_at(shared);
        }
        let (tile, corner) = self.tile.split_at(shared);
        let mut sums = [self.zeros(); R];
        for (j, lanes) in (0..shared).zip(tile) {
            let arms = self.load(lanes);
            for r in 0..R {
                sums[r] = self.fused(common[r][j], arms, sums[r]);
            }
        }
        for j in 0..R.min(ROWS) - 1 {
            let arms = self.load(&corner[j]);
            for r in j + 1..R {
                sums[r] = self.fused(own[r][j], arms, sums[r]);
            }
        }
        sums
    }

    /// `||W^T z||^2` of all arms.
    #[inline(always)]
    fn back(self, whitening: &[f64], white: &[Lanes], dimension: usize) -> [S::f64s; N] {
        let mut squares = self.zeros();
        let mut j = 0;
        while j + ROWS <= dimension {
            squares = self.columns::<ROWS>(whitening, white, j, dimension, squares);
            j += ROWS;
        }
        while j < dimension {
            squares = self.columns::<1>(whitening, white, j, dimension, squares);
            j += 1;
        }
        squares
    }

    /// Adds the squares of entries `j` to `j + C` of `W^T z`.
    #[inline(always)]
    fn columns<const C: usize>(
        self,
        whitening: &[f64],
        white: &[Lanes],
        j: usize,
        dimension: usize,
        mut squares: [S::f64s; N],
    ) -> [S::f64s; N] {
        let mut sums = [self.zeros(); C];
        // The first rows reach only some of these columns.
        for i in j..j + C - 1 {
            let z = self.load(&white[i]);
            let entries = &whitening[triangle(i) + j..=triangle(i) + i];
            for (sum, entry) in sums.iter_mut().zip(entries) {
                *sum = self.fused(*entry, z, *sum);
            }
        }
        let first = j + C - 1;
        let mut start = triangle(first) + j;
        for (i, lanes) in (first..dimension).zip(&white[first..dimension]) {
            let entries = &whitening[start..start + C];
            let z = self.load(lanes);
            for c in 0..C {
                sums[c] = self.fused(entries[c], z, sums[c]);
            }
            start += i + 1;
        }
        for sum in sums {
            squares = self.add_squares(sum, squares);
        }
        squares
    }

    #[inline(always)]
    fn zeros(self) -> [S::f64s; N] {
        [self.simd.splat_f64s(0.0); N]
    }

    /// The group's part of a tile's lanes.
    #[inline(always)]
    fn load(self, lanes: &Lanes) -> [S::f64s; N] {
        let mut vectors = self.zeros();
        vectors.copy_from_slice(&S::as_simd_f64s(&lanes.0).0[self.first..self.first + N]);
        vectors
    }

    #[inline(always)]
    fn fused(self, factor: f64, arms: [S::f64s; N], mut sums: [S::f64s; N]) -> [S::f64s; N] {
        let factor = self.simd.splat_f64s(factor);
        for v in 0..N {
            sums[v] = self.simd.mul_add_f64s(factor, arms[v], sums[v]);
        }
        sums
    }

    #[inline(always)]
    fn add_squares(self, entries: [S::f64s; N], mut sums: [S::f64s; N]) -> [S::f64s; N] {
        for v in 0..N {
            sums[v] = self.simd.mul_add_f64s(entries[v], entries[v], sums[v]);
        }
        sums
    }

    /// `factor sqrt(squares) + sums`.
    #[inline(always)]
    fn add_root(self, factor: f64, mut squares: [S::f64s; N], sums: [S::f64s; N]) -> [S::f64s; N] {
        for square in &mut squares {
            *square = self.simd.sqrt_f64s(*square);
        }
        self.fused(factor, squares, sums)
    }
}

/// Accumulates `||W x||^2` row by row, and keeps `W x` itself if the product with `W^T` needs it.
struct Norm<'a, 'w, S: Simd, const N: usize> {
    group: Group<'a, S, N>,
    squares: [S::f64s; N],
    white: &'w mut [Lanes],
    keep: bool,
    next: usize,
}

impl<S: Simd, const N: usize> Norm<'_, '_, S, N> {
    #[inline(always)]
    fn add<const R: usize>(&mut self, rows: [[S::f64s; N]; R]) {
        for row in rows {
            self.squares = self.group.add_squares(row, self.squares);
            if self.keep {
                let first = self.group.first;
                let lanes = S::as_mut_simd_f64s(&mut self.white[self.next].0).0;
                lanes[first..first + N].copy_from_slice(&row);
                self.next += 1;
            }
        }
    }
}

/// Every instruction set that this machine supports.
#[cfg(test)]
pub(crate) fn paths() -> Vec<Arch> {
    let best = vec![arch(), Arch::Scalar];
    #[cfg(target_arch = "x86_64")]
    let best = best
        .into_iter()
        .chain(pulp::x86::V3::try_new().map(Arch::V3))
        .chain(pulp::x86::V4::try_new().map(Arch::V4))
        .collect();
    best
}
