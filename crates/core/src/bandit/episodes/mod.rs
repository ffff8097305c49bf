//! Optimism in episodes, for fixed public actions: each person's reward is in exactly one noisy sum, and there is no noisy matrix.
//!
//! ```text
//! episode    arm a for n people (or ticks)      released: m, the mean of their rewards with noise
//! estimate   1/w = Var m,   V = I + sum w a a^T,   theta = V^-1 sum w (m - 1/2) a
//! next arm   the largest <theta, a> + width sqrt(ln(1 + people)) ||a||_{V^-1},   until det V has grown by `growth`
//! ```
//!
//! Rewards are in units of their range. A learner that takes any arms must hide them: it releases `sum x x^T` with noise. Where all people have the
//! same public arms, the arm of an episode follows from earlier releases, and one number for each episode is enough.
//!
//! **Reference.** Rarely switching OFUL (Abbasi-Yadkori, Pal and Szepesvari 2011, section 5.1) with the episodes of AdaP-UCB (Azize and Basu 2022).
//! Phased elimination with the same noise (Hanna et al. 2022; Azize and Basu 2024) lost to it in every setting of `studies/README.md`.
//!
//! **Guarantee.** That of one sum, whatever the number of episodes: `noise` has the proofs. Width and growth are found by simulation; no confidence set
//! is certified.
//!
//! | trust | what is released of an episode | noise |
//! | --- | --- | --- |
//! | central | the sum of rewards; by the clock, counts and sums of all arms | discrete Laplace, once |
//! | shuffle | the number of ones among the people's bits, mixed by a shuffler | each person's randomised response |
//! | none | the sum of rewards | none |
//!
//! | file | contents |
//! | --- | --- |
//! | `params` | parameters and plan |
//! | `noise` | sizes of episodes, the noise of each, and the proofs |
//! | `estimate` | releases to an upper confidence bound for each arm |
//! | `learner` | episodes of people: decide, observe, or report and absorb |
//! | `clock` | episodes of ticks, for a service: counts are people's data too |
//! | `saved` | saved state, and replays |

mod clock;
mod estimate;
mod learner;
mod noise;
mod params;
mod saved;
#[cfg(test)]
mod shuffle_tests;
#[cfg(test)]
mod tests;

pub use clock::EpisodeSums;
pub use learner::{Episode, EpisodeDecision, Episodes};
pub use params::{EpisodesParams, EpisodesPlan};
