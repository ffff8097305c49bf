//! Attacks on a player: the object that a trial would run is played in two neighbouring worlds, whatever its certificate.
//!
//! The other attacks of this module run a mechanism built from its parameters. They do not test code that has a certificate but does
//! something else with people's data. Here one person's features and reward are replaced, everybody else is the same in both worlds, and
//! the adversary sees what joint privacy protects: the choices made for everybody after that person, that the player stopped if it did, and
//! what devices or a shuffler [`sent`](Player::sent) where the trust model distrusts those who receive it.
//!
//! | script | others | what it is for |
//! | --- | --- | --- |
//! | questions | bring features that are orthogonal to the person's and rewards in the middle of their range, so that the person alone decides the sign of `theta_1`; between them somebody chooses between opposite arms and never answers | noise that is missing or too small, data that are shown, stops |
//! | its environment | decision sets and rewards that the environment drew once | players that understand the arms of their own environment only |
//!
//! The pair of people and their round are chosen in a separate pilot, because leaks of rewards, of features and after a delay need
//! different pairs. Correct noise hides the person, so that the bound stays below the guarantee; an attack through actions is weak if the
//! noise is right, and strong if it is missing.

use std::sync::Arc;

use reticent::{
    bandit::Arms,
    noise::Noise,
    privacy::{Guarantee, Provenance},
    randomize::Bounds,
};

use super::{Attack, AuditNoise, Test, View, World, learned::Learned};
use crate::{Result, simulate::Player, trial::mix};

/// Makes the player of one run from the seed of its noise.
pub type Maker = Arc<dyn Fn(u64) -> Result<Box<dyn Player>> + Send + Sync>;

/// The largest number of rounds of a script, questions included: the default schedule releases after 64 rewards, and then every 16.
pub const MOST_STEPS: u64 = 160;
/// The same for players whose mechanism is also attacked from its parameters: slightly more than one release.
const FEW_STEPS: u64 = 84;
/// A question follows each of the first people after the attacked one, and later every few people.
const EAGER: usize = 4;
const EVERY: usize = 12;
/// Runs of each world for the bound.
const FEW_SAMPLES: u64 = 2000;
const MOST_SAMPLES: u64 = 100_000;
/// Runs of each world in the pilot: this many to learn from, and as many to compare.
const PILOT: u64 = 12;

/// The recorded symbol if there is no choice: the player refused to choose, or had refused a reward.
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

/// The people of both worlds.
#[derive(Debug, Clone)]
pub struct Script {
    /// Everybody, in order; the entry at `person` is replaced.
    pub steps: Vec<Step>,
    /// The index of the attacked person.
    pub person: usize,
    /// The attacked person's data in the first and in the second world.
    pub pair: (Step, Step),
}

/// What an audit must know to run a player.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The bounds on people's data.
    pub bounds: Bounds,
    /// The largest number of arms of a decision set.
    pub arms: usize,
    /// The number of rounds that the player is built for.
    pub rounds: u64,
    /// Features are public: neighbours differ in the reward only.
    pub public_arms: bool,
}

/// Attacks on the player: by questions, and with the scripts of its environment.
pub fn attacks(
    stage: &Stage,
    environment: Vec<Script>,
    guarantee: &Guarantee,
    make: &Maker,
) -> Vec<Attack> {
    let mut all = Vec::new();
    if stage.arms > 1 && stage.rounds > 1 {
        let adversary = "plays the player itself: sees every later choice, stops, and what is sent; others orthogonal, questions between opposite arms; worst of a pool of pairs, learned test";
        let (stage, stated) = (stage.clone(), guarantee.provenance() == Provenance::Stated);
        all.push(attack(adversary, guarantee, make, move || questions(&stage, stated)));
    }
    if !environment.is_empty() {
        let adversary = "plays the player itself in its environment: sees every later choice, stops, and what is sent; one person and reward replaced; learned test";
        all.push(attack(adversary, guarantee, make, move || Ok(environment.clone())));
    }
    all
}

fn attack(
    adversary: &str,
    guarantee: &Guarantee,
    make: &Maker,
    scripts: impl Fn() -> Result<Vec<Script>> + Send + Sync + 'static,
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
    let attack = Attack::new(adversary, guarantee, samples, move || {
        let (script, numbers) = worst(scripts()?, &make)?;
        let (choices, make) = (script.choices() + 1, make.clone());
        let view: View = Box::new(move |world, mut noise: AuditNoise| {
            Ok(script.run(world, &make, noise.bits())?.view(numbers))
        });
        Ok((view, Test::Transcript { choices }))
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
    /// Why the player stopped, if it did.
    stopped: Option<crate::Error>,
}

impl Seen {
    /// The choices, the count of numbers sent, and the first `numbers` of them.
    fn view(self, numbers: usize) -> Vec<f64> {
        let mut view = self.choices;
        view.push(self.sent.len() as f64);
        view.extend(self.sent.into_iter().chain(std::iter::repeat(0.0)).take(numbers));
        view
    }
}

impl Script {
    /// Recorded people with one of them replaced, early or later: by the same decision set with the other reward, and, unless features are
    /// public, by somebody else's.
    pub fn replacing(
        people: &[Step],
        others: &[Step],
        (low, high): (f64, f64),
        public_arms: bool,
    ) -> Vec<Self> {
        let person = |step: &Step, reward| Step { arms: step.arms.clone(), reward: Some(reward) };
        let mut scripts = Vec::new();
        for place in [0, people.len() / 8] {
            let (Some(one), Some(two)) = (people.get(place), others.get(place)) else { continue };
            for other in if public_arms { vec![one] } else { vec![one, two] } {
                let pair = (person(one, high), person(other, low));
                scripts.push(Script { steps: people.to_vec(), person: place, pair });
            }
        }
        scripts
    }

    /// Choices that the adversary sees.
    fn choices(&self) -> usize {
        self.steps.len() - self.person - 1
    }

    fn run(&self, world: World, make: &Maker, seed: u64) -> Result<Seen> {
        let mut player = make(seed)?;
        let mut seen = Seen { choices: Vec::new(), sent: Vec::new(), stopped: None };
        for (place, step) in self.steps.iter().enumerate() {
            let step = match place == self.person {
                true => world.pick((&self.pair.0, &self.pair.1)),
                false => step,
            };
            let (choice, failure) = one_round(player.as_mut(), step, place as u64 + 1);
            if place > self.person {
                seen.choices.push(choice);
            }
            if let Some((code, error)) = failure {
                seen.choices.resize(self.choices(), code);
                seen.stopped = Some(error);
                break;
            }
            if let Some(numbers) = player.sent()
                && place >= self.person
                && seen.sent.is_empty()
            {
                seen.sent = numbers;
            }
        }
        Ok(seen)
    }
}

/// The choice; a refusal is recorded by its symbol.
fn one_round(
    player: &mut dyn Player,
    step: &Step,
    round: u64,
) -> (f64, Option<(f64, crate::Error)>) {
    let arm = match player.choose(&step.arms, round) {
        Ok(arm) => arm,
        Err(error) => return (REFUSED_TO_CHOOSE, Some((REFUSED_TO_CHOOSE, error))),
    };
    if arm >= step.arms.count() {
        let remedy =
            format!("the player chose this arm, but there are only {} arms", step.arms.count());
        let error = reticent::Error::invalid("arm", arm, remedy).into();
        return (REFUSED_TO_CHOOSE, Some((REFUSED_TO_CHOOSE, error)));
    }
    match step.reward {
        Some(reward) => match observe(player, step, round, arm, reward) {
            Ok(()) => (arm as f64, None),
            Err(error) => (arm as f64, Some((REFUSED_A_REWARD, error))),
        },
        None => {
            player.dismiss(round);
            (arm as f64, None)
        }
    }
}

fn observe(
    player: &mut dyn Player,
    step: &Step,
    round: u64,
    arm: usize,
    reward: f64,
) -> Result<()> {
    player.observe_in_block(round, step.arms.block(arm), &step.arms.arm(arm), reward)
}

/// The script whose worlds the pilot separates best, and the count of numbers sent in it.
fn worst(scripts: Vec<Script>, make: &Maker) -> Result<(Script, usize)> {
    let mut best: Option<(f64, Script, usize)> = None;
    let mut refusal = None;
    for (index, script) in scripts.into_iter().enumerate() {
        // A player that fails in every script must not be called private.
        let probe = |world| script.run(world, make, mix(0x504c_4159, index as u64));
        let (first, second) = (probe(World::First)?, probe(World::Second)?);
        if first.stopped.is_some() && second.stopped.is_some() && first.choices == second.choices {
            refusal = first.stopped;
            continue;
        }
        let numbers = first.sent.len().max(second.sent.len());
        let draw = |world: World| -> Result<Vec<Vec<f64>>> {
            let base = mix(0x5049_4c4f, 2 * index as u64 + world as u64);
            let run = |run| Ok(script.run(world, make, mix(base, run))?.view(numbers));
            (0..2 * PILOT).map(run).collect()
        };
        let (one, two) = (draw(World::First)?, draw(World::Second)?);
        let half = PILOT as usize;
        let test = Test::Transcript { choices: script.choices() + 1 };
        let learned = test.learn(&one[..half], &two[..half]);
        let apart = advantage(&learned, &one[half..], &two[half..]);
        if best.as_ref().is_none_or(|(most, ..)| apart > *most) {
            best = Some((apart, script, numbers));
        }
    }
    best.map(|(_, script, numbers)| (script, numbers)).ok_or_else(|| {
        refusal.unwrap_or_else(|| {
            let remedy = "there is no person to replace: give more rounds, or wider bounds";
            reticent::Error::invalid("people", "none", remedy).into()
        })
    })
}

/// The largest difference of the two worlds' rates above a threshold at zero, over all scores.
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

/// Everybody's features are orthogonal to the person's, if the dimension permits; questions in between. More pairs and longer scripts for
/// code without a computed certificate.
fn questions(stage: &Stage, stated: bool) -> Result<Vec<Script>> {
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
    let question = Step { arms: set(along.clone(), against.clone())?, reward: None };
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
    let length = stage.rounds.min(if stated { MOST_STEPS } else { FEW_STEPS }) as usize;
    let mut places = vec![0, length / 8];
    places.dedup();
    let mut scripts = Vec::new();
    for place in places {
        let mut steps = vec![other.clone(); place + 1];
        for after in 1.. {
            if after <= EAGER || after % EVERY == 0 {
                steps.push(question.clone());
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
