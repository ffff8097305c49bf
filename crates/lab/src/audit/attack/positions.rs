//! The people of a script who are attacked, one at a time.
//!
//! A leak may concern one person only, so a fixed choice of people misses it. The first person is attacked, people drawn at random over the
//! whole script, and those whom a screening suspects: runs in which a coin for each person decides which of two extreme sets of data they
//! have, so that every run says something about everybody (as in Steinke, Nasr and Jagielski, "Privacy auditing with one training run",
//! 2023). A person is suspected if later choices, or stops, differ with their coin. Screening only chooses whom to attack: the verdict rests on other runs.

use std::fmt;

use reticent::noise::Noise;
use serde::Serialize;

use crate::FastNoise;

/// Suspects by the largest difference of one choice, and by the mean square of all differences.
const SUSPECTS: [usize; 2] = [3, 2];

/// Rounds whose people were attacked, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Positions {
    /// The rounds, in order.
    pub attacked: Vec<u64>,
    /// The rounds of the script, which are the first of a longer run.
    pub of: u64,
    /// The rounds that the learner is built for.
    pub horizon: u64,
    /// The round that the bound and the verdict are about: the one whose data sets a pilot separated best.
    pub worst: u64,
}

impl fmt::Display for Positions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Positions { attacked, of, horizon, worst } = self;
        let rounds: Vec<String> = attacked.iter().map(u64::to_string).collect();
        let rounds = rounds.join(", ");
        write!(formatter, "attacked: the people of rounds {rounds} of ")?;
        if of < horizon {
            write!(formatter, "the first {of} of ")?;
        }
        write!(formatter, "{horizon}; bound for that of round {worst}")
    }
}

/// The first index and `count` others drawn from all but the last, which nothing follows; in order, each once.
pub(super) fn drawn(count: usize, steps: usize, seed: u64) -> Vec<usize> {
    let mut noise = FastNoise::seeded(seed);
    let mut places = vec![0];
    places.extend((0..count).map(|_| noise.below(steps.saturating_sub(1) as u64) as usize));
    in_order(places)
}

/// These indices in order, each once.
pub(super) fn in_order(mut places: Vec<usize>) -> Vec<usize> {
    places.sort_unstable();
    places.dedup();
    places
}

/// A run of the screening.
pub(super) struct Screened {
    /// The coin of each person.
    pub coins: Vec<bool>,
    /// The choice made for each person, or the symbol of a stop.
    pub choices: Vec<f64>,
}

/// People with whose coin later choices differ most.
pub(super) fn suspects(runs: &[Screened]) -> Vec<usize> {
    let people = runs.first().map_or(0, |run| run.coins.len());
    let (mut largest, mut squares) = (vec![0.0_f64; people], vec![0.0_f64; people]);
    for place in 1..people {
        let choices: Vec<i64> = runs.iter().map(|run| run.choices[place] as i64).collect();
        let mut kinds = choices.clone();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.len() == 1 {
            continue;
        }
        for person in 0..place {
            for kind in &kinds {
                let (mut runs_of, mut chosen) = ([0.0; 2], [0.0; 2]);
                for (run, choice) in runs.iter().zip(&choices) {
                    let coin = usize::from(run.coins[person]);
                    runs_of[coin] += 1.0;
                    chosen[coin] += f64::from(u8::from(choice == kind));
                }
                let rate = |coin: usize| chosen[coin] / f64::max(runs_of[coin], 1.0);
                let difference = rate(1) - rate(0);
                largest[person] = largest[person].max(difference.abs());
                squares[person] += difference * difference / (people - person) as f64;
            }
        }
    }
    let mut found = Vec::new();
    for (scores, count) in [largest, squares].iter().zip(SUSPECTS) {
        let mut order: Vec<usize> = (0..people).filter(|person| scores[*person] > 0.0).collect();
        order.sort_by(|one, two| scores[*two].total_cmp(&scores[*one]));
        found.extend(order.into_iter().take(count));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_is_shorter_than_the_run_is_printed_as_its_beginning() {
        let positions = Positions { attacked: vec![1, 30], of: 160, horizon: 160, worst: 30 };
        let printed = "attacked: the people of rounds 1, 30 of 160; bound for that of round 30";
        assert_eq!(positions.to_string(), printed);
        let longer = Positions { horizon: 20_000, ..positions };
        let printed = printed.replace("of 160", "of the first 160 of 20000");
        assert_eq!(longer.to_string(), printed);
    }
}
