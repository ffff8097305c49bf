//! Levels of the coordinates of a vector: the constant, main effects, crosses; and the monomials that their products are.
//!
//! A coordinate is its weight times a product of base coordinates, which are cells of features: none for the constant, one for a main
//! effect, two for a cross. So an entry of `sum x x^T` is a weight times the sum of one monomial in at most four base coordinates, and many entries
//! share theirs: a cell squared, the cell times the constant and a cross times its parent are all the count of that cell. In monomials
//!
//! ```text
//! c^2 = c           for an indicator c: a category or a bucket
//! c c' = 0          for two different cells of one feature of indicators
//! ```
//!
//! All of it follows from the public features, so what is computed from it is post-processing of a release.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Serialize};

use super::MOST_DIMENSION;
use crate::{Error, Result, error::not_negative, linalg::triangle, refuse_if};

/// Coordinates of one feature before products are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cells {
    /// Number of coordinates.
    pub coordinates: u32,
    /// True if they are 0 or 1 and at most one of them is 1: a category.
    pub indicator: bool,
}

/// Consecutive coordinates of a vector: all products of a coordinate of each of the features it is made of, the last one running fastest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LevelPart {
    /// Places of its features: none for the constant, one for a main effect, two for a cross.
    pub of: Vec<u32>,
    /// Factor of the products; coordinates of weight 0 are left out of everything.
    pub weight: f64,
}

/// Level of a coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The same in all vectors.
    Constant,
    /// A coordinate of one feature.
    Main,
    /// A product of coordinates of two features.
    Cross,
}

/// Composition of a vector: which coordinates are the constant, main effects and crosses, of which features.
///
/// ```
/// use reticent::features::{Cells, LevelPart, Levels};
/// // Two devices, three topics, both by topic, and a constant.
/// let cells = |coordinates| Cells { coordinates, indicator: true };
/// let part = |of: &[u32], weight| LevelPart { of: of.to_vec(), weight };
/// let parts = vec![part(&[1], 0.6), part(&[0, 1], 0.6), part(&[], 0.5)];
/// let levels = Levels::new(vec![cells(2), cells(3)], parts)?;
/// assert_eq!(levels.dimension(), 3 + 6 + 1);
/// // Three cells, six crosses and the constant: 55 entries of x x^T are ten sums.
/// assert_eq!(levels.monomials().count(), 10);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Levels {
    features: Vec<Cells>,
    parts: Vec<LevelPart>,
    /// Follows from the rest, and is made when it is first needed; copies share it.
    #[serde(skip)]
    monomials: Arc<OnceLock<Monomials>>,
}

impl PartialEq for Levels {
    fn eq(&self, other: &Self) -> bool {
        (&self.features, &self.parts) == (&other.features, &other.parts)
    }
}

impl LevelPart {
    /// The level of its coordinates.
    pub fn level(&self) -> Level {
        match self.of.len() {
            0 => Level::Constant,
            1 => Level::Main,
            _ => Level::Cross,
        }
    }
}

impl Levels {
    /// Vectors of these parts one after the other, the constant last, or the part that stands in the way.
    pub fn new(features: Vec<Cells>, parts: Vec<LevelPart>) -> Result<Self> {
        let levels = Levels { features, parts, monomials: Arc::default() };
        levels.check()?;
        Ok(levels)
    }

    /// Refuses levels that were read and could not have been made.
    pub fn check(&self) -> Result<()> {
        let most = MOST_DIMENSION as u64;
        let remedy = format_args!("give at most {}: two for each coordinate", 2 * most);
        refuse_if(self.features.len() as u64 > 2 * most, "features", self.features.len(), remedy)?;
        for cells in &self.features {
            let refused = !(1..=most).contains(&u64::from(cells.coordinates));
            refuse_if(refused, "coordinates", cells.coordinates, format_args!("give 1 to {most}"))?;
        }
        let mut dimension = 0_u64;
        for part in &self.parts {
            not_negative("weight", part.weight)?;
            let refuse =
                |remedy: String| Err(Error::invalid("of", format!("{:?}", part.of), remedy));
            let known = self.features.len();
            if part.of.iter().any(|feature| *feature as usize >= known) {
                return refuse(format!("there are {known} features: give their places from 0"));
            }
            match part.of.as_slice() {
                [] | [_] => {}
                [left, right] if left != right => {}
                _ => return refuse("give no feature, one, or two different ones".into()),
            }
            dimension = dimension.saturating_add(self.size(part));
        }
        let constants = self.parts.iter().filter(|part| part.of.is_empty()).count();
        let last = self.parts.last().is_some_and(|part| part.of.is_empty() && part.weight > 0.0);
        let remedy = "give one constant of a weight above 0, as the last part";
        refuse_if(constants != 1 || !last, "constant", constants, remedy)?;
        let remedy = format_args!("give at most {most} coordinates in all");
        refuse_if(dimension > most, "dimension", dimension, remedy)
    }

    fn size(&self, part: &LevelPart) -> u64 {
        let cells = |feature: &u32| u64::from(self.features[*feature as usize].coordinates);
        part.of.iter().fold(1, |size, feature| size * cells(feature))
    }

    /// Number of coordinates of a vector.
    pub fn dimension(&self) -> usize {
        self.parts.iter().map(|part| self.size(part) as usize).sum()
    }

    /// The parts, each with its coordinates.
    pub fn parts(&self) -> impl Iterator<Item = (&LevelPart, std::ops::Range<usize>)> {
        let mut end = 0;
        self.parts.iter().map(move |part| {
            let start = end;
            end += self.size(part) as usize;
            (part, start..end)
        })
    }

    /// Number of coordinates of a part that a typical vector shares one appearance among: those of its features of indicators.
    pub(crate) fn cells(&self, part: &LevelPart) -> f64 {
        let features = part.of.iter().map(|feature| self.features[*feature as usize]);
        features.filter(|cells| cells.indicator).map(|cells| f64::from(cells.coordinates)).product()
    }

    /// The monomials of the entries of `x x^T`.
    pub fn monomials(&self) -> &Monomials {
        self.monomials.get_or_init(|| Monomials::of(self))
    }

    /// The base coordinates whose product each coordinate is.
    fn factors(&self) -> Vec<Factors> {
        let mut first = 0;
        let starts: Vec<u32> = self
            .features
            .iter()
            .map(|cells| {
                first += cells.coordinates;
                first - cells.coordinates
            })
            .collect();
        let base = |feature: u32, cell: u32| Base {
            place: starts[feature as usize] + cell,
            feature,
            indicator: self.features[feature as usize].indicator,
        };
        let coordinates = |part: &LevelPart| -> Vec<Factors> {
            let cells = |feature: u32| 0..self.features[feature as usize].coordinates;
            match *part.of.as_slice() {
                [] => vec![Vec::new()],
                [one] => cells(one).map(|cell| vec![base(one, cell)]).collect(),
                [left, right, ..] => cells(left)
                    .flat_map(|i| cells(right).map(move |j| (i, j)))
                    .map(|(i, j)| vec![base(left, i), base(right, j)])
                    .collect(),
            }
        };
        self.parts.iter().flat_map(coordinates).collect()
    }
}

/// A cell of a feature.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Base {
    /// Number among the cells of all features.
    place: u32,
    feature: u32,
    indicator: bool,
}

/// A product of cells.
type Factors = Vec<Base>;

/// Four base coordinates at most, in order, those that are missing as zeros.
fn key(places: impl Iterator<Item = u32>) -> u128 {
    let mut places: Vec<u32> = places.map(|place| place + 1).collect();
    places.sort_unstable();
    places.into_iter().fold(0, |key, place| key << 32 | u128::from(place))
}

/// The monomial of a product of two coordinates; `None` if it is identically zero.
fn product(left: &[Base], right: &[Base]) -> Option<u128> {
    let apart = |a: &Base, b: &Base| a.indicator && a.feature == b.feature && a.place != b.place;
    if left.iter().any(|a| right.iter().any(|b| apart(a, b))) {
        return None;
    }
    let repeated = |b: &&Base| b.indicator && left.contains(b);
    let rest = right.iter().filter(|b| !repeated(b));
    Some(key(left.iter().chain(rest).map(|base| base.place)))
}

/// Sums of monomials that the entries of `sum x x^T` are.
#[derive(Debug, Clone, PartialEq)]
pub struct Monomials {
    dimension: usize,
    count: u32,
    /// Upper triangle by rows.
    entries: Vec<u32>,
    /// The factors of each coordinate, and the coordinate of a weight above 0 that has these factors.
    factors: Vec<Factors>,
    coordinates: HashMap<u128, u32>,
}

impl Monomials {
    /// Number of an entry that is zero in all vectors.
    pub const ZERO: u32 = u32::MAX;

    fn of(levels: &Levels) -> Self {
        let factors = levels.factors();
        let dimension = factors.len();
        let weights: Vec<f64> =
            levels.parts().flat_map(|(part, range)| range.map(|_| part.weight)).collect();
        let mut numbers = HashMap::new();
        let mut entries = Vec::with_capacity(triangle(dimension));
        for i in 0..dimension {
            for j in i..dimension {
                let present = weights[i] > 0.0 && weights[j] > 0.0;
                let monomial = product(&factors[i], &factors[j]).filter(|_| present);
                let next = numbers.len() as u32;
                entries
                    .push(monomial.map_or(Self::ZERO, |key| *numbers.entry(key).or_insert(next)));
            }
        }
        let present = (0..dimension).filter(|i| weights[*i] > 0.0);
        let coordinates =
            present.map(|i| (key(factors[i].iter().map(|base| base.place)), i as u32)).collect();
        Monomials { dimension, count: numbers.len() as u32, entries, factors, coordinates }
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
    pub(crate) fn entry(&self, row: usize, column: usize) -> u32 {
        let above = row * self.dimension - triangle(row) + row;
        self.entries[above + column - row]
    }

    /// The coordinate that is the product of the factors which two coordinates share, or else the constant, which is the last.
    pub fn common(&self, left: usize, right: usize) -> usize {
        let (left, right) = (&self.factors[left], &self.factors[right]);
        let shared = left.iter().filter(|base| right.contains(base)).map(|base| base.place);
        self.coordinates.get(&key(shared)).map_or(self.dimension - 1, |place| *place as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn cells(coordinates: u32) -> Cells {
        Cells { coordinates, indicator: true }
    }

    fn part(of: &[u32], weight: f64) -> LevelPart {
        LevelPart { of: of.to_vec(), weight }
    }

    /// Two categories and a number of the context, a category and a pair of numbers of the action.
    fn levels() -> Levels {
        let numbers = |coordinates| Cells { coordinates, indicator: false };
        let features = vec![cells(2), cells(3), numbers(1), cells(4), numbers(2)];
        let parts = vec![
            part(&[0], 0.3),
            part(&[2], 0.2),
            part(&[3], 0.4),
            part(&[4], 0.1),
            part(&[0, 3], 0.3),
            part(&[1, 3], 0.25),
            part(&[2, 4], 0.2),
            part(&[], 0.5),
        ];
        Levels::new(features, parts).unwrap()
    }

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
    fn what_two_coordinates_share_is_a_coordinate_or_the_constant() {
        let levels = levels();
        let monomials = levels.monomials();
        let starts: Vec<usize> = levels.parts().map(|(_, range)| range.start).collect();
        let (number, action, pair, cross, other) =
            (starts[1], starts[2], starts[3], starts[4], starts[5]);
        let constant = levels.dimension() - 1;
        // Cross (a0, d1) with (b2, d1), with its parents, with itself, and what shares nothing.
        assert_eq!(monomials.common(cross + 1, other + 2 * 4 + 1), action + 1);
        assert_eq!(monomials.common(cross + 1, action + 1), action + 1);
        assert_eq!(monomials.common(cross + 1, 0), 0);
        assert_eq!(monomials.common(cross + 1, cross + 1), cross + 1);
        assert_eq!(monomials.common(number, action), constant);
        assert_eq!(monomials.common(starts[6] + 1, pair + 1), pair + 1);
        // Feature b has no part of its own.
        assert_eq!(monomials.common(other, other + 1), constant);
        let sums: Vec<Level> = levels.parts().map(|(part, _)| part.level()).collect();
        assert_eq!(sums[3..5], [Level::Main, Level::Cross]);
        assert_eq!(sums[7], Level::Constant);
    }

    #[test]
    fn parts_without_weight_are_left_out() {
        let with = |weight| {
            let parts =
                vec![part(&[0], weight), part(&[1], 0.5), part(&[0, 1], 0.5), part(&[], 0.5)];
            Levels::new(vec![cells(2), cells(3)], parts).unwrap()
        };
        let (all, without) = (with(0.5), with(0.0));
        assert_eq!((all.monomials().count(), without.monomials().count()), (12, 10));
        assert_eq!(without.monomials().entry(0, 5), Monomials::ZERO);
        assert_eq!((all.monomials().common(0, 5), without.monomials().common(0, 5)), (0, 11));
    }

    #[test]
    fn levels_that_cannot_be_are_refused() {
        let refused = |features: &[u32], parts: Vec<LevelPart>| {
            let features = features.iter().map(|coordinates| cells(*coordinates)).collect();
            Levels::new(features, parts).unwrap_err().to_string()
        };
        let constant = || part(&[], 0.5);
        for (features, parts, start) in [
            (vec![2], vec![part(&[0], 0.5)], "constant"),
            (vec![2], vec![], "constant"),
            (vec![2], vec![constant(), part(&[0], 0.5)], "constant"),
            (vec![2], vec![part(&[0], 0.5), part(&[], 0.0)], "constant"),
            (vec![2], vec![constant(), constant()], "constant"),
            (vec![2], vec![part(&[1], 0.5), constant()], "of"),
            (vec![2], vec![part(&[0, 0], 0.5), constant()], "of"),
            (vec![2, 2, 2], vec![part(&[0, 1, 2], 0.5), constant()], "of"),
            (vec![0], vec![constant()], "coordinates"),
            (vec![u32::MAX], vec![constant()], "coordinates"),
            (vec![4096], vec![part(&[0], 0.5), constant()], "dimension"),
            (vec![100, 100], vec![part(&[0, 1], 0.5), constant()], "dimension"),
            (vec![2], vec![part(&[0], -0.5), constant()], "weight"),
            (vec![2], vec![part(&[0], f64::NAN), constant()], "weight"),
        ] {
            let error = refused(&features, parts);
            assert!(error.starts_with(start), "{start}: {error}");
        }
    }

    #[test]
    fn levels_are_read_as_they_were_written() {
        let levels = levels();
        let text = serde_json::to_string(&levels).unwrap();
        let read: Levels = serde_json::from_str(&text).unwrap();
        assert_eq!((&read, read.monomials()), (&levels, levels.monomials()));
        let bytes = postcard::to_stdvec(&levels).unwrap();
        assert_eq!(postcard::from_bytes::<Levels>(&bytes).unwrap(), levels);
    }
}
