//! Progress of a loop's learner, in all and by part: the events that a release counts beside those that it needs under its noise. Made from a release and public
//! parameters, so that it is post-processing.

use reticent::release::Release;
use serde::Serialize;

use crate::{config::CentralPlan, summary};

/// Progress of one part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartProgress {
    /// Name of the part.
    pub part: String,
    /// Events from which it gains half of what it can, under the noise of this release.
    pub needed: u64,
}

/// Progress of all parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Progress {
    /// Events that the release counts, with what is left of forgotten ones; none where they are lost in its noise.
    pub events: Option<u64>,
    /// Events from which decisions by all parts gain half of what they can.
    pub needed: u64,
    /// Events that will be counted at most at the pace so far: what is forgotten makes room. None without an end to their number.
    pub most: Option<u64>,
    /// Parts that decide between actions.
    pub parts: Vec<PartProgress>,
}

/// State of a learner by its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Learning {
    /// The noise is larger than the number of events.
    TooFew,
    /// At the pace so far events are forgotten before there are enough.
    Never,
    /// Enough events are to be expected.
    Gathering,
    /// Decisions gain at least half of what they can, by the estimate.
    Enough,
}

impl Progress {
    /// Progress at this release; none where no estimate can be made.
    pub fn of(plan: &CentralPlan, release: &Release) -> Option<Self> {
        let needs = plan.parts_model()?.needed_at(release);
        let events = summary::events(plan, release);
        // 1 - g^T: the share that events so far are of those at an even pace for ever.
        let filled =
            |ticks: f64| -(-std::f64::consts::LN_2 * (release.index() + 1) as f64 / ticks).exp_m1();
        let most = |ticks: f64| events.map(|events| (events / filled(ticks)).round() as u64);
        let part = |part: reticent::bandit::PartOutlook| PartProgress {
            part: part.part,
            needed: part.events.unwrap_or(u64::MAX),
        };
        Some(Progress {
            events: events.map(|events| events.round() as u64),
            needed: needs.all.unwrap_or(u64::MAX),
            most: plan.learner_params.forget.and_then(most),
            parts: needs.parts.into_iter().map(part).collect(),
        })
    }

    /// State of the learner.
    pub fn learning(&self) -> Learning {
        match (self.events, self.most) {
            (None, _) => Learning::TooFew,
            (Some(events), _) if events >= self.needed => Learning::Enough,
            (_, Some(most)) if most < self.needed => Learning::Never,
            _ => Learning::Gathering,
        }
    }
}

/// Part of what is needed, in percent and at most 100.
pub fn percent_of(events: u64, needed: u64) -> u64 {
    (100.0 * events as f64 / needed.max(1) as f64).min(100.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_learner_learns_where_its_events_are_enough() {
        let learning =
            |events, needed, most| Progress { events, needed, most, parts: Vec::new() }.learning();
        assert_eq!(learning(None, 10, Some(100)), Learning::TooFew);
        assert_eq!(learning(Some(9), 10, Some(100)), Learning::Gathering);
        assert_eq!(learning(Some(9), 10, None), Learning::Gathering);
        assert_eq!(learning(Some(10), 10, Some(10)), Learning::Enough);
        // What is forgotten sooner than it is learnt.
        assert_eq!(learning(Some(9), 100, Some(99)), Learning::Never);
        assert_eq!([percent_of(1, 3), percent_of(5, 3), percent_of(1, 0)], [33, 100, 100]);
    }
}
