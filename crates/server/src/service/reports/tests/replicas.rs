//! Several processes on one PostgreSQL database.

use super::*;
use crate::store::{PostgresStore, postgres::testing::cluster};

struct Replica {
    service: Arc<Service>,
    database: Arc<PostgresStore>,
}

impl Replica {
    async fn open(url: &str, text: &str, clock: &Arc<ManualClock>) -> Self {
        let database = Arc::new(PostgresStore::open(url).await.unwrap());
        let plans = ServiceFile::parse(text).unwrap().check().unwrap();
        let service =
            Service::of_devices(plans, database.clone(), clock.clone(), None).await.unwrap();
        Replica { service, database }
    }

    fn loop_(&self) -> &Arc<Reports> {
        self.service.reports("news").unwrap()
    }

    fn report(&self) -> Report {
        let DeviceLearner::Local { protocol, .. } = &self.loop_().plan.learner else { panic!() };
        report(protocol, &wire::from_json(&self.loop_().served().message).unwrap())
    }

    async fn send(&self, report: &Report) -> Result<Taken> {
        let text = wire::to_json(report);
        self.service.take(self.loop_(), &[text.as_bytes()]).await?.remove(0)
    }

    async fn tick(&self) -> Option<u64> {
        let before = self.loop_().served().number;
        self.service.tick("news").await.unwrap();
        let after = self.loop_().served().number;
        (after > before).then_some(after)
    }

    fn waiting(&self) -> u64 {
        self.loop_().open_events()
    }
}

#[tokio::test]
async fn reports_come_to_any_process_and_one_publishes() {
    let Some(cluster) = cluster() else { return };
    let (url, clock) = (cluster.empty(), Arc::new(ManualClock::at(START)));
    let text = file(PRIVACY, TUNED);
    let one = Replica::open(&url, &text, &clock).await;
    let other = Replica::open(&url, &text, &clock).await;
    let first = one.report();
    assert_eq!(one.send(&first).await.unwrap(), Taken::Taken);
    assert_eq!(other.send(&first).await.unwrap(), Taken::Duplicate, "another process has it");
    assert_eq!(other.send(&other.report()).await.unwrap(), Taken::Taken);
    clock.pass(TICK);
    assert_eq!(other.tick().await, None, "the second has no right to publish");
    assert_eq!(one.tick().await, Some(1));
    assert_eq!(one.loop_().served().reports, 2);
    // A device that has the new model reports to a process that does not know it yet.
    assert_eq!(other.loop_().served().number, 0);
    assert_eq!(other.send(&one.report()).await.unwrap(), Taken::Taken);
    assert_eq!((other.loop_().served().number, other.waiting()), (1, 1));
    clock.pass(TICK);
    assert_eq!(one.tick().await, Some(2));
    assert_eq!(other.tick().await, Some(2), "it serves what the first has published");
    assert_eq!((other.loop_().served().reports, other.waiting()), (3, 0));
    assert_eq!(one.loop_().served().message, other.loop_().served().message);
    // The first is stopped for longer than its lease, and comes back.
    one.database.tamper("update heads set leased = 0").await;
    clock.pass(TICK);
    assert_eq!(other.tick().await, Some(3));
    assert_eq!(one.tick().await, Some(3));
    clock.pass(TICK);
    assert_eq!((one.tick().await, one.loop_().halted()), (None, None));
    assert_eq!(other.tick().await, Some(4));
}
