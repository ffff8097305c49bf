//! Monomials of base coordinates that the products of two coordinates of a vector are.
//!
//! An entry of `sum x x^T` is a weight times the sum of one monomial in at most six base coordinates, and many entries share theirs: a cell squared, the
//! cell times the constant and a cross times its parent are all the count of that cell. In monomials
//!
//! ```text
//! c^2 = c           for an indicator c: a category, a bucket, an interval
//! c c' = 0          for two different cells of one feature of indicators
//! m c_i = c_i d_i   for the match m of two features, 1 where both are in cells of one number
//! ```
//!
//! All of it follows from the public features, so what is computed from it is post-processing of a release.

use std::collections::HashMap;

use super::{Cells, LevelPart, Levels};
use crate::linalg::triangle;

impl Levels {
    /// The base coordinates whose product each coordinate is.
    fn factors(&self) -> Vec<Factors> {
        let coordinates = |part: &LevelPart| -> Vec<Factors> {
            // The constant of one group has no factor, those of several are the cells of one more feature.
            let group = (self.groups > 1).then_some(self.features.len() as u32);
            let of = if part.of.is_empty() { group.as_slice() } else { &part.of };
            of.iter().fold(vec![Vec::new()], |products, feature| {
                let cells = 0..self.feature(*feature).coordinates;
                let times = |cell| Base { feature: *feature, cell };
                let row = |product: Factors| -> Vec<Factors> {
                    cells.clone().map(|cell| [&product[..], &[times(cell)]].concat()).collect()
                };
                products.into_iter().flat_map(row).collect()
            })
        };
        self.parts.iter().flat_map(coordinates).collect()
    }

    /// A feature by its place, or that of the groups.
    fn feature(&self, place: u32) -> Cells {
        let groups = Cells::indicator(self.groups);
        self.features.get(place as usize).copied().unwrap_or(groups)
    }

    /// The monomial of a product of two coordinates; `None` if it is identically zero.
    fn product(&self, left: &[Base], right: &[Base]) -> Option<Factors> {
        let mut product: Factors = Vec::with_capacity(left.len() + right.len());
        let mut rest: Factors = left.iter().chain(right).rev().copied().collect();
        while let Some(base) = rest.pop() {
            let cells = self.feature(base.feature);
            if cells.indicator
                && let Some(other) = product.iter().find(|other| other.feature == base.feature)
            {
                match other.cell == base.cell {
                    true => continue,
                    false => return None,
                }
            }
            product.push(base);
            // A match whose one feature has a cell says that the other one has it too.
            let matches = product.iter().enumerate().find_map(|(place, base)| {
                let (left, right) = self.feature(base.feature).matched?;
                let cell = |feature| product.iter().find(|base| base.feature == feature);
                let other = cell(left).map(|base| (right, base.cell));
                other.or(cell(right).map(|base| (left, base.cell))).map(|other| (place, other))
            });
            if let Some((place, (feature, cell))) = matches {
                product.swap_remove(place);
                rest.push(Base { feature, cell });
            }
        }
        product.sort_unstable();
        Some(product)
    }
}

/// A cell of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Base {
    feature: u32,
    cell: u32,
}

/// A product of cells.
type Factors = Vec<Base>;

/// Sums of monomials that the entries of `sum x x^T` are.
#[derive(Debug, Clone, PartialEq)]
pub struct Monomials {
    dimension: usize,
    count: u32,
    /// Upper triangle by rows.
    entries: Vec<u32>,
    /// The factors of each coordinate, and the coordinate of a weight above 0 that has these factors.
    factors: Vec<Factors>,
    indicators: Vec<bool>,
    coordinates: HashMap<Factors, u32>,
}

impl Monomials {
    /// Number of an entry that is zero in all vectors.
    pub const ZERO: u32 = u32::MAX;

    pub(super) fn of(levels: &Levels) -> Self {
        let factors = levels.factors();
        let dimension = factors.len();
        let weights: Vec<f64> =
            levels.parts().flat_map(|(part, range)| range.map(|_| part.weight)).collect();
        let mut numbers = HashMap::new();
        let mut entries = Vec::with_capacity(triangle(dimension));
        for i in 0..dimension {
            for j in i..dimension {
                let present = weights[i] > 0.0 && weights[j] > 0.0;
                let monomial = match present {
                    true => levels.product(&factors[i], &factors[j]),
                    false => None,
                };
                let next = numbers.len() as u32;
                entries
                    .push(monomial.map_or(Self::ZERO, |key| *numbers.entry(key).or_insert(next)));
            }
        }
        let present = (0..dimension).filter(|i| weights[*i] > 0.0);
        let coordinates = present.map(|i| (sorted(factors[i].clone()), i as u32)).collect();
        let indicator = |base: &Base| levels.feature(base.feature).indicator;
        let indicators = factors.iter().map(|factors| factors.iter().all(indicator)).collect();
        let count = numbers.len() as u32;
        Monomials { dimension, count, entries, factors, indicators, coordinates }
    }

    /// Number of distinct monomials that are not identically zero.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// The number of the monomial of each entry of `x x^T`, upper triangle by rows; [`Monomials::ZERO`] where the product is identically zero.
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// The number of the monomial of one entry, row at most column.
    pub fn entry(&self, row: usize, column: usize) -> u32 {
        let above = row * self.dimension - triangle(row) + row;
        self.entries[above + column - row]
    }

    /// True for a coordinate that is its own square, weights left out.
    pub(crate) fn is_indicator(&self, coordinate: usize) -> bool {
        self.indicators[coordinate]
    }

    /// The coordinate that is the product of the factors which two coordinates share; none if they share none, or no coordinate is that product.
    pub fn common(&self, left: usize, right: usize) -> Option<usize> {
        let (left, right) = (&self.factors[left], &self.factors[right]);
        let shared: Factors = left.iter().filter(|base| right.contains(base)).copied().collect();
        if shared.is_empty() {
            return None;
        }
        self.coordinates.get(&sorted(shared)).map(|place| *place as usize)
    }
}

fn sorted(mut factors: Factors) -> Factors {
    factors.sort_unstable();
    factors
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::features::{
        Level,
        levels::tests::{levels, part},
    };

    /// A vector, weights left out, of one cell for each category and of these numbers; `None` where a category is not listed.
    fn vector(categories: [Option<usize>; 3], numbers: [f64; 3]) -> Vec<f64> {
        let one_hot = |size: usize, at: Option<usize>| -> Vec<f64> {
            (0..size).map(|i| f64::from(u8::from(at == Some(i)))).collect()
        };
        let [a, b, d] = categories;
        let (a, b, d) = (one_hot(2, a), one_hot(3, b), one_hot(4, d));
        let (c, e) = (vec![numbers[0]], numbers[1..].to_vec());
        let outer = |left: &[f64], right: &[f64]| -> Vec<f64> {
            left.iter().flat_map(|x| right.iter().map(move |y| x * y)).collect()
        };
        [&a, &c, &d, &e, &outer(&a, &d), &outer(&b, &d), &outer(&c, &e), &vec![1.0]]
            .into_iter()
            .flatten()
            .copied()
            .collect()
    }

    /// All records of categories with numbers that are in no relation: two entries are one monomial exactly where they are equal in all of them.
    #[test]
    fn entries_are_one_monomial_where_they_are_equal_in_all_records() {
        let levels = levels();
        let monomials = levels.monomials();
        let d = levels.dimension();
        assert_eq!(d, 2 + 1 + 4 + 2 + 8 + 12 + 2 + 1);
        let mut records = Vec::new();
        let listed = |size: usize| (0..size).map(Some).chain([None]);
        for a in listed(2) {
            for b in listed(3) {
                for d in listed(4) {
                    for numbers in [[0.61, -0.37, 0.83], [-0.29, 0.71, 0.43]] {
                        records.push(vector([a, b, d], numbers));
                    }
                }
            }
        }
        let pairs = (0..d).flat_map(|i| (i..d).map(move |j| (i, j)));
        let mut of_number = HashMap::new();
        let mut distinct = BTreeSet::new();
        for (at, (i, j)) in pairs.enumerate() {
            // To ten digits, with one sign of zero: products are taken in different orders.
            let digits = |x: &Vec<f64>| (x[i] * x[j] * 1e10).round() as i64;
            let values: Vec<i64> = records.iter().map(digits).collect();
            let zero = values.iter().all(|value| *value == 0);
            assert_eq!(monomials.entry(i, j), monomials.entries()[at]);
            assert_eq!(monomials.entries()[at] == Monomials::ZERO, zero, "{i} {j}");
            if !zero {
                let first = of_number.entry(monomials.entries()[at]).or_insert(values.clone());
                assert_eq!(*first, values, "{i} {j}");
                distinct.insert(values);
            }
        }
        assert_eq!((distinct.len(), of_number.len()), (monomials.count(), monomials.count()));
    }

    #[test]
    fn what_two_coordinates_share_is_a_coordinate_or_nothing() {
        let levels = levels();
        let monomials = levels.monomials();
        let starts: Vec<usize> = levels.parts().map(|(_, range)| range.start).collect();
        let (number, action, pair, cross, other) =
            (starts[1], starts[2], starts[3], starts[4], starts[5]);
        // Cross (a0, d1) with (b2, d1), with its parents, with itself, and what shares nothing.
        assert_eq!(monomials.common(cross + 1, other + 2 * 4 + 1), Some(action + 1));
        assert_eq!(monomials.common(cross + 1, action + 1), Some(action + 1));
        assert_eq!(monomials.common(cross + 1, 0), Some(0));
        assert_eq!(monomials.common(cross + 1, cross + 1), Some(cross + 1));
        assert_eq!(monomials.common(number, action), None);
        assert_eq!(monomials.common(starts[6] + 1, pair + 1), Some(pair + 1));
        // Feature b has no part of its own.
        assert_eq!(monomials.common(other, other + 1), None);
        let sums: Vec<Level> = levels.parts().map(|(part, _)| part.level()).collect();
        assert_eq!(sums[3..5], [Level::Main, Level::Cross]);
        assert_eq!(sums[7], Level::Constant);
    }

    #[test]
    fn parts_without_weight_are_left_out() {
        let with = |weight| {
            let parts =
                vec![part(&[0], weight), part(&[1], 0.5), part(&[0, 1], 0.5), part(&[], 0.5)];
            Levels::new(vec![Cells::indicator(2), Cells::indicator(3)], parts).unwrap()
        };
        let (all, without) = (with(0.5), with(0.0));
        assert_eq!((all.monomials().count(), without.monomials().count()), (12, 10));
        assert_eq!(without.monomials().entry(0, 5), Monomials::ZERO);
        assert_eq!(
            (all.monomials().common(0, 5), without.monomials().common(0, 5)),
            (Some(0), None)
        );
    }
}
