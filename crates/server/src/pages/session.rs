//! Sessions of viewers, and what they may see.
//!
//! A key is sent once, in a form. The browser then holds a random session id in a cookie that scripts cannot read and that other sites' pages
//! do not send; the server holds its hash, in memory, for some hours. A session ends with its key.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use axum::http::{HeaderMap, HeaderValue, header};

use crate::{
    Error, Result,
    clock::Time,
    secret::{digest, hex, random},
    store::Digest,
};

/// Milliseconds for which a session lasts.
const LASTS: u64 = 8 * 3_600_000;

/// Sessions of one key at one time: the oldest one of the key ends for a new one, and no session of another key does.
const MOST_OF_KEY: usize = 16;

const COOKIE: &str = "reticent_session";

/// Removes the cookie.
pub(super) const NO_COOKIE: &str =
    "reticent_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0";

/// A viewer of pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// The public part of their key.
    pub key_id: String,
    /// True if they may see internal counts.
    pub admin: bool,
    /// The one loop they may see; none for all.
    pub loop_name: Option<String>,
}

impl Viewer {
    /// True if they may see this loop.
    pub fn sees(&self, name: &str) -> bool {
        self.admin || self.loop_name.as_deref().is_none_or(|own| own == name)
    }
}

/// Calls of one kind since the process began.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Name of the call, such as "rank".
    pub name: String,
    /// Number of calls.
    pub requests: u64,
    /// Number of calls that were refused or failed.
    pub errors: Option<u64>,
    /// Milliseconds within which 50 % of them were answered.
    pub median: Option<f64>,
    /// All but one in a hundred were.
    pub p99: Option<f64>,
}

/// Access of the pages to keys and calls.
pub trait Access: Send + Sync + 'static {
    /// The holder of this key, if its role is `read` or `admin`.
    fn sign_in(&self, key: &str) -> Option<Viewer>;

    /// True if the key of this id may still be used.
    fn still_valid(&self, key_id: &str) -> bool;

    /// Counts a look with the key of this id as a reading call, or says when there is room for one.
    fn take_read(&self, key_id: &str) -> Result<()> {
        let _ = key_id;
        Ok(())
    }

    /// Calls since the process began that a viewer may see.
    fn calls(&self, _viewer: &Viewer) -> Vec<Call> {
        Vec::new()
    }
}

struct Session {
    viewer: Viewer,
    began: Time,
}

/// All sessions, by the hash of their ids.
#[derive(Default)]
pub(super) struct Sessions(Mutex<BTreeMap<Digest, Session>>);

impl Sessions {
    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<Digest, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session, and returns its cookie.
    pub(super) fn begin(&self, viewer: Viewer, now: Time, secure: bool) -> Result<HeaderValue> {
        let id = hex(&random::<32>()?);
        let mut all = self.all();
        all.retain(|_, session| is_current(session, now));
        let own = all.iter().filter(|(_, session)| session.viewer.key_id == viewer.key_id);
        let mut own: Vec<(Time, Digest)> = own.map(|(id, session)| (session.began, *id)).collect();
        own.sort_unstable();
        let ending = (own.len() + 1).saturating_sub(MOST_OF_KEY);
        for (_, oldest) in &own[..ending] {
            all.remove(oldest);
        }
        all.insert(digest(&[id.as_bytes()]), Session { viewer, began: now });
        let seconds = LASTS / 1000;
        let secure = if secure { "; Secure" } else { "" };
        HeaderValue::from_str(&format!(
            "{COOKIE}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}"
        ))
        .map_err(|_| Error::Unavailable("no cookie could be made".into()))
    }

    /// The viewer who has sent this request.
    pub(super) fn find(&self, headers: &HeaderMap, now: Time) -> Option<Viewer> {
        let id = session_id(headers)?;
        let all = self.all();
        all.get(&digest(&[id.as_bytes()]))
            .filter(|session| is_current(session, now))
            .map(|session| session.viewer.clone())
    }

    /// Ends the session of this request.
    pub(super) fn end(&self, headers: &HeaderMap) {
        if let Some(id) = session_id(headers) {
            self.all().remove(&digest(&[id.as_bytes()]));
        }
    }
}

/// A clock that was set back ends a session: else it could last for ever.
fn is_current(session: &Session, now: Time) -> bool {
    now.checked_sub(session.began).is_some_and(|age| age < LASTS)
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find_map(|(name, id)| (name == COOKIE).then_some(id))
}

/// A path of these pages to go on to, or the first one: no link leads elsewhere.
pub(super) fn own_path(next: &str) -> &str {
    let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "/_-".contains(c);
    let own = next == "/certificate" || next.starts_with("/loops/");
    if own && next.len() <= 120 && next.chars().all(sound) { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viewer() -> Viewer {
        Viewer { key_id: "k".into(), admin: false, loop_name: Some("home".into()) }
    }

    fn sent(cookie: &HeaderValue) -> HeaderMap {
        let pair = cookie.to_str().unwrap().split(';').next().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_str(&format!("a=b; {pair}")).unwrap());
        headers
    }

    #[test]
    fn a_session_lasts_for_hours_and_ends_at_a_sign_out() {
        let sessions = Sessions::default();
        let cookie = sessions.begin(viewer(), 1000, true).unwrap();
        let text = cookie.to_str().unwrap();
        assert!(["HttpOnly", "SameSite=Strict", "Secure"].iter().all(|word| text.contains(word)));
        let headers = sent(&cookie);
        assert_eq!(sessions.find(&headers, 1000 + LASTS - 1), Some(viewer()));
        assert_eq!(sessions.find(&headers, 1000 + LASTS), None);
        assert_eq!(sessions.find(&headers, 999), None);
        assert_eq!(sessions.find(&HeaderMap::new(), 1000), None);
        sessions.end(&headers);
        assert_eq!(sessions.find(&headers, 1000), None);
    }

    #[test]
    fn a_key_has_a_limit_of_sessions_and_ends_none_of_another_key() {
        let sessions = Sessions::default();
        let admin = Viewer { key_id: "a".into(), admin: true, loop_name: None };
        let other = sessions.begin(admin.clone(), 0, false).unwrap();
        let first = sessions.begin(viewer(), 0, false).unwrap();
        let second = sessions.begin(viewer(), 1, false).unwrap();
        for time in 2..=MOST_OF_KEY as u64 {
            sessions.begin(viewer(), time, false).unwrap();
        }
        assert_eq!(sessions.find(&sent(&first), 99), None);
        assert_eq!(sessions.find(&sent(&second), 99), Some(viewer()));
        for time in 0..2000 {
            sessions.begin(viewer(), time, false).unwrap();
        }
        assert_eq!(sessions.all().len(), MOST_OF_KEY + 1);
        assert_eq!(sessions.find(&sent(&other), 99), Some(admin));
    }

    #[test]
    fn no_viewer_is_led_to_another_site() {
        for path in ["/loops/home", "/loops/home/certificate", "/certificate"] {
            assert_eq!(own_path(path), path);
        }
        for path in [
            "//evil.example",
            "https://evil.example",
            "/loops/\r\nX",
            "/loops/..%2f",
            "",
            "/loops/<b>",
        ] {
            assert_eq!(own_path(path), "/");
        }
    }

    #[test]
    fn a_key_of_one_loop_sees_no_other() {
        assert!(viewer().sees("home") && !viewer().sees("other"));
        assert!(Viewer { admin: true, ..viewer() }.sees("other"));
        assert!(Viewer { loop_name: None, ..viewer() }.sees("other"));
    }
}
