//! Pages for people, with the keys of this service.

use std::sync::{Arc, atomic::Ordering};

use axum::Router;

use super::{App, Role, openapi};
use crate::{
    pages::{self, Access, Call, Viewer},
    service::Counts,
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

    fn calls(&self) -> Vec<Call> {
        let sum = |count: fn(&Counts) -> u64| {
            self.service.loops().map(|each| count(&each.counts)).sum::<u64>()
        };
        let call = |name: &str, public, requests, errors| Call {
            name: name.into(),
            public,
            requests,
            errors,
            median: None,
            p99: None,
        };
        let refused = sum(|counts| counts.refused_rewards.load(Ordering::Relaxed));
        let rewards = sum(|counts| counts.rewards.load(Ordering::Relaxed));
        vec![
            call("rank", true, sum(|counts| counts.ranks.load(Ordering::Relaxed)), 0),
            call("reward", false, rewards + refused, refused),
            call("activate", false, sum(|counts| counts.activations.load(Ordering::Relaxed)), 0),
        ]
    }
}
