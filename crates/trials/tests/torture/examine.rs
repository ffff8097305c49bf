//! Findings of the checker, and the counts of a run.

use std::{path::Path, sync::Arc};

use reticent_server::{
    config::{CentralPlan, Plan, ReportsPlan, ServiceFile},
    secret::secret_in_file,
    service::Taken,
    store::Store,
};
use reticent_trials::history::{
    Attempt, Contents, DeviceContents, DeviceHistory, EventHistory, History, Keys, Reply,
    Violation, check, check_devices,
};

use super::Histories;

/// Findings of the checker in one loop.
pub struct Found {
    pub plan: Arc<CentralPlan>,
    pub contents: Contents,
    pub happened: Happened,
    pub violations: Vec<Violation>,
}

/// Findings of the checker in the loop of devices.
pub struct FoundDevices {
    pub reports: usize,
    pub lost: usize,
    pub duplicates: usize,
    pub counted: u64,
    pub fetched: usize,
    pub models: u64,
    pub violations: Vec<Violation>,
}

/// Findings of the checker.
pub struct Examined {
    pub loops: Vec<Found>,
    pub devices: Option<FoundDevices>,
}

/// Compares what the clients know of all loops of a file with the store, to which several processes may have added events.
pub async fn examine(
    file: &str,
    store: &dyn Store,
    histories: &Histories,
    data: &Path,
    is_shared: bool,
) -> Examined {
    let secret = |name: &str| secret_in_file(&data.join(name)).unwrap();
    let keys = store.keys().await.unwrap().into_iter();
    let callers = keys.filter(|key| key.roles.iter().any(|role| role == "decide"));
    let callers = callers.filter_map(|key| Some((key.loop_name?, key.id))).collect();
    let keys = Keys { events: secret("events.key"), people: secret("people.key"), callers };
    let plans = ServiceFile::parse(file).unwrap().check().unwrap();
    let mut loops = Vec::new();
    for plan in plans.iter().filter_map(Plan::central).cloned() {
        let Some(history) = histories.loops.get(plan.name.as_str()) else { continue };
        let mut contents = Contents::read(store, &plan).await.unwrap();
        contents.is_shared = is_shared;
        let violations = check(&plan, &keys, history, &contents);
        let happened = Happened::of(history, &contents);
        println!("loop {}: {happened:?}, {} violations", plan.name, violations.len());
        for violation in violations.iter().take(20) {
            println!("  {violation}");
        }
        loops.push(Found { plan, contents, happened, violations });
    }
    let plan = plans.iter().filter_map(Plan::reports).next_back();
    let devices = match (plan, &histories.devices) {
        (Some(plan), Some(history)) => Some(FoundDevices::of(store, plan, history).await),
        _ => None,
    };
    Examined { loops, devices }
}

impl Examined {
    /// Nothing is violated, and a run in which nothing happened would show nothing.
    pub fn assert(&self) {
        self.loops.iter().for_each(Found::assert);
        let devices = self.devices.as_ref().expect("devices reported");
        assert!(devices.violations.is_empty(), "{} violations", devices.violations.len());
        assert!(devices.reports > 100 && devices.counted > 100, "{} reports", devices.reports);
        assert!(devices.duplicates > 5 && devices.fetched > 5, "{} models", devices.fetched);
    }

    pub fn violations(&self) -> usize {
        let devices = self.devices.iter().map(|devices| devices.violations.len());
        self.loops.iter().map(|found| found.violations.len()).chain(devices).sum()
    }
}

impl FoundDevices {
    async fn of(store: &dyn Store, plan: &ReportsPlan, history: &DeviceHistory) -> Self {
        let contents = DeviceContents::read(store, plan, history).await.unwrap();
        let violations = check_devices(plan, history, &contents);
        let count = |is: &dyn Fn(&Reply<Taken>) -> bool| {
            let attempts = history.reports.values().flat_map(|report| &report.attempts);
            attempts.filter(|attempt| is(&attempt.reply)).count()
        };
        let waiting =
            contents.rows.iter().filter(|(place, _)| place.slot > contents.head.folded).count();
        let found = FoundDevices {
            reports: history
                .reports
                .values()
                .filter(|report| report.attempts.iter().any(|one| one.taken().is_some()))
                .count(),
            lost: count(&|reply| *reply == Reply::Lost),
            duplicates: count(&|reply| *reply == Reply::Taken(Taken::Duplicate)),
            counted: (contents.remembered.len() - waiting) as u64,
            fetched: history.models(),
            models: contents.head.number,
            violations,
        };
        println!(
            "loop {}: {} reports, {} lost answers, {} duplicates, {} counted; {} models, of which {} were fetched; {} violations",
            plan.name,
            found.reports,
            found.lost,
            found.duplicates,
            found.counted,
            found.models,
            found.fetched,
            found.violations.len()
        );
        for violation in found.violations.iter().take(20) {
            println!("  {violation}");
        }
        found
    }
}

impl Found {
    /// Nothing is violated, and a run in which nothing happened would show nothing.
    pub fn assert(&self) {
        assert!(self.violations.is_empty(), "{} violations", self.violations.len());
        self.happened.assert_rich(self.plan.name == "home");
    }
}

/// Counts of a run.
#[derive(Debug)]
#[allow(dead_code, reason = "printed")]
pub struct Happened {
    pub ranks: usize,
    pub rewards: usize,
    activations: usize,
    pub lost: usize,
    lost_and_there: usize,
    conflicts: usize,
    late: usize,
    pub events: usize,
    pub folded: usize,
    not_learnt: usize,
    pub releases: usize,
    epoch: u64,
}

impl Happened {
    fn of(history: &History, contents: &Contents) -> Self {
        fn count<Q, A>(attempts: &[Attempt<Q, A>], is: impl Fn(&Reply<A>) -> bool) -> usize {
            attempts.iter().filter(|attempt| is(&attempt.reply)).count()
        }
        let events = || history.events.values();
        let refused = |status: u16| {
            let ranks = events()
                .map(|e| count(&e.ranks, |r| matches!(r, Reply::Refused(s) if *s == status)));
            let rewards = events()
                .map(|e| count(&e.rewards, |r| matches!(r, Reply::Refused(s) if *s == status)));
            ranks.sum::<usize>() + rewards.sum::<usize>()
        };
        let never_answered = |event: &&EventHistory| {
            count(&event.ranks, |reply| matches!(reply, Reply::Taken(_))) == 0
        };
        let answered = events().filter(|event| !never_answered(event)).count();
        let rows = &contents.rows;
        Happened {
            ranks: events().map(|e| count(&e.ranks, |r| matches!(r, Reply::Taken(_)))).sum(),
            rewards: events().map(|e| count(&e.rewards, |r| *r == Reply::Taken(()))).sum(),
            activations: events().map(|e| count(&e.activations, |r| *r == Reply::Taken(()))).sum(),
            lost: events()
                .map(|e| {
                    count(&e.ranks, |r| *r == Reply::Lost)
                        + count(&e.rewards, |r| *r == Reply::Lost)
                })
                .sum(),
            lost_and_there: rows.len().saturating_sub(answered),
            conflicts: refused(409),
            late: refused(410),
            events: rows.len(),
            folded: rows.iter().filter(|(place, _)| place.slot <= contents.head.folded).count(),
            not_learnt: rows.iter().filter(|(_, row)| !row.learnt).count(),
            releases: contents.releases.len(),
            epoch: contents.head.epoch,
        }
    }

    pub fn acknowledged(&self) -> usize {
        self.ranks + self.rewards + self.activations
    }

    pub fn refused(&self) -> usize {
        self.conflicts + self.late
    }

    fn assert_rich(&self, persons: bool) {
        assert!(self.events > 200 && self.folded > 100, "{self:?}");
        assert!(self.rewards > 50 && self.activations > 5 && self.releases > 20, "{self:?}");
        assert!(self.lost > 0 && self.conflicts > 0 && self.late > 0, "{self:?}");
        assert!(!persons || self.not_learnt > 50, "{self:?}");
    }
}
