//! Privacy accounting: events, their cost, and the guarantee.
//!
//! ```text
//! Event -> Accountant -> Curve -> Guarantee
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `event` | the description of a release that a mechanism gives to the accountant |
//! | [`gaussian`] | the Gaussian mechanism, exactly |
//! | `grid` | what discrete Gaussians cost above real ones: proof and computation |
//! | `loss_distribution` | everything else: privacy-loss distributions, rounded upwards |
//! | [`shuffle`] | amplification by shuffling |
//! | `accountant`, `curve` | composition |
//! | `guarantee`, `terms`, `conditions` | the guarantee as a sentence, as a table, as JSON |

mod accountant;
mod conditions;
mod curve;
mod event;
pub mod gaussian;
pub(crate) mod grid;
mod guarantee;
mod loss_distribution;
pub mod shuffle;
mod terms;

pub use accountant::Accountant;
pub use curve::{Curve, Tightness};
pub use event::Event;
pub(crate) use event::MOST_K_NORM_DIMENSION;
pub use guarantee::Guarantee;
pub(crate) use guarantee::PURE_DELTA;
pub use loss_distribution::PrivacyLossDistribution;
pub(crate) use terms::check_delta;
pub use terms::{CheckedClaim, Claim, Mode, Neighbours, Provenance, TrustModel, Unit};
