//! Every kind of saved state and of message, with the version of its form: the only list of them.
//!
//! A change of what is written under a kind raises its version here. `vectors/wire` holds a file `name.version.bin` or `name.version.json` of
//! every kind and every version; a test refuses a kind without one.

use std::fmt;

/// A kind of saved state or of message, with the version of its form. There are no others than those of [`STATES`] and [`MESSAGES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    name: &'static str,
    version: u16,
}

impl Kind {
    /// Its name: one word.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The version that this library writes, and the only one that it reads.
    pub fn version(self) -> u16 {
        self.version
    }

    /// Another version of a kind.
    #[cfg(test)]
    pub(crate) fn of_version(self, version: u16) -> Self {
        Kind { version, ..self }
    }
}

/// As it stands in the envelope of a saved state.
impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.name, self.version)
    }
}

macro_rules! kinds {
    ($(#[$doc:meta])* $all:ident: $($kind:ident = $name:literal $version:literal,)*) => {
        $(
            #[doc = concat!("`", $name, "`.")]
            pub const $kind: Kind = Kind { name: $name, version: $version };
        )*
        $(#[$doc])*
        pub const $all: &[Kind] = &[$($kind),*];
    };
}

kinds! {
    /// All kinds of saved states.
    STATES:
    AGENT = "agent" 1,
    ANYTIME = "anytime" 1,
    CHOICE = "choice" 1,
    COMBINER = "combiner" 1,
    CONTRIBUTION_SUMS = "contribution_sums" 1,
    COORDINATOR = "coordinator" 1,
    CURATOR = "curator" 1,
    DOUBLING_BANDIT = "doubling_bandit" 1,
    EPISODES = "episodes" 1,
    GRADIENT_DESCENT = "gradient_descent" 1,
    JOINT = "joint" 1,
    JOINT_LEGACY = "joint_legacy" 1,
    LEDGER = "ledger" 1,
    LINEAR_MODEL = "linear_model" 1,
    LINUCB = "linucb" 1,
    LOCAL_SERVER = "local_server" 1,
    MALER = "maler" 1,
    ONLINE_LEARNER = "online_learner" 1,
    ONLINE_LINUCB = "online_linucb" 1,
    ONLINE_UCB = "online_ucb" 1,
    OPEN_DECISIONS = "open_decisions" 1,
    PRIVATE_BANDIT = "private_bandit" 1,
    PRIVATE_SUM = "private_sum" 1,
    PYTHON_ACCOUNTANT = "python_accountant" 1,
    PYTHON_CONVEX = "python_convex" 1,
    PYTHON_FEATURE_REWARD = "python_feature_reward" 1,
    PYTHON_JOINT = "python_joint" 1,
    PYTHON_LINUCB = "python_linucb" 1,
    PYTHON_LOCAL_PLAN = "python_local_plan" 1,
    PYTHON_ONLINE_LINUCB = "python_online_linucb" 1,
    PYTHON_SHUFFLE_PLAN = "python_shuffle_plan" 1,
    SHUFFLER = "shuffler" 1,
    SHUFFLE_SERVER = "shuffle_server" 1,
    SPENT = "spent" 1,
}

kinds! {
    /// All kinds of messages. Models, reports and batches had versions 1 and 2 in a form without a kind.
    MESSAGES:
    AGENT_REPORT = "agent_report" 1,
    ARMS = "arms" 1,
    BATCH = "batch" 3,
    DECISION = "decision" 1,
    FEATURES = "features" 1,
    FEATURE_REWARD_REPORT = "feature_reward_report" 1,
    GUARANTEE = "guarantee" 1,
    MODEL = "model" 3,
    POLICY = "policy" 1,
    PROTOCOL = "protocol" 1,
    RELEASE = "release" 1,
    REPORT = "report" 3,
    REPORT_PLAN = "report_plan" 1,
    VALUE_REPORT = "value_report" 1,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_single_words_and_no_two_kinds_share_one() {
        let mut names: Vec<&str> = STATES.iter().chain(MESSAGES).map(|kind| kind.name).collect();
        let word = |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        assert!(names.iter().all(word), "{names:?}");
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
