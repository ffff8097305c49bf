//! 64-bit numbers as 16 hexadecimal digits in text formats, and as plain integers in binary formats.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Types that are written this way.
pub trait Words: Sized + Copy {
    /// The words in the order in which they are written.
    fn words(&self) -> Vec<u64>;
    /// The value of these words, if their number is right.
    fn of(words: &[u64]) -> Option<Self>;
}

impl Words for u64 {
    fn words(&self) -> Vec<u64> {
        vec![*self]
    }

    fn of(words: &[u64]) -> Option<Self> {
        <[u64; 1]>::try_from(words).ok().map(|[word]| word)
    }
}

impl Words for [u64; 2] {
    fn words(&self) -> Vec<u64> {
        self.to_vec()
    }

    fn of(words: &[u64]) -> Option<Self> {
        words.try_into().ok()
    }
}

/// Writes words as hexadecimal digits, 16 for each.
pub fn serialize<T: Words + Serialize, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if !serializer.is_human_readable() {
        return value.serialize(serializer);
    }
    let digits: String = value.words().iter().map(|word| format!("{word:016x}")).collect();
    serializer.serialize_str(&digits)
}

/// Reads what [`serialize`] wrote.
pub fn deserialize<'de, T: Words + Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    if !deserializer.is_human_readable() {
        return T::deserialize(deserializer);
    }
    let digits = String::deserialize(deserializer)?;
    let word = |chunk: &[u8]| u64::from_str_radix(std::str::from_utf8(chunk).ok()?, 16).ok();
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && digits.len() % 16 == 0;
    let words: Option<Vec<u64>> =
        if plain { digits.as_bytes().chunks(16).map(word).collect() } else { None };
    words.and_then(|words| T::of(&words)).ok_or_else(|| {
        D::Error::custom(format!("{digits:?} is not 16 hexadecimal digits a number"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Named {
        #[serde(with = "super")]
        one: u64,
        #[serde(with = "super")]
        two: [u64; 2],
    }

    #[test]
    fn numbers_pass_through_a_reader_with_53_bits() {
        let value = Named { one: u64::MAX - 1, two: [(1 << 53) + 1, 3] };
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(text, r#"{"one":"fffffffffffffffe","two":"00200000000000010000000000000003"}"#);
        // Read and written by a program whose numbers are doubles, such as JavaScript.
        let through: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::from_value::<Named>(through).unwrap(), value);
        let bytes = postcard::to_stdvec(&value).unwrap();
        assert_eq!(postcard::from_bytes::<Named>(&bytes).unwrap(), value);
        for bad in ["12", "fffffffffffffffg", "", "+000000000000001", "é00000000000000"] {
            let text = format!(r#"{{"one":{bad:?},"two":"00200000000000010000000000000003"}}"#);
            assert!(serde_json::from_str::<Named>(&text).is_err(), "{bad}");
        }
    }
}
