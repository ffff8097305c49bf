//! A rule whose lists of words have changed, over the coordinates that it has had.
//!
//! | change of a list | coordinates |
//! | --- | --- |
//! | a word is appended, wherever it stands in the list | a new one behind the others of its feature, and new cells in the crosses of the feature |
//! | a word is removed | its coordinate stays and is zero for everybody from then on |
//! | a removed word is listed again | it has its coordinate again |
//! | the words stand in another order | none changes |
//!
//! **Weights** stay those that the rule began with, also where a part has more cells: `placed` gives shares by numbers of cells, and other weights would scale
//! what has been learnt. A part of more cells has the norm of its factors as before, so that the norm of a vector keeps its bound. So only lists may change:
//! another feature or cross is another part, which needs a share of the norm, and another number of buckets moves words to other coordinates.
//!
//! New coordinates were zero for everybody before they were appended: an unknown word has none. That is what `release/append.rs` asks for.

use super::{Encoding, FeaturesParams, FeaturesPlan, Map, parts::Part};
use crate::{Error, Result};

impl FeaturesPlan {
    /// The plan of a later rule that differs in lists of words only; an error says in which feature it differs otherwise.
    ///
    /// ```
    /// use reticent::features::{Encoding, FeaturesParams, Report, Value};
    /// let rule = |words: &[&str]| {
    ///     let words = Encoding::Categories(words.iter().map(|word| word.to_string()).collect());
    ///     FeaturesParams::new([("age", Encoding::Range(18.0, 80.0))], [("topic", words)])
    /// };
    /// let began = rule(&["news", "sport"]).check()?;
    /// let later = began.continued(&rule(&["jazz", "news"]))?;
    /// assert_eq!(later.names()[1..4], ["action.topic=news", "action.topic=sport", "action.topic=jazz"]);
    /// assert_eq!(later.places_in(&began), [Some(0), Some(1), Some(2), None, Some(3)]);
    /// assert_eq!(later.parts()[1].weight, began.parts()[1].weight);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn continued(&self, later: &FeaturesParams) -> Result<FeaturesPlan> {
        let sides = [
            ("context", &self.params.context, &later.context),
            ("action", &self.params.action, &later.action),
        ];
        for (side, before, after) in sides {
            if let Some(name) = changed(before, after) {
                let remedy = "expected the same features with longer or shorter lists of words; this change begins a new generation";
                return Err(Error::invalid("features", format!("another {side}.{name}"), remedy));
            }
        }
        let grown = FeaturesParams {
            context: together(&self.params.context, &later.context),
            action: together(&self.params.action, &later.action),
            ..later.clone()
        };
        let same = FeaturesParams {
            context: self.params.context.clone(),
            action: self.params.action.clone(),
            ..later.clone()
        };
        if same != self.params {
            let remedy = "expected the same crosses, weights and products; this change begins a new generation";
            return Err(Error::invalid("features", "other crosses, weights or products", remedy));
        }
        if self.params.projection.is_some() && grown != self.params {
            let remedy = "expected no new words where a projection mixes all coordinates; this change begins a new generation";
            return Err(Error::invalid("projection", "a value", remedy));
        }
        let mut plan = grown.check()?;
        for (part, began) in plan.parts.iter_mut().zip(&self.parts) {
            part.weight = began.weight;
        }
        plan.constant = self.constant;
        for (encoders, words) in
            [(&mut plan.context, &later.context), (&mut plan.action, &later.action)]
        {
            for (name, encoder) in encoders {
                if let Some(Encoding::Categories(listed)) = words.get(name) {
                    *encoder = encoder.clone().only(listed);
                }
            }
        }
        Ok(plan)
    }

    /// Place of each coordinate in an earlier plan that this one continues; none for those that were appended.
    pub fn places_in(&self, earlier: &FeaturesPlan) -> Vec<Option<usize>> {
        if self.params.projection.is_some() {
            return (0..self.dimension).map(Some).collect();
        }
        let parts = self.parts.iter().zip(&earlier.parts);
        let places = parts.flat_map(|(part, before)| {
            (0..part.cells)
                .map(|cell| self.cell_in(part, earlier, cell).map(|place| before.offset + place))
        });
        places.chain(self.constant.map(|_| Some(earlier.dimension - 1))).collect()
    }

    /// Place of a part's cell among those of the same part in an earlier plan.
    fn cell_in(&self, part: &Part, earlier: &FeaturesPlan, mut cell: usize) -> Option<usize> {
        let (mut place, mut size) = (0, 1);
        for factor in part.factors.iter().rev() {
            let (now, before) = (self.cells(*factor), earlier.cells(*factor));
            let index = cell % now;
            if index >= before {
                return None;
            }
            place += index * size;
            (cell, size) = (cell / now, size * before);
        }
        Some(place)
    }

    /// Words of each list that an earlier plan lacks, by side and feature.
    pub fn words_after(&self, earlier: &FeaturesPlan) -> Vec<(String, Vec<String>)> {
        let sides = [
            ("context", &self.params.context, &earlier.params.context),
            ("action", &self.params.action, &earlier.params.action),
        ];
        let mut found = Vec::new();
        for (side, now, before) in sides {
            for (name, encoding) in now {
                if let (Encoding::Categories(words), Some(Encoding::Categories(had))) =
                    (encoding, before.get(name))
                    && words.len() > had.len()
                {
                    found.push((format!("{side}.{name}"), words[had.len()..].to_vec()));
                }
            }
        }
        found
    }
}

/// The first feature that one of two tables lacks, or that differs otherwise than in a list of words.
fn changed(before: &Map<Encoding>, after: &Map<Encoding>) -> Option<String> {
    let lists = |name: &String| {
        matches!(
            (before.get(name), after.get(name)),
            (Some(Encoding::Categories(_)), Some(Encoding::Categories(_)))
        )
    };
    let mut names = before.keys().chain(after.keys());
    names.find(|name| before.get(*name) != after.get(*name) && !lists(name)).cloned()
}

/// Features with the words of both, those of `before` first.
fn together(before: &Map<Encoding>, after: &Map<Encoding>) -> Map<Encoding> {
    let encoding = |(name, encoding): (&String, &Encoding)| {
        let mut encoding = encoding.clone();
        if let (Encoding::Categories(words), Some(Encoding::Categories(later))) =
            (&mut encoding, after.get(name))
        {
            let new: Vec<String> =
                later.iter().filter(|word| !words.contains(word)).cloned().collect();
            words.extend(new);
        }
        (name.clone(), encoding)
    };
    before.iter().map(encoding).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::features::{Cross, Report, Value};

    const WORDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

    fn listed(words: &[&str]) -> Encoding {
        Encoding::Categories(words.iter().map(|word| word.to_string()).collect())
    }

    fn rule(liked: &[&str], topic: &[&str]) -> FeaturesParams {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let cross = Cross {
            with: vec![names(&["liked", "topic"]), names(&["age", "liked", "topic"])],
            matches: Vec::new(),
        };
        let context = [("age", Encoding::Range(0.0, 9.0)), ("liked", listed(liked))];
        FeaturesParams { cross, ..FeaturesParams::new(context, [("topic", listed(topic))]) }
    }

    fn some_words() -> impl Strategy<Value = Vec<&'static str>> {
        prop::sample::subsequence(WORDS.to_vec(), 1..=6).prop_shuffle()
    }

    proptest! {
        /// Over a chain of files: every vector of an earlier one is that of the later one on its old coordinates, appended ones were zero, a word that is not
        /// listed has none, and no vector is longer than 1.
        #[test]
        fn words_keep_their_coordinates_and_new_ones_were_zero(
            files in prop::collection::vec((some_words(), some_words()), 2..5), age in 0.0_f64..9.0,
        ) {
            let mut plans = vec![rule(&files[0].0, &files[0].1).check().unwrap()];
            for (liked, topic) in &files[1..] {
                plans.push(plans.last().unwrap().continued(&rule(liked, topic)).unwrap());
            }
            let last = plans.last().unwrap();
            let (liked_now, topic_now) = files.last().unwrap();
            for (plan, (liked, topic)) in plans.iter().zip(&files) {
                let places = last.places_in(plan);
                prop_assert_eq!(places.iter().flatten().count(), plan.dimension());
                for (one, other) in WORDS.iter().flat_map(|one| WORDS.map(|other| (*one, other))) {
                    let context = Value::from_iter([("age", age.to_string().as_str()), ("liked", one)]);
                    let action = Value::from_iter([("topic", other)]);
                    let vector = |plan: &FeaturesPlan| plan.vector(&context, &action, &mut Report::default());
                    let (then, now) = (vector(plan), vector(last));
                    prop_assert!(now.iter().map(|x| x * x).sum::<f64>() <= 1.0 + 1e-12);
                    let same = |then: &[&str], now: &[&str], word| then.contains(&word) && now.contains(&word);
                    if same(liked, liked_now, one) && same(topic, topic_now, other) {
                        for (x, place) in now.iter().zip(&places) {
                            prop_assert_eq!(*x, place.map_or(0.0, |place| then[place]));
                        }
                    }
                    if !topic_now.contains(&other) {
                        let none = vector(last);
                        let parts = last.parts().iter().filter(|part| part.name.contains("topic"));
                        for part in parts {
                            prop_assert!(none[part.offset..][..part.cells].iter().all(|x| *x == 0.0));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn other_changes_are_refused_with_a_reason() {
        let began = rule(&["a"], &["b"]).check().unwrap();
        let with = |change: &dyn Fn(&mut FeaturesParams)| {
            let mut later = rule(&["a", "c"], &["b", "d"]);
            change(&mut later);
            began.continued(&later).map(|plan| plan.dimension()).map_err(|error| error.to_string())
        };
        assert_eq!(with(&|_| ()), Ok(1 + 2 + 2 + 4 + 4 + 1));
        for (change, reason) in [
            (
                &|rule: &mut FeaturesParams| {
                    drop(rule.context.insert("age".into(), Encoding::Range(0.0, 8.0))) as _
                },
                "another context.age",
            ),
            (
                &|rule| drop(rule.action.insert("topic".into(), Encoding::Hash { buckets: 4 })),
                "another action.topic",
            ),
            (
                &|rule| drop(rule.action.insert("length".into(), Encoding::Range(0.0, 1.0))),
                "another action.length",
            ),
            (&|rule| drop(rule.context.remove("age")), "another context.age"),
            (&|rule| drop(rule.cross.with.pop()), "other crosses, weights or products"),
            (
                &|rule| assert!(rule.weight.insert("constant".into(), 0.1).is_none()),
                "other crosses, weights or products",
            ),
            (&|rule| rule.constant = false, "other crosses, weights or products"),
        ] as [(&dyn Fn(&mut FeaturesParams), &str); 7]
        {
            let error = with(change).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
