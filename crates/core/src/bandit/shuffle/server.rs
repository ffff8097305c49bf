//! The report server behind a shuffler: absorbs batches, each once, and publishes models.
//!
//! Batches are numbered. The server keeps the number below which all have come, and those above it that have come early:
//! memory grows with gaps, not with time.

use std::collections::BTreeSet;

use super::{Aggregation, Batch};
use crate::{
    Result,
    bandit::{Absorbed, LocalPlan, Model, Server, local::Estimate},
    refuse_if, wire,
};

/// The report server of the shuffle protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct ShuffleServer {
    server: Server,
    batch: u64,
    aggregation: Aggregation,
    /// All batches below this one have been counted.
    floor: u64,
    above: BTreeSet<u64>,
}

impl ShuffleServer {
    pub(super) fn new(server: Server, batch: u64, aggregation: Aggregation) -> Self {
        ShuffleServer { server, batch, aggregation, floor: 0, above: BTreeSet::new() }
    }

    /// The same with a seed for its ensembles: see [`Server::seeded`].
    pub fn seeded(self, seed: u64) -> Self {
        ShuffleServer { server: self.server.seeded(seed), ..self }
    }

    /// Takes a batch in, once. An error and a duplicate change nothing.
    pub fn absorb(&mut self, batch: &Batch) -> Result<Absorbed> {
        self.server.expect_protocol(batch.protocol)?;
        let expected = match self.aggregation {
            Aggregation::Permute => self.batch as usize,
            Aggregation::Sum => 1,
        };
        let refused = batch.people != self.batch || batch.contents.len() != expected;
        let remedy = format_args!("a batch is of {} reports", self.batch);
        refuse_if(refused, "people", batch.people, remedy)?;
        if self.knows(batch.number) {
            return Ok(Absorbed::Duplicate);
        }
        match self.aggregation {
            Aggregation::Sum => self.server.add_sum(&batch.contents[0].values, batch.people)?,
            Aggregation::Permute => {
                let decode = |report: &super::Shuffled| {
                    self.server.decode(report.level, report.features.as_deref(), &report.values)
                };
                // All of them or none.
                let estimates =
                    batch.contents.iter().map(decode).collect::<Result<Vec<Estimate>>>()?;
                estimates.iter().for_each(|estimate| self.server.add(estimate));
            }
        }
        self.remember(batch.number);
        Ok(Absorbed::Counted)
    }

    /// Takes in the reports of a batch that the shuffler could not read, once: what the devices made, as the server opened it. Those that no device
    /// of this protocol makes are left out, because they could not be refused earlier; the second number says how many. Whether as many were
    /// sealed as a batch has is for the caller to check.
    pub fn absorb_opened(&mut self, number: u64, reports: &[Vec<f64>]) -> (Absorbed, u64) {
        if self.knows(number) {
            return (Absorbed::Duplicate, 0);
        }
        let mut refused = 0;
        for values in reports {
            // A sealed report is bytes, which may spell any number.
            let finite = values.iter().all(|value| value.is_finite());
            match self.server.decode(Some(0), None, values) {
                Ok(estimate) if finite => self.server.add(&estimate),
                _ => refused += 1,
            }
        }
        self.remember(number);
        (Absorbed::Counted, refused)
    }

    fn knows(&self, number: u64) -> bool {
        number < self.floor || self.above.contains(&number)
    }

    fn remember(&mut self, number: u64) {
        self.above.insert(number);
        while self.above.remove(&self.floor) {
            self.floor += 1;
        }
    }

    /// The number after the last batch that was counted.
    pub fn next_batch(&self) -> u64 {
        self.above.last().map_or(self.floor, |last| last.saturating_add(1))
    }

    /// Batches that were counted: all below the first number, and those of the set, which came before others.
    pub fn batches(&self) -> (u64, &BTreeSet<u64>) {
        (self.floor, &self.above)
    }

    /// Plan that the server was made from.
    pub fn plan(&self) -> &LocalPlan {
        self.server.plan()
    }

    /// The next model.
    pub fn publish(&mut self) -> Result<Model> {
        self.server.publish()
    }

    /// Reports counted so far.
    pub fn reports(&self) -> u64 {
        self.server.reports()
    }

    /// The whole state; there is no secret in it.
    pub fn save(&self) -> Vec<u8> {
        let parts = (self.server.save(), self.batch, self.aggregation, self.floor, &self.above);
        wire::save(wire::kinds::SHUFFLE_SERVER, &parts)
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let (server, batch, aggregation, floor, above): (Vec<u8>, _, _, _, _) =
            wire::load(wire::kinds::SHUFFLE_SERVER, bytes)?;
        Ok(ShuffleServer { server: Server::load(&server)?, batch, aggregation, floor, above })
    }
}
