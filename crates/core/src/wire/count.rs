//! Counts in text formats: a number below 2^53, and decimal digits as text from there on; in binary formats plain integers.
//!
//! JavaScript and many other readers of JSON hold numbers as doubles, which are exact for whole numbers below 2^53 only. Each count has one
//! form: a number of 2^53 or more and a text below it are refused.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Visitor},
};

/// The first whole number that a double does not tell from its neighbour.
const LIMIT: u64 = 1 << 53;

/// Writes a count as a number below 2^53, and as text from there on.
pub fn serialize<T: Copy + Serialize + TryInto<u64>, S: Serializer>(
    count: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match (*count).try_into() {
        Ok(large @ LIMIT..) if serializer.is_human_readable() => serializer.collect_str(&large),
        _ => count.serialize(serializer),
    }
}

/// Reads what [`serialize`] wrote.
pub fn deserialize<'de, T: Deserialize<'de> + TryFrom<u64>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    if !deserializer.is_human_readable() {
        return T::deserialize(deserializer);
    }
    let count = deserializer.deserialize_any(Count)?;
    T::try_from(count).map_err(|_| D::Error::custom(format!("{count} is too large a count")))
}

struct Count;

impl Visitor<'_> for Count {
    type Value = u64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number from 0 on; from 2^53 on as text")
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<u64, E> {
        if count < LIMIT {
            return Ok(count);
        }
        Err(E::custom(format!("{count} is a number of 2^53 or more: write it as text")))
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<u64, E> {
        let count = u64::try_from(count)
            .map_err(|_| E::custom(format!("got {count}; expected a whole number from 0 on")))?;
        self.visit_u64(count)
    }

    fn visit_str<E: Error>(self, digits: &str) -> Result<u64, E> {
        let canonical = |count: &u64| *count >= LIMIT && count.to_string() == digits;
        digits.parse().ok().filter(canonical).ok_or_else(|| {
            let shown: String = digits.chars().take(40).collect();
            E::custom(format!("{shown:?} is not a whole number from 2^53 to below 2^64"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Counted {
        #[serde(with = "super")]
        one: u64,
        #[serde(with = "super")]
        two: usize,
    }

    #[test]
    fn a_count_is_exact_for_a_reader_with_53_bits() {
        for (one, text) in [
            (0, "0"),
            (LIMIT - 1, "9007199254740991"),
            (LIMIT, r#""9007199254740992""#),
            (u64::MAX, r#""18446744073709551615""#),
        ] {
            let value = Counted { one, two: 7 };
            let json = serde_json::to_string(&value).unwrap();
            assert_eq!(json, format!(r#"{{"one":{text},"two":7}}"#));
            assert_eq!(serde_json::from_str::<Counted>(&json).unwrap(), value);
            let bytes = postcard::to_stdvec(&value).unwrap();
            assert_eq!(bytes, postcard::to_stdvec(&(one, 7_usize)).unwrap());
            assert_eq!(postcard::from_bytes::<Counted>(&bytes).unwrap(), value);
        }
        for bad in [
            "9007199254740992",
            "18446744073709551616",
            "-1",
            "1.5",
            "null",
            r#""7""#,
            r#""+9007199254740993""#,
            r#""09007199254740993""#,
            r#""18446744073709551616""#,
        ] {
            let json = format!(r#"{{"one":{bad},"two":7}}"#);
            assert!(serde_json::from_str::<Counted>(&json).is_err(), "{bad}");
        }
    }
}
