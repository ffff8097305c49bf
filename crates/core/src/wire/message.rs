//! The version of messages, which comes first: nothing behind another version is looked at.

use serde::{Deserialize, Deserializer, de::Error as _};

use crate::Error;

/// The version of all messages: reports, models, batches.
pub(crate) const MESSAGE_VERSION: u16 = 2;

/// Reads a message's version, and refuses another one.
pub(crate) fn current_message<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let version = u16::deserialize(deserializer)?;
    if version == MESSAGE_VERSION {
        return Ok(version);
    }
    let remedy = format!("this library speaks version {MESSAGE_VERSION}: update the older half");
    Err(D::Error::custom(Error::invalid("version", version, remedy)))
}
