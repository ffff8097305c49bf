//! Properties of every rule and every record, on random ones.

use proptest::prelude::*;

use super::*;

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
