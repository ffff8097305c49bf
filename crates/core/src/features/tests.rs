//! The whole rule: known answers, names, forms and shares; refusals and properties of every record stand in files of their own.

mod properties;
mod refusals;

use serde_json::json;

use super::*;

fn rule(json: serde_json::Value) -> FeaturesParams {
    serde_json::from_value(json).unwrap()
}

fn record(json: serde_json::Value) -> Value {
    serde_json::from_value(json).unwrap()
}

/// The loop of a service, as its file writes it.
fn home() -> FeaturesParams {
    rule(json!({
        "context": { "age": { "range": [18, 80] }, "device": { "categories": ["phone", "computer"] } },
        "action": { "topic": { "categories": ["news", "sport", "music"] }, "length": { "range": [0, 60] } },
        "cross": { "with": [["device", "topic"]] },
    }))
}

/// Records, and the vectors that another program in another language made of them.
#[derive(serde::Deserialize)]
struct KnownAnswers {
    records: Vec<(Value, Value)>,
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    rule: FeaturesParams,
    report: serde_json::Value,
    vectors: Vec<Vec<(usize, f64)>>,
    dimension: usize,
}

impl KnownAnswers {
    fn assert_same_bits(self) {
        for case in self.cases {
            let plan = case.rule.check().unwrap();
            assert_eq!(plan.dimension(), case.dimension, "{}", case.name);
            assert_eq!(plan.names().len(), case.dimension, "{}", case.name);
            let mut report = Report::default();
            for ((context, action), expected) in self.records.iter().zip(&case.vectors) {
                let found = plan.vector(context, action, &mut report);
                let found: Vec<(usize, u64)> = (0..found.len())
                    .filter(|i| found[*i] != 0.0)
                    .map(|i| (i, found[i].to_bits()))
                    .collect();
                let expected: Vec<(usize, u64)> =
                    expected.iter().map(|(i, x)| (*i, x.to_bits())).collect();
                assert_eq!(found, expected, "{}: {context:?} {action:?}", case.name);
            }
            let counted = serde_json::to_value(&report).unwrap();
            for field in ["context", "action", "shortened"] {
                assert_eq!(counted[field], case.report[field], "{}", case.name);
            }
        }
    }
}

/// vectors/generate_features.py.
#[test]
fn vectors_have_the_bits_of_another_program() {
    let file: KnownAnswers =
        serde_json::from_str(include_str!("../../../../vectors/features.json")).unwrap();
    assert!(file.cases.len() >= 7 && file.records.len() >= 50);
    file.assert_same_bits();
}

/// vectors/generate_feature_maps.py.
#[test]
fn newer_keys_have_the_bits_of_another_program() {
    let file: KnownAnswers =
        serde_json::from_str(include_str!("../../../../vectors/feature_maps.json")).unwrap();
    assert!(file.cases.len() >= 14 && file.records.len() >= 39);
    file.assert_same_bits();
}

#[test]
fn names_follow_the_coordinates() {
    let plan = home().check().unwrap();
    let names = plan.names();
    assert_eq!(names.len(), plan.dimension());
    let mut report = Report::default();
    let vector = plan.vector(
        &record(json!({ "age": 80, "device": "computer" })),
        &record(json!({ "topic": "news", "length": 60 })),
        &mut report,
    );
    let set: Vec<&str> = names
        .iter()
        .zip(&vector)
        .filter(|(_, x)| **x > 0.0)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(
        set,
        [
            "context.age",
            "context.device=computer",
            "action.length",
            "action.topic=news",
            "context.device=computer*action.topic=news",
            "constant"
        ]
    );
    assert_eq!((report.contexts, report.actions), (1, 1));
    assert!(report.context.is_empty() && report.action.is_empty());
    assert_eq!(vector.last().copied(), plan.constant());
    // The squares of the weights sum to 1, and this record reaches every one of them.
    assert!((vector.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-14);
}

#[test]
fn counts_are_by_feature_and_add_up() {
    let plan = home().check().unwrap();
    let mut report = Report::default();
    let actions = [json!({ "topic": "war", "length": [] }), json!({ "length": 99 })].map(record);
    let rows = plan.rows(&record(json!({ "age": 3 })), &actions, &mut report);
    assert_eq!(rows.len(), 2);
    assert_eq!((report.contexts, report.actions), (1, 2));
    assert_eq!(report.context["age"], Counts { clipped: 1, ..Counts::default() });
    assert_eq!(report.context["device"], Counts { missing: 1, ..Counts::default() });
    assert_eq!(report.action["topic"], Counts { unknown: 1, missing: 1, ..Counts::default() });
    assert_eq!(report.action["length"], Counts { clipped: 1, mistyped: 1, ..Counts::default() });
    let mut twice = report.clone();
    twice.add(&report);
    assert_eq!((twice.actions, twice.action["topic"].unknown), (4, 2));
}

/// Rows are those of single vectors, and cells of a CSV line are the values of an object.
#[test]
fn one_rule_however_a_record_comes() {
    let plan = home().check().unwrap();
    let mut report = Report::default();
    let context = record(json!({ "age": 40, "device": "phone" }));
    let action = record(json!({ "topic": "music", "length": 7.5 }));
    let vector = plan.vector(&context, &action, &mut report);
    let cells = Value::from_iter([("length", "7.5"), ("topic", "music"), ("other", "9")]);
    let line = Value::from_iter([("device", "phone"), ("age", "40")]);
    assert_eq!(plan.vector(&line, &cells, &mut report), vector);
    let rows = plan.rows(&context, &[cells, action], &mut report);
    assert_eq!(rows, [vector.clone(), vector]);
}

#[test]
fn parameters_survive_a_round_trip() {
    let nested = rule(json!({
        "context": { "user": { "age": { "range": [0, 1] }, "hash": { "hash": { "buckets": 2 } } },
                     "stars": { "categories": [1, 2.5, true, "many"] } },
        "constant": false, "projection": { "dimension": 3, "seed": 5 },
    }));
    let names: Vec<&String> = nested.context.keys().collect();
    assert_eq!(names, ["stars", "user.age", "user.hash"]);
    let words = ["1", "2.5", "true", "many"].map(String::from).to_vec();
    assert_eq!(nested.context["stars"], Encoding::Categories(words));
    let plan = nested.check().unwrap();
    let text = serde_json::to_string(&nested).unwrap();
    let again: FeaturesParams = serde_json::from_str(&text).unwrap();
    assert_eq!((again.check().unwrap().hash(), &again), (plan.hash(), &nested));
    let bytes = postcard::to_stdvec(&nested).unwrap();
    assert_eq!(postcard::from_bytes::<FeaturesParams>(&bytes).unwrap(), nested);
    assert_ne!(home().check().unwrap().hash(), plan.hash());
}

/// Bytes, text and hash of a rule without newer keys, from before there were any.
#[test]
fn rules_without_newer_keys_keep_their_bytes() {
    #[derive(serde::Serialize)]
    enum Old {
        Range(f64, f64),
        Categories(Vec<String>),
        Hash { buckets: u32 },
    }
    #[derive(serde::Serialize)]
    struct Pairs {
        with: Vec<Vec<String>>,
    }
    #[derive(serde::Serialize)]
    struct Before {
        context: std::collections::BTreeMap<String, Old>,
        action: std::collections::BTreeMap<String, Old>,
        cross: Pairs,
        constant: bool,
        projection: Option<Projection>,
    }
    let named = |name: &str, old| [(name.to_string(), old)].into();
    let with = vec![vec!["age".to_string(), "topic".to_string()]];
    for (constant, projection) in
        [(true, None), (false, Some(Projection { dimension: 3, seed: 9 }))]
    {
        let words = vec!["news".to_string(), "sport".to_string()];
        let before = Before {
            context: named("age", Old::Range(18.0, 80.0)),
            action: named("topic", Old::Categories(words.clone()))
                .into_iter()
                .chain([("word".to_string(), Old::Hash { buckets: 8 })])
                .collect(),
            cross: Pairs { with: with.clone() },
            constant,
            projection,
        };
        let action =
            [("topic", Encoding::Categories(words)), ("word", Encoding::Hash { buckets: 8 })];
        let mut now = FeaturesParams::new([("age", Encoding::Range(18.0, 80.0))], action);
        (now.cross.with, now.constant, now.projection) = (with.clone(), constant, projection);
        assert_eq!(postcard::to_stdvec(&now).unwrap(), postcard::to_stdvec(&before).unwrap());
        let text = serde_json::to_string(&now).unwrap();
        assert!(
            text.starts_with(r#"{"context":{"age":{"range":[18.0,80.0]}},"action":{"topic":{"#)
        );
        assert!(text.contains(r#""cross":{"with":[["age","topic"]]},"constant":"#), "{text}");
        assert!(text.ends_with("null}") || text.ends_with(r#""seed":9}}"#), "{text}");
        assert_eq!(now.check().unwrap().hash(), crate::hash::of_params("features 1", &before));
    }
}

/// A feature of weight 0 is read for crosses and has no coordinates; names follow the parts.
#[test]
fn parts_without_weight_have_no_coordinates() {
    let plan = rule(json!({
        "context": { "hour": { "cycle": 24, "weight": 0 }, "liked": { "categories": ["a", "b"], "weight": 0 } },
        "action": { "topic": { "categories": ["a", "b"], "weight": 0.25 } },
        "cross": { "with": [["hour", "topic"]], "match": [["liked", "topic"]] },
        "weight": { "constant": 0.25, "hour*topic": 0.25, "liked==topic": 0.25 },
    }))
    .check()
    .unwrap();
    assert_eq!(
        plan.names(),
        [
            "action.topic=a",
            "action.topic=b",
            "context.hour.sin*action.topic=a",
            "context.hour.sin*action.topic=b",
            "context.hour.cos*action.topic=a",
            "context.hour.cos*action.topic=b",
            "context.liked==action.topic",
            "constant"
        ]
    );
    let of = |hour: f64, liked: &str| {
        let (context, action) =
            (record(json!({ "hour": hour, "liked": liked })), record(json!({ "topic": "b" })));
        plan.vector(&context, &action, &mut Report::default())
    };
    assert_eq!(of(6.0, "b"), [0.0, 0.5, 0.0, 0.5, 0.0, 0.0, 0.5, 0.5]);
    assert_eq!(of(12.0, "a"), [0.0, 0.5, 0.0, 0.0, 0.0, -0.5, 0.0, 0.5]);
}

/// Squared shares of groups: a fifth, two fifths, two fifths of what is not given; within a group by square roots of sizes.
#[test]
fn groups_have_fixed_shares_however_many_parts_they_are() {
    let words = |count: usize| json!((0..count).map(|i| i.to_string()).collect::<Vec<_>>());
    let rule = json!({
        "context": { "a": { "categories": words(9) }, "b": { "categories": words(4) } },
        "action": { "c": { "categories": words(4) }, "d": { "range": [0, 1] }, "e": { "categories": words(9) } },
        "cross": { "with": [["a", "c"], ["b", "e"], ["b", "d"]], "match": [["a", "e"]] },
        "weighting": "groups",
    });
    let shares = |changes: serde_json::Value| -> Vec<(String, f64)> {
        let mut rule = rule.clone();
        for (key, value) in changes.as_object().unwrap() {
            rule[key] = value.clone();
        }
        let plan = serde_json::from_value::<FeaturesParams>(rule).unwrap().check().unwrap();
        let parts = plan.parts().iter().map(|part| (part.name.clone(), part.weight * part.weight));
        parts.chain(plan.constant().map(|c| ("constant".to_string(), c * c))).collect()
    };
    let close = |found: Vec<(String, f64)>, expected: &[(&str, f64)]| {
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, expected.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for ((name, found), (_, expected)) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{name}: {found} {expected}");
        }
    };
    // Roots 2, 1, 3 and 1 of main effects, 6, 6 and 2 of crosses.
    let main = |root: f64| 0.4 * root / 7.0;
    let cross = |root: f64| 0.4 * root / 14.0;
    let all = [
        ("action.c", main(2.0)),
        ("action.d", main(1.0)),
        ("action.e", main(3.0)),
        ("a*c", cross(6.0)),
        ("b*e", cross(6.0)),
        ("b*d", cross(2.0)),
        ("a==e", main(1.0)),
        ("constant", 0.2),
    ];
    close(shares(json!({})), &all);
    // Groups that are absent leave their share to the others, and what is given is taken off first.
    let mains = shares(json!({ "cross": {} }));
    close(
        mains,
        &[
            ("action.c", 2.0 / 9.0),
            ("action.d", 1.0 / 9.0),
            ("action.e", 3.0 / 9.0),
            ("constant", 3.0 / 9.0),
        ],
    );
    let given = shares(json!({ "weight": { "context.a": 0.2, "constant": 0.3, "a*c": 0 } }));
    assert_eq!((given.len(), &given[0].0[..]), (8, "context.a"));
    close(
        given,
        &[
            ("context.a", 0.2),
            ("action.c", 0.25 * 2.0 / 7.0),
            ("action.d", 0.25 / 7.0),
            ("action.e", 0.25 * 3.0 / 7.0),
            ("b*e", 0.25 * 6.0 / 8.0),
            ("b*d", 0.25 * 2.0 / 8.0),
            ("a==e", 0.25 / 7.0),
            ("constant", 0.3),
        ],
    );
    // Planted: shares by roots alone, which crosses take by their number.
    let roots = shares(json!({ "weighting": "roots" }));
    assert!(roots.iter().find(|(name, _)| name == "constant").unwrap().1 < 0.1);
    let context = json!({ "context": { "a": { "range": [0, 1] } }, "weighting": "groups" });
    let error = serde_json::from_value::<FeaturesParams>(context).unwrap().check().unwrap_err();
    assert!(error.to_string().starts_with("weight: got 0 for every feature"), "{error}");
}
