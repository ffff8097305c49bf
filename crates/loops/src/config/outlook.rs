//! Sample size estimate of a loop, in all and by part: the core's estimate of the visits that it needs, from its parameters alone (`bandit/outlook_parts.rs` of
//! the core; for reports of devices `bandit/outlook.rs`).

use std::fmt;

use reticent::{
    bandit::{CROSS, MAIN, Pace, PartOutlook, PartsModel, PartsOutlook},
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
    /// Visits that count at most at that pace: the rest is forgotten, or comes after the horizon.
    pub remembered: Option<u64>,
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
    /// Visits that would have to be remembered; given where the part stays noise.
    pub out_of_reach: Option<u64>,
}

/// A number of visits with two digits, as people read it.
pub fn rounded(count: u64) -> String {
    let digits = count.max(1).ilog10();
    let unit = 10_u64.pow(digits.saturating_sub(1));
    // Saturates near the largest number, which no count of visits reaches.
    let near = (count / unit + u64::from(count % unit >= unit.div_ceil(2) && unit > 1))
        .saturating_mul(unit);
    for (size, name) in
        [(1_000_000_000_000, "trillion"), (1_000_000_000, "billion"), (1_000_000, "million")]
    {
        if near >= size {
            let (whole, tenth) = (near / size, near % size / (size / 10));
            return if whole < 10 && tenth > 0 {
                format!("{whole}.{tenth} {name}")
            } else {
                format!("{whole} {name}")
            };
        }
    }
    if near >= 1000 { format!("{},{:03}", near / 1000, near % 1000) } else { near.to_string() }
}

/// The name of a part in words: `country x genre`.
pub fn part_in_words(name: &str) -> String {
    name.replace("==", " = ").replace('*', " x ")
}

impl fmt::Display for PartNeeds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.cells == 1 { "" } else { "s" };
        write!(formatter, "{} ({} cell{plural}): ", part_in_words(&self.part), self.cells)?;
        match (self.useful_from, self.out_of_reach) {
            (Some(count), _) => write!(formatter, "{}", rounded(count))?,
            (None, Some(count)) => {
                write!(formatter, "{}, stays noise at this pace", rounded(count))?
            }
            (None, None) => write!(formatter, "stays noise at this pace")?,
        }
        match self.others_without {
            Some(count) => write!(formatter, "; leave it out: {}", rounded(count)),
            None => Ok(()),
        }
    }
}

impl LoopOutlook {
    /// Warnings about parts that stay noise at the pace of the file.
    pub fn warnings(&self, name: &str) -> Vec<String> {
        let noise = self.parts.iter().filter(|part| part.useful_from.is_none());
        let sentence = |part: &PartNeeds| {
            let PartNeeds { part, cells, others_without, out_of_reach, .. } = part;
            let remembered = self.remembered.unwrap_or(0);
            let needs = out_of_reach.map_or(String::new(), |count| {
                format!(", and about {} are needed", rounded(count))
            });
            let others = others_without.map_or(String::new(), |count| {
                format!(": the other parts are then learnt from about {}", rounded(count))
            });
            format!(
                "loop.{name}: {part} has {cells} cells for {} {} that count at most, about {} a cell{needs}: it will stay noise. Give it fewer cells, or leave it out{others}",
                rounded(remembered),
                self.unit,
                rounded(remembered / (*cells).max(1))
            )
        };
        noise.map(sentence).collect()
    }
}

impl fmt::Display for LoopOutlook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoopOutlook { useful_from, unit, forget, events_per_day, parts, .. } = self;
        let pace =
            events_per_day.map(|events| format!("at {} {unit} a day", rounded(events as u64)));
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
            remembered: self.remembered(),
            parts,
        };
        let Some(learner) = self.learner.sums() else { return Ok(None) };
        let Some(estimate) = self.estimate(&self.features)? else {
            return Ok(learner.useful_from()?.map(|count| of(Some(count), Vec::new())));
        };
        let fewest = estimate.parts.iter().filter_map(|part| part.events).min();
        let dear = |events: Option<u64>| match (events, fewest) {
            (Some(events), Some(fewest)) => events > fewest.saturating_mul(DEAR),
            _ => true,
        };
        let several = estimate.parts.len() > 1;
        let unpaced = match estimate.parts.iter().all(|part| part.events.is_some()) {
            true => None,
            false => self.parts_model().map(|model| model.outlook(learner, None)).transpose()?,
        };
        let needs = |(place, part): (usize, &PartOutlook)| {
            let without = several && dear(part.events);
            let out_of_reach = unpaced.as_ref().filter(|_| part.events.is_none());
            Ok(PartNeeds {
                out_of_reach: out_of_reach.and_then(|unpaced| unpaced.parts[place].events),
                part: part.part.clone(),
                cells: part.cells,
                useful_from: part.events,
                others_without: if without { self.without(&part.part)? } else { None },
            })
        };
        let parts = estimate.parts.iter().enumerate().map(needs).collect::<Result<Vec<_>>>()?;
        Ok(Some(of(estimate.all, parts)))
    }

    /// The model behind the estimates by part, which a release can be held against.
    pub fn parts_model(&self) -> Option<PartsModel> {
        PartsModel::new(self.learner.sums()?, &self.features)
    }

    /// The estimate with these features in place of the loop's.
    fn estimate(&self, features: &FeaturesPlan) -> Result<Option<PartsOutlook>> {
        let dimension = features.dimension() + usize::from(self.params.compares());
        let own = dimension == self.learner_params.bounds.dimension;
        let learner = match own {
            true => self.learner.sums().cloned(),
            false => {
                let mut params = self.learner_params.clone();
                params.bounds =
                    Bounds { dimension, intercept: features.constant(), ..params.bounds };
                Some(params.check()?)
            }
        };
        let Some(learner) = learner else { return Ok(None) };
        let Some(model) = PartsModel::new(&learner, features) else { return Ok(None) };
        Ok(Some(model.outlook(&learner, self.pace())?))
    }

    fn remembered(&self) -> Option<u64> {
        let per_tick = self.pace()?.per_tick;
        let ticks = match (self.learner_params.horizon, self.learner_params.forget) {
            (Some(horizon), _) => horizon as f64,
            (None, Some(ticks)) => ticks / std::f64::consts::LN_2,
            (None, None) => return None,
        };
        Some((per_tick * ticks) as u64)
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
        LoopOutlook {
            useful_from,
            unit: "reports",
            forget: None,
            events_per_day: None,
            remembered: None,
            parts: Vec::new(),
        }
    }
}
