//! Attacks on a learner: the object that a trial would run is played on two neighbouring data sets, whatever its certificate.
//!
//! The other attacks of this module run a mechanism built from its parameters. They do not test code that has a certificate but does
//! something else with people's data. Here one person's features and reward are replaced, every other person is the same on both data sets, and
//! the adversary sees what joint privacy protects: the choices made for everybody after that person, that the learner stopped if it did, and
//! what devices or a shuffler [`sent`](Learner::sent) where the trust model distrusts those who receive it.
//!
//! | script | others | purpose |
//! | --- | --- | --- |
//! | queries | bring features that are orthogonal to the person's and rewards in the middle of their range, so that the person alone decides the sign of `theta_1`; between them a person chooses between opposite arms and never answers | noise that is missing or too small, data that are shown, stops |
//! | its environment | decision sets and rewards that the environment drew once | learners that understand the arms of their own environment only, and leaks about single people |
//!
//! The attacked people are the first, some drawn at random over the whole script and, in an environment, those whom a screening suspects
//! (`positions`). The person and the pair of data are chosen in a separate pilot, because leaks of rewards, of features and after a delay
//! need different pairs. A stop is an output, and so are the words of its error. Runs of the pilot have the same seed on both data sets: if all
//! are the same, nothing that was attacked ever changed a choice, and the verdict is `vacuous`. Correct noise hides the person, so that the
//! bound stays below the guarantee; an attack through actions is weak if the noise is right, and strong if it is missing.

use std::sync::Arc;

use reticent::{
    bandit::Arms,
    noise::Noise,
    privacy::{Guarantee, Provenance},
    randomize::Bounds,
};

use super::{
    Attack, AuditNoise, DataSet, Positions, Prepared, Test, View,
    likelihood::Learned,
    positions::{Screened, drawn, in_order, suspects},
};
use crate::{
    FastNoise, Result,
    play::{
        Learner,
        trial::{mix, name_hash},
    },
};

/// Makes the learner of one run from the seed of its noise.
pub type Maker = Arc<dyn Fn(u64) -> Result<Box<dyn Learner>> + Send + Sync>;

/// The largest number of rounds of a script, queries included: the default schedule releases after 64 rewards, and then every 16.
pub const MOST_STEPS: u64 = 160;
/// The same for learners whose mechanism is also attacked from its parameters: slightly more than one release.
const FEW_STEPS: u64 = 84;
/// A query follows each of the first people after the attacked one, and later every few people.
const EAGER: usize = 4;
const EVERY: usize = 12;
/// Runs on each data set for the bound.
const FEW_SAMPLES: u64 = 2000;
const MOST_SAMPLES: u64 = 100_000;
/// Runs on each data set in the pilot: this many to learn from, and as many to compare.
const PILOT: u64 = 12;
/// Runs of the screening, and pairs of runs before a verdict is called vacuous.
const SCREENING: u64 = 128;
/// People drawn at random, besides the first: for code with a stated guarantee, and for our own.
const DRAWN: usize = 5;
const DRAWN_OF_OURS: usize = 1;

/// The recorded symbol if there is no choice: the learner refused to choose, or had refused a reward.
const REFUSED_TO_CHOOSE: f64 = -1.0;
const REFUSED_A_REWARD: f64 = -2.0;

/// One person of a script: a decision set, and the reward of any choice; `None` if no reward comes.
#[derive(Debug, Clone)]
pub struct Step {
    /// The decision set.
    pub arms: Arms,
    /// The reward.
    pub reward: Option<f64>,
}

/// The people of both data sets.
#[derive(Debug, Clone)]
pub struct Script {
    /// Everybody, in order; the entry at `person` is replaced.
    pub steps: Vec<Step>,
    /// The index of the attacked person.
    pub person: usize,
    /// The attacked person's data in the first and in the second data set.
    pub pair: (Step, Step),
}

/// The people of an environment, and others who may come in their place.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Everybody, in order.
    pub people: Vec<Step>,
    /// As many others.
    pub others: Vec<Step>,
}

/// Stage on which an audit runs a learner.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The bounds on people's data.
    pub bounds: Bounds,
    /// The largest number of arms of a decision set.
    pub arms: usize,
    /// The number of rounds that the learner is built for.
    pub rounds: u64,
    /// Features are public: neighbours differ in the reward only.
    pub public_arms: bool,
}

/// Attacks on the learner: by queries, and among the people of its environment.
pub fn attacks(
    stage: &Stage,
    environment: Option<Recorded>,
    guarantee: &Guarantee,
    make: &Maker,
) -> Vec<Attack> {
    let mut all = Vec::new();
    let stated = guarantee.provenance() == Provenance::Stated;
    let count = if stated { DRAWN } else { DRAWN_OF_OURS };
    let rounds = stage.rounds;
    if stage.arms > 1 && stage.rounds > 1 {
        let adversary = "plays the learner itself: sees every later choice, stops, and what is sent; others orthogonal, decisions between opposite arms; worst of a pool of pairs, learned test";
        let stage = stage.clone();
        let scripts = move |seed, _: &Maker| {
            let length = stage.rounds.min(if stated { MOST_STEPS } else { FEW_STEPS }) as usize;
            queries(&stage, stated, length, &drawn(count, length, seed))
        };
        all.push(attack(adversary, guarantee, (make, rounds), scripts));
    }
    if let Some(recorded) = environment {
        let adversary = "plays the learner itself in its environment: sees every later choice, stops, and what is sent; one person and reward replaced; learned test";
        let stage = stage.clone();
        let scripts = move |seed, make: &Maker| {
            let mut places = drawn(count, recorded.people.len(), seed);
            places.extend(recorded.screened(&stage, make, seed)?);
            Ok(recorded.replacing(&stage, &in_order(places)))
        };
        all.push(attack(adversary, guarantee, (make, rounds), scripts));
    }
    all
}

fn attack(
    adversary: &str,
    guarantee: &Guarantee,
    (make, rounds): (&Maker, u64),
    scripts: impl Fn(u64, &Maker) -> Result<Vec<Script>> + Send + Sync + 'static,
) -> Attack {
    // Perfect separation in n runs refutes an epsilon of about ln(n / 15). Our own mechanisms are attacked from their parameters too.
    let (least, samples) = match guarantee.provenance() {
        Provenance::Stated => {
            let needed = (60.0 * guarantee.epsilon().min(12.0).exp()) as u64;
            (1000, needed.clamp(2 * FEW_SAMPLES, MOST_SAMPLES))
        }
        Provenance::Computed => (250, FEW_SAMPLES),
    };
    let make = make.clone();
    let attack = Attack::seeded(adversary, guarantee, samples, move |seed| {
        let Pilot { script, numbers, positions, unmoved } =
            Pilot::run(scripts(seed, &make)?, rounds, &make)?;
        let (choices, make) = (script.symbols(), make.clone());
        let view: View = Box::new(move |data, mut noise: AuditNoise| {
            Ok(script.run(data, &make, noise.bits())?.view(numbers))
        });
        let test = Test::Transcript { choices };
        Ok(Prepared { view, test, positions: Some(positions), unmoved })
    });
    // One run takes a hundred rounds or more.
    attack.between(least, 4 * samples)
}

/// The view of one run.
struct Seen {
    /// Choices for everybody after the person, or the symbol for no choice.
    choices: Vec<f64>,
    /// The first messages sent, from the person's round on.
    sent: Vec<f64>,
    /// Reason why the learner stopped, if it did.
    stopped: Option<crate::Error>,
}

impl Seen {
    /// The choices, the error if there is one, the count of numbers sent, and the first `numbers` of them.
    fn view(self, numbers: usize) -> Vec<f64> {
        let mut view = self.choices;
        // Shortened so that a double holds it.
        let words = |error: crate::Error| (name_hash(&error.to_string()) >> 12) as f64;
        view.push(self.stopped.map_or(-1.0, words));
        view.push(self.sent.len() as f64);
        view.extend(self.sent.into_iter().chain(std::iter::repeat(0.0)).take(numbers));
        view
    }
}

impl Recorded {
    /// The people of these places replaced, one at a time: by the same decision set with the other reward, and, unless features are
    /// public, by another person's.
    fn replacing(&self, stage: &Stage, places: &[usize]) -> Vec<Script> {
        let (low, high) = stage.bounds.rewards;
        let mut scripts = Vec::new();
        for &place in places {
            let (Some(one), Some(two)) = (self.people.get(place), self.others.get(place)) else {
                continue;
            };
            for other in if stage.public_arms { vec![one] } else { vec![one, two] } {
                let pair = (one.rewarded(high), other.rewarded(low));
                scripts.push(Script { steps: self.people.clone(), person: place, pair });
            }
        }
        scripts
    }

    /// People whose data seem to matter for later choices, by runs in which everybody has one of two extreme sets of data.
    fn screened(&self, stage: &Stage, make: &Maker, seed: u64) -> Result<Vec<usize>> {
        let (low, high) = stage.bounds.rewards;
        let mut noise = FastNoise::seeded(mix(seed, 0x5343_5245));
        let runs = (0..SCREENING).map(|run| {
            let coins: Vec<bool> = self.people.iter().map(|_| noise.bits() & 1 == 1).collect();
            let features_too = !stage.public_arms && run % 2 == 1;
            let people = self.people.iter().zip(&self.others).zip(&coins);
            let steps: Vec<Step> = people
                .map(|((one, two), coin)| match coin {
                    false => one.rewarded(high),
                    true => if features_too { two } else { one }.rewarded(low),
                })
                .collect();
            let choices = played(steps.iter(), None, make, noise.bits())?.choices;
            Ok(Screened { coins, choices })
        });
        Ok(suspects(&runs.collect::<Result<Vec<_>>>()?))
    }
}

impl Step {
    fn rewarded(&self, reward: f64) -> Step {
        Step { arms: self.arms.clone(), reward: Some(reward) }
    }
}

impl Script {
    /// Symbols at the beginning of a view: choices, the error, the count of numbers sent.
    fn symbols(&self) -> usize {
        self.steps.len() - self.person + 1
    }

    fn run(&self, data: DataSet, make: &Maker, seed: u64) -> Result<Seen> {
        let steps = self.steps.iter().enumerate().map(|(place, step)| match place == self.person {
            true => data.pick((&self.pair.0, &self.pair.1)),
            false => step,
        });
        played(steps, Some(self.person), make, seed)
    }
}

/// One run of a learner: what later people see if this person is attacked, or everybody if none is.
fn played<'a>(
    steps: impl ExactSizeIterator<Item = &'a Step>,
    person: Option<usize>,
    make: &Maker,
    seed: u64,
) -> Result<Seen> {
    let first = person.map_or(0, |person| person + 1);
    let seen_choices = steps.len() - first;
    let mut learner = make(seed)?;
    let mut seen = Seen { choices: Vec::new(), sent: Vec::new(), stopped: None };
    for (place, step) in steps.enumerate() {
        let (choice, failure) = one_round(learner.as_mut(), step, place as u64 + 1);
        if place >= first {
            seen.choices.push(choice);
        }
        if let Some((code, error)) = failure {
            seen.choices.resize(seen_choices, code);
            seen.stopped = Some(error);
            break;
        }
        if let Some(numbers) = learner.sent()
            && place + 1 >= first
            && seen.sent.is_empty()
        {
            seen.sent = numbers;
        }
    }
    Ok(seen)
}

/// The choice; a refusal is recorded by its symbol.
fn one_round(
    learner: &mut dyn Learner,
    step: &Step,
    round: u64,
) -> (f64, Option<(f64, crate::Error)>) {
    let arm = match learner.choose(&step.arms, round) {
        Ok(arm) => arm,
        Err(error) => return (REFUSED_TO_CHOOSE, Some((REFUSED_TO_CHOOSE, error))),
    };
    if arm >= step.arms.count() {
        let remedy =
            format!("the learner chose this arm, but there are only {} arms", step.arms.count());
        let error = reticent::Error::invalid("arm", arm, remedy).into();
        return (REFUSED_TO_CHOOSE, Some((REFUSED_TO_CHOOSE, error)));
    }
    match step.reward {
        Some(reward) => match observe(learner, step, round, arm, reward) {
            Ok(()) => (arm as f64, None),
            Err(error) => (arm as f64, Some((REFUSED_A_REWARD, error))),
        },
        None => {
            learner.dismiss(round);
            (arm as f64, None)
        }
    }
}

fn observe(
    learner: &mut dyn Learner,
    step: &Step,
    round: u64,
    arm: usize,
    reward: f64,
) -> Result<()> {
    learner.observe_in_block(round, step.arms.block(arm), &step.arms.arm(arm), reward)
}

/// The script whose data sets a pilot separates best.
struct Pilot {
    script: Script,
    /// The count of numbers sent in it.
    numbers: usize,
    positions: Positions,
    /// Runs with the same seed were the same on both data sets, in every script.
    unmoved: bool,
}

impl Pilot {
    fn run(scripts: Vec<Script>, horizon: u64, make: &Maker) -> Result<Self> {
        let round = |script: &Script| script.person as u64 + 1;
        let mut attacked: Vec<u64> = scripts.iter().map(round).collect();
        attacked.dedup();
        let mut best: Option<(f64, Script, usize)> = None;
        let (mut refusal, mut unmoved) = (None, true);
        for (index, script) in scripts.into_iter().enumerate() {
            // A learner that fails in every script must not be called private.
            let probe = |data| script.run(data, make, mix(0x504c_4159, index as u64));
            let (first, second) = (probe(DataSet::First)?, probe(DataSet::Second)?);
            let numbers = first.sent.len().max(second.sent.len());
            let words = |seen: &Seen| seen.stopped.as_ref().map(ToString::to_string);
            if words(&first).is_some()
                && words(&first) == words(&second)
                && first.choices == second.choices
            {
                refusal = first.stopped;
                continue;
            }
            let draw = |data: DataSet| -> Result<Vec<Vec<f64>>> {
                let base = mix(0x5049_4c4f, index as u64);
                let run = |run| Ok(script.run(data, make, mix(base, run))?.view(numbers));
                (0..2 * PILOT).map(run).collect()
            };
            let (one, two) = (draw(DataSet::First)?, draw(DataSet::Second)?);
            unmoved &= one == two;
            let half = PILOT as usize;
            let test = Test::Transcript { choices: script.symbols() };
            let learned = test.learn(&one[..half], &two[..half]);
            let apart = advantage(&learned, &one[half..], &two[half..]);
            if best.as_ref().is_none_or(|(most, ..)| apart > *most) {
                best = Some((apart, script, numbers));
            }
        }
        let Some((_, script, numbers)) = best else {
            return Err(refusal.unwrap_or_else(|| {
                let remedy = "there is no person to replace: give more rounds, or wider bounds";
                reticent::Error::invalid("people", "missing", remedy).into()
            }));
        };
        for run in 0..if unmoved { SCREENING } else { 0 } {
            let seed = mix(0x5341_4d45, run);
            let view =
                |data| -> Result<Vec<f64>> { Ok(script.run(data, make, seed)?.view(numbers)) };
            unmoved &= view(DataSet::First)? == view(DataSet::Second)?;
        }
        let (of, worst) = (script.steps.len() as u64, round(&script));
        let positions = Positions { attacked, of, horizon: horizon.max(of), worst };
        Ok(Pilot { script, numbers, positions, unmoved })
    }
}

/// The largest difference of the two data sets' rates above a threshold at zero, over all scores.
fn advantage(learned: &Learned, one: &[Vec<f64>], two: &[Vec<f64>]) -> f64 {
    let scores = |views: &[Vec<f64>]| -> Vec<Vec<f64>> {
        views.iter().map(|view| learned.scores(view.clone())).collect()
    };
    let (one, two) = (scores(one), scores(two));
    let count = one.first().map_or(0, Vec::len);
    let mut best: f64 = 0.0;
    for index in 0..count {
        // The midpoint of the two means serves as the threshold, also for numbers that are not log-ratios.
        let mean =
            |runs: &[Vec<f64>]| runs.iter().map(|run| run[index]).sum::<f64>() / runs.len() as f64;
        let middle = 0.5 * (mean(&one) + mean(&two));
        let above = |runs: &[Vec<f64>]| {
            runs.iter().filter(|run| run[index] > middle).count() as f64 / runs.len() as f64
        };
        best = best.max(above(&two) - above(&one));
    }
    best
}

/// Everybody's features are orthogonal to the person's, if the dimension permits; queries in between. More pairs for code without a
/// computed certificate.
fn queries(stage: &Stage, stated: bool, length: usize, places: &[usize]) -> Result<Vec<Script>> {
    let Bounds { dimension: d, rewards: (low, high), .. } = stage.bounds;
    let corners = Corners(&stage.bounds);
    let set = |one: Vec<f64>, two: Vec<f64>| {
        let mut arms = Arms::from_rows(d, &[one, two])?;
        if !stage.bounds.structure.is_dense() {
            arms.set_blocks(&[0, 0])?;
        }
        Ok::<Arms, reticent::Error>(arms)
    };
    let (along, against) = (corners.at(1.0, 0.0), corners.at(-1.0, 0.0));
    let across = if corners.free() > 1 { corners.at(0.0, 1.0) } else { against.clone() };
    let other =
        Step { arms: set(across.clone(), across.clone())?, reward: Some(0.5 * (low + high)) };
    let query = Step { arms: set(along.clone(), against.clone())?, reward: None };
    let person = |features: &[f64], reward: f64| -> Result<Step> {
        Ok(Step { arms: set(features.to_vec(), features.to_vec())?, reward: Some(reward) })
    };
    let mut pairs = vec![(person(&along, high)?, person(&along, low)?)];
    if !stage.public_arms {
        pairs.push((person(&along, high)?, person(&against, low)?));
    }
    if !stage.public_arms && stated {
        pairs.push((person(&along, low)?, person(&against, low)?));
        pairs.push((person(&along, high)?, person(&across, high)?));
    }
    let mut scripts = Vec::new();
    for &place in places {
        let mut steps = vec![other.clone(); place + 1];
        for after in 1.. {
            if after <= EAGER || after % EVERY == 0 {
                steps.push(query.clone());
            }
            steps.push(other.clone());
            if steps.len() >= length {
                break;
            }
        }
        steps.truncate(length);
        let script = |pair| Script { steps: steps.clone(), person: place, pair };
        scripts.extend(pairs.iter().cloned().map(script));
    }
    Ok(scripts)
}

/// Extreme points of the permitted features.
struct Corners<'a>(&'a Bounds);

impl Corners<'_> {
    /// Coordinates other than the constant one.
    fn free(&self) -> usize {
        self.0.dimension - usize::from(self.0.intercept.is_some())
    }

    fn at(&self, one: f64, two: f64) -> Vec<f64> {
        let Bounds { dimension: d, feature_bound, intercept, .. } = *self.0;
        let constant = intercept.unwrap_or(0.0);
        let free = (feature_bound * feature_bound - constant * constant).max(0.0).sqrt();
        let mut features = vec![0.0; d];
        features[0] = free * one;
        if d > 1 {
            features[1] = free * two;
        }
        if intercept.is_some() {
            features[d - 1] = constant;
        }
        features
    }
}
