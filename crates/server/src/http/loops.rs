//! Releases: loops, certificates, models, the chain of releases.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{HeaderMap, header},
    response::{Html, IntoResponse, Response},
};
use futures_util::stream;
use reticent::{features::FeaturesParams, wire};
use serde::{Deserialize, Serialize};

use super::{
    App, Problem,
    body::Ask,
    device::published,
    guard::{At, AtDevice, Holder},
};
use crate::{
    Error,
    loops::{self, Certificate, ChainHeader, ChainLine, Together},
    secret::hex,
    service::{Central, DeviceView, Loop, LoopView},
};

/// Releases that are listed at once, at most.
const MOST_RELEASES: usize = 1000;

/// Bytes of releases that are in memory at once for one listing, unless one release has more.
const PAGE_BYTES: usize = 1 << 20;

/// The loops that a key may see.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct LoopList {
    /// Loops in the order of their names.
    loops: Vec<LoopView>,
    /// Loops whose people's devices add the noise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    devices: Vec<DeviceView>,
}

/// A loop's certificate beside what all loops give one person.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct CertificateAnswer {
    #[serde(flatten)]
    certificate: Certificate,
    /// The guarantee of all loops together.
    together: Together,
}

/// The released model of a loop, to decide without the service.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct Model<'a> {
    /// The loop.
    r#loop: &'a str,
    /// The number of its release, 0 before the first.
    number: u64,
    /// The hash of the chain of releases up to it.
    chain: String,
    /// Time of the release.
    time: Option<u64>,
    /// Rule from records to vectors.
    #[cfg_attr(test, schema(value_type = Object))]
    features: &'a FeaturesParams,
    /// The name of each coordinate.
    names: Vec<String>,
    /// The policy as other programs read it.
    #[cfg_attr(test, schema(value_type = Object))]
    policy: serde_json::Value,
}

/// Range of releases.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(super) struct ReleasesQuery {
    /// The first number, 1 by default.
    #[cfg_attr(test, param(minimum = 1))]
    from: Option<u64>,
    /// Number of releases, at most 1000.
    #[cfg_attr(test, param(minimum = 1, maximum = 1000))]
    limit: Option<usize>,
}

/// The first line of a list of releases: what the chain before its first release is made of.
#[derive(Serialize)]
struct ChainBegin {
    #[serde(flatten)]
    header: ChainHeader,
    /// The number of the first release of the list.
    from: u64,
    /// The chain before it.
    chain: String,
}

/// The loops that the key may see, with their public parameters.
#[cfg_attr(test, utoipa::path(get, path = "/v1/loops", tag = "releases", security(("key" = [])),
    responses((status = 200, description = "The loops", body = LoopList), super::openapi::Problems)))]
pub(super) async fn list(
    State(app): State<App>,
    Extension(Holder(entry)): Extension<Holder>,
) -> Result<Json<LoopList>, Problem> {
    let seen = app.service.central_loops().filter(|loop_| entry.grant.covers(&loop_.name));
    let loops = seen.map(|loop_| app.service.view(loop_, entry.grant.is_admin())).collect();
    let seen = app.service.report_loops().filter(|loop_| entry.grant.covers(&loop_.name));
    let devices = seen.map(|loop_| loop_.view()).collect::<Result<_, Error>>()?;
    Ok(Json(LoopList { loops, devices }))
}

/// The certificate of a loop, with what enforces each condition, and the guarantee of all loops together.
#[cfg_attr(test, utoipa::path(get, path = "/v1/loops/{loop}/certificate", tag = "releases", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop")),
    responses((status = 200, description = "The certificate; as a page that prints where text/html is asked for first", content(
        (CertificateAnswer = "application/json"), (str = "text/html"))), super::openapi::Problems)))]
pub(super) async fn certificate(
    State(app): State<App>,
    at: Option<Extension<At>>,
    device: Option<Extension<AtDevice>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let together = app.service.together().await?;
    let loop_ = match (at, device) {
        (Some(Extension(At(central))), _) => Loop::Central(central),
        (None, Some(Extension(AtDevice(reports)))) => Loop::Reports(reports),
        (None, None) => return Err(no_loop()),
    };
    let certificate = app.service.certificate(&loop_.name).await?;
    Ok(match wants_page(&headers) {
        true => {
            let page = loops::page::certificate_page(&loop_.plan(), &certificate, &together);
            ([(header::VARY, "accept")], Html(page)).into_response()
        }
        false => {
            let answer = CertificateAnswer { certificate, together };
            ([(header::VARY, "accept")], Json(answer)).into_response()
        }
    })
}

/// True if a page is named before JSON in what the caller accepts.
fn wants_page(headers: &HeaderMap) -> bool {
    let accepted =
        headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut kinds =
        accepted.split(',').map(|kind| kind.split(';').next().unwrap_or_default().trim());
    kinds.find(|kind| ["text/html", "application/json"].contains(kind)) == Some("text/html")
}

/// The guarantee of all loops of the service together for one person, earlier generations included.
#[cfg_attr(test, utoipa::path(get, path = "/v1/certificate", tag = "releases", security(("key" = [])),
    responses((status = 200, description = "The certificate of all loops", body = Together), super::openapi::Problems)))]
pub(super) async fn together(State(app): State<App>) -> Result<Response, Problem> {
    Ok(Json(app.service.together().await?).into_response())
}

/// A call without a loop in its address.
fn no_loop() -> Problem {
    Error::unknown("loop", "missing", "name it in the address").into()
}

/// The model that was released last, with its number. A loop of devices answers with the message that a device chooses by.
#[cfg_attr(test, utoipa::path(get, path = "/v1/loops/{loop}/model", tag = "releases", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop")),
    responses((status = 200, description = "The model", body = Model<'static>), super::openapi::Problems)))]
pub(super) async fn model(
    headers: HeaderMap,
    at: Option<Extension<At>>,
    device: Option<Extension<AtDevice>>,
) -> Result<Response, Problem> {
    if let Some(Extension(AtDevice(loop_))) = device {
        let served = loop_.served();
        let tag = format!("{}-{}", served.number, hex(&served.chain[..8]));
        return Ok(published(&headers, tag, served.message.clone()));
    }
    let Some(Extension(At(loop_))) = at else { return Err(no_loop()) };
    let answering = loop_.answering();
    let served = &answering.served;
    let policy = serde_json::from_str(&wire::to_json(&served.policy));
    let model = Model {
        r#loop: &loop_.name,
        number: served.number,
        chain: hex(&served.chain),
        time: served.time,
        features: loop_.plan.features.params(),
        names: loop_.plan.features.names(),
        policy: policy.map_err(|_| Error::store("the policy cannot be written"))?,
    };
    Ok(Json(model).into_response())
}

/// Releases as lines of JSON, for `reticent certify --chain`. The first line says what the chain begins with.
#[cfg_attr(test, utoipa::path(get, path = "/v1/loops/{loop}/releases", tag = "releases", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop"), ReleasesQuery),
    responses((status = 200, description = "The releases", body = str, content_type = "application/x-ndjson"), super::openapi::Problems)))]
pub(super) async fn releases(
    State(app): State<App>,
    Extension(At(loop_)): Extension<At>,
    Ask(query): Ask<ReleasesQuery>,
) -> Result<Response, Problem> {
    let (from, limit) = (query.from.unwrap_or(1), query.limit.unwrap_or(MOST_RELEASES));
    if from == 0 {
        return Err(Error::invalid("from", 0, "releases are numbered from 1").into());
    }
    if !(1..=MOST_RELEASES).contains(&limit) {
        let remedy = format!("expected from 1 to {MOST_RELEASES}");
        return Err(Error::invalid("limit", limit, remedy).into());
    }
    let chain = app.service.chain_before(&loop_, from).await?;
    let begin = ChainBegin { header: app.service.chain_header(&loop_), from, chain: hex(&chain) };
    let body = listing(app, loop_, line(&begin)?, from, limit);
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// A body of a first line and of one piece for each page of releases, which is read when the client has taken those before it. An error cuts the body off, which
/// clients notice.
fn listing(app: App, loop_: Arc<Central>, begin: String, from: u64, limit: usize) -> Body {
    let shared = Arc::new((app, loop_));
    Body::from_stream(stream::try_unfold(
        (Some(begin), from, limit),
        move |(begin, from, limit)| {
            let shared = Arc::clone(&shared);
            async move {
                if let Some(begin) = begin {
                    return Ok(Some((begin, (None, from, limit))));
                }
                let (app, loop_) = &*shared;
                let records = app.service.release_page(loop_, from, limit, PAGE_BYTES).await?;
                let Some(last) = records.last().map(|record| record.number) else {
                    return Ok(None);
                };
                let mut text = String::new();
                for record in &records {
                    text += &line(&ChainLine::new(record)?)?;
                }
                let left = limit.saturating_sub(records.len());
                Ok::<_, Error>(Some((text, (None, last.saturating_add(1), left))))
            }
        },
    ))
}

/// A value as one line of JSON.
pub(super) fn line(value: &impl Serialize) -> Result<String, Error> {
    let mut text = serde_json::to_string(value)
        .map_err(|_| Error::store("a line of JSON cannot be written"))?;
    text.push('\n');
    Ok(text)
}
