//! `kind = "joint"`: from lines in a TOML file to everything a simulation needs.
//!
//! Such learners see released sums only, so between two releases nothing changes and `trial` plays whole blocks.

use std::sync::Arc;

use reticent::{
    bandit::{Confidence, ConfidenceRule, JointParams, Problem, Published, Regularizer, bounds},
    privacy::{Guarantee, Mode, gaussian},
    release::{Calibration, Domain, Mechanism, PrivateSumParams, Schedule},
};
use serde::{Deserialize, Serialize};

use super::{Setting, trial};
use crate::{
    FastNoise, Result,
    audit::{self, Attack},
    contest::{Bound, Contestant, Side, Trial},
    simulate::{NodeNoise, PrefixNoise, StreamNoise, TreeNoise},
};

/// What `kind = "joint"` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointLines {
    /// What the report calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// Requested epsilon and delta.
    pub privacy: Budget,
    /// `exact`, or the publication's constants.
    #[serde(default)]
    pub mode: Mode,
    /// How noise is made.
    #[serde(default)]
    pub mechanism: MechanismName,
    /// Which confidence set; by default the tight one in `exact` mode and the paper's in `paper` mode.
    #[serde(default)]
    pub confidence: Option<ConfidenceName>,
    /// Multiplies the tight bonus; anything but 1 is not certified, 0 is greedy.
    #[serde(default = "one")]
    pub bonus_scale: f64,
    /// rho_min to shift the regulariser to, in place of the publication's (Experiment 3).
    #[serde(default)]
    pub minimum: Option<f64>,
    /// Wishart only: dummy nodes drawn anew at every release, not kept as long as real ones would be.
    #[serde(default)]
    pub fresh_dummies: bool,
    /// When the policy learns.
    #[serde(default)]
    pub schedule: Schedule,
}

fn one() -> f64 {
    1.0
}

/// Requested privacy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Requested epsilon.
    pub epsilon: f64,
    /// Requested delta.
    pub delta: f64,
}

/// Mechanisms by the names experiments use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MechanismName {
    /// BLT noise, indexed by release.
    #[default]
    Blt,
    /// Square-root Toeplitz noise, indexed by release.
    Toeplitz,
    /// A binary tree over releases.
    Tree,
    /// Honaker's estimate from that tree.
    Honaker,
    /// The paper's Gaussian tree over rounds; in `exact` mode the same tree with exactly calibrated noise.
    GaussianTree,
    /// The paper's Wishart tree, shifted by (4).
    Wishart,
    /// The paper's Wishart tree, not shifted.
    WishartUnshifted,
}

/// Confidence sets by the names experiments use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfidenceName {
    /// The proved bound with known noise and the best lambda.
    Tight,
    /// Proposition 4 of the paper.
    Paper,
}

/// A learner ready to be simulated: when it learns, from what, and under which noise.
#[derive(Debug, Clone)]
pub struct Learner {
    /// What the report calls it.
    pub name: String,
    /// What is summed.
    pub domain: Domain,
    /// When the policy learns.
    pub schedule: Schedule,
    /// How releases become policies.
    pub rule: ConfidenceRule,
    /// What may be promised, if the accountant can say.
    pub guarantee: Option<Guarantee>,
    setting: Setting,
    /// The epsilon that was asked for.
    epsilon: Option<f64>,
    noise: NoisePlan,
    attacks: Arc<Vec<Attack>>,
}

#[derive(Debug, Clone)]
enum NoisePlan {
    None,
    Stream { params: PrivateSumParams, releases: u64 },
    Gaussian { deviation: f64 },
    Wishart { degrees: f64, scale: f64, nodes: u32, fresh_dummies: bool },
}

impl Learner {
    /// What rewards are clipped to: a private learner's bound, or nothing.
    pub(super) fn reward_bound(&self) -> f64 {
        match self.noise {
            NoisePlan::None => f64::INFINITY,
            _ => self.setting.problem.reward_bound,
        }
    }

    /// The noise of one trial.
    pub fn noise(&self, source: FastNoise) -> Result<PrefixNoise> {
        let tree =
            |node| PrefixNoise::Tree(TreeNoise::new(self.domain.dimension(), node, source.clone()));
        Ok(match self.noise {
            NoisePlan::None => PrefixNoise::None,
            NoisePlan::Stream { ref params, releases } => {
                PrefixNoise::Stream(Box::new(StreamNoise::new(params, releases, source)?))
            }
            NoisePlan::Gaussian { deviation } => tree(NodeNoise::Gaussian { deviation }),
            NoisePlan::Wishart { degrees, scale, nodes, fresh_dummies } => {
                tree(NodeNoise::Wishart { degrees, scale, nodes, fresh_dummies })
            }
        })
    }
}

impl Contestant for Learner {
    fn name(&self) -> &str {
        &self.name
    }

    fn guarantee(&self) -> Option<&Guarantee> {
        self.guarantee.as_ref()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.rule.certified() {
            let remark = "The bonus is scaled by hand: the confidence set is not certified.";
            remarks.push(remark.to_string());
        }
        remarks
    }

    fn bounds(&self, rounds: u64) -> Vec<Bound> {
        let Setting { environment, problem, .. } = &self.setting;
        // Means lie in [-1, 1].
        let trivial = 2.0 * rounds as f64;
        let bound =
            |theorem: &str, side, value| Bound { theorem: theorem.into(), side, value, trivial };
        let (alpha, gap) = (self.setting.alpha(), environment.gap());
        let mut all = Vec::new();
        if let Some(regularizer) = self.rule.regularizer() {
            let (five, six) = match self.noise {
                NoisePlan::Gaussian { .. } => ("Corollary 12", "Corollary 12 with a gap"),
                NoisePlan::Wishart { .. } => ("Corollary 10", "Corollary 10 with a gap"),
                _ => ("Theorem 5", "Theorem 6"),
            };
            let value = bounds::regret(problem, regularizer, alpha, rounds);
            all.push(bound(five, Side::Upper, value));
            if gap > 0.0 {
                let value = bounds::gap_regret(problem, regularizer, alpha, rounds, gap);
                all.push(bound(six, Side::Upper, value));
            }
        }
        if let Some(epsilon) = self.epsilon {
            let value = bounds::private_lower_bound(epsilon, environment.arms() as u64, rounds);
            let theorem = "Corollary 15, the price of epsilon in the worst case";
            all.push(bound(theorem, Side::Lower, value));
            if gap > 0.0 && epsilon < std::f64::consts::LN_2 {
                let delta = self.guarantee.as_ref().map_or(0.0, Guarantee::delta);
                let value = bounds::ordinary_privacy_lower_bound(epsilon, delta, gap, rounds);
                let theorem =
                    "Claim 13, if actions too had to be private from the person they are for";
                all.push(bound(theorem, Side::Lower, value));
            }
        }
        all
    }

    fn attacks(&self) -> &[Attack] {
        &self.attacks
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        Ok(trial::run(&self.setting.environment, self, seed, trial, checkpoints)?.into())
    }
}

impl Learner {
    /// LinUCB without privacy that learns on a schedule.
    pub(super) fn not_private(
        name: String,
        regularizer: f64,
        schedule: Schedule,
        setting: &Setting,
    ) -> Result<Self> {
        schedule.check()?;
        let confidence = Confidence::Regularized(Regularizer::constant(regularizer));
        Ok(Learner {
            name,
            setting: *setting,
            domain: setting.problem.domain(),
            schedule,
            rule: ConfidenceRule::new(setting.problem, setting.alpha(), confidence)?,
            guarantee: None,
            epsilon: None,
            noise: NoisePlan::None,
            attacks: Arc::default(),
        })
    }
}

impl JointLines {
    /// The defaults of a file that gives the budget only.
    pub fn new(privacy: Budget) -> Self {
        JointLines {
            name: None,
            privacy,
            mode: Mode::default(),
            mechanism: MechanismName::default(),
            confidence: None,
            bonus_scale: 1.0,
            minimum: None,
            fresh_dummies: false,
            schedule: Schedule::default(),
        }
    }

    /// The learner, or what stands in its way.
    pub fn learner(&self, setting: &Setting) -> Result<Learner> {
        let Budget { epsilon, delta } = self.privacy;
        let published =
            Published::new(setting.problem, epsilon, delta, setting.alpha(), setting.rounds)?;
        Builder { lines: self, setting, published }.learner()
    }
}

/// Everything a joint learner is made from.
struct Builder<'a> {
    lines: &'a JointLines,
    setting: &'a Setting,
    published: Published,
}

impl Builder<'_> {
    fn learner(&self) -> Result<Learner> {
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
            (mechanism, Mode::Exact) => self.stream(match mechanism {
                MechanismName::Toeplitz => Mechanism::SquareRootToeplitz,
                MechanismName::Tree => Mechanism::Tree { levels: None },
                MechanismName::Honaker => Mechanism::Honaker,
                _ => Mechanism::default(),
            }),
        }
    }

    /// A key that would have no effect is refused, not passed over.
    fn nothing_is_ignored(&self) -> Result<()> {
        let JointLines { mechanism, mode, minimum, fresh_dummies, .. } = self.lines;
        let wishart = matches!(mechanism, MechanismName::Wishart | MechanismName::WishartUnshifted);
        let published =
            wishart || (*mechanism, *mode) == (MechanismName::GaussianTree, Mode::Paper);
        let ignored = [
            ("minimum", minimum.is_some() && !published, "the regularisers of `paper` mode"),
            ("fresh_dummies", *fresh_dummies && !wishart, "Wishart trees"),
        ];
        match ignored.into_iter().find(|(_, given, _)| *given) {
            None => Ok(()),
            Some((field, _, only)) => {
                let remedy = format!("it belongs to {only}: leave it out");
                Err(reticent::Error::invalid(field, "given", remedy).into())
            }
        }
    }

    fn refuse(&self, remedy: &str) -> crate::Error {
        reticent::Error::invalid("mechanism", format!("{:?}", self.lines.mechanism), remedy).into()
    }

    fn budget(&self) -> Calibration {
        let Budget { epsilon, delta } = self.lines.privacy;
        Calibration::Budget { epsilon, delta }
    }

    /// A mechanism of the core, indexed by release.
    fn stream(&self, mechanism: Mechanism) -> Result<Learner> {
        let params = PrivateSumParams {
            mechanism,
            schedule: self.lines.schedule,
            ..PrivateSumParams::new(
                self.setting.problem.domain(),
                Some(self.setting.rounds),
                self.budget(),
            )
        };
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
        let deviation = match self.lines.mode {
            Mode::Paper => self.published.gaussian_deviation(),
            Mode::Exact => {
                let mu = gaussian::mu(self.lines.privacy.epsilon, self.lines.privacy.delta)?;
                f64::from(levels).sqrt() * self.published.squared_bound() / mu
            }
        };
        let calibration = match self.lines.mode {
            Mode::Paper => Calibration::Sigma(deviation),
            Mode::Exact => self.budget(),
        };
        let params = PrivateSumParams {
            mechanism: Mechanism::Tree { levels: Some(levels) },
            schedule: Schedule::EveryRound,
            ..PrivateSumParams::new(domain, Some(self.setting.rounds), calibration)
        };
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
        let Setting { problem, rounds, .. } = *self.setting;
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
        let mut all = audit::sums::attacks(sums, guarantee);
        all.extend(learner.iter().flat_map(|params| audit::joint::attacks(params, guarantee)));
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
        let Budget { epsilon, delta } = self.lines.privacy;
        let name = self.lines.name.clone().unwrap_or_else(|| {
            let mode = if self.lines.mode == Mode::Paper { ", published" } else { "" };
            format!("{:?}{mode} ({epsilon}, {delta:e})", self.lines.mechanism)
        });
        Ok(Learner {
            name,
            setting: *self.setting,
            epsilon: Some(epsilon),
            domain,
            schedule: self.lines.schedule,
            rule: ConfidenceRule::new(self.setting.problem, self.setting.alpha(), confidence)?,
            guarantee: Some(guarantee.simulated()),
            noise,
            attacks: Arc::new(attacks),
        })
    }
}
