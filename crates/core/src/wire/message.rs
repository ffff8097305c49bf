//! Messages: JSON objects that begin with their kind and its version, which are checked before anything else is decoded.
//!
//! ```text
//! {"kind":"report","version":3, ...the fields of the report...}
//! ```
//!
//! A message of another kind or version, or without such a beginning, is refused before its fields are looked at; so is one that is truncated,
//! has data behind its end, or has a field that the kind does not know. Sizes that depend on parameters are checked by the code that has them: a
//! report with too many numbers is refused by the server that absorbs it.
//!
//! Numbers pass through JavaScript unchanged: doubles are written with all digits they need, counts by `count`, 64-bit words by `hex`.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserializer, Serialize,
    de::{
        DeserializeOwned, DeserializeSeed, Error as _, MapAccess, Visitor,
        value::MapAccessDeserializer,
    },
};

use super::Kind;
use crate::{Error, Result};

/// Bytes of a message, at most. Every report of an accepted plan is shorter, whatever its digits: 2^24 numbers of 25 bytes. A caller who takes messages
/// from strangers sets a limit of their own before they read one.
const MOST_BYTES: usize = 1 << 30;

/// Check that [`from_json`] makes of a message after it has been decoded.
pub trait Checked {
    /// Refuses parts that do not fit each other.
    fn check_message(&self) -> Result<()> {
        Ok(())
    }
}

/// Message between people, servers and shufflers. Only types of this library and of `reticent-device` are messages: a [`Kind`] has no constructor.
pub trait Message: Checked + Serialize {
    /// The kind under which it is written, with its version.
    const KIND: Kind;
}

/// A message as JSON, its kind and version first.
///
/// ```
/// use reticent::{bandit::Arms, wire::{from_json, to_json}};
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.6, 0.8]])?;
/// let text = to_json(&arms);
/// assert!(text.starts_with(r#"{"kind":"arms","version":1,"#));
/// assert_eq!(from_json::<Arms>(&text)?, arms);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn to_json<M: Message>(message: &M) -> String {
    let fields = serde_json::to_string(message).expect("plain data always serialises to memory");
    let (name, version) = (M::KIND.name(), M::KIND.version());
    // Every message is an object with at least one field.
    format!(r#"{{"kind":"{name}","version":{version},{}"#, &fields[1..])
}

/// Reads what [`to_json`] wrote, as text or as bytes, perhaps formatted anew by another program. Everything else is refused with an error that
/// names field, value and remedy.
///
/// A [`Guarantee`](crate::privacy::Guarantee) is written and not read: only the accountant makes one.
pub fn from_json<M: Message + DeserializeOwned>(text: impl AsRef<[u8]>) -> Result<M> {
    read(text.as_ref(), MOST_BYTES)
}

fn read<M: Message + DeserializeOwned>(text: &[u8], most: usize) -> Result<M> {
    let refuse = |remedy: String| {
        let size = format!("{} bytes", text.len());
        Error::Invalid { field: M::KIND.name(), value: size, remedy }
    };
    if text.len() > most {
        return Err(refuse(format!("at most {most} are read: refuse its sender")));
    }
    let mut refusal = None;
    let mut reader = serde_json::Deserializer::from_slice(text);
    let envelope = Envelope { refusal: &mut refusal, message: PhantomData::<M> };
    let message = envelope.deserialize(&mut reader);
    let message = message.and_then(|message| reader.end().map(|()| message));
    match (refusal, message) {
        (Some(refusal), _) => Err(refusal),
        (None, Ok(message)) => message.check_message().map(|()| message),
        (None, Err(error)) => {
            Err(refuse(format!("it cannot be decoded ({error}): refuse its sender")))
        }
    }
}

/// Reads the kind and the version, and then the message. Why they are refused is kept as an error of this library.
struct Envelope<'a, M> {
    refusal: &'a mut Option<Error>,
    message: PhantomData<M>,
}

impl<'de, M: Message + DeserializeOwned> DeserializeSeed<'de> for Envelope<'_, M> {
    type Value = M;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<M, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, M: Message + DeserializeOwned> Visitor<'de> for Envelope<'_, M> {
    type Value = M;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object that begins with its kind and its version")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<M, A::Error> {
        if let Err(refusal) = header(M::KIND, &mut map)? {
            *self.refusal = Some(refusal);
            return Err(A::Error::custom("refused"));
        }
        M::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Reads the first two fields, or says why they are not those of a message of this kind.
fn header<'de, A: MapAccess<'de>>(
    kind: Kind,
    map: &mut A,
) -> std::result::Result<Result<()>, A::Error> {
    let (name, version) = (kind.name(), kind.version());
    let misplaced = |expected: &str, found: Option<String>| {
        let value = match found {
            Some(found) => format!("a message with {:?} in place of {expected:?}", short(&found)),
            None => format!("a message without {expected:?}"),
        };
        let remedy = format!(
            r#"expected a message that begins with {{"kind":"{name}","version":{version}; or update the older program"#
        );
        Ok(Err(Error::Invalid { field: name, value, remedy }))
    };
    let key: Option<String> = map.next_key()?;
    if key.as_deref() != Some("kind") {
        return misplaced("kind", key);
    }
    let found: String = map.next_value()?;
    if found != name {
        let remedy = format!("expected a message of kind {name:?}");
        return Ok(Err(Error::invalid("kind", format!("{:?}", short(&found)), remedy)));
    }
    let key: Option<String> = map.next_key()?;
    if key.as_deref() != Some("version") {
        return misplaced("version", key);
    }
    let found: u64 = map.next_value()?;
    if found != u64::from(version) {
        let remedy =
            format!("this library reads version {version} of {name:?}: update the older program");
        return Ok(Err(Error::invalid("version", found, remedy)));
    }
    Ok(Ok(()))
}

/// The beginning of a text that another party wrote.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bandit::Arms;

    fn refused(text: &str) -> String {
        from_json::<Arms>(text).unwrap_err().to_string()
    }

    #[test]
    fn a_message_is_refused_by_its_first_fields_before_the_rest_is_decoded() {
        let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.6, 0.8]]).unwrap();
        let text = to_json(&arms);
        let fields = text.strip_prefix(r#"{"kind":"arms","version":1,"#).unwrap();
        assert_eq!(from_json::<Arms>(&text).unwrap(), arms);
        assert_eq!(from_json::<Arms>(format!(" {} ", text.replace(',', " ,\n"))).unwrap(), arms);
        // What stands behind a foreign beginning may be anything.
        let error = refused(r#"{"kind":"policy","version":1,"colour":}"#);
        assert_eq!(error, r#"kind: got "policy"; expected a message of kind "arms""#);
        let error = refused(r#"{"kind":"arms","version":2,"colour":}"#);
        assert!(
            error.starts_with("version: got 2; ") && error.contains("reads version 1"),
            "{error}"
        );
        for (start, words) in [
            (
                r#"{"version":1,"kind":"arms","#,
                r#"arms: got a message with "version" in place of "kind""#,
            ),
            (r#"{"kind":"arms","#, r#"arms: got a message with "dimension" in place of "version""#),
            ("{", r#"arms: got a message with "dimension" in place of "kind""#),
        ] {
            let error = refused(&format!("{start}{fields}"));
            assert!(
                error.starts_with(words) && error.contains("update the older program"),
                "{error}"
            );
        }
        assert!(refused("{}").starts_with("arms: got a message without \"kind\""));
        assert!(
            refused(r#"{"kind":"arms"}"#).starts_with("arms: got a message without \"version\"")
        );
    }

    #[test]
    fn damaged_and_oversized_messages_are_refused() {
        let text = to_json(&Arms::from_rows(2, &[[1.0, 0.0], [0.6, 0.8]]).unwrap());
        for length in 0..text.len() {
            assert!(from_json::<Arms>(&text[..length]).is_err(), "{length}");
        }
        for foreign in [
            format!("{text}{text}"),
            format!("{text}x"),
            format!("[{text}]"),
            text.replacen("\"dimension\"", "\"colour\":1,\"dimension\"", 1),
            text.replacen("\"dimension\"", "\"kind\":\"arms\",\"dimension\"", 1),
            text.replacen("\"version\":1", "\"version\":\"1\"", 1),
            text.replacen("\"dimension\":2", "\"dimension\":3", 1),
        ] {
            let error = refused(&foreign);
            assert!(error.contains(": ") && !error.contains("refused"), "{error}");
        }
        assert!(from_json::<Arms>(b"\xff{}").is_err());
        assert!(read::<Arms>(text.as_bytes(), text.len()).is_ok());
        let error = read::<Arms>(text.as_bytes(), text.len() - 1).unwrap_err().to_string();
        assert!(error.contains("at most"), "{error}");
    }
}
