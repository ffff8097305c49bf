//! `kind = "joint"` in whole blocks: every mechanism, and every published constant of paper 1.

use std::sync::Arc;

use reticent::{
    bandit::{JointParams, Problem, Published, Regularizer, Rule},
    privacy::{Guarantee, Mode},
    release::{Calibration, Domain, Mechanism, PrivateSumParams, Schedule},
};

use super::{
    BlockPlayed, Budget, JointLines, MechanismName, Setting,
    blocks::{Learner, TreePlan},
    nothing_is_ignored,
};
use crate::{
    Result,
    attack::{self, Attack},
    environment::GapParams,
    simulate::NodeNoise,
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
    pub(super) fn blocks(&self) -> Result<BlockPlayed> {
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
        let JointLines { mechanism, mode, minimum, fresh_dummies, rule, confidence, .. } =
            self.lines;
        let wishart = matches!(mechanism, MechanismName::Wishart | MechanismName::WishartUnshifted);
        let published = wishart || *mechanism == MechanismName::GaussianTree;
        let set = published && (*mode == Mode::Paper || confidence.is_some());
        nothing_is_ignored(&[
            ("rule", rule.is_some() && set, "the publication has its own confidence set"),
            (
                "confidence",
                confidence.is_some() && *mechanism != MechanismName::GaussianTree,
                "it belongs to the gaussian_tree",
            ),
            ("centred", self.lines.centred.is_some(), "arms have no constant feature here"),
            (
                "minimum",
                minimum.is_some() && !set,
                "it belongs to the regularisers of `paper` mode",
            ),
            (
                "forget",
                self.lines.forget.is_some() && published,
                "published constants are for sums that do not forget",
            ),
            ("fresh_dummies", *fresh_dummies && !wishart, "it belongs to Wishart trees"),
        ])
    }

    fn refuse(&self, remedy: &str) -> crate::Error {
        reticent::Error::invalid("mechanism", format!("{:?}", self.lines.mechanism), remedy).into()
    }

    /// A curator with a mechanism of the core, indexed by release.
    fn stream(&self) -> Result<BlockPlayed> {
        let params = self.lines.params(self.setting)?;
        let plan = params.check()?;
        let guarantee = plan.guarantee()?;
        let mut attacks = attack::sums::attacks(plan.sums(), &guarantee);
        attacks.extend(attack::joint::attacks(&params, &guarantee));
        Ok(self.finish(Learner::Private(Box::new(plan)), guarantee, attacks))
    }

    /// A binary tree over rounds with the same noise on matrix and vector, published or exactly calibrated.
    fn gaussian_tree(&self) -> Result<BlockPlayed> {
        let Problem { dimension, feature_bound, reward_bound, .. } = self.setting.problem;
        let split = (reward_bound / feature_bound).powi(2);
        let domain = Domain::Regression { dimension, feature_bound, reward_bound, split };
        let levels = self.published.levels();
        let Budget { epsilon, delta } = self.lines.privacy;
        let calibration = match self.lines.mode {
            Mode::Paper => Calibration::Sigma(self.published.gaussian_deviation()),
            Mode::Exact => Calibration::Budget { epsilon, delta },
        };
        let params = PrivateSumParams {
            mechanism: Mechanism::Tree { levels: Some(levels) },
            schedule: Schedule::EveryRound,
            ..PrivateSumParams::new(domain, Some(self.setting.rounds), calibration)
        };
        // What is played is one node of the sums that are certified: the first release has just one, on the vector as it is.
        let deviation = params.check()?.deviations(1)?.last().copied().unwrap_or(0.0);
        let guarantee = self.claim(params.check()?.guarantee(delta)?)?;
        let rule = match (self.lines.confidence, self.lines.mode) {
            (None, Mode::Exact) => {
                let rule = self.lines.rule.unwrap_or_default();
                self.setting.informed(rule, &self.setting.bounds)
            }
            _ => self.regularized(self.published.gaussian_regularizer(deviation)),
        };
        let deployed =
            JointParams::published(self.setting.problem, epsilon, delta, self.setting.rounds);
        let mut attacks = attack::sums::attacks(&params, &guarantee);
        if self.lines.mode == Mode::Paper {
            attacks.extend(attack::joint::attacks(&deployed, &guarantee));
        }
        self.tree(NodeNoise::Gaussian { deviation }, domain, rule, guarantee, attacks)
    }

    /// The paper's Wishart tree, with the guarantee of the learner that is deployed.
    fn wishart(&self) -> Result<BlockPlayed> {
        let shifted = self.lines.mechanism == MechanismName::Wishart;
        let regularizer = if shifted {
            self.published.shifted_wishart_regularizer()
        } else {
            self.published.wishart_regularizer()
        };
        let Setting { problem, rounds, .. } = self.setting.clone();
        let Budget { epsilon, delta } = self.lines.privacy;
        let deployed = JointParams::published_wishart(problem, epsilon, delta, rounds, shifted);
        let plan = deployed.check()?;
        let guarantee = plan.guarantee()?;
        let node = NodeNoise::Wishart {
            degrees: self.published.wishart_degrees(),
            scale: self.published.squared_bound().sqrt(),
            nodes: self.published.levels(),
            fresh_dummies: self.lines.fresh_dummies,
        };
        let mut attacks = attack::sums::attacks(plan.sums(), &guarantee);
        attacks.extend(attack::joint::attacks(&deployed, &guarantee));
        self.tree(node, problem.domain(), self.regularized(regularizer), guarantee, attacks)
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

    /// Proposition 4 with these bounds.
    fn regularized(&self, regularizer: Regularizer) -> Rule {
        let Problem { feature_bound, reward_bound, parameter_bound, noise, .. } =
            self.setting.problem;
        Rule::Regularized {
            regularizer: match self.lines.minimum {
                Some(minimum) => regularizer.shifted_to(minimum),
                None => regularizer,
            },
            failure_probability: Some(self.setting.alpha()),
            parameter_bound: parameter_bound * (feature_bound / reward_bound),
            reward_noise: noise / reward_bound,
        }
    }

    fn tree(
        &self,
        node: NodeNoise,
        domain: Domain,
        rule: Rule,
        guarantee: Guarantee,
        attacks: Vec<Attack>,
    ) -> Result<BlockPlayed> {
        let schedule = self.lines.schedule;
        let rounds = self.setting.rounds;
        let rule = rule.plan(domain, Some(rounds), Some(schedule.releases(rounds).max(1)))?;
        let learner = Learner::Tree(TreePlan { node, domain, schedule, rule });
        Ok(self.finish(learner, guarantee, attacks))
    }

    fn finish(&self, learner: Learner, guarantee: Guarantee, attacks: Vec<Attack>) -> BlockPlayed {
        BlockPlayed {
            name: self.lines.name(&format!("{:?}", self.lines.mechanism)),
            setting: self.setting.clone(),
            gap: self.gap,
            epsilon: Some(self.lines.privacy.epsilon),
            guarantee: Some(guarantee.simulated()),
            learner,
            attacks: Arc::new(attacks),
        }
    }
}
