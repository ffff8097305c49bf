//! Tickets, and the decisions that wait for their rewards: beside a learner, not in its saved state.
//!
//! ```text
//! ticket = number of the decision (64 bits) | tag (64 bits),   tag = ChaCha20(key of this session, number)
//! ```
//!
//! A session begins when a learner is started, loaded, forked or copied; each draws a key of its own from the system, which is never
//! saved. So a ticket of a session that crashed is not valid in the next one, although numbers are given out again there: its reward is
//! refused and never booked on another party's features. A ticket is not guessed with probability above 2^-64 a try. Whether a ticket
//! that is no longer open was given out in this session can be recomputed, so closed decisions cost no memory.
//!
//! Features of open decisions lie in one flat buffer whose places are used again. Numbers grow, so a queue of places in their order finds
//! a decision at its distance from the oldest one; where decisions in between have left the queue, by bisection.

use std::collections::VecDeque;

use chacha20::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Error, Result, refuse_if, wire};

/// The place of a decision that was closed between two that are open.
const CLOSED: u32 = u32::MAX;
/// Largest number of closed decisions in the queue, however few are open.
const FEW: usize = 32;

/// Ticket that joins a decision and its reward; prints as 32 hexadecimal digits, and is read back from them.
///
/// ```
/// use reticent::bandit::Ticket;
/// let ticket: Ticket = "00000000000000070123456789abcdef".parse()?;
/// assert_eq!(ticket.to_string(), "00000000000000070123456789abcdef");
/// assert!("7".parse::<Ticket>().is_err());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Ticket {
    number: u64,
    tag: u64,
}

impl std::fmt::Display for Ticket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:016x}{:016x}", self.number, self.tag)
    }
}

impl std::str::FromStr for Ticket {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let part = |part: Option<&str>| u64::from_str_radix(part?, 16).ok();
        match (part(text.get(..16)), part(text.get(16..))) {
            (Some(number), Some(tag)) if text.len() == 32 && !text.contains('+') => {
                Ok(Ticket { number, tag })
            }
            _ => {
                let shown: String = text.chars().take(40).collect();
                let remedy = "expected the 32 hexadecimal digits that a decision came with";
                Err(Error::invalid("ticket", format!("{shown:?}"), remedy))
            }
        }
    }
}

impl From<Ticket> for String {
    fn from(ticket: Ticket) -> Self {
        ticket.to_string()
    }
}

impl TryFrom<String> for Ticket {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

/// The tags of one session.
struct Tags {
    /// Stands before the tag of number `next`.
    generator: ChaCha20Rng,
    first: u64,
    next: u64,
}

impl Tags {
    fn new(secret: bool, first: u64) -> Result<Self> {
        let mut key = [0; 32];
        if secret {
            getrandom::fill(&mut key)
                .map_err(|error| Error::Entropy { reason: error.to_string() })?;
        }
        Ok(Tags { generator: ChaCha20Rng::from_seed(key), first, next: first })
    }

    fn give(&mut self, number: u64) -> Ticket {
        if number != self.next {
            self.generator.set_word_pos(self.position(number));
        }
        self.next = number + 1;
        Ticket { number, tag: self.generator.next_u64() }
    }

    /// Index of the first word of a tag: it is two words of 32 bits.
    fn position(&self, number: u64) -> u128 {
        2 * u128::from(number.wrapping_sub(self.first))
    }

    /// Returns whether this session gave it out.
    fn knows(&self, ticket: Ticket) -> bool {
        let mut again = ChaCha20Rng::from_seed(self.generator.get_seed());
        again.set_word_pos(self.position(ticket.number));
        (self.first..self.next).contains(&ticket.number) && again.next_u64() == ticket.tag
    }
}

/// Outcome of an open decision so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Its reward has not come.
    Waiting,
    /// Its reward has come, and is learnt when the decision closes.
    Reward(f64),
    /// It contributes nothing.
    Dismissed,
}

/// An open decision but for its features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Slot {
    number: u64,
    tag: u64,
    time: u64,
    answer: Answer,
}

impl Slot {
    fn ticket(&self) -> Ticket {
        Ticket { number: self.number, tag: self.tag }
    }
}

/// Decisions whose reward has not been learnt, with features of type `T`.
pub struct OpenDecisions<T> {
    dimension: usize,
    /// Numbers in growing order, each with its place, or [`CLOSED`]. Neither end is closed, and closed ones are never more than the open
    /// ones and a few.
    order: VecDeque<(u64, u32)>,
    closed: usize,
    slots: Vec<Slot>,
    /// `dimension` entries a slot.
    features: Vec<T>,
    free: Vec<u32>,
    /// True if tags come from the system; in a simulation they may repeat.
    secret: bool,
    tags: Option<Tags>,
}

/// Open decisions on disk, oldest first.
#[derive(Serialize, Deserialize)]
struct Saved<T> {
    dimension: usize,
    slots: Vec<Slot>,
    features: Vec<T>,
}

impl<T: Copy> OpenDecisions<T> {
    /// None, of vectors of this dimension.
    pub fn new(dimension: usize) -> Self {
        OpenDecisions {
            dimension,
            order: VecDeque::new(),
            closed: 0,
            slots: Vec::new(),
            features: Vec::new(),
            free: Vec::new(),
            secret: true,
            tags: None,
        }
    }

    /// The same for a simulation: tags follow from numbers.
    pub(super) fn simulated(dimension: usize) -> Self {
        OpenDecisions { secret: false, ..OpenDecisions::new(dimension) }
    }

    /// Opens decision `number`, made at `time`. Numbers grow: one that is not above all that are open is refused. An error changes nothing.
    pub fn insert(&mut self, number: u64, time: u64, features: &[T]) -> Result<Ticket> {
        if features.len() != self.dimension {
            let (expected, found) = (self.dimension, features.len());
            return Err(Error::Dimension { field: "features", expected, found });
        }
        if let Some((last, _)) = self.order.back().filter(|(last, _)| *last >= number) {
            let remedy = format!("decision {last} is open: numbers grow");
            return Err(Error::invalid("number of the decision", number, remedy));
        }
        let ticket = self.pass(number)?;
        let slot = Slot { number, tag: ticket.tag, time, answer: Answer::Waiting };
        let place = match self.free.pop() {
            Some(place) => {
                self.slots[place as usize] = slot;
                let start = place as usize * self.dimension;
                self.features[start..start + self.dimension].copy_from_slice(features);
                place
            }
            None => {
                self.slots.push(slot);
                self.features.extend_from_slice(features);
                (self.slots.len() - 1) as u32
            }
        };
        self.order.push_back((number, place));
        Ok(ticket)
    }

    /// A ticket for decision `number` that is not kept: nothing can be learnt from its reward any more.
    pub fn pass(&mut self, number: u64) -> Result<Ticket> {
        let tags = match &mut self.tags {
            Some(tags) => tags,
            none => none.insert(Tags::new(self.secret, number)?),
        };
        Ok(tags.give(number))
    }

    /// Begins a new session: tickets from here on are tagged under a new key, and those that are open stay valid.
    pub fn renew(&mut self) {
        self.tags = None;
    }

    /// Place of a number in the queue.
    fn index(&self, number: u64) -> Option<usize> {
        let (first, _) = self.order.front()?;
        if *first == number {
            return Some(0);
        }
        let index = number.checked_sub(*first)? as usize;
        match self.order.get(index) {
            Some((found, _)) if *found == number => Some(index),
            _ => self.order.binary_search_by_key(&number, |(number, _)| *number).ok(),
        }
    }

    /// Index of an open decision in the queue, and its place.
    fn find(&self, ticket: Ticket) -> Option<(usize, usize)> {
        let index = self.index(ticket.number)?;
        let place = self.order[index].1 as usize;
        // No slot has the place of those that are closed.
        (self.slots.get(place)?.tag == ticket.tag).then_some((index, place))
    }

    fn place(&self, ticket: Ticket) -> Option<usize> {
        self.find(ticket).map(|(_, place)| place)
    }

    /// Places of open decisions, oldest first.
    fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().filter(|(_, place)| *place != CLOSED).map(|(_, place)| *place as usize)
    }

    /// The features of an open decision.
    pub fn features(&self, ticket: Ticket) -> Result<&[T]> {
        match self.place(ticket) {
            Some(place) => Ok(&self.features[place * self.dimension..][..self.dimension]),
            None => Err(self.unknown(ticket)),
        }
    }

    /// Reason why a ticket is refused.
    pub fn unknown(&self, ticket: Ticket) -> Error {
        let remedy = if self.was_given_out(ticket) {
            "its reward is known already, or it was dismissed"
        } else {
            "it was never given out, or by a learner that has been restarted since: drop the reward"
        };
        // Not by `Error::invalid`: 32 digits would be taken for a number and shortened.
        Error::Invalid { field: "ticket", value: ticket.to_string(), remedy: remedy.into() }
    }

    /// Returns whether it was given out in this session, open or not.
    pub fn was_given_out(&self, ticket: Ticket) -> bool {
        self.tags.as_ref().is_some_and(|tags| tags.knows(ticket))
    }

    /// Outcome of an open decision so far.
    pub fn answer(&self, ticket: Ticket) -> Option<Answer> {
        Some(self.slots[self.place(ticket)?].answer)
    }

    /// Keeps what became of an open decision; says whether it is open.
    pub fn set_answer(&mut self, ticket: Ticket, answer: Answer) -> bool {
        let place = self.place(ticket);
        if let Some(place) = place {
            self.slots[place].answer = answer;
        }
        place.is_some()
    }

    /// The oldest open decision: its ticket, its time, what became of it.
    pub fn oldest(&self) -> Option<(Ticket, u64, Answer)> {
        let (_, place) = self.order.front()?;
        let slot = &self.slots[*place as usize];
        Some((slot.ticket(), slot.time, slot.answer))
    }

    /// Closes a decision; says whether it was open.
    pub fn remove(&mut self, ticket: Ticket) -> bool {
        let Some((index, place)) = self.find(ticket) else { return false };
        self.order[index].1 = CLOSED;
        self.closed += 1;
        self.free.push(place as u32);
        let is_closed = |end: Option<&(u64, u32)>| end.is_some_and(|(_, place)| *place == CLOSED);
        while is_closed(self.order.front()) {
            self.order.pop_front();
            self.closed -= 1;
        }
        while is_closed(self.order.back()) {
            self.order.pop_back();
            self.closed -= 1;
        }
        if self.closed > self.len() + FEW {
            self.order.retain(|(_, place)| *place != CLOSED);
            self.closed = 0;
        }
        true
    }

    /// Closes all, and gives their memory back.
    pub fn clear(&mut self) {
        self.closed = 0;
        (self.order, self.slots, self.features, self.free) = Default::default();
    }

    /// Number of open decisions.
    pub fn len(&self) -> usize {
        self.order.len() - self.closed
    }

    /// Returns whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tickets of all open decisions, oldest first, each with the time it was made at.
    pub fn tickets(&self) -> impl Iterator<Item = (Ticket, u64)> + '_ {
        self.places().map(|place| (self.slots[place].ticket(), self.slots[place].time))
    }
}

impl<T: Copy + Serialize + DeserializeOwned> OpenDecisions<T> {
    /// All open decisions, people's data included: protect these bytes as the data itself.
    pub fn save(&self) -> Vec<u8> {
        let features = self
            .places()
            .flat_map(|place| &self.features[place * self.dimension..][..self.dimension])
            .copied()
            .collect();
        let slots = self.places().map(|place| self.slots[place]).collect();
        wire::save(
            wire::kinds::OPEN_DECISIONS,
            &Saved { dimension: self.dimension, slots, features },
        )
    }

    /// Opens what was saved, after what is open; tickets are valid as they were. `below` is the number of the next decision. An error
    /// changes nothing.
    pub fn restore(&mut self, bytes: &[u8], below: u64) -> Result<()> {
        let Saved::<T> { dimension, slots, features } =
            wire::load(wire::kinds::OPEN_DECISIONS, bytes)?;
        let grow = slots.windows(2).all(|pair| pair[0].number < pair[1].number);
        let fits = dimension == self.dimension
            && slots.len().checked_mul(dimension) == Some(features.len())
            && slots.last().is_none_or(|last| last.number < below)
            && self
                .order
                .back()
                .is_none_or(|(last, _)| slots.iter().all(|slot| slot.number > *last));
        let remedy = "they belong to another learner or to an older state of it: restore another copy, or go on without them";
        refuse_if(!(grow && fits), "open decisions", slots.len(), remedy)?;
        let first = self.slots.len() as u32;
        self.order.extend(slots.iter().map(|slot| slot.number).zip(first..));
        self.slots.extend(slots);
        self.features.extend(features);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
