//! What happened, what it costs, what may be promised.

mod event;

pub use event::Event;
