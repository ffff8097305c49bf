//! `kind = "joint"` in whole blocks: every mechanism, and every published constant of paper 1.

use std::sync::Arc;

use reticent::{
    bandit::{JointParams, JointPlan, Regularizer, Rule},
    privacy::Guarantee,
    release::{Domain, Mechanism},
};

use super::{
    BanditEnvironment, BlockPlayed, JointToml,
    blocks::{BlockPlayer, TreePlan},
    nothing_is_ignored,
    tree_noise::NodeNoise,
};
use crate::{
    Result,
    algorithm::Card,
    audit::attack::{self, Attacks},
    environment::GapParams,
    papers::constants::joint::{Constants, JointMode, Published, PublishedNoise},
};

/// Everything a joint learner is made from.
pub(super) struct Builder<'a> {
    pub(super) lines: &'a JointToml,
    pub(super) environment: &'a BanditEnvironment,
    pub(super) gap: GapParams,
    pub(super) published: Published,
}

impl Builder<'_> {
    /// The learner, or what stands in its way.
    pub(super) fn blocks(&self) -> Result<BlockPlayed> {
        self.lines.schedule.unwrap_or_default().check()?;
        self.nothing_is_ignored()?;
        match (self.lines.mechanism.published(), self.lines.mode.constants()) {
            (Some(PublishedNoise::GaussianTree), None) => self.exact_tree(),
            (Some(_), None) => {
                Err(self.refuse("in `exact` mode the gaussian_tree alone: give mode = \"paper\""))
            }
            (Some(noise), Some(constants)) => self.published(noise, constants),
            (None, Some(_)) => Err(self.lines.only_published()),
            (None, None) => self.stream(),
        }
    }

    /// A key that would have no effect is refused, not passed over.
    fn nothing_is_ignored(&self) -> Result<()> {
        let JointToml { mechanism, mode, minimum, fresh_dummies, rule, confidence, .. } =
            self.lines;
        let published = mechanism.published();
        let gaussian = published == Some(PublishedNoise::GaussianTree);
        let paper = *mode != JointMode::Exact || *confidence != JointMode::Exact;
        let set = published.is_some() && paper;
        nothing_is_ignored(&[
            ("rule", rule.is_some() && set, "the publication has its own confidence set"),
            (
                "confidence",
                *confidence != JointMode::Exact && !gaussian,
                "it belongs to the gaussian_tree",
            ),
            ("intercept", self.lines.intercept.is_some(), "arms have no constant feature here"),
            (
                "minimum",
                minimum.is_some() && !set,
                "it belongs to the regularisers of a publication",
            ),
            (
                "forget",
                self.lines.forget.is_some() && published.is_some(),
                "published constants are for sums that do not forget",
            ),
            (
                "fresh_dummies",
                *fresh_dummies && published.is_none_or(PublishedNoise::is_gaussian),
                "it belongs to Wishart trees",
            ),
        ])
    }

    fn refuse(&self, remedy: &str) -> crate::Error {
        reticent::Error::invalid("mechanism", self.lines.mechanism, remedy).into()
    }

    /// A curator with a mechanism of the core, indexed by release.
    fn stream(&self) -> Result<BlockPlayed> {
        let params = self.lines.params(self.environment)?;
        let plan = params.check()?;
        if plan.sums().mechanism == Mechanism::Reports {
            return Err(
                self.refuse("reports are made one by one, and whole blocks are sums; expected blt")
            );
        }
        let guarantee = plan.guarantee()?;
        let attacks = attacks(plan.clone(), Some(params), guarantee.clone());
        Ok(self.finish(BlockPlayer::Private(Box::new(plan)), guarantee, attacks))
    }

    /// The publication's binary tree over rounds with exactly calibrated noise.
    fn exact_tree(&self) -> Result<BlockPlayed> {
        let printed = self.published.reading(Constants::Printed);
        let published = printed.params(PublishedNoise::GaussianTree)?;
        let plan = JointParams { calibration: None, claim: None, ..published }.check()?;
        // What is played is one node of the sums that are certified: the first release has just one, on the vector as it is.
        let deviation = plan.sums().check()?.deviations(1)?.last().copied().unwrap_or(0.0);
        let rule = match self.lines.confidence.constants() {
            None => {
                let rule = self.lines.rule.clone().unwrap_or_default();
                self.environment.informed(rule, &self.environment.bounds)?
            }
            Some(constants) => {
                let published = self.published.reading(constants);
                self.shifted(published, published.gaussian_regularizer(deviation))
            }
        };
        let guarantee = plan.guarantee()?;
        let attacks = attacks(plan.clone(), None, guarantee.clone());
        let node = NodeNoise::Gaussian { deviation, nodes: None };
        self.tree(node, plan.sums().domain.clone(), rule, guarantee, attacks)
    }

    /// The publication's tree, with the guarantee of the learner that is deployed.
    fn published(&self, noise: PublishedNoise, constants: Constants) -> Result<BlockPlayed> {
        let published = self.published.reading(constants);
        let deployed = published.params(noise)?;
        let plan = deployed.check()?;
        let guarantee = plan.guarantee()?;
        let nodes = published.levels();
        let node = match noise.is_gaussian() {
            true => {
                // The deviation as it is certified, on the grid of the sums.
                let first = plan.sums().check()?.deviations(1)?.last().copied().unwrap_or(0.0);
                match constants {
                    Constants::Printed => NodeNoise::Gaussian { deviation: first, nodes: None },
                    Constants::Authors => NodeNoise::Gaussian {
                        deviation: first / f64::from(nodes).sqrt(),
                        nodes: Some(nodes),
                    },
                }
            }
            false => NodeNoise::Wishart {
                degrees: published.wishart_degrees(),
                scale: published.squared_bound().sqrt(),
                nodes,
                fresh_dummies: self.lines.fresh_dummies,
            },
        };
        let attacks = attacks(plan.clone(), Some(deployed), guarantee.clone());
        let rule = self.shifted(published, published.regularizer(noise)?);
        self.tree(node, plan.sums().domain.clone(), rule, guarantee, attacks)
    }

    /// Proposition 4 with these bounds, shifted as the file says.
    fn shifted(&self, published: Published, regularizer: Regularizer) -> Rule {
        published.rule(match self.lines.minimum {
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
        attacks: Attacks,
    ) -> Result<BlockPlayed> {
        let schedule = self.lines.schedule.unwrap_or_default();
        let rounds = self.environment.rounds;
        let rule =
            rule.plan(domain.clone(), Some(rounds), Some(schedule.releases(rounds).max(1)))?;
        let learner = BlockPlayer::Tree(TreePlan { node, domain, schedule, rule });
        Ok(self.finish(learner, guarantee, attacks))
    }

    fn finish(&self, learner: BlockPlayer, guarantee: Guarantee, attacks: Attacks) -> BlockPlayed {
        let name = self.lines.name(&self.lines.mechanism_label());
        let guarantee = Some(guarantee.simulated());
        BlockPlayed {
            card: Arc::new(Card { name, guarantee, attacks, ..Card::default() }),
            environment: self.environment.clone(),
            gap: self.gap,
            epsilon: Some(self.lines.privacy.epsilon),
            learner,
        }
    }
}

/// The attacks on the sums of a plan, and with the parameters of its learner also on the learner's choices.
fn attacks(plan: JointPlan, learner: Option<JointParams>, guarantee: Guarantee) -> Attacks {
    Attacks::new(move || {
        let mut attacks = attack::sums::attacks(plan.sums(), &guarantee);
        attacks
            .extend(learner.iter().flat_map(|params| attack::joint::attacks(params, &guarantee)));
        Ok(attacks)
    })
}
