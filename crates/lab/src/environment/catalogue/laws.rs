//! The values that a feature takes in a simulation, and their frequencies.
//!
//! ```text
//! categories           its words
//! hash, B buckets      2 B words, about two in a bucket
//! range [a, b]         21 numbers, evenly spaced, both ends included
//! cycle p              24 numbers from 0 on, evenly spaced
//! bins                 a number in each
//! P(value i) ~ i^-decay,   i = 1, 2, ...
//! ```
//!
//! Values are finite in number, so that people with the same context have the same arms, which are made once.

use reticent::{
    features::{Encoding, Value},
    noise::Noise,
};

use crate::FastNoise;

const NUMBERS: usize = 21;
const HOURS: usize = 24;

/// The law of one feature.
pub(super) struct Law {
    pub(super) name: String,
    values: Vec<Value>,
    /// P(value <= i).
    cumulative: Vec<f64>,
    /// True for words, which may name an action.
    words: bool,
}

impl Law {
    /// Values of a feature that was checked.
    pub(super) fn new(name: &str, encoding: &Encoding, decay: f64) -> Self {
        let even = |count: usize, low: f64, step: f64| -> Vec<Value> {
            (0..count).map(|i| Value::Number(low + step * i as f64)).collect()
        };
        let text = |word: &String| Value::Text(word.clone());
        let (values, words) = match encoding {
            Encoding::Categories(words) => (words.iter().map(text).collect(), true),
            Encoding::Hash { buckets } => {
                ((0..2 * buckets).map(|word| Value::Text(word.to_string())).collect(), true)
            }
            // Half ranges, so that no difference overflows.
            Encoding::Range(low, high) => {
                let step = 2.0 * (0.5 * high - 0.5 * low) / (NUMBERS - 1) as f64;
                (even(NUMBERS, *low, step), false)
            }
            Encoding::Cycle(period) => (even(HOURS, 0.0, period / HOURS as f64), false),
            Encoding::Bins(edges) => {
                let between = edges.windows(2).map(|pair| 0.5 * pair[0] + 0.5 * pair[1]);
                let (first, last) = (edges[0], edges[edges.len() - 1]);
                let all = std::iter::once(first - 1.0).chain(between).chain([last + 1.0]);
                (all.map(Value::Number).collect(), false)
            }
        };
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = (1..=values.len())
            .map(|i| {
                sum += (i as f64).powf(-decay);
                sum
            })
            .collect();
        cumulative.iter_mut().for_each(|share| *share /= sum);
        Law { name: name.into(), values, cumulative, words }
    }

    /// The place of a value that is drawn.
    pub(super) fn draw(&self, noise: &mut FastNoise) -> u32 {
        let uniform = noise.uniform();
        let place = self.cumulative.partition_point(|share| *share <= uniform);
        place.min(self.values.len() - 1) as u32
    }

    /// The place of the value of action number `number` of a catalogue with this many.
    pub(super) fn of_action(&self, number: u64, actions: usize, noise: &mut FastNoise) -> u32 {
        // Drawn in any case, so that no feature's values depend on another's words.
        let drawn = self.draw(noise);
        match self.words && self.values.len() >= actions {
            true => (number % self.values.len() as u64) as u32,
            false => drawn,
        }
    }

    /// A record of these places.
    pub(super) fn record(laws: &[Law], places: &[u32]) -> Value {
        let entry =
            |(law, place): (&Law, &u32)| (law.name.clone(), law.values[*place as usize].clone());
        Value::Record(laws.iter().zip(places).map(entry).collect())
    }

    /// Number of values.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.values.len()
    }
}
