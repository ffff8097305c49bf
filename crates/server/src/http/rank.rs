//! Rank requests: one, or many in one transaction.

use axum::{Extension, Json, extract::State};
use serde::{Deserialize, Serialize};

use super::{
    App, Problem,
    body::Body,
    guard::{At, Holder},
};
use crate::loops::{RankAnswer, RankRequest, objects};

/// Many rank requests.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RankBatch {
    /// The requests.
    #[serde(deserialize_with = "objects")]
    #[cfg_attr(test, schema(min_items = 1, max_items = 1000))]
    requests: Vec<RankRequest>,
}

/// Answers in the order of their requests.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct RankBatchAnswer {
    /// An answer or a problem for each.
    results: Vec<RankResult>,
}

/// Outcome of one rank request: one of the two fields is there.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct RankResult {
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<RankAnswer>,
    /// Reason why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

/// Ranks actions for a person. The event is stored before the answer leaves.
#[cfg_attr(test, utoipa::path(post, path = "/v1/loops/{loop}/rank", tag = "decisions", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop")), request_body = RankRequest,
    responses((status = 200, description = "Decision", body = RankAnswer), super::openapi::Problems)))]
pub(super) async fn rank(
    State(app): State<App>,
    Extension(At(loop_)): Extension<At>,
    Extension(Holder(entry)): Extension<Holder>,
    Body(request): Body<RankRequest>,
) -> Result<Json<RankAnswer>, Problem> {
    let id = request.event_id.clone().unwrap_or_default();
    let answer = app.service.rank_for(&entry.grant.id, &loop_.name, request).await;
    answer.map(Json).map_err(|error| Problem::from(error).of_event(&id))
}

/// Many rank requests in one transaction. An error in one of them does not touch the others.
#[cfg_attr(test, utoipa::path(post, path = "/v1/loops/{loop}/rank/batch", tag = "decisions", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop")), request_body = RankBatch,
    responses((status = 200, description = "Decision, or the reason why there is none", body = RankBatchAnswer), super::openapi::Problems)))]
pub(super) async fn rank_batch(
    State(app): State<App>,
    Extension(At(loop_)): Extension<At>,
    Extension(Holder(entry)): Extension<Holder>,
    Body(batch): Body<RankBatch>,
) -> Result<Json<RankBatchAnswer>, Problem> {
    // One was taken when the call came.
    let more = batch.requests.len().saturating_sub(1);
    entry.ranks.take(app.limits.ranks, more, app.service.steady())?;
    let ids: Vec<String> =
        batch.requests.iter().map(|one| one.event_id.clone().unwrap_or_default()).collect();
    let (caller, name) = (&entry.grant.id, &loop_.name);
    let results = app.service.rank_all_for(caller, name, batch.requests).await?;
    let result = |(result, id): (crate::Result<RankAnswer>, &String)| match result {
        Ok(answer) => RankResult { answer: Some(answer), problem: None },
        Err(error) => RankResult { answer: None, problem: Some(Problem::from(error).of_event(id)) },
    };
    Ok(Json(RankBatchAnswer { results: results.into_iter().zip(&ids).map(result).collect() }))
}
