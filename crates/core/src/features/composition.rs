//! Levels of the vectors of a checked rule.
//!
//! Encoders leave a feature's coordinates at zero where its value is missing or not listed, so its cells are at most one 1, not exactly one: what
//! [`Levels`] states of an indicator. Ranges and cycles are numbers.

use super::{Cells, FeaturesPlan, LevelPart, Levels, parts::Factor};
use crate::{Error, Result};

impl FeaturesPlan {
    /// Composition of a vector, for a rule that learns main effects before crosses.
    ///
    /// ```
    /// use reticent::{bandit::Rule, features::{Encoding, FeaturesParams, Weighting}};
    /// let words = |words: &[&str]| Encoding::Categories(words.iter().map(|word| word.to_string()).collect());
    /// let mut params = FeaturesParams::new([("device", words(&["phone", "computer"]))], [("topic", words(&["news", "sport"]))]);
    /// params.cross.with = vec![vec!["device".into(), "topic".into()]];
    /// params.weighting = Weighting::Groups;
    /// let plan = params.check()?;
    /// assert_eq!((plan.dimension(), plan.levels()?.dimension()), (2 + 4 + 1, 7));
    /// let rule = Rule::TWO_LEVEL.with_levels(|| plan.levels())?;
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn levels(&self) -> Result<Levels> {
        let remedy = "expected features, crosses, matches and a constant, of which a rule can say which are main effects; ";
        let refuse = |field, value, act: &str| {
            Err(Error::invalid(field, value, format!("{remedy}{act}, or give rule = thompson")))
        };
        if self.params.projection.is_some() {
            return refuse("projection", "a value", "leave it out");
        }
        let Some(constant) = self.constant else {
            return refuse("constant", "false or of weight 0", "give it a weight");
        };
        let encoded = self.context.iter().chain(&self.action).map(|(_, encoder)| {
            let coordinates = encoder.dimension() as u32;
            match encoder.is_one_hot() {
                true => Cells::indicator(coordinates),
                false => Cells::numbers(coordinates),
            }
        });
        let mut features: Vec<Cells> = encoded.collect();
        let mut parts = Vec::with_capacity(self.parts.len() + 1);
        let action = |place: usize| (self.context.len() + place) as u32;
        for part in &self.parts {
            let mut of = Vec::with_capacity(part.factors.len());
            for factor in &part.factors {
                of.push(match *factor {
                    Factor::Context(place) => place as u32,
                    Factor::Action(place) => action(place),
                    Factor::Match(left, right) => {
                        let matched = Some((left as u32, action(right)));
                        features.push(Cells { matched, ..Cells::indicator(1) });
                        features.len() as u32 - 1
                    }
                    Factor::Products => return refuse("products", "a value", "leave them out"),
                    Factor::Fourier => return refuse("fourier", "a value", "leave them out"),
                });
            }
            parts.push(LevelPart { of, weight: part.weight });
        }
        parts.push(LevelPart { of: Vec::new(), weight: constant });
        Levels::new(features, parts)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use serde_json::{Value as Json, json};

    use crate::{
        features::{FeaturesParams, Monomials, Report, Value},
        noise::Noise,
        release::testing::Seeded,
    };

    fn params(rule: Json) -> FeaturesParams {
        serde_json::from_value(rule).unwrap()
    }

    /// All encodings, crosses of two and three, matches, parts without weight.
    fn rule() -> Json {
        json!({
            "context": {
                "age": { "bins": [20, 40] }, "hour": { "cycle": 24 }, "liked": { "categories": ["a", "b", "c"] },
                "size": { "range": [-1, 1] }, "word": { "hash": { "buckets": 3 } },
            },
            "action": {
                "genre": { "categories": ["a", "b", "c"] }, "length": { "range": [0, 2] }, "tag": { "hash": { "buckets": 3 }, "weight": 0 },
            },
            "cross": {
                "with": [["liked", "genre"], ["hour", "genre"], ["age", "liked", "genre"], ["size", "length"], ["word", "tag"]],
                "match": [["liked", "genre"], ["word", "tag"]],
            },
            "weighting": "groups",
            "weight": { "context.liked": 0.1 },
        })
    }

    /// A record with a value for each feature, of which one in eight is missing.
    fn record(noise: &mut Seeded) -> Value {
        let mut record = Vec::new();
        for (name, low, high) in
            [("age", 0.0, 60.0), ("hour", 0.0, 24.0), ("size", -1.0, 1.0), ("length", 0.0, 2.0)]
        {
            let value = low + (high - low) * noise.uniform();
            let missing = noise.uniform() < 0.125;
            record.push((name, if missing { String::new() } else { value.to_string() }));
        }
        for (name, words) in
            [("liked", "abcn"), ("genre", "abcn"), ("word", "abcdefgh"), ("tag", "abcdefgh")]
        {
            let place = (words.len() as f64 * noise.uniform()) as usize;
            record.push((name, words[place..=place].to_string()));
        }
        Value::from_iter(record)
    }

    /// Records of all kinds: two entries of `x x^T` are one monomial exactly where they are equal in all vectors, weights left out, and zero
    /// exactly where they are zero in all. So nothing is lost and nothing is summed that differs.
    #[test]
    fn monomials_are_those_of_the_vectors_that_encoders_make() {
        for groups in [1, 2] {
            let plan = params(rule()).check().unwrap();
            let levels = plan.levels().unwrap().with_groups(groups).unwrap();
            let d = levels.dimension();
            assert_eq!(d, plan.dimension() + groups as usize - 1);
            let weights: Vec<f64> =
                levels.parts().flat_map(|(part, places)| places.map(|_| part.weight)).collect();
            let mut noise = Seeded(7);
            let vectors: Vec<Vec<f64>> = (0..6000)
                .map(|round| {
                    let (context, action) = (record(&mut noise), record(&mut noise));
                    let mut x = plan.vector(&context, &action, &mut Report::default());
                    if groups == 2 {
                        let constant = x.pop().unwrap();
                        x.extend(if round % 3 == 0 { [constant, 0.0] } else { [0.0, constant] });
                    }
                    x.iter().zip(&weights).map(|(x, weight)| x / weight).collect()
                })
                .collect();
            let monomials = levels.monomials();
            let (mut of_number, mut distinct) = (HashMap::new(), BTreeSet::new());
            for i in 0..d {
                for j in i..d {
                    let digits = |x: &Vec<f64>| (x[i] * x[j] * 1e9).round() as i64;
                    let values: Vec<i64> = vectors.iter().map(digits).collect();
                    let zero = values.iter().all(|value| *value == 0);
                    let number = monomials.entry(i, j);
                    assert_eq!(number == Monomials::ZERO, zero, "{i} {j}");
                    assert_eq!(
                        monomials.is_indicator(i),
                        vectors.iter().all(|x| (x[i] * x[i] - x[i]).abs() < 1e-9)
                    );
                    if !zero {
                        assert_eq!(*of_number.entry(number).or_insert(values.clone()), values);
                        distinct.insert(values);
                    }
                }
            }
            assert_eq!((distinct.len(), of_number.len()), (monomials.count(), monomials.count()));
            // Fewer by far than entries.
            assert!(8 * monomials.count() < 5 * d * (d + 1) / 2, "{} {d}", monomials.count());
        }
    }

    #[test]
    fn what_has_no_levels_is_refused_with_a_remedy() {
        let changed = |key: &str, value: Json| {
            let mut rule = rule();
            rule[key] = value;
            params(rule).check().unwrap().levels().unwrap_err().to_string()
        };
        for (error, start) in [
            (
                changed("projection", json!({ "dimension": 9, "seed": 1 })),
                "projection: got a value",
            ),
            (changed("constant", json!(false)), "constant: got false"),
            (changed("weight", json!({ "constant": 0 })), "constant: got false"),
            (changed("products", json!({ "degree": 2 })), "products: got a value"),
            (
                changed("fourier", json!({ "count": 2, "scale": 1, "seed": 1 })),
                "fourier: got a value",
            ),
        ] {
            assert!(error.starts_with(start) && error.contains("thompson"), "{error}");
        }
    }
}
