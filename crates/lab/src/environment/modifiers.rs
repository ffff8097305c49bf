//! `[environment.modifiers]`: late and lost rewards, changes of theta*, absent arms. Every key is optional.
//!
//! | key | effect |
//! | --- | --- |
//! | `delay` | `{ fixed = 100 }` or `{ mean = 100.0 }`: rewards come this number of rounds late |
//! | `batch` | rewards are delivered in batches of this number of rounds |
//! | `lost` | this share of the rewards never comes |
//! | `change_every` | theta* jumps each time this number of rounds has passed |
//! | `rotate` | theta* turns by this number of radians a round |
//! | `availability` | each arm is there with this probability, each round anew |
//! | `population` | theta* and fixed arms come from this seed, people from the experiment's |
//!
//! None of it looks at people's data, so no guarantee changes; that which rewards come, and when, reveals nothing about a person is a condition
//! of the guarantees, and is stated with them.

use std::f64::consts::PI;

use reticent::{
    Error, Result,
    schema::{Count, PositiveShare, Share},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    environment::{Changes, Changing, Environment},
    play::{Delay, Feedback, Way},
};

/// The table.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Modifiers {
    /// Number of rounds that a reward takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// Number of rounds of a batch in which rewards are delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Count>")]
    pub batch: Option<u64>,
    /// The share of rewards that never comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Share>")]
    pub lost: Option<f64>,
    /// Rounds between two jumps of theta*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Count>")]
    pub change_every: Option<u64>,
    /// Radians by which theta* turns in a round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -PI, max = PI))]
    pub rotate: Option<f64>,
    /// Probability that an arm is available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PositiveShare>")]
    pub availability: Option<f64>,
    /// The seed of theta* and of fixed arms, in place of the experiment's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<u64>,
}

impl Modifiers {
    /// Returns whether every key has its default.
    pub fn is_calm(&self) -> bool {
        *self == Modifiers::default()
    }

    /// Refuses numbers without meaning.
    pub fn check(&self) -> Result<()> {
        let share = |field, value: Option<f64>, remedy: &str| match value {
            Some(value) if !(0.0..=1.0).contains(&value) => {
                Err(Error::invalid(field, value, remedy))
            }
            _ => Ok(()),
        };
        share("lost", self.lost, "expected the share of rewards that is lost, from 0 to 1")?;
        share("availability", self.availability, "expected a probability, above 0 and up to 1")?;
        let remedy = "there would be nothing to choose; expected a probability above 0";
        reticent::refuse_if(self.availability == Some(0.0), "availability", 0, remedy)?;
        for (field, value) in [("batch", self.batch), ("change_every", self.change_every)] {
            let remedy = "expected a whole number of rounds above 0";
            reticent::refuse_if(value == Some(0), field, 0, remedy)?;
        }
        if let Some(Delay::Mean(mean)) = self.delay
            && !(0.0..=1e15).contains(&mean)
        {
            return Err(Error::invalid("delay", mean, "expected a mean from 0 to 1e15 rounds"));
        }
        match self.rotate {
            Some(angle) if angle.is_nan() || angle.abs() > PI => {
                Err(Error::invalid("rotate", angle, "expected radians a round, such as 0.001"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what a file of people cannot do: they are as they are.
    pub(crate) fn of_a_file(&self) -> Result<()> {
        let keys = [
            ("change_every", self.change_every.is_some()),
            ("rotate", self.rotate.is_some()),
            ("population", self.population.is_some()),
        ];
        match keys.into_iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((field, _)) => {
                let remedy =
                    "people of a file are as they are, there is no theta* to draw: leave it out";
                Err(Error::invalid(field, "a value", remedy))
            }
        }
    }

    /// Tells whether theta* moves.
    pub fn moves(&self) -> bool {
        self.change_every.is_some() || self.rotate.is_some_and(|angle| angle != 0.0)
    }

    /// Tells whether rewards go their own way.
    pub fn detours(&self) -> bool {
        self.delay.is_some() || self.batch.is_some() || self.lost.is_some()
    }

    /// The way of the rewards of one trial.
    pub(crate) fn feedback(&self, seed: u64) -> Option<Feedback> {
        let way = Way {
            delay: self.delay.unwrap_or(Delay::Fixed(0)),
            batch: self.batch.unwrap_or(1),
            lost: self.lost.unwrap_or(0.0),
        };
        self.detours().then(|| Feedback::new(way, seed))
    }

    /// The environment with its changes.
    pub(crate) fn around(
        &self,
        inner: Box<dyn Environment>,
        seed: u64,
    ) -> Result<Box<dyn Environment>> {
        if !self.moves() && self.availability.is_none() {
            return Ok(inner);
        }
        let changes = Changes {
            change_every: self.change_every,
            rotate: self.rotate.unwrap_or(0.0),
            availability: self.availability.unwrap_or(1.0),
        };
        Ok(Box::new(Changing::new(inner, changes, seed)?))
    }
}
