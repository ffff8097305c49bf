//! Whether the process lives, whether it works as it should, and how much it does.

use std::sync::atomic::Ordering;

use axum::{
    Extension, Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{App, Problem, guard::Holder, openapi::Problems};

/// What `GET /readyz` says.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct Readiness {
    /// Whether everything is as it should be.
    ready: bool,
    /// What is not. People are answered all the same, unless the store cannot be read.
    troubles: Vec<String>,
}

/// The process lives.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, description = "The process lives", body = str, content_type = "text/plain")))]
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether the service works as it should: it answers, learns and releases.
#[utoipa::path(get, path = "/readyz", tag = "operation", responses(
    (status = 200, description = "Everything is as it should be", body = Readiness),
    (status = 503, description = "Something is not", body = Readiness)))]
pub(super) async fn readyz(State(app): State<App>) -> Response {
    let Health { troubles, .. } = health(&app).await;
    let ready = troubles.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { ready, troubles })).into_response()
}

/// How the service is doing.
struct Health {
    troubles: Vec<String>,
    store_readable: bool,
}

async fn health(app: &App) -> Health {
    let mut troubles = app.service.troubles();
    if app.stopping.load(Ordering::SeqCst) {
        troubles.push("the service stops".into());
    }
    let store_readable = app.service.store().setting("token key".into()).await.is_ok();
    if !store_readable {
        troubles.push("the store cannot be read".into());
    }
    Health { troubles, store_readable }
}

/// Metrics: those of the key's loop that are public, and with an `admin` key all of them.
#[utoipa::path(get, path = "/metrics", tag = "operation", security(("key" = [])), responses(
    (status = 200, description = "Metrics in the format of OpenMetrics", body = str, content_type = "application/openmetrics-text"), Problems))]
pub(super) async fn metrics(
    State(app): State<App>,
    Extension(Holder(entry)): Extension<Holder>,
) -> Result<Response, Problem> {
    let Health { troubles, store_readable } = health(&app).await;
    let health = (troubles.is_empty(), store_readable);
    let text = app.metrics.text(&app.service, &entry.grant, health).map_err(|_| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the metrics could not be written")
    })?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
