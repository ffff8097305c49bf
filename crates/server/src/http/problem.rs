//! Errors as RFC 9457 problems: `application/problem+json` with type, title, status, detail, and field, value and remedy where there are any.
//!
//! A problem goes to the caller and is never logged: it may repeat an id that the caller sent. It never repeats a feature, a reward or a person.

use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::Error;

/// An error as it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Problem {
    /// The kind of problem, which does not change between versions.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The kind in words.
    pub title: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// The problem in words.
    #[cfg_attr(test, schema(value_type = String))]
    pub detail: Box<str>,
    /// The field that cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(value_type = Option<String>))]
    pub field: Option<Box<str>>,
    /// The given value, or a description of it where it may be a person's data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(value_type = Option<String>))]
    pub value: Option<Box<str>>,
    /// The remedy.
    #[cfg_attr(test, schema(value_type = String))]
    pub remedy: Box<str>,
    /// Seconds after which to try again.
    #[serde(skip)]
    pub retry_after: Option<u64>,
}

/// Kind, title and remedy of a status.
fn words(status: StatusCode) -> (&'static str, &'static str, &'static str) {
    match status {
        StatusCode::BAD_REQUEST => (
            "urn:reticent:problem:malformed",
            "The request cannot be read",
            "send JSON as /openapi.json describes it",
        ),
        StatusCode::UNAUTHORIZED => (
            "urn:reticent:problem:no-key",
            "A key is needed",
            "send a key that was not revoked as `Authorization: Bearer rt_...` (`reticent-server key new` makes one)",
        ),
        StatusCode::FORBIDDEN => (
            "urn:reticent:problem:not-allowed",
            "The key is not for this",
            "use a key of this loop with the role that is named",
        ),
        StatusCode::NOT_FOUND => {
            ("urn:reticent:problem:unknown", "There is no such thing", "see /openapi.json")
        }
        StatusCode::METHOD_NOT_ALLOWED => (
            "urn:reticent:problem:wrong-method",
            "The address has other methods",
            "see /openapi.json",
        ),
        StatusCode::REQUEST_TIMEOUT => (
            "urn:reticent:problem:too-slow",
            "The body came too slowly",
            "send the whole body at once",
        ),
        StatusCode::CONFLICT => (
            "urn:reticent:problem:conflict",
            "The id is in use",
            "give every event an id of its own",
        ),
        StatusCode::GONE => (
            "urn:reticent:problem:late",
            "The event has closed",
            "send rewards before the loop's window has ended",
        ),
        StatusCode::PAYLOAD_TOO_LARGE => {
            ("urn:reticent:problem:too-large", "The body is too large", "send smaller bodies")
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (
            "urn:reticent:problem:not-json",
            "The body is not marked as JSON",
            "send `Content-Type: application/json`",
        ),
        StatusCode::UNPROCESSABLE_ENTITY => {
            ("urn:reticent:problem:invalid", "A field cannot be used", "correct the field")
        }
        StatusCode::TOO_MANY_REQUESTS => (
            "urn:reticent:problem:too-many",
            "There are too many requests",
            "wait as `Retry-After` says",
        ),
        StatusCode::SERVICE_UNAVAILABLE => (
            "urn:reticent:problem:unavailable",
            "This cannot be done at present",
            "repeat the request later, with the same ids",
        ),
        _ => (
            "urn:reticent:problem:internal",
            "The service failed",
            "tell the operator, who finds the reason in the log",
        ),
    }
}

impl Problem {
    /// A problem of this status.
    pub fn new(status: StatusCode, detail: impl Into<Box<str>>) -> Self {
        let (kind, title, remedy) = words(status);
        Problem {
            kind,
            title,
            status: status.as_u16(),
            detail: detail.into(),
            field: None,
            value: None,
            remedy: remedy.into(),
            retry_after: None,
        }
    }

    /// The same problem of this field.
    pub fn of_field(mut self, field: impl Into<Box<str>>, value: impl Into<Box<str>>) -> Self {
        (self.field, self.value) = (Some(field.into()), Some(value.into()));
        self
    }

    /// The same problem with this remedy.
    pub fn with_remedy(mut self, remedy: impl Into<Box<str>>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// The same problem with its event, where it is about one: unknown, closed, or in use.
    pub(super) fn of_event(self, id: &str) -> Self {
        match self.status() {
            StatusCode::NOT_FOUND | StatusCode::GONE | StatusCode::CONFLICT => {
                self.of_field("event_id", format!("{:?}", id.chars().take(64).collect::<String>()))
            }
            _ => self,
        }
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid { field, value, remedy } => {
                let detail = reticent::error::message(&field, &value, &remedy);
                let problem = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
                problem.of_field(field, value).with_remedy(remedy)
            }
            Error::Unknown { field, value, remedy } => {
                let detail = reticent::error::message(&field, &value, &remedy);
                let problem = Problem::new(StatusCode::NOT_FOUND, detail);
                problem.of_field(field, value).with_remedy(remedy)
            }
            Error::Conflict(detail) => Problem::new(StatusCode::CONFLICT, detail),
            Error::Late(detail) => Problem::new(StatusCode::GONE, detail),
            Error::TooMany { message, retry_after } => Problem {
                retry_after: Some(retry_after),
                ..Problem::new(StatusCode::TOO_MANY_REQUESTS, message)
            },
            Error::Unavailable(detail) => Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail),
            // What the store says is for the operator.
            Error::Store(reason) => {
                tracing::error!("store: {reason}");
                let detail = "storage error: the request may have been carried out or not";
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
            }
            // It may hold numbers of a row.
            Error::Core(_) => {
                tracing::error!("the learner refused a request");
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the learner refused the request")
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, retry_after) = (self.status(), self.retry_after);
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(header::CONTENT_TYPE, kind)], Json(self)).into_response();
        add_headers(&mut response, status, retry_after);
        response
    }
}

/// Headers that the status asks for.
pub(super) fn add_headers(response: &mut Response, status: StatusCode, retry_after: Option<u64>) {
    let mut add = |name: HeaderName, value: HeaderValue| response.headers_mut().insert(name, value);
    if let Some(seconds) = retry_after {
        add(header::RETRY_AFTER, seconds.into());
    }
    if status == StatusCode::UNAUTHORIZED {
        add(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"reticent\""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_status() {
        for (error, status) in [
            (Error::invalid("a", "b", "c"), 422),
            (Error::unknown("a", "b", "c"), 404),
            (Error::Conflict("a".into()), 409),
            (Error::Late("a".into()), 410),
            (Error::TooMany { message: "a".into(), retry_after: 7 }, 429),
            (Error::Unavailable("a".into()), 503),
            (Error::store("a"), 503),
            (reticent::Error::invalid("reward", 0.123, "x").into(), 500),
        ] {
            let response = Problem::from(error).into_response();
            assert_eq!(response.status().as_u16(), status);
            assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
            assert_eq!(response.headers().contains_key(header::RETRY_AFTER), status == 429);
        }
        let core: Error = reticent::Error::invalid("reward", 0.123, "x").into();
        assert!(!format!("{:?}", Problem::from(core)).contains("0.123"));
        assert!(!format!("{:?}", Problem::from(Error::store("disk 7"))).contains("disk 7"));
    }
}
