//! Feature files with the parameters of their simulation.

use reticent::{
    bandit::{JointParams, JointPlan, Rule},
    error::message,
    features::{FeaturesParams, FeaturesPlan},
    randomize::Bounds,
    release::Schedule,
};

use crate::{Error, Result};

/// A file and the parameters of its simulation.
pub(super) struct File {
    pub name: &'static str,
    /// `small`, `crosses` or `slow`.
    pub kind: &'static str,
    /// Table of features.
    features: &'static str,
    rule: Rule,
    epsilon: f64,
    /// Contributions of a person.
    visits: u64,
    /// Half-life in ticks.
    forget: f64,
    /// Ticks that are played.
    pub ticks: u64,
    /// Events in a tick.
    pub per_tick: u64,
    /// Ticks of the reward window.
    pub delay: u64,
    /// Simulated environments of a quick run: parts of few cells are learnt in some and not in others.
    pub trials: u64,
}

/// A file that was checked.
pub(super) struct Plans {
    pub features: FeaturesPlan,
    pub learner: JointPlan,
}

impl File {
    pub fn plan(&self) -> Result<Plans> {
        let refuse = |error: toml::de::Error| Error::Experiment {
            reason: message(self.name, error, "correct it"),
        };
        let params: FeaturesParams = toml::from_str(self.features).map_err(refuse)?;
        let features = params.check()?;
        let bounds = Bounds {
            rewards: (0.0, 1.0),
            intercept: features.constant(),
            ..Bounds::unit(features.dimension())
        };
        let learner = JointParams {
            schedule: Schedule::Clock,
            rule: self.rule.clone(),
            contributions_per_person: self.visits,
            ..JointParams::forgetting(bounds, self.epsilon, 1e-6, self.forget)
        };
        Ok(Plans { learner: learner.check()?, features })
    }
}

const DEVICES: &str = r#"
context.device = { categories = ["phone", "computer"] }
action.topic = { categories = ["news", "sport", "music"] }
cross.with = [["device", "topic"]]
"#;

const STORIES: &str = r#"
context.age = { range = [18, 80] }
context.device = { categories = ["phone", "computer"] }
action.topic = { categories = ["news", "sport", "music", "science"] }
action.length = { range = [0, 60] }
cross.with = [["device", "topic"], ["age", "length"]]
"#;

const TASTES: &str = r#"
context.liked = { categories = ["a", "b", "c", "d", "e", "f"], weight = 0 }
action.genre = { categories = ["a", "b", "c", "d", "e", "f"] }
action.live = { categories = ["yes", "no"] }
cross.match = [["liked", "genre"]]
"#;

const SHOWS: &str = r#"
context.hour = { bins = [3, 6, 9, 12, 15, 18, 21], weight = 0 }
context.country = { hash = { buckets = 20 }, weight = 0 }
action.genre = { categories = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"] }
cross.with = [["hour", "genre"], ["country", "genre"]]
"#;

const OFFERS: &str = r#"
context.segment = { hash = { buckets = 8 } }
context.region = { hash = { buckets = 6 } }
action.category = { hash = { buckets = 10 } }
action.price = { bins = [5, 10, 20, 50] }
cross.with = [["segment", "category"], ["region", "price"]]
"#;

const NEWS: &str = r#"
context.hour = { cycle = 24, weight = 0 }
context.topic_read = { hash = { buckets = 16 }, weight = 0 }
action.topic = { hash = { buckets = 16 } }
cross.with = [["hour", "topic"], ["topic_read", "topic"]]
cross.match = [["topic_read", "topic"]]
"#;

const SMALL: File = File {
    name: "devices",
    kind: "small",
    features: DEVICES,
    rule: Rule::THOMPSON,
    epsilon: 1.0,
    visits: 1,
    forget: 4096.0,
    ticks: 300,
    per_tick: 20,
    delay: 0,
    trials: 64,
};

pub(super) const WIDE: File = File {
    name: "shows",
    kind: "crosses",
    features: SHOWS,
    epsilon: 16.0,
    ticks: 40,
    per_tick: 800,
    forget: 200.0,
    trials: 6,
    ..SMALL
};

/// Simulated in a few seconds.
#[cfg(test)]
pub(super) const QUICK: File = File { ticks: 150, per_tick: 60, trials: 32, ..SMALL };

pub(super) const FILES: &[File] = &[
    SMALL,
    File {
        name: "stories, tuned",
        features: STORIES,
        rule: Rule::Tuned { ridge: 3.0, bonus: 0.2, width: 2.5 },
        ..SMALL
    },
    File {
        name: "tastes, 10 visits",
        features: TASTES,
        visits: 10,
        epsilon: 2.0,
        per_tick: 40,
        ..SMALL
    },
    WIDE,
    File {
        name: "offers, tuned",
        features: OFFERS,
        rule: Rule::Tuned { ridge: 3.0, bonus: 0.2, width: 2.5 },
        per_tick: 400,
        ..WIDE
    },
    File { name: "news, epsilon 8", features: NEWS, epsilon: 8.0, ..WIDE },
    File {
        name: "devices, daily ticks",
        kind: "slow",
        ticks: 30,
        per_tick: 1500,
        forget: 90.0,
        ..SMALL
    },
    File {
        name: "devices, rewards after 10 ticks",
        kind: "slow",
        ticks: 60,
        per_tick: 300,
        delay: 10,
        forget: 90.0,
        ..SMALL
    },
    File {
        name: "stories, weekly ticks and delays",
        kind: "slow",
        features: STORIES,
        ticks: 16,
        per_tick: 5000,
        delay: 1,
        forget: 12.0,
        ..SMALL
    },
];
