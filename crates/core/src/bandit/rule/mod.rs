//! From a release to a policy: the one place where sums become decisions.
//!
//! | file | rule | width |
//! | --- | --- | --- |
//! | `certified` | a confidence set for Gaussian noise of known deviation | proved |
//! | `regularized` | the set of Shariff and Sheffet (2018), from bounds on a regulariser | proved, if the bounds hold |
//! | `tuned` | ridge and bonus in units of the accumulated noise; and `fixed`, a ridge and a width that the caller gives | found by simulation |
//! | `thompson` | parameters drawn from the law of the estimate, as an ensemble with exact propensities | found by simulation |
//! | `two_level` | main effects first, then crosses one by one, each shrunk by what its level is worth; drawn in the same way | found by simulation |
//! | none here: `episodes` | for fixed public actions; [`Episodes`](super::Episodes) has no matrix to make a policy of | found by simulation |
//! | `plan` | none: any of them for sums of one domain, with the cold policy | |
//! | `factors` | none: V in blocks with a floor under its eigenvalues, which they share | |
//! | `exact` | the same rules on sums without noise, for a learner that keeps V up to date itself | as above |
//!
//! A rule sees a [`Release`] and nothing else, so privacy does not depend on it; regret does. Rules are stated for features of norm at
//! most 1 and rewards in [-1, 1]; [`RulePlan`] knows the bounds of the sums and scales. Policies are for arms as they come, and
//! `<theta, x>` is a reward less the centre of its bounds.

mod certified;
mod exact;
mod factors;
mod plan;
mod regularized;
mod thompson;
mod tuned;
mod two_level;

use serde::{Deserialize, Serialize};

use super::{Ensemble, EpisodesParams};
#[cfg(feature = "schema")]
use crate::schema::{Count, NotNegative, Positive, Probability, Share, add_names};
use crate::{
    Error, Result,
    error::{not_negative, positive, probability},
    features::Levels,
    named::named,
    refuse_if,
    release::{Domain, Structure},
};
pub(super) use exact::{ExactRule, REGULARIZER};
pub use plan::RulePlan;
pub use regularized::Regularizer;

/// Rule by which a release becomes a policy.
///
/// In files and in Python a rule is its name, `"tuned"`, or its name with parameters, `{ tuned = { ridge = 3.0 } }`.
///
/// ```
/// use reticent::bandit::Rule;
/// assert_eq!(Rule::default(), Rule::Tuned { ridge: 3.0, bonus: 0.2, width: 2.5 });
/// assert!(Rule::CERTIFIED.is_certified() && !Rule::default().is_certified());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Rule", transform = add_names::<Self>))]
pub enum Rule {
    /// A confidence set that holds for all releases at once, for Gaussian noise of known deviation.
    Certified {
        /// alpha: the set fails with at most this probability, all releases together; by default 1/horizon, or 1e-6.
        #[cfg_attr(feature = "schema", schemars(with = "Option<Probability>"))]
        failure_probability: Option<f64>,
        /// S: the largest norm of theta*, for features of norm at most 1 and rewards in [-1, 1]. By default 1, and in experiments what
        /// the environment knows.
        #[cfg_attr(feature = "schema", schemars(with = "Option<Positive>"))]
        parameter_bound: Option<f64>,
        /// sigma: rewards in [-1, 1] are their mean plus noise that is sub-Gaussian with this deviation. By default 1, which is always
        /// right, and in experiments what the environment knows.
        #[cfg_attr(feature = "schema", schemars(with = "Option<NotNegative>"))]
        reward_noise: Option<f64>,
        /// Multiplies the bonus. Anything but 1 is not certified; 0 is greedy.
        #[serde(default = "crate::wire::unity")]
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        scale: f64,
    },
    /// Found by simulation (`docs/papers/local.md`), with no confidence guarantee: the certified width pays for the noise in every direction at
    /// once and explores several times longer.
    Tuned {
        /// The ridge in units of the accumulated noise.
        #[serde(default = "tuned_ridge")]
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        ridge: f64,
        /// The bonus in units of the square root of that ridge.
        #[serde(default = "tuned_bonus")]
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        bonus: f64,
        /// The bonus in units of a reward's deviation, which is at least 1.
        #[serde(default = "tuned_width")]
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        width: f64,
    },
    /// Thompson sampling on an ensemble that is published with the policy: every decision has an exact probability. The width is found by
    /// simulation, with no confidence guarantee.
    Thompson {
        /// The ridge in units of the accumulated noise.
        #[serde(default = "tuned_ridge")]
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        ridge: f64,
        /// Multiplies the deviation of the estimate.
        #[serde(default = "thompson_width")]
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        width: f64,
        /// Number of parameters drawn with each release: a power of two.
        #[serde(default = "thompson_members")]
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        members: u32,
        /// No arm is played with less than this probability. Where this many arms cannot all have it, all are equally likely: a refusal would
        /// tell the number of a person's arms.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(with = "Share"))]
        minimum_probability: f64,
    },
    /// A ridge and a width, for features of norm at most 1 and rewards in [-1, 1].
    Fixed {
        /// The ridge.
        #[serde(default = "crate::wire::unity")]
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        ridge: f64,
        /// The width.
        #[serde(default = "crate::wire::unity")]
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        width: f64,
    },
    /// Proposition 4 of Shariff and Sheffet (2018), from bounds on the noise that have a proof, in the units of the sums.
    Regularized {
        /// The bounds.
        regularizer: Regularizer,
        /// alpha.
        #[cfg_attr(feature = "schema", schemars(with = "Option<Probability>"))]
        failure_probability: Option<f64>,
        /// S, as above.
        #[serde(default = "crate::wire::unity")]
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        parameter_bound: f64,
        /// sigma, as above.
        #[serde(default = "crate::wire::unity")]
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        reward_noise: f64,
    },
    /// Two levels of features written as categories and their crosses: main effects are estimated first, crosses one by one from what is left, each
    /// shrunk towards zero by the noise it has and by how large its part turns out to be. Decisions are drawn as under `thompson`. The width is
    /// found by simulation, with no confidence guarantee.
    TwoLevel {
        /// Composition of the features. Where features are given by a table (loops, experiments, Python) it follows from them and is left out.
        #[serde(default)]
        levels: Option<Levels>,
        /// Multiplies the deviation of the estimate.
        #[serde(default = "two_level_width")]
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        width: f64,
        /// Number of parameters drawn with each release: a power of two.
        #[serde(default = "thompson_members")]
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        members: u32,
        /// No arm is played with less than this probability, as under `thompson`.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(with = "Share"))]
        minimum_probability: f64,
    },
    /// Optimism in episodes (`bandit/episodes`), where actions are declared fixed, public and the same for all people: no features are hidden, and each
    /// reward is in one noisy sum. Refused where arms may depend on the person. Found by simulation, with no confidence guarantee.
    Episodes {
        /// Multiplies `sqrt(ln(1 + people))` deviations of the estimate.
        #[serde(default = "episodes_width")]
        #[cfg_attr(feature = "schema", schemars(with = "NotNegative"))]
        width: f64,
        /// An episode lasts until the determinant of what is known has grown by this factor, above 1.
        #[serde(default = "episodes_growth")]
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        growth: f64,
    },
}

fn episodes_width() -> f64 {
    EpisodesParams::WIDTH
}

fn episodes_growth() -> f64 {
    EpisodesParams::GROWTH
}

fn tuned_ridge() -> f64 {
    3.0
}

fn tuned_bonus() -> f64 {
    0.2
}

fn tuned_width() -> f64 {
    2.5
}

fn thompson_width() -> f64 {
    0.5
}

fn thompson_members() -> u32 {
    64
}

fn two_level_width() -> f64 {
    0.25
}

named!(Rule, "{ tuned = { ridge = 3.0 } }", {
    "certified": Rule::Certified { .. } => Rule::CERTIFIED,
    "tuned": Rule::Tuned { .. } => Rule::default(),
    "thompson": Rule::Thompson { .. } => Rule::THOMPSON,
    "fixed": Rule::Fixed { .. } => Rule::FIXED,
    "regularized": Rule::Regularized { .. },
    "two_level": Rule::TwoLevel { .. } => Rule::TWO_LEVEL,
    "episodes": Rule::Episodes { .. } => Rule::EPISODES,
});

impl Default for Rule {
    fn default() -> Self {
        Rule::Tuned { ridge: tuned_ridge(), bonus: tuned_bonus(), width: tuned_width() }
    }
}

impl Rule {
    /// The certified set with nothing known but the bounds.
    pub const CERTIFIED: Rule = Rule::Certified {
        failure_probability: None,
        parameter_bound: None,
        reward_noise: None,
        scale: 1.0,
    };

    /// Thompson sampling with its default width, 64 members and no floor.
    pub const THOMPSON: Rule =
        Rule::Thompson { ridge: 3.0, width: 0.5, members: 64, minimum_probability: 0.0 };

    /// Two levels with their default width, 64 members and no floor, for levels that are still to be given ([`Rule::with_levels`]).
    pub const TWO_LEVEL: Rule =
        Rule::TwoLevel { levels: None, width: 0.25, members: 64, minimum_probability: 0.0 };

    /// Optimism in episodes with its default width and growth.
    pub const EPISODES: Rule =
        Rule::Episodes { width: EpisodesParams::WIDTH, growth: EpisodesParams::GROWTH };

    /// Ridge 1 and width 1.
    pub const FIXED: Rule = Rule::Fixed { ridge: 1.0, width: 1.0 };

    /// Returns whether the width is a theorem's.
    pub fn is_certified(&self) -> bool {
        match self {
            Rule::Certified { scale, .. } => *scale == 1.0,
            Rule::Regularized { .. } => true,
            Rule::Tuned { .. }
            | Rule::Thompson { .. }
            | Rule::Fixed { .. }
            | Rule::TwoLevel { .. }
            | Rule::Episodes { .. } => false,
        }
    }

    /// Returns whether decisions are drawn at random, so that two of one policy may differ.
    pub fn draws(&self) -> bool {
        matches!(self, Rule::Thompson { .. } | Rule::TwoLevel { .. })
    }

    /// An error if this many arms cannot all have the `minimum_probability`.
    pub fn check_arms(&self, arms: usize) -> Result<()> {
        self.ensemble().map_or(Ok(()), |ensemble| ensemble.check_arms(arms))
    }

    /// Rule by which parameters are drawn, under Thompson sampling.
    pub(super) fn ensemble(&self) -> Option<Ensemble> {
        match *self {
            Rule::Thompson { members, minimum_probability, .. }
            | Rule::TwoLevel { members, minimum_probability, .. } => {
                Ensemble::new(members, minimum_probability).ok()
            }
            _ => None,
        }
    }

    /// The same with alpha given, where there is a confidence set to fail.
    pub fn with_failure_probability(mut self, value: f64) -> Self {
        if let Rule::Certified { failure_probability, .. }
        | Rule::Regularized { failure_probability, .. } = &mut self
        {
            *failure_probability = Some(value);
        }
        self
    }

    /// The same with S and sigma of an environment, where they were left open.
    pub fn knowing(mut self, parameter_bound: f64, reward_noise: f64) -> Self {
        if let Rule::Certified { parameter_bound: s, reward_noise: sigma, .. } = &mut self {
            s.get_or_insert(parameter_bound);
            sigma.get_or_insert(reward_noise);
        }
        self
    }

    /// The same with the composition of the features, where the rule is `two_level` and was given none.
    pub fn with_levels(mut self, features: impl FnOnce() -> Result<Levels>) -> Result<Self> {
        if let Rule::TwoLevel { levels: levels @ None, .. } = &mut self {
            *levels = Some(features()?);
        }
        Ok(self)
    }

    /// Refuses numbers that no rule covers.
    pub fn check(&self) -> Result<()> {
        match *self {
            Rule::Certified { failure_probability, parameter_bound, reward_noise, scale } => {
                let (s, sigma) = (parameter_bound.unwrap_or(1.0), reward_noise.unwrap_or(1.0));
                check_certified(failure_probability, s, sigma)?;
                not_negative("scale", scale).map(drop)
            }
            Rule::Tuned { ridge, bonus, width } => {
                not_negative("ridge", ridge)?;
                not_negative("bonus", bonus)?;
                not_negative("width", width).map(drop)
            }
            Rule::Thompson { ridge, width, members, minimum_probability } => {
                not_negative("ridge", ridge)?;
                not_negative("width", width)?;
                Ensemble::new(members, minimum_probability).map(drop)
            }
            Rule::Fixed { ridge, width } => {
                positive("ridge", ridge)?;
                not_negative("width", width).map(drop)
            }
            Rule::Regularized {
                regularizer,
                failure_probability,
                parameter_bound,
                reward_noise,
            } => {
                check_certified(failure_probability, parameter_bound, reward_noise)?;
                regularizer.check()
            }
            Rule::TwoLevel { ref levels, width, members, minimum_probability } => {
                not_negative("width", width)?;
                Ensemble::new(members, minimum_probability)?;
                levels.iter().try_for_each(Levels::check)
            }
            Rule::Episodes { width, growth } => {
                not_negative("width", width)?;
                let remedy = "expected a finite number above 1";
                refuse_if(!(growth > 1.0 && growth.is_finite()), "growth", growth, remedy)
            }
        }
    }

    /// The composition of the features, which the two-level rule knows.
    pub(super) fn levels(&self) -> Option<&Levels> {
        match self {
            Rule::TwoLevel { levels, .. } => levels.as_ref(),
            _ => None,
        }
    }

    /// Refuses the rule for fixed public actions where arms come with each person.
    pub(super) fn check_any_arms(&self) -> Result<()> {
        let remedy = "it is for actions that are declared fixed, public and the same for all people, and here arms may depend on the person; expected tuned or thompson; or declare the actions";
        refuse_if(matches!(self, Rule::Episodes { .. }), "rule", self, remedy)
    }

    /// Refuses the two-level rule for vectors that are not of its levels.
    pub(super) fn check_levels(&self, dimension: usize, structure: Structure) -> Result<()> {
        let Rule::TwoLevel { levels, .. } = self else { return Ok(()) };
        let remedy = "it needs to know which coordinates are main effects and which are crosses; expected a table of features without a projection, or rule = thompson";
        let levels = levels.as_ref().ok_or_else(|| Error::invalid("rule", self, remedy))?;
        let remedy =
            "it is for one vector of parameters; expected thompson; or leave the blocks out";
        refuse_if(!structure.is_dense(), "rule", self, remedy)?;
        let expected = levels.dimension();
        let remedy =
            format_args!("the levels have {expected} coordinates; expected those of the features");
        refuse_if(dimension != expected, "dimension", dimension, remedy)
    }

    /// Refuses merged sums where a set is proved for others, and those of other levels.
    fn check_merged(&self, domain: &Domain) -> Result<()> {
        let Some(pattern) = domain.pattern() else { return Ok(()) };
        let proved = matches!(self, Rule::Certified { .. } | Rule::Regularized { .. });
        let remedy = "its set is proved for independent noise on every entry, not for merged sums; expected tuned, thompson or two_level";
        refuse_if(proved, "rule", self, remedy)?;
        self.levels().map_or(Ok(()), |levels| pattern.expect(levels))
    }

    /// The rule for sums of this domain, of which there are `releases` at most, over `horizon` contributions if that is known.
    pub fn plan(
        &self,
        domain: Domain,
        horizon: Option<u64>,
        releases: Option<u64>,
    ) -> Result<RulePlan> {
        self.check()?;
        domain.check()?;
        let Some((feature_bound, reward_bound)) = domain.bounds() else {
            let remedy = "a policy needs a regression domain: x x^T and x y";
            return Err(Error::invalid("domain", domain, remedy));
        };
        let (dimension, structure) = (domain.dimension(), domain.structure());
        refuse_if(releases == Some(0), "releases", 0, "expected a whole number above 0")?;
        let proved = match self {
            Rule::Certified { .. } => structure.shared == 0,
            Rule::Regularized { .. } => structure.is_dense(),
            _ => true,
        };
        let remedy = format_args!(
            "its set is not proved for {} blocks with {} shared features; expected tuned or thompson",
            structure.blocks, structure.shared
        );
        refuse_if(!proved, "rule", self, remedy)?;
        self.check_any_arms()?;
        self.check_levels(dimension, structure)?;
        self.check_merged(&domain)?;
        let sums = (dimension, structure, feature_bound, reward_bound);
        Ok(RulePlan::new(self.clone(), sums, horizon, releases))
    }
}

fn check_certified(
    failure_probability: Option<f64>,
    parameter_bound: f64,
    reward_noise: f64,
) -> Result<()> {
    if let Some(value) = failure_probability {
        probability("failure_probability", value)?;
    }
    positive("parameter_bound", parameter_bound)?;
    not_negative("reward_noise", reward_noise).map(drop)
}
