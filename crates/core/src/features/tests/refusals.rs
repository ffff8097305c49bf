//! Refusals: files and rules that no record fits.

use serde_json::json;

use super::*;

#[test]
fn files_that_say_something_else_are_refused() {
    for (text, what) in [
        (r#"{"context": {"age": 3}}"#, "\"age\": got no feature; expected { range"),
        (r#"{"context": {"age": {}}}"#, "\"age\": got no feature"),
        (r#"{"context": {"age": {"range": [1]}}}"#, "\"age.range\": got no feature"),
        (r#"{"context": {"age": {"range": [1, 2], "hash": {"buckets": 2}}}}"#, "got no feature"),
        (
            r#"{"context": {"u": {"a": {"range": [0, 1]}}, "u.a": {"range": [0, 2]}}}"#,
            "\"u.a\": got two values",
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
        (name(""), "context: got \"\"; expected names joined by single dots"),
        (name("a..b"), "context: got \"a..b\"; "),
        (
            name("1.2.3.4.5.6.7.8.9"),
            "context: got \"1.2.3.4.5.6.7.8.9\"; a path has at most 8 names",
        ),
        (
            with(&|params| params.action.extend([("x".into(), Encoding::Range(1.0, 0.0))])),
            "range: got [1, 0] for action.x; ",
        ),
        (
            cross(&["topic", "device"]),
            r#"cross.with: got ["topic", "device"]; "topic" is no feature of the context"#,
        ),
        (
            cross(&["age", "age"]),
            r#"cross.with: got ["age", "age"]; "age" is no feature of the action"#,
        ),
        (cross(&["device", "topic"]), r#"cross.with: got ["device", "topic"]; it is given twice"#),
        (
            cross(&["device"]),
            r#"cross.with: got ["device"]; name one feature of the context and one"#,
        ),
        (
            cross(&["device", "age", "age", "topic"]),
            r#"cross.with: got ["device", "age", "age", "topic"]; name one"#,
        ),
        (project(0, 1), "projection.dimension: got 0; "),
        (project(1, 1), "projection.dimension: got 1; "),
        (project(14, 1), "projection.dimension: got 14; the vector has 14 coordinates without"),
        (project(3, 1 << 53), "projection.seed: got 9007199254740992; "),
        (hashed(1024), "dimension: got 4110; a vector has at most 4096"),
    ] {
        assert!(error.starts_with(start), "{error}");
    }
    let wide = [("a", Encoding::Hash { buckets: MOST_BUCKETS })];
    let mut params = FeaturesParams::new(wide.clone(), wide);
    params.cross.with.push(vec!["a".into(), "a".into()]);
    let error = params.check().unwrap_err().to_string();
    assert!(error.starts_with("dimension: got 4295098369; expected at most 1048576"), "{error}");
    let empty = FeaturesParams::new::<String>([], []).check().unwrap_err().to_string();
    assert!(empty.starts_with("context: got {}; expected at least one feature"), "{empty}");
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
            "weight: got -0.1 for action.topic; expected a share",
        ),
        (
            json!({ "weight": { "action.topic": 1.5 } }),
            "weight: got 1.5 for action.topic; expected a share",
        ),
        (
            json!({ "weight": { "topic": 0.1 } }),
            "weight: got 0.1 for topic; expected the name of a part; give one of context.age, context.liked, action.topic",
        ),
        (
            json!({ "weight": { "action.topic": 0.7, "action.word": 0.7 } }),
            "weight: got 1.4 in sum; expected shares that sum to at most 1",
        ),
        (
            json!({ "weight": { "action.topic": 0.5, "action.word": 0.5 } }),
            "weight: got 1 in sum, nothing left for context.age; ",
        ),
        (
            json!({ "weight": { "action.topic": 0, "action.word": 0, "context.age": 0, "context.liked": 0 } }),
            "weight: got 0 for every feature; expected a positive share",
        ),
        (
            json!({ "cross": { "match": [["liked"]] } }),
            r#"cross.match: got ["liked"]; name one feature"#,
        ),
        (
            json!({ "cross": { "match": [["topic", "topic"]] } }),
            r#"cross.match: got ["topic", "topic"]; "topic" is no feature of the context"#,
        ),
        (
            json!({ "cross": { "match": [["age", "topic"]] } }),
            r#"cross.match: got ["age", "topic"], of a range from 18 to 80 and 2 categories; expected two features with the same words"#,
        ),
        (
            json!({ "cross": { "match": [["liked", "word"]] } }),
            r#"cross.match: got ["liked", "word"], of 2 categories and 9 buckets; expected"#,
        ),
        (
            json!({ "cross": { "match": [["liked", "topic"], ["liked", "topic"]] } }),
            r#"cross.match: got ["liked", "topic"]; it is given twice"#,
        ),
        (
            json!({ "cross": { "with": [["age", "age", "topic"]] } }),
            r#"cross.with: got ["age", "age", "topic"]; expected two different"#,
        ),
        (
            json!({ "cross": { "with": [["age", "liked", "topic"], ["liked", "age", "topic"]] } }),
            r#"cross.with: got ["liked", "age", "topic"]; it is given twice"#,
        ),
        (json!({ "products": { "degree": 4 } }), "products.degree: got 4; expected 2 or 3"),
        (
            json!({ "products": { "degree": 2, "with": "age" } }),
            r#"products.with: got ["age"]; "age" is no feature of the action"#,
        ),
        (
            json!({ "fourier": { "count": 0, "scale": 1, "seed": 1 } }),
            "fourier.count: got 0; expected",
        ),
        (
            json!({ "fourier": { "count": 4, "scale": 0, "seed": 1 } }),
            "fourier.scale: got 0; expected",
        ),
        (
            json!({ "fourier": { "count": 4, "scale": -1, "seed": 1 } }),
            "fourier.scale: got -1; expected",
        ),
        (
            json!({ "fourier": { "count": 4, "scale": 1, "seed": 9007199254740992_u64 } }),
            "fourier.seed: got 9007199254740992; ",
        ),
        (
            json!({ "context": { "liked": { "categories": ["a"] } }, "fourier": { "count": 4, "scale": 1, "seed": 1 } }),
            "fourier: got no number among the features; ",
        ),
        (
            json!({ "context": { "liked": { "categories": ["a"] } }, "products": { "degree": 2 } }),
            "products: got no number among the features; ",
        ),
        (
            json!({ "fourier": { "count": 4096, "scale": 1, "seed": 1 } }),
            "dimension: got 8207; a vector has at most 4096 coordinates; expected fewer buckets, categories or crosses, or a projection (the widest part, fourier, has 8192)",
        ),
        (json!({ "context": { "age": { "cycle": 0 } } }), "cycle: got 0 for context.age; "),
        (
            json!({ "context": { "age": { "cycle": true } } }),
            "\"age\": got a cycle without a period",
        ),
        (json!({ "context": { "age": { "cycle": {} } } }), "\"age\": got a cycle without a period"),
        (
            json!({ "context": { "age": { "bins": [3, 2] } } }),
            "bins: got [3.0, 2.0] for context.age; ",
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
            "\"weight of context.age\": got two values",
        ),
        (
            json!({ "action": { "topic": { "categories": ["a", "b", "a"] } } }),
            "categories: got \"a\" twice for action.topic; ",
        ),
    ] {
        let error = home(more.clone()).unwrap_err();
        assert!(error.starts_with(start), "{more}: {error}");
    }
    let mut nan = rule(json!({ "action": { "topic": { "categories": ["a"] } } }));
    nan.weight.insert("action.topic".into(), f64::NAN);
    let error = nan.check().unwrap_err().to_string();
    assert!(error.starts_with("weight: got NaN for action.topic; "), "{error}");
    nan.weight.clear();
    nan.fourier = Some(Fourier { count: 1, scale: f64::NAN, seed: 1, with: None });
    assert!(nan.check().unwrap_err().to_string().starts_with("fourier.scale: got NaN"));
}
