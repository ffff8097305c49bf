//! The report server of core's protocol, behind a shuffler or not: the simulated protocol is the deployed one.

use reticent::{
    bandit::{Absorbed, Model, Server, ShuffleServer},
    wire,
};

use super::{Batches, row::Row};
use crate::{
    Result,
    clock::Time,
    config::{DeviceLearner, ReportsPlan},
    loops::{Stepped, release_record},
    secret::random,
    service::mechanism::LoopStep,
    store::{Head, Place, StoredEvent},
};

/// The sums of reports, which publish models.
pub enum ReportServer {
    /// Server of the local protocol.
    Local(Box<Server>),
    /// Server of the shuffled protocol.
    Shuffled(Box<ShuffleServer>),
}

/// Outcome of counting a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    Yes,
    /// Report that was counted before, or is not needed.
    No,
    Unusable,
}

impl ReportServer {
    /// A server before any report. The public randomness of models comes from the system.
    pub(in crate::service) fn new(plan: &ReportsPlan) -> Result<Self> {
        let seed = u64::from_le_bytes(random()?);
        Ok(match &plan.learner {
            DeviceLearner::Local { plan, .. } => {
                ReportServer::Local(plan.server().seeded(seed).into())
            }
            DeviceLearner::Shuffled(plan) => {
                ReportServer::Shuffled(plan.server().seeded(seed).into())
            }
        })
    }

    /// The learner as it was saved.
    pub fn load(plan: &ReportsPlan, state: &[u8]) -> Result<Self> {
        Ok(match &plan.learner {
            DeviceLearner::Local { protocol, .. } => {
                ReportServer::Local(protocol.load_server(state)?.into())
            }
            DeviceLearner::Shuffled(_) => {
                ReportServer::Shuffled(ShuffleServer::load(state)?.into())
            }
        })
    }

    pub(in crate::service) fn save(&self) -> Vec<u8> {
        match self {
            ReportServer::Local(server) => server.save(),
            ReportServer::Shuffled(server) => server.save(),
        }
    }

    /// The next model.
    pub fn publish(&mut self) -> Result<Model> {
        Ok(match self {
            ReportServer::Local(server) => server.publish()?,
            ReportServer::Shuffled(server) => server.publish()?,
        })
    }

    /// Numbers of the batches that were counted.
    pub(super) fn batches(&self) -> Batches {
        match self {
            ReportServer::Local(_) => Batches::default(),
            ReportServer::Shuffled(server) => {
                let (floor, above) = server.batches();
                Batches { floor, above: above.clone() }
            }
        }
    }

    /// Counts what a row holds. A row that cannot be used is left out: counting never fails.
    fn count(&mut self, bytes: &[u8]) -> Counted {
        let absorbed = match (self, Row::decode(bytes)) {
            (ReportServer::Local(server), Ok(Row::Report(report))) => {
                server.absorb_new(&report).ok()
            }
            (ReportServer::Shuffled(server), Ok(Row::Opened { number, reports })) => {
                Some(server.absorb_opened(number, &reports).0)
            }
            (ReportServer::Shuffled(server), Ok(Row::Sum(batch))) => server.absorb(&batch).ok(),
            _ => None,
        };
        match absorbed {
            Some(Absorbed::Counted) => Counted::Yes,
            Some(_) => Counted::No,
            None => Counted::Unusable,
        }
    }
}

/// A step of the sums, on a copy of the stored report server.
pub(in crate::service) struct ReportStep(ReportServer);

impl ReportStep {
    pub(in crate::service) fn new(plan: &ReportsPlan, head: &Head) -> Result<Self> {
        let mut server = ReportServer::load(plan, &head.state)?;
        // The model that is served already.
        server.publish()?;
        Ok(ReportStep(server))
    }
}

impl LoopStep for ReportStep {
    fn fold(&mut self, rows: &[(Place, StoredEvent)]) -> u64 {
        let unusable = rows.iter().filter(|(_, row)| self.0.count(&row.raw) == Counted::Unusable);
        unusable.count() as u64
    }

    fn finish(mut self: Box<Self>, head: &Head, now: Time) -> Result<Stepped> {
        let state = self.0.save();
        let model = self.0.publish()?;
        let release = wire::to_json(&model).into_bytes();
        Ok(Stepped { state, record: release_record(head, model.sequence(), now, release) })
    }
}
