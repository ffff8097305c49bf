//! Attacks on privacy guarantees: the deployed code is run many times, and a verdict says what the runs prove.
//!
//! An [`Attack`] consists of two neighbouring data sets, the adversary's view of a run in each, and a test that distinguishes them. The
//! mechanism is run many times on both data sets; the error rates of the best test give a lower confidence bound on epsilon, or refute the
//! guarantee. [`audit`](crate::audit) runs all attacks on an experiment.
//!
//! | file | contents |
//! | --- | --- |
//! | `bound` | from error rates to a bound: Clopper-Pearson or Gaussian trade-off |
//! | `likelihood` | from a view to a score: the likelihood-ratio direction, learned |
//! | `neighbours` | the pairs of people, and of streams, that are easiest to distinguish |
//! | `source` | the noise of an audit: seeded or secure |
//! | `sums` | continual sums: every release seen, others adaptive; Gaussian, Laplace and Wishart noise |
//! | [`learner`] | the learner that a trial runs, whatever its guarantee |
//! | `positions` | the people of a script who are attacked: drawn at random, and found by a screening |
//! | `joint` | the joint learner, attacked through its actions |
//! | [`given`] | reports that another program has made |
//! | `local`, `shuffle` | reports of the local protocol and of OnlineUCB; batches behind a shuffler |
//! | `episodes` | a learner of fixed actions: the release of an episode |
//! | `online`, `safe`, `convex` | randomisers of gradients; an agent's answers; losses of paper 4 |
//!
//! **What a verdict means.** `violated`: with the stated confidence the guarantee is false. `consistent`: this attack, with this number of
//! runs, does not refute it; the lower bound says how close it came. `vacuous`: choices never depended on data in this audit, so nothing was
//! tested. Audits cannot prove a guarantee; the accountant does.

pub mod bound;
pub mod convex;
pub mod episodes;
pub mod given;
pub mod joint;
pub mod learner;
mod likelihood;
pub mod local;
pub mod neighbours;
pub mod online;
mod positions;
pub mod safe;
pub mod shuffle;
mod source;
pub mod sums;

use std::{sync::Arc, time::Instant};

use reticent::privacy::{Guarantee, Provenance};
use serde::Serialize;

use self::bound::{Aim, Errors};
pub use self::{
    likelihood::Test,
    positions::Positions,
    source::{AuditNoise, NoiseKind},
};
use crate::{
    Result,
    play::{
        parallel::in_parallel,
        trial::{mix, name_hash},
    },
};

/// The largest probability that a true certificate is called violated.
const CONFIRMED_FALSE_ALARM: f64 = 1e-6;

/// Runs per job.
const CHUNK: u64 = 256;

/// One of two neighbouring data sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataSet {
    /// The attacked person has the first data.
    First,
    /// The attacked person has the second data.
    Second,
}

impl DataSet {
    /// The one of the two values that belongs to this data set.
    pub fn pick<'a, T: ?Sized>(self, pair: (&'a T, &'a T)) -> &'a T {
        match self {
            DataSet::First => pair.0,
            DataSet::Second => pair.1,
        }
    }
}

/// One run of the mechanism on a data set, as the adversary sees it.
pub type View = Box<dyn Fn(DataSet, AuditNoise) -> Result<Vec<f64>> + Send + Sync>;

/// A mechanism that is ready to be run, and the test that distinguishes the two data sets.
pub struct Prepared {
    /// One run.
    pub view: View,
    /// The test.
    pub test: Test,
    /// The people who were attacked, if the adversary chose among the people of a script.
    pub positions: Option<Positions>,
    /// Runs with the same seed were the same on both data sets, for every attacked person.
    pub unmoved: bool,
}

impl From<(View, Test)> for Prepared {
    fn from((view, test): (View, Test)) -> Self {
        Prepared { view, test, positions: None, unmoved: false }
    }
}

/// An attack on a guarantee.
pub struct Attack {
    /// The adversary and what they see.
    pub adversary: String,
    /// The guarantee attacked.
    pub guarantee: Guarantee,
    /// Default number of runs on each data set that the bound is computed from.
    pub samples: u64,
    /// Smallest and largest number of runs on each data set, for any option.
    range: (u64, u64),
    /// Set if the mechanism has no certificate; `guarantee` then carries the claim of a publication.
    claim_only: bool,
    /// The noise of every run, whatever the options say.
    noise: Option<NoiseKind>,
    prepare: Box<dyn Fn(u64) -> Result<Prepared> + Send + Sync>,
}

/// The attacks on one mechanism, which are made when an audit asks for them: a run does not need them.
#[derive(Clone, Default)]
pub struct Attacks(Option<MakeAttacks>);

type MakeAttacks = Arc<dyn Fn() -> Result<Vec<Attack>> + Send + Sync>;

impl Attacks {
    /// Attacks that this function makes.
    pub fn new(make: impl Fn() -> Result<Vec<Attack>> + Send + Sync + 'static) -> Self {
        Attacks(Some(Arc::new(make)))
    }

    /// Makes the attacks; none without a mechanism.
    pub fn make(&self) -> Result<Vec<Attack>> {
        self.0.as_ref().map_or(Ok(Vec::new()), |make| make())
    }
}

impl std::fmt::Debug for Attacks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Attacks").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Attack {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Attack").field("adversary", &self.adversary).finish_non_exhaustive()
    }
}

impl Attack {
    /// An attack whose mechanism is built when the attack is run.
    pub fn new(
        adversary: impl Into<String>,
        guarantee: &Guarantee,
        samples: u64,
        prepare: impl Fn() -> Result<(View, Test)> + Send + Sync + 'static,
    ) -> Self {
        Attack::seeded(adversary, guarantee, samples, move |_| prepare().map(Prepared::from))
    }

    /// An attack whose adversary draws what they do from a seed.
    pub fn seeded(
        adversary: impl Into<String>,
        guarantee: &Guarantee,
        samples: u64,
        prepare: impl Fn(u64) -> Result<Prepared> + Send + Sync + 'static,
    ) -> Self {
        let (adversary, guarantee) = (adversary.into(), guarantee.clone());
        let (range, claim_only, prepare) = ((1000, u64::MAX), false, Box::new(prepare));
        Attack { adversary, guarantee, samples, range, claim_only, noise: None, prepare }
    }

    /// The same with limits on the number of runs on each data set, if one run is long.
    pub fn between(mut self, least: u64, most: u64) -> Self {
        self.range = (least, most);
        self
    }

    /// The same on this noise, whatever the options say.
    pub fn on(mut self, noise: NoiseKind) -> Self {
        self.noise = Some(noise);
        self
    }

    /// The same against a publication's claim only, if the learner has no certificate.
    pub fn on_the_claim_only(mut self) -> Self {
        self.claim_only = true;
        self
    }
}

/// Options of audits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AuditOptions {
    /// Runs on each data set, in place of each attack's own number.
    pub samples: Option<u64>,
    /// Multiplies each attack's own number.
    pub scale: f64,
    /// The seed of all randomness, unless noise is secure.
    pub seed: u64,
    /// The confidence of each single audit.
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
    /// Refuses a confidence out of range, and too few runs to learn from.
    pub fn check(&self) -> Result<()> {
        let refused = !(0.5..1.0).contains(&self.confidence);
        let remedy = "expected a number from 0.5 to below 1, such as 0.95";
        reticent::refuse_if(refused, "confidence", self.confidence, remedy)?;
        match self.samples {
            Some(samples) if !(1000..=10_000_000).contains(&samples) => {
                let remedy = "expected 1000 to 10000000 runs on each data set";
                Err(reticent::Error::invalid("samples", samples, remedy).into())
            }
            _ => Ok(()),
        }
    }
}

/// Verdict of an attack on a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The attack does not refute it.
    Consistent,
    /// With the stated confidence, the guarantee is false.
    Violated,
    /// Choices never depended on data in this audit: nothing was tested.
    Vacuous,
}

impl Verdict {
    /// The verdict in a table.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Consistent => "consistent",
            Verdict::Violated => "VIOLATED",
            Verdict::Vacuous => "vacuous",
        }
    }
}

/// The guarantee that is attacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// The accountant's, as a whole curve.
    Certificate,
    /// The claim of a publication for its own constants.
    Claim,
}

/// A guarantee at one delta.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Promise {
    /// Epsilon.
    pub epsilon: f64,
    /// Delta.
    pub delta: f64,
}

/// The result of an attack.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// The algorithm attacked.
    pub algorithm: String,
    /// Algorithm whose guarantee was attacked.
    pub against: Against,
    /// Origin of the certificate: computed from the mechanism that the learner owns, or stated by a user and not checked.
    pub provenance: Provenance,
    /// The guarantee of the accountant or, if `against` is `claim`, of a publication.
    pub certified: Promise,
    /// No smaller epsilon can be true at that delta, with the stated confidence.
    pub epsilon_lower_bound: f64,
    /// Method of computation: `gaussian_trade_off` rests on the shape of noise that the accountant has priced, `clopper_pearson` on nothing.
    pub bound: &'static str,
    /// The confidence of the bound and the verdict.
    pub confidence: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// The adversary, and what they saw.
    pub attack: String,
    /// The people who were attacked one at a time, if the adversary chose among the people of a script.
    pub positions: Option<Positions>,
    /// Runs on each data set that the bound was computed from.
    pub samples: u64,
    /// Time, for all runs.
    pub seconds: f64,
    /// The lower bound divided by the guaranteed epsilon; null if that is infinite.
    pub ratio: Option<f64>,
}

impl Audit {
    /// The words before the numbers: whether the accountant computed them, a user stated them or a publication claims them.
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
        self.run_prepared(&(self.prepare)(self.seed(algorithm, options))?, algorithm, options)
    }

    fn seed(&self, algorithm: &str, options: &AuditOptions) -> u64 {
        mix(options.seed, name_hash(algorithm) ^ name_hash(&self.adversary))
    }

    fn run_prepared(
        &self,
        prepared: &Prepared,
        algorithm: &str,
        options: &AuditOptions,
    ) -> Result<Vec<Audit>> {
        let start = Instant::now();
        let (least, most) = self.range;
        let scaled = ((self.samples as f64 * options.scale) as u64).max(least);
        let samples = options.samples.unwrap_or(scaled).max(100).min(most);
        let seed = self.seed(algorithm, options);
        let noise = self.noise.unwrap_or(options.noise);
        let Prepared { view, test, positions, unmoved } = prepared;
        let draw = |phase: u64, data: DataSet, count: u64| {
            let jobs: Vec<u64> = (0..count.div_ceil(CHUNK)).collect();
            let base = mix(mix(seed, phase), data as u64);
            let runs = in_parallel(
                &jobs,
                |_, _| {},
                |&job| {
                    let from = job * CHUNK;
                    (from..(from + CHUNK).min(count))
                        .map(|run| view(data, AuditNoise::new(noise, mix(base, run))?))
                        .collect::<Result<Vec<_>>>()
                },
            )?;
            Ok::<_, crate::Error>(runs.into_iter().flatten().collect::<Vec<Vec<f64>>>())
        };
        let learned = if test.learns() {
            let probe = view(DataSet::First, AuditNoise::new(noise, seed)?)?;
            let train = test.training(samples, probe.len());
            test.learn(&draw(0, DataSet::First, train)?, &draw(0, DataSet::Second, train)?)
        } else {
            test.learn(&[], &[])
        };
        let scores = |phase, data, count| {
            let views: Vec<Vec<f64>> = draw(phase, data, count)?;
            Ok::<_, crate::Error>(
                views.into_iter().map(|view| learned.scores(view)).collect::<Vec<_>>(),
            )
        };
        let few = (samples / 4).clamp(100, 50_000);
        let choosing = (scores(1, DataSet::First, few)?, scores(1, DataSet::Second, few)?);
        let bounding = (scores(2, DataSet::First, samples)?, scores(2, DataSet::Second, samples)?);
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
            let (mut violated, mut lower, mut by_shape) = (false, 0.0_f64, 0.0_f64);
            for rates in rates(&choosing, &bounding, aim, samples, options.confidence) {
                violated |= match against {
                    Against::Claim => rates.refute(epsilon, delta),
                    Against::Certificate => rates.refute_curve(curve, epsilon)?,
                };
                lower = lower.max(rates.epsilon(delta));
                by_shape = by_shape.max(rates.epsilon_of(curve, delta)?);
            }
            // The verdict never contradicts the number beside it. Where the certificate is a Gaussian curve, a larger mu is a point
            // below that curve, which refutes it whatever the noise really is. A publication's claim is one point; that its noise is
            // Gaussian, on which the number then rests, is what the publication says itself.
            violated |= lower.max(by_shape) > epsilon * (1.0 + 1e-9);
            // Nothing says that the code behind a guarantee of a user adds Gaussian noise, and a refuted certificate is wrong about its noise.
            let shaped = self.guarantee.provenance() == Provenance::Computed
                && !(violated && against == Against::Certificate);
            let gaussian = shaped && by_shape > lower;
            if gaussian {
                lower = by_shape;
            }
            let verdict = match (violated, unmoved) {
                (true, _) => Verdict::Violated,
                (false, true) => Verdict::Vacuous,
                (false, false) => Verdict::Consistent,
            };
            audits.push(Audit {
                algorithm: algorithm.to_string(),
                against,
                provenance: self.guarantee.provenance(),
                certified: Promise { epsilon, delta },
                epsilon_lower_bound: lower,
                bound: if gaussian { "gaussian_trade_off" } else { "clopper_pearson" },
                confidence: options.confidence,
                verdict,
                attack: self.adversary.clone(),
                positions: positions.clone(),
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
    /// As [`Attack::run`]; a refuted certificate is attacked again, in the same way with other noise and a false-alarm rate of 1e-6, and is
    /// called violated only if it is refuted again. Among a hundred audits at 95 % some would be refuted by chance.
    pub fn run_confirmed(&self, algorithm: &str, options: &AuditOptions) -> Result<Vec<Audit>> {
        let fell = |audit: &Audit| {
            audit.against == Against::Certificate && audit.verdict == Verdict::Violated
        };
        let prepared = (self.prepare)(self.seed(algorithm, options))?;
        let audits = self.run_prepared(&prepared, algorithm, options)?;
        if !audits.iter().any(fell) {
            return Ok(audits);
        }
        let confidence = options.confidence.max(1.0 - CONFIRMED_FALSE_ALARM);
        let again = AuditOptions { seed: mix(options.seed, 2), confidence, ..*options };
        self.run_prepared(&prepared, algorithm, &again)
    }
}

/// Chooses score and threshold on one part, and bounds the error rates on the other. The threshold is chosen twice, from the scores
/// themselves and as if they were normal; both pairs of bounds hold at the same time.
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
    // A small sample is not trusted about tails that are thinner than its size resolves.
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

/// A choice of threshold: scores of both data sets, aim, runs and confidence of the bound -> threshold and the value of the aim.
type Chooser = fn(&[f64], &[f64], Aim, u64, f64) -> (f64, f64);
