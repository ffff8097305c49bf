//! State of a service and its loops, as gauges. All of them are public: /readyz, certificates and `GET /v1/loops` say the same, and nothing in them
//! follows from rewards, activations or features.

use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, gauge::ConstGauge},
    registry::Unit,
};

use super::keys::Grant;
use crate::{
    clock::Time,
    service::{Loop, Service},
};

/// State of the service as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flags {
    /// True if /readyz answers 200.
    pub ready: bool,
    /// True if the store can be read.
    pub readable: bool,
    /// True if the store takes the writes of requests.
    pub writable: bool,
}

/// Everything that is shown as a gauge, at one moment.
#[derive(Debug)]
pub(super) struct Gauges {
    flags: Flags,
    clock_doubted: bool,
    witness_apart: bool,
    loops: Vec<Ticking>,
}

/// State of the ticks of a loop.
#[derive(Debug)]
struct Ticking {
    name: String,
    /// Milliseconds between two releases.
    tick: Time,
    /// Time of the last release.
    released: Time,
    halted: bool,
    failing: bool,
    finished: bool,
    epsilon: Option<f64>,
}

impl Gauges {
    /// The loops that a key is for, and the service. Before the first release of a loop its time is that at which the service was `started`.
    pub(super) fn new(service: &Service, grant: &Grant, started: Time, flags: Flags) -> Self {
        let ticking = |loop_: &Loop| Ticking {
            name: loop_.name.clone(),
            tick: loop_.tick,
            released: loop_.released().1.unwrap_or(started),
            halted: loop_.halted().is_some(),
            failing: loop_.is_failing(),
            finished: loop_.is_over(),
            // That of an installation never changes: a copy of the store that is restored costs it nothing.
            epsilon: loop_.central().map(|central| central.answering().served.epsilon),
        };
        let loops =
            service.loops().filter(|loop_| grant.covers(&loop_.name)).map(ticking).collect();
        Gauges {
            flags,
            clock_doubted: service.clock_doubt().is_some(),
            witness_apart: service.has_witness_apart(),
            loops,
        }
    }

    fn of_loops(
        &self,
        encoder: &mut DescriptorEncoder,
        (name, unit, help): (&str, Option<&Unit>, &str),
        value: impl Fn(&Ticking) -> Option<f64>,
    ) -> fmt::Result {
        let mut family = encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for loop_ in &self.loops {
            if let Some(value) = value(loop_) {
                let gauge = ConstGauge::new(value);
                gauge.encode(family.encode_family(&[("loop", loop_.name.as_str())])?)?;
            }
        }
        Ok(())
    }
}

fn seconds(time: Time) -> f64 {
    time as f64 / 1000.0
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let of_service = [
            ("ready", "1 if /readyz answers 200", self.flags.ready),
            ("store_readable", "1 if the store can be read", self.flags.readable),
            ("store_writable", "1 if the store takes the writes of requests", self.flags.writable),
            (
                "clock_doubted",
                "1 if the clock is not believed, so that nothing is closed or released",
                self.clock_doubted,
            ),
            (
                "witness_apart",
                "1 if there is a witness on a filesystem of its own",
                self.witness_apart,
            ),
        ];
        for (name, help, holds) in of_service {
            let gauge = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(u64::from(holds)).encode(gauge)?;
        }
        let unit = Some(&Unit::Seconds);
        let flag = |holds: bool| Some(f64::from(u8::from(holds)));
        let help = "Time between two releases or models";
        self.of_loops(&mut encoder, ("tick", unit, help), |loop_| Some(seconds(loop_.tick)))?;
        let help = "Time of the last release or model, or of the start of the service before the first, in seconds since 1970";
        self.of_loops(&mut encoder, ("released_timestamp", unit, help), |loop_| {
            Some(seconds(loop_.released))
        })?;
        let help = "1 if releases or models are stopped";
        self.of_loops(&mut encoder, ("halted", None, help), |loop_| flag(loop_.halted))?;
        let help = "1 if the last tick failed and is tried again";
        self.of_loops(&mut encoder, ("tick_failing", None, help), |loop_| flag(loop_.failing))?;
        let help = "1 if the last release of the horizon has been made";
        self.of_loops(&mut encoder, ("finished", None, help), |loop_| flag(loop_.finished))?;
        let help = "Epsilon of one unit, with every replay that was charged";
        self.of_loops(&mut encoder, ("epsilon", None, help), |loop_| loop_.epsilon)
    }
}
