//! Health of the process, its readiness and its metrics.

use std::sync::atomic::Ordering;

use axum::{
    Extension, Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{App, Problem, gauges::Flags, guard::Holder};

/// Answer of `GET /readyz`.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Readiness {
    /// True if everything is as it should be.
    ready: bool,
    /// Reasons for which something is not. Requests are answered all the same, unless the store cannot be read or refuses what they write: `GET /readyz/requests` tells these apart.
    troubles: Vec<String>,
}

/// The process runs.
#[cfg_attr(test, utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, description = "The process runs", body = str, content_type = "text/plain"))))]
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Readiness of the whole service: it answers, learns and releases.
#[cfg_attr(test, utoipa::path(get, path = "/readyz", tag = "operation", responses(
    (status = 200, description = "Everything is as it should be", body = Readiness),
    (status = 503, description = "Something is not", body = Readiness))))]
pub(super) async fn readyz(State(app): State<App>) -> Response {
    let Health { troubles, .. } = health(&app).await;
    answer(troubles)
}

/// Readiness for requests, for a load balancer. Troubles that stop releases alone do not matter here.
#[cfg_attr(test, utoipa::path(get, path = "/readyz/requests", tag = "operation", responses(
    (status = 200, description = "Requests are answered", body = Readiness),
    (status = 503, description = "Requests are refused, or the service stops", body = Readiness))))]
pub(super) async fn readyz_requests(State(app): State<App>) -> Response {
    let Health { refusals, .. } = health(&app).await;
    answer(refusals)
}

fn answer(troubles: Vec<String>) -> Response {
    let ready = troubles.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { ready, troubles })).into_response()
}

/// Troubles of the service.
struct Health {
    /// Reasons why something is not as it should be, refusals included.
    troubles: Vec<String>,
    /// Reasons why requests are refused.
    refusals: Vec<String>,
    flags: Flags,
}

async fn health(app: &App) -> Health {
    let mut refusals = Vec::new();
    if app.stopping.load(Ordering::SeqCst) {
        refusals.push("the service stops".into());
    }
    let refused = app.service.write_trouble();
    let writable = refused.is_none();
    let readable = app.service.store().setting("token key".into()).await.is_ok();
    if !readable {
        refusals.push("the store cannot be read".into());
    }
    refusals.extend(refused.map(str::to_string));
    let mut troubles = app.service.troubles();
    troubles.extend(refusals.iter().cloned());
    let flags = Flags { ready: troubles.is_empty(), readable, writable };
    Health { troubles, refusals, flags }
}

/// Metrics: those of the key's loop that are public, and with an `admin` key all of them.
#[cfg_attr(test, utoipa::path(get, path = "/metrics", tag = "operation", security(("key" = [])), responses(
    (status = 200, description = "Metrics in the format of OpenMetrics", body = str, content_type = "application/openmetrics-text"), super::openapi::Problems)))]
pub(super) async fn metrics(
    State(app): State<App>,
    Extension(Holder(entry)): Extension<Holder>,
) -> Result<Response, Problem> {
    let Health { flags, .. } = health(&app).await;
    let text = app.metrics.text(&app.service, &entry.grant, flags).map_err(|_| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the metrics could not be written")
    })?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
