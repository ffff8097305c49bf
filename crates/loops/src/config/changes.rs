//! Changed parts of a loop's file, among those that a generation is made of.

use reticent::hash;
use serde::Serialize;

use super::{Ledger, LoopParams, Trust};

impl LoopParams {
    /// The names of the parts in which a later file of the same loop differs.
    pub fn changes(&self, later: &LoopParams) -> Vec<&'static str> {
        let parts = self.parts().into_iter().zip(later.parts());
        parts.filter(|(before, now)| before != now).map(|(_, (name, _))| name).collect()
    }

    /// True if persons are counted over this generation and a later one: in both by a curator, over one grid of periods, which does not restart.
    pub fn counts_with(&self, later: &LoopParams) -> bool {
        let grid = |params: &LoopParams| match params.ledger("") {
            Ok(Ledger::Person { period, .. }) if params.trust == Trust::Curator => Some(period),
            _ => None,
        };
        grid(self).is_some() && grid(self) == grid(later)
    }

    /// Parts of a generation, as [`super::CentralPlan::params_hash`] and [`super::ReportsPlan::params_hash`] have it, each part with its hash. Of a
    /// warm start only its origin is in the parameters.
    fn parts(&self) -> [(&'static str, u64); 9] {
        fn part(name: &'static str, value: &impl Serialize) -> (&'static str, u64) {
            (name, hash::of_params(name, value))
        }
        let learner = &self.learner;
        let levels = self.device.as_ref().and_then(|device| device.levels.as_ref());
        let shuffle = self.shuffle.map(|table| (table.batch, table.honest, table.mode));
        let [reward, tick] = match self.trust {
            Trust::Curator => {
                [part("reward", &self.reward), part("tick", &self.tick_milliseconds())]
            }
            _ => {
                [part("reward", &self.reward.range), part("tick", &self.device_tick_milliseconds())]
            }
        };
        [
            part("trust", &(self.trust, levels, shuffle)),
            part("privacy", &self.privacy),
            reward,
            match self.fixed_action.is_empty() {
                true => part("features", &self.features().ok()),
                false => part("features", &(self.features().ok(), &self.fixed_action)),
            },
            part("rule", &learner.rule),
            tick,
            part("forgetting", &(self.forget(), learner.horizon)),
            part("baseline", &self.compares()),
            // The origin that is noted without a file is that of the generation before.
            part(
                "warm start",
                &(
                    self.warm_start.is_some(),
                    self.warm_start_origin.as_ref().filter(|_| self.warm_start.is_some()),
                ),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use crate::config::ServiceFile;

    const LOOP: &str = r#"
        [loop.home]
        purpose = "news"
        retain = "1 day"
        privacy = { epsilon = 1.0, delta = 1e-6, visits = 1, per = "ever" }
        reward = { range = [0, 1], window = "2 minutes" }
        learner = { rule = "thompson", tick = "1 minute", forget = "1 day" }
        baseline = { share = 0.1 }
        [loop.home.action]
        topic = { categories = ["news", "sport"] }
    "#;

    /// A part is named exactly where its change begins another generation.
    #[test]
    fn what_is_named_is_what_a_generation_is_made_of() {
        let read = |text: &str| ServiceFile::parse(text).unwrap();
        let before = read(LOOP);
        for (from, to, changed) in [
            ("\"news\"\n", "\"stories\"\n", &[][..]),
            ("1 day\"\n        privacy", "2 days\"\n        privacy", &[]),
            ("share = 0.1", "share = 0.2", &[]),
            ("share = 0.1", "share = 0.0", &["baseline"]),
            ("epsilon = 1.0", "epsilon = 2.0", &["privacy"]),
            ("2 minutes", "3 minutes", &["reward"]),
            ("thompson", "tuned", &["rule"]),
            ("tick = \"1 minute\"", "tick = \"2 minutes\"", &["tick"]),
            ("forget = \"1 day\"", "horizon = 1000", &["forgetting"]),
            ("\"sport\"", "\"music\"", &["features"]),
            ("epsilon = 1.0, delta = 1e-6", "epsilon = 1.0, delta = 1e-7", &["privacy"]),
        ] {
            let later = read(&LOOP.replacen(from, to, 1));
            assert_ne!(before, later, "{from} is not in the file");
            assert_eq!(before.loops["home"].changes(&later.loops["home"]), changed, "{to}");
            let params_hash = |file: &ServiceFile| file.check().unwrap()[0].params_hash();
            assert_eq!(params_hash(&before) == params_hash(&later), changed.is_empty(), "{to}");
        }
    }

    #[test]
    fn loops_of_devices_have_parts_of_their_own() {
        let text = r#"
            [loop.news]
            trust = "device"
            privacy = { epsilon = 2.0, delta = 1e-6, visits = 3, per = "30 days" }
            learner = { tick = "10 minutes" }
            [loop.news.action]
            topic = { categories = ["news", "sport"] }
        "#;
        let read = |text: &str| ServiceFile::parse(text).unwrap();
        let before = read(text);
        for (from, to, changed) in [
            ("learner", "reward = { window = \"2 minutes\" }\nlearner", &[][..]),
            ("{ tick = \"10 minutes\" }", "{}", &[]),
            ("10 minutes", "20 minutes", &["tick"]),
            ("learner", "device = { levels = [1.0, 2.0] }\nlearner", &["trust"]),
            ("learner", "reward = { range = [0, 2] }\nlearner", &["reward"]),
        ] {
            let later = read(&text.replacen(from, to, 1));
            assert_eq!(before.loops["news"].changes(&later.loops["news"]), changed, "{to}");
            let params_hash = |file: &ServiceFile| file.check().unwrap()[0].params_hash();
            assert_eq!(params_hash(&before) == params_hash(&later), changed.is_empty(), "{to}");
        }
    }
}
