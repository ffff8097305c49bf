//! What happened, what it costs, what may be promised.

mod event;
pub mod gaussian;

pub use event::Event;
