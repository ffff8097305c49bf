//! Exact noise on a grid: the only randomness that protects people.

mod source;

pub use source::Noise;
