//! What happened, what it costs, what may be promised.

mod event;
mod loss_distribution;
pub mod shuffle;

pub use event::Event;
pub use loss_distribution::PrivacyLossDistribution;
