//! Attacks on continual sums by an adversary who sees every release: tree, Honaker, Toeplitz and BLT; Gaussian, Laplace and Wishart noise.
//!
//! The person comes first and is part of every release. The adversary projects each release on the difference of the two people
//! in units of the noise, which leaves one number a release, and learns from separate runs how those numbers are correlated; the resulting
//! score is the likelihood ratio of all releases (`likelihood`). The attack does not read the factorisation.
//!
//! Sums that forget are attacked in the same way: the first release after the person has them at full weight, later ones at g, g^2 and so on.
//!
//! Long streams are attacked through their first releases: the noise is that of the whole horizon, and the adversary stops early.

use reticent::{
    noise::Noise,
    privacy::Guarantee,
    release::{Calibration, Contribution, Domain, PrivateSumParams, PrivateSumPlan},
};

use super::{
    Attack, AuditNoise, DataSet, Test, View,
    neighbours::{Datum, Others, axis, worst},
};
use crate::Result;

/// The largest numbers of releases examined and of rounds played.
const MOST_RELEASES: usize = 64;
const MOST_ROUNDS: u64 = 1024;
/// The largest numbers of runs on each data set, and of rounds in all of them.
const SAMPLES: u64 = 30_000;
const ROUNDS: u64 = 16_000_000;

/// Attacks on a sum, with silent others and with adaptive ones.
pub fn attacks(params: &PrivateSumParams, guarantee: &Guarantee) -> Vec<Attack> {
    attacks_on(params, None, guarantee)
}

/// The same on two given people, if a guarantee covers only some people.
pub fn attacks_on(
    params: &PrivateSumParams,
    people: Option<(Datum, Datum)>,
    guarantee: &Guarantee,
) -> Vec<Attack> {
    let laplace = matches!(params.calibration, Calibration::Pure { .. } | Calibration::Scale(_));
    if laplace {
        return vec![laplace_attack(params.clone(), guarantee)];
    }
    [(Others::Silent, "contribute nothing"), (Others::Adaptive, "react to every release")]
        .into_iter()
        .map(|(others, what)| {
            gaussian_attack(params.clone(), people.clone(), guarantee, others, what)
        })
        .collect()
}

/// Numbers of rounds that are played and of releases that are seen.
fn extent(params: &PrivateSumParams) -> (u64, usize) {
    let horizon = params.horizon.unwrap_or(u64::MAX).min(MOST_ROUNDS);
    let times = params.schedule.times().take(MOST_RELEASES).take_while(|time| *time <= horizon);
    // If the first release is late, enough rounds are played to reach it.
    let times: Vec<u64> = times.collect();
    match times.last() {
        Some(last) => (*last, times.len()),
        None => (params.schedule.first(), 1),
    }
}

fn whole(params: &PrivateSumParams, seen: usize) -> String {
    match params.horizon {
        Some(horizon) if params.schedule.releases(horizon) <= seen as u64 => {
            format!("all {seen} releases")
        }
        Some(horizon) => {
            format!("the first {seen} of {} releases", params.schedule.releases(horizon))
        }
        None => format!("the first {seen} releases"),
    }
}

fn gaussian_attack(
    params: PrivateSumParams,
    people: Option<(Datum, Datum)>,
    guarantee: &Guarantee,
    others: Others,
    what: &str,
) -> Attack {
    let (rounds, seen) = extent(&params);
    let adversary = format!(
        "sees {} of the running sum ({:?}); the person comes first, others {what}; likelihood ratio",
        whole(&params, seen),
        params.mechanism
    );
    let samples = (ROUNDS / rounds).clamp(8000, SAMPLES);
    Attack::new(adversary, guarantee, samples, move || {
        let stream = Stream::new(&params, people.clone(), rounds, others)?;
        // A person of several rounds is in an early release with some of them only, and sums may forget them.
        let (mut before, mut part) = (0, 0.0);
        let times = params.schedule.times().take(seen);
        let difference = times
            .map(|time| {
                let present = time.min(stream.times);
                part = stream.kept * part + (present - before) as f64 * stream.distance;
                before = present;
                part
            })
            .collect();
        let view: View = Box::new(move |data, noise| stream.run(data, noise));
        Ok((view, Test::Linear { difference: Some(difference) }))
    })
}

/// A stream on two data sets, projected on their difference.
pub struct Stream {
    plan: PrivateSumPlan,
    rounds: u64,
    /// g of sums that forget, else 1.
    kept: f64,
    /// Rounds in which the person takes part: the first ones.
    times: u64,
    pair: (Contribution, Contribution),
    /// `Delta / deviation^2` in every coordinate.
    weights: Vec<f64>,
    /// The projection of the difference of the two people, in one round.
    distance: f64,
    others: Others,
    /// The contributions that others may make: none, or that of either person.
    silent: Contribution,
    extremes: [(Contribution, f64); 2],
}

impl Stream {
    /// The worst stream of these parameters, or that of two given people.
    pub fn new(
        params: &PrivateSumParams,
        people: Option<(Datum, Datum)>,
        rounds: u64,
        others: Others,
    ) -> Result<Self> {
        let plan = params.check()?;
        let clipper = plan.clipper().clone();
        let domain = params.domain.clone();
        let deviations = plan.deviations(1)?;
        let (one, two) = people.unwrap_or_else(|| worst(&domain, &deviations));
        let difference: Vec<f64> =
            two.entries(&domain).iter().zip(one.entries(&domain)).map(|(b, a)| b - a).collect();
        let weights: Vec<f64> =
            difference.iter().zip(&deviations).map(|(d, s)| d / (s * s).max(1e-300)).collect();
        let project = |datum: &Datum| -> f64 {
            datum.entries(&domain).iter().zip(&weights).map(|(x, w)| x * w).sum()
        };
        let times = params.contributions_per_person.min(rounds).max(1);
        let distance = project(&two) - project(&one);
        let nothing = Datum { features: axis(domain.dimension(), 0.0), reward: 0.0, block: 0 };
        let extreme =
            |datum: &Datum| Ok::<_, crate::Error>((datum.clip(&clipper)?, project(datum)));
        Ok(Stream {
            rounds,
            kept: params.kept()?,
            times,
            pair: (one.clip(&clipper)?, two.clip(&clipper)?),
            distance,
            others,
            silent: nothing.clip(&clipper)?,
            extremes: [extreme(&one)?, extreme(&two)?],
            plan,
            weights,
        })
    }

    /// The view of one run: a number for every release, minus the known contributions of others.
    pub fn run<N: Noise>(&self, data: DataSet, noise: N) -> Result<Vec<f64>> {
        let person = data.pick((&self.pair.0, &self.pair.1));
        let mut sum = self.plan.clone().start(noise);
        let (mut seen, mut known, mut since) = (Vec::new(), 0.0, 0.0);
        for round in 1..=self.rounds {
            let contribution = if round <= self.times {
                person
            } else {
                match (self.others, seen.last()) {
                    (Others::Adaptive, Some(last)) => {
                        let (extreme, projection) = &self.extremes[usize::from(*last > 0.0)];
                        since += projection;
                        extreme
                    }
                    _ => &self.silent,
                }
            };
            if let Some(release) = sum.absorb(contribution)? {
                let projection: f64 =
                    release.sums().iter().zip(&self.weights).map(|(x, w)| x * w).sum();
                known = self.kept * known + since;
                since = 0.0;
                seen.push(projection - known);
            }
        }
        Ok(seen)
    }
}

/// Releases after 1, 2, 4, ... steps are single nodes of the tree, and all of them hold the first person: the likelihood ratio of
/// Laplace noise on them is a sum of differences of absolute values.
fn laplace_attack(params: PrivateSumParams, guarantee: &Guarantee) -> Attack {
    let (rounds, seen) = extent(&params);
    let adversary = format!(
        "sees {} of the running sum under Laplace noise; the person comes first; likelihood ratio of the nodes that hold them",
        whole(&params, seen)
    );
    let samples = (ROUNDS / rounds).clamp(8000, SAMPLES);
    Attack::new(adversary, guarantee, samples, move || {
        let plan = params.check()?;
        let clipper = plan.clipper().clone();
        let (d, bound) = match params.domain.clone() {
            Domain::Vector { dimension, bound } => (dimension, bound),
            other => (other.dimension(), 1.0),
        };
        let corner = bound / (d as f64).sqrt();
        let people = [vec![corner; d], vec![-corner; d]];
        let pair = (clipper.clip(&people[0])?, clipper.clip(&people[1])?);
        let silent = clipper.clip(&vec![0.0; d])?;
        let times = params.contributions_per_person.min(rounds).max(1);
        let view: View = Box::new(move |data: DataSet, noise: AuditNoise| {
            let mut sum = plan.clone().start(noise);
            let mut score = 0.0;
            for round in 1..=rounds {
                let person = data.pick((&pair.0, &pair.1));
                let contribution = if round <= times { person } else { &silent };
                let Some(release) = sum.absorb(contribution)? else { continue };
                if release.index().is_power_of_two() {
                    let (one, two) = (times as f64 * corner, -(times as f64) * corner);
                    score += release
                        .vector()
                        .iter()
                        .map(|x| (x - one).abs() - (x - two).abs())
                        .sum::<f64>();
                }
            }
            Ok(vec![score])
        });
        Ok((view, Test::Scores))
    })
}
