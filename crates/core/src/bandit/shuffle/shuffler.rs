//! The shuffler: waits for a batch, takes names off, permutes, and hands on.
//!
//! **What it does for privacy.** A batch leaves as a uniformly random permutation (Fisher and Yates, each exchange drawn exactly
//! through [`Noise`]) of what the randomisers made. The names of reports, the model they were made under and the order in which
//! they came stay here. No batch smaller than agreed on ever leaves, for its amplification would be less than promised.
//!
//! Sums are taken in integers, in units of the grid that reports are on. In floating point one dishonest report of 2^52 units
//! would make every later addition round to a coarser grid, one person at a time, and the weak noise of each would vanish.
//!
//! A report that came twice would be in two batches, and seen twice: the names of the last [`MEMORY`] reports are remembered,
//! and a repeated one is dropped. A replay older than that is the network's to prevent; the guarantee says so.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Error, Result, bandit::Report, noise::Noise, release::power_of_two, saved};

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

/// How a batch is handed on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Handing {
    Permute,
    /// Values are multiples of `2^-exponent`.
    Sum {
        exponents: Vec<i32>,
    },
}

/// Reports that can be summed stay below so many grid units: what doubles hold exactly.
const MOST_UNITS: f64 = 9_007_199_254_740_992.0;

/// The component between people and server. Run it where the server cannot look inside.
pub struct Shuffler<N> {
    state: State<N>,
}

/// Prints no reports: a log line must not undo the shuffle.
impl<N> std::fmt::Debug for Shuffler<N> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Shuffler")
            .field("waiting", &self.state.waiting.len())
            .field("batches", &self.state.next)
            .finish_non_exhaustive()
    }
}

/// All there is to save. Private, so that a shuffler only comes back through `load`.
#[derive(Serialize, Deserialize)]
struct State<N> {
    protocol: u64,
    batch: usize,
    handing: Handing,
    waiting: Vec<Shuffled>,
    next: u64,
    /// Names of the last reports: as a set, and oldest first.
    names: BTreeSet<[u64; 2]>,
    order: VecDeque<[u64; 2]>,
    noise: N,
}

impl<N: Noise> Shuffler<N> {
    pub(super) fn new(protocol: u64, batch: u64, handing: Handing, noise: N) -> Self {
        Shuffler {
            state: State {
                protocol,
                batch: batch as usize,
                handing,
                waiting: Vec::new(),
                next: 0,
                names: BTreeSet::new(),
                order: VecDeque::new(),
                noise,
            },
        }
    }

    /// From here on everything random is drawn from a new key: whoever holds bytes that were saved before cannot tell how the next
    /// batches are permuted.
    pub fn refresh_noise(&mut self) -> Result<()> {
        self.state.noise.refresh()
    }

    /// Takes a report, once, and gives a batch whenever one is full. An error changes nothing.
    pub fn take(&mut self, report: &Report) -> Result<Option<Batch>> {
        let state = &mut self.state;
        if report.protocol() != state.protocol {
            let remedy = "it was made for a protocol with other parameters: refuse its sender";
            return Err(Error::invalid("protocol", format!("{:x}", report.protocol()), remedy));
        }
        if let Handing::Sum { exponents } = &state.handing {
            check_units(report.values(), exponents)?;
        }
        if !state.names.insert(report.id()) {
            return Ok(None);
        }
        state.order.push_back(report.id());
        if state.order.len() > MEMORY
            && let Some(oldest) = state.order.pop_front()
        {
            state.names.remove(&oldest);
        }
        state.waiting.push(Shuffled {
            level: report.level(),
            features: report.features().map(<[f64]>::to_vec),
            values: report.values().to_vec(),
        });
        if state.waiting.len() < state.batch {
            return Ok(None);
        }
        let contents = std::mem::take(&mut state.waiting);
        let number = state.next;
        state.next += 1;
        Ok(Some(state.close(number, contents)))
    }

    /// Reports that wait for their batch to fill.
    pub fn waiting(&self) -> usize {
        self.state.waiting.len()
    }
}

impl<N: Noise> State<N> {
    fn close(&mut self, number: u64, mut contents: Vec<Shuffled>) -> Batch {
        let people = contents.len() as u64;
        match &self.handing {
            Handing::Permute => permute(&mut contents, &mut self.noise),
            Handing::Sum { exponents } => {
                let mut units = vec![0_i128; exponents.len()];
                for report in &contents {
                    for ((sum, value), exponent) in
                        units.iter_mut().zip(&report.values).zip(exponents)
                    {
                        *sum += (value * power_of_two(*exponent)) as i128;
                    }
                }
                let values = units.iter().zip(exponents);
                let values = values.map(|(sum, e)| *sum as f64 * power_of_two(-e)).collect();
                contents = vec![Shuffled { level: None, features: None, values }];
            }
        }
        Batch { version: Batch::VERSION, protocol: self.protocol, number, people, contents }
    }
}

/// Refuses values that no randomiser of this protocol makes.
fn check_units(values: &[f64], exponents: &[i32]) -> Result<()> {
    if values.len() != exponents.len() {
        let (expected, found) = (exponents.len(), values.len());
        return Err(Error::Dimension { field: "values", expected, found });
    }
    for (value, exponent) in values.iter().zip(exponents) {
        let units = value * power_of_two(*exponent);
        if !(units.abs() <= MOST_UNITS && units.fract() == 0.0) {
            let remedy = "no device of this protocol makes such a value: refuse its sender";
            return Err(Error::invalid("values", value, remedy));
        }
    }
    Ok(())
}

impl<N: Noise + Serialize + DeserializeOwned> Shuffler<N> {
    /// The whole state, waiting reports in the order they came and generator included: as secret as the shuffler itself.
    pub fn save(&self) -> Vec<u8> {
        saved::save(KIND, &(N::NAME, &self.state))
    }

    /// Continues from saved bytes, if no batch has left since: `batches_made` is how many have left in all. A report of an
    /// older state would leave a second time among other people, and what two batches have in common would show it.
    pub fn load(bytes: &[u8], batches_made: u64) -> Result<Self> {
        let (source, mut state): (String, State<N>) = saved::load(KIND, bytes)?;
        if source != N::NAME {
            let remedy = format!("load it with the source of noise it was saved with: {source}");
            return Err(Error::invalid("noise", N::NAME, remedy));
        }
        if state.next != batches_made {
            let remedy = format!(
                "the saved state stands at {}: restore the newest one, or start a new shuffler and lose who waits",
                state.next
            );
            return Err(Error::invalid("batches_made", batches_made, remedy));
        }
        if let Handing::Sum { exponents } = &state.handing {
            state.waiting.iter().try_for_each(|report| check_units(&report.values, exponents))?;
        }
        // Two copies of one state must not permute alike.
        state.noise.refresh()?;
        Ok(Shuffler { state })
    }

    /// Batches that have left: what [`Shuffler::load`] asks for.
    pub fn batches(&self) -> u64 {
        self.state.next
    }
}

/// A uniformly random permutation: Fisher and Yates in Durstenfeld's form.
pub(super) fn permute<T, N: Noise>(items: &mut [T], noise: &mut N) {
    for last in (1..items.len()).rev() {
        items.swap(last, noise.below(last as u64 + 1) as usize);
    }
}
