//! `kind = "joint"`: a trusted curator, from lines in a TOML file to everything a simulation needs.
//!
//! There are two ways from released sums to a policy. *Certified*: a confidence set with a theorem, for rewards as they are. *Tuned*: a
//! ridge and a width found by simulation, for centred rewards. Keys of one have no effect on the other and are refused beside it.
//! Without any of them the gap environment is certified, as paper 1 is, and worlds with a constant feature are tuned, as paper 0 is.

use std::path::PathBuf;

use reticent::{
    bandit::{
        Confidence, ConfidenceRule, Exploration, JointParams, Published, PublishedMechanism,
        PublishedNoise,
    },
    privacy::{Mode, TrustModel},
    release::{Calibration, Domain, Mechanism, PrivateSumParams, Schedule},
};
use serde::{Deserialize, Serialize};

use super::{
    Budget, Learner, Setting, Stepped,
    curator::{CuratorPlan, Rule, SourcePlan, tuned},
    joint_blocks::Builder,
    nothing_is_ignored,
};
use crate::{Result, attack, contest::Contestant};

/// What `kind = "joint"` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointLines {
    /// What the report calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// Requested epsilon and delta.
    pub privacy: Budget,
    /// `exact`, or the publication's constants.
    #[serde(default)]
    pub mode: Mode,
    /// How noise is made.
    #[serde(default)]
    pub mechanism: MechanismName,
    /// Certified: which confidence set; by default the tight one in `exact` mode and the paper's in `paper` mode.
    #[serde(default)]
    pub confidence: Option<ConfidenceName>,
    /// Multiplies the tight bonus; anything but 1 is not certified, 0 is greedy.
    #[serde(default = "one")]
    pub bonus_scale: f64,
    /// rho_min to shift the regulariser to, in place of the publication's (Experiment 3).
    #[serde(default)]
    pub minimum: Option<f64>,
    /// Wishart only: dummy nodes drawn anew at every release, not kept as long as real ones would be.
    #[serde(default)]
    pub fresh_dummies: bool,
    /// When sums are released and the policy learns.
    #[serde(default)]
    pub schedule: Schedule,
    /// Tuned: how noisy sums become a policy, in `exact` mode.
    #[serde(default)]
    pub exploration: Option<Exploration>,
    /// Tuned: whether rewards are centred before they are summed, in `exact` mode; by default where there is a constant feature.
    #[serde(default)]
    pub centred: Option<bool>,
    /// Forget everything after every so many rewards: for a theta* that moves.
    #[serde(default)]
    pub restart_every: Option<u64>,
    /// The guarantee is for a person with at most so many contributions; where people return, later ones are not learnt from.
    #[serde(default)]
    pub contributions_per_person: Option<u64>,
    /// A file, or a folder of files one a trial, that an earlier run saved: begin with what it had learnt.
    #[serde(default)]
    pub warm_start: Option<PathBuf>,
    /// Folder in which each trial's learner is saved.
    #[serde(default)]
    pub save: Option<PathBuf>,
}

fn one() -> f64 {
    1.0
}

/// Mechanisms by the names experiments use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MechanismName {
    /// BLT noise, indexed by release.
    #[default]
    Blt,
    /// Square-root Toeplitz noise, indexed by release.
    Toeplitz,
    /// A binary tree over releases.
    Tree,
    /// Honaker's estimate from that tree.
    Honaker,
    /// The paper's Gaussian tree over rounds; in `exact` mode the same tree with exactly calibrated noise.
    GaussianTree,
    /// The paper's Wishart tree, shifted by (4).
    Wishart,
    /// The paper's Wishart tree, not shifted.
    WishartUnshifted,
}

/// Confidence sets by the names experiments use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfidenceName {
    /// The proved bound with known noise and the best lambda.
    Tight,
    /// Proposition 4 of the paper.
    Paper,
}

impl JointLines {
    /// The defaults of a file that gives the budget only.
    pub fn new(privacy: Budget) -> Self {
        JointLines {
            name: None,
            privacy,
            mode: Mode::default(),
            mechanism: MechanismName::default(),
            confidence: None,
            bonus_scale: 1.0,
            minimum: None,
            fresh_dummies: false,
            schedule: Schedule::default(),
            exploration: None,
            centred: None,
            restart_every: None,
            contributions_per_person: None,
            warm_start: None,
            save: None,
        }
    }

    /// Several contributions of one person are priced for one stream of this room's own mechanisms.
    fn check_contributions(&self) -> Result<()> {
        let Some(most) = self.contributions_per_person else { return Ok(()) };
        let refuse = |remedy: &str| {
            Err(reticent::Error::invalid("contributions_per_person", most, remedy).into())
        };
        let published = matches!(
            self.mechanism,
            MechanismName::GaussianTree | MechanismName::Wishart | MechanismName::WishartUnshifted
        );
        if published || self.mode == Mode::Paper {
            return refuse(
                "published constants are for one contribution of each person: leave it out, or take blt, toeplitz, honaker or tree in `exact` mode",
            );
        }
        if self.restart_every.is_some() && most > 1 {
            return refuse(
                "with restart_every a person may be in several streams, whose costs add up: leave one of them out",
            );
        }
        Ok(())
    }

    /// The learner, or what stands in its way.
    pub fn contestant(&self, setting: &Setting) -> Result<Box<dyn Contestant>> {
        self.check_contributions()?;
        let setting = &setting.with_contributions(self.contributions_per_person);
        if !self.is_certified(setting)? {
            return Ok(Box::new(self.tuned(setting)?));
        }
        let plain =
            self.restart_every.is_none() && self.warm_start.is_none() && self.save.is_none();
        match setting.blocks {
            Some(_) if plain => Ok(Box::new(self.learner(setting)?)),
            _ => Ok(Box::new(self.certified(setting)?)),
        }
    }

    /// The certified learner in whole blocks, or what stands in its way.
    pub fn learner(&self, setting: &Setting) -> Result<Learner> {
        let Budget { epsilon, delta } = self.privacy;
        let Some(gap) = setting.blocks else {
            let remedy = "whole blocks are simulated in the gap environment only";
            return Err(reticent::Error::invalid("environment", "given", remedy).into());
        };
        let published =
            Published::new(setting.problem, epsilon, delta, setting.alpha(), setting.rounds)?;
        Builder { lines: self, setting, gap, published }.learner()
    }

    /// Whether the policy comes from a confidence set with a theorem.
    fn is_certified(&self, setting: &Setting) -> Result<bool> {
        let tuned = self.exploration.is_some() || self.centred.is_some();
        let certified = [
            ("confidence", self.confidence.is_some()),
            ("bonus_scale", self.bonus_scale != 1.0),
            ("minimum", self.minimum.is_some()),
            ("fresh_dummies", self.fresh_dummies),
        ];
        if tuned {
            let why = "it belongs to certified confidence sets, and `exploration` or `centred` ask for tuned ones";
            nothing_is_ignored(&certified.map(|(key, given)| (key, given, why)))?;
            return Ok(false);
        }
        let published = matches!(
            self.mechanism,
            MechanismName::GaussianTree | MechanismName::Wishart | MechanismName::WishartUnshifted
        );
        let asked = published || certified.iter().any(|(_, given)| *given);
        Ok(asked || setting.bounds.intercept.is_none())
    }

    pub(super) fn name(&self, what: &str) -> String {
        let Budget { epsilon, delta } = self.privacy;
        self.name.clone().unwrap_or_else(|| {
            let mode = if self.mode == Mode::Paper { ", published" } else { "" };
            format!("{what}{mode} ({epsilon}, {delta:e})")
        })
    }

    /// A mechanism of the core.
    fn stream_mechanism(&self) -> Result<Mechanism> {
        Ok(match self.mechanism {
            MechanismName::Blt => Mechanism::default(),
            MechanismName::Toeplitz => Mechanism::SquareRootToeplitz,
            MechanismName::Honaker => Mechanism::Honaker,
            MechanismName::Tree => Mechanism::Tree { levels: None },
            other => {
                let remedy = "give blt, toeplitz, honaker or tree";
                let value = format!("{other:?}");
                return Err(reticent::Error::invalid("mechanism", value, remedy).into());
            }
        })
    }

    /// Releases of sums over `domain`, each stream as long as learners live.
    pub(super) fn stream(&self, domain: Domain, setting: &Setting) -> Result<PrivateSumParams> {
        let Budget { epsilon, delta } = self.privacy;
        let least = self.schedule.first();
        if let Some(every) = self.restart_every
            && every < least
        {
            let remedy = format!("the first release comes after {least} rewards: give more");
            return Err(reticent::Error::invalid("restart_every", every, remedy).into());
        }
        let horizon = self.restart_every.map_or(setting.rounds, |every| every.min(setting.rounds));
        Ok(PrivateSumParams {
            mechanism: self.stream_mechanism()?,
            schedule: self.schedule,
            contributions_per_person: self.contributions_per_person.unwrap_or(1),
            ..PrivateSumParams::new(domain, Some(horizon), Calibration::Budget { epsilon, delta })
        })
    }

    /// The curator of a certified learner, stepped.
    fn certified(&self, setting: &Setting) -> Result<Stepped> {
        let name = self.name(&format!("{:?}", self.mechanism));
        let in_blocks = "it is simulated in whole blocks only, in a gap environment without circumstances, restarts and saved learners";
        nothing_is_ignored(&[
            ("minimum", self.minimum.is_some(), in_blocks),
            ("fresh_dummies", self.fresh_dummies, in_blocks),
        ])?;
        if self.mode == Mode::Paper {
            return self.shariff_and_sheffet(setting, name);
        }
        if self.confidence == Some(ConfidenceName::Paper) {
            let remedy = "it needs the gaussian_tree in `paper` mode";
            return Err(reticent::Error::invalid("confidence", "paper", remedy).into());
        }
        let params = self.stream(setting.problem.domain(), setting)?;
        let guarantee = params.check()?.guarantee(self.privacy.delta)?.simulated();
        // What a warm start adds to a release is one more event that may fail; each life has its share of alpha.
        let lifetime = self.restart_every.map_or(setting.rounds, |every| every.min(setting.rounds));
        let lives = setting.rounds.div_ceil(lifetime.max(1));
        let releases =
            self.schedule.releases(lifetime).max(1) + u64::from(self.warm_start.is_some());
        let confidence = Confidence::Tight { releases: Some(releases), scale: self.bonus_scale };
        let alpha = setting.alpha() / lives.max(1) as f64;
        let rule = ConfidenceRule::new(setting.problem, alpha, confidence)?;
        let mut plan = CuratorPlan::new(
            setting,
            Rule::Certified(rule),
            SourcePlan::Stream(Box::new(params.check()?)),
        );
        plan.restart_every = self.restart_every;
        let certified = rule.certified();
        let remark = "The bonus is scaled by hand: the confidence set is not certified.";
        let stepped =
            plan.stepped(name, setting, self.warm_start.as_deref(), self.save.as_deref())?;
        let remarks = (!certified).then(|| remark.to_string());
        let attacks = attack::sums::attacks(&params, &guarantee);
        Ok(stepped
            .certified_by(guarantee)
            .remarking(remarks)
            .remarking(setting.linearity())
            .attacked_by(attacks))
    }

    /// The published trees, as they are deployed.
    fn shariff_and_sheffet(&self, setting: &Setting, name: String) -> Result<Stepped> {
        let why = "published constants are for one run of one learner with their own width";
        nothing_is_ignored(&[
            ("confidence", self.confidence.is_some(), why),
            ("bonus_scale", self.bonus_scale != 1.0, why),
            ("restart_every", self.restart_every.is_some(), why),
            ("warm_start", self.warm_start.is_some(), why),
            ("save", self.save.is_some(), why),
        ])?;
        let published = match self.mechanism {
            MechanismName::GaussianTree => PublishedNoise::Gaussian,
            MechanismName::Wishart => PublishedNoise::Wishart,
            MechanismName::WishartUnshifted => PublishedNoise::WishartUnshifted,
            other => {
                let remedy = "the paper has gaussian_tree, wishart and wishart_unshifted";
                let value = format!("{other:?}");
                return Err(reticent::Error::invalid("mechanism", value, remedy).into());
            }
        };
        let Budget { epsilon, delta } = self.privacy;
        let params = JointParams {
            published,
            alpha: Some(setting.alpha()),
            schedule: self.schedule,
            ..JointParams::published(setting.problem, epsilon, delta, setting.rounds)
        };
        let deployed = params.check()?;
        let source = SourcePlan::Stream(Box::new(deployed.sums().check()?));
        let plan = CuratorPlan::new(setting, Rule::Certified(*deployed.rule()), source);
        let stepped = plan.stepped(name, setting, None, None)?;
        let guarantee = deployed.guarantee()?.simulated();
        let mut attacks = attack::sums::attacks(deployed.sums(), &guarantee);
        attacks.extend(attack::joint::attacks(&params, &guarantee));
        Ok(stepped.certified_by(guarantee).attacked_by(attacks))
    }

    /// A curator with a tuned width: chosen by simulation or by a publication, no confidence guarantee.
    fn tuned(&self, setting: &Setting) -> Result<Stepped> {
        let name = self.name("joint");
        let Budget { epsilon, delta } = self.privacy;
        if self.mode == Mode::Paper {
            let why = "the code of Chowdhury and Zhou has its own";
            nothing_is_ignored(&[
                ("exploration", self.exploration.is_some(), why),
                ("centred", self.centred.is_some(), why),
                ("mechanism", self.mechanism != MechanismName::default(), why),
                ("schedule", self.schedule != Schedule::default(), why),
                ("restart_every", self.restart_every.is_some(), why),
                ("warm_start", self.warm_start.is_some(), why),
                ("save", self.save.is_some(), why),
            ])?;
            let constants = setting.published(PublishedMechanism::PublicJoint, self.privacy, 1);
            let source = SourcePlan::PublicNodes { noise: constants.noise(epsilon)? };
            let rule = Rule::Tuned { exploration: constants.exploration(epsilon)?, centred: false };
            let plan = CuratorPlan::new(setting, rule, source);
            // What stands behind the claim is not what is played: its price is a remark and no certificate.
            let tree = setting.published_guarantee(&constants, epsilon, TrustModel::Joint)?;
            let mut remarks = vec![
                "no certificate: the public code, as it is played here, adds the same node noise after every reward, so that consecutive sums differ by one person's data as they are and no epsilon holds".to_string(),
            ];
            remarks.extend(tree.claimed().map(|claim| {
                format!(
                    "the binary tree of {} levels over {} rounds that the code stands for, and does not run, would be ({}, {delta:e})-differentially private; claimed {claim}",
                    constants.tree_levels(),
                    setting.rounds,
                    tree.epsilon_text(),
                )
            }));
            let attacks = vec![plan.attack_on_nodes(&tree)];
            let stepped = plan.stepped(name, setting, None, None)?;
            return Ok(stepped.remarking(remarks).attacked_by(attacks));
        }
        let centred = self.centred.unwrap_or(setting.bounds.intercept.is_some());
        if centred && setting.bounds.intercept.is_none() {
            let remedy = "arms have no constant feature here, so a centred reward is not linear in them: leave it out";
            return Err(reticent::Error::invalid("centred", true, remedy).into());
        }
        let params =
            self.stream(Domain::regression(setting.bounds.dimension, 1.0, 1.0), setting)?;
        let guarantee = params.check()?.guarantee(delta)?.simulated();
        let exploration = self.exploration.unwrap_or_default();
        let rule = Rule::Tuned { exploration, centred };
        let mut plan =
            CuratorPlan::new(setting, rule, SourcePlan::Stream(Box::new(params.check()?)));
        plan.restart_every = self.restart_every;
        let stepped =
            plan.stepped(name, setting, self.warm_start.as_deref(), self.save.as_deref())?;
        let attacks = attack::sums::attacks(&params, &guarantee);
        Ok(stepped.certified_by(guarantee).remarking(tuned(&exploration)).attacked_by(attacks))
    }
}
