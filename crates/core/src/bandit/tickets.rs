//! Tickets, and the decisions that wait for their rewards: beside a learner, not in its saved state.
//!
//! ```text
//! ticket = number of the decision (64 bits) | tag (64 bits),   tag = ChaCha20(key of this life, number)
//! ```
//!
//! A life begins when a learner is started, loaded, forked or copied; each draws a key of its own from the system, which is never
//! saved. So a ticket of a life that crashed is not valid in the next one, although numbers are given out again there: its reward is
//! refused and never booked on somebody else's features. A ticket is not guessed with probability above 2^-64 a try. Whether a ticket
//! that is no longer open was given out in this life can be recomputed, so closed decisions cost no memory.
//!
//! Features of open decisions lie in one flat buffer whose places are used again.

use std::collections::BTreeMap;

use chacha20::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Error, Result, saved};

const KIND: &str = "open decisions";

/// What joins a decision and its reward; prints as 32 hexadecimal digits, and is read back from them.
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
                let remedy = "give the 32 hexadecimal digits that a decision came with";
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

/// The tags of one life.
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

    /// Where a tag begins: it is two words of 32 bits.
    fn position(&self, number: u64) -> u128 {
        2 * u128::from(number.wrapping_sub(self.first))
    }

    /// Whether this life gave it out.
    fn knows(&self, ticket: Ticket) -> bool {
        let mut again = ChaCha20Rng::from_seed(self.generator.get_seed());
        again.set_word_pos(self.position(ticket.number));
        (self.first..self.next).contains(&ticket.number) && again.next_u64() == ticket.tag
    }
}

/// What became of an open decision so far.
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
///
/// ```
/// use reticent::bandit::{Answer, OpenDecisions};
/// let mut open = OpenDecisions::<f64>::new(2);
/// let ticket = open.insert(0, 0, &[0.6, 0.8])?;
/// assert_eq!(open.features(ticket)?, [0.6, 0.8]);
/// assert!(open.remove(ticket) && !open.remove(ticket));
/// assert!(open.was_given_out(ticket) && open.features(ticket).is_err());
/// # Ok::<(), reticent::Error>(())
/// ```
pub struct OpenDecisions<T> {
    dimension: usize,
    /// From a decision's number to its slot.
    places: BTreeMap<u64, u32>,
    slots: Vec<Slot>,
    /// `dimension` entries a slot.
    features: Vec<T>,
    free: Vec<u32>,
    /// Whether tags come from the system; in a simulation they may repeat.
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
            places: BTreeMap::new(),
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

    /// Opens decision `number`, made at `time`. Numbers grow. An error, which only a system without entropy causes, changes nothing.
    pub fn insert(&mut self, number: u64, time: u64, features: &[T]) -> Result<Ticket> {
        if features.len() != self.dimension {
            let (expected, found) = (self.dimension, features.len());
            return Err(Error::Dimension { field: "features", expected, found });
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
        self.places.insert(number, place);
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

    /// Begins a new life: tickets from here on are tagged under a new key, and those that are open stay valid.
    pub fn renew(&mut self) {
        self.tags = None;
    }

    fn place(&self, ticket: Ticket) -> Option<usize> {
        let place = *self.places.get(&ticket.number)? as usize;
        (self.slots[place].tag == ticket.tag).then_some(place)
    }

    /// The features of an open decision.
    pub fn features(&self, ticket: Ticket) -> Result<&[T]> {
        match self.place(ticket) {
            Some(place) => Ok(&self.features[place * self.dimension..][..self.dimension]),
            None => Err(self.unknown(ticket)),
        }
    }

    /// Why a ticket is refused.
    pub fn unknown(&self, ticket: Ticket) -> Error {
        let remedy = if self.was_given_out(ticket) {
            "its reward is known already, or it was dismissed"
        } else {
            "it was never given out, or by a learner that has been restarted since: drop the reward"
        };
        // Not by `Error::invalid`: 32 digits would be taken for a number and shortened.
        Error::Invalid { field: "ticket", value: ticket.to_string(), remedy: remedy.into() }
    }

    /// Whether it was given out in this life, open or not.
    pub fn was_given_out(&self, ticket: Ticket) -> bool {
        self.tags.as_ref().is_some_and(|tags| tags.knows(ticket))
    }

    /// What became of an open decision so far.
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
        let (_, place) = self.places.first_key_value()?;
        let slot = &self.slots[*place as usize];
        Some((slot.ticket(), slot.time, slot.answer))
    }

    /// Closes a decision; says whether it was open.
    pub fn remove(&mut self, ticket: Ticket) -> bool {
        let place = self.place(ticket);
        if let Some(place) = place {
            self.places.remove(&ticket.number);
            self.free.push(place as u32);
        }
        place.is_some()
    }

    /// Closes all, and gives their memory back.
    pub fn clear(&mut self) {
        self.places.clear();
        (self.slots, self.features, self.free) = Default::default();
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Tickets of all open decisions, oldest first, each with the time it was made at.
    pub fn tickets(&self) -> impl Iterator<Item = (Ticket, u64)> + '_ {
        self.places.values().map(|place| {
            let slot = &self.slots[*place as usize];
            (slot.ticket(), slot.time)
        })
    }
}

impl<T: Copy + Serialize + DeserializeOwned> OpenDecisions<T> {
    /// All open decisions, people's data included: protect these bytes as the data itself.
    pub fn save(&self) -> Vec<u8> {
        let places: Vec<usize> = self.places.values().map(|place| *place as usize).collect();
        let features = places
            .iter()
            .flat_map(|place| &self.features[place * self.dimension..][..self.dimension])
            .copied()
            .collect();
        let slots = places.iter().map(|place| self.slots[*place]).collect();
        saved::save(KIND, &Saved { dimension: self.dimension, slots, features })
    }

    /// Opens what was saved, in addition; tickets are valid as they were. `below` is the number of the next decision. An error
    /// changes nothing.
    pub fn restore(&mut self, bytes: &[u8], below: u64) -> Result<()> {
        let Saved::<T> { dimension, slots, features } = saved::load(KIND, bytes)?;
        let grow = slots.windows(2).all(|pair| pair[0].number < pair[1].number);
        let fits = dimension == self.dimension
            && slots.len().checked_mul(dimension) == Some(features.len())
            && slots.last().is_none_or(|last| last.number < below)
            && !slots.iter().any(|slot| self.places.contains_key(&slot.number));
        if !(grow && fits) {
            let remedy = "they belong to another learner or to an older state of it: restore another copy, or go on without them";
            return Err(Error::invalid("open decisions", slots.len(), remedy));
        }
        let first = self.slots.len() as u32;
        self.places.extend(slots.iter().map(|slot| slot.number).zip(first..));
        self.slots.extend(slots);
        self.features.extend(features);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_of_two_lives_differ_and_neither_can_be_guessed() {
        let mut one = OpenDecisions::<f64>::new(1);
        let given: Vec<Ticket> = (0..50).map(|n| one.insert(n, n, &[0.5]).unwrap()).collect();
        let mut two = OpenDecisions::<f64>::new(1);
        for (number, ticket) in given.iter().enumerate() {
            let again = two.insert(number as u64, 0, &[0.1]).unwrap();
            assert_eq!(again.number, ticket.number);
            // By chance once in 2^64.
            assert_ne!(again.tag, ticket.tag);
            assert!(two.features(*ticket).is_err() && !two.was_given_out(*ticket));
        }
        let guess = Ticket { tag: given[3].tag ^ 1, ..given[3] };
        assert!(one.features(guess).is_err() && !one.was_given_out(guess) && !one.remove(guess));
        let digits: Ticket = "7".repeat(32).parse().unwrap();
        let refused = one.features(digits).unwrap_err().to_string();
        assert!(refused.contains(&digits.to_string()), "{refused}");
    }

    #[test]
    fn a_new_life_keeps_open_tickets_and_forgets_the_key() {
        let mut open = OpenDecisions::<i32>::new(1);
        let old = open.insert(7, 0, &[1]).unwrap();
        let closed = open.insert(8, 0, &[2]).unwrap();
        assert!(open.remove(closed) && open.was_given_out(closed));
        open.renew();
        assert_eq!(open.features(old).unwrap(), [1]);
        assert!(!open.was_given_out(closed));
        let new = open.insert(9, 0, &[3]).unwrap();
        assert!(open.was_given_out(new) && !open.was_given_out(closed));
    }

    #[test]
    fn places_are_used_again() {
        let mut open = OpenDecisions::<i32>::new(3);
        let mut waiting = std::collections::VecDeque::new();
        for number in 0..10_000 {
            waiting.push_back(open.insert(number, 0, &[number as i32; 3]).unwrap());
            if waiting.len() > 20 {
                let (ticket, _, _) = open.oldest().unwrap();
                assert_eq!(Some(ticket), waiting.pop_front());
                assert_eq!(open.features(ticket).unwrap(), [number as i32 - 20; 3]);
                assert!(open.remove(ticket));
            }
        }
        assert_eq!((open.len(), open.slots.len()), (20, 21));
        assert!(open.tickets().map(|(ticket, _)| ticket).eq(waiting));
    }

    #[test]
    fn what_was_saved_opens_again_and_what_does_not_fit_is_refused() {
        let mut open = OpenDecisions::<i32>::new(2);
        let first = open.insert(3, 10, &[1, 2]).unwrap();
        let second = open.insert(5, 11, &[3, 4]).unwrap();
        open.set_answer(second, Answer::Reward(0.5));
        let bytes = open.save();
        let mut again = OpenDecisions::<i32>::new(2);
        again.restore(&bytes, 6).unwrap();
        assert_eq!(again.features(first).unwrap(), [1, 2]);
        assert_eq!(again.answer(second), Some(Answer::Reward(0.5)));
        assert!(again.tickets().eq(open.tickets()));
        assert!(again.restore(&bytes, 6).is_err(), "opened twice");
        assert!(OpenDecisions::<i32>::new(2).restore(&bytes, 5).is_err(), "of the future");
        assert!(OpenDecisions::<i32>::new(3).restore(&bytes, 6).is_err(), "another dimension");
        assert_eq!(again.len(), 2);
    }
}
