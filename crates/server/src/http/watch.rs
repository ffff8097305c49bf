//! Logs and counts of all requests, without data: the method, the template of the route, the status, the time. Addresses hold event ids and are left out.

use std::{any::Any, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{App, Problem, headers::secure};

/// Logs a request when it is answered.
pub(super) async fn watch(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    // Clients can make up methods.
    let method = match request.method().as_str() {
        known @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => known,
        _ => "other",
    }
    .to_string();
    let response = next.run(request).await;
    let (status, micros) = (response.status().as_u16(), started.elapsed().as_micros() as u64);
    // Troubles that keep the service from being ready are logged where they arise, not with every call of /readyz.
    if response.status().is_server_error() && route != "/readyz" {
        tracing::error!(method, route, status, micros, "request");
    } else {
        tracing::debug!(method, route, status, micros, "request");
    }
    app.metrics.count_request(method, route, status);
    secure(response, app.tls)
}

/// The answer where a handler panicked. What it said may hold data and is not shown.
pub(super) fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    tracing::error!("a request panicked");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the service failed").into_response()
}
