//! The family of linear bandits: arms with features, one chosen a round, a reward for it; every trust model in every environment.
//!
//! | file | contents |
//! | --- | --- |
//! | `decision_log` | `log = "folder"`: a run's own decisions, in the form that `logged` reads |
//! | `contributions` | people who return, and the number of their contributions |
//! | `episodes` | `rule = "episodes"` of the three kinds below: fixed arms |
//! | `linucb` | `kind = "linucb"`: no privacy |
//! | `joint` | `kind = "joint"`: a trusted curator |
//! | `blocks`, `joint_blocks` | both of them, played in whole blocks between releases, where the environment allows it |
//! | `summed` | both of them, on sums of arms that are mostly zeros |
//! | `in_blocks` | learners that play one arm for many people, where arms are fixed |
//! | `tree_noise` | the noise of a published tree over rounds, without the sums |
//! | `public_code` | the public code of a publication, for comparison |
//! | `local` | `kind = "local"` and `kind = "ldp_linucb"`: the protocol of device and report server |
//! | `shuffle` | `kind = "shuffle"`: the same behind a shuffler |
//! | `online` | `kind = "online_ucb"`, `"anytime"`, `"combiner"` and `"online_linucb"` |
//! | `ticketed` | `window` of `kind = "joint"`: the bandit with tickets |
//! | `saved` | learners on disk |
//! | `stepped` | an algorithm made of a learner |
//!
//! Environments are in [`crate::environment`]. All run the learners of core, person by person and message by message, on simulation noise; `blocks` hands them the sums of many people
//! at once. A new algorithm is one file beside these and one entry of `algorithms!`; a new environment is one file and one variant of [`EnvironmentKind`].

#[cfg(test)]
mod block_tests;
mod blocks;
#[cfg(test)]
mod certified_tests;
#[cfg(test)]
mod choice_tests;
mod contributions;
mod decision_log;
mod episodes;
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
mod summed;
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

pub use crate::environment::bandit::{
    BanditEnvironment, EnvironmentKind, EnvironmentToml, TrialEnvironment,
};
pub use crate::environment::catalogue::CatalogueToml;
pub use crate::environment::columns::Missing;
pub use crate::environment::items::ItemsToml;
pub use crate::environment::logged::LoggedToml;
pub use crate::environment::modifiers::Modifiers;
pub use crate::environment::parameters::Parameters;
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
            /// The algorithm in its environment, or what stands in its way.
            pub fn prepare(&self, environment: &BanditEnvironment) -> Result<Box<dyn RunnableAlgorithm>> {
                match self {
                    $(Algorithm::$kind(lines) => {
                        let enter: fn(&$toml, &BanditEnvironment) -> Result<Box<dyn RunnableAlgorithm>> = $enter;
                        enter(lines, environment)
                    })*
                }
            }
        }
    };
}

// A publication's learner, and one that knows of no blocks of parameters, is given embedded arms.
algorithms! {
    /// LinUCB without privacy (Abbasi-Yadkori, Pal and Szepesvari 2011).
    Linucb(LinUcbToml) => |lines, environment| lines.prepare(&environment.suiting(lines.mode)?),
    /// A trusted curator: LinUCB under joint differential privacy (Shariff and Sheffet 2018, and beyond).
    Joint(JointToml) => |lines, environment| lines.prepare(&environment.suiting(lines.mode.into())?),
    /// The local protocol with the best randomiser, or a named one.
    Local(LocalToml) => |lines, environment| Ok(Box::new(lines.prepare(&lines.environment(environment)?)?)),
    /// A trusted shuffler.
    Shuffle(ShuffleToml) => |lines, environment| Ok(Box::new(lines.prepare(&environment.dense()?)?)),
    /// LDP-LinUCB (Zheng et al. 2020).
    LdpLinucb(LdpToml) => |lines, environment| Ok(Box::new(lines.prepare(&environment.dense()?)?)),
    /// OnlineUCB (paper 0, Algorithm 1).
    OnlineUcb(OnlineToml) => |lines, environment| Ok(Box::new(lines.prepare(&environment.dense()?)?)),
    /// OnlineUCB without a horizon (paper 0, Algorithm 9).
    Anytime(OnlineToml) => |lines, environment| Ok(Box::new(lines.anytime(&environment.dense()?)?)),
    /// OnlineUCB over guesses of the least eigenvalue (paper 0, Algorithm 2).
    Combiner(OnlineToml) => |lines, environment| Ok(Box::new(lines.combiner(&environment.dense()?)?)),
    /// Online LinUCB, not private (paper 0, Algorithm 4).
    OnlineLinucb(OnlineLinUcbToml) => |lines, environment| Ok(Box::new(lines.prepare(&environment.dense()?)?)),
}

impl Family for Bandits {
    type Environment = EnvironmentToml;
    type Algorithm = Algorithm;

    type Checked = BanditEnvironment;

    fn check(rounds: u64, environment: &EnvironmentToml) -> Result<BanditEnvironment> {
        BanditEnvironment::new(environment, rounds)
    }

    fn prepare(
        environment: &BanditEnvironment,
        algorithm: &Algorithm,
    ) -> Result<Box<dyn RunnableAlgorithm>> {
        algorithm.prepare(environment)
    }
}

/// Remarks on a rule for a careful reader: a width that is no theorem's, and the environment's knowledge behind a certified one, in the form that
/// files and Python read.
fn rule_remarks(rule: &Rule) -> Vec<String> {
    let width = match rule {
        Rule::Tuned { .. } | Rule::Thompson { .. } | Rule::Episodes { .. } => {
            Some("the width is tuned by simulation: no confidence set is certified")
        }
        Rule::Certified { scale, .. } if *scale != 1.0 => {
            Some("the bonus is scaled by hand: the confidence set is not certified")
        }
        _ => None,
    };
    let stated =
        matches!(rule, Rule::Certified { .. }).then(|| format!("{INFORMED_RULE}{}", as_json(rule)));
    width.map(String::from).into_iter().chain(stated).collect()
}

/// Words before a rule with the environment's knowledge in it.
pub(crate) const INFORMED_RULE: &str =
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
