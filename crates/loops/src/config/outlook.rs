//! Sample size estimate of a loop, in all and by part: the core's estimate of the visits that it needs, from its parameters alone (`bandit/outlook_parts.rs` of
//! the core; for reports of devices `bandit/outlook.rs`).

use std::fmt;

use reticent::{
    bandit::{CROSS, MAIN, Pace, PartsModel, PartsOutlook},
    features::FeaturesPlan,
    randomize::Bounds,
};
use serde::Serialize;

use super::{CentralPlan, ReportsPlan, Span};
use crate::Result;

/// A part that needs this many times as many events as the one that needs fewest is shown with what the others need without it.
const DEAR: u64 = 4;

/// Approximate number of visits until what is learnt is more than noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopOutlook {
    /// Visits from which decisions gain half of what the features can tell; none where they never do at the loop's `events_per_day`.
    pub useful_from: Option<u64>,
    /// Unit of the number: visits, or reports of devices.
    pub unit: &'static str,
    /// Time after which a visit counts half.
    pub forget: Option<Span>,
    /// Visits a day that the loop's file expects.
    pub events_per_day: Option<f64>,
    /// Estimates by part; none where coordinates are not those of parts.
    pub parts: Vec<PartNeeds>,
}

/// Visits that a part needs, and what the others need without it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartNeeds {
    /// Name of the part: `action.topic`, `device*topic`, `liked==genre`.
    pub part: String,
    /// Number of coordinates.
    pub cells: u64,
    /// Visits from which the part gains half of what it can; none where it stays noise at this pace.
    pub useful_from: Option<u64>,
    /// Visits that the other parts need together where this one is left out; given for dear parts only.
    pub others_without: Option<u64>,
}

/// A number of visits with two digits, as people read it.
pub fn rounded(count: u64) -> String {
    let digits = count.max(1).ilog10();
    let unit = 10_u64.pow(digits.saturating_sub(1));
    // Saturates near the largest number, which no count of visits reaches.
    let near = (count / unit + u64::from(count % unit >= unit.div_ceil(2) && unit > 1)).saturating_mul(unit);
    for (size, name) in [(1_000_000_000_000, "trillion"), (1_000_000_000, "billion"), (1_000_000, "million")] {
        if near >= size {
            let (whole, tenth) = (near / size, near % size / (size / 10));
            return if whole < 10 && tenth > 0 { format!("{whole}.{tenth} {name}") } else { format!("{whole} {name}") };
        }
    }
    if near >= 1000 { format!("{},{:03}", near / 1000, near % 1000) } else { near.to_string() }
}

/// The name of a part in words: `country x genre`.
pub fn part_in_words(name: &str) -> String {
    name.replace("==", " = ").replace('*', " x ")
}

impl PartNeeds {
    /// True if the part stays noise at the loop's pace.
    pub fn stays_noise(&self) -> bool {
        self.useful_from.is_none()
    }
}

impl fmt::Display for PartNeeds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.cells == 1 { "" } else { "s" };
        write!(formatter, "{} ({} cell{plural}): ", part_in_words(&self.part), self.cells)?;
        match self.useful_from {
            Some(count) => write!(formatter, "{}", rounded(count))?,
            None => write!(formatter, "stays noise at this pace")?,
        }
        match self.others_without {
            Some(count) => write!(formatter, "; leave it out: {}", rounded(count)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for LoopOutlook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoopOutlook { useful_from, unit, forget, events_per_day, parts } = self;
        let pace = events_per_day.map(|events| format!("at {} {unit} a day", rounded(events as u64)));
        match useful_from {
            Some(count) => write!(formatter, "about {} {unit}", rounded(*count))?,
            None => write!(formatter, "never")?,
        }
        match (&pace, forget) {
            (Some(pace), _) => write!(formatter, " {pace}")?,
            (None, Some(half_life)) => {
                write!(formatter, " that are not forgotten (they count half after {half_life})")?;
            }
            (None, None) => {}
        }
        if parts.is_empty() {
            return write!(
                formatter,
                " until a predicted reward is more than noise (if features fill their ranges in all directions; otherwise it takes more)"
            );
        }
        write!(
            formatter,
            " until decisions gain half of what these features can tell, if features of actions move rewards by {:.0} % of their range and crosses by {:.0} % (if by half as much, 2 to 4 times as many)",
            50.0 * MAIN,
            50.0 * CROSS
        )?;
        parts.iter().try_for_each(|part| write!(formatter, "\n    {part}"))
    }
}

impl CentralPlan {
    /// Sample size estimate; none if no estimate can be given.
    pub fn outlook(&self) -> Result<Option<LoopOutlook>> {
        let of = |useful_from, parts| LoopOutlook {
            useful_from,
            unit: "visits",
            forget: self.params.forget(),
            events_per_day: self.params.events_per_day,
            parts,
        };
        let Some(estimate) = self.estimate(&self.features)? else {
            return Ok(self.learner.useful_from()?.map(|count| of(Some(count), Vec::new())));
        };
        let fewest = estimate.parts.iter().filter_map(|part| part.events).min();
        let dear = |events: Option<u64>| match (events, fewest) {
            (Some(events), Some(fewest)) => events > fewest.saturating_mul(DEAR),
            _ => true,
        };
        let several = estimate.parts.len() > 1;
        let needs = |part: &reticent::bandit::PartOutlook| {
            let without = several && dear(part.events);
            Ok(PartNeeds {
                part: part.part.clone(),
                cells: part.cells,
                useful_from: part.events,
                others_without: if without { self.without(&part.part)? } else { None },
            })
        };
        let parts = estimate.parts.iter().map(needs).collect::<Result<Vec<_>>>()?;
        Ok(Some(of(estimate.all, parts)))
    }

    /// The model behind the estimates by part, which a release can be held against.
    pub fn parts_model(&self) -> Option<PartsModel> {
        PartsModel::new(&self.learner, &self.features)
    }

    /// The estimate with these features in place of the loop's.
    fn estimate(&self, features: &FeaturesPlan) -> Result<Option<PartsOutlook>> {
        let dimension = features.dimension() + usize::from(self.params.compares());
        let own = dimension == self.learner_params.bounds.dimension;
        let learner = match own {
            true => self.learner.clone(),
            false => {
                let mut params = self.learner_params.clone();
                params.bounds = Bounds { dimension, intercept: features.constant(), ..params.bounds };
                params.check()?
            }
        };
        let Some(model) = PartsModel::new(&learner, features) else { return Ok(None) };
        Ok(Some(model.outlook(&learner, self.pace())?))
    }

    fn pace(&self) -> Option<Pace> {
        let ticks_in_day = 86_400_000.0 / self.tick as f64;
        let delay = self.params.reward.window.as_milliseconds() as f64 / self.tick as f64;
        self.params.events_per_day.map(|events| Pace { per_tick: events / ticks_in_day, delay })
    }

    /// Visits that the other parts need together without this one; none if nothing is left or they never learn.
    fn without(&self, part: &str) -> Result<Option<u64>> {
        let mut params = self.features.params().clone();
        params.weight.insert(part.to_string(), 0.0);
        match params.check() {
            Ok(features) => Ok(self.estimate(&features)?.and_then(|estimate| estimate.all)),
            Err(_) => Ok(None),
        }
    }
}

impl ReportsPlan {
    /// Sample size estimate.
    pub fn outlook(&self) -> LoopOutlook {
        // The number of reports needed does not depend on the number expected.
        let useful_from = Some(self.local().outlook(0).useful_from);
        LoopOutlook { useful_from, unit: "reports", forget: None, events_per_day: None, parts: Vec::new() }
    }
}
