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

/// Another program in another language made the same bits: vectors/generate_features.py.
#[test]
fn vectors_have_the_bits_of_another_program() {
    #[derive(serde::Deserialize)]
    struct File {
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
    let file: File =
        serde_json::from_str(include_str!("../../../../vectors/features.json")).unwrap();
    assert!(file.cases.len() >= 7 && file.records.len() >= 50);
    for case in file.cases {
        let plan = case.rule.check().unwrap();
        assert_eq!(plan.dimension(), case.dimension, "{}", case.name);
        let mut report = Report::default();
        for ((context, action), expected) in file.records.iter().zip(&case.vectors) {
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
            cross(&["device", "topic", "age"]),
            r#"cross.with is ["device", "topic", "age"]: name one"#,
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
    ]
}

/// Rules over the names that [`any_value`] has, each with all crosses or none, projected or not.
fn any_rule() -> impl Strategy<Value = FeaturesParams> {
    let side = || {
        let name = prop::sample::select(vec!["age", "device", "topic", "user.city", "user.age"]);
        prop::collection::btree_map(name.prop_map(String::from), any_encoding(), 1..4)
    };
    let projection = prop::option::of((2_usize..100, 0..=1_u64 << 40));
    (side(), side(), any::<bool>(), any::<bool>(), projection).prop_map(
        |(context, action, crossed, constant, projection)| {
            let pairs =
                || context.keys().flat_map(|l| action.keys().map(|r| vec![l.clone(), r.clone()]));
            let with = if crossed { pairs().collect() } else { Vec::new() };
            let projection = projection.map(|(dimension, seed)| Projection { dimension, seed });
            FeaturesParams { context, action, cross: Cross { with }, constant, projection }
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
