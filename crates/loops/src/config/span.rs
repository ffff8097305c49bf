//! Spans of time as people write them: `"30 minutes"`.

use std::{borrow::Cow, fmt, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A span of whole milliseconds, above 0 and at most 100 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(u64);

const LONGEST: u64 = 100 * 366 * 86_400_000;

/// Pattern of texts that [`Span::parse`] takes, but for its least and largest values: not only noughts, and the units of [`humantime`].
pub(super) const PATTERN: &str = concat!(
    r"(?=.*[1-9])(\s*[0-9][0-9.\s]*",
    "(nanos|nsec|ns|usec|us|µs|millis|msec|ms|seconds|second|secs|sec|s|minutes|minute|mins|min|m|hours|hour|hrs|hr|h|days|day|d",
    r"|weeks|week|wks|wk|w|months|month|M|years|year|yrs|yr|y))+\s*",
);

impl Span {
    /// A span of this number of milliseconds.
    pub fn milliseconds(milliseconds: u64) -> Option<Self> {
        (1..=LONGEST).contains(&milliseconds).then_some(Span(milliseconds))
    }

    /// A span of this number of seconds, at most 100 years.
    pub const fn seconds(seconds: u32) -> Self {
        let milliseconds = seconds as u64 * 1000;
        Span(if milliseconds == 0 { 1 } else { milliseconds })
    }

    /// In milliseconds.
    pub fn as_milliseconds(self) -> u64 {
        self.0
    }

    /// Reads `"30 minutes"`, `"90 days"`, `"1h 30m"`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let remedy = "expected a span such as \"30 minutes\", \"90 days\" or \"500 ms\"";
        let duration = humantime::parse_duration(text.trim()).map_err(|_| remedy.to_string())?;
        let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Span::milliseconds(milliseconds)
            .ok_or_else(|| format!("{remedy}, at least 1 ms and at most 100 years"))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units =
            [("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)];
        for (unit, size) in units {
            if self.0.is_multiple_of(size) {
                let count = self.0 / size;
                let plural = if count == 1 { "" } else { "s" };
                return write!(formatter, "{count} {unit}{plural}");
            }
        }
        humantime::format_duration(Duration::from_millis(self.0)).fmt(formatter)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Span::parse(&text).map_err(|remedy| D::Error::custom(format!("got {text:?}; {remedy}")))
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": format!("^{PATTERN}$"), "examples": ["30 minutes", "90 days"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written() {
        for (text, milliseconds) in [
            ("30 minutes", 1_800_000),
            ("90 days", 7_776_000_000),
            ("1h 30m", 5_400_000),
            ("500ms", 500),
        ] {
            let span = Span::parse(text).unwrap();
            assert_eq!(span.as_milliseconds(), milliseconds);
            assert_eq!(Span::parse(&span.to_string()).unwrap(), span, "{span}");
        }
        assert_eq!(Span::parse("86400 s").unwrap().to_string(), "1 day");
        for bad in ["", "0 s", "10", "-3 days", "1000 years", "ten days", "999999999999999999999 s"]
        {
            assert!(Span::parse(bad).is_err(), "{bad}");
        }
    }
}
