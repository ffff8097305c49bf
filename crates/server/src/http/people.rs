//! Erasure of a person.

use axum::{Json, extract::State};
use serde::Deserialize;

use super::{App, Problem, body::Body, openapi::Problems};
use crate::service::ErasedAnswer;

/// The person to erase, who stands in the body, because addresses end in logs of proxies.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EraseRequest {
    /// The same string as in the rank requests.
    #[schema(min_length = 1, max_length = 512)]
    person: String,
}

/// Erases a person in all loops: open events contribute nothing, raw rows go; the answer says what remains.
#[utoipa::path(post, path = "/v1/people/erase", tag = "people", security(("key" = [])), request_body = EraseRequest,
    responses((status = 200, description = "What is gone and what remains", body = ErasedAnswer), Problems))]
pub(super) async fn erase(
    State(app): State<App>,
    Body(request): Body<EraseRequest>,
) -> Result<Json<ErasedAnswer>, Problem> {
    Ok(Json(app.service.erase(&request.person).await?))
}
