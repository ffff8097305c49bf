//! The shuffler: waits for a batch, takes names off, permutes, and hands on.
//!
//! **What it does for privacy.** A batch leaves as a uniformly random permutation (Fisher and Yates, each exchange drawn exactly
//! through [`Noise`]) of what the randomisers made. The names of reports, the model they were made under and the order in which
//! they came stay here. No batch smaller than agreed on ever leaves, for its amplification would be less than promised.
//!
//! Sums are taken in integers, in units of the grid that reports are on. In floating point one dishonest report of 2^52 units
//! would make every later addition round to a coarser grid, one person at a time, and the weak noise of each would vanish.
//!
//! A report that comes again is dropped (`repeats`), so that it is in one batch only.
//!
//! A refusal must not depend on the data of an honest person, because it delays the batch. Every value of a device of this
//! protocol is taken: sums are of whole grid units below 2^53 (`release/single.rs`), points of the sphere have entries of at most 1.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::repeats::Repeats;
use crate::{
    Error, Result,
    noise::Noise,
    randomize::Report,
    refuse_if,
    release::power_of_two,
    wire::{self, count, hex},
};

/// Form in which the shuffler hands on a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Values that the randomiser made.
    pub values: Vec<f64>,
}

/// Batch that leaves the shuffler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    #[serde(with = "hex")]
    pub(super) protocol: u64,
    /// From 0, so that the server takes each batch once.
    #[serde(with = "count")]
    pub(super) number: u64,
    /// Number of reports that went in.
    #[serde(with = "count")]
    pub(super) people: u64,
    /// The permuted reports; a single sum where the shuffler sums.
    pub(super) contents: Vec<Shuffled>,
}

impl wire::Checked for Batch {}
impl wire::Message for Batch {
    const KIND: wire::Kind = wire::kinds::BATCH;
}

impl Batch {
    /// Its number, from 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Number of reports that went in.
    pub fn people(&self) -> u64 {
        self.people
    }

    /// Content of the batch: the permuted reports, or one sum.
    pub fn contents(&self) -> &[Shuffled] {
        &self.contents
    }
}

/// Form in which a batch is handed on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Handing {
    /// Number of values, and the largest size of one.
    Permute { values: usize, largest: f64 },
    /// Values are multiples of `2^-exponent`.
    Sum { exponents: Vec<i32> },
}

impl Handing {
    /// Batch that leaves, made from the reports of one batch.
    pub(super) fn close<N: Noise>(
        &self,
        mut contents: Vec<Shuffled>,
        noise: &mut N,
    ) -> Vec<Shuffled> {
        match self {
            Handing::Permute { .. } => {
                permute(&mut contents, noise);
                contents
            }
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
                vec![Shuffled { level: None, features: None, values }]
            }
        }
    }

    /// Refuses what no device of this protocol makes: it would spoil the batch for all people in it.
    pub(super) fn check(
        &self,
        level: Option<u16>,
        features: Option<&[f64]>,
        values: &[f64],
    ) -> Result<()> {
        let remedy = "no device of this protocol makes such a report: refuse its sender";
        let named = level.map_or("missing".to_string(), |level| level.to_string());
        refuse_if(level != Some(0), "level", named, remedy)?;
        refuse_if(features.is_some(), "features", "a value", remedy)?;
        let expected = match self {
            Handing::Permute { values, .. } => *values,
            Handing::Sum { exponents } => exponents.len(),
        };
        if values.len() != expected {
            return Err(Error::Dimension { field: "values", expected, found: values.len() });
        }
        let odd = match self {
            Handing::Permute { largest, .. } => {
                values.iter().find(|value| value.is_nan() || value.abs() > *largest)
            }
            Handing::Sum { exponents } => {
                let whole = |(value, exponent): (&f64, &i32)| {
                    let units = value * power_of_two(*exponent);
                    units.abs() < MOST_UNITS && units.fract() == 0.0
                };
                values.iter().zip(exponents).find(|pair| !whole(*pair)).map(|(value, _)| value)
            }
        };
        match odd {
            None => Ok(()),
            Some(value) => Err(Error::invalid("values", value, remedy)),
        }
    }
}

/// Reports that can be summed stay below this many grid units, whatever is clipped and drawn: what doubles hold exactly.
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

/// All there is to save. Private, so that a shuffler only comes back through `resume`.
#[derive(Serialize, Deserialize)]
struct State<N> {
    protocol: u64,
    batch: usize,
    handing: Handing,
    waiting: Vec<Shuffled>,
    next: u64,
    repeats: Repeats,
    noise: N,
}

impl<N: Noise> Shuffler<N> {
    /// `bits`: a report takes any one value with a chance of at most 2^-bits.
    pub(super) fn new(protocol: u64, batch: u64, handing: Handing, bits: f64, noise: N) -> Self {
        let mut noise = noise;
        Shuffler {
            state: State {
                protocol,
                batch: batch as usize,
                handing,
                waiting: Vec::new(),
                next: 0,
                repeats: Repeats::new(bits, &mut noise),
                noise,
            },
        }
    }

    /// Takes a report in, once, and gives a batch whenever one is full. An error changes nothing.
    pub fn absorb(&mut self, report: &Report) -> Result<Option<Batch>> {
        let state = &mut self.state;
        let refused = report.protocol != state.protocol;
        let remedy = "it was made for a protocol with other parameters: refuse its sender";
        refuse_if(refused, "protocol", format_args!("{:x}", report.protocol), remedy)?;
        state.handing.check(report.level, report.features.as_deref(), &report.values)?;
        if state.waiting.len() + 1 >= state.batch {
            state.noise.rekey()?;
        }
        if !state.repeats.remember(report) {
            return Ok(None);
        }
        state.waiting.push(Shuffled {
            level: report.level,
            features: report.features.clone(),
            values: report.values.clone(),
        });
        if state.waiting.len() < state.batch {
            return Ok(None);
        }
        let contents = std::mem::take(&mut state.waiting);
        let (protocol, number) = (state.protocol, state.next);
        state.next += 1;
        let people = contents.len() as u64;
        let contents = state.handing.close(contents, &mut state.noise);
        Ok(Some(Batch { protocol, number, people, contents }))
    }

    /// Reports that wait for their batch to fill.
    pub fn waiting(&self) -> usize {
        self.state.waiting.len()
    }
}

impl<N: Noise + Serialize + DeserializeOwned> Shuffler<N> {
    /// The whole state, waiting reports in the order they came included: as secret as the shuffler itself.
    pub fn save(&self) -> Vec<u8> {
        wire::save_on(wire::kinds::SHUFFLER, N::NAME, &self.state)
    }

    /// Continues from saved bytes, if no batch has left since they were saved. A report of an older state would leave a second time among other
    /// people, and what two batches have in common would show it.
    ///
    /// `batches_made` is the number of batches that have left so far, from the caller's own log.
    pub fn resume(bytes: &[u8], batches_made: u64) -> Result<Self> {
        let state: State<N> = wire::load_on(wire::kinds::SHUFFLER, N::NAME, bytes)?;
        wire::expect_newest("batches", state.next, batches_made)?;
        state.repeats.check()?;
        for waiting in &state.waiting {
            let Shuffled { level, features, values } = waiting;
            state.handing.check(*level, features.as_deref(), values)?;
        }
        Ok(Shuffler { state })
    }

    /// Batches that have left: what [`Shuffler::resume`] asks for.
    pub fn batches(&self) -> u64 {
        self.state.next
    }
}

/// A uniformly random permutation: Fisher and Yates in Durstenfeld's form.
pub fn permute<T, N: Noise>(items: &mut [T], noise: &mut N) {
    for last in (1..items.len()).rev() {
        items.swap(last, noise.below(last as u64 + 1) as usize);
    }
}
