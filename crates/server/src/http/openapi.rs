//! The calls as OpenAPI 3.1: a committed document, which a test compares with the code.
//!
//! A stack of macros makes it from the handlers (`code`). It is compiled for tests only: with it every build would compile a reader of regular expressions.

use std::sync::LazyLock;

use axum::Json;

#[cfg(test)]
mod code;
#[cfg(test)]
pub(super) use code::{PersonalizerProblems, Problems};

/// The document as it is committed.
const TEXT: &str = include_str!("openapi/openapi.json");

/// The document.
pub fn openapi() -> &'static serde_json::Value {
    static DOCUMENT: LazyLock<serde_json::Value> =
        LazyLock::new(|| serde_json::from_str(TEXT).unwrap_or_default());
    &DOCUMENT
}

/// This document.
#[cfg_attr(test, utoipa::path(get, path = "/openapi.json", tag = "operation", responses((status = 200, description = "The calls as OpenAPI 3.1", body = Object))))]
pub(super) async fn document() -> Json<&'static serde_json::Value> {
    Json(openapi())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_document_is_read() {
        assert_eq!(super::openapi()["info"]["version"], env!("CARGO_PKG_VERSION"));
    }
}
