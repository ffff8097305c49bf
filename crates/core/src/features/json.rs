//! Records from JSON by little code, for device code that a page downloads: what is read is what `serde_json` reads.

use super::{MOST_NESTING, Map, Value};
use crate::{Error, Result, special::decimal};

impl Value {
    /// A record from JSON, by less and slower code than `serde_json`'s. An error says where, and nothing of what stands there.
    ///
    /// ```
    /// use reticent::features::Value;
    /// let record = Value::from_json("context", br#"{"user": {"age": 31}}"#)?;
    /// assert_eq!(record.at("user.age"), Some(&Value::Integer(31)));
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn from_json(field: &'static str, text: &[u8]) -> Result<Value> {
        let mut reader = Reader { text, at: 0, repeated: false };
        let value = reader.value(0).and_then(|value| reader.end().map(|()| value));
        value.ok_or_else(|| reader.refusal(field))
    }
}

/// The members of a list, each of them a record by itself: as deep as if it stood alone.
pub fn records_from_json(field: &'static str, text: &[u8]) -> Result<Vec<Value>> {
    let mut reader = Reader { text, at: 0, repeated: false };
    let list = reader.list(|reader| reader.value(0));
    let list = list.and_then(|list| reader.end().map(|()| list));
    list.ok_or_else(|| match reader.at {
        0 => Error::invalid(field, "no list", "expected a list of records"),
        _ => reader.refusal(field),
    })
}

/// The members of an object in their order. A name that is repeated inside of them is refused, which in a record is not.
pub fn members_from_json(field: &'static str, text: &[u8]) -> Result<Vec<(String, Value)>> {
    let mut reader = Reader { text, at: 0, repeated: false };
    let mut members = Vec::new();
    let whole = reader.object(0, |name, value| members.push((name, value)));
    let whole = whole.and_then(|()| reader.end()).filter(|()| !reader.repeated);
    whole.map(|()| members).ok_or_else(|| reader.refusal(field))
}

/// A text, how far it was read, and whether an object had a name twice.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    repeated: bool,
}

impl Reader<'_> {
    fn refusal(&self, field: &'static str) -> Error {
        Error::invalid(
            field,
            format!("a text that is not JSON at byte {}", self.at),
            "expected JSON",
        )
    }

    fn end(&mut self) -> Option<()> {
        self.peek();
        (self.at == self.text.len()).then_some(())
    }

    /// The byte that comes next; 0 at the end.
    fn next(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> u8 {
        while matches!(self.next(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
        self.next()
    }

    /// Reads this byte over.
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek() == byte && self.at < self.text.len()).then(|| self.at += 1)
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Value> {
        self.text[self.at..].starts_with(word.as_bytes()).then(|| {
            self.at += word.len();
            value
        })
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        match self.peek() {
            // However deep a record is, it is read without a deep stack.
            b'[' | b'{' if depth >= MOST_NESTING => self.skip().map(|()| Value::Missing),
            b'n' => self.word("null", Value::Missing),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'"' => self.string().map(Value::Text),
            b'[' => self.list(|reader| reader.value(depth + 1)).map(Value::List),
            b'{' => {
                let mut record = Map::new();
                let mut repeated = false;
                self.object(depth, |name, value| {
                    repeated |= record.insert(name, value).is_some();
                })?;
                self.repeated |= repeated;
                Some(Value::Record(record))
            }
            _ => self.number(),
        }
    }

    fn list(&mut self, member: impl Fn(&mut Self) -> Option<Value>) -> Option<Vec<Value>> {
        self.take(b'[')?;
        let mut list = Vec::new();
        while self.another(b']', list.is_empty())? {
            list.push(member(self)?);
        }
        Some(list)
    }

    fn object(&mut self, depth: usize, mut member: impl FnMut(String, Value)) -> Option<()> {
        self.take(b'{')?;
        let mut first = true;
        while self.another(b'}', first)? {
            first = false;
            let name = self.name()?;
            let value = self.value(depth + 1)?;
            member(name, value);
        }
        Some(())
    }

    /// The name of a member, and the colon behind it.
    fn name(&mut self) -> Option<String> {
        let name = self.string()?;
        self.take(b':').map(|()| name)
    }

    /// Reads an object or a list over.
    fn skip(&mut self) -> Option<()> {
        // The ends of what is open.
        let mut open = Vec::new();
        loop {
            match self.peek() {
                byte @ (b'[' | b'{') => {
                    self.at += 1;
                    // The end of each comes two characters after its beginning.
                    open.push(byte + 2);
                    if self.peek() != byte + 2 {
                        (byte == b'[' || self.name().is_some()).then_some(())?;
                        continue;
                    }
                }
                _ => drop(self.value(0)?),
            }
            loop {
                let Some(end) = open.last().copied() else { return Some(()) };
                if self.take(end).is_some() {
                    open.pop();
                    continue;
                }
                self.take(b',')?;
                (end == b']' || self.name().is_some()).then_some(())?;
                break;
            }
        }
    }

    /// Returns whether another member follows; takes the comma before it, or the end.
    fn another(&mut self, end: u8, first: bool) -> Option<bool> {
        if self.take(end).is_some() {
            return Some(false);
        }
        match first {
            true => Some(true),
            false => self.take(b',').map(|()| true),
        }
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while self.next().is_ascii_digit() {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Option<Value> {
        let from = self.at;
        let negative = self.next() == b'-';
        self.at += usize::from(negative);
        let leading = self.next() == b'0';
        let length = self.digits();
        let mut sound = length == 1 || length > 1 && !leading;
        let end = self.at;
        if self.next() == b'.' {
            self.at += 1;
            sound &= self.digits() > 0;
        }
        if matches!(self.next(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.next(), b'+' | b'-'));
            sound &= self.digits() > 0;
        }
        let text = std::str::from_utf8(&self.text[from..self.at]).ok().filter(|_| sound)?;
        // Whole numbers of 64 bits are exact, and minus zero is none.
        if self.at == end {
            let whole = match negative {
                false => text.parse::<u64>().ok().map(i128::from),
                true => text.parse::<i64>().ok().map(i128::from).filter(|number| *number < 0),
            };
            if let Some(whole) = whole {
                return Some(Value::Integer(whole));
            }
        }
        decimal::number(text).filter(|number| number.is_finite()).map(Value::Number)
    }

    fn string(&mut self) -> Option<String> {
        self.take(b'"')?;
        let mut bytes = Vec::new();
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(bytes).ok(),
                b'\\' => {
                    let character = self.escaped()?;
                    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                ..0x20 => return None,
                byte => bytes.push(byte),
            }
        }
    }

    /// Character behind a backslash.
    fn escaped(&mut self) -> Option<char> {
        let byte = self.next();
        self.at += 1;
        Some(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let code = self.unit()?;
                if !(0xd800..0xdc00).contains(&code) {
                    return char::from_u32(code);
                }
                // Characters beyond the first 65,536 are written in two halves.
                let low = self.text.get(self.at..)?.starts_with(b"\\u").then(|| self.at += 2);
                let low = low.and_then(|()| self.unit())?.checked_sub(0xdc00)?;
                char::from_u32(0x10000 + ((code - 0xd800) << 10) + low).filter(|_| low < 0x400)?
            }
            _ => return None,
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |code, byte| Some(code << 4 | char::from(*byte).to_digit(16)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &[u8]) -> Option<Value> {
        Value::from_json("context", text).ok()
    }

    fn same(text: &str) -> Option<Value> {
        let value = read(text.as_bytes());
        assert_eq!(value, serde_json::from_str(text).ok(), "{text}");
        value
    }

    #[test]
    fn texts_are_read_and_refused_as_serde_json_does() {
        for text in [
            "{}",
            " [ ] ",
            "null",
            "[true,false , null]",
            "0",
            "-0",
            "-0.0",
            "1.5e3",
            "1E+2",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "-9223372036854775809",
            "123456789012345678901234567890",
            "0.1",
            "5e-324",
            "1e-400",
            r#""a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é""#,
            r#"{"a":1,"b":{"a":[1,{"c":"d"}]},"":0}"#,
            r#"{"a":1,"a":2}"#,
            "\n{\t\"a\" :\r1 }",
        ] {
            assert!(same(text).is_some(), "{text}");
        }
        for text in [
            "",
            " ",
            "nul",
            "truefalse",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            "1e400",
            "NaN",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\" 1}",
            "{\"a\":1,}",
            "{a:1}",
            "{1:2}",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"\\ud800\\u0041\"",
            "\"\\ud800\\ue000\"",
            "\"\t\"",
            "\"a",
            "1 2",
            "{} x",
            "[1}",
            "{\"a\":[}",
            "\0",
            "\"\\",
            "[\"\\u",
        ] {
            assert_eq!(same(text), None, "{text}");
        }
        assert!(read(b"\"\xff\"").is_none() && read(b"1\0").is_none());
        for depth in [1, 15, 16, 17, 100, 126, 127, 128, 1000, 100_000] {
            assert!(same(&("[".repeat(depth) + &"]".repeat(depth))).is_some());
            assert!(same(&(r#"{"n":"#.repeat(depth) + "7" + &"}".repeat(depth))).is_some());
        }
        // What lies deeper than is read must be JSON all the same.
        let within = |text: &str| "[".repeat(17) + text + &"]".repeat(17);
        for text in ["{}", "[]", r#"{"a":[1,{}],"b":null}, 2"#, "[[], {}, [[]]]", "\"]\""] {
            assert!(same(&within(text)).is_some(), "{text}");
        }
        for text in [
            "{",
            "[",
            "}",
            "[}",
            "{]",
            "1,",
            ",1",
            r#"{"a"}"#,
            r#"{"a":1,}"#,
            "{1:2}",
            "[1,]",
            "x",
            "[1 2]",
        ] {
            assert_eq!(same(&within(text)), None, "{text}");
        }
        let record = r#"[{"n":"#.repeat(8) + "7" + &"}]".repeat(8);
        for (text, deep) in [(record.clone(), true), (format!("[{record}]"), false)] {
            let expected: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(expected.at("n.n.n.n.n.n.n.n").is_some(), deep);
            let list = records_from_json("actions", format!("[{text}, {text}]").as_bytes());
            assert_eq!(list.unwrap(), [expected.clone(), expected]);
        }
        assert!(records_from_json("actions", b" [ ] ").unwrap().is_empty());
        for (text, words) in [
            ("{}", "actions: got no list"),
            ("[1", "actions: got a text that is not JSON at byte 2"),
        ] {
            let error = records_from_json("actions", text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(words), "{error}");
        }
        let message = |text: &str| members_from_json("it", text.as_bytes()).ok();
        assert_eq!(message(r#"{"a":1,"b":{"c":2}}"#).unwrap().len(), 2);
        assert!(message(r#"{"a":1,"b":{"c":2,"c":2}}"#).is_none() && message("[]").is_none());
    }

    proptest! {
        #[test]
        fn numbers_and_texts_keep_every_bit(bits: u64, text in ".*") {
            let number = f64::from_bits(bits);
            if number.is_finite() {
                same(&serde_json::to_string(&number).unwrap());
            }
            same(&bits.to_string());
            same(&format!("-{bits}"));
            same(&serde_json::to_string(&text).unwrap());
        }

        /// Anything that looks a little like JSON.
        #[test]
        fn whatever_comes(text in r#"([\[\]{}:,"0-9eE.+ a\\u-]|null|true|"a":|"a"|1\.5|-0){0,14}"#) {
            same(&text);
        }
    }
}
