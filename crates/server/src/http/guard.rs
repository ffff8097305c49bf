//! Checks before a call: the key, its loop and its rates. After it: the head of the loop, and the duration.

use std::{sync::Arc, time::Instant};

use axum::{
    Router,
    extract::{FromRequestParts, RawPathParams, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};

use super::{App, Problem, Role, keys::Entry, personalizer::PersonalizerError};
use crate::service::{Central, Loop, Reports};

/// The head of a loop, on answers and as clients echo it.
const HEAD: HeaderName = HeaderName::from_static("reticent-head");

/// Personalizer's header for keys.
const SUBSCRIPTION_KEY: HeaderName = HeaderName::from_static("ocp-apim-subscription-key");

/// Kind of a call, by which its rate and its time are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Rank,
    Reward,
    Activate,
    Read,
    /// Calls that only central loops have.
    Export,
    Model,
    Protocol,
    Report,
}

impl Call {
    /// True if a loop has this call, where `devices` says that devices report to it.
    fn is_of(self, devices: bool) -> bool {
        match self {
            Call::Read | Call::Model => true,
            Call::Rank | Call::Reward | Call::Activate | Call::Export => !devices,
            Call::Protocol | Call::Report => devices,
        }
    }
}

/// Form of the fields and errors of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Native,
    Personalizer,
}

impl Style {
    /// Style of an address.
    pub(super) fn of_path(path: &str) -> Self {
        match path.starts_with("/personalizer/") {
            true => Style::Personalizer,
            false => Style::Native,
        }
    }

    /// A problem as its callers read it.
    pub(super) fn answer(self, problem: Problem) -> Response {
        match self {
            Style::Native => problem.into_response(),
            Style::Personalizer => PersonalizerError(problem).into_response(),
        }
    }
}

/// Requirements of some routes.
#[derive(Clone)]
pub(super) struct Guard {
    app: App,
    roles: &'static [Role],
    call: Call,
    style: Style,
}

/// The loop of a call.
#[derive(Clone)]
pub(super) struct At(pub(super) Arc<Central>);

/// The loop of a call, where its people's devices add the noise.
#[derive(Clone)]
pub(super) struct AtDevice(pub(super) Arc<Reports>);

/// The key of a call.
#[derive(Clone)]
pub(super) struct Holder(pub(super) Arc<Entry>);

/// The event id in an address.
pub(super) struct EventId(pub(super) String);

/// Routes that only keys with one of these roles may call.
pub(super) fn guarded(
    app: &App,
    roles: &'static [Role],
    call: Call,
    style: Style,
    routes: Router<App>,
) -> Router<App> {
    let guard = Guard { app: app.clone(), roles, call, style };
    routes.route_layer(middleware::from_fn_with_state(guard, admit_and_run))
}

async fn admit_and_run(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let at = match guard.admit(&mut parts).await {
        Ok(at) => at,
        Err(problem) => return guard.style.answer(problem),
    };
    let started = Instant::now();
    let mut response = next.run(Request::from_parts(parts, body)).await;
    if let Some(At(loop_)) = at {
        match response.status().is_success() {
            true => guard.app.metrics.observe(&loop_.name, guard.call, started.elapsed()),
            false => guard.app.metrics.fail(&loop_.name, guard.call),
        }
        if let Ok(token) = HeaderValue::from_str(&loop_.answering().token) {
            response.headers_mut().insert(HEAD, token);
        }
    }
    response
}

impl Guard {
    /// Lets a request pass with its key and its loop, or says why not.
    async fn admit(&self, parts: &mut Parts) -> Result<Option<At>, Problem> {
        let unknown =
            || Problem::new(StatusCode::UNAUTHORIZED, "there is no key, or an unknown one");
        let Some(text) = key_text(&parts.headers) else {
            return match self.admit_stranger(parts).await? {
                true => Ok(None),
                false => Err(unknown()),
            };
        };
        let entry = self.app.keys.find(text).ok_or_else(unknown)?;
        let at = self.find_loop(parts, &entry).await?;
        self.take_rate(&entry, 1)?;
        if let (Some(At(loop_)), Some(token)) = (&at, parts.headers.get(HEAD))
            && let Ok(token) = token.to_str()
            && self.app.service.notice(&loop_.name, token).await.is_err()
        {
            tracing::warn!(r#loop = %loop_.name, "the head could not be compared with a client's");
        }
        if let Some(at) = &at {
            parts.extensions.insert(at.clone());
        }
        parts.extensions.insert(Holder(entry));
        Ok(at)
    }

    /// Lets a request without a key pass to what every device fetches. Central loops have nothing of the kind, and neither do names that no
    /// loop has.
    async fn admit_stranger(&self, parts: &mut Parts) -> Result<bool, Problem> {
        if !matches!(self.call, Call::Model | Call::Protocol) {
            return Ok(false);
        }
        let name = path_parameter(parts, "loop").await?.unwrap_or_default();
        let Ok(device) = self.app.service.reports(&name) else { return Ok(false) };
        let rate = self.app.limits.ranks;
        self.app.strangers.take(rate, 1, self.app.service.steady())?;
        parts.extensions.insert(AtDevice(Arc::clone(device)));
        Ok(true)
    }

    /// The loop in the address, or that of the key in Personalizer's calls.
    async fn find_loop(&self, parts: &mut Parts, entry: &Entry) -> Result<Option<At>, Problem> {
        let grant = &entry.grant;
        let refused = |detail: String| Problem::new(StatusCode::FORBIDDEN, detail);
        if !grant.has(self.roles) {
            let names: Vec<&str> = self.roles.iter().map(|role| role.name()).collect();
            let names = names.join(" or ");
            let whose = match self.roles {
                [Role::Admin] => "a key",
                _ => "a key of this loop",
            };
            let remedy =
                format!("use {whose} with the role {names} (`reticent-server key new` makes one)");
            return Err(refused(format!("this call needs the role {names}")).with_remedy(remedy));
        }
        let name = match self.style {
            Style::Native => path_parameter(parts, "loop").await?,
            Style::Personalizer => match &grant.loop_name {
                Some(name) => Some(name.clone()),
                None => {
                    let remedy = "use a key of one loop with the roles decide,reward";
                    let detail = "this call needs the key of a loop";
                    return Err(refused(detail.into()).with_remedy(remedy));
                }
            },
        };
        let Some(name) = name else { return Ok(None) };
        if !grant.covers(&name) {
            let remedy = "use a key of this loop";
            return Err(refused("the key is for another loop".into()).with_remedy(remedy));
        }
        let found = self.app.service.find(&name)?;
        let device = found.reports();
        if !self.call.is_of(device.is_some()) {
            let detail = format!("loop {name} has no such call");
            let remedy = match device {
                Some(_) => {
                    "its people's devices choose and report: fetch its protocol and its model, and send reports"
                }
                None => "the loop is central: send rank requests and rewards",
            };
            return Err(Problem::new(StatusCode::NOT_FOUND, detail).with_remedy(remedy));
        }
        match found {
            Loop::Central(central) => Ok(Some(At(Arc::clone(central)))),
            Loop::Reports(reports) => {
                parts.extensions.insert(AtDevice(Arc::clone(reports)));
                Ok(None)
            }
        }
    }

    fn take_rate(&self, entry: &Entry, calls: usize) -> Result<(), Problem> {
        let (app, steady) = (&self.app, self.app.service.steady());
        match self.call {
            Call::Rank => entry.ranks.take(app.limits.ranks, calls, steady)?,
            Call::Read | Call::Export => entry.reads.take(app.limits.reads, calls, steady)?,
            // All devices of a loop may share one key, which is no secret.
            Call::Model | Call::Protocol => entry.ranks.take(app.limits.ranks, calls, steady)?,
            // See the head of `limits`.
            Call::Reward | Call::Activate | Call::Report => {}
        }
        Ok(())
    }
}

/// The key of a request.
fn key_text(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| {
        let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
    });
    bearer.or_else(|| headers.get(SUBSCRIPTION_KEY)?.to_str().ok())
}

/// A part of the address.
async fn path_parameter(parts: &mut Parts, name: &str) -> Result<Option<String>, Problem> {
    let params = RawPathParams::from_request_parts(parts, &()).await;
    let params = params.map_err(|_| {
        let detail = "the address is not UTF-8 after its percent signs";
        Problem::new(StatusCode::BAD_REQUEST, detail)
    })?;
    Ok(params.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string()))
}

impl FromRequestParts<App> for EventId {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Response> {
        let missing = || Problem::new(StatusCode::NOT_FOUND, "the address has no event id");
        let id = path_parameter(parts, "id").await;
        id.and_then(|id| id.map(EventId).ok_or_else(missing))
            .map_err(|problem| Style::of_path(parts.uri.path()).answer(problem))
    }
}
