//! Learners that are stepped round by round: all but those that are simulated in whole blocks.
//!
//! **Certificates.** A learner of your own sees people's data as they are, and nothing is known of what it does with them. What you promise for it
//! ([`Stepped::promising`]) is marked as stated and not checked wherever it is shown, and `audit` plays the learner to refute it. A
//! certificate that is computed comes from an aggregator: the learners of this room own theirs, and [`Stepped::curated`] puts one
//! between people and a rule of your own, which sees releases only.

use std::{path::PathBuf, sync::Arc};

use reticent::{
    bandit::{Arms, Outlook, Policy},
    privacy::{Guarantee, Provenance},
    release::{PrivateSum, PrivateSumParams, Release},
};

use super::{
    BanditEnvironment,
    contributions::AtMost,
    decision_log::{self, DecisionLog},
    saved::{self, SavedLearner, WarmStart},
};
use crate::{
    FastNoise, Result,
    algorithm::{Bound, Card, RunnableAlgorithm},
    audit::attack::{
        self, Attack, Attacks,
        learner::{self, Recorded, Stage, Step},
    },
    play::{
        Learner,
        trial::{Measure, Trial, mix, name_hash},
    },
};

/// Makes the learner of one trial from its number and the seed of its noise.
pub type Start = Arc<dyn Fn(u64, u64) -> Result<Box<dyn Learner>> + Send + Sync>;

/// The seeds of a trial: that of its people, which every algorithm meets, and that of the noise of the algorithm of this name.
pub fn trial_seeds(seed: u64, trial: u64, name: &str) -> (u64, u64) {
    let people = mix(seed, trial);
    (people, mix(people, name_hash(name)))
}

/// An algorithm made of a learner.
pub struct Stepped {
    /// Its promises, and attacks on them besides those that play its learners.
    pub(super) card: Card,
    /// Source of arms and rewards.
    pub(super) environment: BanditEnvironment,
    /// Makes the learner of one trial.
    pub(super) start: Start,
    /// Folder in which each trial's learner is saved.
    pub save: Option<PathBuf>,
    /// Folder in which each trial's decisions are logged.
    pub log: Option<PathBuf>,
    /// Its promises are for rewards only: features are public.
    pub(super) public_arms: bool,
    /// Its learners take no arms but those of the first round.
    pub(super) fixed_arms: bool,
    /// State that it begins with.
    pub(super) warm_start: Option<WarmStart>,
    /// Reason why it can be certified but not run.
    pub(super) refusal: Option<reticent::Error>,
    /// Bound of its theorem on the regret after a number of rounds.
    pub(super) bound: Option<Box<dyn Fn(u64) -> Bound + Send + Sync>>,
}

impl Stepped {
    /// An algorithm that promises nothing yet.
    pub fn new(
        name: String,
        environment: &BanditEnvironment,
        start: impl Fn(u64) -> Result<Box<dyn Learner>> + Send + Sync + 'static,
    ) -> Self {
        Stepped::by_trial(name, environment, Arc::new(move |_, seed| start(seed)))
    }

    /// The same with learners that differ from trial to trial.
    pub(super) fn by_trial(name: String, environment: &BanditEnvironment, start: Start) -> Self {
        Stepped {
            card: Card { name, ..Card::default() },
            environment: environment.clone(),
            start,
            save: None,
            log: None,
            public_arms: false,
            fixed_arms: false,
            warm_start: None,
            refusal: None,
            bound: None,
        }
    }

    /// A rule of your own behind an aggregator of the core: people's data go into a running sum, and the rule makes a policy of each of its
    /// releases. The rule sees nothing else of a person, so the certificate is that of the sum (post-processing), computed.
    ///
    /// `sums` is what people's features and rewards are clipped to and how the sum is released, with the horizon of the environment or none.
    /// Before the first release the choice is the same for everybody.
    pub fn curated(
        name: String,
        environment: &BanditEnvironment,
        sums: PrivateSumParams,
        delta: f64,
        rule: impl Fn(&Release) -> Result<Policy> + Send + Sync + 'static,
    ) -> Result<Self> {
        let (expected, found) = (environment.bounds.dimension, sums.domain.dimension());
        if expected != found || environment.bounds.structure != sums.domain.structure() {
            return Err(reticent::Error::Dimension { field: "sums", expected, found }.into());
        }
        if sums.horizon.is_some_and(|horizon| horizon < environment.rounds) {
            let remedy = format!("expected at least the {} rounds, or none", environment.rounds);
            let horizon = sums.horizon.unwrap_or_default();
            return Err(reticent::Error::invalid("horizon", horizon, remedy).into());
        }
        let learnt = environment.contributions_per_person.unwrap_or(1);
        if learnt != sums.contributions_per_person {
            let remedy = format!(
                "the environment learns from {learnt} rounds of a person: give both the same"
            );
            let priced = sums.contributions_per_person;
            return Err(reticent::Error::invalid("contributions_per_person", priced, remedy).into());
        }
        let guarantee = sums.check()?.guarantee(delta)?.simulated();
        let certified = guarantee.clone();
        let value = sums.clone();
        let attacks = move || Ok(attack::sums::attacks(&value, &certified));
        let (plan, rule) = (sums.check()?, Arc::new(rule));
        let (dimension, structure) = (sums.domain.dimension(), sums.domain.structure());
        let blocks = structure.blocks;
        let learner = move |seed| {
            let whitening = vec![0.0; blocks * (dimension * (dimension + 1) / 2)];
            let theta = vec![0.0; blocks * dimension];
            let policy = Policy::in_blocks(dimension, structure, theta, whitening, 0.0, 0.0)?;
            let sum = plan.clone().start(FastNoise::seeded(seed));
            Ok(Box::new(Curated { sum, rule: rule.clone(), policy }) as Box<dyn Learner>)
        };
        let stepped = Stepped::new(name, environment, learner);
        Ok(stepped.certified_by(guarantee).attacked_by(attacks))
    }

    /// The same with a promise of yours: shown as stated and not checked, and attacked by `audit`.
    pub fn promising(self, guarantee: Guarantee) -> Self {
        self.certified_by(guarantee.stated())
    }

    /// The same with the guarantee of the aggregator or randomiser that its learners own.
    pub(crate) fn certified_by(mut self, guarantee: Guarantee) -> Self {
        let mut guarantee = self.environment.conditions(guarantee);
        if let Some(warm) = &self.warm_start {
            guarantee = guarantee.with_condition(warm.condition());
        }
        self.card.guarantee = Some(guarantee);
        self
    }

    /// Adds attacks on its guarantee, which are made when an audit asks for them, to those that play its learners.
    pub fn attacked_by(
        mut self,
        attacks: impl Fn() -> Result<Vec<Attack>> + Send + Sync + 'static,
    ) -> Self {
        self.card.attacks = Attacks::new(attacks);
        self
    }

    /// Decision sets and rewards of its own environment, drawn once, and those of others.
    fn recorded(&self) -> Result<Recorded> {
        let rounds = self.environment.rounds.min(learner::MOST_STEPS);
        let drawn = |seed: u64| -> Result<Vec<Step>> {
            let mut recorder = Recorder(Vec::new());
            self.environment.trial(seed, 0, &mut recorder, &[rounds])?;
            Ok(recorder.0)
        };
        Ok(Recorded { people: drawn(1)?, others: drawn(2)? })
    }

    /// One trial of a learner in this environment, which learns from as many rounds of a person as the certificate is for.
    fn play(
        &self,
        learner: &mut dyn Learner,
        (seed, trial): (u64, u64),
        checkpoints: &[u64],
    ) -> Result<Trial> {
        let Some(most) = self.environment.contributions_per_person else {
            return self.environment.trial(seed, trial, learner, checkpoints);
        };
        let mut counted = AtMost::new(learner, most);
        let mut result = self.environment.trial(seed, trial, &mut counted, checkpoints)?;
        result.measures.extend(self.environment.returns.map(|_| counted.measure()));
        Ok(result)
    }

    /// The same with more to tell.
    pub fn remarking(mut self, remarks: impl IntoIterator<Item = String>) -> Self {
        self.card.remarks.extend(remarks);
        self
    }

    /// With the outlook of its plan.
    pub(super) fn with_outlook(mut self, outlook: Option<Outlook>) -> Self {
        self.card.outlook = outlook;
        self
    }
}

impl crate::algorithm::sealed::Sealed for Stepped {}

impl RunnableAlgorithm for Stepped {
    fn card(&self) -> &Card {
        &self.card
    }

    fn learner_attacks(&self) -> Result<Vec<Attack>> {
        let Some(guarantee) = &self.card.guarantee else { return Ok(Vec::new()) };
        let BanditEnvironment { bounds, arms, rounds, .. } = self.environment;
        // Queries are other arms, which a learner of fixed arms refuses.
        let queried = if self.fixed_arms { 1 } else { arms };
        let stage = Stage { bounds, arms: queried, rounds, public_arms: self.public_arms };
        // A user's own learner may understand no arms but those of its own environment.
        let recorded = match guarantee.provenance() {
            Provenance::Stated => Some(self.recorded()?),
            Provenance::Computed if self.fixed_arms => Some(self.recorded()?),
            Provenance::Computed => None,
        };
        let start = self.start.clone();
        let make: learner::Maker = Arc::new(move |seed| start(0, seed));
        Ok(learner::attacks(&stage, recorded, guarantee, &make))
    }

    fn remarks(&self) -> Vec<String> {
        let warm = self.warm_start.as_ref().map(|warm| match self.card.guarantee {
            Some(_) => warm.remark(),
            None => warm.condition(),
        });
        let logged = self.log.as_deref().map(decision_log::remark);
        let outlook = self.outlook().map(|outlook| outlook.to_string());
        let own = self.card.remarks.iter().cloned().chain(outlook).chain(warm).chain(logged);
        own.chain(self.environment.trials.remarks()).collect()
    }

    fn bounds(&self, rounds: u64) -> Vec<Bound> {
        self.bound.iter().map(|bound| bound(rounds)).collect()
    }

    fn headline(&self) -> Option<&'static str> {
        self.environment.trials.headline()
    }

    fn runnable(&self, seed: u64, trial: u64) -> Result<()> {
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone().into());
        }
        if let Some(folder) = &self.log {
            decision_log::possible(folder, self.name(), &self.environment, trial)?;
        }
        self.warm_start.as_ref().map_or(Ok(()), |warm| warm.other_people(seed, trial))
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        let (_, own) = trial_seeds(seed, trial, self.name());
        let mut learner = (self.start)(trial, own)?;
        if let Some(warm) = &self.warm_start {
            warm.other_people(seed, trial)?;
        }
        let left = self.save.as_ref().map(|folder| saved::file(folder, trial));
        // Before the work, and again after it: another may have come meanwhile.
        left.iter().try_for_each(|path| SavedLearner::has_room(self.name(), path))?;
        let mut result = match &self.log {
            None => self.play(learner.as_mut(), (seed, trial), checkpoints)?,
            Some(folder) => {
                let (name, environment) = (self.name(), &self.environment);
                let mut log =
                    DecisionLog::begin(learner.as_mut(), folder, name, environment, trial)?;
                let result = self.play(&mut log, (seed, trial), checkpoints)?;
                log.finish()?;
                result
            }
        };
        result.measures.extend(learner.cold_releases().map(Measure::cold_releases));
        if let Some(path) = left {
            let Some(knowledge) = learner.knowledge() else {
                let remedy = "the learner has nothing to leave: it cannot be saved, or has released nothing yet; give more rounds";
                let path = path.display().to_string();
                return Err(reticent::Error::invalid("save", path, remedy).into());
            };
            SavedLearner::has_room(self.name(), &path)?;
            let guarantee = self.guarantee();
            let began_with = self.warm_start.as_ref().map(|warm| warm.of(trial)).transpose()?;
            let saved =
                SavedLearner::new(self.name(), (seed, trial), guarantee, began_with, knowledge);
            saved.write(&path)?;
        }
        Ok(result)
    }

    fn leaves(&self, trial: u64) -> Vec<PathBuf> {
        let learner = self.save.as_ref().map(|folder| saved::file(folder, trial));
        let log = self.log.as_ref().map(|folder| decision_log::experiment(folder, trial));
        learner.into_iter().chain(log).collect()
    }

    fn data_hash(&self) -> u64 {
        let data = self.environment.trials.data_hash();
        self.warm_start.as_ref().map_or(data, |warm| mix(data, warm.hash()))
    }
}

/// A user's own rule behind a running sum of the core.
struct Curated<R> {
    sum: PrivateSum<FastNoise>,
    rule: Arc<R>,
    policy: Policy,
}

impl<R: Fn(&Release) -> Result<Policy>> Learner for Curated<R> {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        Ok(self.policy.choose(arms, round)?)
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
        self.observe_in_block(round, 0, features, reward)
    }

    fn observe_in_block(
        &mut self,
        _: u64,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<()> {
        let contribution = self.sum.clip_in_block(block, features, reward)?;
        if let Some(release) = self.sum.absorb(&contribution)? {
            self.policy = (self.rule)(&release)?;
        }
        Ok(())
    }
}

/// Writes down whom it meets; takes the first arm of everybody.
struct Recorder(Vec<Step>);

impl Learner for Recorder {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        self.0.push(Step { arms: arms.clone(), reward: None });
        Ok(0)
    }

    fn observe(&mut self, round: u64, _: &[f64], reward: f64) -> Result<()> {
        if let Some(step) = self.0.get_mut(round as usize - 1) {
            step.reward = Some(reward);
        }
        Ok(())
    }
}
