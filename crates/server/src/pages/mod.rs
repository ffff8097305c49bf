//! Pages for people: made by the server, without outside resources, scripts inside pages or styles inside pages.
//!
//! | file | what it is |
//! | --- | --- |
//! | `session` | who is signed in, and what they may see |
//! | `layout` | the frame of a page, marks, numbers and times as people read them |
//! | `history` | what past releases say about rewards, read once each |
//! | `chart` | means over time with their intervals, as SVG |
//! | `dashboard` | all loops, live |
//! | `card` | one loop on the dashboard: the parts that do not depend on its mechanism |
//! | `central`, `reports` | those that do |
//! | `progress` | events so far beside those that each part of the features needs |
//! | `details` | one loop |
//! | `begin` | first steps, before the first rank request |
//! | `certificate` | the page for a data-protection officer |
//! | `docs` | the API, from its OpenAPI description |
//!
//! Everything that a `read` key shows is a function of releases. Everything else is internal: it is rendered for
//! `admin` keys only, and marked.

mod begin;
mod card;
mod central;
mod certificate;
mod chart;
mod dashboard;
mod details;
mod docs;
mod history;
mod layout;
mod progress;
mod reports;
mod session;

use std::sync::Arc;

use axum::{
    Form, Router,
    extract::{DefaultBodyLimit, Path, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use maud::{Markup, html};
use serde::Deserialize;

pub use docs::docs_page;
pub use session::{Access, Call, Viewer};

use crate::{Error, Result, service::Service};
use history::Histories;
use layout::Frame;
use session::Sessions;

/// The content policy of these pages.
pub const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const SCRIPT: &str = include_str!("live.js");
const ICON: &str = include_str!("icon.svg");

/// Parts of the pages of a process.
pub struct Options {
    /// The loops.
    pub service: Arc<Service>,
    /// Access by keys.
    pub access: Arc<dyn Access>,
    /// The description of the API, for `/docs`.
    pub openapi: serde_json::Value,
    /// True if browsers reach the pages by HTTPS: the cookie is then sent over nothing else.
    pub secure: bool,
}

/// State of all pages.
struct Pages {
    service: Arc<Service>,
    access: Arc<dyn Access>,
    sessions: Sessions,
    histories: Histories,
    docs: String,
    secure: bool,
}

type Shared = State<Arc<Pages>>;

/// All pages.
pub fn routes(options: Options) -> Router {
    let Options { service, access, openapi, secure } = options;
    let pages = Pages {
        histories: Histories::default(),
        sessions: Sessions::default(),
        docs: docs_page(&openapi),
        service,
        access,
        secure,
    };
    let pages = Arc::new(pages);
    Router::new()
        .route("/", get(home))
        .route("/live", get(home_live))
        .route("/loops/{loop}", get(one_loop))
        .route("/loops/{loop}/live", get(one_loop_live))
        .route("/loops/{loop}/certificate", get(loop_certificate))
        .route("/certificate", get(all_certificates))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&pages), within_rate))
        .route("/sign-in", post(sign_in).layer(DefaultBodyLimit::max(4096)))
        .route("/sign-out", post(sign_out))
        .route("/docs", get(docs))
        .route("/assets/style.css", get(|| asset("text/css; charset=utf-8", layout::style())))
        .route("/assets/live.js", get(|| asset("text/javascript; charset=utf-8", SCRIPT.into())))
        .route("/assets/icon.svg", get(|| asset("image/svg+xml", ICON.into())))
        .with_state(pages)
}

/// Counts a page as a call that reads, by the key of its viewer.
async fn within_rate(State(pages): Shared, request: Request, next: Next) -> Response {
    let viewer = pages.viewer(request.headers());
    match viewer.map_or(Ok(()), |viewer| pages.access.take_read(&viewer.key_id)) {
        Ok(()) => next.run(request).await,
        Err(error) => too_many(&error),
    }
}

/// The answer to a key that has looked too often.
fn too_many(error: &Error) -> Response {
    let Error::TooMany { message, retry_after } = error else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let text = format!("{message}: try again in {retry_after} s\n");
    (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, retry_after.to_string())], text)
        .into_response()
}

async fn asset(kind: &'static str, text: String) -> Response {
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")];
    (headers, text).into_response()
}

/// A page, or a part of one, that no cache keeps.
fn page(status: StatusCode, text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    ];
    (status, headers, text).into_response()
}

impl Pages {
    /// The viewer, if they are signed in and their key has not been revoked.
    fn viewer(&self, headers: &HeaderMap) -> Option<Viewer> {
        let viewer = self.sessions.find(headers, self.service.now())?;
        self.access.still_valid(&viewer.key_id).then_some(viewer)
    }

    /// The page for people who are not signed in.
    fn sign_in_page(&self, status: StatusCode, next: &str, refused: bool) -> Response {
        page(status, begin::sign_in(next, refused))
    }

    /// The page of an error: its subject and the remedy.
    fn failed(&self, viewer: &Viewer, error: &Error) -> Response {
        let (status, title) = match error {
            Error::Unknown { .. } => (StatusCode::NOT_FOUND, "Not found"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "Not possible at present"),
        };
        // What went wrong inside is for the log and for administrators.
        let words = match error {
            Error::Unknown { .. } => error.to_string(),
            _ if viewer.admin => error.to_string(),
            _ => "The server could not make this page. Its administrator sees the reason.".into(),
        };
        let body =
            html! { main { h1 { (title) } p { (words) } p { a href="/" { "To the dashboard" } } } };
        page(status, Frame::of(viewer).document(title, body))
    }

    fn answer(&self, viewer: &Viewer, title: &str, body: Result<Markup>) -> Response {
        match body {
            Ok(body) => page(StatusCode::OK, Frame::of(viewer).document(title, body)),
            Err(error) => self.failed(viewer, &error),
        }
    }
}

async fn home(State(pages): Shared, headers: HeaderMap) -> Response {
    let Some(viewer) = pages.viewer(&headers) else {
        return pages.sign_in_page(StatusCode::OK, "/", false);
    };
    let host = begin::host(&headers);
    let body = dashboard::parts(&pages, &viewer, &host).await;
    pages.answer(&viewer, "Dashboard", body.map(|parts| layout::live("/live", parts)))
}

async fn home_live(State(pages): Shared, headers: HeaderMap) -> Response {
    let Some(viewer) = pages.viewer(&headers) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let host = begin::host(&headers);
    live_answer(dashboard::parts(&pages, &viewer, &host).await)
}

fn live_answer(parts: Result<Markup>) -> Response {
    match parts {
        Ok(parts) => page(StatusCode::OK, parts.into_string()),
        Err(Error::Unknown { .. }) => StatusCode::NOT_FOUND.into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn one_loop(State(pages): Shared, Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some(viewer) = pages.viewer(&headers) else {
        return pages.sign_in_page(StatusCode::UNAUTHORIZED, &format!("/loops/{name}"), false);
    };
    let host = begin::host(&headers);
    let body = loop_parts(&pages, &viewer, &name, &host).await;
    let source = format!("/loops/{name}/live");
    pages.answer(&viewer, &name, body.map(|parts| layout::live(&source, parts)))
}

async fn one_loop_live(
    State(pages): Shared,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(viewer) = pages.viewer(&headers) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let host = begin::host(&headers);
    live_answer(loop_parts(&pages, &viewer, &name, &host).await)
}

/// Refuses a loop that a key does not cover.
fn expect_seen(viewer: &Viewer, name: &str) -> Result<()> {
    if viewer.sees(name) {
        return Ok(());
    }
    let shown: String = name.chars().take(64).collect();
    Err(Error::unknown("loop", format!("{shown:?}"), "use a key of this loop"))
}

async fn loop_parts(pages: &Pages, viewer: &Viewer, name: &str, host: &str) -> Result<Markup> {
    expect_seen(viewer, name)?;
    details::parts(pages, viewer, pages.service.find(name)?, host).await
}

async fn loop_certificate(
    State(pages): Shared,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(viewer) = pages.viewer(&headers) else {
        let next = format!("/loops/{name}/certificate");
        return pages.sign_in_page(StatusCode::UNAUTHORIZED, &next, false);
    };
    let body = certificate::served(&pages, &viewer, &name).await;
    pages.answer(&viewer, &format!("Privacy certificate: {name}"), body)
}

async fn all_certificates(State(pages): Shared, headers: HeaderMap) -> Response {
    let Some(viewer) = pages.viewer(&headers) else {
        return pages.sign_in_page(StatusCode::UNAUTHORIZED, "/certificate", false);
    };
    let body = certificate::all_served(&pages, &viewer).await;
    pages.answer(&viewer, "Privacy certificate of all loops", body)
}

async fn docs(State(pages): Shared) -> Response {
    page(StatusCode::OK, pages.docs.clone())
}

/// The form of the sign-in page.
#[derive(Deserialize)]
struct SignIn {
    key: String,
    #[serde(default)]
    next: String,
}

async fn sign_in(
    State(pages): Shared,
    form: std::result::Result<Form<SignIn>, axum::extract::rejection::FormRejection>,
) -> Response {
    let Ok(Form(SignIn { key, next })) = form else {
        return pages.sign_in_page(StatusCode::BAD_REQUEST, "/", true);
    };
    let next = session::own_path(&next);
    let Some(viewer) = pages.access.sign_in(key.trim()) else {
        return pages.sign_in_page(StatusCode::FORBIDDEN, next, true);
    };
    if let Err(error) = pages.access.take_read(&viewer.key_id) {
        return too_many(&error);
    }
    match pages.sessions.begin(viewer, pages.service.now(), pages.secure) {
        Ok(cookie) => ([(header::SET_COOKIE, cookie)], Redirect::to(next)).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn sign_out(State(pages): Shared, headers: HeaderMap) -> Response {
    pages.sessions.end(&headers);
    let cookie = HeaderValue::from_static(session::NO_COOKIE);
    ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response()
}

#[cfg(test)]
mod tests;
