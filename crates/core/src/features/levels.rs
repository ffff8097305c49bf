//! Levels of the coordinates of a vector: the constant, main effects, crosses.
//!
//! A coordinate is its weight times a product of base coordinates, which are cells of features: none for the constant, one for a main
//! effect, two or three for a cross. Where people are in groups, of which each has a constant of its own, these constants are the cells of one more
//! feature. `monomials` has the products of two coordinates.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::{MOST_DIMENSION, Monomials};
use crate::{Error, Result, error::not_negative, refuse_if};

/// Coordinates of one feature before products are taken.
///
/// ```
/// use reticent::features::Cells;
/// let (words, range) = (Cells::indicator(3), Cells::numbers(1));
/// let equal = Cells { matched: Some((0, 1)), ..Cells::indicator(1) };
/// assert!(words.indicator && !range.indicator && equal.coordinates == 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cells {
    /// Number of coordinates.
    pub coordinates: u32,
    /// True if they are 0 or 1 and at most one of them is 1: a category.
    pub indicator: bool,
    /// The places of two features with the same cells, if this is their match: one coordinate, 1 where both have the same cell.
    #[serde(default)]
    pub matched: Option<(u32, u32)>,
}

impl Cells {
    /// A feature of which at most one coordinate is 1 and the others are 0.
    pub fn indicator(coordinates: u32) -> Self {
        Cells { coordinates, indicator: true, matched: None }
    }

    /// A feature of numbers.
    pub fn numbers(coordinates: u32) -> Self {
        Cells { coordinates, indicator: false, matched: None }
    }
}

/// Consecutive coordinates of a vector: all products of a coordinate of each of the features it is made of, the last one running fastest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LevelPart {
    /// Places of its features: none for the constant, one for a main effect, two or three for a cross.
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
    /// A product of coordinates of two or three features.
    Cross,
}

/// Composition of a vector: which coordinates are the constant, main effects and crosses, of which features.
///
/// ```
/// use reticent::features::{Cells, LevelPart, Levels};
/// // Two devices, three topics, both by topic, and a constant.
/// let part = |of: &[u32], weight| LevelPart { of: of.to_vec(), weight };
/// let parts = vec![part(&[1], 0.6), part(&[0, 1], 0.6), part(&[], 0.5)];
/// let levels = Levels::new(vec![Cells::indicator(2), Cells::indicator(3)], parts)?;
/// assert_eq!(levels.dimension(), 3 + 6 + 1);
/// // Three cells, six crosses and the constant: 55 entries of x x^T are ten sums.
/// assert_eq!(levels.monomials().count(), 10);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Levels {
    pub(super) features: Vec<Cells>,
    pub(super) parts: Vec<LevelPart>,
    /// Number of coordinates of the constant: groups of vectors, of which every vector belongs to one.
    #[serde(default = "one")]
    pub(super) groups: u32,
    /// Follows from the rest, and is made when it is first needed; copies share it.
    #[serde(skip)]
    monomials: Arc<OnceLock<Monomials>>,
}

fn one() -> u32 {
    1
}

impl PartialEq for Levels {
    fn eq(&self, other: &Self) -> bool {
        (&self.features, &self.parts, self.groups) == (&other.features, &other.parts, other.groups)
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
        let levels = Levels { features, parts, groups: 1, monomials: Arc::default() };
        levels.check()?;
        Ok(levels)
    }

    /// The same for vectors whose constant has a coordinate for each of this many groups, of which the vector's own is not zero.
    pub fn with_groups(self, groups: u32) -> Result<Self> {
        let levels = Levels { groups, monomials: Arc::default(), ..self };
        levels.check()?;
        Ok(levels)
    }

    /// Refuses levels that were read and could not have been made.
    pub fn check(&self) -> Result<()> {
        let most = MOST_DIMENSION as u64;
        let remedy = format_args!("expected at most {}: two for each coordinate", 2 * most);
        refuse_if(self.features.len() as u64 > 2 * most, "features", self.features.len(), remedy)?;
        for cells in &self.features {
            let refused = !(1..=most).contains(&u64::from(cells.coordinates));
            refuse_if(
                refused,
                "coordinates",
                cells.coordinates,
                format_args!("expected 1 to {most}"),
            )?;
            self.check_match(cells)?;
        }
        let remedy = format_args!("expected 1 to {most}");
        refuse_if(!(1..=most).contains(&u64::from(self.groups)), "groups", self.groups, remedy)?;
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
                [a, b, c] if a != b && b != c && a != c => {}
                _ => {
                    return refuse(
                        "expected no feature, one, or two or three different ones".into(),
                    );
                }
            }
            dimension = dimension.saturating_add(self.size(part));
        }
        let constants = self.parts.iter().filter(|part| part.of.is_empty()).count();
        let last = self.parts.last().is_some_and(|part| part.of.is_empty() && part.weight > 0.0);
        let remedy = "expected one constant of a weight above 0, as the last part";
        refuse_if(constants != 1 || !last, "constant", constants, remedy)?;
        let remedy = format_args!("expected at most {most} coordinates in all");
        refuse_if(dimension > most, "dimension", dimension, remedy)
    }

    /// Refuses a match of features that are none, or have other cells.
    fn check_match(&self, cells: &Cells) -> Result<()> {
        let Some((left, right)) = cells.matched else { return Ok(()) };
        let of = |place: u32| {
            let feature = self.features.get(place as usize).copied();
            feature.filter(|feature| feature.indicator && feature.matched.is_none())
        };
        let equal = left != right && of(left).is_some() && of(left) == of(right);
        let refused = !equal || !cells.indicator || cells.coordinates != 1;
        let remedy = "expected the places of two features of indicators with as many cells; the match is an indicator of one coordinate";
        refuse_if(refused, "matched", format_args!("({left}, {right})"), remedy)
    }

    fn size(&self, part: &LevelPart) -> u64 {
        if part.of.is_empty() {
            return self.groups.into();
        }
        let cells = |feature: &u32| u64::from(self.features[*feature as usize].coordinates);
        part.of.iter().fold(1, |size: u64, feature| size.saturating_mul(cells(feature)))
    }

    /// Number of coordinates of the constant.
    pub(crate) fn groups(&self) -> usize {
        self.groups as usize
    }

    /// Number of coordinates of a vector.
    pub fn dimension(&self) -> usize {
        let sizes = self.parts.iter().map(|part| self.size(part) as usize);
        sizes.fold(0, usize::saturating_add)
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

    /// Number of equally likely cases of which one makes a coordinate of this part appear: cells of its features of indicators, groups of the
    /// constant; a match appears in one of as many cases as its features have cells.
    pub(crate) fn cells(&self, part: &LevelPart) -> f64 {
        if part.of.is_empty() {
            return self.groups.into();
        }
        let features = part.of.iter().map(|feature| self.features[*feature as usize]);
        let cases = |cells: Cells| match cells.matched {
            Some((left, _)) => self.features[left as usize].coordinates,
            None => cells.coordinates,
        };
        features.filter(|cells| cells.indicator).map(|cells| f64::from(cases(cells))).product()
    }

    /// The monomials of the entries of `x x^T`.
    pub fn monomials(&self) -> &Monomials {
        self.monomials.get_or_init(|| Monomials::of(self))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::features) fn part(of: &[u32], weight: f64) -> LevelPart {
        LevelPart { of: of.to_vec(), weight }
    }

    /// Two categories and a number of the context, a category and a pair of numbers of the action.
    pub(in crate::features) fn levels() -> Levels {
        let (cells, numbers) = (Cells::indicator, Cells::numbers);
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

    #[test]
    fn levels_that_cannot_be_are_refused() {
        let refused = |features: &[u32], parts: Vec<LevelPart>| {
            let features =
                features.iter().map(|coordinates| Cells::indicator(*coordinates)).collect();
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
            (vec![2, 2, 2], vec![part(&[0, 1, 0], 0.5), constant()], "of"),
            (vec![2; 4], vec![part(&[0, 1, 2, 3], 0.5), constant()], "of"),
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
        let matched = |pair| {
            let features = vec![
                Cells::indicator(3),
                Cells::indicator(2),
                Cells::numbers(3),
                Cells { matched: Some(pair), ..Cells::indicator(1) },
                Cells::indicator(3),
            ];
            Levels::new(features, vec![part(&[3], 0.5), constant()])
        };
        assert!(matched((0, 4)).is_ok());
        for pair in [(0, 1), (0, 2), (0, 0), (0, 3), (0, 5)] {
            assert!(matched(pair).unwrap_err().to_string().starts_with("matched: got ("));
        }
        let none = levels().with_groups(0).unwrap_err().to_string();
        assert!(none.starts_with("groups: got 0"), "{none}");
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
