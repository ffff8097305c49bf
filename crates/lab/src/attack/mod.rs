//! Attacks on a promise of privacy: the deployed code is run many times, and a verdict says what the runs prove.
//!
//! An [`Attack`] is two neighbouring worlds, what an adversary sees of a run in each, and how they tell them apart. The mechanism is run many
//! times in both worlds; error rates of the best test give a lower confidence bound on epsilon, or refute the promise.
//! [`audit`](crate::audit) runs all attacks on an experiment.
//!
//! | file | what it is |
//! | --- | --- |
//! | `bound` | from error rates to a bound: Clopper-Pearson, Gaussian trade-off, and which is which |
//! | `learned` | from what is seen to a score: the likelihood-ratio direction, learned |
//! | `neighbours` | the pairs of people, and of streams, that are hardest to hide |
//! | `source` | the noise of an audit: seeded, or that of a deployment |
//! | `sums` | continual sums: every release seen, others adaptive; Gaussian, Laplace and Wishart noise |
//! | [`player`] | the player that a trial runs, whatever is promised for it |
//! | `joint` | the joint learner, of which only actions are seen |
//! | `local`, `shuffle` | reports of the local protocol and of OnlineUCB; batches behind a shuffler |
//! | `online`, `safe`, `convex` | randomisers of gradients; an agent's answers; losses of paper 4 |
//!
//! **What a verdict means.** `violated`: with the stated confidence the promise is false. `consistent`: this attack, with so many runs, does
//! not refute it; the lower bound says how near it came. No number of audits proves a promise: the accountant does.

pub mod bound;
pub mod convex;
pub mod joint;
mod learned;
pub mod local;
pub mod neighbours;
pub mod online;
pub mod player;
pub mod safe;
pub mod shuffle;
mod source;
pub mod sums;

use std::time::Instant;

use reticent::privacy::{Guarantee, Provenance};
use serde::Serialize;

use self::bound::{Aim, Errors};
pub use self::{
    learned::Test,
    source::{AuditNoise, NoiseKind},
};
use crate::{
    Result,
    parallel::in_parallel,
    trial::{mix, name_hash},
};

/// How often a true certificate is called violated, at most.
const CONFIRMED_FALSE_ALARM: f64 = 1e-6;

/// Runs that are drawn by one job.
const CHUNK: u64 = 256;

/// One of two neighbouring worlds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// The attacked person has the first data.
    First,
    /// They have the other.
    Second,
}

impl World {
    /// What belongs to this world.
    pub fn pick<'a, T: ?Sized>(self, pair: (&'a T, &'a T)) -> &'a T {
        match self {
            World::First => pair.0,
            World::Second => pair.1,
        }
    }
}

/// One run of the mechanism in a world, as the adversary sees it.
pub type View = Box<dyn Fn(World, AuditNoise) -> Result<Vec<f64>> + Send + Sync>;

/// A way to attack a promise.
pub struct Attack {
    /// Who attacks, and what they see.
    pub adversary: String,
    /// The promise.
    pub guarantee: Guarantee,
    /// Runs of each world that the bound is computed from, unless told otherwise.
    pub samples: u64,
    /// Runs of each world, at least and at most, whatever is asked for.
    range: (u64, u64),
    /// Nothing is certified of what is attacked; `guarantee` is there for the claim of a publication beside it.
    claim_only: bool,
    prepare: Box<dyn Fn() -> Result<(View, Test)> + Send + Sync>,
}

impl std::fmt::Debug for Attack {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Attack").field("adversary", &self.adversary).finish_non_exhaustive()
    }
}

impl Attack {
    /// An attack whose mechanism is built when it begins.
    pub fn new(
        adversary: impl Into<String>,
        guarantee: &Guarantee,
        samples: u64,
        prepare: impl Fn() -> Result<(View, Test)> + Send + Sync + 'static,
    ) -> Self {
        let (adversary, guarantee) = (adversary.into(), guarantee.clone());
        let (range, claim_only, prepare) = ((1000, u64::MAX), false, Box::new(prepare));
        Attack { adversary, guarantee, samples, range, claim_only, prepare }
    }

    /// The same with so many runs of each world at least and at most, where one run is long.
    pub fn between(mut self, least: u64, most: u64) -> Self {
        self.range = (least, most);
        self
    }

    /// The same against a publication's claim, where what is played has no certificate.
    pub fn on_the_claim_only(mut self) -> Self {
        self.claim_only = true;
        self
    }
}

/// How audits are run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AuditOptions {
    /// Runs of each world, in place of each attack's own number.
    pub samples: Option<u64>,
    /// Multiplies each attack's own number.
    pub scale: f64,
    /// Everything random follows from it, unless noise is secure.
    pub seed: u64,
    /// Of each audit by itself.
    pub confidence: f64,
    /// The noise that the attacked code draws.
    pub noise: NoiseKind,
}

impl Default for AuditOptions {
    fn default() -> Self {
        AuditOptions {
            samples: None,
            scale: 1.0,
            seed: 1,
            confidence: 0.95,
            noise: NoiseKind::Fast,
        }
    }
}

impl AuditOptions {
    /// Refuses a confidence that is none, and so few runs that nothing can be learned.
    pub fn check(&self) -> Result<()> {
        if !(0.5..1.0).contains(&self.confidence) {
            let remedy = "give a number from 0.5 to below 1, such as 0.95";
            return Err(reticent::Error::invalid("confidence", self.confidence, remedy).into());
        }
        match self.samples {
            Some(samples) if !(1000..=10_000_000).contains(&samples) => {
                let remedy = "give 1000 to 10000000 runs of each world";
                Err(reticent::Error::invalid("samples", samples, remedy).into())
            }
            _ => Ok(()),
        }
    }
}

/// Whether an attack refuted a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The attack does not refute it.
    Consistent,
    /// With the stated confidence, it is false.
    Violated,
}

/// What is attacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// What the accountant says, as a whole curve.
    Certificate,
    /// What a publication says of its own constants.
    Claim,
}

/// A promise at one delta.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Promise {
    /// Epsilon.
    pub epsilon: f64,
    /// Delta.
    pub delta: f64,
}

/// What came of an attack.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// The algorithm attacked.
    pub algorithm: String,
    /// Who promised.
    pub against: Against,
    /// Where the certificate comes from: computed from what the learner owns, or stated by hand and not checked.
    pub provenance: Provenance,
    /// What is promised; by the accountant, or, where `against` is `claim`, by a publication.
    pub certified: Promise,
    /// No smaller epsilon can be true at that delta, with the stated confidence.
    pub epsilon_lower_bound: f64,
    /// How it was computed: `gaussian_trade_off` rests on the shape of the noise, `clopper_pearson` on nothing.
    pub bound: &'static str,
    /// Of the bound and the verdict.
    pub confidence: f64,
    /// Whether the promise stands.
    pub verdict: Verdict,
    /// Who attacked, and what they saw.
    pub attack: String,
    /// Runs of each world that the bound was computed from.
    pub samples: u64,
    /// Time, for all runs.
    pub seconds: f64,
    /// The lower bound over what is promised; null if nothing finite is promised.
    pub ratio: Option<f64>,
}

impl Audit {
    /// What stands before the numbers: whether the accountant, somebody's hand or a publication wrote them.
    pub(crate) fn whose(&self) -> &'static str {
        match (self.against, self.provenance) {
            (Against::Claim, _) => "claimed",
            (Against::Certificate, Provenance::Computed) => "certified",
            (Against::Certificate, Provenance::Stated) => "NOT CERTIFIED (stated, not checked):",
        }
    }
}

impl Attack {
    /// Runs the attack: against the certificate, and against a publication's claim where there is one.
    pub fn run(&self, algorithm: &str, options: &AuditOptions) -> Result<Vec<Audit>> {
        let start = Instant::now();
        let (least, most) = self.range;
        let scaled = ((self.samples as f64 * options.scale) as u64).max(least);
        let samples = options.samples.unwrap_or(scaled).max(100).min(most);
        let seed = mix(options.seed, name_hash(algorithm) ^ name_hash(&self.adversary));
        let (view, test) = (self.prepare)()?;
        let draw = |phase: u64, world: World, count: u64| {
            let jobs: Vec<u64> = (0..count.div_ceil(CHUNK)).collect();
            let base = mix(mix(seed, phase), world as u64);
            let runs = in_parallel(
                &jobs,
                |_, _| {},
                |&job| {
                    let from = job * CHUNK;
                    (from..(from + CHUNK).min(count))
                        .map(|run| view(world, AuditNoise::new(options.noise, mix(base, run))?))
                        .collect::<Result<Vec<_>>>()
                },
            )?;
            Ok::<_, crate::Error>(runs.into_iter().flatten().collect::<Vec<Vec<f64>>>())
        };
        let learned = if test.learns() {
            let probe = view(World::First, AuditNoise::new(options.noise, seed)?)?;
            let train = test.training(samples, probe.len());
            test.learn(&draw(0, World::First, train)?, &draw(0, World::Second, train)?)
        } else {
            test.learn(&[], &[])
        };
        let scores = |phase, world, count| {
            let views: Vec<Vec<f64>> = draw(phase, world, count)?;
            Ok::<_, crate::Error>(
                views.into_iter().map(|view| learned.scores(view)).collect::<Vec<_>>(),
            )
        };
        let few = (samples / 4).clamp(100, 50_000);
        let choosing = (scores(1, World::First, few)?, scores(1, World::Second, few)?);
        let bounding = (scores(2, World::First, samples)?, scores(2, World::Second, samples)?);
        let curve = self.guarantee.curve();
        let certified = (Against::Certificate, self.guarantee.epsilon(), self.guarantee.delta());
        let mut promises = Vec::from_iter((!self.claim_only).then_some(certified));
        promises.extend(
            self.guarantee.claimed().map(|claim| (Against::Claim, claim.epsilon, claim.delta)),
        );
        let mut audits = Vec::new();
        for (against, epsilon, delta) in promises {
            let aim = match (against, curve.mu()) {
                (Against::Claim, _) => Aim::Break(epsilon, delta),
                (Against::Certificate, Some(_)) => Aim::Mu,
                (Against::Certificate, None) => Aim::Epsilon(delta),
            };
            let (mut violated, mut lower, mut gaussian) = (false, 0.0, false);
            for rates in rates(&choosing, &bounding, aim, samples, options.confidence) {
                violated |= match against {
                    Against::Claim => rates.refute(epsilon, delta),
                    Against::Certificate => rates.refute_curve(curve, epsilon)?,
                };
                let found = rates.epsilon_of(curve, delta)?;
                if found > lower {
                    (lower, gaussian) = (found, found > rates.epsilon(delta));
                }
            }
            // The verdict never contradicts the number beside it. Where the certificate is a Gaussian curve, a larger mu is a point
            // below that curve, which refutes it whatever the noise really is. A publication's claim is one point; that its noise is
            // Gaussian, on which the number then rests, is what the publication says itself.
            violated |= lower > epsilon * (1.0 + 1e-9);
            audits.push(Audit {
                algorithm: algorithm.to_string(),
                against,
                provenance: self.guarantee.provenance(),
                certified: Promise { epsilon, delta },
                epsilon_lower_bound: lower,
                bound: if gaussian { "gaussian_trade_off" } else { "clopper_pearson" },
                confidence: options.confidence,
                verdict: if violated { Verdict::Violated } else { Verdict::Consistent },
                attack: self.adversary.clone(),
                samples,
                seconds: 0.0,
                ratio: (epsilon.is_finite() && epsilon > 0.0).then(|| lower / epsilon),
            });
        }
        let seconds = start.elapsed().as_secs_f64();
        audits.iter_mut().for_each(|audit| audit.seconds = seconds);
        Ok(audits)
    }
}

impl Attack {
    /// As [`Attack::run`]; a certificate that falls is attacked once more, with other noise and a false-alarm rate of 1e-6, and only if it
    /// falls again is it called violated. Among a hundred audits at 95 % some would fall by chance.
    pub fn run_confirmed(&self, algorithm: &str, options: &AuditOptions) -> Result<Vec<Audit>> {
        let fell = |audit: &Audit| {
            audit.against == Against::Certificate && audit.verdict == Verdict::Violated
        };
        let audits = self.run(algorithm, options)?;
        if !audits.iter().any(fell) {
            return Ok(audits);
        }
        let confidence = options.confidence.max(1.0 - CONFIRMED_FALSE_ALARM);
        let again = AuditOptions { seed: mix(options.seed, 2), confidence, ..*options };
        self.run(algorithm, &again)
    }
}

/// Chooses score and threshold on one part, and bounds the error rates on the other. The threshold is chosen twice, as the scores are and as
/// if they were normal; the two pairs of bounds hold together.
fn rates(
    choosing: &(Vec<Vec<f64>>, Vec<Vec<f64>>),
    bounding: &(Vec<Vec<f64>>, Vec<Vec<f64>>),
    aim: Aim,
    samples: u64,
    confidence: f64,
) -> Vec<bound::Rates> {
    let column =
        |runs: &[Vec<f64>], index: usize| runs.iter().map(|run| run[index]).collect::<Vec<f64>>();
    let count = choosing.0.first().map_or(0, Vec::len);
    let each = 0.5 * (1.0 + confidence);
    // What a small sample shows of its tails is not believed beyond its size.
    let believed = match aim {
        Aim::Break(..) => samples,
        _ => samples.min(choosing.0.len() as u64),
    };
    let choices = [(bound::choose as Chooser, believed), (bound::choose_normal, samples)];
    let choose = |(chooser, runs): (Chooser, u64)| {
        let mut best = (0, 0.0, f64::NEG_INFINITY);
        for index in 0..count {
            let (one, two) = (column(&choosing.0, index), column(&choosing.1, index));
            let (threshold, value) = chooser(&one, &two, aim, runs, each);
            if value > best.2 {
                best = (index, threshold, value);
            }
        }
        let (index, threshold, _) = best;
        let (one, two) = (column(&bounding.0, index), column(&bounding.1, index));
        Errors::count(&one, &two, threshold).rates(each)
    };
    choices.into_iter().map(choose).collect()
}

/// Scores of both worlds, what for, runs and confidence of the bound -> threshold and what it promises.
type Chooser = fn(&[f64], &[f64], Aim, u64, f64) -> (f64, f64);
