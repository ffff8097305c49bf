//! Measuring: the median of several batches, so that one interruption does not count.

use std::{hint::black_box, time::Instant};

/// Nanoseconds one call of `action` takes: the median over nine batches of about `batch` calls each.
pub fn nanoseconds<T>(batch: u32, mut action: impl FnMut() -> T) -> f64 {
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..batch {
                black_box(action());
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(batch)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
