//! The server's half of core's protocol, behind a shuffler or not.

use reticent::{
    bandit::{Absorbed, Model, Server, ShuffleServer},
    wire,
};

use super::{Batches, row::Row};
use crate::{
    Result,
    config::{DeviceLearner, DevicePlan, StorageOutlook},
    secret::random,
};

/// The server's side of a loop of devices: sums reports and publishes models.
pub enum Half {
    /// Of the local protocol.
    Local(Box<Server>),
    /// Of the shuffled protocol.
    Shuffled(Box<ShuffleServer>),
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Yes,
    /// It was counted before, or is not needed.
    No,
    Unusable,
}

/// Storage of the list of a loop's models, estimated from the first one.
pub fn storage(plan: &DevicePlan) -> Result<StorageOutlook> {
    let model = wire::to_json(&Half::new(plan)?.publish()?);
    Ok(StorageOutlook::new(&plan.params, plan.tick, model.as_bytes()))
}

impl Half {
    /// Before any report. The public randomness of models comes from the system.
    pub(super) fn new(plan: &DevicePlan) -> Result<Self> {
        let seed = u64::from_le_bytes(random()?);
        Ok(match &plan.learner {
            DeviceLearner::Local { plan, .. } => Half::Local(plan.server().seeded(seed).into()),
            DeviceLearner::Shuffled(plan) => Half::Shuffled(plan.server().seeded(seed).into()),
        })
    }

    /// The learner as it was saved.
    pub fn load(plan: &DevicePlan, state: &[u8]) -> Result<Self> {
        Ok(match &plan.learner {
            DeviceLearner::Local { protocol, .. } => {
                Half::Local(protocol.load_server(state)?.into())
            }
            DeviceLearner::Shuffled(_) => Half::Shuffled(ShuffleServer::load(state)?.into()),
        })
    }

    pub(super) fn save(&self) -> Vec<u8> {
        match self {
            Half::Local(server) => server.save(),
            Half::Shuffled(server) => server.save(),
        }
    }

    /// The next model.
    pub fn publish(&mut self) -> Result<Model> {
        Ok(match self {
            Half::Local(server) => server.publish()?,
            Half::Shuffled(server) => server.publish()?,
        })
    }

    /// Which batches were counted.
    pub(super) fn batches(&self) -> Batches {
        match self {
            Half::Local(_) => Batches::default(),
            Half::Shuffled(server) => {
                let (floor, above) = server.batches();
                Batches { floor, above: above.clone() }
            }
        }
    }

    /// Counts what a row holds. A row that cannot be used is left out: counting never fails.
    pub(super) fn count(&mut self, bytes: &[u8]) -> Counted {
        let absorbed = match (self, Row::decode(bytes)) {
            (Half::Local(server), Ok(Row::Report(report))) => server.absorb_new(&report).ok(),
            (Half::Shuffled(server), Ok(Row::Opened { number, reports })) => {
                Some(server.absorb_opened(number, &reports).0)
            }
            (Half::Shuffled(server), Ok(Row::Sum(batch))) => server.absorb(&batch).ok(),
            _ => None,
        };
        match absorbed {
            Some(Absorbed::Counted) => Counted::Yes,
            Some(_) => Counted::No,
            None => Counted::Unusable,
        }
    }
}
