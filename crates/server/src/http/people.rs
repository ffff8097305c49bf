//! Erasure of a person.

use axum::{Json, extract::State};
use serde::Deserialize;

use super::{App, Problem, body::Body};
use crate::service::ErasedAnswer;

/// The person to erase, who stands in the body, because addresses end in logs of proxies.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct EraseRequest {
    /// The same string as in the rank requests.
    #[cfg_attr(test, schema(min_length = 1, max_length = 512))]
    person: String,
}

/// Erases a person in all loops: open events contribute nothing, raw rows go; the answer says what remains.
#[cfg_attr(test, utoipa::path(post, path = "/v1/people/erase", tag = "people", security(("key" = [])), request_body = EraseRequest,
    responses((status = 200, description = "Erased and remaining data", body = ErasedAnswer), super::openapi::Problems)))]
pub(super) async fn erase(
    State(app): State<App>,
    Body(request): Body<EraseRequest>,
) -> Result<Json<ErasedAnswer>, Problem> {
    Ok(Json(app.service.erase(&request.person).await?))
}
