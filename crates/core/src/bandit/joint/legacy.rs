//! Warm starts: what earlier learners have released, for a later one to begin with.
//!
//! A legacy is the last release, with those that the learner itself began with added: sums with noise in them, and the deviations of that
//! noise. A learner that begins with it adds `G~_1 + G~_2` and `u~_1 + u~_2`. The noises are independent, so variances add, and the
//! confidence set for Gaussian noise holds for the people of all learners; alpha is split over one more release, the first one's.
//!
//! **Guarantee.** People of an earlier learner are protected by its guarantee, because all that comes after is post-processing of its
//! releases; people of the later one by the later one's. A person who took part in several has contributed to each, and the events compose:
//! [`Curator::guarantee_of_both`](super::Curator::guarantee_of_both). No noise is drawn again or used twice, so any number of learners may begin with the same legacy.
//!
//! **A public prior** ([`Legacy::public`]) is sums of examples that are no person's data: without noise, without an earlier learner, without a cost.

use serde::{Deserialize, Serialize};

use super::JointParams;
use crate::{
    Error, Result,
    error::finite_vector,
    noise::Noise,
    privacy::{Event, Guarantee, TrustModel},
    randomize::Bounds,
    refuse_if,
    release::{Domain, Places, Promise, Release, Schedule, appended},
    wire,
};

/// Learners in one chain of warm starts, at most.
const MOST: usize = 1000;

/// Released knowledge of earlier learners; everything in it has been released, so it may be published with its guarantees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Legacy {
    /// The sums of all of them.
    release: Release,
    /// Bounds that features and rewards were clipped to.
    bounds: Bounds,
    /// The earliest first.
    learners: Vec<Earlier>,
}

/// An earlier learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Earlier {
    /// Event of its releases about one of its people.
    promise: Promise,
    replays: u64,
    /// Conditions of its guarantee.
    conditions: Vec<String>,
    /// Contributions it had summed, if it counted them.
    contributions: Option<u64>,
    /// True if its noise was secure; simulated people are protected by nothing.
    secure: bool,
}

impl Earlier {
    pub(super) fn new<N: Noise>(
        release: &Release,
        promise: Promise,
        replays: u64,
        guarantee: &Guarantee,
        params: &JointParams,
    ) -> Self {
        let most = params.contributions_per_person;
        // Saved words: other words would be other bytes.
        let often = format!("nobody took part in it more than {most} times");
        Earlier {
            promise,
            replays,
            conditions: guarantee.conditions().iter().cloned().chain([often]).collect(),
            contributions: (params.schedule != Schedule::Clock).then(|| release.round()),
            secure: N::PROTECTS_PEOPLE,
        }
    }

    fn event(&self) -> Event {
        self.promise.after(self.replays)
    }

    /// Returns whether a learner with this promise, charged for this many replays, has revealed at least as much.
    pub(super) fn is_covered_by(&self, promise: &Promise, replays: u64) -> bool {
        self.secure && self.promise == *promise && self.replays <= replays
    }

    /// Guarantee of its people, in words.
    fn protection(&self, delta: f64) -> Result<String> {
        let guarantee = Guarantee::of(&self.event(), TrustModel::Joint, delta)?;
        let protected = match self.secure {
            true => format!("protected by it, ({}, {delta:e})", guarantee.epsilon_text()),
            false => "simulated, and protected by nothing".to_string(),
        };
        Ok(match self.contributions {
            Some(rewards) => format!("the people of its {rewards} rewards are {protected}"),
            None => format!("its people are {protected}"),
        })
    }
}

impl Legacy {
    /// A learner's last release, after those it began with: the sums `release`, with those of a legacy that is still in use; `earlier` learners are named even where their sums are no longer used:
    /// what they revealed about their people stays revealed.
    pub(super) fn new(
        release: &Release,
        learner: Earlier,
        bounds: Bounds,
        before: Option<&Legacy>,
        earlier: &[Earlier],
    ) -> Self {
        let release = match before {
            Some(before) => release.plus(&before.release, release.index()),
            None => release.clone(),
        };
        let mut learners = earlier.to_vec();
        learners.push(learner);
        Legacy { release, bounds, learners }
    }

    /// Knowledge from public examples, for a learner with these parameters: features, reward and the number of contributions each is worth. They must not be
    /// taken from people who are protected.
    pub fn public<'a>(
        params: &JointParams,
        examples: impl IntoIterator<Item = (&'a [f64], f64, f64)>,
    ) -> Result<Self> {
        let plan = params.check()?;
        let clipper = plan.plan.clipper();
        let dimension = params.bounds.dimension;
        if !params.bounds.structure.is_dense() {
            let remedy = "public examples are for one block of parameters: begin without them";
            return Err(Error::invalid("structure", "several blocks", remedy));
        }
        let (mut triangle, mut vector) =
            (vec![0.0; dimension * (dimension + 1) / 2], vec![0.0; dimension]);
        for (features, reward, weight) in examples {
            finite_vector("example", &[reward, weight], 2)?;
            refuse_if(weight < 0.0, "weight of an example", weight, "expected 0 or more")?;
            let contribution = clipper.clip_with_reward(features, params.centred(reward).0)?;
            let (_, features, reward) = contribution.clipped_data();
            let rows = features.iter().enumerate();
            let entries = rows.flat_map(|(row, x)| features[row..].iter().map(move |y| x * y));
            triangle.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += weight * entry);
            vector.iter_mut().zip(&features).for_each(|(sum, x)| *sum += weight * x * reward);
        }
        triangle.extend(vector);
        let deviations = vec![0.0; triangle.len()];
        let release = Release::new(clipper.domain().dense(), 0, 1, triangle, deviations);
        let release = release.merged_as(clipper.domain());
        let legacy = Legacy { release, bounds: params.bounds, learners: Vec::new() };
        legacy.check(params)?;
        Ok(legacy)
    }

    /// The same with its learners left out, which is a planted mistake.
    #[cfg(test)]
    pub(super) fn without_learners(&self) -> Self {
        Legacy { learners: Vec::new(), ..self.clone() }
    }

    /// Returns whether it holds no person's data.
    pub fn is_public(&self) -> bool {
        self.learners.is_empty()
    }

    /// The learners that it comes from.
    pub(super) fn learners(&self) -> &[Earlier] {
        &self.learners
    }

    /// The same with its sums at this weight.
    pub(super) fn weighted(&self, weight: f64) -> Self {
        Legacy { release: self.release.weighted(weight), ..self.clone() }
    }

    /// The same among features that were appended to a learner, of which it knows nothing.
    pub(super) fn appended(&self, places: &Places, later: &Domain) -> Result<Self> {
        let before = self.release.domain();
        let domain = if before.pattern().is_some() { later.clone() } else { later.dense() };
        let sums = before.places_after(places, &domain)?;
        let deviations = appended(self.release.deviations(), &sums, 0.0);
        let release = self.release.appended(domain, &sums, deviations);
        let bounds = Bounds { dimension: places.len(), ..self.bounds };
        Ok(Legacy { release, bounds, learners: self.learners.clone() })
    }

    /// Knowledge in terms of other features, for a learner with these parameters: `rows` gives each of its features as a sum of earlier ones with factors,
    /// nothing for one that is not known, and `ones` a sum of earlier features that is 1 for everybody, which moves rewards to another centre.
    /// It is post-processing of releases. Deviations are bounds: the largest that any of the new sums has.
    pub fn carried(
        &self,
        params: &JointParams,
        rows: &[Vec<(usize, f64)>],
        ones: &[(usize, f64)],
    ) -> Result<Self> {
        // Merged sums of other features are others: all is computed entry by entry, and merged at the end.
        let (bounds, domain, before) =
            (params.bounds, params.domain().dense(), self.release.expanded());
        let whole = bounds.structure.is_dense() && self.bounds.structure.is_dense();
        let remedy = "expected one block of parameters; begin without it";
        refuse_if(!whole, "structure of the legacy", self.bounds.structure, remedy)?;
        let (expected, found) = (bounds.dimension, rows.len());
        if expected != found {
            return Err(Error::Dimension { field: "rows", expected, found });
        }
        let shift = self.bounds.centre() - bounds.centre();
        let remedy =
            "the centre of the rewards has moved, and there is no constant; begin without it";
        refuse_if(shift != 0.0 && ones.is_empty(), "rewards of the legacy", shift, remedy)?;
        let entry = |row: usize, column: usize| before.entry(row, column).unwrap_or_default();
        let product = |left: &[(usize, f64)], right: &[(usize, f64)]| -> f64 {
            let of = |(row, a): &(usize, f64)| -> f64 {
                right.iter().map(|(column, b)| a * b * entry(*row, *column)).sum()
            };
            left.iter().map(of).sum()
        };
        let vector = |row: &Vec<(usize, f64)>| -> f64 {
            let own: f64 = row
                .iter()
                .map(|(place, factor)| {
                    factor * before.vector().get(*place).copied().unwrap_or_default()
                })
                .sum();
            own + shift * product(row, ones)
        };
        let pairs =
            (0..rows.len()).flat_map(|row| (row..rows.len()).map(move |column| (row, column)));
        let mut sums: Vec<f64> =
            pairs.map(|(row, column)| product(&rows[row], &rows[column])).collect();
        sums.extend(rows.iter().map(vector));
        // By the triangle inequality: a sum of earlier features has at most the sum of the deviations.
        let length = |row: &[(usize, f64)]| row.iter().map(|(_, factor)| factor.abs()).sum::<f64>();
        let longest = rows.iter().map(|row| length(row)).fold(0.0, f64::max);
        let of_ratio = before.deviations().iter().zip(before.domain().noise_ratios());
        let matrix = of_ratio
            .take(before.domain().matrix_coordinates())
            .map(|(deviation, ratio)| deviation / ratio)
            .fold(0.0, f64::max);
        let of_vector = &before.deviations()[before.domain().matrix_coordinates()..];
        let of_shift = shift.abs() * length(ones) * std::f64::consts::SQRT_2 * matrix;
        let of_vector = longest * (of_vector.iter().copied().fold(0.0, f64::max) + of_shift);
        let ratios = domain.noise_ratios();
        let (of_matrix, _) = ratios.split_at(domain.matrix_coordinates());
        let mut deviations: Vec<f64> =
            of_matrix.iter().map(|ratio| ratio * longest * longest * matrix).collect();
        deviations.resize(domain.coordinates(), of_vector);
        let release = Release::new(domain, before.round(), before.index(), sums, deviations);
        let release = release.merged_as(&params.domain());
        let legacy = Legacy { release, bounds, learners: self.learners.clone() };
        legacy.check(params)?;
        Ok(legacy)
    }

    /// Conditions of the earlier learners' guarantees, for a person who took part in all of them.
    pub(super) fn conditions(&self) -> Vec<String> {
        let all = self.learners.iter().flat_map(|learner| &learner.conditions);
        all.map(|condition| format!("in the earlier learner: {condition}")).collect()
    }

    /// Statement of who is protected by which guarantee, for a learner that begins with it.
    pub(super) fn condition(&self, delta: f64) -> Result<String> {
        if self.is_public() {
            return Ok("it began with public examples, which were not taken from the people who are protected".into());
        }
        let each: Result<Vec<String>> =
            self.learners.iter().map(|learner| learner.protection(delta)).collect();
        Ok(format!(
            "it began with what an earlier learner released: {}; a person who took part in several is protected by the composition of all",
            each?.join("; an earlier one: ")
        ))
    }

    /// Returns whether all noise in it was secure.
    pub fn is_secure(&self) -> bool {
        self.learners.iter().all(|learner| learner.secure)
    }

    /// The sums.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// Event of the earlier learners together about a person who took part in all of them, replays included.
    pub fn event(&self) -> Event {
        match &self.learners[..] {
            [only] => only.event(),
            all => Event::Composed { events: all.iter().map(Earlier::event).collect() },
        }
    }

    /// Events of the earlier learners about one of their people, replays included; the earliest first.
    pub fn events(&self) -> Vec<Event> {
        self.learners.iter().map(Earlier::event).collect()
    }

    /// As bytes, which hold nothing that was not released.
    pub fn save(&self) -> Vec<u8> {
        wire::save(wire::kinds::JOINT_LEGACY, self)
    }

    /// Reads the bytes that [`Legacy::save`] wrote.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let legacy: Legacy = wire::load(wire::kinds::JOINT_LEGACY, bytes)?;
        legacy.check_parts()?;
        Ok(legacy)
    }

    fn check_parts(&self) -> Result<()> {
        self.release.check()?;
        self.bounds.check()?;
        let refused = self.learners.len() > MOST;
        let remedy = format_args!("a chain of warm starts has at most {MOST}: begin anew");
        refuse_if(refused, "earlier learners", self.learners.len(), remedy)?;
        if self.is_public() {
            // What has noise in it was released about people, whose learners would have to be named.
            let noisy = self.release.deviations().iter().any(|deviation| *deviation > 0.0);
            let remedy = "sums with noise in them have at least one: restore another copy";
            return refuse_if(noisy, "earlier learners", 0, remedy);
        }
        self.event().check()
    }

    /// The same for sums of this domain, if it merges those that the legacy has one by one: what a learner with another rule left.
    pub(super) fn merged_as(self, domain: &Domain) -> Self {
        Legacy { release: self.release.merged_as(domain), ..self }
    }

    /// Returns whether a learner with these parameters may begin with it.
    pub(super) fn check(&self, params: &JointParams) -> Result<()> {
        self.check_parts()?;
        params.check_warm_start()?;
        let (ours, domain) = (params.bounds, params.domain());
        let refused = self.bounds != ours || *self.release.domain() != domain;
        let remedy = format_args!("this learner's are {ours}; {domain}: give both the same");
        refuse_if(refused, "bounds of the legacy", self.bounds, remedy)
    }
}
