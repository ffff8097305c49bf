//! Coordinates of one rule in terms of those of another, for a learner that begins with what one with the other rule has released.
//!
//! A coordinate means the same in both where its part has the same name and its features the same encoding, or lists with the same words: then it differs by the
//! quotient of the two weights only. Other coordinates of the later rule begin without knowledge.

use super::{
    Encoding, FeaturesPlan,
    parts::{Factor, Part},
};

impl FeaturesPlan {
    /// For each coordinate that means the same in an earlier rule, its place there and the factor by which it is longer here.
    ///
    /// ```
    /// use reticent::features::{Encoding, FeaturesParams};
    /// let words = |words: &[&str]| Encoding::Categories(words.iter().map(|word| word.to_string()).collect());
    /// let before = FeaturesParams::new([("age", Encoding::Range(18.0, 80.0))], [("topic", words(&["news", "sport"]))]).check()?;
    /// let later = FeaturesParams::new([("age", Encoding::Range(0.0, 90.0))], [("topic", words(&["jazz", "sport"]))]).check()?;
    /// let places: Vec<Option<usize>> =
    ///     later.carried_from(&before).iter().map(|known| known.map(|(place, _)| place)).collect();
    /// assert_eq!(places, [None, None, Some(2), Some(3)]);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn carried_from(&self, before: &FeaturesPlan) -> Vec<Option<(usize, f64)>> {
        if self.params.projection.is_some() || before.params.projection.is_some() {
            let same = self.params == before.params;
            return (0..self.dimension).map(|at| same.then_some((at, 1.0))).collect();
        }
        let mut known = Vec::with_capacity(self.dimension);
        for part in &self.parts {
            let earlier = before
                .parts
                .iter()
                .find(|other| other.name == part.name && other.kind == part.kind);
            let cells = |cell| self.cell_by_meaning(part, before, earlier?, cell);
            known.extend((0..part.cells).map(cells));
        }
        if let Some(weight) = self.constant {
            known.push(before.constant.map(|earlier| (before.dimension - 1, weight / earlier)));
        }
        known
    }

    /// True if an earlier rule knows something beside the constant.
    pub fn knows_from(&self, before: &FeaturesPlan) -> bool {
        let free = self.dimension - usize::from(self.constant.is_some());
        self.carried_from(before)[..free].iter().any(Option::is_some)
    }

    fn cell_by_meaning(
        &self,
        part: &Part,
        before: &FeaturesPlan,
        earlier: &Part,
        mut cell: usize,
    ) -> Option<(usize, f64)> {
        if part.factors.len() != earlier.factors.len() {
            return None;
        }
        let (mut place, mut size) = (0, 1);
        for (factor, other) in part.factors.iter().zip(&earlier.factors).rev() {
            let cells = self.cells(*factor);
            place += self.index_by_meaning(*factor, before, *other, cell % cells)? * size;
            cell /= cells;
            size *= before.cells(*other);
        }
        Some((earlier.offset + place, part.weight / earlier.weight))
    }

    /// Index in an earlier factor of what has this index in one of the same name.
    fn index_by_meaning(
        &self,
        factor: Factor,
        before: &FeaturesPlan,
        other: Factor,
        index: usize,
    ) -> Option<usize> {
        let (now, then) = match (factor, other) {
            (Factor::Context(now), Factor::Context(then)) => {
                (&self.context[now], &before.context[then])
            }
            (Factor::Action(now), Factor::Action(then)) => {
                (&self.action[now], &before.action[then])
            }
            (Factor::Match(..), Factor::Match(..)) => return Some(index),
            (Factor::Products, Factor::Products) => {
                let same = self.numbers == before.numbers && self.products == before.products;
                return same.then_some(index);
            }
            (Factor::Fourier, Factor::Fourier) => {
                let same = self.numbers == before.numbers && self.fourier == before.fourier;
                return same.then_some(index);
            }
            _ => return None,
        };
        if now.0 != then.0 {
            return None;
        }
        match (now.1.encoding(), then.1.encoding()) {
            (Encoding::Categories(now), Encoding::Categories(then)) => {
                then.iter().position(|word| *word == now[index])
            }
            (now, then) => (now == then).then_some(index),
        }
    }
}
