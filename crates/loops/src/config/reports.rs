//! A loop whose devices add the noise: its protocol, and the learner of the server.
//!
//! The report's randomiser is calibrated for `visits` reports of one installation together. With a shuffler between devices and server the devices
//! add less noise, and the number holds against those who see batches only.

use std::time::Duration;

use reticent::{
    bandit::{Aggregation, LocalParams, LocalPlan, ShuffleParams, ShufflePlan},
    features::FeaturesPlan,
    hash,
    privacy::{Event, Guarantee},
    randomize::{Bounds, Levels, ReportParams},
    schema::{Count, Positive},
};
use reticent_device as device;
use reticent_device::sealed::{Subject, protocol_hash};
use reticent_device::{ProtocolParams, ProtocolPlan, ShuffledProtocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    LoopMode, LoopParams, Period, Span, Trust, UnitName,
    refusal::{check_name, within},
};
use crate::{Error, Result, time::Time};

/// Default time between two models.
const DEFAULT_TICK: Span = Span::seconds(600);

/// Default time for which reports on a model are taken.
const DEFAULT_LATE: Span = Span::seconds(86_400);

/// Bytes of a shuffler's batch, at most.
pub const MOST_BATCH_BYTES: usize = 64 << 20;

/// Sealed reports in a batch, at most: the server opens them one by one, within the time of a call.
pub const MOST_SEALED: u64 = 1 << 16;

/// Time for a batch to come: that of the largest at 1 MiB a second.
pub const BATCH_BODY_TIME: Duration = Duration::from_secs(64);

/// Conditions under which a report is in one batch only. The certificate states the enforcement of each.
const ONCE: [&str; 2] = [
    "a report is sealed once, and sent again as the same bytes",
    "one shuffler serves the loop, and its store is neither lost nor replaced by an older copy",
];

/// Parameters of loops whose devices add the noise.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceParams {
    /// Levels of epsilon among which every person chooses. The largest of them is `privacy.epsilon`, so that the stated guarantee holds for every person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Positive>>")]
    pub levels: Option<Vec<f64>>,
    /// Time for which reports on a model are taken after the next one was published; a day by default. Ids of reports are remembered for as long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<Span>,
}

/// Parameters of loops with a shuffler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShuffleTable {
    /// Reports in a batch. None smaller leaves the shuffler.
    #[schemars(range(min = 2))]
    pub batch: u64,
    /// Reports of a batch that the guarantee assumes to be randomised honestly; half of it by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Count>")]
    pub honest: Option<u64>,
    /// Mode of the shuffler: it permutes reports that it cannot read, or sums reports that it reads.
    #[serde(default)]
    pub mode: ShuffleMode,
    /// Reports of one sender in a batch, at most; a tenth of it by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<u64>,
}

/// Mode of the shuffler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShuffleMode {
    /// Reports are sealed to the server; the shuffler permutes them and reads none.
    #[default]
    Sealed,
    /// Reports are sealed to the shuffler, which sees locally noised reports and hands on their sum.
    Sum,
}

/// Learner of the server.
#[derive(Debug, Clone)]
pub enum DeviceLearner {
    /// From each report by itself.
    Local {
        /// Plan of a device.
        protocol: Box<ProtocolPlan>,
        /// Plan of the report server.
        plan: LocalPlan,
    },
    /// From batches of a shuffler.
    Shuffled(Box<ShufflePlan>),
}

/// A loop to which devices report: local, or behind a shuffler.
#[derive(Debug, Clone)]
pub struct ReportsPlan {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: LoopParams,
    /// Rule from records to vectors.
    pub features: FeaturesPlan,
    /// Reports of devices, and the learner of the server.
    pub learner: DeviceLearner,
    /// Time between two models, in milliseconds.
    pub tick: u64,
    /// Reports on a model are refused when this many later ones have been published.
    pub late_models: u64,
    /// Reports of one sender in a batch, at most, where there is a shuffler.
    pub cap: u64,
}

impl LoopParams {
    /// Calibrates a loop whose people's devices add the noise, or says which field stands in the way.
    pub(super) fn check_reports(&self, name: &str) -> Result<ReportsPlan> {
        check_name(name)?;
        self.check_unused(name)?;
        self.check_rewards(name)?;
        self.check_kept_models(name)?;
        self.check_pace(name)?;
        let (visits, period) = self.check_visits(name)?;
        let features = self.features().and_then(|features| Ok(features.check()?));
        let features = features.map_err(|error| within(name, error))?;
        let tick = self.device_tick_milliseconds();
        let device = self.device.clone().unwrap_or_default();
        let late = device.late.unwrap_or(DEFAULT_LATE).as_milliseconds();
        let late_models = late.div_ceil(tick).max(1);
        let learner = match self.trust {
            Trust::Shuffler => {
                let bounds = Bounds {
                    rewards: self.reward.range,
                    intercept: features.constant(),
                    ..Bounds::unit(features.dimension())
                };
                DeviceLearner::Shuffled(self.shuffled(name, bounds, visits)?.into())
            }
            _ => {
                let local = self.local(name, (visits, period), features.clone(), late_models);
                local.map_err(|error| within(name, error))?
            }
        };
        let cap = self.cap(name)?;
        let (name, params) = (name.to_string(), self.clone());
        Ok(ReportsPlan { name, params, features, learner, tick, late_models, cap })
    }

    /// Milliseconds between two models.
    pub(super) fn device_tick_milliseconds(&self) -> u64 {
        self.learner.tick.unwrap_or(DEFAULT_TICK).as_milliseconds()
    }

    fn local(
        &self,
        name: &str,
        (visits, period): (u64, device::Period),
        features: FeaturesPlan,
        late_models: u64,
    ) -> Result<DeviceLearner> {
        let privacy = self.privacy;
        let (rewards, features) = (self.reward.range, features.params().clone());
        let params = ProtocolParams::new(name, features, rewards, privacy.epsilon, privacy.delta)?;
        let report = ReportParams {
            levels: Levels::Public(self.levels()?),
            contributions_per_person: visits,
            ..params.report
        };
        let protocol = ProtocolParams { report, period, ..params }.check()?;
        let report = protocol.params().report.clone();
        let local = LocalParams { rule: self.learner.rule.clone(), late_models, ..report.into() };
        let plan = protocol.local(&local)?;
        Ok(DeviceLearner::Local { protocol: Box::new(protocol), plan })
    }

    /// Refuses parameters that only a curator can use.
    fn check_unused(&self, name: &str) -> Result<()> {
        let at = |field: &str| format!("loop.{name}.{field}");
        let curator =
            "only a curator sees what it would need: leave it out, or give trust = \"curator\"";
        for (field, given) in [
            ("baseline.share", self.baseline.share != 0.0),
            ("retain", self.retain.is_some()),
            ("person_from", self.person_from.is_some()),
            ("warm_start", self.warm_start.is_some()),
            ("mode", self.mode != LoopMode::Online),
        ] {
            if given {
                return Err(Error::invalid(at(field), "a value", curator));
            }
        }
        for (field, given) in [
            ("learner.forget", self.learner.forget.is_some()),
            ("learner.horizon", self.learner.horizon.is_some()),
        ] {
            if given {
                let remedy = "sums of reports are neither forgotten nor ended: leave it out";
                return Err(Error::invalid(at(field), "a value", remedy));
            }
        }
        match (self.trust, self.shuffle, &self.device) {
            (Trust::Shuffler, None, _) => {
                let remedy =
                    "expected the reports of a batch, such as `shuffle = { batch = 1000 }`";
                Err(Error::invalid(at("shuffle"), "missing", remedy))
            }
            (Trust::Device, Some(_), _) => {
                let remedy = "there is no shuffler: leave it out, or give trust = \"shuffler\"";
                Err(Error::invalid(at("shuffle"), "a value", remedy))
            }
            (Trust::Shuffler, _, Some(DeviceParams { levels: Some(_), .. })) => {
                let remedy = "a batch has one level of noise, or a level would tell who sent which: leave it out";
                Err(Error::invalid(at("device.levels"), "a value", remedy))
            }
            _ => Ok(()),
        }
    }

    /// Reports of one installation in a period, at most, and the period.
    fn check_visits(&self, name: &str) -> Result<(u64, device::Period)> {
        let at = |field: &str| format!("loop.{name}.privacy.{field}");
        let privacy = self.privacy;
        let remedy = "an installation counts its own reports: give their number, such as `visits = 10, per = \"30 days\"`";
        let period = match (privacy.per, privacy.unit) {
            (_, Some(UnitName::Decision)) => {
                return Err(Error::invalid(at("unit"), "decision", remedy));
            }
            (None, _) => return Err(Error::invalid(at("per"), "missing", remedy)),
            (Some(Period::Ever), _) => device::Period::Ever,
            (Some(Period::Each(span)), _) if self.trust == Trust::Shuffler => {
                let remedy =
                    "batches of several periods are not priced together; expected \"ever\"";
                return Err(Error::invalid(at("per"), span, remedy));
            }
            (Some(Period::Each(span)), _) if span.as_milliseconds() % 1000 != 0 => {
                let remedy = "devices count whole seconds; expected a number of them";
                return Err(Error::invalid(at("per"), span, remedy));
            }
            (Some(Period::Each(span)), _) => device::Period::Seconds(span.as_milliseconds() / 1000),
        };
        match privacy.visits {
            None | Some(0) => {
                Err(Error::invalid(at("visits"), privacy.visits.unwrap_or(0), remedy))
            }
            Some(visits) => Ok((visits.into(), period)),
        }
    }

    fn levels(&self) -> Result<Vec<f64>> {
        let epsilon = self.privacy.epsilon;
        let levels = self.device.as_ref().and_then(|device| device.levels.clone());
        let unusable = |level: &f64| !(level.is_finite() && *level > 0.0);
        if let Some(levels) = levels.as_ref().filter(|levels| levels.iter().any(unusable)) {
            let remedy = "expected finite numbers above 0";
            return Err(Error::invalid("device.levels", format!("{levels:?}"), remedy));
        }
        let levels = levels.unwrap_or_else(|| vec![epsilon]);
        if levels.iter().copied().fold(f64::NEG_INFINITY, f64::max) == epsilon {
            return Ok(levels);
        }
        let remedy = format!(
            "what is promised has to hold for every level: give privacy.epsilon = {epsilon} as the largest of them"
        );
        Err(Error::invalid("device.levels", format!("{levels:?}"), remedy))
    }

    fn shuffled(&self, name: &str, bounds: Bounds, visits: u64) -> Result<ShufflePlan> {
        let Some(table) = self.shuffle else {
            return Err(Error::invalid(format!("loop.{name}.shuffle"), "missing", "give it"));
        };
        if table.batch < 2 {
            let remedy = "one report among others is hidden by them; expected 2 or more";
            return Err(Error::invalid(format!("loop.{name}.shuffle.batch"), table.batch, remedy));
        }
        if table.mode == ShuffleMode::Sealed && table.batch > MOST_SEALED {
            let remedy = format!(
                "the server opens the reports of a batch within the time of a call; expected at most {MOST_SEALED}, or mode = \"sum\""
            );
            return Err(Error::invalid(format!("loop.{name}.shuffle.batch"), table.batch, remedy));
        }
        let aggregation = match table.mode {
            ShuffleMode::Sealed => Aggregation::Permute,
            ShuffleMode::Sum => Aggregation::Sum,
        };
        let privacy = self.privacy;
        let params = ShuffleParams {
            honest: Some(table.honest.unwrap_or(table.batch / 2)),
            contributions_per_person: visits,
            rule: self.learner.rule.clone(),
            ..ShuffleParams::new(bounds, privacy.epsilon, privacy.delta, table.batch, aggregation)
        };
        let plan = params.check().map_err(|error| within(name, error.into()))?;
        // An outer id, an encapsulated key and a tag for each.
        let bytes = table.batch.saturating_mul(8 * plan.report_length() as u64 + 64);
        if bytes > MOST_BATCH_BYTES as u64 - 64 {
            let remedy = format!(
                "a batch would have {bytes} bytes; expected fewer reports, for at most {MOST_BATCH_BYTES}"
            );
            return Err(Error::invalid(format!("loop.{name}.shuffle.batch"), table.batch, remedy));
        }
        Ok(plan)
    }

    fn cap(&self, name: &str) -> Result<u64> {
        let Some(table) = self.shuffle else { return Ok(0) };
        let cap = table.cap.unwrap_or((table.batch / 10).max(1));
        if (1..=table.batch).contains(&cap) {
            return Ok(cap);
        }
        let remedy = format!("expected 1 to batch = {}", table.batch);
        Err(Error::invalid(format!("loop.{name}.shuffle.cap"), cap, remedy))
    }
}

impl ReportsPlan {
    /// The slot that a moment lies in.
    pub fn slot(&self, time: Time) -> u64 {
        time / self.tick
    }

    /// Agreement of devices and server on reports.
    pub fn local(&self) -> &LocalPlan {
        match &self.learner {
            DeviceLearner::Local { plan, .. } => plan,
            DeviceLearner::Shuffled(plan) => plan.local(),
        }
    }

    /// Agreement of devices, shuffler and server, where there is a shuffler.
    pub fn shuffled_protocol(&self) -> Option<ShuffledProtocol<'_>> {
        let plan = self.shuffled()?;
        Some(ShuffledProtocol {
            name: &self.name,
            features: self.features.params(),
            reports: plan.local().reports(),
            params_hash: self.params_hash(),
            batch: plan.params().batch,
            honest: plan.honest(),
            summed: self.sums(),
        })
    }

    /// Common data of sealed reports, where there is a shuffler.
    pub fn subject(&self) -> Option<Subject> {
        Some(Subject {
            loop_name: self.name.clone(),
            protocol: protocol_hash(&self.shuffled_protocol()?),
            values: self.shuffled()?.report_length(),
        })
    }

    /// The plan of the shuffler, where there is one.
    pub fn shuffled(&self) -> Option<&ShufflePlan> {
        match &self.learner {
            DeviceLearner::Local { .. } => None,
            DeviceLearner::Shuffled(plan) => Some(plan.as_ref()),
        }
    }

    /// True if a shuffler sums reports that it reads.
    pub fn sums(&self) -> bool {
        self.params.shuffle.is_some_and(|table| table.mode == ShuffleMode::Sum)
    }

    /// The level whose guarantee holds for every person: the largest.
    pub fn largest_level(&self) -> usize {
        let epsilons = self.local().params().report.levels.epsilons();
        let largest = (0..epsilons.len()).max_by(|a, b| epsilons[*a].total_cmp(&epsilons[*b]));
        largest.unwrap_or(0)
    }

    /// Reports of one installation in a period, at most.
    pub fn visits(&self) -> u64 {
        self.local().params().report.contributions_per_person
    }

    /// Guarantee for the person of one installation, whatever their level is.
    pub fn guarantee(&self) -> Result<Guarantee> {
        Ok(match &self.learner {
            DeviceLearner::Local { plan, .. } => plan.guarantee(self.largest_level())?,
            DeviceLearner::Shuffled(plan) => plan.guarantee_under(ONCE)?,
        })
    }

    /// Privacy cost of all reports of one installation, at the largest level.
    pub fn event(&self) -> Result<Event> {
        Ok(match &self.learner {
            DeviceLearner::Shuffled(plan) => plan.event()?,
            DeviceLearner::Local { plan, .. } => {
                let (event, times) = (plan.event(self.largest_level())?, self.visits());
                Event::Repeated { event: Box::new(event), times }
            }
        })
    }

    /// The hash of everything that a generation is.
    pub fn params_hash(&self) -> u64 {
        let LoopParams { trust, privacy, reward, shuffle, .. } = &self.params;
        let parts = (
            trust,
            privacy,
            reward.range,
            shuffle.map(|table| (table.batch, table.honest, table.mode)),
            &self.local().params().report.levels,
            self.params.learner.rule.clone(),
            self.tick,
            self.features.params(),
        );
        hash::of_params("device generation 1", &parts)
    }
}
