//! The process: its socket and its tasks.
//!
//! | call | what |
//! | --- | --- |
//! | POST /v1/loops/{loop}/reports | a sealed report of a device, as bytes |
//! | GET /v1/loops/{loop}/sealing | the protocol and the key as this shuffler knows them, which devices compare with the server's |
//! | GET /healthz, /readyz | whether the process runs, and whether batches leave |
//!
//! Logs hold neither addresses nor reports.

use std::{future::Future, net::SocketAddr, path::PathBuf, sync::Arc};

use axum::{
    Extension, Json, Router,
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::json;
use tokio::task::JoinSet;

use super::{HttpUpstream, Shuffler};
use crate::{
    Error, Result,
    client::Endpoint,
    clock::SystemClock,
    config::Plan,
    data::open_living_store,
    http::{HttpLimits, Peer, Problem, message_problem, read_bytes, serve_routes},
    run::Listen,
    secret::secret_in_file,
};

/// Options of `reticent-server shuffle`.
pub struct ShuffleOptions {
    /// Checked loops; those without a shuffler are passed over.
    pub plans: Vec<Plan>,
    /// The folder of the shuffler's own data.
    pub data: PathBuf,
    /// The server.
    pub server: Endpoint,
    /// Address to listen at. A proxy in front names senders in X-Forwarded-For, of which the last address is believed.
    pub listen: Listen,
    /// Limits on devices.
    pub limits: HttpLimits,
}

#[derive(Clone)]
struct App {
    shuffler: Arc<Shuffler>,
    limits: HttpLimits,
    behind_proxy: bool,
}

/// Shuffles until `stop`. `ready` gets the address when devices can report.
pub async fn run_shuffler(
    options: ShuffleOptions,
    ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let (listener, tls) = options.listen.open().await?;
    let store = open_living_store(&options.data).await?;
    let key = secret_in_file(&options.data.join("seal.key"))?.seal_key();
    let senders = secret_in_file(&options.data.join("senders.key"))?;
    let upstream = Arc::new(HttpUpstream::new(options.server));
    let clock = Arc::new(SystemClock::default());
    let shuffler = Shuffler::open(options.plans, store, upstream, clock, (key, senders)).await?;
    let mut tasks = JoinSet::new();
    for loop_ in shuffler.loops() {
        tasks.spawn(Arc::clone(&shuffler).keep_forwarding(loop_.plan.name.clone()));
    }
    let (limits, behind_proxy) = (options.limits, options.listen.behind_proxy);
    let routes = routes(App { shuffler: Arc::clone(&shuffler), limits, behind_proxy });
    if let Ok(address) = listener.local_addr() {
        ready(address);
    }
    serve_routes((routes, limits), listener, tls, stop, || shuffler.stop()).await;
    while tasks.join_next().await.is_some() {}
    Ok(())
}

fn routes(app: App) -> Router {
    Router::new()
        .route("/v1/loops/{loop}/reports", post(report).options(preflight))
        .route("/v1/loops/{loop}/sealing", get(sealing).options(preflight))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .layer(axum::middleware::map_response(any_origin))
        .with_state(app)
}

/// Lets pages of any origin read the answer: what devices send needs no key.
async fn any_origin(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type"),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

async fn report(
    State(app): State<App>,
    Path(name): Path<String>,
    Extension(Peer(peer)): Extension<Peer>,
    request: Request,
) -> std::result::Result<Response, Problem> {
    let sender = sender(request.headers(), peer, app.behind_proxy);
    let longest = app.shuffler.find(&name)?.subject().length();
    let bytes = read_bytes(&app.limits, longest, request).await.map_err(|problem| {
        // A refusal for good, so that the device drops it.
        let remedy = "it is a report of another generation, or none: fetch the protocol, drop it";
        let too_long = Error::invalid("report", format!("more than {longest} bytes"), remedy);
        if problem.status() == StatusCode::PAYLOAD_TOO_LARGE { too_long.into() } else { problem }
    })?;
    // In a task of its own, which continues when its sender goes away.
    let taking = async move { app.shuffler.take(&name, &bytes, &sender).await };
    let outcome = tokio::spawn(taking).await.map_err(Error::store)?.map_err(message_problem)?;
    Ok(Json(json!({ "outcome": outcome })).into_response())
}

/// The sender, as a cap counts them: an address, or the network of one where a household has many. Of what X-Forwarded-For says only the end is believed, which the proxy in
/// front has added; the sender wrote everything before it.
fn sender(headers: &HeaderMap, peer: SocketAddr, behind_proxy: bool) -> String {
    let mut lines = headers.get_all("x-forwarded-for").iter();
    let last = lines.next_back().filter(|_| behind_proxy);
    let last = last.and_then(|line| line.to_str().ok()?.rsplit(',').next());
    let address = last.and_then(|text| text.trim().parse().ok()).unwrap_or(peer.ip());
    match address.to_canonical() {
        std::net::IpAddr::V4(address) => address.to_string(),
        std::net::IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}")
        }
    }
}

async fn sealing(
    State(app): State<App>,
    Path(name): Path<String>,
) -> std::result::Result<Response, Problem> {
    let loop_ = app.shuffler.find(&name)?;
    let key = loop_.seals_to()?;
    Ok(Json(json!({
        "loop": name,
        "mode": if loop_.plan.sums() { "sum" } else { "sealed" },
        "key_id": crate::secret::hex(&key.id()),
        "public_key": key.text(),
        "protocol": crate::secret::hex(&loop_.subject().protocol),
        "values": loop_.subject().values,
    }))
    .into_response())
}

async fn readyz(State(app): State<App>) -> Response {
    let troubles = app.shuffler.troubles();
    let ready = troubles.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({ "ready": ready, "troubles": troubles }))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_proxy_added_names_a_sender() {
        let peer: SocketAddr = "[2001:db8:1:2:3::4]:80".parse().unwrap();
        let named = |lines: &[&str], behind_proxy| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("x-forwarded-for", line.parse().unwrap());
            }
            sender(&headers, peer, behind_proxy)
        };
        assert_eq!(named(&["10.0.0.1"], true), "10.0.0.1");
        assert_eq!(named(&["10.0.0.9, 10.0.0.1"], true), "10.0.0.1");
        // The sender's own line comes before that of the proxy.
        assert_eq!(named(&["10.0.0.9", "10.0.0.1"], true), "10.0.0.1");
        assert_eq!(named(&["10.0.0.9", "10.0.0.8, 10.0.0.1"], true), "10.0.0.1");
        assert_eq!(named(&["10.0.0.9", "::ffff:10.0.0.1"], true), "10.0.0.1");
        for (lines, behind_proxy) in
            [(&["10.0.0.1"][..], false), (&["10.0.0.1, unknown"], true), (&[], true)]
        {
            assert_eq!(named(lines, behind_proxy), "2001:db8:1:2");
        }
    }
}
