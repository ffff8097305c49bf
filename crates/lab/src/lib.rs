//! lab

mod fast_noise;

pub use fast_noise::FastNoise;
