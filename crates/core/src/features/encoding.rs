//! One feature of a record as one coordinate: ranges, listed categories, hashed words.
//!
//! ```text
//! range [a, b]       v  ->  clamp(2 (v - a)/(b - a) - 1, -1, 1)                 1 coordinate
//! categories         w  ->  1 in the coordinate of w                            one coordinate a category
//! hash, B buckets    w  ->  1 in coordinate floor(mix(FNV-1a(w)) B / 2^64)      B coordinates
//! cycle p            v  ->  (sin, cos)(2 pi (v mod p) / p)                      2 coordinates
//! bins e_1 < .. < e_n  v  ->  1 in the coordinate of the number of e_i <= v     n + 1 coordinates
//! ```
//!
//! **Norm.** A feature is one coordinate of size at most 1, or a sine and a cosine of one angle, or zero: its norm is at most 1, by rounding at
//! most `1 + 4e-16`. A category that is not listed has no coordinate: its block is zero, like that of a missing value, and a missing number is
//! the middle of its range, which is zero too. A coordinate for everything that is not listed would cost a dimension, and with it noise, in
//! every rule; a caller that needs one maps such words to a listed category before the rule.
//!
//! `mix` is [`hash::mixed`]: FNV-1a leaves its first bits nearly untouched by the last byte of a word, and its last bits depend on the last bits
//! of each byte only.

use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::{Value, turn::turn};
use crate::{Error, Result, hash, special::decimal};

/// Buckets, at most.
pub const MOST_BUCKETS: u32 = 1 << 16;

/// Encoding of one feature as coordinates. In a file: `{ range = [18, 80] }`, `{ categories = ["phone", "computer"] }`,
/// `{ hash = { buckets = 32 } }`, `{ cycle = 24 }` or `{ bins = [18, 30, 65] }`.
///
/// New kinds are appended: stored bytes hold the place of a kind in this list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// A number between the lowest and the highest; what lies outside is clipped.
    Range(f64, f64),
    /// One of these words.
    Categories(Vec<String>),
    /// Any word, of a vocabulary that is not listed. Words in one bucket are one to the learner.
    Hash {
        /// Number of coordinates.
        buckets: u32,
    },
    /// A number that begins again after a period, such as the hour of a day (24).
    Cycle(f64),
    /// A number as one of the intervals between these edges; the first and the last interval are open.
    Bins(Vec<f64>),
}

/// Outcome of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was encoded as it is.
    Known,
    /// A number outside its range: taken as the nearer end.
    Clipped,
    /// A word that is not listed: no coordinate.
    Unknown,
    /// No value, an empty text, or NaN: no coordinate.
    Missing,
    /// A list, an object, or a text where a number should be: no coordinate.
    Mistyped,
}

/// A feature that was encoded: the coordinates of its block that are not zero, and the outcome of the value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coordinate {
    /// Index in the block and value in [-1, 1]; `None` where the block is zero.
    pub entry: Option<(usize, f64)>,
    /// The second one, which only a cycle has.
    pub second: Option<(usize, f64)>,
    /// Outcome of the value.
    pub outcome: Outcome,
}

impl Coordinate {
    fn none(outcome: Outcome) -> Self {
        Coordinate { entry: None, second: None, outcome }
    }

    fn one(index: usize, value: f64, outcome: Outcome) -> Self {
        Coordinate { entry: Some((index, value)), second: None, outcome }
    }

    /// All of them.
    pub fn entries(&self) -> impl Iterator<Item = (usize, f64)> {
        self.entry.into_iter().chain(self.second)
    }
}

/// An [`Encoding`] that was checked.
///
/// ```
/// use reticent::features::{Encoding, Outcome};
/// let age = Encoding::Range(18.0, 80.0).check("age")?;
/// assert_eq!(age.encode_text("49").entry, Some((0, 0.0)));
/// assert_eq!(age.encode_text("101").entry, Some((0, 1.0)));
/// assert_eq!(age.encode_text("101").outcome, Outcome::Clipped);
/// assert_eq!(age.encode_text("old").outcome, Outcome::Mistyped);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Encoder {
    encoding: Encoding,
    /// Places of listed words, in the order of the words.
    places: Vec<u32>,
}

impl Encoding {
    /// Refuses what no record could be encoded by; `name` is the feature's in the error.
    pub fn check(&self, name: &str) -> Result<Encoder> {
        let mut places = Vec::new();
        match self {
            Encoding::Range(low, high) => {
                // Halves, so that no difference overflows.
                let half = 0.5 * high - 0.5 * low;
                if !(low.is_finite() && high.is_finite() && half >= f64::MIN_POSITIVE) {
                    let value = format!("[{low}, {high}] for {name}");
                    let remedy =
                        "expected the lowest finite number of the feature first, then the highest";
                    return Err(Error::invalid("range", value, remedy));
                }
            }
            Encoding::Categories(words) => {
                let refuse = |what: &str, remedy: &str| {
                    Err(Error::invalid("categories", format!("{what} for {name}"), remedy))
                };
                if words.is_empty() {
                    return refuse("[]", "list every word of the feature");
                }
                if let Some(empty) = words.iter().find(|word| word.trim().is_empty()) {
                    let remedy = "an empty cell is a missing one: leave it out";
                    return refuse(&format!("{empty:?}"), remedy);
                }
                // A heap sorts by less code than the standard library's sort, which a page would download.
                let named = words.iter().map(String::as_str).zip(0..);
                let sorted: Vec<(&str, u32)> = named.collect::<BinaryHeap<_>>().into_sorted_vec();
                if let Some(twice) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                    return refuse(&format!("{:?} twice", twice[0].0), "list every word once");
                }
                places = sorted.into_iter().map(|(_, place)| place).collect();
            }
            Encoding::Hash { buckets } => {
                if !(1..=MOST_BUCKETS).contains(buckets) {
                    let remedy = format!("expected a whole number from 1 to {MOST_BUCKETS}");
                    return Err(Error::invalid("buckets", format!("{buckets} for {name}"), remedy));
                }
            }
            Encoding::Cycle(period) => {
                if !(period.is_finite() && *period >= f64::MIN_POSITIVE) {
                    let remedy = "expected a positive period; give the number after which the feature begins again, such as 24 for hours";
                    return Err(Error::invalid("cycle", format!("{period} for {name}"), remedy));
                }
            }
            Encoding::Bins(edges) => {
                let increasing = edges.windows(2).all(|pair| pair[0] < pair[1]);
                let finite = edges.iter().all(|edge| edge.is_finite());
                if edges.is_empty()
                    || !increasing
                    || !finite
                    || edges.len() >= MOST_BUCKETS as usize
                {
                    let remedy = "expected finite edges, each larger than the one before; give them in order, such as [18, 30, 65]";
                    return Err(Error::invalid("bins", format!("{edges:?} for {name}"), remedy));
                }
            }
        }
        Ok(Encoder { encoding: self.clone(), places })
    }
}

impl Encoding {
    /// The kind and the size in words.
    pub(super) fn described(&self) -> String {
        match self {
            Encoding::Range(low, high) => format!("a range from {low} to {high}"),
            Encoding::Categories(words) => format!("{} categories", words.len()),
            Encoding::Hash { buckets } => format!("{buckets} buckets"),
            Encoding::Cycle(period) => format!("a cycle of {period}"),
            Encoding::Bins(edges) => format!("{} bins", edges.len() + 1),
        }
    }
}

impl Encoder {
    /// Number of coordinates the feature has.
    pub fn dimension(&self) -> usize {
        match &self.encoding {
            Encoding::Range(..) => 1,
            Encoding::Categories(words) => words.len(),
            Encoding::Hash { buckets } => *buckets as usize,
            Encoding::Cycle(_) => 2,
            Encoding::Bins(edges) => edges.len() + 1,
        }
    }

    /// The same with these words only: others of its list keep their coordinates, and no value has them.
    pub(super) fn only(mut self, words: &[String]) -> Self {
        if let Encoding::Categories(listed) = &self.encoding {
            self.places.retain(|place| words.contains(&listed[*place as usize]));
        }
        self
    }

    /// True for a number that keeps its value: what products and Fourier features are made of.
    pub(super) fn is_number(&self) -> bool {
        matches!(self.encoding, Encoding::Range(..) | Encoding::Cycle(_))
    }

    /// True for a feature whose block is zero or has one coordinate of 1.
    pub(super) fn is_one_hot(&self) -> bool {
        !self.is_number()
    }

    /// Encodes a value; every value has an outcome, and none fails. Words are compared as they are; numbers and booleans as words are
    /// `3` (for 3 and 3.0), `0.25`, `true`.
    pub fn encode(&self, value: &Value) -> Coordinate {
        match (&self.encoding, value) {
            (_, Value::Missing) => Coordinate::none(Outcome::Missing),
            (_, Value::List(_) | Value::Record(_)) => Coordinate::none(Outcome::Mistyped),
            (_, Value::Text(text)) => self.encode_text(text),
            (_, Value::Bool(value)) => self.encode_text(if *value { "true" } else { "false" }),
            (_, Value::Number(value)) if value.is_nan() => Coordinate::none(Outcome::Missing),
            (Encoding::Categories(_) | Encoding::Hash { .. }, Value::Integer(value)) => {
                self.encode_text(&digits(*value))
            }
            (_, Value::Integer(value)) => self.encode_number(*value as f64),
            (
                Encoding::Range(..) | Encoding::Cycle(_) | Encoding::Bins(_),
                Value::Number(value),
            ) => self.encode_number(*value),
            // Zero has one sign.
            (_, Value::Number(value)) => self.encode_text(&(value + 0.0).to_string()),
        }
    }

    /// Encodes a number that is not NaN, of a feature that is one.
    fn encode_number(&self, value: f64) -> Coordinate {
        match &self.encoding {
            Encoding::Range(low, high) => scaled(*low, *high, value),
            // The remainder is exact, so that a number and the same number periods later have the same bits.
            Encoding::Cycle(period) if value.is_finite() => {
                let (sine, cosine) = turn(value.rem_euclid(*period) / period);
                let second = Some((1, cosine));
                Coordinate { entry: Some((0, sine)), second, outcome: Outcome::Known }
            }
            Encoding::Bins(edges) => {
                let place = edges.partition_point(|edge| *edge <= value);
                Coordinate::one(place, 1.0, Outcome::Known)
            }
            _ => Coordinate::none(Outcome::Mistyped),
        }
    }

    /// The parameters that were checked.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Encodes a CSV cell; an empty one is missing, and numbers are read by [`number`].
    pub fn encode_text(&self, text: &str) -> Coordinate {
        if text.trim().is_empty() {
            return Coordinate::none(Outcome::Missing);
        }
        match &self.encoding {
            Encoding::Range(..) | Encoding::Cycle(_) | Encoding::Bins(_) => match number(text) {
                Some(value) if value.is_nan() => Coordinate::none(Outcome::Missing),
                Some(value) => self.encode_number(value),
                None => Coordinate::none(Outcome::Mistyped),
            },
            Encoding::Categories(words) => {
                match self
                    .places
                    .binary_search_by(|place| words[*place as usize].as_str().cmp(text))
                {
                    Ok(at) => Coordinate::one(self.places[at] as usize, 1.0, Outcome::Known),
                    Err(_) => Coordinate::none(Outcome::Unknown),
                }
            }
            Encoding::Hash { buckets } => {
                let spread = hash::mixed(hash::of_bytes(text.as_bytes()));
                let bucket = (u128::from(spread) * u128::from(*buckets)) >> 64;
                Coordinate::one(bucket as usize, 1.0, Outcome::Known)
            }
        }
    }

    /// Name of coordinate `index`, after the feature's name.
    pub(super) fn label(&self, index: usize) -> String {
        match &self.encoding {
            Encoding::Range(..) => String::new(),
            Encoding::Categories(words) => format!("={}", words[index]),
            Encoding::Hash { .. } => format!("#{index}"),
            Encoding::Cycle(_) => [".sin", ".cos"][index].to_string(),
            Encoding::Bins(edges) => match (index.checked_sub(1), edges.get(index)) {
                (None, Some(edge)) => format!("<{edge}"),
                (Some(below), Some(edge)) => format!("={}..{edge}", edges[below]),
                (_, None) => format!(">={}", edges[edges.len() - 1]),
            },
        }
    }
}

/// The digits of a whole number. JSON as little code reads it has none of more than 64 bits, whose digits take less code.
pub(super) fn digits(value: i128) -> String {
    match u64::try_from(value.unsigned_abs()) {
        Ok(size) => format!("{}{size}", if value < 0 { "-" } else { "" }),
        Err(_) if cfg!(little) => String::new(),
        Err(_) => value.to_string(),
    }
}

/// A text as a number, without spaces around it; `true` and `false` are 1 and 0. NaN is a number here.
pub fn number(text: &str) -> Option<f64> {
    match text.trim() {
        "true" => Some(1.0),
        "false" => Some(0.0),
        digits => decimal::number(digits),
    }
}

/// A number that is not NaN, its range onto [-1, 1].
fn scaled(low: f64, high: f64, value: f64) -> Coordinate {
    let half = 0.5 * high - 0.5 * low;
    let place = ((0.5 * value - 0.5 * low) / half * 2.0 - 1.0).clamp(-1.0, 1.0);
    let inside = (low..=high).contains(&value);
    let outcome = if inside { Outcome::Known } else { Outcome::Clipped };
    Coordinate::one(0, place, outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::check;

    fn encoder(encoding: Encoding) -> Encoder {
        encoding.check("it").unwrap()
    }

    #[test]
    fn numbers_in_every_form() {
        let age = encoder(Encoding::Range(18.0, 80.0));
        let of =
            |value: Value| (age.encode(&value).entry.map(|(_, x)| x), age.encode(&value).outcome);
        assert_eq!(of(Value::Integer(80)), (Some(1.0), Outcome::Known));
        assert_eq!(of(Value::Number(18.0)), (Some(-1.0), Outcome::Known));
        assert_eq!(of(Value::Text(" 49 ".into())), (Some(0.0), Outcome::Known));
        assert_eq!(of(Value::Text("4.9e1".into())), (Some(0.0), Outcome::Known));
        assert_eq!(of(Value::Bool(true)), (Some(-1.0), Outcome::Clipped));
        assert_eq!(of(Value::Integer(i128::MIN)), (Some(-1.0), Outcome::Clipped));
        for high in [f64::INFINITY, f64::MAX, 80.0_f64.next_up()] {
            assert_eq!(of(Value::Number(high)), (Some(1.0), Outcome::Clipped));
            assert_eq!(of(Value::Number(-high)), (Some(-1.0), Outcome::Clipped));
        }
        for missing in [Value::Missing, Value::Number(f64::NAN), Value::Text(" ".into())] {
            assert_eq!(of(missing), (None, Outcome::Missing));
        }
        assert_eq!(of(Value::Text("NaN".into())), (None, Outcome::Missing));
        for wrong in [Value::Text("old".into()), Value::List(vec![Value::Integer(3)])] {
            assert_eq!(of(wrong), (None, Outcome::Mistyped));
        }
        // Ranges whose ends no difference holds.
        let wide = encoder(Encoding::Range(-f64::MAX, f64::MAX));
        assert_eq!(wide.encode(&Value::Integer(0)).entry, Some((0, 0.0)));
    }

    #[test]
    fn words_in_every_form() {
        let words = ["3", "0.25", "true", "0"].map(String::from).to_vec();
        let listed = encoder(Encoding::Categories(words));
        let of = |value: Value| listed.encode(&value).entry.map(|(place, _)| place);
        assert_eq!(of(Value::Integer(3)), Some(0));
        assert_eq!(of(Value::Number(3.0)), Some(0));
        assert_eq!(of(Value::Text("3".into())), Some(0));
        assert_eq!(of(Value::Number(0.25)), Some(1));
        assert_eq!(of(Value::Bool(true)), Some(2));
        assert_eq!(of(Value::Number(-0.0)), Some(3));
        assert_eq!(listed.encode_text("True").outcome, Outcome::Unknown);
        assert_eq!(listed.encode_text("").outcome, Outcome::Missing);
        for number in [0, -1, 17, i128::from(u64::MAX), -i128::from(u64::MAX), 1 << 64, i128::MIN] {
            assert_eq!(digits(number), number.to_string());
        }
        let big = 1_i128 << 100;
        let hashed = encoder(Encoding::Hash { buckets: 1000 });
        assert_eq!(hashed.encode(&Value::Integer(big)), hashed.encode_text(&big.to_string()));
        assert_eq!(hashed.encode(&Value::Number(f64::NAN)).outcome, Outcome::Missing);
    }

    #[test]
    fn cycles_begin_again_and_bins_are_open_at_both_ends() {
        let hour = encoder(Encoding::Cycle(24.0));
        let of = |value: f64| hour.encode(&Value::Number(value));
        assert_eq!(
            (hour.dimension(), of(6.0).entry, of(6.0).second),
            (2, Some((0, 1.0)), Some((1, 0.0)))
        );
        for value in [0.0, 1.0, 13.5, 23.75] {
            assert_eq!(of(value), of(value + 24.0));
            assert_eq!(of(value), of(value - 48.0));
        }
        assert_eq!(of(f64::INFINITY).outcome, Outcome::Mistyped);
        assert_eq!(of(f64::NAN).outcome, Outcome::Missing);
        assert_eq!(hour.encode_text("noon").outcome, Outcome::Mistyped);
        assert_eq!(hour.encode_text(" 6 "), hour.encode(&Value::Integer(6)));
        let age = encoder(Encoding::Bins(vec![18.0, 30.0]));
        let place = |value: f64| age.encode(&Value::Number(value)).entry.unwrap().0;
        assert_eq!(
            [-f64::INFINITY, 17.9, 18.0, 29.9, 30.0, f64::INFINITY].map(place),
            [0, 0, 1, 1, 2, 2]
        );
        assert_eq!([0, 1, 2].map(|index| age.label(index)), ["<18", "=18..30", ">=30"]);
        assert_eq!(age.encode(&Value::Missing).entry, None);
    }

    /// Names that differ in their last digits only fill the buckets evenly; by the first bits of FNV-1a itself they would not.
    #[test]
    fn buckets_are_filled_evenly() {
        let counts = |bucket: &dyn Fn(&str) -> usize| {
            let mut counts = [0; 32];
            (0..6400).for_each(|i| counts[bucket(&format!("item {i:04}"))] += 1);
            counts
        };
        let hashed = encoder(Encoding::Hash { buckets: 32 });
        let ours = counts(&|word| hashed.encode_text(word).entry.unwrap().0);
        assert!(!check::chi_square_alarm(&ours, &[1.0 / 32.0; 32]), "{ours:?}");
        let bare = counts(&|word| (hash::of_bytes(word.as_bytes()) >> 59) as usize);
        assert!(check::chi_square_alarm(&bare, &[1.0 / 32.0; 32]), "{bare:?}");
    }

    #[test]
    fn what_no_record_fits_is_refused() {
        let words =
            |words: &[&str]| Encoding::Categories(words.iter().map(|w| w.to_string()).collect());
        for (encoding, start) in [
            (Encoding::Range(80.0, 18.0), "range: got [80, 18] for age; "),
            (Encoding::Range(1.0, 1.0), "range: got [1, 1] for age; "),
            (Encoding::Range(f64::NAN, 1.0), "range: got [NaN, 1] for age; "),
            (Encoding::Range(0.0, f64::INFINITY), "range: got [0, inf] for age; "),
            (Encoding::Range(0.0, 5e-324), "range: got [0, 0.0000"),
            (words(&[]), "categories: got [] for age; "),
            (words(&["a", "b", "a"]), "categories: got \"a\" twice for age; "),
            (words(&["a", ""]), "categories: got \"\" for age; "),
            (Encoding::Hash { buckets: 0 }, "buckets: got 0 for age; "),
            (Encoding::Hash { buckets: MOST_BUCKETS + 1 }, "buckets: got 65537 for age; "),
            (Encoding::Cycle(0.0), "cycle: got 0 for age; expected a positive period"),
            (Encoding::Cycle(-24.0), "cycle: got -24 for age; "),
            (Encoding::Cycle(f64::NAN), "cycle: got NaN for age; "),
            (Encoding::Cycle(f64::INFINITY), "cycle: got inf for age; "),
            (Encoding::Bins(vec![]), "bins: got [] for age; expected finite edges"),
            (Encoding::Bins(vec![1.0, 3.0, 2.0]), "bins: got [1.0, 3.0, 2.0] for age; "),
            (Encoding::Bins(vec![1.0, 1.0]), "bins: got [1.0, 1.0] for age; "),
            (Encoding::Bins(vec![0.0, f64::NAN]), "bins: got [0.0, NaN] for age; "),
        ] {
            let text = encoding.check("age").unwrap_err().to_string();
            assert!(text.starts_with(start), "{text}");
        }
    }
}
