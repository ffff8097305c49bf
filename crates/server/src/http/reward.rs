//! Rewards and activations.
//!
//! A late one is refused by the clock alone. Whether an event was rewarded before changes no answer.

use axum::{Extension, Json, extract::State, http::HeaderMap, http::StatusCode};
use serde::{Deserialize, Serialize};

use super::{
    App, Problem,
    body::Body,
    guard::{At, EventId},
};
use crate::loops::{RewardRequest, objects};

/// Bytes of an idempotency key, at most.
const LONGEST_KEY: usize = 512;

/// Many rewards.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RewardBatch {
    /// The rewards.
    #[serde(deserialize_with = "objects")]
    #[cfg_attr(test, schema(min_items = 1, max_items = 1000))]
    rewards: Vec<BatchedReward>,
}

/// A reward of a batch.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct BatchedReward {
    /// The event that it is for.
    event_id: String,
    /// Its value.
    value: f64,
    /// Repeated under the same key, it counts once.
    #[serde(default)]
    #[cfg_attr(test, schema(min_length = 1, max_length = 512))]
    idempotency_key: Option<String>,
}

/// Outcomes of the rewards, in their order.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct RewardBatchAnswer {
    /// A result for each.
    results: Vec<RewardResult>,
}

/// Outcome of one reward.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct RewardResult {
    /// True if it was taken.
    taken: bool,
    /// Reason why it was not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

/// A reward for an event whose window has not ended.
#[cfg_attr(test, utoipa::path(post, path = "/v1/loops/{loop}/events/{id}/reward", tag = "rewards", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop"), ("id" = String, Path, description = "The event_id of an answer"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same as `idempotency_key` in the body")),
    request_body = RewardRequest, responses((status = 204, description = "It is stored"), super::openapi::Problems)))]
pub(super) async fn reward(
    State(app): State<App>,
    Extension(At(loop_)): Extension<At>,
    EventId(id): EventId,
    headers: HeaderMap,
    Body(mut request): Body<RewardRequest>,
) -> Result<StatusCode, Problem> {
    request.idempotency_key = idempotency_key(&headers, request.idempotency_key)?;
    let taken = app.service.reward(&loop_.name, &id, request).await;
    taken.map_err(|error| Problem::from(error).of_event(&id))?;
    Ok(StatusCode::NO_CONTENT)
}

/// Many rewards in one transaction.
#[cfg_attr(test, utoipa::path(post, path = "/v1/loops/{loop}/rewards/batch", tag = "rewards", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop")), request_body = RewardBatch,
    responses((status = 200, description = "Outcome of each", body = RewardBatchAnswer), super::openapi::Problems)))]
pub(super) async fn reward_batch(
    State(app): State<App>,
    Extension(At(loop_)): Extension<At>,
    Body(batch): Body<RewardBatch>,
) -> Result<Json<RewardBatchAnswer>, Problem> {
    let mut rewards = Vec::with_capacity(batch.rewards.len());
    for BatchedReward { event_id, value, idempotency_key } in batch.rewards {
        let idempotency_key = checked_key(idempotency_key)?;
        rewards.push((event_id, RewardRequest { value, idempotency_key }));
    }
    let ids: Vec<String> = rewards.iter().map(|(id, _)| id.clone()).collect();
    let results = app.service.reward_all(&loop_.name, rewards).await?;
    let result = |(result, id): (crate::Result<()>, &String)| {
        let problem = result.err().map(|error| Problem::from(error).of_event(id));
        RewardResult { taken: problem.is_none(), problem }
    };
    Ok(Json(RewardBatchAnswer { results: results.into_iter().zip(&ids).map(result).collect() }))
}

/// A deferred event was shown.
#[cfg_attr(test, utoipa::path(post, path = "/v1/loops/{loop}/events/{id}/activate", tag = "rewards", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop"), ("id" = String, Path, description = "The event_id of an answer")),
    responses((status = 204, description = "It counts from now on"), super::openapi::Problems)))]
pub(super) async fn activate(
    State(app): State<App>,
    Extension(At(loop_)): Extension<At>,
    EventId(id): EventId,
) -> Result<StatusCode, Problem> {
    let activated = app.service.activate(&loop_.name, &id).await;
    activated.map_err(|error| {
        let late = matches!(error, crate::Error::Late(_));
        let problem = Problem::from(error).of_event(&id);
        match late {
            true => problem.with_remedy("activate events before the loop's window has ended"),
            false => problem,
        }
    })?;
    Ok(StatusCode::NO_CONTENT)
}

/// The key of the header or of the body.
fn idempotency_key(
    headers: &HeaderMap,
    of_body: Option<String>,
) -> Result<Option<String>, Problem> {
    let Some(of_header) = headers.get("idempotency-key") else { return checked_key(of_body) };
    let field = "Idempotency-Key";
    let refuse =
        |value: &str, remedy: &str| Err(crate::Error::invalid(field, value, remedy).into());
    let Ok(of_header) = of_header.to_str() else {
        return refuse("other characters", "expected visible ASCII characters");
    };
    match of_body {
        Some(of_body) if of_body != of_header => {
            refuse("another key than in the body", "expected one of the two, or the same twice")
        }
        _ => checked_key(Some(of_header.to_string())),
    }
}

fn checked_key(key: Option<String>) -> Result<Option<String>, Problem> {
    match key {
        Some(key) if key.is_empty() || key.len() > LONGEST_KEY => {
            let remedy = format!("expected 1 to {LONGEST_KEY} bytes");
            let value = format!("{} bytes", key.len());
            Err(crate::Error::invalid("idempotency_key", value, remedy).into())
        }
        key => Ok(key),
    }
}
