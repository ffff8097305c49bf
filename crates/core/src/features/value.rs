//! Contents of a record, from any source: JSON, a TOML table, cells of a CSV line, a Python dictionary.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::Map;

/// A name in a path, such as `age` in `user.age`: a path has at most this many.
pub const MOST_NAMES: usize = 8;

/// Objects and lists inside each other that are read: every name of a path may stand in a list of its own. What lies deeper is not
/// looked at.
pub const MOST_NESTING: usize = 2 * MOST_NAMES;

/// One value of a record, or a whole record.
///
/// It reads every self-describing format of serde, and no record fails: what is nested too deeply becomes [`Value::Missing`].
///
/// ```
/// use reticent::features::Value;
/// let record: Value = serde_json::from_str(r#"[{"user": {"age": 31}}, {"user.city": "Bern"}]"#)?;
/// assert_eq!(record.at("user.age"), Some(&Value::Integer(31)));
/// assert_eq!(record.at("user.city"), Some(&Value::Text("Bern".into())));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// Nothing: JSON's null.
    #[default]
    Missing,
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// Any number.
    Number(f64),
    /// A word, or a number written out.
    Text(String),
    /// Several values; as a record, the merge of its members.
    List(Vec<Value>),
    /// Values by name; a repeated name has its last value.
    Record(Map<Value>),
}

impl Value {
    /// The value at a path of names joined by dots, if there is one.
    ///
    /// In a record the longest name comes first, so that `{"user.age": 1}` and `{"user": {"age": 1}}` are the same; in a list the first
    /// member that has the path.
    pub fn at(&self, path: &str) -> Option<&Value> {
        self.find(path, MOST_NESTING)
    }

    fn find(&self, path: &str, nesting: usize) -> Option<&Value> {
        let nesting = nesting.checked_sub(1)?;
        match self {
            Value::List(members) => members.iter().find_map(|member| member.find(path, nesting)),
            Value::Record(entries) => {
                let whole = entries.get(path).filter(|value| **value != Value::Missing);
                whole.or_else(|| {
                    path.rmatch_indices('.').find_map(|(dot, _)| {
                        entries.get(&path[..dot])?.find(&path[dot + 1..], nesting)
                    })
                })
            }
            _ => None,
        }
    }
}

/// A record of CSV cells: names and texts.
impl<N: Into<String>, T: Into<String>> FromIterator<(N, T)> for Value {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(cells: I) -> Self {
        let cells = cells.into_iter();
        Value::Record(cells.map(|(name, text)| (name.into(), Value::Text(text.into()))).collect())
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Nested(MOST_NESTING).deserialize(deserializer)
    }
}

/// Number of more objects and lists may open.
#[derive(Clone, Copy)]
struct Nested(usize);

impl<'de> DeserializeSeed<'de> for Nested {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a record: numbers, words, lists and objects")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Missing)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Missing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(i128::try_from(value).map_or(Value::Number(value as f64), Value::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Value, E> {
        Ok(std::str::from_utf8(value).map_or(Value::Missing, |text| Value::Text(text.into())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let Some(nesting) = self.0.checked_sub(1) else {
            while members.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Value::Missing);
        };
        let mut list = Vec::new();
        while let Some(member) = members.next_element_seed(Nested(nesting))? {
            list.push(member);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let Some(nesting) = self.0.checked_sub(1) else {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Missing);
        };
        let mut record = Map::new();
        // Some formats have names that are no words.
        while let Some(name) = entries.next_key_seed(Nested(0))? {
            let value = entries.next_value_seed(Nested(nesting))?;
            let name = match name {
                Value::Text(name) => name,
                Value::Integer(number) => number.to_string(),
                Value::Number(number) => number.to_string(),
                Value::Bool(answer) => answer.to_string(),
                Value::Missing | Value::List(_) | Value::Record(_) => continue,
            };
            record.insert(name, value);
        }
        Ok(Value::Record(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Value {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn bytes_wide_numbers_and_names_that_are_no_words_are_read() {
        use serde::de::value::{BytesDeserializer, Error, MapDeserializer, U128Deserializer};
        let bytes = |bytes| Value::deserialize(BytesDeserializer::<Error>::new(bytes)).unwrap();
        assert_eq!(bytes(b"Bern"), Value::Text("Bern".into()));
        assert_eq!(bytes(&[0xff]), Value::Missing);
        let wide = U128Deserializer::<Error>::new(u128::MAX);
        assert_eq!(Value::deserialize(wide).unwrap(), Value::Number(u128::MAX as f64));
        let entries = MapDeserializer::<_, Error>::new([(7_u64, 2_u64)].into_iter());
        assert_eq!(Value::deserialize(entries).unwrap().at("7"), Some(&Value::Integer(2)));
    }

    #[test]
    fn paths_lead_through_objects_lists_and_dotted_names() {
        let record = read(r#"[{"a": null, "u": {"v": {"w": 1}}}, {"a": 2.5, "u.v": {"x": true}}]"#);
        assert_eq!(record.at("a"), Some(&Value::Number(2.5)));
        assert_eq!(record.at("u.v.w"), Some(&Value::Integer(1)));
        assert_eq!(record.at("u.v.x"), Some(&Value::Bool(true)));
        for absent in ["u.v.y", "v", "", ".", "u..v", "a.b"] {
            assert_eq!(record.at(absent), None, "{absent}");
        }
        assert_eq!(read(r#"{"u": {"v": 1}, "u.v": 2}"#).at("u.v"), Some(&Value::Integer(2)));
        assert_eq!(read(r#"{"u.v": 2, "u": {"v": 1}}"#).at("u.v"), Some(&Value::Integer(2)));
        assert_eq!(read(r#"{"u": 1, "u": 2}"#).at("u"), Some(&Value::Integer(2)));
    }

    /// The deepest path that a rule may name, each name in a list of its own, is read; lists that go deeper are dropped.
    #[test]
    fn nesting_has_an_end() {
        let path = ["n"; MOST_NAMES].join(".");
        let open: String = (0..MOST_NAMES).map(|_| r#"[{"n":"#).collect();
        let record = read(&format!("{open}7{}", "}]".repeat(MOST_NAMES)));
        assert_eq!(record.at(&path), Some(&Value::Integer(7)));
        let deeper = read(&format!("[{open}7{}]", "}]".repeat(MOST_NAMES)));
        assert_eq!(deeper.at(&path), None);
        // As deep as the reader of JSON allows; a value built by hand may be deeper.
        assert_eq!(read(&format!("{}{}", "[".repeat(120), "]".repeat(120))).at("n"), None);
        let tower = (0..1000).fold(Value::Integer(1), |inner, _| Value::List(vec![inner]));
        assert_eq!(tower.at("n"), None);
    }
}
