//! `kind = "joint"` with a certified confidence set, in whole blocks: every mechanism and every published constant of paper 1.

use std::sync::Arc;

use reticent::{
    bandit::{Confidence, ConfidenceRule, JointParams, Problem, Published, Regularizer},
    privacy::{Guarantee, Mode},
    release::{Calibration, Domain, Mechanism, PrivateSumParams, Schedule},
};

use super::{
    Budget, ConfidenceName, JointLines, Learner, MechanismName, Setting, blocks::NoisePlan,
    nothing_is_ignored,
};
use crate::{
    Result,
    attack::{self, Attack},
    environment::GapParams,
};

/// Everything a joint learner is made from.
pub(super) struct Builder<'a> {
    pub(super) lines: &'a JointLines,
    pub(super) setting: &'a Setting,
    pub(super) gap: GapParams,
    pub(super) published: Published,
}

impl Builder<'_> {
    /// The learner, or what stands in its way.
    pub(super) fn learner(&self) -> Result<Learner> {
        self.lines.schedule.check()?;
        self.nothing_is_ignored()?;
        match (self.lines.mechanism, self.lines.mode) {
            (MechanismName::Wishart | MechanismName::WishartUnshifted, Mode::Exact) => {
                Err(self.refuse("Wishart noise exists in `paper` mode only"))
            }
            (MechanismName::Wishart | MechanismName::WishartUnshifted, Mode::Paper) => {
                self.wishart()
            }
            (MechanismName::GaussianTree, _) => self.gaussian_tree(),
            (_, Mode::Paper) => {
                Err(self.refuse("the paper has gaussian_tree, wishart and wishart_unshifted"))
            }
            (_, Mode::Exact) => self.stream(),
        }
    }

    /// A key that would have no effect is refused, not passed over.
    fn nothing_is_ignored(&self) -> Result<()> {
        let JointLines { mechanism, mode, minimum, fresh_dummies, .. } = self.lines;
        let wishart = matches!(mechanism, MechanismName::Wishart | MechanismName::WishartUnshifted);
        let published =
            wishart || (*mechanism, *mode) == (MechanismName::GaussianTree, Mode::Paper);
        nothing_is_ignored(&[
            (
                "minimum",
                minimum.is_some() && !published,
                "it belongs to the regularisers of `paper` mode",
            ),
            ("fresh_dummies", *fresh_dummies && !wishart, "it belongs to Wishart trees"),
        ])
    }

    fn refuse(&self, remedy: &str) -> crate::Error {
        reticent::Error::invalid("mechanism", format!("{:?}", self.lines.mechanism), remedy).into()
    }

    fn budget(&self) -> Calibration {
        let Budget { epsilon, delta } = self.lines.privacy;
        Calibration::Budget { epsilon, delta }
    }

    /// A mechanism of the core, indexed by release.
    fn stream(&self) -> Result<Learner> {
        let params = self.lines.stream(self.setting.problem.domain(), self.setting)?;
        let guarantee = params.check()?.guarantee(self.lines.privacy.delta)?;
        if self.lines.confidence == Some(ConfidenceName::Paper) {
            return Err(reticent::Error::invalid(
                "confidence",
                "paper",
                "it needs the gaussian_tree",
            )
            .into());
        }
        let releases = self.lines.schedule.releases(self.setting.rounds);
        let attacks = self.attacks(&params, &guarantee);
        let noise = NoisePlan::Stream { params, releases };
        self.finish(params.domain, noise, self.tight(), guarantee, attacks)
    }

    /// A binary tree over rounds with the same noise on matrix and vector, published or exactly calibrated.
    fn gaussian_tree(&self) -> Result<Learner> {
        let Problem { dimension, feature_bound, reward_bound, .. } = self.setting.problem;
        let split = (reward_bound / feature_bound).powi(2);
        let domain = Domain::Regression { dimension, feature_bound, reward_bound, split };
        let levels = self.published.levels();
        let calibration = match self.lines.mode {
            Mode::Paper => Calibration::Sigma(self.published.gaussian_deviation()),
            Mode::Exact => self.budget(),
        };
        let params = PrivateSumParams {
            mechanism: Mechanism::Tree { levels: Some(levels) },
            schedule: Schedule::EveryRound,
            ..PrivateSumParams::new(domain, Some(self.setting.rounds), calibration)
        };
        // What is played is one node of the sums that are certified: the first release has just one, on the vector as it is.
        let deviation = params.check()?.deviations(1)?.last().copied().unwrap_or(0.0);
        let guarantee = self.claim(params.check()?.guarantee(self.lines.privacy.delta)?)?;
        let paper = self.regularized(self.published.gaussian_regularizer(deviation));
        let confidence = match (self.lines.confidence, self.lines.mode) {
            (Some(ConfidenceName::Tight), _) | (None, Mode::Exact) => self.tight(),
            _ => paper,
        };
        let attacks = self.attacks(&params, &guarantee);
        self.finish(domain, NoisePlan::Gaussian { deviation }, confidence, guarantee, attacks)
    }

    /// The paper's Wishart tree, with the guarantee of the learner that is deployed.
    fn wishart(&self) -> Result<Learner> {
        let shifted = self.lines.mechanism == MechanismName::Wishart;
        let regularizer = if shifted {
            self.published.shifted_wishart_regularizer()
        } else {
            self.published.wishart_regularizer()
        };
        let Setting { problem, rounds, .. } = self.setting.clone();
        let Budget { epsilon, delta } = self.lines.privacy;
        let deployed = JointParams {
            alpha: Some(self.setting.alpha()),
            ..JointParams::published_wishart(problem, epsilon, delta, rounds, shifted)
        };
        let guarantee = deployed.check()?.guarantee()?;
        let noise = NoisePlan::Wishart {
            degrees: self.published.wishart_degrees(),
            scale: self.published.squared_bound().sqrt(),
            nodes: self.published.levels(),
            fresh_dummies: self.lines.fresh_dummies,
        };
        let attacks = self.attacks(deployed.check()?.sums(), &guarantee);
        self.finish(problem.domain(), noise, self.regularized(regularizer), guarantee, attacks)
    }

    /// Every release of the deployed sums, and the actions of the learner around them where the core has it.
    fn attacks(&self, sums: &PrivateSumParams, guarantee: &Guarantee) -> Vec<Attack> {
        let Setting { problem, rounds, .. } = *self.setting;
        let Budget { epsilon, delta } = self.lines.privacy;
        let alpha = Some(self.setting.alpha());
        let learner = match (self.lines.mode, self.lines.mechanism) {
            (Mode::Exact, MechanismName::GaussianTree) => None,
            (Mode::Exact, _) => Some(JointParams {
                alpha,
                mechanism: sums.mechanism,
                schedule: sums.schedule,
                contributions_per_person: sums.contributions_per_person,
                ..JointParams::new(problem, epsilon, delta, Some(rounds))
            }),
            (Mode::Paper, MechanismName::GaussianTree) => {
                Some(JointParams::published(problem, epsilon, delta, rounds))
            }
            (Mode::Paper, name) => {
                let shifted = name == MechanismName::Wishart;
                Some(JointParams::published_wishart(problem, epsilon, delta, rounds, shifted))
            }
        };
        let mut all = attack::sums::attacks(sums, guarantee);
        all.extend(learner.iter().flat_map(|params| attack::joint::attacks(params, guarantee)));
        all
    }

    fn claim(&self, guarantee: Guarantee) -> Result<Guarantee> {
        let Budget { epsilon, delta } = self.lines.privacy;
        Ok(match self.lines.mode {
            Mode::Exact => guarantee,
            Mode::Paper => {
                guarantee.with_claim(epsilon, delta, "Shariff and Sheffet (2018), section 4.2")?
            }
        })
    }

    fn tight(&self) -> Confidence {
        let releases = self.lines.schedule.releases(self.setting.rounds).max(1);
        Confidence::Tight { releases: Some(releases), scale: self.lines.bonus_scale }
    }

    fn regularized(&self, regularizer: Regularizer) -> Confidence {
        Confidence::Regularized(match self.lines.minimum {
            Some(minimum) => regularizer.shifted_to(minimum),
            None => regularizer,
        })
    }

    fn finish(
        &self,
        domain: Domain,
        noise: NoisePlan,
        confidence: Confidence,
        guarantee: Guarantee,
        attacks: Vec<Attack>,
    ) -> Result<Learner> {
        Ok(Learner {
            name: self.lines.name(&format!("{:?}", self.lines.mechanism)),
            setting: self.setting.clone(),
            gap: self.gap,
            epsilon: Some(self.lines.privacy.epsilon),
            domain,
            schedule: self.lines.schedule,
            rule: ConfidenceRule::new(self.setting.problem, self.setting.alpha(), confidence)?,
            guarantee: Some(guarantee.simulated()),
            noise,
            attacks: Arc::new(attacks),
        })
    }
}
