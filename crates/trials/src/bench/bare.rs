//! A handler of axum that reads a body and answers as many bytes as a decision has.

use std::net::SocketAddr;

use axum::{Router, body::Bytes, http::header, routing::post};

use super::request::rank_request;
use reticent_server::{Error, Result, run::bind};

/// Serves on a port of its own for as long as the runtime lasts.
pub(super) async fn handler() -> Result<SocketAddr> {
    // A decision has an id and a probability of each action, which is about as long as the rank request.
    let answer: &'static str = rank_request(1).leak();
    let handler = move |body: Bytes| async move {
        std::hint::black_box(body);
        ([(header::CONTENT_TYPE, "application/json")], answer)
    };
    let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let address = listener.local_addr().map_err(Error::store)?;
    let report = |body: Bytes| async move {
        std::hint::black_box(body);
        ([(header::CONTENT_TYPE, "application/json")], "{\"outcome\":\"taken\"}")
    };
    let routes = Router::new()
        .route("/v1/loops/bench/rank", post(handler))
        .route("/v1/loops/devices/reports", post(report));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(address)
}
