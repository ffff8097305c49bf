//! Products of numbers with each other: monomials of a chosen degree.
//!
//! ```text
//! v = u / sqrt(m),    z_a = sqrt(k! / a!) v^a    for each monomial a of degree k
//! ```
//!
//! u are the coordinates of all features that are numbers (ranges and cycles), of the context and then of the action; m counts these features.
//! With degree 2 these are all squares and products of two; with degree 3 also cubes and products of three, and both halves are divided by `sqrt 2`.
//!
//! **Norm.** A number has norm at most 1, so `|u|^2 <= m` and `|v| <= 1`. The monomials of degree k with these factors are the distinct entries of the
//! k-fold product of v with itself: by the multinomial theorem `sum_a k!/a! v^(2a) = |v|^(2k) <= 1`. Two such halves, each divided by `sqrt 2`,
//! have a squared norm of at most `1/2 + 1/2`. Rounding adds less than 1e-14.

use serde::{Deserialize, Serialize};

use super::Numbers;
use crate::{Error, Result};

/// Products of numbers: a public map in which squares and products of features are linear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Products {
    /// Factors of a product at most: 2 or 3.
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = 3)))]
    pub degree: u32,
    /// A feature of the action that all of them are crossed with.
    #[serde(default)]
    pub with: Option<String>,
}

impl Products {
    pub(super) fn check(&self, numbers: usize) -> Result<()> {
        if !(2..=3).contains(&self.degree) {
            let remedy = "expected 2 or 3; give the largest number of factors of a product";
            return Err(Error::invalid("products.degree", self.degree, remedy));
        }
        if numbers == 0 {
            let remedy = "expected at least one feature that is a number; give one as a range or a cycle, or leave `products` out";
            return Err(Error::invalid("products", "no number among the features", remedy));
        }
        Ok(())
    }

    /// Number of monomials of this number of coordinates.
    pub(super) fn count(&self, coordinates: usize) -> u64 {
        let n = coordinates as u64;
        let pairs = n.saturating_mul(n + 1) / 2;
        let triples = pairs.saturating_mul(n + 2) / 3;
        pairs.saturating_add(if self.degree == 3 { triples } else { 0 })
    }
}

/// Monomials, each with its coordinates in ascending order and its factor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Monomials(Vec<(Vec<usize>, f64)>);

impl Monomials {
    pub(super) fn new(products: &Products, numbers: &Numbers) -> Self {
        let (n, features) = (numbers.coordinates(), numbers.features() as f64);
        let halves = f64::from(products.degree - 1).sqrt();
        let mut list = Vec::new();
        for i in 0..n {
            for j in i..n {
                let repeats: f64 = if i == j { 1.0 } else { 2.0 };
                list.push((vec![i, j], repeats.sqrt() / features / halves));
            }
        }
        if products.degree == 3 {
            let scale = features * features.sqrt();
            for i in 0..n {
                for j in i..n {
                    for k in j..n {
                        let repeats: f64 = match (i == j, j == k) {
                            (true, true) => 1.0,
                            (false, false) => 6.0,
                            _ => 3.0,
                        };
                        list.push((vec![i, j, k], repeats.sqrt() / scale / halves));
                    }
                }
            }
        }
        Monomials(list)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Writes the monomials of these coordinates, without those that are zero.
    pub(super) fn write(&self, coordinates: &[f64], entries: &mut Vec<(usize, f64)>) {
        entries.clear();
        let value = |(places, factor): &(Vec<usize>, f64)| {
            places.iter().fold(1.0, |product, place| product * coordinates[*place]) * factor
        };
        let all = self.0.iter().map(value).enumerate();
        entries.extend(all.filter(|(_, value)| *value != 0.0));
    }

    pub(super) fn label(&self, index: usize, coordinates: &[String]) -> String {
        let names: Vec<&str> =
            self.0[index].0.iter().map(|place| coordinates[*place].as_str()).collect();
        format!("product({})", names.join("*"))
    }
}
