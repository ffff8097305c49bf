//! `kind = "joint"` in whole blocks: every mechanism, and every published constant of paper 1.

use std::sync::Arc;

use reticent::{
    bandit::{JointParams, Regularizer, Rule},
    privacy::{Guarantee, Mode},
    release::{Domain, Mechanism},
};

use super::{
    BlockPlayed, JointToml, Setting,
    blocks::{BlockPlayer, TreePlan},
    nothing_is_ignored,
};
use crate::{
    Result,
    attack::{self, Attack},
    constants::joint::{Published, PublishedNoise},
    contest::Card,
    environment::GapParams,
    simulate::NodeNoise,
};

/// Everything a joint learner is made from.
pub(super) struct Builder<'a> {
    pub(super) lines: &'a JointToml,
    pub(super) setting: &'a Setting,
    pub(super) gap: GapParams,
    pub(super) published: Published,
}

impl Builder<'_> {
    /// The learner, or what stands in its way.
    pub(super) fn blocks(&self) -> Result<BlockPlayed> {
        self.lines.schedule.unwrap_or_default().check()?;
        self.nothing_is_ignored()?;
        match (self.lines.mechanism.published(), self.lines.mode) {
            (Some(PublishedNoise::GaussianTree), _) => self.gaussian_tree(),
            (Some(_), Mode::Exact) => Err(self.refuse("Wishart noise exists in `paper` mode only")),
            (Some(noise), Mode::Paper) => self.wishart(noise),
            (None, Mode::Paper) => {
                Err(self.refuse("the paper has gaussian_tree, wishart and wishart_unshifted"))
            }
            (None, Mode::Exact) => self.stream(),
        }
    }

    /// A key that would have no effect is refused, not passed over.
    fn nothing_is_ignored(&self) -> Result<()> {
        let JointToml { mechanism, mode, minimum, fresh_dummies, rule, confidence, .. } =
            self.lines;
        let published = mechanism.published();
        let gaussian = published == Some(PublishedNoise::GaussianTree);
        let paper = [mode, confidence].contains(&&Mode::Paper);
        let set = published.is_some() && paper;
        nothing_is_ignored(&[
            ("rule", rule.is_some() && set, "the publication has its own confidence set"),
            (
                "confidence",
                *confidence == Mode::Paper && !gaussian,
                "it belongs to the gaussian_tree",
            ),
            ("intercept", self.lines.intercept.is_some(), "arms have no constant feature here"),
            (
                "minimum",
                minimum.is_some() && !set,
                "it belongs to the regularisers of `paper` mode",
            ),
            (
                "forget",
                self.lines.forget.is_some() && published.is_some(),
                "published constants are for sums that do not forget",
            ),
            (
                "fresh_dummies",
                *fresh_dummies && (gaussian || published.is_none()),
                "it belongs to Wishart trees",
            ),
        ])
    }

    fn refuse(&self, remedy: &str) -> crate::Error {
        reticent::Error::invalid("mechanism", self.lines.mechanism, remedy).into()
    }

    /// A curator with a mechanism of the core, indexed by release.
    fn stream(&self) -> Result<BlockPlayed> {
        let params = self.lines.params(self.setting)?;
        let plan = params.check()?;
        if plan.sums().mechanism == Mechanism::Reports {
            return Err(
                self.refuse("reports are made one by one, and whole blocks are sums: give blt")
            );
        }
        let guarantee = plan.guarantee()?;
        let mut attacks = attack::sums::attacks(plan.sums(), &guarantee);
        attacks.extend(attack::joint::attacks(&params, &guarantee));
        Ok(self.finish(BlockPlayer::Private(Box::new(plan)), guarantee, attacks))
    }

    /// A binary tree over rounds with the same noise on matrix and vector, published or exactly calibrated.
    fn gaussian_tree(&self) -> Result<BlockPlayed> {
        let published = self.published.params(PublishedNoise::GaussianTree)?;
        let deployed = match self.lines.mode {
            Mode::Paper => published,
            Mode::Exact => JointParams { calibration: None, claim: None, ..published },
        };
        let plan = deployed.check()?;
        let guarantee = plan.guarantee()?;
        // What is played is one node of the sums that are certified: the first release has just one, on the vector as it is.
        let deviation = plan.sums().check()?.deviations(1)?.last().copied().unwrap_or(0.0);
        let rule = match (self.lines.confidence, self.lines.mode) {
            (Mode::Exact, Mode::Exact) => {
                let rule = self.lines.rule.unwrap_or_default();
                self.setting.informed(rule, &self.setting.bounds)?
            }
            _ => self.regularized(self.published.gaussian_regularizer(deviation)),
        };
        let mut attacks = attack::sums::attacks(plan.sums(), &guarantee);
        if self.lines.mode == Mode::Paper {
            attacks.extend(attack::joint::attacks(&deployed, &guarantee));
        }
        let node = NodeNoise::Gaussian { deviation };
        self.tree(node, plan.sums().domain, rule, guarantee, attacks)
    }

    /// The paper's Wishart tree, with the guarantee of the learner that is deployed.
    fn wishart(&self, noise: PublishedNoise) -> Result<BlockPlayed> {
        let regularizer = if noise == PublishedNoise::Wishart {
            self.published.shifted_wishart_regularizer()
        } else {
            self.published.wishart_regularizer()
        };
        let deployed = self.published.params(noise)?;
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
        let rule = self.regularized(regularizer);
        self.tree(node, plan.sums().domain, rule, guarantee, attacks)
    }

    /// Proposition 4 with these bounds.
    fn regularized(&self, regularizer: Regularizer) -> Rule {
        self.published.rule(match self.lines.minimum {
            Some(minimum) => regularizer.shifted_to(minimum),
            None => regularizer,
        })
    }

    fn tree(
        &self,
        node: NodeNoise,
        domain: Domain,
        rule: Rule,
        guarantee: Guarantee,
        attacks: Vec<Attack>,
    ) -> Result<BlockPlayed> {
        let schedule = self.lines.schedule.unwrap_or_default();
        let rounds = self.setting.rounds;
        let rule = rule.plan(domain, Some(rounds), Some(schedule.releases(rounds).max(1)))?;
        let learner = BlockPlayer::Tree(TreePlan { node, domain, schedule, rule });
        Ok(self.finish(learner, guarantee, attacks))
    }

    fn finish(
        &self,
        learner: BlockPlayer,
        guarantee: Guarantee,
        attacks: Vec<Attack>,
    ) -> BlockPlayed {
        let name = self.lines.name(&self.lines.mechanism_label());
        let guarantee = Some(guarantee.simulated());
        BlockPlayed {
            card: Arc::new(Card { name, guarantee, attacks, ..Card::default() }),
            setting: self.setting.clone(),
            gap: self.gap,
            epsilon: Some(self.lines.privacy.epsilon),
            learner,
        }
    }
}
