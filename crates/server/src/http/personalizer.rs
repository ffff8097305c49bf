//! Personalizer's calls, with its own fields, statuses and errors, so that its users change one address.
//!
//! | | here |
//! | --- | --- |
//! | rank | 201 with `{ranking: [{id, probability}], eventId, rewardActionId}` |
//! | reward, activate | 204, for late and unknown events too, which changes nothing |
//! | errors | `{error: {code, message}}` |
//! | key | in `Ocp-Apim-Subscription-Key`; the loop is that of the key |
//!
//! Fields that it did not know were ignored, and so were excluded ids that no action has. It has no person: `person_from` of the loop says where in
//! `contextFeatures` the person stands, who is then taken out of the features.

use std::collections::HashSet;

use axum::{
    Extension, Json,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use reticent::features::Value;
use serde::{Deserialize, Serialize};

use super::{
    App, Problem,
    body::read_json,
    guard::{At, EventId, Holder},
    problem::add_headers,
};
use crate::{
    Error, Result,
    loops::{Action, RankRequest, RankedAction, RewardRequest, objects},
};

/// A rank request.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct PersonalizerRank {
    /// Features of the context: a list of objects, possibly nested.
    #[serde(default)]
    #[cfg_attr(test, schema(value_type = Option<Vec<Object>>))]
    context_features: Value,
    /// Actions to choose from.
    #[serde(deserialize_with = "objects")]
    #[cfg_attr(test, schema(min_items = 1, max_items = 1024))]
    actions: Vec<PersonalizerAction>,
    /// Ids of actions that must not be chosen.
    #[serde(default)]
    excluded_actions: Option<Vec<String>>,
    /// The caller's name for the event; made if it is missing.
    #[serde(default)]
    #[cfg_attr(
        test,
        schema(min_length = 1, max_length = 512, pattern = "^[^\\x00-\\x1F\\x7F-\\x9F]+$")
    )]
    event_id: Option<String>,
    /// True if the event counts only after it has been activated.
    #[serde(default)]
    defer_activation: Option<bool>,
}

/// An action that may be chosen.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PersonalizerAction {
    /// Its id.
    #[cfg_attr(
        test,
        schema(min_length = 1, max_length = 512, pattern = "^[^\\x00-\\x1F\\x7F-\\x9F]+$")
    )]
    id: String,
    /// Features of the action: a list of objects, possibly nested.
    #[serde(default)]
    #[cfg_attr(test, schema(value_type = Option<Vec<Object>>))]
    features: Value,
}

/// The answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct PersonalizerAnswer {
    /// All actions with their probabilities, the chosen one first.
    ranking: Vec<RankedAction>,
    /// The name of the event.
    event_id: String,
    /// The action to take.
    reward_action_id: String,
}

/// A reward.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PersonalizerReward {
    /// Its value.
    value: f64,
}

/// A problem as Personalizer's clients read it.
pub(super) struct PersonalizerError(pub(super) Problem);

/// The body of an error.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PersonalizerErrorBody {
    /// The error.
    error: ErrorDetail,
}

/// An error.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct ErrorDetail {
    /// Its kind.
    code: &'static str,
    /// The problem and its remedy.
    message: String,
}

impl From<Problem> for PersonalizerError {
    fn from(problem: Problem) -> Self {
        PersonalizerError(problem)
    }
}

impl From<Error> for PersonalizerError {
    fn from(error: Error) -> Self {
        PersonalizerError(error.into())
    }
}

impl IntoResponse for PersonalizerError {
    fn into_response(self) -> Response {
        let PersonalizerError(mut problem) = self;
        // Its callers know other names for the key and the event.
        match problem.status() {
            StatusCode::UNAUTHORIZED => {
                problem = problem.with_remedy(
                    "send a key that was not revoked as `Ocp-Apim-Subscription-Key: rt_...` (`reticent-server key new` makes one)",
                );
            }
            StatusCode::CONFLICT => {
                problem.detail = problem.detail.replacen("event_id", "eventId", 1).into()
            }
            _ => {}
        }
        // It had one status for all that is wrong with a request.
        let status = match problem.status() {
            StatusCode::UNPROCESSABLE_ENTITY | StatusCode::CONFLICT => StatusCode::BAD_REQUEST,
            status => status,
        };
        let code = match status {
            StatusCode::BAD_REQUEST => "BadRequest",
            StatusCode::UNAUTHORIZED => "Unauthorized",
            StatusCode::FORBIDDEN => "Forbidden",
            StatusCode::NOT_FOUND => "ResourceNotFound",
            StatusCode::METHOD_NOT_ALLOWED => "MethodNotAllowed",
            StatusCode::REQUEST_TIMEOUT => "RequestTimeout",
            StatusCode::PAYLOAD_TOO_LARGE => "RequestEntityTooLarge",
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "UnsupportedMediaType",
            StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
            StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
            _ => "InternalServerError",
        };
        let message = match problem.detail.contains(&*problem.remedy) {
            true => problem.detail.into(),
            false => format!("{}; {}", problem.detail, problem.remedy),
        };
        let error = ErrorDetail { code, message };
        let mut response = (status, Json(PersonalizerErrorBody { error })).into_response();
        add_headers(&mut response, status, problem.retry_after);
        response
    }
}

/// Personalizer's rank.
#[cfg_attr(test, utoipa::path(post, path = "/personalizer/v1.0/rank", operation_id = "personalizer_rank", tag = "personalizer", security(("subscription_key" = [])),
    request_body = PersonalizerRank,
    responses((status = 201, description = "Decision", body = PersonalizerAnswer), super::openapi::PersonalizerProblems)))]
pub(super) async fn rank(
    State(app): State<App>,
    Extension(At(loop_)): Extension<At>,
    Extension(Holder(entry)): Extension<Holder>,
    request: Request,
) -> Result<Response, PersonalizerError> {
    let request: PersonalizerRank = read_json(&app, request).await?;
    let request = request.into_native();
    let answer = app.service.rank_for(&entry.grant.id, &loop_.name, request).await?;
    let answer = PersonalizerAnswer {
        ranking: answer.ranking,
        event_id: answer.event_id,
        reward_action_id: answer.action,
    };
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

/// Personalizer's reward.
#[cfg_attr(test, utoipa::path(post, path = "/personalizer/v1.0/events/{id}/reward", operation_id = "personalizer_reward", tag = "personalizer", security(("subscription_key" = [])),
    params(("id" = String, Path, description = "The eventId")), request_body = PersonalizerReward,
    responses((status = 204, description = "It was taken, or it was late and changes nothing"), super::openapi::PersonalizerProblems)))]
pub(super) async fn reward(
    State(app): State<App>,
    Extension(At(loop_)): Extension<At>,
    EventId(id): EventId,
    request: Request,
) -> Result<StatusCode, PersonalizerError> {
    let PersonalizerReward { value } = read_json(&app, request).await?;
    let request = RewardRequest { value, idempotency_key: None };
    quietly(app.service.reward(&loop_.name, &id, request).await)
}

/// Personalizer's activate.
#[cfg_attr(test, utoipa::path(post, path = "/personalizer/v1.0/events/{id}/activate", operation_id = "personalizer_activate", tag = "personalizer", security(("subscription_key" = [])),
    params(("id" = String, Path, description = "The eventId")),
    responses((status = 204, description = "It counts from now on, or it was late and changes nothing"), super::openapi::PersonalizerProblems)))]
pub(super) async fn activate(
    State(app): State<App>,
    Extension(At(loop_)): Extension<At>,
    EventId(id): EventId,
) -> Result<StatusCode, PersonalizerError> {
    quietly(app.service.activate(&loop_.name, &id).await)
}

/// Late and unknown events are no errors.
fn quietly(result: Result<()>) -> Result<StatusCode, PersonalizerError> {
    match result {
        Ok(()) | Err(Error::Late(_) | Error::Unknown { .. }) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err(error.into()),
    }
}

impl PersonalizerRank {
    /// The same request in the service's own fields.
    fn into_native(self) -> RankRequest {
        let actions: Vec<Action> = self
            .actions
            .into_iter()
            .map(|PersonalizerAction { id, features }| Action { id, features })
            .collect();
        let mut exclude = self.excluded_actions.unwrap_or_default();
        let ids: HashSet<&String> = actions.iter().map(|action| &action.id).collect();
        exclude.retain(|id| ids.contains(id));
        RankRequest {
            event_id: self.event_id,
            person: None,
            context: self.context_features,
            actions,
            exclude,
            defer: self.defer_activation.unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_request_has_the_same_meaning_in_the_services_own_fields() {
        let text = r#"{"contextFeatures": [{"user": {"age": 31}}],
            "actions": [{"id": "a", "features": [{"topic": "news"}]}, {"id": "b"}],
            "excludedActions": ["b", "c"], "deferActivation": true, "someday": 1}"#;
        let request: PersonalizerRank = serde_json::from_str(text).unwrap();
        let native = request.into_native();
        assert_eq!(native.context.at("user.age"), Some(&Value::Integer(31)));
        assert_eq!((native.exclude.as_slice(), native.defer), (&["b".to_string()][..], true));
        assert_eq!(native.actions[0].features.at("topic"), Some(&Value::Text("news".into())));
    }
}
