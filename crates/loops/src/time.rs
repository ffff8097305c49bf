//! Times in milliseconds since 1970: callers hand them in.

use std::time::{Duration, UNIX_EPOCH};

/// Milliseconds since 1970.
pub type Time = u64;

/// A time as people read it.
pub fn date_time(time: Time) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(time));
    // The format ends with year 9999, and panics after it.
    let last = Duration::from_secs(253_402_300_799);
    match time.filter(|time| time.duration_since(UNIX_EPOCH).is_ok_and(|since| since < last)) {
        Some(time) => humantime::format_rfc3339_seconds(time)
            .to_string()
            .replace('T', " ")
            .replace('Z', " UTC"),
        None => "after the year 9999".into(),
    }
}
