//! Environments of the family online: gradients.
//!
//! | file | holds |
//! | --- | --- |
//! | `gradients` | `kind = "gradients"`: people drawn from a law, both scenarios of section 3.4 of van der Hoeven (2019) |
//! | `records` | `kind = "records"`: people read from a file of numbers, one pass or several |
//! | `scaling` | rows of such a file as features and labels |

pub(crate) mod gradients;
pub(crate) mod records;
pub(crate) mod scaling;

use crate::Result;

/// One person: features that are not zero, and a label.
pub(crate) type Person = (Vec<(usize, f64)>, f64);

/// The people of one trial, in their order.
pub(crate) struct Crowd {
    /// The people whom the model learns from.
    pub people: Vec<Person>,
    /// The person of each round, as an index of `people`.
    pub who: Vec<usize>,
    /// The competitor u that regret is measured against.
    pub competitor: Vec<f64>,
    /// The people held out for testing.
    pub held_out: Vec<Person>,
}

/// An environment that has been checked.
pub(crate) trait Source: Send + Sync {
    /// d.
    fn dimension(&self) -> usize;
    /// The loss.
    fn loss(&self) -> reticent::online::Loss;
    /// The largest Euclidean norm of any person's gradient.
    fn gradient_bound(&self) -> f64;
    /// The largest l1 norm of any person's gradient.
    fn l1_bound(&self) -> f64;
    /// The largest size of any entry of any person's gradient.
    fn coordinate_bound(&self) -> f64;
    /// Number of different people who take part.
    fn population(&self, rounds: u64) -> u64;
    /// The largest number of times that one of them takes part.
    fn takes_part(&self, rounds: u64) -> u64 {
        rounds.div_ceil(self.population(rounds).max(1))
    }
    /// Conditions of a guarantee besides those of its randomiser.
    fn conditions(&self) -> Vec<String> {
        Vec::new()
    }
    /// Remarks on the people for the reader.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
    /// A hash of people read from a file.
    fn data_hash(&self) -> u64 {
        0
    }
    /// The people of a trial.
    fn crowd(&self, rounds: u64, seed: u64) -> Result<Crowd>;
}
