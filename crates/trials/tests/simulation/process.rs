//! A process of the service: opened on its way to the database, ticking by the clock, killed and started again.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use reticent_server::{
    config::Plan,
    loops::Limits,
    secret::Secret,
    service::{Options, Service},
    store::Witness,
};

use super::{
    link::{Database, Link},
    timeline::Timeline,
};

/// Looks of a ticker are so far apart at most, in microseconds.
const LOOK: u64 = 400_000;

/// Parts that all processes share.
pub struct Setup {
    pub timeline: Timeline,
    pub database: Arc<Database>,
    pub plans: Vec<Plan>,
    /// Folder of the witnesses of the processes, if they have some.
    pub witnesses: Option<PathBuf>,
    /// The processes by their numbers.
    pub slots: Vec<Mutex<Slot>>,
    /// No process is started while this is set.
    pub held: AtomicBool,
}

/// The place of a process, which is started again whenever it has died.
#[derive(Default)]
pub struct Slot {
    link: Option<Link>,
    process: Option<Arc<Process>>,
}

/// A process that answers.
pub struct Process {
    pub link: Link,
    pub service: Arc<Service>,
}

/// The key of people's hashes.
pub fn people_key() -> Secret {
    Secret::from_bytes([3; 32])
}

/// The key of event ids.
pub fn events_key() -> Secret {
    Secret::from_bytes([5; 32])
}

impl Setup {
    fn slot(&self, number: usize) -> MutexGuard<'_, Slot> {
        self.slots[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process, if it has started.
    pub fn process(&self, number: usize) -> Option<Arc<Process>> {
        self.slot(number).process.clone()
    }

    /// The way of a process to the database, whether it has started or not yet.
    pub fn link(&self, number: usize) -> Option<Link> {
        self.slot(number).link.clone()
    }

    /// All processes that have started.
    pub fn processes(&self) -> Vec<Arc<Process>> {
        (0..self.slots.len()).filter_map(|number| self.process(number)).collect()
    }

    /// Starts a process whenever it is dead, until the simulation ends.
    pub async fn supervise(self: Arc<Self>, number: usize) {
        loop {
            while self.held.load(Ordering::SeqCst) {
                self.timeline.sleep(10_000).await;
            }
            let link = Link::new(number as u64, &self.database);
            self.slot(number).link = Some(link.clone());
            tokio::select! {
                biased;
                opened = Service::open(self.options(number, &link)) => match opened {
                    Ok(service) => {
                        let process = Arc::new(Process { link: link.clone(), service });
                        tokio::spawn(Arc::clone(&process).tick(self.timeline.clone()));
                        self.slot(number).process = Some(process);
                    }
                    Err(_) => link.kill(),
                },
                () = link.ended(&self.timeline) => {}
            }
            link.ended(&self.timeline).await;
            self.slot(number).process = None;
            let pause = self.timeline.below(1_500_000);
            self.timeline.sleep(pause).await;
        }
    }

    fn options(&self, number: usize, link: &Link) -> Options {
        let witness = self.witnesses.as_ref().map(|folder| folder.join(number.to_string()));
        Options {
            plans: self.plans.clone(),
            store: Arc::new(link.clone()),
            clock: Arc::new(self.timeline.clone()),
            people: people_key(),
            earlier_people: Vec::new(),
            events: events_key(),
            witness: witness.map(|path| Witness::open(path).unwrap()),
            limits: Limits::default(),
            seal_key: None,
        }
    }
}

impl Process {
    /// Ticks all loops. What fails is tried again.
    async fn tick(self: Arc<Self>, timeline: Timeline) {
        while !self.link.is_dead() {
            for each in self.service.loops() {
                let _ = self.service.tick(&each.name).await;
            }
            if timeline.one_in(4) {
                let _ = self.service.follow_others().await;
            }
            timeline.sleep(1 + timeline.below(LOOK)).await;
        }
    }
}
