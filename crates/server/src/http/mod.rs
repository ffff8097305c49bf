//! HTTP: parse, call the service, answer.
//!
//! | file | what it is |
//! | --- | --- |
//! | `guard` | who asks, for which loop, how often; the head that clients echo |
//! | `keys` | keys and roles |
//! | `limits` | sizes, times, connections, rates |
//! | `addresses`, `progress` | connections of one address; connections whose client takes nothing |
//! | `body` | bodies and queries, refused by field |
//! | `problem` | errors as RFC 9457 problems |
//! | `rank`, `reward`, `loops`, `export`, `people` | the calls |
//! | `device` | the calls of devices, from pages of any origin |
//! | `pages` | pages for people, with the keys of this service |
//! | `personalizer` | Personalizer's calls, with its own fields, statuses and errors |
//! | `health`, `gauges`, `metrics`, `latency` | whether the service works, how it is doing, how much it does, and how fast |
//! | `openapi` | the calls as OpenAPI 3.1 |
//! | `watch`, `headers` | logs without data, and headers of every answer |
//! | `serve` | sockets, TLS, a graceful stop |

mod addresses;
mod body;
mod device;
mod export;
mod gauges;
mod guard;
mod headers;
mod health;
mod keys;
mod latency;
mod limits;
mod loops;
mod metrics;
mod openapi;
mod pages;
mod people;
mod personalizer;
mod problem;
mod progress;
mod rank;
mod reward;
mod serve;
mod watch;

use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{Method, StatusCode, Uri},
    response::Response,
    routing::{get, post},
};

pub use addresses::PerAddress;
pub(crate) use body::read_bytes;
pub(crate) use device::message_problem;
pub(crate) use keys::check_trust;
pub use keys::{Grant, KeyRing, Role, make_key};
pub use limits::{HttpLimits, Rate};
pub use openapi::openapi;
pub use problem::Problem;
pub(crate) use serve::{Peer, serve_routes};
pub use serve::{Tls, serve};

use guard::{Call, Style, guarded};
use metrics::Metrics;

use crate::service::Service;

/// State that all requests share.
#[derive(Clone)]
pub struct App(Arc<Shared>);

/// See [`App`].
pub struct Shared {
    /// The loops.
    pub service: Arc<Service>,
    /// The keys.
    pub keys: Arc<KeyRing>,
    /// Limits on clients.
    pub limits: HttpLimits,
    /// True if browsers reach the service by TLS, its own or that of a declared proxy: cookies are then sent over nothing else.
    pub tls: bool,
    metrics: Metrics,
    /// Allowance of calls without a key.
    strangers: limits::Bucket,
    stopping: AtomicBool,
}

impl App {
    /// A service with its keys.
    pub fn new(service: Arc<Service>, keys: Arc<KeyRing>, limits: HttpLimits, tls: bool) -> Self {
        let metrics = Metrics::new(&service);
        let (strangers, stopping) = Default::default();
        App(Arc::new(Shared { service, keys, limits, tls, metrics, strangers, stopping }))
    }

    /// Says on /readyz that the service stops.
    pub fn begin_stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// All routes.
pub fn router(app: App) -> Router {
    let native =
        |roles, call, routes: Router<App>| guarded(&app, roles, call, Style::Native, routes);
    let personalizer =
        |roles, call, routes: Router<App>| guarded(&app, roles, call, Style::Personalizer, routes);
    let routes = Router::new()
        .merge(native(
            &[Role::Decide],
            Call::Rank,
            Router::new()
                .route("/v1/loops/{loop}/rank", post(rank::rank))
                .route("/v1/loops/{loop}/rank/batch", post(rank::rank_batch)),
        ))
        .merge(native(
            &[Role::Reward],
            Call::Reward,
            Router::new()
                .route("/v1/loops/{loop}/events/{id}/reward", post(reward::reward))
                .route("/v1/loops/{loop}/rewards/batch", post(reward::reward_batch)),
        ))
        .merge(native(
            &[Role::Decide, Role::Reward],
            Call::Activate,
            Router::new().route("/v1/loops/{loop}/events/{id}/activate", post(reward::activate)),
        ))
        .merge(native(
            &[Role::Read],
            Call::Read,
            Router::new()
                .route("/v1/loops", get(loops::list))
                .route("/v1/loops/{loop}/certificate", get(loops::certificate))
                .route("/v1/certificate", get(loops::together))
                .route("/metrics", get(health::metrics)),
        ))
        .merge(native(
            &[Role::Read],
            Call::Export,
            Router::new().route("/v1/loops/{loop}/releases", get(loops::releases)),
        ))
        .merge(native(
            &[Role::Admin],
            Call::Export,
            Router::new()
                .route("/v1/loops/{loop}/events/export", get(export::export))
                .route("/v1/people/erase", post(people::erase)),
        ))
        .merge(device::routes(&app))
        .merge(personalizer(
            &[Role::Decide],
            Call::Rank,
            Router::new()
                .route("/personalizer/v1.0/rank", post(personalizer::rank))
                .route("/personalizer/rank", post(personalizer::rank)),
        ))
        .merge(personalizer(
            &[Role::Reward],
            Call::Reward,
            Router::new()
                .route("/personalizer/v1.0/events/{id}/reward", post(personalizer::reward))
                .route("/personalizer/events/{id}/reward", post(personalizer::reward)),
        ))
        .merge(personalizer(
            &[Role::Decide, Role::Reward],
            Call::Activate,
            Router::new()
                .route("/personalizer/v1.0/events/{id}/activate", post(personalizer::activate))
                .route("/personalizer/events/{id}/activate", post(personalizer::activate)),
        ))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/readyz/requests", get(health::readyz_requests))
        .route("/openapi.json", get(openapi::document));
    routes
        .merge(pages::routes(&app))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        // `body` has a limit of its own, which answers with a problem.
        .layer(DefaultBodyLimit::disable())
        .layer(tower_http::catch_panic::CatchPanicLayer::custom(watch::panicked))
        .layer(axum::middleware::from_fn_with_state(app.clone(), watch::watch))
        .with_state(app)
}

async fn unknown_path(uri: Uri) -> Response {
    let detail = "there is nothing at this address";
    Style::of_path(uri.path()).answer(Problem::new(StatusCode::NOT_FOUND, detail))
}

async fn wrong_method(method: Method, uri: Uri) -> Response {
    let detail = format!("this address does not take {method}");
    Style::of_path(uri.path()).answer(Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail))
}
