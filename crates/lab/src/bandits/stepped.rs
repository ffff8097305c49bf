//! Learners that are stepped round by round: all but those that are simulated in whole blocks.

use std::path::PathBuf;

use reticent::privacy::Guarantee;

use super::{
    Setting,
    contributions::AtMost,
    saved::{self, SavedLearner, WarmStart},
};
use crate::{
    Result,
    audit::Attack,
    contest::{Certificate, Contestant, Trial, mix, name_hash},
    simulate::Player,
};

/// Makes the player of one trial from its number and the seed of its noise.
pub type Start = Box<dyn Fn(u64, u64) -> Result<Box<dyn Player>> + Send + Sync>;

/// A contestant made of a player.
pub struct Stepped {
    /// What the report calls it.
    pub name: String,
    /// What may be promised; the weakest promise where people differ.
    pub guarantee: Option<Guarantee>,
    /// Promises to single people, where they differ.
    pub certificates: Vec<Certificate>,
    /// What a careful reader must know.
    pub remarks: Vec<String>,
    /// Where arms and rewards come from.
    pub setting: Setting,
    /// Makes the player of one trial.
    pub start: Start,
    /// Folder in which each trial's learner is saved.
    pub save: Option<PathBuf>,
    /// How its promises can be attacked.
    pub attacks: Vec<Attack>,
    /// What it begins with.
    pub(super) warm_start: Option<WarmStart>,
    /// Why it can be certified but not run.
    pub(super) refusal: Option<reticent::Error>,
}

impl Stepped {
    /// A contestant that promises nothing yet.
    pub fn new(
        name: String,
        setting: &Setting,
        start: impl Fn(u64) -> Result<Box<dyn Player>> + Send + Sync + 'static,
    ) -> Self {
        Stepped {
            name,
            guarantee: None,
            certificates: Vec::new(),
            remarks: Vec::new(),
            setting: setting.clone(),
            start: Box::new(move |_, seed| start(seed)),
            save: None,
            attacks: Vec::new(),
            warm_start: None,
            refusal: None,
        }
    }

    /// The same with a promise.
    pub fn promising(mut self, guarantee: Guarantee) -> Self {
        let mut guarantee = self.setting.conditions(guarantee);
        if let Some(warm) = &self.warm_start {
            guarantee = guarantee.with_condition(warm.condition());
        }
        self.guarantee = Some(guarantee);
        self
    }

    /// The same, and how its promises can be attacked.
    pub fn attacked_by(mut self, attacks: Vec<Attack>) -> Self {
        self.attacks = attacks;
        self
    }

    /// The same with more to tell.
    pub fn remarking(mut self, remarks: impl IntoIterator<Item = String>) -> Self {
        self.remarks.extend(remarks);
        self
    }
}

impl Contestant for Stepped {
    fn name(&self) -> &str {
        &self.name
    }

    fn guarantee(&self) -> Option<&Guarantee> {
        self.guarantee.as_ref()
    }

    fn certificates(&self) -> &[Certificate] {
        &self.certificates
    }

    fn attacks(&self) -> &[Attack] {
        &self.attacks
    }

    fn remarks(&self) -> Vec<String> {
        let warm = self.warm_start.as_ref().map(|warm| match self.guarantee {
            Some(_) => warm.remark(),
            None => warm.condition(),
        });
        self.remarks.iter().cloned().chain(warm).chain(self.setting.world.remarks()).collect()
    }

    fn runnable(&self, seed: u64, trial: u64) -> Result<()> {
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone().into());
        }
        self.warm_start.as_ref().map_or(Ok(()), |warm| warm.other_people(seed, trial))
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        let own = mix(mix(seed, trial), name_hash(&self.name));
        let mut player = (self.start)(trial, own)?;
        if let Some(warm) = &self.warm_start {
            warm.other_people(seed, trial)?;
        }
        let left = self.leaves(trial);
        // Before the work, and again after it: another may have come meanwhile.
        left.iter().try_for_each(|path| SavedLearner::has_room(&self.name, path))?;
        let world = &self.setting.world;
        let result = match self.setting.contributions_per_person {
            None => world.trial(seed, trial, player.as_mut(), checkpoints)?,
            Some(most) => {
                let mut counted = AtMost::new(player.as_mut(), most);
                let mut result = world.trial(seed, trial, &mut counted, checkpoints)?;
                let returns = self.setting.returns.is_some();
                result.measures.extend(returns.then(|| counted.measure()));
                result
            }
        };
        if let (Some(path), Some(knowledge)) = (left, player.knowledge()) {
            SavedLearner::has_room(&self.name, &path)?;
            let guarantee = self.guarantee.as_ref();
            let began_with = self.warm_start.as_ref().map(|warm| warm.of(trial)).transpose()?;
            let saved =
                SavedLearner::new(&self.name, (seed, trial), guarantee, began_with, knowledge);
            saved.write(&path)?;
        }
        Ok(result)
    }

    fn leaves(&self, trial: u64) -> Option<PathBuf> {
        self.save.as_ref().map(|folder| saved::file(folder, trial))
    }

    fn data_hash(&self) -> u64 {
        let world = self.setting.world.data_hash();
        self.warm_start.as_ref().map_or(world, |warm| mix(world, warm.hash()))
    }
}
