//! Sentences for a rule that can be used and does not do what it seems to say.

use super::{Encoding, FeaturesParams, Map};

/// Names of features that begin again, without `_`, `-` and capitals; the largest distance of the ends of such a range, and its period.
const CYCLES: [(&str, f64, u32); 9] = [
    ("hour", 24.0, 24),
    ("hourofday", 24.0, 24),
    ("localhour", 24.0, 24),
    ("weekday", 7.0, 7),
    ("dayofweek", 7.0, 7),
    ("month", 12.0, 12),
    ("monthofyear", 12.0, 12),
    ("week", 53.0, 52),
    ("weekofyear", 53.0, 52),
];

/// Share of the squared norm below which a part is learnt so late that it is hardly meant.
const LITTLE: f64 = 0.01;

impl FeaturesParams {
    /// Sentences, each with the path of what it is about, where the rule is probably not what was meant: an hour as a straight line, a feature that changes no
    /// decision, a part whose weight leaves next to nothing. A rule that [`check`](FeaturesParams::check) refuses has none but these.
    ///
    /// ```
    /// use reticent::features::{Encoding, FeaturesParams};
    /// let words = Encoding::Categories(vec!["news".into(), "sport".into()]);
    /// let params = FeaturesParams::new([("age", Encoding::Range(18.0, 80.0))], [("topic", words)]);
    /// assert!(params.warnings()[0].starts_with("context.age is in no cross"));
    /// ```
    pub fn warnings(&self) -> Vec<String> {
        let sides = || [("context", &self.context), ("action", &self.action)];
        let each = |of: fn(&str, &str, &Encoding) -> Option<String>| -> Vec<String> {
            let side = |(side, features): (&str, &Map<Encoding>)| -> Vec<String> {
                features.iter().filter_map(|(name, encoding)| of(side, name, encoding)).collect()
            };
            sides().into_iter().flat_map(side).collect()
        };
        let mut warnings = each(straight);
        warnings.extend(each(constant));
        warnings.extend(
            self.context.keys().filter(|name| !self.decides(name)).map(|name| self.uncrossed(name)),
        );
        warnings.extend(self.without_actions());
        warnings.extend(self.faint());
        warnings
    }

    /// True if a feature of the context stands in something that differs between actions.
    fn decides(&self, name: &String) -> bool {
        let crosses = self.cross.with.iter().chain(&self.cross.matches);
        let number =
            matches!(self.context.get(name), Some(Encoding::Range(..) | Encoding::Cycle(_)));
        crosses.flatten().any(|one| one == name)
            || (number && (self.products.is_some() || self.fourier.is_some()))
    }

    fn uncrossed(&self, name: &str) -> String {
        let other = self.action.keys().next().map_or("topic", String::as_str);
        let share = match self.weight.get(&format!("context.{name}")) {
            Some(share) if *share == 0.0 => {
                "and has no coordinates of its own, so that it is not used at all"
            }
            _ => "and takes a share of the norm from the other features",
        };
        format!(
            "context.{name} is in no cross and in no match: it adds the same to every action, so that it changes no decision, {share}. Cross it with a feature of the action, such as cross.with = [[\"{name}\", \"{other}\"]], or leave it out"
        )
    }

    /// Products and Fourier features of the context's numbers alone.
    fn without_actions(&self) -> Vec<String> {
        let number =
            |encoding: &Encoding| matches!(encoding, Encoding::Range(..) | Encoding::Cycle(_));
        if self.action.values().any(number) || !self.context.values().any(number) {
            return Vec::new();
        }
        let other = self.action.keys().next().map_or("topic", String::as_str);
        let products = self.products.iter().map(|products| ("products", &products.with));
        let fourier = self.fourier.iter().map(|fourier| ("fourier", &fourier.with));
        let alone = products.chain(fourier).filter(|(_, with)| with.is_none());
        let sentence = |(name, _): (&str, _)| {
            format!(
                "{name} is made of numbers of the context alone: it adds the same to every action, so that it changes no decision. Cross it with a feature of the action: {name}.with = \"{other}\""
            )
        };
        alone.map(sentence).collect()
    }

    /// Parts without a share of their own, to which the given shares leave next to nothing.
    fn faint(&self) -> Option<String> {
        let given = self.weight.values().sum::<f64>();
        let plan = self.check().ok().filter(|_| !self.weight.is_empty())?;
        let rest: Vec<&str> = plan
            .parts()
            .iter()
            .map(|part| part.name.as_str())
            .chain(plan.constant().map(|_| "constant"))
            .filter(|name| !self.weight.contains_key(*name))
            .collect();
        if rest.is_empty() || 1.0 - given >= LITTLE * rest.len() as f64 {
            return None;
        }
        let names = rest.join(", ");
        let (given, percent) = ((given * 1e9).round() / 1e9, 100.0 * (1.0 - given));
        Some(format!(
            "weight: the given shares sum to {given} and leave {percent:.2} % of the squared norm for {names}, which noise will drown. Give smaller shares, or 0 to the parts that are not wanted"
        ))
    }
}

/// A feature that begins again, as a line.
fn straight(side: &str, name: &str, encoding: &Encoding) -> Option<String> {
    let Encoding::Range(low, high) = encoding else { return None };
    let last = name.rsplit('.').next().unwrap_or(name);
    let plain: String =
        last.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let (_, longest, period) = CYCLES.iter().find(|(known, ..)| *known == plain)?;
    // A shorter range is a part of a day or of a year, where a line may be meant.
    let width = high - low;
    (width <= *longest && width >= 0.9 * longest - 1.0).then(|| {
        format!(
            "{side}.{name} is a range from {low} to {high}, and so a straight line: its ends, which are neighbours in time, are farthest apart, and no {last} between them can be best. Give {{ cycle = {period} }}, or bins"
        )
    })
}

/// A feature with one word.
fn constant(side: &str, name: &str, encoding: &Encoding) -> Option<String> {
    let one = match encoding {
        Encoding::Categories(words) => words.len() == 1,
        Encoding::Hash { buckets } => *buckets == 1,
        _ => false,
    };
    let what = match encoding {
        Encoding::Hash { .. } => "one bucket, into which all words fall",
        _ => "one category",
    };
    let effect = match side {
        "action" => {
            "it is the same for every action, so that neither it nor a cross with it changes a decision"
        }
        _ => {
            "it is the same for every person, so that a cross with it says no more than the action's feature does"
        }
    };
    one.then(|| format!("{side}.{name} has {what}: {effect}. List more words, or leave it out"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn warnings(table: serde_json::Value) -> Vec<String> {
        serde_json::from_value::<FeaturesParams>(table).unwrap().warnings()
    }

    const GENRES: [&str; 2] = ["rock", "jazz"];

    #[test]
    fn a_rule_that_does_what_it_says_has_no_warnings() {
        let table = json!({
            "context": {
                "hour": { "cycle": 24 }, "age": { "range": [18, 80] }, "liked": { "categories": GENRES, "weight": 0 },
                "working": { "hour": { "range": [9, 17] } }, "hours": { "range": [0, 24] },
            },
            "action": { "genre": { "categories": GENRES }, "length": { "range": [0, 60] } },
            "cross": { "with": [["hour", "genre"], ["working.hour", "genre"], ["hours", "genre"]], "match": [["liked", "genre"]] },
            "products": { "degree": 2 },
        });
        assert_eq!(warnings(table), [""; 0]);
    }

    #[test]
    fn what_begins_again_and_is_a_range_is_a_straight_line() {
        for (name, low, high, period) in [
            ("hour", 0, 23, "cycle = 24"),
            ("hour", 0, 24, "cycle = 24"),
            ("hourOfDay", 1, 24, "cycle = 24"),
            ("weekday", 0, 6, "cycle = 7"),
            ("day_of_week", 1, 7, "cycle = 7"),
            ("month", 1, 12, "cycle = 12"),
        ] {
            let path = format!("user.{name}");
            let table = json!({
                "context": { "user": { name: { "range": [low, high] } } },
                "action": { "genre": { "categories": GENRES } },
                "cross": { "with": [[path, "genre"]] },
            });
            let found = warnings(table);
            assert!(found.len() == 1, "{found:?}");
            assert!(
                found[0]
                    .starts_with(&format!("context.user.{name} is a range from {low} to {high}")),
                "{found:?}"
            );
            assert!(found[0].contains("straight line") && found[0].contains(period), "{found:?}");
        }
    }

    #[test]
    fn what_changes_no_decision_is_named() {
        let table = json!({
            "context": { "age": { "range": [18, 80] }, "liked": { "categories": GENRES, "weight": 0 } },
            "action": { "genre": { "categories": GENRES } },
        });
        let found = warnings(table);
        assert!(found.len() == 2, "{found:?}");
        assert!(
            found[0].starts_with("context.age is in no cross and in no match")
                && found[0].contains("takes a share")
        );
        assert!(found[1].starts_with("context.liked") && found[1].contains("not used at all"));
        assert!(found[0].contains("cross.with = [[\"age\", \"genre\"]]"));
        for (name, value) in [
            ("products", json!({ "degree": 2 })),
            ("fourier", json!({ "count": 8, "scale": 0.5, "seed": 7 })),
        ] {
            let table = |with: bool| {
                let mut value = value.clone();
                if with {
                    value["with"] = "genre".into();
                }
                json!({
                    "context": { "age": { "range": [18, 80] }, "weight_kg": { "range": [40, 150] } },
                    "action": { "genre": { "categories": GENRES } },
                    name: value,
                })
            };
            let found = warnings(table(false));
            assert!(
                found.len() == 1
                    && found[0]
                        .starts_with(&format!("{name} is made of numbers of the context alone")),
                "{found:?}"
            );
            assert_eq!(warnings(table(true)), [""; 0]);
        }
    }

    #[test]
    fn a_feature_with_one_word_is_named() {
        for (action, words) in [
            (json!({ "categories": ["rock"] }), "one category"),
            (json!({ "hash": { "buckets": 1 } }), "one bucket"),
        ] {
            let table = json!({ "action": { "genre": action, "length": { "range": [0, 60] } } });
            let found = warnings(table);
            assert!(
                found.len() == 1
                    && found[0].starts_with("action.genre has ")
                    && found[0].contains(words),
                "{found:?}"
            );
            assert!(found[0].contains("same for every action"));
        }
    }

    #[test]
    fn shares_that_leave_next_to_nothing_are_named() {
        let table = |share: f64| json!({ "action": { "genre": { "categories": GENRES, "weight": share }, "length": { "range": [0, 60] } } });
        assert_eq!(warnings(table(0.9)), [""; 0]);
        let found = warnings(table(0.99));
        assert!(found.len() == 1, "{found:?}");
        assert!(
            found[0].starts_with("weight: the given shares sum to 0.99 and leave 1.00 %"),
            "{found:?}"
        );
        assert!(found[0].contains("action.length, constant"), "{found:?}");
    }
}
