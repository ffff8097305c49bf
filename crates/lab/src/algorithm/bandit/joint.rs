//! `kind = "joint"`: a trusted curator, from lines in a TOML file to core's learner on simulation noise.
//!
//! In `paper` mode there are two: the trees of Shariff and Sheffet, by the name of their mechanism, and the public code of Chowdhury and
//! Zhou in environments whose arms share a constant. `printed` mode has the former with the constants of the text.

use std::{path::PathBuf, sync::Arc};

use reticent::{
    bandit::{Arms, Curator, JointParams, JointPlan, Legacy, RewardWindow, Rule},
    privacy::TrustModel,
    randomize::Intercept,
    release::{Mechanism, Schedule},
    schema::{Count, Positive},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    BanditEnvironment, BlockPlayed, Budget, Start, Stepped,
    joint_blocks::Builder,
    nothing_is_ignored,
    public_code::PublicCode,
    rule_remarks,
    saved::{SavedLearner, WarmStart},
    summed::Summed,
    ticketed::Ticketed,
};
use crate::{
    FastNoise, Result,
    algorithm::RunnableAlgorithm,
    audit::attack,
    papers::constants::{
        joint::{self, Constants, JointMechanism, JointMode, Published, PublishedNoise},
        local::PublishedMechanism,
    },
    play::{Knowledge, Learner},
};

/// Keys of `kind = "joint"`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JointToml {
    /// Name in the report.
    pub name: Option<String>,
    /// Requested epsilon and delta.
    pub privacy: Budget,
    /// `exact`, `paper` for a publication's constants as its authors ran them, or `printed` for those of its text.
    #[serde(default)]
    pub mode: JointMode,
    /// Mechanism of the noise: a mechanism of core, as `blt` or `reports` (each contribution randomised by itself), by whichever suits the budget, or in `paper` mode by a publication's, as `gaussian_tree`; in the gap environment
    /// `gaussian_tree` in `exact` mode is the same tree with exactly calibrated noise.
    #[serde(default)]
    pub mechanism: JointMechanism,
    /// Rule from releases to policies: `tuned`, `certified`, `thompson` or `fixed`.
    pub rule: Option<Rule>,
    /// `paper` or `printed`: the publication's confidence set in place of a rule, for its Gaussian tree; it has it in these modes anyway.
    #[serde(default)]
    pub confidence: JointMode,
    /// rho_min to shift the regulariser to, in place of the publication's (Experiment 3).
    #[schemars(with = "Option<Positive>")]
    pub minimum: Option<f64>,
    /// Wishart only: dummy nodes drawn anew at every release, not kept as long as real ones would be.
    #[serde(default)]
    pub fresh_dummies: bool,
    /// Schedule on which sums are released and the policy learns; by default the one that suits the budget.
    pub schedule: Option<Schedule>,
    /// The last feature of all arms, with which rewards are centred, or `false`: by default the environment's, where there is one, in `exact`
    /// mode.
    pub intercept: Option<Intercept>,
    /// Number of rewards after which everything is forgotten: for a theta* that moves.
    #[schemars(with = "Option<Count>")]
    pub restart_every: Option<u64>,
    /// Half-life in decisions: the number after which a contribution counts half. `schedule` then has constant gaps, by default 64 in a half-life and at
    /// most 64 decisions.
    #[schemars(with = "Option<Positive>")]
    pub forget: Option<f64>,
    /// With `forget`: drop all that was learnt when newer releases contradict it.
    #[serde(default)]
    pub detect_changes: bool,
    /// Number of later decisions after which a decision closes and contributes its reward, or `default_reward` if none has come; without it rewards are
    /// learnt as they come.
    pub window: Option<RewardWindow>,
    /// With `window`: what a decision contributes whose reward has not come; by default the reward nearest to 0.
    pub default_reward: Option<f64>,
    /// Largest number of contributions of a person that the guarantee covers; if people return, later ones are not learnt from.
    #[schemars(with = "Option<Count>")]
    pub contributions_per_person: Option<u64>,
    /// A file, or a folder of files one a trial, that an earlier run saved: begin with what it had learnt.
    pub warm_start: Option<PathBuf>,
    /// Folder in which each trial's learner is saved.
    pub save: Option<PathBuf>,
    /// Folder in which each trial's decisions are logged, for `kind = "logged"`; they are people's data.
    pub log: Option<PathBuf>,
}

impl JointToml {
    /// The defaults of a file that gives the budget only.
    pub fn new(privacy: Budget) -> Self {
        JointToml { privacy, ..JointToml::default() }
    }

    /// Several contributions of one person are priced for one stream of this room's own mechanisms.
    fn check_contributions(&self) -> Result<()> {
        let Some(most) = self.contributions_per_person else { return Ok(()) };
        let field = "contributions_per_person";
        let published = self.mechanism.published().is_some();
        let remedy = "published constants are for one contribution of each person: leave it out, or take blt, toeplitz, honaker or tree in `exact` mode";
        reticent::refuse_if(published || self.mode != JointMode::Exact, field, most, remedy)?;
        let remedy = "with restart_every a person may be in several streams, whose costs add up: leave one of them out";
        Ok(reticent::refuse_if(self.restart_every.is_some() && most > 1, field, most, remedy)?)
    }

    /// The learner, or what stands in its way.
    pub fn prepare(&self, environment: &BanditEnvironment) -> Result<Box<dyn RunnableAlgorithm>> {
        let why = "an experiment counts rounds";
        nothing_is_ignored(&[
            ("schedule", self.schedule == Some(Schedule::Clock), why),
            ("window", self.window == Some(RewardWindow::Clock), why),
        ])?;
        if self.window.is_some() && environment.trials.asks_for_comparison() {
            let remedy = "each line of a log is asked about twice, and every request would be a decision that contributes: leave it out";
            return Err(reticent::Error::invalid("window", "a value", remedy).into());
        }
        let why = "it belongs to a `window`, which is not asked for";
        let ignored = self.default_reward.is_some() && self.window.is_none();
        nothing_is_ignored(&[("default_reward", ignored, why)])?;
        self.check_contributions()?;
        if let Some(Rule::Episodes { width, growth }) = self.rule {
            return Ok(Box::new(self.episodes(environment, (width, growth))?));
        }
        let environment = &environment.with_contributions(self.contributions_per_person);
        let plain = self.restart_every.is_none()
            && self.warm_start.is_none()
            && self.save.is_none()
            && self.window.is_none();
        // Within a block of a policy that draws, choices differ from round to round.
        let draws = self.rule.clone().is_some_and(|rule| rule.draws());
        if environment.blocks.is_some()
            && plain
            && !draws
            && self.log.is_none()
            && !self.makes_reports(environment)?
        {
            return Ok(Box::new(self.blocks(environment)?));
        }
        let in_blocks = "it is simulated in whole blocks only, in a gap environment without modifiers, restarts, windows, saved learners, logs and `thompson`";
        nothing_is_ignored(&[
            ("minimum", self.minimum.is_some(), in_blocks),
            ("fresh_dummies", self.fresh_dummies, in_blocks),
            ("confidence", self.confidence != JointMode::Exact, in_blocks),
        ])?;
        match (self.mode.constants(), self.mechanism.published()) {
            (None, _) => Ok(Box::new(self.exact(environment)?)),
            (Some(constants), Some(noise)) => {
                Ok(Box::new(self.shariff_and_sheffet(environment, noise, constants)?))
            }
            (Some(Constants::Authors), None) => Ok(Box::new(self.public_code(environment)?)),
            (Some(Constants::Printed), None) => Err(self.only_published()),
        }
    }

    /// The refusal of a mechanism that is no publication's.
    pub(super) fn only_published(&self) -> crate::Error {
        let names: Vec<&str> = PublishedNoise::NAMED.iter().map(|(name, _)| *name).collect();
        let remedy = format!("expected one of {}, which the publication has", names.join(", "));
        reticent::Error::invalid("mechanism", self.mechanism, remedy).into()
    }

    /// Tells whether contributions are randomised one by one: then there are no whole blocks.
    fn makes_reports(&self, environment: &BanditEnvironment) -> Result<bool> {
        if self.mode != JointMode::Exact || self.mechanism.published().is_some() {
            return Ok(false);
        }
        Ok(self.params(environment)?.check()?.params().mechanism == Some(Mechanism::Reports))
    }

    /// The learner in whole blocks, or what stands in its way.
    pub fn blocks(&self, environment: &BanditEnvironment) -> Result<BlockPlayed> {
        let Budget { epsilon, delta } = self.privacy;
        let Some(gap) = environment.blocks else {
            let remedy = "whole blocks are simulated in the gap environment only";
            return Err(reticent::Error::invalid("environment", "a value", remedy).into());
        };
        let published = Published::new(
            environment.problem,
            epsilon,
            delta,
            environment.alpha(),
            environment.rounds,
        )?;
        Builder { lines: self, environment, gap, published }.blocks()
    }

    pub(super) fn name(&self, what: &str) -> String {
        let Budget { epsilon, delta } = self.privacy;
        self.name.clone().unwrap_or_else(|| {
            let mode = match self.mode {
                JointMode::Exact => "",
                JointMode::Paper => ", published",
                JointMode::Printed => ", printed",
            };
            format!("{what}{mode} ({epsilon}, {delta:e})")
        })
    }

    /// Name of its mechanism in the report.
    pub(super) fn mechanism_label(&self) -> String {
        let words = self.mechanism.to_string();
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        words.split('_').map(capital).collect()
    }

    /// Parameters of core's learner, in `exact` mode.
    pub fn params(&self, environment: &BanditEnvironment) -> Result<JointParams> {
        let Budget { epsilon, delta } = self.privacy;
        let bounds = environment.declaring(self.intercept, None)?.bounds;
        let defaults = JointParams::new(bounds, epsilon, delta, Some(environment.rounds));
        Ok(JointParams {
            rule: environment.informed(self.rule.clone().unwrap_or_default(), &bounds)?,
            mechanism: self.mechanism.of_core()?,
            schedule: self
                .schedule
                .unwrap_or_else(|| self.forget.map_or(defaults.schedule, Schedule::for_half_life)),
            forget: self.forget,
            detect_changes: self.detect_changes,
            contributions_per_person: self.contributions_per_person.unwrap_or(1),
            restart_every: self.restart_every.filter(|every| *every < environment.rounds),
            window: self.window,
            default_reward: self.default_reward.unwrap_or(defaults.default_reward),
            ..defaults
        })
    }

    /// Core's learner, stepped.
    fn exact(&self, environment: &BanditEnvironment) -> Result<Stepped> {
        let name = self.name("joint");
        let params = self.params(environment)?;
        let plan = params.check()?;
        let guarantee = plan.guarantee()?.simulated();
        let outlook = plan.outlook()?;
        let attacked = (plan.clone(), guarantee.clone());
        let attacks = move || {
            let (plan, guarantee) = &attacked;
            match plan.sums().mechanism {
                Mechanism::Reports => attack::local::attacks_on_reports(plan.params(), guarantee),
                _ => Ok(attack::sums::attacks(plan.sums(), guarantee)),
            }
        };
        let warm = self.warm_start.as_deref().map(WarmStart::open).transpose()?;
        if let Some(warm) = &warm {
            start(&plan, Some(warm.first()), 0)?;
        }
        let (begin, window) = (warm.clone(), params.window);
        let plain = warm.is_none() && window.is_none() && params.restart_every.is_none();
        let summed = environment.features.is_some()
            && plain
            && self.save.is_none()
            && plan.sums().mechanism != Mechanism::Reports;
        let bounds = params.bounds;
        let start: Start = Arc::new(move |trial, seed| {
            let saved = begin.as_ref().map(|warm| warm.of(trial)).transpose()?;
            Ok(match window {
                None if summed => Box::new(Summed::new(start(&plan, None, seed)?, bounds)),
                None => Box::new(start(&plan, saved.as_ref(), seed)?),
                Some(_) => Box::new(start_ticketed(&plan, saved.as_ref(), seed)?),
            })
        });
        let mut stepped = Stepped::by_trial(name, environment, start);
        stepped.warm_start = warm;
        stepped.save.clone_from(&self.save);
        stepped.log.clone_from(&self.log);
        let linearity = params.rule.is_certified().then(|| environment.linearity()).flatten();
        Ok(stepped
            .certified_by(guarantee)
            .remarking(rule_remarks(&params.rule))
            .with_outlook(outlook)
            .remarking(linearity)
            .attacked_by(attacks))
    }

    /// The published trees, as they are deployed.
    fn shariff_and_sheffet(
        &self,
        environment: &BanditEnvironment,
        noise: PublishedNoise,
        constants: Constants,
    ) -> Result<Stepped> {
        let why = "published constants are for one run of one learner with their own width";
        nothing_is_ignored(&[
            ("rule", self.rule.is_some(), why),
            ("intercept", self.intercept.is_some(), why),
            ("restart_every", self.restart_every.is_some(), why),
            ("window", self.window.is_some(), why),
            ("forget", self.forget.is_some(), why),
            ("detect_changes", self.detect_changes, why),
            ("warm_start", self.warm_start.is_some(), why),
            ("save", self.save.is_some(), why),
            ("log", self.log.is_some(), why),
        ])?;
        let Budget { epsilon, delta } = self.privacy;
        let params = JointParams {
            schedule: self.schedule.unwrap_or_default(),
            ..joint::params(
                environment.problem,
                noise,
                constants,
                epsilon,
                delta,
                environment.rounds,
            )?
        };
        let plan = params.check()?;
        let guarantee = plan.guarantee()?.simulated();
        let (attacked, certified) = (plan.clone(), guarantee.clone());
        let attacks = move || {
            let mut attacks = attack::sums::attacks(attacked.sums(), &certified);
            attacks.extend(attack::joint::attacks(&params, &certified));
            Ok(attacks)
        };
        let name = self.name(&self.mechanism_label());
        let learner = move |seed| Ok(Box::new(start(&plan, None, seed)?) as Box<dyn Learner>);
        let stepped = Stepped::new(name, environment, learner).certified_by(guarantee);
        Ok(stepped.remarking(environment.linearity()).attacked_by(attacks))
    }

    /// The public code of Chowdhury and Zhou.
    fn public_code(&self, environment: &BanditEnvironment) -> Result<Stepped> {
        let name = self.name("joint");
        let Budget { epsilon, delta } = self.privacy;
        let why = "the code of Chowdhury and Zhou has its own";
        nothing_is_ignored(&[
            ("rule", self.rule.is_some(), why),
            ("intercept", self.intercept.is_some(), why),
            ("mechanism", self.mechanism != JointMechanism::default(), why),
            ("schedule", self.schedule.is_some(), why),
            ("restart_every", self.restart_every.is_some(), why),
            ("window", self.window.is_some(), why),
            ("forget", self.forget.is_some(), why),
            ("detect_changes", self.detect_changes, why),
            ("warm_start", self.warm_start.is_some(), why),
            ("save", self.save.is_some(), why),
            ("log", self.log.is_some(), why),
        ])?;
        let constants =
            environment.published(PublishedMechanism::PublicJoint, self.privacy.delta, 1);
        // What stands behind the claim is not what is played: its price is a remark and no certificate.
        let tree = environment.published_guarantee(&constants, epsilon, TrustModel::Joint)?;
        let code = PublicCode::new(&constants, epsilon, environment)?;
        let mut remarks = vec![
            "no certificate: the public code, as it is played here, adds the same node noise after every reward, so that consecutive sums differ by one person's data as they are and no epsilon holds".to_string(),
        ];
        remarks.extend(tree.claimed().map(|claim| {
            format!(
                "the binary tree of {} levels over {} rounds that the code stands for, and does not run, would be ({}, {delta:e})-differentially private; claimed {claim}",
                constants.tree_levels(),
                environment.rounds,
                tree.epsilon_text(),
            )
        }));
        let attacked = code.clone();
        let attacks = move || Ok(vec![attacked.attack(&tree)]);
        let learner = move |seed| Ok(Box::new(code.start(seed)?) as Box<dyn Learner>);
        Ok(Stepped::new(name, environment, learner).remarking(remarks).attacked_by(attacks))
    }
}

/// Core's learner on simulation noise, which begins with what an earlier one left, if it speaks of the same thing.
fn start(plan: &JointPlan, saved: Option<&SavedLearner>, seed: u64) -> Result<Curator<FastNoise>> {
    let noise = FastNoise::seeded(seed);
    Ok(match saved.map(legacy).transpose()? {
        None => plan.clone().curator(noise),
        Some(legacy) => plan.clone().curator_from(legacy, noise)?,
    })
}

/// The same with tickets.
fn start_ticketed(plan: &JointPlan, saved: Option<&SavedLearner>, seed: u64) -> Result<Ticketed> {
    let noise = FastNoise::seeded(seed);
    Ok(Ticketed::new(match saved.map(legacy).transpose()? {
        None => plan.clone().start(noise),
        Some(legacy) => plan.clone().start_from(legacy, noise)?,
    }))
}

/// State that a curator left.
fn legacy(saved: &SavedLearner) -> Result<Legacy> {
    let refuse =
        |remedy: &str| Err(reticent::Error::invalid("warm_start", &saved.name, remedy).into());
    match &saved.knowledge {
        Knowledge::Releases(bytes) => Ok(Legacy::load(bytes)?),
        Knowledge::Server(_) => {
            refuse("it holds the server of a local protocol: start a `local` learner with it")
        }
        Knowledge::Exact(_) => refuse(
            "it holds the sums of a learner without privacy: start a `linucb` learner with it",
        ),
    }
}

impl Learner for Curator<FastNoise> {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        // Rounds are counted from 1, tickets from 0: the same ties as with tickets.
        let randomness = self.randomness(round - 1)?;
        Ok(Curator::choose(self, arms, randomness)?.arm)
    }

    fn probabilities(&self, arms: &Arms) -> Result<Option<Vec<f64>>> {
        let drawn = self.policy().ensemble().map(|_| Curator::probabilities(self, arms));
        Ok(drawn.transpose()?)
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
        Learner::observe_in_block(self, round, 0, features, reward)
    }

    fn observe_in_block(
        &mut self,
        _: u64,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<()> {
        Curator::observe_in_block(self, block, features, reward)?;
        Ok(())
    }

    fn pass(&mut self, _: u64) -> Result<()> {
        Curator::pass(self)?;
        Ok(())
    }

    fn cold_releases(&self) -> Option<u64> {
        Some(Curator::cold_releases(self))
    }

    fn knowledge(&self) -> Option<Knowledge> {
        // Without a release nothing has been learnt yet.
        self.legacy().ok().map(|legacy| Knowledge::Releases(legacy.save()))
    }
}
