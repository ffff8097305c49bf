//! Decisions with their probabilities and rewards, for offline evaluation: as lines of JSON, or as CSV that `kind = "logged"` reads with `arms_in_file`.
//!
//! **An export is outside the certificate**: it holds people's features and rewards as they are, and tuning a loop on it is not covered.
//!
//! ```text
//! action,propensity,reward,arm0_0,arm0_1,...,arm1_0,...      features of every action by the loop's own rule
//! ```
//!
//! A line of CSV has the features of every action, and an action is named by its place in the rank request. So all lines have the same number of
//! actions; `actions=20` keeps the decisions with that many where they differ. Decisions whose window has not ended are left out, having no reward.
//!
//! A row that is damaged is left out and named: in lines of JSON by `{"damaged":{"slot":12,"number":7}}` in its place, for CSV, which has no room for it, by their number in
//! the header `Reticent-Damaged-Rows`, and in the log.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use axum::{
    Extension,
    body::Body,
    extract::State,
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use reticent::features::{Report, Value};
use serde::{Deserialize, Serialize};

use super::{App, Problem, body::Ask, guard::At, loops::line};
use crate::{
    Error, Result,
    config::CentralPlan,
    service::{Central, Exported, ExportedEvent},
    store::Place,
};

/// Rows that are read at once.
const ROWS: usize = 1000;

/// Number of damaged rows, on answers that have no room to name them.
const DAMAGED: HeaderName = HeaderName::from_static("reticent-damaged-rows");

/// Format of exported decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum Format {
    /// Lines of JSON, with everything that was sent.
    #[default]
    Jsonl,
    /// The format that `kind = "logged"` reads with `arms_in_file`.
    Csv,
}

/// The query of an export.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(super) struct ExportQuery {
    /// Lines of JSON by default.
    #[serde(default)]
    #[cfg_attr(test, param(inline))]
    format: Format,
    /// Only decisions among this many actions; needed for CSV where the decisions differ in it.
    #[cfg_attr(test, param(minimum = 1))]
    actions: Option<usize>,
}

/// Line in place of a damaged row.
#[derive(Serialize)]
struct DamagedLine {
    damaged: Place,
}

/// Decisions of a loop that retains them. Internal: do not publish.
#[cfg_attr(test, utoipa::path(get, path = "/v1/loops/{loop}/events/export", tag = "releases", security(("key" = [])),
    params(("loop" = String, Path, description = "The loop"), ExportQuery),
    responses((status = 200, description = "One decision a line", content(
        (str = "application/x-ndjson"), (str = "text/csv")),
        headers(("Reticent-Damaged-Rows" = u64, description = "Rows that are damaged and left out, where the format has no line for them"))), super::openapi::Problems)))]
pub(super) async fn export(
    State(app): State<App>,
    Extension(At(loop_)): Extension<At>,
    Ask(query): Ask<ExportQuery>,
) -> Result<Response, Problem> {
    if query.actions == Some(0) {
        return Err(Error::invalid("actions", 0, "every decision has at least one").into());
    }
    match query.format {
        Format::Jsonl => {
            // Read before the status is sent, so that a loop without raw rows is refused properly.
            app.service.export(&loop_.name, Place::default(), 1).await?;
            let kept = move |event: &ExportedEvent| {
                query.actions.is_none_or(|actions| event.actions.len() == actions)
            };
            let written = move |_: &CentralPlan, row: &Exported| match row {
                Exported::Event(event) if kept(event) => line(event),
                Exported::Event(_) => Ok(String::new()),
                Exported::Damaged(place) => line(&DamagedLine { damaged: *place }),
            };
            let body = pages(app, loop_, String::new(), written);
            Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
        }
        Format::Csv => {
            let (actions, damaged) = count_actions(&app, &loop_, query.actions).await?;
            let mut head = String::from("action,propensity,reward");
            for action in 0..actions {
                for feature in 0..loop_.plan.features.dimension() {
                    let _ = write!(head, ",arm{action}_{feature}");
                }
            }
            head.push('\n');
            let body = pages(app, loop_, head, move |plan, row| match row {
                Exported::Event(event) => csv_line(plan, event, actions),
                Exported::Damaged(_) => Ok(String::new()),
            });
            let kind = HeaderValue::from_static("text/csv; charset=utf-8");
            Ok(([(header::CONTENT_TYPE, kind), (DAMAGED, damaged.into())], body).into_response())
        }
    }
}

/// Number of actions in every line of CSV, and number of damaged rows.
async fn count_actions(app: &App, loop_: &Central, asked: Option<usize>) -> Result<(usize, u64)> {
    let mut counts = BTreeMap::<usize, u64>::new();
    let mut damaged = 0;
    let mut after = Some(Place::default());
    while let Some(place) = after {
        let (rows, next) = app.service.export(&loop_.name, place, ROWS).await?;
        for row in &rows {
            match row {
                Exported::Event(event) if event.reward.is_some() => {
                    *counts.entry(event.actions.len()).or_default() += 1;
                }
                Exported::Event(_) => {}
                Exported::Damaged(_) => damaged += 1,
            }
        }
        after = next;
    }
    let listed: Vec<String> =
        counts.iter().map(|(actions, n)| format!("{n} decisions among {actions}")).collect();
    let mut found =
        if listed.is_empty() { "no closed decisions".into() } else { listed.join(", ") };
    if damaged > 0 {
        let _ = write!(found, " and {damaged} damaged rows");
    }
    match (asked, counts.len()) {
        (Some(actions), _) if counts.contains_key(&actions) => Ok((actions, damaged)),
        (None, 1) => Ok((counts.into_keys().next().unwrap_or(1), damaged)),
        (Some(actions), _) => {
            let remedy =
                format!("there are {found}; expected a number that some closed decision has");
            Err(Error::invalid("actions", actions, remedy))
        }
        (None, 0) => {
            let remedy = "wait until the reward window of a decision has ended; format=jsonl names damaged rows";
            Err(Error::invalid("actions", found, remedy))
        }
        (None, _) => {
            let remedy = "lines of CSV have the features of as many actions each; expected one of these numbers, such as &actions=3, or format=jsonl";
            Err(Error::invalid("actions", found, remedy))
        }
    }
}

/// A decision as CSV; nothing if it has no reward yet or another number of actions.
fn csv_line(plan: &CentralPlan, event: &ExportedEvent, actions: usize) -> Result<String> {
    let chosen = event.actions.iter().position(|action| action.id == event.action);
    let (Some(reward), Some(chosen)) = (event.reward, chosen) else { return Ok(String::new()) };
    if event.actions.len() != actions {
        return Ok(String::new());
    }
    let value = |json: &serde_json::Value| {
        Value::deserialize(json).map_err(|_| Error::store("a stored decision is damaged"))
    };
    let context = value(&event.context)?;
    let mut text = format!("{chosen},{},{reward}", event.probability);
    let mut report = Report::default();
    for action in &event.actions {
        let features = plan.features.vector(&context, &value(&action.features)?, &mut report);
        for feature in features {
            let _ = write!(text, ",{feature}");
        }
    }
    text.push('\n');
    Ok(text)
}

/// A body of a head and of one piece for each page of rows. An error cuts the body off, which clients notice.
fn pages(
    app: App,
    loop_: Arc<Central>,
    head: String,
    write: impl Fn(&CentralPlan, &Exported) -> Result<String> + Send + Sync + 'static,
) -> Body {
    let begin = (Some(head), Some(Place::default()));
    let (shared, write) = (Arc::new((app, loop_)), Arc::new(write));
    Body::from_stream(stream::try_unfold(begin, move |(head, after)| {
        let (shared, write) = (Arc::clone(&shared), Arc::clone(&write));
        async move {
            let (app, loop_) = &*shared;
            if let Some(head) = head {
                return Ok(Some((head, (None, after))));
            }
            let Some(place) = after else { return Ok(None) };
            let (rows, next) = app.service.export(&loop_.name, place, ROWS).await?;
            let mut text = String::new();
            for row in &rows {
                text += &write(&loop_.plan, row)?;
            }
            tell_damaged(loop_, &rows);
            Ok::<_, Error>(Some((text, (None, next))))
        }
    }))
}

/// Logs rows that are left out, by the place of the first one.
fn tell_damaged(loop_: &Central, rows: &[Exported]) {
    let damaged = |row: &Exported| match row {
        Exported::Damaged(place) => Some(*place),
        Exported::Event(_) => None,
    };
    let places: Vec<Place> = rows.iter().filter_map(damaged).collect();
    if let Some(Place { slot, number }) = places.first() {
        tracing::error!(r#loop = %loop_.name, "{} retained decisions are damaged and left out of an export, from number {number} of slot {slot} on", places.len());
    }
}
