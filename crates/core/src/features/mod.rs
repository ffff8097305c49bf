//! One public rule from records to vectors of norm at most 1.
//!
//! | file | contents |
//! | --- | --- |
//! | `value` | what a record holds: JSON, CSV cells, nested objects by path |
//! | `map` | values by name in a sorted list, for device code that a page downloads |
//! | `json` | the same from JSON by little code, for device code that a page downloads |
//! | `encoding`, `turn` | one feature as coordinates: ranges, categories, hashed words, cycles, bins |
//! | `numbers`, `products`, `fourier` | public maps of the numbers: monomials, random Fourier features |
//! | `parts` | products of factors, and their public weights |
//! | `levels`, `monomials` | which coordinates are the constant, main effects and crosses, and the monomials of their products |
//! | `composition` | levels of a checked rule |
//! | `params`, `table`, `packed` | the rule as a file writes it, and as bytes hold it |
//! | `schema` | the JSON schema of a table of features |
//! | `plan`, `writer` | the rule checked; vectors and their names |
//! | `projection` | a public random projection to fewer coordinates |
//! | `report` | what was clipped, unknown, missing or of another type |
//!
//! **The rule.** A record of a context and one of an action become parts: one for each listed feature, one for each cross (the outer product of one or
//! two features of the context and one of the action), one for each match (the diagonal of such a product, summed: 1 if both features have the same
//! word), one for products and one for Fourier features of the numbers, and one for the constant. Part p has `d_p` coordinates `z_p` and the weight
//! `w_p`:
//!
//! ```text
//! x = (w_1 z_1, ..., w_P z_P),    w_p^2 = sqrt(d_p) / sum_q sqrt(d_q)
//! ```
//!
//! unless the file gives a part's share `w_p^2`, or `weighting = "groups"`: see `parts`.
//!
//! **Norm.** An encoded feature has norm at most 1, so has an outer product of two or three, whose norm is the product of theirs; a match is 0 or 1;
//! products and Fourier features have norm at most 1 by the proofs in their files. Hence `|z_p| <= 1` for every record and
//! `|x|^2 <= sum_p w_p^2 <= 1`, up to rounding: weights are rounded a few times and every `|z_p|` is at most `1 + 1e-14`, so `|x| <= 1 + 1e-12`.
//! After a projection the vector is scaled down to its bound where it is longer. Learners clip to their own bound whatever comes, so no guarantee
//! rests on this: certificates are the same for every rule.
//!
//! **Weights.** Any weights whose squares sum to 1 would do; they decide which part the noise drowns. Let `m_p` be the second moment of a coordinate of
//! part p. With isotropic noise on the sums, the error of a prediction that part p causes has a variance proportional to `d_p / (w_p^2 m_p)`.
//! The sum of these is least at `w_p^2 ~ sqrt(d_p / m_p)`, which is `d_p` for a category of `d_p` equally common words
//! (`m_p = 1/d_p`). But a part that is wide is rarely learnt in full, and with these weights it would leave nothing for narrow ones,
//! which can be learnt from few people; equal weights leave too little for the wide ones. The square root of the dimension lies half way.
//!
//! **Public.** Ranges, words, buckets, periods, edges, weights, seeds and the projection come from the parameters alone and must not be taken from the data that a
//! guarantee protects. Given them, a vector depends on its own record only. No record fails: a refusal would be seen by others and would depend on
//! a person's data.
//!
//! **Bits.** Only `+ - * /`, `floor` and `sqrt` of doubles, in a stated order, and integer hashes: the same bits on every platform.
//! `vectors/features.json` and `vectors/feature_maps.json` have vectors made by another program in another language. A rule without the newer keys has the
//! bits, the bytes and the hash that it had before there were any.

mod composition;
mod encoding;
mod fourier;
mod json;
mod levels;
#[cfg(any(little, test))]
#[cfg_attr(not(little), allow(dead_code))]
mod map;
mod monomials;
mod numbers;
mod packed;
mod params;
mod parts;
mod plan;
mod products;
mod projection;
mod report;
#[cfg(feature = "schema")]
mod schema;
mod table;
#[cfg(test)]
mod tests;
mod turn;
mod value;
mod writer;

pub use encoding::{Coordinate, Encoder, Encoding, MOST_BUCKETS, Outcome, number};
pub use fourier::Fourier;
pub use json::{members_from_json, records_from_json};
pub use levels::{Cells, Level, LevelPart, Levels};
#[cfg(little)]
pub use map::Map;
pub use monomials::Monomials;
use numbers::Numbers;
pub use params::{Cross, FeaturesParams, MOST_DIMENSION, WIDEST};
pub use parts::{Part, PartKind, Weighting};
pub use plan::FeaturesPlan;
pub use products::Products;
pub use projection::Projection;
pub use report::{Counts, Report};
#[cfg(feature = "schema")]
pub use schema::FeatureTable;
pub use table::encodings;
pub use value::{MOST_NAMES, MOST_NESTING, Value};
pub use writer::RowWriter;

/// Values by name, in the order of the names.
#[cfg(not(little))]
pub type Map<V> = std::collections::BTreeMap<String, V>;
