//! Metrics as Prometheus reads them. A metric is a release: what a `read` key sees holds nothing that rewards, activations or features decide.
//!
//! | who | what |
//! | --- | --- |
//! | `read`, of its own loop | the number of the last release, and how the service and the loop are doing (`gauges`) |
//! | `admin`, of all loops | also answered rank requests, open events, the times of rank requests, rewards and activations with their times, refused ones, clipped and missing features, unusable rows, requests by status |

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, atomic::AtomicU64, atomic::Ordering},
    time::Duration,
};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text::encode},
    metrics::{
        MetricType,
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::ConstGauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

use super::{
    gauges::{Flags, Gauges},
    guard::Call,
    keys::Grant,
    latency::{FIRST, LIMITS, Latencies, Totals},
};
use crate::{
    clock::Time,
    service::{Central, Counts, DeviceCounts, Loop, Reports, Service},
};

/// Counters of calls; the loops count the rest themselves.
pub(super) struct Metrics {
    times: BTreeMap<String, Times>,
    requests: Family<RequestLabels, Counter>,
    /// Time of the service's start.
    started: Time,
}

/// Times of the calls of a loop.
#[derive(Clone)]
struct Times {
    rank: Timed,
    reward: Timed,
    activate: Timed,
}

/// Calls of one kind: for Prometheus, and for the dashboard.
#[derive(Clone)]
struct Timed {
    histogram: Histogram,
    latencies: Arc<Latencies>,
}

impl Times {
    fn of(&self, call: Call) -> Option<&Timed> {
        match call {
            Call::Rank => Some(&self.rank),
            Call::Reward => Some(&self.reward),
            Call::Activate => Some(&self.activate),
            Call::Read | Call::Export | Call::Model | Call::Protocol | Call::Report => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u32,
}

impl Default for Timed {
    fn default() -> Self {
        let histogram = Histogram::new(exponential_buckets(FIRST, 2.0, LIMITS));
        Timed { histogram, latencies: Arc::default() }
    }
}

impl Metrics {
    /// Metrics in which nothing has been counted.
    pub(super) fn new(service: &Service) -> Self {
        let times = || Times {
            rank: Timed::default(),
            reward: Timed::default(),
            activate: Timed::default(),
        };
        let times = service.central_loops().map(|loop_| (loop_.name.clone(), times())).collect();
        Metrics { times, requests: Family::default(), started: service.now() }
    }

    /// A call of a loop succeeded and took so long.
    pub(super) fn observe(&self, loop_name: &str, call: Call, time: Duration) {
        if let Some(timed) = self.times.get(loop_name).and_then(|times| times.of(call)) {
            timed.histogram.observe(time.as_secs_f64());
            timed.latencies.observe(time);
        }
    }

    /// A call of a loop was refused or failed.
    pub(super) fn fail(&self, loop_name: &str, call: Call) {
        if let Some(timed) = self.times.get(loop_name).and_then(|times| times.of(call)) {
            timed.latencies.fail();
        }
    }

    /// Calls of all loops. Internal: do not publish. Rank requests wait for the same writer as rewards, so that even their times tell how many rewards
    /// come.
    pub(super) fn totals(&self, call: Call) -> Totals {
        let mut totals = Totals::default();
        let timed = self.times.values().filter_map(|times| times.of(call));
        timed.for_each(|timed| totals.add(&timed.latencies));
        totals
    }

    /// A request was answered.
    pub(super) fn count_request(&self, method: String, route: &str, status: u16) {
        let labels = RequestLabels { method, route: route.to_string(), status: status.into() };
        self.requests.get_or_create(&labels).inc();
    }

    /// Metrics that the holder of a key may see.
    pub(super) fn text(
        &self,
        service: &Service,
        grant: &Grant,
        flags: Flags,
    ) -> Result<String, fmt::Error> {
        let curator = grant.is_admin();
        let loops = service.loops().filter(|loop_| grant.covers(&loop_.name)).cloned().collect();
        let mut registry = Registry::with_prefix("reticent");
        let gauges = Gauges::new(service, grant, self.started, flags);
        registry.register_collector(Box::new(gauges));
        registry.register_collector(Box::new(LoopCollector {
            loops,
            times: self.times.clone(),
            curator,
        }));
        if curator {
            registry.register(
                "requests",
                "Requests by route and status: internal, do not publish",
                self.requests.clone(),
            );
        }
        let mut text = String::new();
        encode(&mut text, &registry)?;
        Ok(text)
    }
}

/// Loops that a key covers, with internal counts of central ones where `curator` is true.
struct LoopCollector {
    loops: Vec<Loop>,
    times: BTreeMap<String, Times>,
    curator: bool,
}

impl fmt::Debug for LoopCollector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LoopCollector(..)")
    }
}

impl Collector for LoopCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let numbers = self.central().map(|loop_| (&loop_.name, loop_.answering().served.number));
        gauge(&mut encoder, "release", "The number of the last release", numbers)?;
        if self.curator {
            self.encode_for_curator(&mut encoder)?;
        }
        match self.reports().next() {
            Some(_) => self.encode_reports(&mut encoder),
            None => Ok(()),
        }
    }
}

impl LoopCollector {
    fn central(&self) -> impl Iterator<Item = &Arc<Central>> {
        self.loops.iter().filter_map(Loop::central)
    }

    fn reports(&self) -> impl Iterator<Item = &Arc<Reports>> {
        self.loops.iter().filter_map(Loop::reports)
    }

    fn encode_for_curator(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        type Count = fn(&Counts) -> &AtomicU64;
        let counts: [(&str, &str, Count); 9] = [
            ("ranks", "Rank requests answered", |counts| &counts.ranks),
            (
                "ranks_without_person",
                "Rank requests without a person in a loop that counts persons: answered, and not learnt from",
                |counts| &counts.without_person,
            ),
            ("apprentice_matches", "Decisions that the policy would have made too", |counts| {
                &counts.matches
            }),
            ("rewards", "Rewards taken, repetitions left out", |counts| &counts.rewards),
            ("refused_rewards", "Rewards late or for unknown events", |counts| {
                &counts.refused_rewards
            }),
            ("activations", "Deferred events activated", |counts| &counts.activations),
            ("clipped_features", "Features outside their range", |counts| &counts.clipped),
            ("missing_features", "Features missing or of another type", |counts| &counts.missing),
            ("unusable_rows", "Rows that could not be used at a release", |counts| {
                &counts.unusable
            }),
        ];
        for (name, help, count) in counts {
            let help = format!("{help}: internal, do not publish");
            let values = self.central().map(|loop_| (&loop_.name, count(&loop_.counts)));
            counter(encoder, name, &help, values)?;
        }
        let help = "Events whose window has not ended: internal, do not publish";
        let open = self.central().map(|loop_| (&loop_.name, loop_.open_events()));
        gauge(encoder, "open_events", help, open)?;
        // Rank requests wait for the same writer as rewards, so that their times tell how many rewards come.
        let help = "Time of a rank request: internal, do not publish";
        self.encode_times(encoder, "rank", help, |times| &times.rank.histogram)?;
        let help = "Time of a reward: internal, do not publish";
        self.encode_times(encoder, "reward", help, |times| &times.reward.histogram)?;
        let help = "Time of an activation: internal, do not publish";
        self.encode_times(encoder, "activate", help, |times| &times.activate.histogram)
    }

    /// The server sees every report, so that nothing here is internal.
    fn encode_reports(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        type Count = fn(&DeviceCounts) -> &AtomicU64;
        let counts: [(&str, &str, Count); 6] = [
            ("reports", "Reports of devices taken", |counts| &counts.taken),
            ("repeated_reports", "Reports and batches that had come before", |counts| {
                &counts.duplicates
            }),
            ("late_reports", "Reports on models that are too old", |counts| &counts.late),
            ("refused_reports", "Foreign and malformed reports", |counts| &counts.refused),
            ("refused_batches", "Batches of a shuffler that were refused", |counts| {
                &counts.refused_batches
            }),
            ("unusable_reports", "Stored reports that could not be counted", |counts| {
                &counts.unusable
            }),
        ];
        for (name, help, count) in counts {
            let values = self.reports().map(|loop_| (&loop_.name, count(&loop_.counts)));
            counter(encoder, name, help, values)?;
        }
        let numbers = self.reports().map(|loop_| (&loop_.name, loop_.served().number));
        gauge(encoder, "model", "The number of the last model", numbers)?;
        let help = "Batches of a shuffler that have not come though later ones have";
        let missing = self.reports().map(|loop_| (&loop_.name, loop_.missing_batches()));
        gauge(encoder, "missing_batches", help, missing)
    }

    fn encode_times(
        &self,
        encoder: &mut DescriptorEncoder,
        name: &str,
        help: &str,
        histogram: impl Fn(&Times) -> &Histogram,
    ) -> fmt::Result {
        let unit = Some(&Unit::Seconds);
        let mut family = encoder.encode_descriptor(name, help, unit, MetricType::Histogram)?;
        let timed = self.central().filter_map(|loop_| self.times.get_key_value(&loop_.name));
        for (name, times) in timed {
            histogram(times).encode(family.encode_family(&[("loop", name.as_str())])?)?;
        }
        Ok(())
    }
}

fn counter<'l>(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    values: impl Iterator<Item = (&'l String, &'l AtomicU64)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (name, count) in values {
        let counter = ConstCounter::new(count.load(Ordering::Relaxed));
        counter.encode(family.encode_family(&[("loop", name.as_str())])?)?;
    }
    Ok(())
}

fn gauge<'l>(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    values: impl Iterator<Item = (&'l String, u64)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (name, value) in values {
        ConstGauge::new(value).encode(family.encode_family(&[("loop", name.as_str())])?)?;
    }
    Ok(())
}
