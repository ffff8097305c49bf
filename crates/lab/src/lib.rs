//! Simulation for reticent. Nothing in here protects anybody: [`FastNoise`] is seeded and says so.

mod fast_noise;

pub use fast_noise::FastNoise;
