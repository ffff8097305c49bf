//! The shuffler: waits for a batch, takes names off, permutes, and hands on.
//!
//! **What it does for privacy.** A batch leaves as a uniformly random permutation (Fisher and Yates, each exchange drawn exactly
//! through [`Noise`]) of what the randomisers made. The names of reports, the model they were made under and the order in which
//! they came stay here. No batch smaller than agreed on ever leaves, for its amplification would be less than promised.
//!
//! A report that came twice would be in two batches, and seen twice: the names of the last [`MEMORY`] reports are remembered,
//! and a repeated one is dropped. A replay older than that is the network's to prevent; the guarantee says so.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Error, Result, bandit::Report, noise::Noise, saved};

const KIND: &str = "shuffler";

/// How many names of reports are remembered.
pub(super) const MEMORY: usize = 1 << 20;

/// What the shuffler hands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// All reports of the batch, permuted.
    Permute,
    /// Their sum and nothing else, as a secure sum would show it.
    Sum,
}

/// A report without its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shuffled {
    /// Index of the level, where levels are public.
    pub level: Option<u16>,
    /// The arm, where arms are public.
    pub features: Option<Vec<f64>>,
    /// What the randomiser made.
    pub values: Vec<f64>,
}

/// What leaves the shuffler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    pub(super) version: u16,
    pub(super) protocol: u64,
    /// From 0, so that the server takes each batch once.
    pub(super) number: u64,
    /// How many reports went in.
    pub(super) people: u64,
    /// The permuted reports; a single sum where the shuffler sums.
    pub(super) contents: Vec<Shuffled>,
}

impl Batch {
    /// The version of the message.
    pub(super) const VERSION: u16 = 1;

    /// How many reports went in.
    pub fn people(&self) -> u64 {
        self.people
    }

    /// What leaves: the permuted reports, or one sum.
    pub fn contents(&self) -> &[Shuffled] {
        &self.contents
    }
}

/// The component between people and server. Run it where the server cannot look inside.
#[derive(Debug, Serialize, Deserialize)]
pub struct Shuffler<N> {
    protocol: u64,
    batch: usize,
    aggregation: Aggregation,
    waiting: Vec<Shuffled>,
    next: u64,
    /// Names of the last reports: as a set, and oldest first.
    names: BTreeSet<[u64; 2]>,
    order: VecDeque<[u64; 2]>,
    noise: N,
}

impl<N: Noise> Shuffler<N> {
    pub(super) fn new(protocol: u64, batch: u64, aggregation: Aggregation, noise: N) -> Self {
        Shuffler {
            protocol,
            batch: batch as usize,
            aggregation,
            waiting: Vec::new(),
            next: 0,
            names: BTreeSet::new(),
            order: VecDeque::new(),
            noise,
        }
    }

    /// Takes a report, once, and gives a batch whenever one is full. An error changes nothing.
    pub fn take(&mut self, report: &Report) -> Result<Option<Batch>> {
        if report.protocol() != self.protocol {
            let remedy = "it was made for a protocol with other parameters: refuse its sender";
            return Err(Error::invalid("protocol", format!("{:x}", report.protocol()), remedy));
        }
        let shuffled = Shuffled {
            level: report.level(),
            features: report.features().map(<[f64]>::to_vec),
            values: report.values().to_vec(),
        };
        if let (Aggregation::Sum, Some(first)) = (self.aggregation, self.waiting.first())
            && first.values.len() != shuffled.values.len()
        {
            return Err(Error::Dimension {
                field: "values",
                expected: first.values.len(),
                found: shuffled.values.len(),
            });
        }
        if !self.names.insert(report.id()) {
            return Ok(None);
        }
        self.order.push_back(report.id());
        if self.order.len() > MEMORY
            && let Some(oldest) = self.order.pop_front()
        {
            self.names.remove(&oldest);
        }
        self.waiting.push(shuffled);
        if self.waiting.len() < self.batch {
            return Ok(None);
        }
        let contents = std::mem::take(&mut self.waiting);
        let number = self.next;
        self.next += 1;
        Ok(Some(self.close(number, contents)))
    }

    fn close(&mut self, number: u64, mut contents: Vec<Shuffled>) -> Batch {
        let people = contents.len() as u64;
        permute(&mut contents, &mut self.noise);
        if self.aggregation == Aggregation::Sum {
            // Permuted before it is summed: not even the rounding of the sum depends on who came when.
            let mut values = vec![0.0; contents[0].values.len()];
            for report in &contents {
                values.iter_mut().zip(&report.values).for_each(|(sum, value)| *sum += value);
            }
            contents = vec![Shuffled { level: None, features: None, values }];
        }
        Batch { version: Batch::VERSION, protocol: self.protocol, number, people, contents }
    }

    /// Reports that wait for their batch to fill.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

impl<N: Noise + Serialize + DeserializeOwned> Shuffler<N> {
    /// The whole state, waiting reports in the order they came and generator included: as secret as the shuffler itself.
    pub fn save(&self) -> Vec<u8> {
        saved::save(KIND, &(N::NAME, self))
    }

    /// Continues from saved bytes, if no batch has left since: `batches_made` is how many have left in all. A report of an
    /// older state would leave a second time among other people, and what two batches have in common would show it.
    pub fn load(bytes: &[u8], batches_made: u64) -> Result<Self> {
        let (source, shuffler): (String, Self) = saved::load(KIND, bytes)?;
        if source != N::NAME {
            let remedy = format!("load it with the source of noise it was saved with: {source}");
            return Err(Error::invalid("noise", N::NAME, remedy));
        }
        if shuffler.next != batches_made {
            let remedy = format!(
                "the saved state stands at {}: restore the newest one, or start a new shuffler and lose who waits",
                shuffler.next
            );
            return Err(Error::invalid("batches_made", batches_made, remedy));
        }
        Ok(shuffler)
    }

    /// Batches that have left: what [`Shuffler::load`] asks for.
    pub fn batches(&self) -> u64 {
        self.next
    }
}

/// A uniformly random permutation: Fisher and Yates in Durstenfeld's form.
pub(super) fn permute<T, N: Noise>(items: &mut [T], noise: &mut N) {
    for last in (1..items.len()).rev() {
        items.swap(last, noise.below(last as u64 + 1) as usize);
    }
}
