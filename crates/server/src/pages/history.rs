//! Mean rewards by past releases, each read once: a release never changes.
//!
//! A chart has at most [`POINTS`] points. They are releases whose numbers are multiples of a power of two, so that the points of one chart are mostly
//! those of the next, and the last release.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use reticent::{release::Release, wire};

use crate::{
    Result,
    clock::Time,
    loops::{Certificate, Rollback, Summary},
    service::{Central, LifeCycle, Service},
    store::LedgerCount,
};

/// Points of a chart, at most.
const POINTS: u64 = 160;

/// Numbers of releases that one chart may read, at most: large models have fewer points.
const NUMBERS: u64 = 4_000_000;

/// Certificates and counts of the ledger are made again after this time, in milliseconds: a store has to go through all people to count them.
const LASTS: u64 = 10_000;

/// Summary of one release.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    /// Time of the release.
    pub time: Time,
    /// Its mean rewards.
    pub summary: Summary,
}

#[derive(Default)]
struct History {
    points: tokio::sync::Mutex<BTreeMap<u64, Point>>,
    ledger: Kept<Option<LedgerCount>>,
    certificate: Kept<Arc<Certificate>>,
}

/// A value with the time it was made at.
type Kept<T> = tokio::sync::Mutex<Option<(Time, T)>>;

/// The kept value, or a new one if it is too old. Other callers wait for it, and do not make it too.
async fn kept<T: Clone>(
    kept: &Kept<T>,
    now: Time,
    make: impl Future<Output = Result<T>>,
) -> Result<T> {
    let mut kept = kept.lock().await;
    match &*kept {
        Some((time, value)) if now.abs_diff(*time) < LASTS => Ok(value.clone()),
        _ => {
            let value = make.await?;
            *kept = Some((now, value.clone()));
            Ok(value)
        }
    }
}

/// The histories of all loops.
#[derive(Default)]
pub(super) struct Histories(Mutex<BTreeMap<String, Arc<History>>>);

/// The numbers of the releases that a chart shows, of the last ones whose models are kept.
fn shown(last: u64, kept: u64, most: u64) -> impl Iterator<Item = u64> {
    let first = last.saturating_sub(kept.saturating_sub(1)).max(1);
    let mut stride = 1;
    while (last - first.min(last)) / stride >= most.max(2) {
        stride *= 2;
    }
    let multiples = (first.div_ceil(stride)..=last / stride).map(move |multiple| multiple * stride);
    multiples.chain((!last.is_multiple_of(stride)).then_some(last))
}

impl Histories {
    fn of(&self, name: &str) -> Arc<History> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(name.to_string()).or_default().clone()
    }

    /// The points of a loop's chart, in the order of time.
    pub(super) async fn points(&self, service: &Service, loop_: &Central) -> Result<Vec<Point>> {
        let last = loop_.answering().served.number;
        if last == 0 {
            return Ok(Vec::new());
        }
        let dimension = loop_.plan.learner_params.bounds.dimension as u64;
        let most = (NUMBERS / dimension.saturating_mul(dimension).max(1)).clamp(8, POINTS);
        let history = self.of(&loop_.name);
        let mut known = history.points.lock().await;
        let mut points = BTreeMap::new();
        for number in shown(last, loop_.plan.params.kept_models(), most) {
            let point = match known.get(&number) {
                Some(point) => Some(*point),
                None => read(service, loop_, number).await?,
            };
            points.extend(point.map(|point| (number, point)));
        }
        let list = points.values().copied().collect();
        *known = points;
        Ok(list)
    }

    /// Counts of the ledger, some seconds old at most. Internal: do not publish.
    pub(super) async fn ledger(
        &self,
        service: &Service,
        loop_: &Central,
    ) -> Result<Option<LedgerCount>> {
        kept(&self.of(&loop_.name).ledger, service.now(), service.ledger_count(loop_)).await
    }

    /// The certificate of a loop, some seconds old at most.
    pub(super) async fn certificate(
        &self,
        service: &Service,
        loop_: &LifeCycle,
    ) -> Result<Arc<Certificate>> {
        let made = async { service.certificate(&loop_.name).await.map(Arc::new) };
        kept(&self.of(&loop_.name).certificate, service.now(), made).await
    }
}

/// Summary of a stored release; none if only its hash is kept.
async fn read(service: &Service, loop_: &Central, number: u64) -> Result<Option<Point>> {
    let records = service.releases(&loop_.name, number, 1).await?;
    let record = records.into_iter().next().filter(|record| record.number == number);
    let Some(record) = record.filter(|record| !record.release.is_empty()) else { return Ok(None) };
    if Rollback::read(&record.release).is_some() {
        return Ok(None);
    }
    let release: Release = wire::from_json(&record.release)?;
    // Reading is work: others have their turn in between.
    tokio::task::yield_now().await;
    Ok(Some(Point { time: record.time, summary: Summary::of(&loop_.plan, Some(&release)) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_have_few_points_that_end_with_the_last_release() {
        const KEPT: u64 = 4096;
        assert_eq!(shown(3, KEPT, 160).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(shown(9, 2, 160).collect::<Vec<_>>(), [8, 9]);
        assert_eq!(shown(9, 1, 160).collect::<Vec<_>>(), [9]);
        for last in (1..20_000).step_by(37) {
            let numbers: Vec<u64> = shown(last, KEPT, 160).collect();
            assert!(numbers.len() <= 161 && numbers.last() == Some(&last), "{last}");
            assert!(numbers.is_sorted() && numbers[0] + KEPT > last);
            assert!(last < 160 || numbers.len() >= 64, "{last}: {}", numbers.len());
        }
    }

    #[test]
    fn points_of_one_chart_are_mostly_those_of_the_next() {
        let one: Vec<u64> = shown(1000, 4096, 160).collect();
        let next: Vec<u64> = shown(1001, 4096, 160).collect();
        assert!(next.iter().filter(|number| !one.contains(number)).count() <= 2);
    }
}
