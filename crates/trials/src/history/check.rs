//! Every event, reward and activation of the history against its row.

use std::collections::BTreeMap;

use reticent::{features::Report, hash};

use super::{Attempt, Contents, EventHistory, History, Keys, Promise, Reply, Violation, totals};
use reticent_server::{
    config::{CentralPlan, Combine},
    loops::{RankRequest, RewardRequest, StoredAnswer, request_digest},
    store::{Digest, EventHash, StoredEvent},
};

/// Everything in which the store of a loop differs from the answers that its clients got; empty if nothing does.
pub fn check(
    plan: &CentralPlan,
    keys: &Keys,
    history: &History,
    contents: &Contents,
) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut rows: BTreeMap<EventHash, &StoredEvent> = BTreeMap::new();
    for (_, row) in &contents.rows {
        if rows.insert(row.event, row).is_some() {
            violations.push(Violation::new(Promise::EventOnce, "two rows have one event id"));
        }
    }
    for (id, event) in &history.events {
        let hash = keys.events.event(&plan.name, id);
        let row = rows.remove(&hash);
        let remembered = contents.remembered.get(&hash);
        let checks = Checks { plan, keys, event };
        let found = checks.all(row, remembered).into_iter();
        violations.extend(
            found.map(|(promise, found)| Violation::new(promise, format!("event {id}: {found}"))),
        );
    }
    if !rows.is_empty() {
        let found = format!("{} rows are of events that no client sent", rows.len());
        violations.push(Violation::new(Promise::EventOnce, found));
    }
    totals::ledger(plan, contents, &mut violations);
    totals::releases(plan, history, contents, &mut violations);
    totals::sums(plan, contents, &mut violations);
    violations
}

type Found = Vec<(Promise, String)>;

/// One event.
struct Checks<'a> {
    plan: &'a CentralPlan,
    keys: &'a Keys,
    event: &'a EventHistory,
}

impl Checks<'_> {
    fn all(&self, row: Option<&StoredEvent>, remembered: Option<&(Digest, StoredAnswer)>) -> Found {
        let mut found = Vec::new();
        self.refusals(&mut found);
        let Some(row) = row else {
            if self.event.ranks.iter().any(|attempt| attempt.taken().is_some()) {
                found.push((Promise::EventOnce, "it was acknowledged and is not there".into()));
            }
            let rewards = self.event.rewards.iter().any(|attempt| attempt.taken().is_some());
            if rewards || self.event.activations.iter().any(|attempt| attempt.taken().is_some()) {
                let what = "a reward or an activation was acknowledged, and there is no event";
                found.push((Promise::RewardOnce, what.into()));
            }
            return found;
        };
        let Some((digest, answer)) = remembered else {
            found.push((Promise::EventOnce, "its id is forgotten while its row is there".into()));
            return found;
        };
        if let Some(request) = self.request(digest, answer, &mut found) {
            self.row(request, answer, row, &mut found);
            self.activation(request, row, &mut found);
        }
        if let Some(wrong) = self.reward(row) {
            found.push((Promise::RewardOnce, wrong));
        }
        found
    }

    /// An event that was acknowledged is known to everything that is sent later.
    fn refusals(&self, found: &mut Found) {
        let known = self.event.ranks.iter().filter(|attempt| attempt.taken().is_some());
        let Some(known) = known.map(|attempt| attempt.answered).min() else { return };
        fn unknown<Q>(attempts: &[Attempt<Q, ()>], known: u64) -> bool {
            let mut later = attempts.iter().filter(|attempt| attempt.sent > known);
            later.any(|attempt| attempt.reply == Reply::Refused(404))
        }
        if unknown(&self.event.rewards, known) || unknown(&self.event.activations, known) {
            found.push((Promise::EventOnce, "it was acknowledged and unknown later".into()));
        }
    }

    /// The request that the row is of.
    fn request(
        &self,
        digest: &Digest,
        answer: &StoredAnswer,
        found: &mut Found,
    ) -> Option<&RankRequest> {
        let mut request = None;
        let caller = self.keys.callers.get(&self.plan.name).map_or("", String::as_str);
        for attempt in &self.event.ranks {
            let own = self.keys.events.request(caller, &request_digest(&attempt.request));
            let same = own == *digest;
            match &attempt.reply {
                Reply::Taken(answered) => {
                    let stored = answer.answer(&attempt.request, answered.event_id.clone());
                    if !same {
                        let what = "one body was acknowledged, and another one is stored";
                        found.push((Promise::EventOnce, what.into()));
                    } else if !stored.is_ok_and(|stored| stored == *answered) {
                        let what = "another answer was given than the one that is stored";
                        found.push((Promise::EventOnce, what.into()));
                    }
                }
                Reply::Refused(409) if same => {
                    let what = "a repetition was refused as another body";
                    found.push((Promise::EventOnce, what.into()));
                }
                _ => {}
            }
            if same && attempt.may_count() {
                request = Some(&attempt.request);
            }
        }
        if request.is_none() {
            found.push((Promise::EventOnce, "no client sent the stored body".into()));
        }
        request
    }

    /// The row is that of the answered action of this request.
    fn row(
        &self,
        request: &RankRequest,
        answer: &StoredAnswer,
        row: &StoredEvent,
        found: &mut Found,
    ) {
        let person = request.person.as_deref().map(|person| self.keys.people.person(person));
        if row.person != person {
            found.push((Promise::EventOnce, "it is of another person".into()));
        }
        let action = request.actions.get(answer.action);
        let vector = action.map(|action| {
            self.plan.features.vector(&request.context, &action.features, &mut Report::default())
        });
        if !vector.is_some_and(|vector| groups(self.plan, vector).contains(&row.features)) {
            let what = "its features are not those of the action that was answered";
            found.push((Promise::EventOnce, what.into()));
        }
    }

    fn activation(&self, request: &RankRequest, row: &StoredEvent, found: &mut Found) {
        let taken = self.event.activations.iter().any(|attempt| attempt.taken().is_some());
        let possible = self.event.activations.iter().any(Attempt::may_count);
        if row.active && request.defer && !possible {
            found.push((Promise::RewardOnce, "it is active and no client activated it".into()));
        }
        if !row.active && (taken || !request.defer) {
            found.push((Promise::RewardOnce, "it was activated and is not active".into()));
        }
    }

    /// The error in the reward of this row, if there is one.
    fn reward(&self, row: &StoredEvent) -> Option<String> {
        match self.plan.params.reward.combine {
            Combine::First => self.first_reward(row),
            Combine::Sum => self.sum_of_rewards(row),
        }
    }

    /// The reward is one that no acknowledged one came before.
    fn first_reward(&self, row: &StoredEvent) -> Option<String> {
        let mut taken = self.event.rewards.iter().filter(|attempt| attempt.taken().is_some());
        let Some(reward) = row.reward else {
            return taken.next().map(|_| "an acknowledged reward is lost".into());
        };
        let first_answered = taken.map(|attempt| attempt.answered).min().unwrap_or(u64::MAX);
        let may_be_first = |attempt: &&Attempt<RewardRequest, ()>| {
            attempt.may_count() && attempt.sent <= first_answered
        };
        let mut candidates = self.event.rewards.iter().filter(may_be_first);
        let known = candidates.any(|attempt| attempt.request.units().ok() == Some(reward));
        (!known).then(|| format!("{reward} units are not the first reward"))
    }

    /// Rewards with a key are there as the row's keys say, others as the total says.
    fn sum_of_rewards(&self, row: &StoredEvent) -> Option<String> {
        let mut keyed: BTreeMap<u64, (i64, bool, bool)> = BTreeMap::new();
        let (mut total, mut counted, mut unsure) = (0_i64, false, Vec::new());
        for attempt in &self.event.rewards {
            let units = attempt.request.units().unwrap_or(0);
            match &attempt.request.idempotency_key {
                Some(key) => {
                    let entry = keyed.entry(hash::of_bytes(key.as_bytes())).or_default();
                    entry.0 = units;
                    entry.1 |= attempt.taken().is_some();
                    entry.2 |= attempt.may_count();
                }
                None if attempt.taken().is_some() => {
                    total += units;
                    counted = true;
                }
                None if attempt.may_count() => unsure.push(units),
                None => {}
            }
        }
        for (key, (units, taken, possible)) in &keyed {
            let times = row.reward_keys.iter().filter(|stored| *stored == key).count();
            match (times, taken, possible) {
                (0, true, _) => return Some("an acknowledged reward is lost".into()),
                (0, false, _) => {}
                (1, _, true) => {
                    total += units;
                    counted = true;
                }
                (1, _, false) => return Some("a refused reward counts".into()),
                _ => return Some("a reward counts twice".into()),
            }
        }
        if row.reward_keys.iter().any(|key| !keyed.contains_key(key)) {
            return Some("there is a reward that no client sent".into());
        }
        let sound = match row.reward {
            None => !counted,
            Some(reward) => {
                is_subset_sum(reward - total, &unsure) && (counted || !unsure.is_empty())
            }
        };
        (!sound).then(|| format!("{:?} units in all, where {total} were acknowledged", row.reward))
    }
}

/// Vectors that an event may contribute: where a baseline is compared, its constant stands at the place of its group.
fn groups(plan: &CentralPlan, vector: Vec<f64>) -> Vec<Vec<f64>> {
    if !plan.params.compares() {
        return vec![vector];
    }
    let (constant, rest) = vector.split_last().map_or((0.0, &[][..]), |(last, rest)| (*last, rest));
    [[constant, 0.0], [0.0, constant]].map(|end| [rest, &end].concat()).to_vec()
}

/// True if a subset of these numbers adds up to this one.
fn is_subset_sum(sum: i64, numbers: &[i64]) -> bool {
    match numbers.split_first() {
        None => sum == 0,
        Some((first, rest)) => is_subset_sum(sum, rest) || is_subset_sum(sum - first, rest),
    }
}
