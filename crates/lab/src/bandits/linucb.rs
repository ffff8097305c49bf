//! `kind = "linucb"`: no privacy, the yardstick of every private variant.
//!
//! As with `joint`, the width is certified (`regularizer`, `schedule`) or tuned (`width`); without any of them the gap environment has the
//! certified one and worlds with a constant feature the tuned one.

use std::path::PathBuf;

use reticent::{
    bandit::{
        Arms, Confidence, ConfidenceRule, Exploration, LinUcb, LinUcbParams, Problem,
        PublishedLocal, Regularizer, bounds,
    },
    privacy::Mode,
    release::Schedule,
};
use serde::{Deserialize, Serialize};

use super::{
    Learner, Setting, Stepped,
    curator::{CuratorPlan, Rule, SourcePlan},
    nothing_is_ignored,
};
use crate::{
    Result,
    contest::{Bound, Contestant, Side},
    environment::GapParams,
    simulate::{GapSteps, Player, largest_variance},
    trial::{Checkpoint, Trial, mix},
};

/// What `kind = "linucb"` takes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinUcbLines {
    /// What the report calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// Tuned: `paper` has the width of the code of Chowdhury and Zhou, regulariser 1e-4.
    #[serde(default)]
    pub mode: Mode,
    /// Tuned: the width, by default 1; found by simulation, certified by nobody.
    #[serde(default)]
    pub width: Option<f64>,
    /// Certified: rho, the constant regulariser, by default 1.
    #[serde(default)]
    pub regularizer: Option<f64>,
    /// Certified: when the policy learns. `every_round` is the textbook's LinUCB; the default is as good and far faster to simulate.
    #[serde(default)]
    pub schedule: Option<Schedule>,
    /// Forget everything after every so many rewards: for a theta* that moves.
    #[serde(default)]
    pub restart_every: Option<u64>,
    /// A file, or a folder of files one a trial, that an earlier run saved: begin with what it had learnt.
    #[serde(default)]
    pub warm_start: Option<PathBuf>,
    /// Folder in which each trial's learner is saved; its sums are people's data.
    #[serde(default)]
    pub save: Option<PathBuf>,
}

impl LinUcbLines {
    /// The defaults, under a name.
    pub fn named(name: &str) -> Self {
        LinUcbLines { name: Some(name.into()), ..LinUcbLines::default() }
    }

    /// The learner, or what stands in its way.
    pub fn contestant(&self, setting: &Setting) -> Result<Box<dyn Contestant>> {
        let name = self.name.clone().unwrap_or_else(|| "LinUCB, not private".into());
        let tuned = self.width.is_some() || self.mode == Mode::Paper;
        let why = "it belongs to the certified width, and `width` or `mode` ask for another";
        nothing_is_ignored(&[
            ("width", self.width.is_some() && self.mode == Mode::Paper, "that code has its own"),
            ("regularizer", self.regularizer.is_some() && tuned, why),
            ("schedule", self.schedule.is_some() && tuned, why),
        ])?;
        let asked = self.regularizer.is_some() || self.schedule.is_some();
        if tuned || (setting.bounds.intercept.is_some() && !asked) {
            return Ok(Box::new(self.tuned(name, setting)?));
        }
        let plain =
            self.restart_every.is_none() && self.warm_start.is_none() && self.save.is_none();
        let schedule = self.schedule.unwrap_or_default();
        let params = self.params(setting);
        params.check()?;
        match (setting.blocks, schedule) {
            (Some(gap), Schedule::EveryRound) if plain && gap.fresh_arms && gap.dimension >= 3 => {
                Ok(Box::new(EveryRound { name, setting: setting.clone(), gap, params }))
            }
            (_, Schedule::EveryRound) if plain => {
                Ok(Box::new(self.stepped(name, setting).remarking(setting.linearity())))
            }
            (Some(gap), _) if plain => {
                let rho = params.regularizer;
                Ok(Box::new(Learner::not_private(name, rho, schedule, setting, gap)?))
            }
            _ => {
                schedule.check()?;
                let lives =
                    self.restart_every.map_or(1, |every| setting.rounds.div_ceil(every.max(1)));
                let confidence = Confidence::Regularized(Regularizer::constant(params.regularizer));
                let alpha = setting.alpha() / lives.max(1) as f64;
                let rule = ConfidenceRule::new(setting.problem, alpha, confidence)?;
                let source = SourcePlan::Exact(schedule);
                let plan = CuratorPlan::new(setting, Rule::Certified(rule), source);
                Ok(Box::new(self.curator(name, setting, plan)?.remarking(setting.linearity())))
            }
        }
    }

    /// The width is a number, and the policy learns every round.
    fn tuned(&self, name: String, setting: &Setting) -> Result<Stepped> {
        let (norm, dimension) = (setting.bounds.feature_bound, setting.bounds.dimension);
        let exploration = match self.mode {
            Mode::Paper => Exploration::Fixed {
                ridge: 1e-4 / (norm * norm),
                width: PublishedLocal::public_width(1.0, setting.rounds, dimension, norm),
            },
            Mode::Exact => Exploration::Fixed { ridge: 1.0, width: self.width.unwrap_or(1.0) },
        };
        let centred = self.mode == Mode::Exact && setting.bounds.intercept.is_some();
        let rule = Rule::Tuned { exploration, centred };
        let plan = CuratorPlan::new(setting, rule, SourcePlan::Exact(Schedule::EveryRound));
        let remark = "the width is tuned by simulation, on arms drawn once with d = 5: no confidence set is certified, and where arms stay the same some trials settle on a wrong one; `width = 2` is safer there";
        let certified_by_nobody = self.mode == Mode::Exact && self.width.is_none();
        let remark = certified_by_nobody.then(|| remark.to_string());
        Ok(self.curator(name, setting, plan)?.remarking(remark))
    }

    fn curator(&self, name: String, setting: &Setting, mut plan: CuratorPlan) -> Result<Stepped> {
        plan.restart_every = self.restart_every;
        let stepped =
            plan.stepped(name, setting, self.warm_start.as_deref(), self.save.as_deref())?;
        let remark =
            "the saved learner holds people's data as they are: protect the file as you would them";
        Ok(stepped.remarking(self.save.iter().map(|_| remark.to_string())))
    }

    /// The textbook's learner in any environment.
    pub(super) fn stepped(&self, name: String, setting: &Setting) -> Stepped {
        let params = self.params(setting);
        Stepped::new(name, setting, move |_| Ok(Box::new(params.check()?)))
    }

    fn params(&self, setting: &Setting) -> LinUcbParams {
        let Problem { dimension, feature_bound, reward_bound, parameter_bound, noise } =
            setting.problem;
        LinUcbParams {
            feature_bound,
            reward_bound,
            parameter_bound,
            noise,
            regularizer: self.regularizer.unwrap_or(1.0),
            // Proposition 4 leaves half of alpha to the privacy noise, and has it here too.
            confidence: 0.5 * setting.alpha(),
            ..LinUcbParams::new(dimension)
        }
    }
}

impl Player for LinUcb {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        Ok(LinUcb::choose(self, arms)?)
    }

    fn observe(&mut self, _: u64, features: &[f64], reward: f64) -> Result<()> {
        self.update(features, reward)?;
        Ok(())
    }
}

/// LinUCB that learns every round, on decision sets of which only the arms that may win are drawn.
struct EveryRound {
    name: String,
    setting: Setting,
    gap: GapParams,
    params: LinUcbParams,
}

impl crate::contest::sealed::Sealed for EveryRound {}

impl Contestant for EveryRound {
    fn name(&self) -> &str {
        &self.name
    }

    fn guarantee(&self) -> Option<&reticent::privacy::Guarantee> {
        None
    }

    fn bounds(&self, rounds: u64) -> Vec<Bound> {
        let regularizer = Regularizer::constant(self.params.regularizer);
        let (problem, alpha) = (&self.setting.problem, self.setting.alpha());
        // Means lie in [-1, 1].
        let bound = |theorem: &str, value| Bound {
            theorem: theorem.into(),
            side: Side::Upper,
            value,
            trivial: 2.0 * rounds as f64,
        };
        let mut all =
            vec![bound("Theorem 5", bounds::regret(problem, &regularizer, alpha, rounds))];
        let gap = self.gap.gap;
        if gap > 0.0 {
            let value = bounds::gap_regret(problem, &regularizer, alpha, rounds, gap);
            all.push(bound("Theorem 6", value));
        }
        all
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        let gap = &self.gap;
        let mut steps = GapSteps::new(gap.check()?.fresh(mix(seed, trial)))?;
        let mut learner = self.params.check()?;
        let (mut round, mut regret, mut next, mut largest) = (0, 0.0, 0, 0.0);
        let mut curve = Vec::with_capacity(checkpoints.len());
        let best = gap.rewards.mean(crate::environment::BEST);
        let gauge = crate::watch::Gauge::current();
        for &checkpoint in checkpoints {
            while round < checkpoint {
                gauge.reached(round)?;
                if round == next {
                    largest = largest_variance(learner.policy())?;
                    next = round + (round / 50).max(8);
                }
                round += 1;
                let choice = steps.choose(learner.policy(), largest)?;
                regret += best - gap.rewards.mean(choice.product);
                let reward = gap.rewards.draw(choice.product, steps.noise());
                learner.update(&choice.features, reward)?;
            }
            curve.push(Checkpoint { round, regret });
        }
        Ok(curve.into())
    }
}
