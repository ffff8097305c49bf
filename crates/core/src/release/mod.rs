//! Private running sums of vectors and matrices.
//!
//! A trusted curator absorbs one clipped contribution per round and, at scheduled rounds, releases a noisy
//! sum of all of them. `A = B C`: noise is added once, to the integers `C x`; the prefix sums are `B (C x + z)`.
//!
//! | file | contents |
//! | --- | --- |
//! | `domain` | the kinds of contribution, with proofs of their sensitivity |
//! | `merged` | one sum for all entries of `x x^T` that a public rule makes equal |
//! | `clip` | numbers to integers that provably keep their bound |
//! | `contribution`, `contribution_sums` | those integers, and sums of them |
//! | `calibration` | the noise for a given mu, rounding included |
//! | `schedule` | the rounds of the releases |
//! | `factorization` | properties and state that all mechanisms share |
//! | `fixed` | fixed-point arithmetic for factorisations whose coefficients are not whole numbers |
//! | `tree`, `honaker` | binary trees: whole numbers, logarithmically many nodes |
//! | `padded` | a binary tree with the noise of every level in every sum |
//! | `wishart` | a binary tree with positive semidefinite noise, as published |
//! | `toeplitz` | the square root of A: near-optimal, linear memory |
//! | `blt`, `blt_design`, `blt_history` | buffered linear Toeplitz: as good in constant memory; the default |
//! | `doubling` | an unknown horizon |
//! | `append` | coordinates appended to a stream that is under way, at no cost |
//! | `forgetting` | sums that forget by half-lives: no horizon, one calibration |
//! | `generations` | streams of one loop that share a ledger: what they cost a person together |
//! | `randomized` | sums of contributions that were randomised one by one |
//! | `engine` | the mechanism of a sum with its noise |
//! | `params`, `stream`, `released` | the parameters, the running sum, its releases |
//! | `promise` | the cost of a stream for one person |
//! | `single` | one noisy contribution: what a local randomiser sends |
//!
//! Start at [`PrivateSumParams`] and [`PrivateSum`].

mod append;
mod blt;
mod blt_design;
mod blt_history;
mod calibration;
mod clip;
mod contribution;
mod contribution_sums;
mod domain;
mod doubling;
mod engine;
mod factorization;
mod fixed;
mod forgetting;
mod generations;
mod honaker;
mod merged;
mod padded;
mod params;
mod promise;
mod randomized;
mod released;
mod schedule;
mod single;
mod stream;
#[cfg(test)]
pub(crate) mod testing;
mod toeplitz;
mod tree;
mod wishart;

pub(crate) use crate::linalg::Layout;
pub use crate::linalg::Structure;
pub(crate) use append::{Places, appended};
pub use calibration::Calibration;
pub use clip::Clipper;
pub(crate) use clip::power_of_two;
pub use contribution::Contribution;
pub use contribution_sums::ContributionSums;
pub use domain::Domain;
use factorization::Factor;
pub use factorization::{Factorization, Mechanism};
pub(crate) use forgetting::HalfLife;
pub use generations::{GenerationCost, one_ledger};

pub use merged::Merging;
pub use params::{PrivateSumParams, PrivateSumPlan};
pub(crate) use promise::Promise;
pub use released::Release;
pub use schedule::Schedule;
pub(crate) use single::SingleRelease;
pub use stream::PrivateSum;
pub use toeplitz::square_root_product;
pub use wishart::wishart_degrees;
