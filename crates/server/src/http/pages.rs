//! Pages for people, with the keys of this service.

use std::sync::{Arc, atomic::Ordering};

use axum::Router;

use super::{App, Role, guard, openapi};
use crate::{
    Result,
    pages::{self, Access, Call, Viewer},
};

/// The pages as routes of this service.
pub(super) fn routes(app: &App) -> Router<App> {
    let options = pages::Options {
        service: Arc::clone(&app.service),
        access: Arc::new(app.clone()),
        openapi: openapi::openapi().clone(),
        secure: app.tls,
    };
    pages::routes(options).with_state(())
}

impl Access for App {
    fn sign_in(&self, key: &str) -> Option<Viewer> {
        let grant = self.keys.verify(key).filter(|grant| grant.has(&[Role::Read]))?;
        let admin = grant.is_admin();
        Some(Viewer { key_id: grant.id, admin, loop_name: grant.loop_name })
    }

    fn still_valid(&self, key_id: &str) -> bool {
        self.keys.holds(key_id)
    }

    fn take_read(&self, key_id: &str) -> Result<()> {
        let Some(entry) = self.keys.entry(key_id) else { return Ok(()) };
        entry.reads.take(self.limits.reads, 1, self.service.steady())
    }

    fn calls(&self, viewer: &Viewer) -> Vec<Call> {
        // A count of requests shows whether one of them was made.
        if !viewer.admin {
            return Vec::new();
        }
        let counts =
            self.service.central_loops().map(|loop_| loop_.counts.ranks.load(Ordering::Relaxed));
        let (name, requests) = ("rank".into(), counts.sum());
        let rank = Call { name, requests, errors: None, median: None, p99: None };
        let exact = |name: &str, call| {
            let totals = self.metrics.totals(call);
            Call {
                name: name.into(),
                requests: totals.requests(),
                errors: Some(totals.errors),
                median: totals.within(0.5),
                p99: totals.within(0.99),
            }
        };
        vec![
            rank,
            exact("rank calls, with their times", guard::Call::Rank),
            exact("reward calls", guard::Call::Reward),
            exact("activate calls", guard::Call::Activate),
        ]
    }
}
