//! Merged sums: one number for all entries of `x x^T` that a public rule makes equal, up to public weights.
//!
//! For features that are categories and their crosses ([`Levels`]), entries (i, j) of `sum x x^T` are `w_i w_j n_k`, with one sum n_k for each
//! monomial k, and many share theirs or are zero in all vectors. With S the set of entries i <= j of one monomial, the released number is
//!
//! ```text
//! T_S = sum over (i, j) in S of k_ij x_i x_j,   k_ij = about w_i w_j / rho_ij^2 in whole numbers,   rho = sqrt 2 on the diagonal, 1 off it
//! noise ratio |S| = sqrt(sum over S of k_ij^2 rho_ij^2)
//! ```
//!
//! **Sensitivity.** That of the dense domain, for *any* vectors, also those that do not obey the rule. *Proof.* `domain` measures a symmetric
//! difference X in its noise ratios: `<X, Y> = sum over i <= j of X_ij Y_ij / rho_ij^2`, half the Frobenius product. Let `a_S` be the matrix with
//! entries `k_ij rho_ij^2` on S and 0 elsewhere. Then `T_S = <a_S, x x^T>` and `|a_S|^2 = sum over S of k_ij^2 rho_ij^2`, so
//! `T_S/|S| = <a_S/|a_S|, x x^T>`: the coefficient of a unit vector. Different S have no entry in common, so these unit vectors are orthogonal, and the map
//! from X to all `T_S/|S|` is an orthogonal projection followed by an isometry: a contraction. The vector part is as it was, so
//! the squared distance of two contributions in units of the noise is at most the dense one. QED
//! The k are whole numbers and the x are on the grid, so `T_S` is exact: the proof is about the numbers that are summed, without a rounding term.
//!
//! **Nothing is lost** for x of the rule's form. There `x_i x_j = w_i w_j m`, hence `T_S = m sum of k_ij w_i w_j` and every entry is
//! `w_i w_j T_S / sum of k w w` again. Given the noise of a dense release, the best estimate of n_k weighs entries by `w_i w_j/rho_ij^2`
//! (`bandit/rule/two_level/sums.rs`): that is T_S, so its noise is that of the best estimate, but for k in whole numbers ([`NORM`]), which costs
//! below a thousandth of the variance.
//!
//! **Work.** Streams, noise, storage and releases have one number for each S. A contribution is summed over the pairs of its entries that are not
//! zero. The public tables that say which entry belongs to which sum have `d^2/2` entries and are made once.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::Places;
use crate::{
    Error, Result,
    features::{Levels, Monomials},
    linalg::triangle,
    refuse_if,
    special::square,
};

/// About the norm |S| of each k: large enough that whole numbers are near the weights, small enough that the grid stays fine.
const NORM: f64 = 32.0;

/// Public pattern of merged sums: which entries of `x x^T` are one sum, and with which weights.
///
/// ```
/// use reticent::{features::{Cells, LevelPart, Levels}, release::{Domain, Merging}};
/// let part = |of: &[u32], weight| LevelPart { of: of.to_vec(), weight };
/// let parts = vec![part(&[1], 0.6), part(&[0, 1], 0.6), part(&[], 0.5)];
/// let levels = Levels::new(vec![Cells::indicator(2), Cells::indicator(3)], parts)?;
/// let domain = Domain::merged(Merging::new(levels), 1.0, 1.0);
/// // 55 entries of x x^T are ten sums, and x y has ten.
/// assert_eq!((domain.dimension(), domain.coordinates()), (10, 10 + 10));
/// assert_eq!(domain.sensitivity(), Domain::regression(10, 1.0, 1.0).sensitivity());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "Levels")]
#[cfg_attr(not(little), serde(from = "Levels"))]
#[cfg_attr(little, serde(try_from = "Levels"))]
pub struct Merging {
    levels: Levels,
    /// Follows from the levels, and is made when it is first needed; copies share it.
    tables: Arc<OnceLock<Tables>>,
    /// A browser downloads no merged sums: a field without a value, so that the compiler leaves out what would be done with them.
    #[cfg(little)]
    #[allow(dead_code, reason = "it is never read: no value of its type exists")]
    none: std::convert::Infallible,
}

/// Tables of a pattern.
#[derive(Debug)]
struct Tables {
    /// Sum of each entry, upper triangle by rows, and k.
    entries: Vec<(u32, i32)>,
    /// |S|, and the sum of `k_ij w_i w_j` over S.
    sums: Vec<(f64, f64)>,
    /// w.
    weights: Vec<f64>,
}

impl PartialEq for Merging {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tables, &other.tables) || self.levels == other.levels
    }
}

#[cfg(not(little))]
impl From<Levels> for Merging {
    fn from(levels: Levels) -> Self {
        Merging::new(levels)
    }
}

#[cfg(little)]
impl TryFrom<Levels> for Merging {
    type Error = Error;

    fn try_from(levels: Levels) -> Result<Self> {
        let remedy = "devices have no merged sums: leave them out";
        Err(Error::invalid("merged sums", levels.dimension(), remedy))
    }
}

impl From<Merging> for Levels {
    fn from(merging: Merging) -> Self {
        merging.levels
    }
}

/// rho^2 of an entry.
fn square_ratio(row: usize, column: usize) -> f64 {
    if row == column { 2.0 } else { 1.0 }
}

/// The places of an upper triangle, by rows.
pub(super) fn upper(dimension: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dimension).flat_map(move |row| (row..dimension).map(move |column| (row, column)))
}

impl Tables {
    fn of(levels: &Levels) -> Self {
        let monomials = levels.monomials();
        let weights: Vec<f64> =
            levels.parts().flat_map(|(part, places)| places.map(|_| part.weight)).collect();
        let dimension = weights.len();
        let of_sum = || {
            let entries = monomials.entries().iter().zip(upper(dimension));
            entries.filter(|(sum, _)| **sum != Monomials::ZERO)
        };
        // The norm of a_S with k = w_i w_j / rho^2.
        let mut norms = vec![0.0_f64; monomials.count()];
        for (sum, (row, column)) in of_sum() {
            norms[*sum as usize] +=
                square(weights[row] * weights[column]) / square_ratio(row, column);
        }
        let mut entries = vec![(Monomials::ZERO, 0); triangle(dimension)];
        let mut sums = vec![(0.0, 0.0); monomials.count()];
        for (place, (sum, (row, column))) in
            monomials.entries().iter().zip(upper(dimension)).enumerate()
        {
            if *sum != Monomials::ZERO {
                let weight = weights[row] * weights[column];
                let ratio = square_ratio(row, column);
                // At most about NORM; NaN, of weights that are lost in rounding, is 0.
                let k = (NORM * weight / (ratio * norms[*sum as usize].sqrt())).round() as i32;
                entries[place] = (*sum, k);
                let (norm, total) = &mut sums[*sum as usize];
                *norm += square(f64::from(k)) * ratio;
                *total += f64::from(k) * weight;
            }
        }
        sums.iter_mut().for_each(|(norm, _)| *norm = norm.sqrt());
        Tables { entries, sums, weights }
    }
}

impl Merging {
    /// The pattern of vectors of this composition.
    #[cfg(not(little))]
    pub fn new(levels: Levels) -> Self {
        Merging { levels, tables: Arc::default() }
    }

    /// The composition of the vectors.
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| Tables::of(&self.levels))
    }

    /// Refuses levels that were read and could not have been made, and patterns that whole numbers do not describe.
    pub(super) fn check(&self) -> Result<()> {
        self.levels.check()?;
        let (least, largest) = self.norms();
        let remedy = "its weights are too small or too unequal, or one part is given many times: give each part once, with weights that are not negligible";
        let value = format_args!("noise ratios from {least} to {largest}");
        refuse_if(!(0.5 * NORM <= least && largest <= 2.0 * NORM), "levels", value, remedy)
    }

    /// Number of features of a vector.
    pub(super) fn dimension(&self) -> usize {
        self.levels.dimension()
    }

    /// Number of sums.
    pub(super) fn count(&self) -> usize {
        self.levels.monomials().count()
    }

    /// |S| of each sum.
    pub(crate) fn noise_ratios(&self) -> impl Iterator<Item = f64> {
        self.tables().sums.iter().map(|(norm, _)| *norm)
    }

    /// The least and the largest |S|.
    pub(super) fn norms(&self) -> (f64, f64) {
        self.noise_ratios()
            .fold((f64::INFINITY, 0.0), |(least, most), norm| (norm.min(least), norm.max(most)))
    }

    /// The sum of monomials that each released sum stands for: `sum of k_ij w_i w_j` times it.
    pub(crate) fn totals(&self) -> impl Iterator<Item = f64> {
        self.tables().sums.iter().map(|(_, total)| *total)
    }

    /// Adds what a vector on the grid contributes, over the pairs of its entries that are not zero.
    pub(super) fn add(&self, features: &[i64], sums: &mut [i128]) {
        let entries = &self.tables().entries;
        let present: Vec<(usize, i64)> =
            features.iter().copied().enumerate().filter(|(_, x)| *x != 0).collect();
        for (at, (row, x)) in present.iter().enumerate() {
            let start = row * features.len() - triangle(*row);
            for (column, y) in &present[at..] {
                let (sum, k) = entries[start + column];
                if sum != Monomials::ZERO {
                    // Fewer than 62 bits, which the clipper checked, times k.
                    sums[sum as usize] += i128::from(x * y) * i128::from(k);
                }
            }
        }
    }

    /// The sums that a dense triangle has, in any units.
    pub fn merge(&self, triangle: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.count()];
        for (value, (sum, k)) in triangle.iter().zip(&self.tables().entries) {
            if *sum != Monomials::ZERO {
                sums[*sum as usize] += f64::from(*k) * value;
            }
        }
        sums
    }

    /// The deviations of those sums, for entries with independent noise of these deviations.
    pub(super) fn merged_deviations(&self, triangle: &[f64]) -> Vec<f64> {
        let mut variances = vec![0.0; self.count()];
        for (deviation, (sum, k)) in triangle.iter().zip(&self.tables().entries) {
            if *sum != Monomials::ZERO {
                variances[*sum as usize] += square(f64::from(*k) * deviation);
            }
        }
        variances.into_iter().map(f64::sqrt).collect()
    }

    /// The dense triangle of these sums, or of their deviations, for vectors of the rule's form.
    pub fn expand(&self, sums: &[f64]) -> Vec<f64> {
        let Tables { entries, sums: totals, weights } = self.tables();
        let places = entries.iter().zip(upper(weights.len()));
        let entry = |((sum, _), (row, column)): (&(u32, i32), (usize, usize))| match *sum {
            Monomials::ZERO => 0.0,
            sum => weights[row] * weights[column] * (sums[sum as usize] / totals[sum as usize].1),
        };
        places.map(entry).collect()
    }

    /// The same of one entry, row at most column.
    pub(super) fn entry(&self, sums: &[f64], row: usize, column: usize) -> f64 {
        let Tables { entries, sums: totals, weights } = self.tables();
        match entries[row * weights.len() - triangle(row) + column].0 {
            Monomials::ZERO => 0.0,
            sum => weights[row] * weights[column] * (sums[sum as usize] / totals[sum as usize].1),
        }
    }

    /// Deviation of independent noise on a dense matrix whose rows would have at most this much noise, given the deviations of the sums: what rules
    /// for dense releases take for the size of the noise. The entries of one sum have the same noise, so this is a rule of thumb.
    pub(super) fn dense_deviation(&self, deviations: &[f64]) -> f64 {
        let dimension = self.dimension();
        let mut rows = vec![0.0; dimension];
        for ((row, column), deviation) in upper(dimension).zip(self.expand(deviations)) {
            rows[row] += square(deviation);
            if row != column {
                rows[column] += square(deviation);
            }
        }
        let largest = rows.into_iter().fold(0.0, f64::max);
        (largest / dimension as f64).sqrt()
    }

    /// Places of these sums in an earlier pattern, over features of which `places` has those of earlier ones. A product with an appended coordinate has
    /// one of its cells as a factor, so that a sum is of earlier entries alone, with the weights that it has had, or of none.
    pub(super) fn places_in(
        &self,
        earlier: &Merging,
        places: &Places,
    ) -> Result<Vec<Option<usize>>> {
        let (now, before) = (self.tables(), earlier.tables());
        let of_earlier = |(row, column): (usize, usize)| {
            let (row, column) = (places[row]?, places[column]?);
            let (row, column) = (row.min(column), row.max(column));
            Some(before.entries[row * before.weights.len() - triangle(row) + column])
        };
        let mut found: Vec<Option<Option<u32>>> = vec![None; self.count()];
        let mut kept = vec![false; earlier.count()];
        let same =
            now.entries.iter().zip(upper(now.weights.len())).all(|((sum, k), place)| {
                match (*sum, of_earlier(place)) {
                    (Monomials::ZERO, entry) => entry.is_none_or(|(sum, _)| sum == Monomials::ZERO),
                    (_, Some((other, with))) if other == Monomials::ZERO || with != *k => false,
                    (sum, entry) => {
                        let of_sum = entry.map(|(sum, _)| sum);
                        of_sum.iter().for_each(|sum| kept[*sum as usize] = true);
                        *found[sum as usize].get_or_insert(of_sum) == of_sum
                    }
                }
            });
        let remedy = "the sums that were merged so far would be others: begin a new stream";
        refuse_if(!same || kept.contains(&false), "levels", "appended", remedy)?;
        Ok(found.into_iter().map(|sum| sum.flatten().map(|sum| sum as usize)).collect())
    }

    /// Refuses a pattern that is not that of these levels.
    pub(crate) fn expect(&self, levels: &Levels) -> Result<()> {
        if self.levels == *levels {
            return Ok(());
        }
        let remedy = "the rule's levels are others: give the sums and the rule the same features";
        Err(Error::invalid("merged sums", self.dimension(), remedy))
    }
}

#[cfg(test)]
mod tests;
