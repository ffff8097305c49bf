//! `rule = "episodes"` of `kind = "joint"`, `"shuffle"` and `"linucb"`: core's learner for fixed public actions, on simulation noise.
//!
//! The arms of a trial are those of its first round. A round with others is refused, and so is an environment that does not declare its arms fixed: what
//! is promised there does not hold where arms depend on the person.

use reticent::{
    bandit::{Arms, Episodes, EpisodesParams, EpisodesPlan},
    noise::Noise,
    privacy::TrustModel,
};

use super::{
    BanditEnvironment, Budget, JointToml, LinUcbToml, ShuffleToml, Stepped, nothing_is_ignored,
};
use crate::{
    FastNoise, Result,
    audit::attack,
    papers::constants::joint::{JointMechanism, JointMode},
    play::{Learner, trial::mix},
};

/// The same words for every kind.
const WHY: &str = "a learner in episodes has no sums over rounds";

/// Width and growth.
type Pace = (f64, f64);

impl BanditEnvironment {
    /// Refuses arms that may differ from round to round, which are a person's own.
    fn expect_fixed_arms(&self) -> Result<()> {
        let remedy = "it is for actions that are fixed, public and the same for all people, and arms of this environment may depend on the person; expected tuned, or an environment with fresh_arms = false and no availability";
        Ok(reticent::refuse_if(!self.fixed_arms, "rule", "episodes", remedy)?)
    }

    /// Parameters of core's learner for arms of this environment, which every trial has of its own.
    fn episodes(&self, trust: TrustModel, budget: Budget, (width, growth): Pace) -> EpisodesParams {
        let mut unit = vec![0.0; self.bounds.dimension];
        unit[0] = 1.0;
        EpisodesParams {
            rewards: self.bounds.rewards,
            trust,
            contributions_per_person: self.contributions_per_person.unwrap_or(1),
            default_reward: self.bounds.rewards.0,
            width,
            growth,
            ..EpisodesParams::new(vec![unit; self.arms], budget.epsilon, budget.delta)
        }
    }

    fn playing(&self, name: String, params: &EpisodesParams) -> Result<Stepped> {
        let plan = params.check()?;
        let (scale, start) = (1.0 / self.bounds.feature_bound, plan.clone());
        let learner = move |seed| {
            let learner = EpisodesLearner { plan: start.clone(), scale, seed, playing: None };
            Ok(Box::new(learner) as Box<dyn Learner>)
        };
        let mut stepped = Stepped::new(name, self, learner);
        (stepped.public_arms, stepped.fixed_arms) = (true, true);
        if params.trust == TrustModel::None {
            return Ok(stepped);
        }
        let guarantee = plan.guarantee()?.simulated();
        let certified = guarantee.clone();
        let attacks = move || Ok(vec![attack::episodes::attack(&plan, &certified)]);
        let width = "the width is tuned by simulation: no confidence set is certified";
        Ok(stepped.certified_by(guarantee).remarking([width.to_string()]).attacked_by(attacks))
    }
}

impl JointToml {
    /// The learner in episodes with a curator.
    pub(super) fn episodes(&self, environment: &BanditEnvironment, pace: Pace) -> Result<Stepped> {
        nothing_is_ignored(&[
            ("mode", self.mode != JointMode::Exact, WHY),
            ("mechanism", self.mechanism != JointMechanism::default(), WHY),
            ("confidence", self.confidence != JointMode::Exact, WHY),
            ("minimum", self.minimum.is_some(), WHY),
            ("fresh_dummies", self.fresh_dummies, WHY),
            ("schedule", self.schedule.is_some(), WHY),
            ("intercept", self.intercept.is_some(), WHY),
            ("restart_every", self.restart_every.is_some(), WHY),
            ("detect_changes", self.detect_changes, WHY),
            ("window", self.window.is_some(), WHY),
            ("warm_start", self.warm_start.is_some(), WHY),
            ("save", self.save.is_some(), WHY),
        ])?;
        environment.expect_fixed_arms()?;
        let environment = &environment.with_contributions(self.contributions_per_person);
        let params = environment.episodes(TrustModel::Joint, self.privacy, pace);
        let params = EpisodesParams { forget: self.forget, ..params };
        let mut stepped = environment.playing(self.name("joint, episodes"), &params)?;
        stepped.log.clone_from(&self.log);
        Ok(stepped)
    }
}

impl ShuffleToml {
    /// The learner in episodes behind a shuffler.
    pub(super) fn episodes(&self, environment: &BanditEnvironment, pace: Pace) -> Result<Stepped> {
        nothing_is_ignored(&[
            ("mode", self.mode != reticent::privacy::Mode::Exact, WHY),
            ("aggregation", self.aggregation.is_some(), WHY),
            (
                "batch",
                self.batch.is_some(),
                "each episode is one batch, whose size follows from what is known",
            ),
            ("honest", self.honest.is_some(), WHY),
            ("intercept", self.intercept.is_some(), WHY),
            ("unit_arms", self.unit_arms.is_some(), WHY),
        ])?;
        environment.expect_fixed_arms()?;
        let environment = &environment.with_contributions(self.contributions_per_person);
        let params = environment.episodes(TrustModel::Shuffle, self.privacy, pace);
        let Budget { epsilon, delta } = self.privacy;
        let name = self.name.clone();
        let name = name.unwrap_or_else(|| format!("shuffle, episodes ({epsilon}, {delta:e})"));
        let local = params.check()?.local_guarantee()?.simulated();
        let mut stepped = environment.playing(name, &params)?;
        stepped.log.clone_from(&self.log);
        Ok(stepped.remarking([format!("without the shuffler: {local}")]))
    }
}

impl LinUcbToml {
    /// The learner in episodes without privacy.
    pub(super) fn episodes(&self, environment: &BanditEnvironment, pace: Pace) -> Result<Stepped> {
        nothing_is_ignored(&[
            ("mode", self.mode != reticent::privacy::Mode::Exact, WHY),
            ("regularizer", self.regularizer.is_some(), WHY),
            ("intercept", self.intercept.is_some(), WHY),
            ("schedule", self.schedule.is_some(), WHY),
            ("restart_every", self.restart_every.is_some(), WHY),
            ("warm_start", self.warm_start.is_some(), WHY),
            ("save", self.save.is_some(), WHY),
        ])?;
        environment.expect_fixed_arms()?;
        let params = environment.episodes(TrustModel::None, Budget::default(), pace);
        let params = EpisodesParams { forget: self.forget, ..params };
        let name = self.name.clone().unwrap_or_else(|| "episodes, not private".into());
        let mut stepped = environment.playing(name, &params)?;
        stepped.log.clone_from(&self.log);
        Ok(stepped)
    }
}

/// Core's learner in one trial, which begins when the trial shows its arms.
struct EpisodesLearner {
    plan: EpisodesPlan,
    /// Features are multiplied by it, so that none is longer than 1.
    scale: f64,
    seed: u64,
    playing: Option<(Arms, Episodes<FastNoise>)>,
}

impl EpisodesLearner {
    fn learner(&mut self) -> Result<&mut Episodes<FastNoise>> {
        let remedy = "no arms have been shown: choose first";
        let none = || reticent::Error::invalid("round", 0, remedy);
        Ok(&mut self.playing.as_mut().ok_or_else(none)?.1)
    }
}

impl Learner for EpisodesLearner {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        let playing = match self.playing.take() {
            Some(playing) => playing,
            None => {
                let scaled = |arm: usize| arms.arm(arm).iter().map(|x| x * self.scale).collect();
                let plan = self.plan.with_arms((0..arms.count()).map(scaled).collect())?;
                // Public randomness has none here; the noise is the trial's.
                let noise = FastNoise::seeded(FastNoise::seeded(mix(self.seed, 1)).bits());
                (arms.clone(), plan.start(noise))
            }
        };
        let (fixed, learner) = self.playing.insert(playing);
        let remedy = "these differ from those of the first round: declare actions fixed only where all people have the same";
        reticent::refuse_if(fixed != arms, "arms", "other arms", remedy)?;
        Ok(learner.decide()?.arm)
    }

    fn observe(&mut self, round: u64, _: &[f64], reward: f64) -> Result<()> {
        self.learner()?.observe(round - 1, reward)?;
        Ok(())
    }

    /// The data cannot be used, which must not show: the person counts with a reward in the middle of the range, which another could have had.
    fn pass(&mut self, round: u64) -> Result<()> {
        let (low, high) = self.plan.params().rewards;
        self.observe(round, &[], 0.5 * (low + high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    fn experiment(environment: &str, algorithm: &str) -> crate::Result<Experiment> {
        Experiment::parse(&format!(
            "name = \"t\"\nrounds = 3000\ntrials = 2\n[environment]\n{environment}\n[[algorithm]]\nrule = \"episodes\"\n{algorithm}"
        ))
    }

    const SPHERE: &str = "kind = \"sphere\"\ndimension = 3\narms = 6";
    const JOINT: &str = "kind = \"joint\"\nprivacy = { epsilon = 1.0, delta = 1e-6 }";

    /// Every trust model learns, with late and lost rewards too: the mean regret is below half of what an arm drawn at random loses.
    #[test]
    fn every_trust_model_learns_fixed_arms() {
        let gap = "kind = \"gap\"\ndimension = 3\narms = 6\ngap = 0.3\nfresh_arms = false\nrewards = \"bernoulli\"";
        let late = format!("{gap}\nmodifiers = {{ delay = {{ fixed = 5 }}, lost = 0.2 }}");
        for environment in [gap, &late] {
            for algorithm in [
                JOINT,
                "kind = \"shuffle\"\nprivacy = { epsilon = 1.0, delta = 1e-6 }",
                "kind = \"linucb\"",
            ] {
                let summary =
                    experiment(environment, algorithm).unwrap().simulate(|_, _| ()).unwrap();
                let found = &summary.algorithms[0];
                // The others lie .15 to .75 behind, half of that in rewards.
                assert!(found.final_regret.mean < 0.5 * 0.3 * 3000.0, "{algorithm}: {found:?}");
                let epsilon = found.guarantee.as_ref().map(|guarantee| guarantee.epsilon());
                assert!(epsilon.is_none_or(|epsilon| (0.99..=1.0).contains(&epsilon)));
            }
        }
    }

    /// Planted misuse: arms that may depend on the person, and keys that a learner in episodes cannot keep.
    #[test]
    fn arms_of_a_person_and_foreign_keys_are_refused() {
        for environment in [
            format!("{SPHERE}\nfresh_arms = true"),
            format!("{SPHERE}\nmodifiers = {{ availability = 0.8 }}"),
        ] {
            let error = experiment(&environment, JOINT).map(drop).unwrap_err().to_string();
            assert!(error.contains("may depend on the person"), "{error}");
        }
        for key in [
            "window = 5",
            "mechanism = \"blt\"",
            "restart_every = 500",
            "schedule = \"every_round\"",
        ] {
            let error =
                experiment(SPHERE, &format!("{JOINT}\n{key}")).map(drop).unwrap_err().to_string();
            assert!(error.contains(key.split(' ').next().unwrap()), "{error}");
        }
        let lines = JointToml::new(Budget { epsilon: 1.0, delta: 1e-6 });
        let params = BanditEnvironment::new(
            &crate::environment::SphereParams {
                arms: 2,
                dimension: 2,
                ..crate::environment::SphereParams::published()
            }
            .into(),
            100,
        )
        .unwrap()
        .episodes(TrustModel::Joint, lines.privacy, (0.8, 1.6));
        let plan = params.check().unwrap();
        let mut learner = EpisodesLearner { plan, scale: 1.0, seed: 1, playing: None };
        let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).unwrap();
        learner.choose(&arms, 1).unwrap();
        let others = Arms::from_rows(2, &[[1.0, 0.0], [0.6, 0.8]]).unwrap();
        let error = learner.choose(&others, 2).unwrap_err().to_string();
        assert!(error.contains("differ from those of the first round"), "{error}");
        assert!(learner.choose(&arms.subset(&[0]), 3).is_err());
    }
}
