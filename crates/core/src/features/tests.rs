//! The whole rule: known answers, what is refused, and what holds for every record.

use proptest::prelude::*;
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

#[test]
fn files_that_say_something_else_are_refused() {
    for (text, what) in [
        (r#"{"context": {"age": 3}}"#, "\"age\" is no feature: give { range"),
        (r#"{"context": {"age": {}}}"#, "\"age\" is no feature"),
        (r#"{"context": {"age": {"range": [1]}}}"#, "\"age.range\" is no feature"),
        (r#"{"context": {"age": {"range": [1, 2], "hash": {"buckets": 2}}}}"#, "is no feature"),
        (
            r#"{"context": {"u": {"a": {"range": [0, 1]}}, "u.a": {"range": [0, 2]}}}"#,
            "\"u.a\" is given twice",
        ),
        (r#"{"context": []}"#, "a table of features"),
        (r#"{"contxt": {}}"#, "unknown field `contxt`"),
        (r#"{"projection": {"dimension": 3}}"#, "missing field `seed`"),
    ] {
        let error = serde_json::from_str::<FeaturesParams>(text).unwrap_err().to_string();
        assert!(error.contains(what), "{text}: {error}");
    }
    let deep = (0..20).fold(json!({ "range": [0, 1] }), |inner, _| json!({ "n": inner }));
    let error = serde_json::from_value::<FeaturesParams>(json!({ "context": deep })).unwrap_err();
    assert!(error.to_string().contains("at most 8 names"), "{error}");
}

#[test]
fn rules_that_no_record_fits_are_refused() {
    let with = |change: &dyn Fn(&mut FeaturesParams)| {
        let mut params = home();
        change(&mut params);
        params.check().unwrap_err().to_string()
    };
    let name = |name: &str| {
        let name = name.to_string();
        with(&move |params| {
            params.context.insert(name.clone(), Encoding::Range(0.0, 1.0));
        })
    };
    let cross = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        with(&move |params| params.cross.with.push(names.clone()))
    };
    let project = |dimension, seed| {
        with(&move |params| params.projection = Some(Projection { dimension, seed }))
    };
    let hashed = |buckets| {
        with(&move |params| {
            params.context.insert("word".into(), Encoding::Hash { buckets });
            params.cross.with.push(vec!["word".into(), "topic".into()]);
        })
    };
    for (error, start) in [
        (name(""), "context is \"\": give names joined by single dots"),
        (name("a..b"), "context is \"a..b\": "),
        (name("1.2.3.4.5.6.7.8.9"), "context is \"1.2.3.4.5.6.7.8.9\": a path has at most 8 names"),
        (
            with(&|params| params.action.extend([("x".into(), Encoding::Range(1.0, 0.0))])),
            "range is [1, 0] for action.x: ",
        ),
        (
            cross(&["topic", "device"]),
            r#"cross.with is ["topic", "device"]: "topic" is no feature of the context"#,
        ),
        (
            cross(&["age", "age"]),
            r#"cross.with is ["age", "age"]: "age" is no feature of the action"#,
        ),
        (cross(&["device", "topic"]), r#"cross.with is ["device", "topic"]: it is given twice"#),
        (
            cross(&["device"]),
            r#"cross.with is ["device"]: name one feature of the context and one"#,
        ),
        (
            cross(&["device", "age", "age", "topic"]),
            r#"cross.with is ["device", "age", "age", "topic"]: name one"#,
        ),
        (project(0, 1), "projection.dimension is 0: "),
        (project(1, 1), "projection.dimension is 1: "),
        (project(14, 1), "projection.dimension is 14: the vector has 14 coordinates without"),
        (project(3, 1 << 53), "projection.seed is 9007199254740992: "),
        (hashed(1024), "dimension is 4110: a vector has at most 4096"),
    ] {
        assert!(error.starts_with(start), "{error}");
    }
    let wide = [("a", Encoding::Hash { buckets: MOST_BUCKETS })];
    let mut params = FeaturesParams::new(wide.clone(), wide);
    params.cross.with.push(vec!["a".into(), "a".into()]);
    let error = params.check().unwrap_err().to_string();
    assert!(error.starts_with("dimension is 4295098369: give at most 1048576"), "{error}");
    let empty = FeaturesParams::new::<String>([], []).check().unwrap_err().to_string();
    assert!(empty.starts_with("context is {}: give at least one feature"), "{empty}");
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

#[test]
fn newer_keys_that_mean_nothing_are_refused() {
    let home = |more: serde_json::Value| {
        let mut table = json!({
            "context": { "age": { "range": [18, 80] }, "liked": { "categories": ["news", "sport"] } },
            "action": { "topic": { "categories": ["news", "sport"] }, "word": { "hash": { "buckets": 9 } } },
        });
        for (key, value) in more.as_object().unwrap() {
            table[key] = value.clone();
        }
        let params = serde_json::from_value::<FeaturesParams>(table).map_err(|e| e.to_string());
        params.and_then(|params| params.check().map_err(|error| error.to_string()))
    };
    for (more, start) in [
        (
            json!({ "weight": { "action.topic": -0.1 } }),
            "weight is -0.1 for action.topic: expected a share",
        ),
        (
            json!({ "weight": { "action.topic": 1.5 } }),
            "weight is 1.5 for action.topic: expected a share",
        ),
        (
            json!({ "weight": { "topic": 0.1 } }),
            "weight is 0.1 for topic: expected the name of a part; give one of context.age, context.liked, action.topic",
        ),
        (
            json!({ "weight": { "action.topic": 0.7, "action.word": 0.7 } }),
            "weight is 1.4 in sum: expected shares that sum to at most 1",
        ),
        (
            json!({ "weight": { "action.topic": 0.5, "action.word": 0.5 } }),
            "weight is 1 in sum, nothing left for context.age: ",
        ),
        (
            json!({ "weight": { "action.topic": 0, "action.word": 0, "context.age": 0, "context.liked": 0 } }),
            "weight is 0 for every feature: expected a positive share",
        ),
        (
            json!({ "cross": { "match": [["liked"]] } }),
            r#"cross.match is ["liked"]: name one feature"#,
        ),
        (
            json!({ "cross": { "match": [["topic", "topic"]] } }),
            r#"cross.match is ["topic", "topic"]: "topic" is no feature of the context"#,
        ),
        (
            json!({ "cross": { "match": [["age", "topic"]] } }),
            r#"cross.match is ["age", "topic"], of a range from 18 to 80 and 2 categories: expected two features with the same words"#,
        ),
        (
            json!({ "cross": { "match": [["liked", "word"]] } }),
            r#"cross.match is ["liked", "word"], of 2 categories and 9 buckets: expected"#,
        ),
        (
            json!({ "cross": { "match": [["liked", "topic"], ["liked", "topic"]] } }),
            r#"cross.match is ["liked", "topic"]: it is given twice"#,
        ),
        (
            json!({ "cross": { "with": [["age", "age", "topic"]] } }),
            r#"cross.with is ["age", "age", "topic"]: expected two different"#,
        ),
        (
            json!({ "cross": { "with": [["age", "liked", "topic"], ["liked", "age", "topic"]] } }),
            r#"cross.with is ["liked", "age", "topic"]: it is given twice"#,
        ),
        (json!({ "products": { "degree": 4 } }), "products.degree is 4: expected 2 or 3"),
        (
            json!({ "products": { "degree": 2, "with": "age" } }),
            r#"products.with is ["age"]: "age" is no feature of the action"#,
        ),
        (
            json!({ "fourier": { "count": 0, "scale": 1, "seed": 1 } }),
            "fourier.count is 0: expected",
        ),
        (
            json!({ "fourier": { "count": 4, "scale": 0, "seed": 1 } }),
            "fourier.scale is 0: expected",
        ),
        (
            json!({ "fourier": { "count": 4, "scale": -1, "seed": 1 } }),
            "fourier.scale is -1: expected",
        ),
        (
            json!({ "fourier": { "count": 4, "scale": 1, "seed": 9007199254740992_u64 } }),
            "fourier.seed is 9007199254740992: ",
        ),
        (
            json!({ "context": { "liked": { "categories": ["a"] } }, "fourier": { "count": 4, "scale": 1, "seed": 1 } }),
            "fourier is without numbers: ",
        ),
        (
            json!({ "context": { "liked": { "categories": ["a"] } }, "products": { "degree": 2 } }),
            "products is without numbers: ",
        ),
        (
            json!({ "fourier": { "count": 4096, "scale": 1, "seed": 1 } }),
            "dimension is 8207: a vector has at most 4096 coordinates: give fewer buckets, categories or crosses, or a projection (the widest part, fourier, has 8192)",
        ),
        (json!({ "context": { "age": { "cycle": 0 } } }), "cycle is 0 for context.age: "),
        (
            json!({ "context": { "age": { "cycle": true } } }),
            "\"age\": got a cycle without a period",
        ),
        (json!({ "context": { "age": { "cycle": {} } } }), "\"age\": got a cycle without a period"),
        (
            json!({ "context": { "age": { "bins": [3, 2] } } }),
            "bins is [3.0, 2.0] for context.age: ",
        ),
        (
            json!({ "context": { "age": { "bins": ["a"] } } }),
            "\"age\": got bins that are no numbers",
        ),
        (
            json!({ "context": { "age": { "range": [0, 1], "weight": "much" } } }),
            "\"age\": got a weight that is no number",
        ),
        (
            json!({ "context": { "age": { "range": [0, 1], "weight": 0.1 } }, "weight": { "context.age": 0.1 } }),
            "\"weight of context.age\" is given twice",
        ),
        (
            json!({ "action": { "topic": { "categories": ["a", "b", "a"] } } }),
            "categories is \"a\" twice for action.topic: ",
        ),
    ] {
        let error = home(more.clone()).unwrap_err();
        assert!(error.starts_with(start), "{more}: {error}");
    }
    let mut nan = rule(json!({ "action": { "topic": { "categories": ["a"] } } }));
    nan.weight.insert("action.topic".into(), f64::NAN);
    let error = nan.check().unwrap_err().to_string();
    assert!(error.starts_with("weight is NaN for action.topic: "), "{error}");
    nan.weight.clear();
    nan.fourier = Some(Fourier { count: 1, scale: f64::NAN, seed: 1, with: None });
    assert!(nan.check().unwrap_err().to_string().starts_with("fourier.scale is NaN"));
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

fn any_value() -> impl Strategy<Value = Value> {
    let words =
        prop::sample::select(vec!["phone", "news", "", "17", "inf", "nan", "true", "\u{0}"]);
    let leaf = prop_oneof![
        Just(Value::Missing),
        any::<bool>().prop_map(Value::Bool),
        any::<i128>().prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Number),
        prop::num::f64::ANY.prop_map(Value::Number),
        (-20.0..120.0).prop_map(Value::Number),
        words.prop_map(|word| Value::Text(word.into())),
        any::<String>().prop_map(Value::Text),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        let names = vec!["age", "device", "topic", "length", "user", "city", "user.city", "x"];
        let names = prop::sample::select(names).prop_map(String::from);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::btree_map(names, inner, 0..8).prop_map(Value::Record),
        ]
    })
}

fn any_encoding() -> impl Strategy<Value = Encoding> {
    prop_oneof![
        (-1e300..1e300, 1e-3..1e3_f64)
            .prop_map(|(low, more)| Encoding::Range(low, low + more * (1.0 + f64::abs(low)))),
        (-9.0..9.0, 1e-3..9.0).prop_map(|(low, more)| Encoding::Range(low, low + more)),
        (1_u32..40).prop_map(|buckets| Encoding::Hash { buckets }),
        Just(Encoding::Categories(["phone", "news", "17", "true"].map(String::from).to_vec())),
        prop_oneof![1e-3..100.0_f64, Just(f64::MIN_POSITIVE), Just(24.0)].prop_map(Encoding::Cycle),
        prop::collection::btree_set(-50_i32..50, 1..6)
            .prop_map(|edges| Encoding::Bins(edges.into_iter().map(f64::from).collect())),
    ]
}

/// Rules over the names that [`any_value`] has, each with all crosses or none, projected or not, with newer keys or without.
fn any_rule() -> impl Strategy<Value = FeaturesParams> {
    let side = || {
        let name = prop::sample::select(vec!["age", "device", "topic", "user.city", "user.age"]);
        prop::collection::btree_map(name.prop_map(String::from), any_encoding(), 1..4)
    };
    let projection = prop::option::of((2_usize..100, 0..=1_u64 << 40));
    let maps = (
        prop::option::of(2_u32..4),
        prop::option::of((1_u32..6, 1e-3..10.0, 0..=1_u64 << 40)),
        any::<bool>(),
        prop::collection::vec(prop::option::of(0.0..1.0_f64), 40),
        0..5_usize,
    );
    (side(), side(), any::<bool>(), any::<bool>(), projection, maps).prop_map(
        |(context, action, crossed, constant, projection, maps)| {
            let (degree, fourier, by_action, shares, newer) = maps;
            let pairs =
                || context.keys().flat_map(|l| action.keys().map(|r| vec![l.clone(), r.clone()]));
            let mut with: Vec<_> = if crossed { pairs().collect() } else { Vec::new() };
            let projection = projection.map(|(dimension, seed)| Projection { dimension, seed });
            let mut params =
                FeaturesParams { constant, projection, ..FeaturesParams::new::<String>([], []) };
            if newer > 0 {
                let names: Vec<&String> = context.keys().collect();
                if let [first, second, ..] = names[..] {
                    let last = action.keys().next().cloned();
                    with.extend(last.map(|last| vec![first.clone(), second.clone(), last]));
                }
                let alike = pairs().filter(|pair| {
                    let left = &context[&pair[0]];
                    !matches!(left, Encoding::Range(..) | Encoding::Cycle(_))
                        && *left == action[&pair[1]]
                });
                params.cross.matches = alike.collect();
                let number = |encoding: &Encoding| {
                    matches!(encoding, Encoding::Range(..) | Encoding::Cycle(_))
                };
                let numbers = context.values().chain(action.values()).any(number);
                let by = action.keys().next().cloned().filter(|_| by_action);
                params.products =
                    degree.filter(|_| numbers).map(|degree| Products { degree, with: by.clone() });
                params.fourier = fourier.filter(|_| numbers).map(|(count, scale, seed)| Fourier {
                    count,
                    scale,
                    seed,
                    with: by,
                });
            }
            params.cross.with = with;
            params.context.extend(context);
            params.action.extend(action);
            if newer == 4 {
                params.weighting = Weighting::Groups;
            }
            if newer > 1
                && let Ok(plan) = params.check()
            {
                // Shares of some parts that sum to less than 1, some of them 0.
                let given: Vec<(String, f64)> = plan
                    .parts()
                    .iter()
                    .zip(&shares)
                    .filter_map(|(part, share)| Some((part.name.clone(), (*share)?)))
                    .collect();
                let sum: f64 = given.iter().map(|(_, share)| share).sum::<f64>() * 1.1 + 1e-3;
                params.weight = given
                    .into_iter()
                    .enumerate()
                    .map(|(place, (name, share))| {
                        (name, if newer == 3 && place % 2 == 1 { 0.0 } else { share / sum })
                    })
                    .collect();
            }
            params
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// No record fails; every vector is finite, has the stated length and a norm of at most 1.
    #[test]
    fn every_record_has_a_vector_of_norm_at_most_one(
        params in any_rule(), context in any_value(), actions in prop::collection::vec(any_value(), 0..3),
    ) {
        // A projection may be wider than the rule, and products may be more than a vector has: both are refused before any record.
        let checked = params.check();
        if let Ok(plan) = checked {
            let mut report = Report::default();
            let rows = plan.rows(&context, &actions, &mut report);
            prop_assert_eq!(rows.len(), actions.len());
            prop_assert_eq!(&plan.rows_alone(&context, &actions), &rows);
            for row in rows {
                prop_assert_eq!(row.len(), plan.dimension());
                prop_assert!(row.iter().all(|x| x.is_finite()));
                let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
                prop_assert!(norm <= 1.0 + 1e-12, "{}", norm);
                prop_assert!(params.constant.then(|| row[row.len() - 1]) == plan.constant());
            }
        } else if let Err(error) = checked {
            let message = error.to_string();
            let wide = message.starts_with("dimension");
            prop_assert!(wide || message.starts_with("projection"), "{}", message);
        }
    }

    /// Both forms of a rule give it back, and rules that differ have different hashes.
    #[test]
    fn every_rule_survives_both_forms(params in any_rule(), other in any_rule()) {
        let text = serde_json::to_string(&params).unwrap();
        prop_assert_eq!(&serde_json::from_str::<FeaturesParams>(&text).unwrap(), &params, "{}", text);
        let bytes = postcard::to_stdvec(&params).unwrap();
        prop_assert_eq!(&postcard::from_bytes::<FeaturesParams>(&bytes).unwrap(), &params);
        prop_assert_eq!(bytes == postcard::to_stdvec(&other).unwrap(), params == other);
    }

    /// A part's coordinates have at most its weight as norm, and parts cover the vector.
    #[test]
    fn parts_are_blocks_within_their_weights(
        params in any_rule(), context in any_value(), action in any_value(),
    ) {
        let params = FeaturesParams { projection: None, ..params };
        if let Ok(plan) = params.check() {
            let vector = plan.vector(&context, &action, &mut Report::default());
            let mut end = 0;
            for part in plan.parts() {
                prop_assert_eq!(part.offset, end);
                end += part.cells;
                let block = &vector[part.offset..end];
                let norm = block.iter().map(|x| x * x).sum::<f64>().sqrt();
                prop_assert!(norm <= part.weight * (1.0 + 1e-13), "{}: {} {}", part.name, norm, part.weight);
            }
            prop_assert_eq!(end + usize::from(plan.constant().is_some()), plan.dimension());
            let weights = plan.parts().iter().map(|part| part.weight).chain(plan.constant());
            prop_assert!(weights.map(|w| w * w).sum::<f64>() <= 1.0 + 1e-12);
        }
    }

    /// Whatever JSON says is read, and read again as the same bits.
    #[test]
    fn any_json_is_a_record(text in r#"(\[|\{"age": ?|\{"user": ?)*("[a-z0-9]*"|-?[0-9]{1,30}(\.[0-9]+)?|null|true)(\]|\})*"#) {
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            let plan = home().check().unwrap();
            let vector = plan.vector(&value, &value, &mut Report::default());
            prop_assert!(vector.iter().all(|x| x.is_finite()));
            let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(plan.vector(&record(parsed), &value, &mut Report::default()), vector);
        }
    }
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
    assert!(error.to_string().starts_with("weight is 0 for every feature"), "{error}");
}
