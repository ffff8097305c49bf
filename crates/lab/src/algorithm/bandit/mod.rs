//! The family of linear bandits: arms with features, one chosen a round, a reward for it; every trust model in every environment.
//!
//! | file | contents |
//! | --- | --- |
//! | `setting` | the `[environment]` table, and the algorithms' knowledge of it |
//! | `circumstances` | rewards that come late, a theta* that moves, arms that come and go |
//! | `table` | `kind = "table"`: a file of people and their classes |
//! | `items` | `kind = "items"`: items with features, and people's ratings of them |
//! | `logged` | `kind = "logged"`: a log of decisions with propensities, for training and judging offline |
//! | `decision_log` | `log = "folder"`: a run's own decisions, in the form that `logged` reads |
//! | `reward_model` | expectation of the doubly robust estimate for an action |
//! | `columns` | from the cells of a line to features |
//! | `declared` | declarations of a file about its arms, in place of the environment's knowledge |
//! | `parameters` | parameters that arms touch, and blocks for players that know of none |
//! | `contributions` | people who return, and the number of their contributions |
//! | `linucb` | `kind = "linucb"`: no privacy |
//! | `joint` | `kind = "joint"`: a trusted curator |
//! | `blocks`, `joint_blocks` | both of them, played in whole blocks between releases, where the environment allows it |
//! | `in_blocks` | learners that play one arm for many people, where arms are fixed |
//! | `public_code` | the public code of a publication, for comparison |
//! | `local` | `kind = "local"` and `kind = "ldp_linucb"`: the protocol of device and report server |
//! | `shuffle` | `kind = "shuffle"`: the same behind a shuffler |
//! | `online` | `kind = "online_ucb"`, `"anytime"`, `"combiner"` and `"online_linucb"` |
//! | `ticketed` | `window` of `kind = "joint"`: the bandit with tickets |
//! | `saved` | learners on disk |
//! | `own` | environments of your own |
//! | `stepped` | an algorithm made of a player |
//!
//! All run the learners of core, person by person and message by message, on simulation noise; `blocks` hands them the sums of many people
//! at once. A new algorithm is one file beside these and one entry of `algorithms!`; a new environment is one file and one variant of [`WorldToml`].

#[cfg(test)]
mod block_tests;
mod blocks;
#[cfg(test)]
mod certified_tests;
#[cfg(test)]
mod choice_tests;
mod contributions;
mod decision_log;
mod in_blocks;
mod joint;
mod joint_blocks;
mod linucb;
mod local;
mod online;
mod public_code;
mod saved;
mod shuffle;
mod stepped;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod three_ways_tests;
mod ticketed;
pub(crate) mod tree_noise;

use reticent::{
    bandit::Rule,
    schema::{Delta, Positive},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    algorithm::{Family, RunnableAlgorithm},
    lines::nothing_is_ignored,
};

pub use crate::environment::circumstances::Circumstances;
pub use crate::environment::columns::Missing;
pub use crate::environment::items::ItemsToml;
pub use crate::environment::logged::LoggedToml;
pub use crate::environment::parameters::Parameters;
pub use crate::environment::setting::{EnvironmentToml, Setting, World, WorldToml};
pub use crate::environment::table::{Order, TableToml};
pub use blocks::BlockPlayed;
pub use in_blocks::{BlockLearner, DrawEnvironment, InBlocks};
pub use joint::JointToml;
pub use linucb::LinUcbToml;
pub use local::{Constants, LdpToml, LocalToml};
pub use online::{LearnerName, OnlineLinUcbToml, OnlineToml};
pub use shuffle::ShuffleToml;
pub use stepped::{Start, Stepped, trial_seeds};

/// Environments [`EnvironmentToml`]; algorithms [`Algorithm`].
#[derive(Debug)]
pub enum Bandits {}

/// Requested privacy. The default is an epsilon of 0, which every algorithm refuses.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Requested epsilon.
    #[schemars(with = "Positive")]
    pub epsilon: f64,
    /// Requested delta; 0 asks for pure privacy, where a method has it.
    #[schemars(with = "Delta")]
    pub delta: f64,
}

/// Makes [`Algorithm`] of one entry for each algorithm: its kind and table in files, and how it is entered.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $kind:ident($toml:ty) => $enter:expr,)*) => {
        /// One `[[algorithm]]` of an experiment with a linear bandit.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum Algorithm {
            $($(#[$doc])* $kind($toml),)*
        }

        impl Algorithm {
            /// The algorithm in its setting, or what stands in its way.
            pub fn prepare(&self, setting: &Setting) -> Result<Box<dyn RunnableAlgorithm>> {
                match self {
                    $(Algorithm::$kind(lines) => {
                        let enter: fn(&$toml, &Setting) -> Result<Box<dyn RunnableAlgorithm>> = $enter;
                        enter(lines, setting)
                    })*
                }
            }
        }
    };
}

// A publication's learner, and one that knows of no blocks of parameters, is given embedded arms.
algorithms! {
    /// LinUCB without privacy (Abbasi-Yadkori, Pal and Szepesvari 2011).
    Linucb(LinUcbToml) => |lines, setting| lines.prepare(&setting.suiting(lines.mode)?),
    /// A trusted curator: LinUCB under joint differential privacy (Shariff and Sheffet 2018, and beyond).
    Joint(JointToml) => |lines, setting| lines.prepare(&setting.suiting(lines.mode.into())?),
    /// The local protocol with the best randomiser, or a named one.
    Local(LocalToml) => |lines, setting| Ok(Box::new(lines.prepare(&lines.setting(setting)?)?)),
    /// A trusted shuffler.
    Shuffle(ShuffleToml) => |lines, setting| Ok(Box::new(lines.prepare(&setting.dense()?)?)),
    /// LDP-LinUCB (Zheng et al. 2020).
    LdpLinucb(LdpToml) => |lines, setting| Ok(Box::new(lines.prepare(&setting.dense()?)?)),
    /// OnlineUCB (paper 0, Algorithm 1).
    OnlineUcb(OnlineToml) => |lines, setting| Ok(Box::new(lines.prepare(&setting.dense()?)?)),
    /// OnlineUCB without a horizon (paper 0, Algorithm 9).
    Anytime(OnlineToml) => |lines, setting| Ok(Box::new(lines.anytime(&setting.dense()?)?)),
    /// OnlineUCB over guesses of the least eigenvalue (paper 0, Algorithm 2).
    Combiner(OnlineToml) => |lines, setting| Ok(Box::new(lines.combiner(&setting.dense()?)?)),
    /// Online LinUCB, not private (paper 0, Algorithm 4).
    OnlineLinucb(OnlineLinUcbToml) => |lines, setting| Ok(Box::new(lines.prepare(&setting.dense()?)?)),
}

impl Family for Bandits {
    type Environment = EnvironmentToml;
    type Algorithm = Algorithm;

    type Setting = Setting;

    fn setting(rounds: u64, environment: &EnvironmentToml) -> Result<Setting> {
        Setting::new(environment, rounds)
    }

    fn prepare(setting: &Setting, algorithm: &Algorithm) -> Result<Box<dyn RunnableAlgorithm>> {
        algorithm.prepare(setting)
    }
}

/// Remarks on a rule for a careful reader: a width that is no theorem's, and the environment's knowledge behind a certified one, in the form that
/// files and Python read.
fn rule_remarks(rule: &Rule) -> Vec<String> {
    let width = match rule {
        Rule::Tuned { .. } | Rule::Thompson { .. } => {
            Some("the width is tuned by simulation: no confidence set is certified")
        }
        Rule::Certified { scale, .. } if *scale != 1.0 => {
            Some("the bonus is scaled by hand: the confidence set is not certified")
        }
        _ => None,
    };
    let stated =
        matches!(rule, Rule::Certified { .. }).then(|| format!("{RULE_AS_TOLD}{}", as_json(rule)));
    width.map(String::from).into_iter().chain(stated).collect()
}

/// Words before a rule with the environment's knowledge in it.
pub(crate) const RULE_AS_TOLD: &str =
    "outside of this experiment the same rule, with what the environment knows, is ";

/// A rule as files and Python read it, without the parameters that have their defaults.
fn as_json(rule: &Rule) -> String {
    let mut json = serde_json::to_value(rule).unwrap_or_default();
    let parameters = json.as_object_mut().into_iter().flat_map(|rule| rule.values_mut());
    for parameters in parameters.filter_map(serde_json::Value::as_object_mut) {
        parameters.retain(|_, value| !value.is_null());
    }
    json.to_string()
}
