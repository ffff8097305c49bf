//! The calls of devices: the protocol, the model, reports.
//!
//! A page on a device has another origin than this service, and its key is in the page for every visitor to read. Answers to devices may therefore be read by
//! pages of any origin; no cookie belongs to them.

use axum::{
    Extension, Json, Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, options, post},
};
use reticent::wire;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    App, HttpLimits, Problem, Role,
    body::{Body, read_bytes, read_json_bytes},
    guard::{AtDevice, Call, Style, guarded},
    loops,
};
use crate::{
    Error,
    config::{BATCH_BODY_TIME, DeviceLearner, MOST_BATCH_BYTES},
    secret::hex,
    service::Taken,
};

/// Reports in one call, at most.
const MOST_REPORTS: usize = 10_000;

/// Outcome of a report.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct ReportAnswer {
    /// `taken`, or `duplicate` if it came before: in both cases it need not be sent again.
    outcome: Taken,
}

/// Form of sealed reports.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct SealingAnswer {
    r#loop: String,
    /// `sealed`: to this server, and the shuffler permutes. `sum`: to the shuffler, which sums.
    mode: &'static str,
    /// The bits that the key is named by; none where reports are sealed to the shuffler.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<String>,
    /// The key in hexadecimal digits: X25519, for HPKE with HKDF-SHA256 and ChaCha20-Poly1305.
    #[serde(skip_serializing_if = "Option::is_none")]
    public_key: Option<String>,
    /// The SHA-256 of what devices, shuffler and server agree on.
    protocol: String,
    /// The loop's generation, which is part of it.
    #[serde(rename = "generation")]
    params_hash: String,
    /// Numbers in a report.
    values: usize,
    /// Reports in a batch.
    batch: u64,
    /// Reports of a batch that the certificate takes to be honest people's.
    honest: u64,
    /// Rule from records to vectors.
    #[cfg_attr(test, schema(value_type = Object))]
    features: serde_json::Value,
}

/// Progress of a loop with a shuffler.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct BatchesAnswer {
    /// The number after the last batch that came.
    next: u64,
    /// The number of the last model.
    model: u64,
    /// The SHA-256 of what devices, shuffler and server agree on.
    protocol: String,
    /// The key that reports are sealed to; none where they are sealed to the shuffler.
    #[serde(skip_serializing_if = "Option::is_none")]
    public_key: Option<String>,
}

/// Many reports.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ReportBatch {
    /// The reports, each as a device makes it.
    #[cfg_attr(test, schema(value_type = Vec<Object>))]
    reports: Vec<Box<RawValue>>,
}

/// Answers in the order of the reports.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct ReportBatchAnswer {
    /// An outcome or a problem for each.
    results: Vec<ReportResult>,
}

/// Outcome of one report of many: one of the two fields is there.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct ReportResult {
    /// `taken` or `duplicate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Taken>,
    /// Reason why it was not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

/// All routes of devices.
pub(super) fn routes(app: &App) -> Router<App> {
    let native = |roles, call, routes| guarded(app, roles, call, Style::Native, routes);
    let preflights = ["model", "protocol", "sealing", "reports", "reports/batch"].into_iter();
    preflights
        .fold(Router::new(), |routes, call| {
            routes.route(&format!("/v1/loops/{{loop}}/{call}"), options(preflight))
        })
        .merge(native(
            &[Role::Read, Role::Device, Role::Shuffle],
            Call::Model,
            Router::new().route("/v1/loops/{loop}/model", get(loops::model)),
        ))
        .merge(native(
            &[Role::Read, Role::Device],
            Call::Protocol,
            Router::new().route("/v1/loops/{loop}/protocol", get(protocol)),
        ))
        .merge(native(
            &[Role::Read, Role::Device, Role::Shuffle],
            Call::Protocol,
            Router::new().route("/v1/loops/{loop}/sealing", get(sealing)),
        ))
        .merge(native(
            &[Role::Shuffle],
            Call::Report,
            Router::new().route("/v1/loops/{loop}/batches", get(batches).post(batch)),
        ))
        .merge(native(
            &[Role::Device],
            Call::Report,
            Router::new()
                .route("/v1/loops/{loop}/reports", post(report))
                .route("/v1/loops/{loop}/reports/batch", post(report_batch)),
        ))
        .layer(middleware::from_fn(any_origin))
}

/// Lets pages of any origin read the answer.
async fn any_origin(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("retry-after, reticent-head"),
    );
    response
}

/// Answers the preflight request of a browser before a page of another origin calls.
async fn preflight() -> Response {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type"),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Public parameters of a device.
#[cfg_attr(test, utoipa::path(get, path = "/v1/loops/{loop}/protocol", tag = "devices", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop")),
    responses((status = 200, description = "The protocol", body = Object), super::openapi::Problems)))]
pub(super) async fn protocol(
    headers: HeaderMap,
    Extension(AtDevice(loop_)): Extension<AtDevice>,
) -> Response {
    let (tag, message) = match &loop_.plan.learner {
        DeviceLearner::Local { protocol, .. } => {
            (format!("{:016x}", protocol.hash()), wire::to_json(protocol.as_ref()))
        }
        DeviceLearner::Shuffled(plan) => {
            let reports = plan.local().reports();
            (format!("{:016x}", reports.protocol()), wire::to_json(reports))
        }
    };
    published(&headers, tag, message)
}

/// Answers with what every device may fetch, under a tag that changes with it. Caches keep it, and ask whether it has changed.
pub(super) fn published(headers: &HeaderMap, tag: String, message: String) -> Response {
    let tag = format!("\"{tag}\"");
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    let mut known = known.flat_map(|tags| tags.split(',')).map(|known| known.trim());
    let unchanged = known.any(|known| known.trim_start_matches("W/") == tag || known == "*");
    let kept = [(header::ETAG, tag), (header::CACHE_CONTROL, "public, no-cache".into())];
    match unchanged {
        true => (StatusCode::NOT_MODIFIED, kept).into_response(),
        false => (kept, [(header::CONTENT_TYPE, "application/json")], message).into_response(),
    }
}

/// A report of a device. It is stored before the answer leaves, and counted once however often it comes.
#[cfg_attr(test, utoipa::path(post, path = "/v1/loops/{loop}/reports", tag = "devices", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop")), request_body = Object,
    responses((status = 200, description = "It is stored", body = ReportAnswer), super::openapi::Problems)))]
pub(super) async fn report(
    State(app): State<App>,
    Extension(AtDevice(loop_)): Extension<AtDevice>,
    request: Request,
) -> Result<Json<ReportAnswer>, Problem> {
    let report = read_json_bytes(&app, request).await?;
    let mut taken = app.service.take(&loop_, &[&report]).await?;
    let outcome = taken.pop().unwrap_or(Ok(Taken::Taken)).map_err(message_problem)?;
    Ok(Json(ReportAnswer { outcome }))
}

/// Many reports in one transaction. A mistake in one of them does not touch the others.
#[cfg_attr(test, utoipa::path(post, path = "/v1/loops/{loop}/reports/batch", tag = "devices", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop")), request_body = ReportBatch,
    responses((status = 200, description = "Outcome of each", body = ReportBatchAnswer), super::openapi::Problems)))]
pub(super) async fn report_batch(
    State(app): State<App>,
    Extension(AtDevice(loop_)): Extension<AtDevice>,
    Body(batch): Body<ReportBatch>,
) -> Result<Json<ReportBatchAnswer>, Problem> {
    if batch.reports.len() > MOST_REPORTS {
        let remedy = format!("send at most {MOST_REPORTS} at once");
        return Err(Error::invalid("reports", batch.reports.len(), remedy).into());
    }
    let messages: Vec<&[u8]> = batch.reports.iter().map(|report| report.get().as_bytes()).collect();
    let taken = app.service.take(&loop_, &messages).await?;
    let result = |taken: crate::Result<Taken>| match taken {
        Ok(outcome) => ReportResult { outcome: Some(outcome), problem: None },
        Err(error) => ReportResult { outcome: None, problem: Some(message_problem(error)) },
    };
    Ok(Json(ReportBatchAnswer { results: taken.into_iter().map(result).collect() }))
}

/// The key to which devices seal their reports, and their form, in a loop with a shuffler.
#[cfg_attr(test, utoipa::path(get, path = "/v1/loops/{loop}/sealing", tag = "devices", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop")),
    responses((status = 200, description = "The key and the form of sealed reports", body = SealingAnswer), super::openapi::Problems)))]
pub(super) async fn sealing(
    State(app): State<App>,
    Extension(AtDevice(loop_)): Extension<AtDevice>,
) -> Result<Json<SealingAnswer>, Problem> {
    let (subject, plan) = loop_.sealed_form().ok_or_else(no_shuffler)?;
    let key = app.service.seal_key().filter(|_| !loop_.plan.sums());
    Ok(Json(SealingAnswer {
        r#loop: loop_.name.clone(),
        mode: if loop_.plan.sums() { "sum" } else { "sealed" },
        key_id: key.map(|key| hex(&key.public().id())),
        public_key: key.map(|key| key.public().text()),
        protocol: hex(&subject.protocol),
        params_hash: format!("{:016x}", loop_.params_hash),
        values: subject.values,
        batch: plan.params().batch,
        honest: plan.honest(),
        features: serde_json::to_value(loop_.plan.features.params())
            .map_err(|_| Error::store("the features cannot be written"))?,
    }))
}

/// The number after the last batch that this server has, with what else its shuffler follows.
#[cfg_attr(test, utoipa::path(get, path = "/v1/loops/{loop}/batches", tag = "devices", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop")),
    responses((status = 200, description = "The next number", body = BatchesAnswer), super::openapi::Problems)))]
pub(super) async fn batches(
    State(app): State<App>,
    Extension(AtDevice(loop_)): Extension<AtDevice>,
) -> Result<Json<BatchesAnswer>, Problem> {
    let (subject, _) = loop_.sealed_form().ok_or_else(no_shuffler)?;
    app.service.follow_reports(&loop_).await?;
    let key = app.service.seal_key().filter(|_| !loop_.plan.sums());
    Ok(Json(BatchesAnswer {
        next: loop_.next_batch(),
        model: loop_.served().number,
        protocol: hex(&subject.protocol),
        public_key: key.map(|key| key.public().text()),
    }))
}

/// A batch of the loop's shuffler, once however often it comes. The same number with other contents is refused.
#[cfg_attr(test, utoipa::path(post, path = "/v1/loops/{loop}/batches", tag = "devices", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, description = "It is stored", body = ReportAnswer), super::openapi::Problems)))]
pub(super) async fn batch(
    State(app): State<App>,
    Extension(AtDevice(loop_)): Extension<AtDevice>,
    request: Request,
) -> Result<Json<ReportAnswer>, Problem> {
    loop_.sealed_form().ok_or_else(no_shuffler)?;
    let limits = HttpLimits { body_time: BATCH_BODY_TIME, ..app.limits };
    let body = read_bytes(&limits, MOST_BATCH_BYTES, request).await?;
    let outcome = app.service.take_batch(&loop_, body).await;
    let outcome = outcome.map_err(message_problem)?;
    Ok(Json(ReportAnswer { outcome }))
}

fn no_shuffler() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "this loop has no shuffler")
        .with_remedy("its devices report to this server one by one")
}

/// Reason why a message of a device or a shuffler was not taken. Core's message about it holds nothing but what the sender wrote.
pub(crate) fn message_problem(error: Error) -> Problem {
    match error {
        Error::Core(error) => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
            .with_remedy("drop it; fetch the protocol before the next one"),
        Error::Late(_) => {
            Problem::from(error).with_remedy("drop the report; fetch the model before the next one")
        }
        _ => Problem::from(error),
    }
}
