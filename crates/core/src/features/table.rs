//! Tables of features as a file writes them: names, nested names, and the weight of a feature beside its encoding.

use super::{Encoding, MOST_NAMES, Map, Value, encoding::digits};
use crate::error::message;

/// Features by their paths, from a table that may be nested. Weights that stand in it are added to `weights`, as `side.path`.
pub fn encodings(
    side: &str,
    table: Value,
    weights: &mut Map<f64>,
) -> Result<Map<Encoding>, String> {
    let Value::Record(entries) = table else {
        return Err("expected a table of features by name".to_string());
    };
    let mut features = Map::new();
    for (name, value) in entries {
        collect(&mut features, side, weights, name, value)?;
    }
    Ok(features)
}

/// Adds the features at and below one name. What is not an encoding must be a table of more names.
fn collect(
    features: &mut Map<Encoding>,
    side: &str,
    weights: &mut Map<f64>,
    path: String,
    value: Value,
) -> Result<(), String> {
    let twice = |path: &str| Err(message(format_args!("{path:?}"), "two values", "give it once"));
    if let Some((encoding, weight)) = encoding(&value) {
        if let Some(weight) = weight
            && weights.insert(format!("{side}.{path}"), weight).is_some()
        {
            return twice(&format!("weight of {side}.{path}"));
        }
        return match features.insert(path.clone(), encoding) {
            None => Ok(()),
            Some(_) => twice(&path),
        };
    }
    if let Some((found, remedy)) = fault(&value) {
        return Err(message(format_args!("{path:?}"), found, remedy));
    }
    match value {
        Value::Record(entries) if !entries.is_empty() && path.matches('.').count() < MOST_NAMES => {
            for (name, value) in entries {
                collect(features, side, weights, format!("{path}.{name}"), value)?;
            }
            Ok(())
        }
        Value::Record(entries) if !entries.is_empty() => {
            let remedy = format_args!("expected a path of at most {MOST_NAMES} names");
            Err(message(format_args!("{path:?}"), "names that are nested too deeply", remedy))
        }
        _ => Err(message(
            format_args!("{path:?}"),
            "no feature",
            "expected { range = [low, high] }, { categories = [\"a\", \"b\"] }, { hash = { buckets = 32 } }, { cycle = 24 } or { bins = [18, 30, 65] }",
        )),
    }
}

/// An encoding, as a file writes it, with the weight that may stand beside it. No table of features looks like one: the values of its names would be
/// tables.
fn encoding(value: &Value) -> Option<(Encoding, Option<f64>)> {
    let Value::Record(entries) = value else { return None };
    let weight = match entries.get("weight") {
        Some(weight) => Some(number(weight)?),
        None => None,
    };
    let mut others = entries.iter().filter(|(key, _)| key.as_str() != "weight");
    let (key, value) = others.next()?;
    let encoding = if others.next().is_none() { kind(key, value) } else { None };
    Some((encoding?, weight))
}

/// An encoding by its key.
fn kind(key: &str, value: &Value) -> Option<Encoding> {
    match (key, value) {
        ("range", Value::List(ends)) => match ends.as_slice() {
            [low, high] => Some(Encoding::Range(number(low)?, number(high)?)),
            _ => None,
        },
        ("categories", Value::List(words)) => {
            words.iter().map(word).collect::<Option<_>>().map(Encoding::Categories)
        }
        ("hash", Value::Record(inner)) => match (inner.len(), inner.get("buckets")) {
            (1, Some(Value::Integer(buckets))) => {
                // What is too large for 32 bits is refused by `check`, by name.
                let buckets =
                    u32::try_from(*buckets).unwrap_or(if *buckets < 0 { 0 } else { u32::MAX });
                Some(Encoding::Hash { buckets })
            }
            _ => None,
        },
        ("cycle", period) => number(period).map(Encoding::Cycle),
        ("bins", Value::List(edges)) => {
            edges.iter().map(number).collect::<Option<_>>().map(Encoding::Bins)
        }
        _ => None,
    }
}

/// Fault and remedy of a table that is a feature by its keys and not by their values.
fn fault(value: &Value) -> Option<(&'static str, &'static str)> {
    let Value::Record(entries) = value else { return None };
    let leaf = |key: &str| {
        entries.get(key).filter(|value| match value {
            Value::Record(inner) => inner.is_empty(),
            _ => true,
        })
    };
    if leaf("cycle").is_some_and(|period| number(period).is_none()) {
        return Some((
            "a cycle without a period",
            "expected a positive number; give the number after which the feature begins again, such as { cycle = 24 }",
        ));
    }
    let edges = |value: &Value| match value {
        Value::List(edges) => edges.iter().all(|edge| number(edge).is_some()),
        _ => false,
    };
    if leaf("bins").is_some_and(|value| !edges(value)) {
        return Some((
            "bins that are no numbers",
            "expected increasing edges; give a list such as { bins = [18, 30, 65] }",
        ));
    }
    if leaf("weight").is_some_and(|weight| number(weight).is_none()) {
        return Some((
            "a weight that is no number",
            "expected a share of the squared norm from 0 to 1; give one, such as weight = 0.2",
        ));
    }
    None
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(value) => Some(*value as f64),
        Value::Number(value) => Some(*value),
        _ => None,
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::Text(word) => Some(word.clone()),
        Value::Integer(value) => Some(digits(*value)),
        Value::Number(value) => Some((value + 0.0).to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
