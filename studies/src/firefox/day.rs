//! A day of page views: people with interests, sections to put first, clicks, and a release every ten minutes.
//!
//! A person has a level of each of eight interests, and the page has a section for each. Section k put first is clicked with probability
//! `base_k + gain_k s_k`, s_k the person's strength of interest k from 0 to 1; bases and gains are drawn for each trial. All learners are given the same features of
//! section k,
//!
//! ```text
//! (s_k e_k / 2, e_k / 2, 1/sqrt 2)      in 8 + 8 + 1 dimensions,
//! ```
//!
//! and the same rule, Thompson sampling. They differ in what is sent, and in who chooses.

use reticent::{
    bandit::{
        Aggregation, Arms, LinUcb, LinUcbParams, LocalParams, LocalPlan, Model, Rule, Server,
        ShuffleParams, ShufflePlan, ShuffleServer, Shuffler,
    },
    noise::Noise,
    randomize::Bounds,
    release::Schedule,
    wire,
};

use super::unary::{self, INTERESTS, STRENGTHS};
use reticent_lab::{FastNoise, Result, play::trial::mix};

/// Releases of a day: one every ten minutes.
pub(super) const RELEASES: u64 = 144;
/// delta of everything that is stated.
pub(super) const DELTA: f64 = 1e-6;
/// Shares of the levels of an interest.
const SHARES: [f64; STRENGTHS.len()] = [0.55, 0.2, 0.15, 0.1];
const DIMENSION: usize = 2 * INTERESTS + 1;
const RULE: Rule = Rule::Thompson { ridge: 3.0, width: 0.5, members: 64, minimum_probability: 0.0 };

/// Message of a design, and the party that chooses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Design {
    /// Interests and clicks as they are.
    NoPrivacy,
    /// Interests by unary encoding: the server decodes them, chooses by them and learns from them. Clicks as they are.
    Unary,
    /// The same reports, but the device chooses, by its exact interests.
    UnaryOnDevice,
    /// The device chooses, and sends one report of section, interest and click that is epsilon-private as a whole.
    Local(f64),
    /// The same through a shuffler that shows the sum of ten minutes.
    Shuffled(f64),
}

/// Result of a day.
pub(super) struct Day {
    /// Clicks that the best section would have had more, in expectation, after each release.
    pub(super) regret: Vec<f64>,
    /// Expected clicks a page view.
    pub(super) click_rate: f64,
    /// The same for the best section.
    pub(super) best_rate: f64,
    /// Bytes of JSON that a device sends with a page view.
    pub(super) bytes_up: usize,
    /// Bytes of JSON that a device fetches with a release.
    pub(super) bytes_down: usize,
}

fn bounds() -> Bounds {
    let intercept = Some(std::f64::consts::FRAC_1_SQRT_2);
    Bounds { rewards: (0.0, 1.0), intercept, ..Bounds::unit(DIMENSION) }
}

/// The plan of local reports at this epsilon.
pub(super) fn local_plan(epsilon: f64) -> Result<LocalPlan> {
    Ok(LocalParams { rule: RULE, ..LocalParams::new(bounds(), epsilon, DELTA) }.check()?)
}

/// The plan of sums of ten minutes.
pub(super) fn shuffle_plan(epsilon: f64, people: u64) -> Result<ShufflePlan> {
    let batch = people / RELEASES;
    let params = ShuffleParams::new(bounds(), epsilon, DELTA, batch, Aggregation::Sum);
    Ok(ShuffleParams { rule: RULE, ..params }.check()?)
}

fn json_bytes(value: &impl serde::Serialize) -> usize {
    serde_json::to_string(value).expect("plain data").len()
}

/// Bytes of the bits of all interests, as the server's code reads them: a list of strings.
fn unary_bytes() -> usize {
    json_bytes(&vec!["0".repeat(STRENGTHS.len()); INTERESTS])
}

/// Sections whose features have these strengths.
fn set_sections(arms: &mut Arms, strengths: &[f64; INTERESTS]) -> Result<()> {
    for (section, strength) in strengths.iter().enumerate() {
        let mut features = [0.0; DIMENSION];
        features[section] = 0.5 * strength / STRENGTHS[STRENGTHS.len() - 1];
        features[INTERESTS + section] = 0.5;
        features[DIMENSION - 1] = std::f64::consts::FRAC_1_SQRT_2;
        arms.set(section, &features)?;
    }
    Ok(())
}

/// Devices and server of one of our protocols.
enum Protocol {
    Local { plan: LocalPlan, server: Server },
    Shuffled(Box<Sums>),
}

/// The three parts of the protocol with a shuffler.
struct Sums {
    plan: ShufflePlan,
    shuffler: Shuffler<FastNoise>,
    server: ShuffleServer,
}

/// One day of this many page views, each by another person.
pub(super) fn day(design: Design, people: u64, seed: u64) -> Result<Day> {
    let mut visits = Visits::new(seed, people)?;
    let own = FastNoise::seeded(mix(seed, 1));
    match design {
        Design::NoPrivacy | Design::Unary | Design::UnaryOnDevice => {
            let learner = learner(people, mix(seed, 2))?;
            let (up, down) = learn(learner, design, &mut visits, own)?;
            visits.finish(up, down)
        }
        Design::Local(epsilon) => {
            let plan = local_plan(epsilon)?;
            let server = plan.server().seeded(mix(seed, 2));
            let (up, down) = Protocol::Local { plan, server }.run(&mut visits, own)?;
            visits.finish(up, down)
        }
        Design::Shuffled(epsilon) => {
            let plan = shuffle_plan(epsilon, people)?;
            let shuffler = plan.shuffler(FastNoise::seeded(mix(seed, 3)))?;
            let server = plan.server().seeded(mix(seed, 2));
            let (up, down) = Protocol::Shuffled(Box::new(Sums { plan, shuffler, server }))
                .run(&mut visits, own)?;
            visits.finish(up, down)
        }
    }
}

/// A learner without noise of its own: what it is given is as exact as what was sent.
fn learner(people: u64, seed: u64) -> Result<LinUcb> {
    let gap = people / RELEASES;
    let schedule = Schedule::CappedGeometric { first: gap, least: gap, rate: 0.0, most: gap };
    let params = LinUcbParams { rule: RULE, schedule, seed, ..LinUcbParams::new(bounds()) };
    Ok(params.check()?)
}

/// Plays the day with interests as they are, or by unary encoding; the bytes of a report and of what a device fetches.
fn learn(
    mut learner: LinUcb,
    design: Design,
    visits: &mut Visits,
    mut noise: FastNoise,
) -> Result<(usize, usize)> {
    let mut decoded = Arms::zeros(DIMENSION, INTERESTS)?;
    while let Some(levels) = visits.next()? {
        let sent = match design {
            Design::NoPrivacy => &visits.sections,
            _ => {
                let strengths =
                    levels.map(|level| unary::decode(&unary::encode(level, &mut noise)));
                set_sections(&mut decoded, &strengths)?;
                &decoded
            }
        };
        let by = if design == Design::Unary { sent } else { &visits.sections };
        let section = learner.choose(by, noise.bits())?.arm;
        let features = sent.arm(section);
        let click = visits.play(section);
        learner.observe(&features, click)?;
    }
    Ok(match design {
        Design::NoPrivacy => (json_bytes(&[0; INTERESTS]), 0),
        Design::Unary => (unary_bytes(), 0),
        _ => (unary_bytes(), json_bytes(learner.policy())),
    })
}

impl Protocol {
    fn publish(&mut self) -> Result<Model> {
        Ok(match self {
            Protocol::Local { server, .. } => server.publish()?,
            Protocol::Shuffled(sums) => sums.server.publish()?,
        })
    }

    /// Plays the day; the bytes of a report and of a model.
    fn run(mut self, visits: &mut Visits, mut noise: FastNoise) -> Result<(usize, usize)> {
        let mut model = self.publish()?;
        let mut bytes = 0;
        while visits.next()?.is_some() {
            let own = FastNoise::seeded(noise.bits());
            let mut person = match &self {
                Protocol::Local { plan, .. } => plan.person(0, own)?,
                Protocol::Shuffled(sums) => sums.plan.person(own)?,
            };
            let section = person.choose(&model, &visits.sections)?;
            let features = visits.sections.arm(section);
            let click = visits.play(section);
            let report = person.report(&model, &features, click)?;
            if bytes == 0 {
                bytes = wire::to_json(&report).len();
            }
            match &mut self {
                Protocol::Local { server, .. } => {
                    server.absorb_new(&report)?;
                }
                Protocol::Shuffled(sums) => {
                    if let Some(batch) = sums.shuffler.absorb(&report)? {
                        sums.server.absorb(&batch)?;
                    }
                }
            }
            if visits.is_release() {
                model = self.publish()?;
            }
        }
        Ok((bytes, wire::to_json(&model).len()))
    }
}

/// The people of one day, one after the other, and what their page came to.
struct Visits {
    noise: FastNoise,
    /// Base and gain of each section.
    tastes: [(f64, f64); INTERESTS],
    people: u64,
    seen: u64,
    /// The sections as the present person's exact interests have them.
    sections: Arms,
    means: [f64; INTERESTS],
    total: f64,
    clicks: f64,
    regret: Vec<f64>,
}

impl Visits {
    fn new(seed: u64, people: u64) -> Result<Self> {
        let mut noise = FastNoise::seeded(seed);
        let mut between = |low: f64, high: f64| low + (high - low) * noise.uniform();
        let tastes = std::array::from_fn(|_| (between(0.02, 0.06), between(0.05, 0.25)));
        Ok(Visits {
            noise,
            tastes,
            people,
            seen: 0,
            sections: Arms::zeros(DIMENSION, INTERESTS)?,
            means: [0.0; INTERESTS],
            total: 0.0,
            clicks: 0.0,
            regret: Vec::new(),
        })
    }

    /// The levels of the next person; none at the end of the day.
    fn next(&mut self) -> Result<Option<[usize; INTERESTS]>> {
        if self.seen == self.people {
            return Ok(None);
        }
        self.seen += 1;
        let levels: [usize; INTERESTS] = std::array::from_fn(|_| {
            let mut left = self.noise.uniform();
            let level = SHARES.iter().position(|share| {
                left -= share;
                left < 0.0
            });
            level.unwrap_or(SHARES.len() - 1)
        });
        let strengths = levels.map(|level| STRENGTHS[level]);
        set_sections(&mut self.sections, &strengths)?;
        let strongest = STRENGTHS[STRENGTHS.len() - 1];
        for (mean, ((base, gain), strength)) in
            self.means.iter_mut().zip(self.tastes.iter().zip(strengths))
        {
            *mean = base + gain * strength / strongest;
        }
        Ok(Some(levels))
    }

    /// Puts this section first: 1 if it is clicked.
    fn play(&mut self, section: usize) -> f64 {
        let best = self.means.iter().copied().fold(0.0, f64::max);
        self.total += best - self.means[section];
        self.clicks += self.means[section];
        if self.is_release() {
            self.regret.push(self.total);
        }
        f64::from(u8::from(self.noise.uniform() < self.means[section]))
    }

    /// Tells whether ten minutes end with the present person.
    fn is_release(&self) -> bool {
        self.seen.is_multiple_of(self.people / RELEASES)
    }

    fn finish(self, bytes_up: usize, bytes_down: usize) -> Result<Day> {
        let people = self.people as f64;
        let click_rate = self.clicks / people;
        let best_rate = (self.clicks + self.total) / people;
        Ok(Day { regret: self.regret, click_rate, best_rate, bytes_up, bytes_down })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_design_learns_and_privacy_costs() {
        let people = 20 * RELEASES;
        let lost = |design| {
            let day = day(design, people, 3).unwrap();
            assert_eq!(day.regret.len() as u64, RELEASES, "{design:?}");
            assert!((day.best_rate - day.click_rate) * people as f64 - day.regret[143] < 1e-6);
            day.regret[143]
        };
        let exact = lost(Design::NoPrivacy);
        for design in [
            Design::Unary,
            Design::UnaryOnDevice,
            Design::Local(47.7),
            Design::Local(4.8),
            Design::Shuffled(1.0),
        ] {
            assert!(lost(design) > 0.5 * exact, "{design:?}");
        }
        assert_eq!(unary_bytes(), 57);
    }
}
