//! The `[environment]` table of a bandit, and every algorithm's knowledge of it.

use std::{borrow::Cow, sync::Arc};

use reticent::{
    bandit::Rule,
    features::FeaturesPlan,
    privacy::{Guarantee, TrustModel},
    randomize::Bounds,
    release::Structure,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::parameters::{MOST_FEATURES, MOST_PARAMETERS, Parameters, Shape};
use super::{
    catalogue::CatalogueToml, items::ItemsToml, logged::LoggedToml, modifiers::Modifiers,
    table::TableToml,
};
use crate::{
    Result,
    environment::{Environment, GapParams, SphereParams, round_by_round::round_by_round},
    papers::constants::{
        Problem,
        local::{PublishedLocal, PublishedMechanism},
    },
    play::{Learner, trial::Trial},
};

/// The condition of a guarantee for people who come again: a run says it too.
pub(crate) const EACH_ROUND: &str = "every round is counted as another person";

/// The `[environment]` table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnvironmentToml {
    /// Source of arms and rewards.
    #[serde(flatten)]
    pub kind: EnvironmentKind,
    /// Delays, losses and changes of them.
    #[serde(skip_serializing_if = "Modifiers::is_calm")]
    pub modifiers: Modifiers,
}

/// The kinds of environments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EnvironmentKind {
    /// Appendix D of Shariff and Sheffet (paper 1).
    Gap(GapParams),
    /// Section 5 of paper 0.
    Sphere(SphereParams),
    /// A file of people and their classes.
    Table(TableToml),
    /// Items with features, and people's ratings of them.
    Items(ItemsToml),
    /// A log of decisions with propensities.
    Logged(LoggedToml),
    /// A simulated product: features as in a file of loops, and a hidden reward model.
    Catalogue(CatalogueToml),
}

impl From<GapParams> for EnvironmentToml {
    fn from(gap: GapParams) -> Self {
        EnvironmentKind::Gap(gap).into()
    }
}

impl From<SphereParams> for EnvironmentToml {
    fn from(sphere: SphereParams) -> Self {
        EnvironmentKind::Sphere(sphere).into()
    }
}

impl From<EnvironmentKind> for EnvironmentToml {
    fn from(kind: EnvironmentKind) -> Self {
        EnvironmentToml { kind, modifiers: Modifiers::default() }
    }
}

/// `modifiers` is the same key in every environment, so it is taken out first: each environment can then refuse keys it does not know.
impl<'de> Deserialize<'de> for EnvironmentToml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let mut table = toml::Table::deserialize(deserializer)?;
        let words = |error: toml::de::Error| D::Error::custom(error.message());
        let modifiers = match table.remove("modifiers") {
            Some(value) => value.try_into().map_err(words)?,
            None => Modifiers::default(),
        };
        let kind = toml::Value::Table(table).try_into().map_err(words)?;
        Ok(EnvironmentToml { kind, modifiers })
    }
}

impl JsonSchema for EnvironmentToml {
    fn schema_name() -> Cow<'static, str> {
        "EnvironmentToml".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let modifiers = generator.subschema_for::<Modifiers>();
        let mut kinds = EnvironmentKind::json_schema(generator);
        for kind in
            kinds.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut()).into_iter().flatten()
        {
            kind["properties"]["modifiers"] = modifiers.clone().to_value();
        }
        kinds
    }
}

/// Knowledge of every algorithm.
#[derive(Clone)]
pub struct BanditEnvironment {
    /// Bounds that people's data are clipped to.
    pub bounds: Bounds,
    /// Assumptions of learners with a confidence set, for rewards as they are.
    pub problem: Problem,
    /// S where rewards are centred, for features of norm at most 1 and rewards in [-1, 1].
    pub centred_parameter_bound: f64,
    /// Rounds of a trial.
    pub rounds: u64,
    /// Arms of a decision set, at most.
    pub arms: usize,
    /// The gap environment, where nothing keeps it from being played in whole blocks.
    pub blocks: Option<GapParams>,
    /// The rule that makes arms of records, where there is one: it says which coordinates are main effects and which crosses.
    pub(crate) features: Option<Arc<FeaturesPlan>>,
    /// `E x x^T` of an arm drawn uniformly, where it is known.
    pub uniform_gram: Option<Vec<f64>>,
    /// Embedding of arms in blocks of parameters, for learners without blocks.
    pub(crate) embedding: Option<Structure>,
    /// Tells whether the arms of a trial are the same in every round, for all people.
    pub fixed_arms: bool,
    /// Tells whether learners are given embedded arms.
    pub(crate) embeds: bool,
    /// Delays of rewards and absences of arms.
    pub modifiers: Modifiers,
    /// Unit of a person if people return, and the number of people.
    pub returns: Option<(&'static str, usize)>,
    /// Rounds that are learnt from of one person, at most, and what the guarantee is for; every round is another person's without it.
    pub contributions_per_person: Option<u64>,
    /// People whose data a guarantee covers, if that needs saying.
    pub protected: Vec<String>,
    /// The environment of trials.
    pub trials: Arc<dyn TrialEnvironment>,
}

/// The environment in which learners are tried.
pub trait TrialEnvironment: Send + Sync {
    /// Tells whether learners are asked for choices that are not acted on, besides those that they learn from.
    fn asks_for_comparison(&self) -> bool {
        false
    }

    /// One trial of a learner. Everything random in it, but for the learner's own noise, follows from `seed` and `trial`.
    fn run(
        &self,
        seed: u64,
        trial: u64,
        learner: &mut dyn Learner,
        checkpoints: &[u64],
    ) -> Result<Trial>;

    /// Remarks for a careful reader.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// The measure of its trials that stands first in tables and figures.
    fn headline(&self) -> Option<&'static str> {
        None
    }

    /// A hash of the files it was read from.
    fn data_hash(&self) -> u64 {
        0
    }
}

impl BanditEnvironment {
    /// The environment with what may be known of it, or what is wrong with it.
    pub fn new(lines: &EnvironmentToml, rounds: u64) -> Result<Self> {
        let modifiers = lines.modifiers;
        modifiers.check()?;
        let environment = match &lines.kind {
            EnvironmentKind::Gap(gap) => Self::gap(*gap, rounds, modifiers)?,
            EnvironmentKind::Sphere(sphere) => Self::sphere(*sphere, rounds, modifiers)?,
            EnvironmentKind::Table(lines) => lines.environment(rounds, modifiers)?,
            EnvironmentKind::Items(lines) => lines.environment(rounds, modifiers)?,
            EnvironmentKind::Logged(lines) => lines.environment(rounds, modifiers)?,
            EnvironmentKind::Catalogue(lines) => lines.environment(rounds, modifiers)?,
        };
        environment.problem.check()?;
        environment.bounds.check()?;
        Ok(environment)
    }

    fn gap(gap: GapParams, rounds: u64, modifiers: Modifiers) -> Result<Self> {
        gap.check()?;
        Ok(BanditEnvironment {
            bounds: gap.bounds(rounds),
            problem: gap.problem(rounds),
            centred_parameter_bound: 1.0,
            rounds,
            arms: gap.arms,
            blocks: modifiers.is_calm().then_some(gap),
            features: None,
            fixed_arms: !gap.fresh_arms && modifiers.availability.is_none(),
            uniform_gram: None,
            embedding: None,
            embeds: false,
            modifiers,
            returns: None,
            contributions_per_person: None,
            protected: Vec::new(),
            trials: round_by_round(modifiers, move |seed| Ok(gap.environment(seed)?)),
        })
    }

    fn sphere(sphere: SphereParams, rounds: u64, modifiers: Modifiers) -> Result<Self> {
        sphere.check()?;
        let refused = modifiers.moves() && sphere.dimension < 3;
        let remedy =
            "beside the constant there is one feature, so theta* cannot turn; expected 3 or more";
        reticent::refuse_if(refused, "dimension", sphere.dimension, remedy)?;
        Ok(BanditEnvironment {
            bounds: sphere.bounds(),
            problem: sphere.problem(),
            centred_parameter_bound: SphereParams::CENTRED_PARAMETER_BOUND,
            rounds,
            arms: sphere.arms,
            blocks: None,
            features: None,
            fixed_arms: !sphere.fresh_arms && modifiers.availability.is_none(),
            uniform_gram: Some(sphere.uniform_gram()),
            embedding: None,
            embeds: false,
            modifiers,
            returns: None,
            contributions_per_person: None,
            protected: Vec::new(),
            trials: round_by_round(modifiers, move |seed| {
                let mut environment = sphere.start(seed)?;
                // With fresh arms, a set that no algorithm sees: results on record are those of the sets after it.
                environment.arms();
                Ok(Box::new(environment))
            }),
        })
    }

    /// A file whose arms were made to have the sphere's form: norm 1, and a constant they share, as their last feature. They have this number of
    /// features, and belong to blocks as `parameters` says.
    pub(crate) fn of_a_file(
        shape: Shape,
        arms: usize,
        rewards: (f64, f64),
        rounds: u64,
        modifiers: Modifiers,
        protected: Vec<String>,
        trials: impl FnOnce(Modifiers) -> Arc<dyn TrialEnvironment>,
    ) -> Result<Self> {
        let Shape { features, parameters, .. } = shape;
        let (embedding, structure) = (shape.embedding(), shape.structure());
        let dimension = embedding.map_or(features, |embedding| embedding.parameters(features));
        let most = if structure.is_dense() { MOST_FEATURES } else { MOST_PARAMETERS };
        let remedy = format_args!(
            "{dimension} features in all, at most {most}: name fewer columns, or give fewer words or classes"
        );
        reticent::refuse_if(dimension > most, "features", dimension, remedy)?;
        let form = SphereParams { dimension, arms: arms.max(1), fresh_arms: true, norm: 1.0 };
        form.check()?;
        let (low, high) = rewards;
        let reward_bound = low.abs().max(high.abs());
        let environment = BanditEnvironment {
            bounds: Bounds { rewards, dimension: features, structure, ..form.bounds() },
            problem: Problem {
                parameter_bound: reward_bound,
                reward_noise: 0.5 * (high - low),
                ..form.problem().within(1.0, reward_bound)
            },
            centred_parameter_bound: SphereParams::CENTRED_PARAMETER_BOUND,
            rounds,
            arms,
            blocks: None,
            features: None,
            fixed_arms: false,
            uniform_gram: None,
            embedding,
            embeds: false,
            modifiers,
            returns: None,
            contributions_per_person: None,
            protected,
            trials: trials(modifiers),
        };
        match parameters {
            Parameters::Dense => environment.dense(),
            _ => Ok(environment),
        }
    }

    /// The rule with what this environment knows of theta* and of the noise in rewards, for learners with these bounds; an error if it is not
    /// for this number of arms.
    pub(crate) fn informed(&self, rule: Rule, bounds: &Bounds) -> Result<Rule> {
        rule.check_arms(self.arms)?;
        let rule = match &self.features {
            Some(features) => rule.with_levels(|| features.levels())?,
            None => rule,
        };
        Ok(match bounds.intercept {
            None => {
                let (parameter_bound, reward_noise) = self.problem.in_units();
                rule.knowing(parameter_bound, reward_noise)
            }
            Some(_) => {
                let reward_noise = (self.problem.reward_noise / bounds.half_range()).min(1.0);
                rule.knowing(self.centred_parameter_bound, reward_noise)
            }
        })
    }

    /// alpha: the probability with which confidence sets may fail.
    pub fn alpha(&self) -> f64 {
        1.0 / self.rounds.max(2) as f64
    }

    /// The constants of a publication here.
    pub(crate) fn published(
        &self,
        mechanism: PublishedMechanism,
        delta: f64,
        batch: u64,
    ) -> PublishedLocal {
        PublishedLocal {
            mechanism,
            delta,
            dimension: self.bounds.dimension,
            horizon: self.rounds,
            batch,
            feature_bound: self.bounds.feature_bound,
        }
    }

    /// Guarantee of published constants on the arms they were published for, beside the claim.
    pub(crate) fn published_guarantee(
        &self,
        constants: &PublishedLocal,
        epsilon: f64,
        model: TrustModel,
    ) -> Result<Guarantee> {
        let Bounds { feature_bound, rewards, intercept, unit_arms, .. } = self.bounds;
        if !unit_arms || rewards != (0.0, 1.0) || intercept != Some(feature_bound * 0.5_f64.sqrt())
        {
            let remedy = "these constants are priced for arms (v, c) with |v| = c and rewards in [0, 1], as on the sphere and in tables: leave it out";
            return Err(reticent::Error::invalid("mode", "paper", remedy).into());
        }
        let guarantee = Guarantee::of(&constants.event(epsilon)?, model, constants.delta)?;
        let domain =
            "arms (v, c) with |v| = c = L/sqrt 2 and rewards in [0, 1], as in this environment";
        Ok(self.conditions(
            guarantee.with_condition(domain).with_claim(&constants.claim(epsilon))?.simulated(),
        ))
    }

    /// Assumption of a certified confidence set on data that were not drawn from a linear model. Privacy does not rest on it.
    pub(crate) fn linearity(&self) -> Option<String> {
        let remark = "its confidence set is certified only if rewards are linear in these features, which no file promises; the privacy guarantee does not depend on it";
        (self.trials.data_hash() != 0).then(|| remark.to_string())
    }

    /// The same, for a learner whose guarantee is for people with at most this number of contributions.
    pub(crate) fn with_contributions(&self, contributions_per_person: Option<u64>) -> Self {
        BanditEnvironment { contributions_per_person, ..self.clone() }
    }

    /// Condition of a guarantee: the unit, and the number of times that it takes part.
    fn returning(&self) -> Option<String> {
        let rounds = self.rounds;
        match (self.returns, self.contributions_per_person) {
            (Some((unit, people)), None) => Some(format!(
                "{EACH_ROUND}: a {unit} that comes again takes part again and pays each time, {rounds} rounds for {people} here"
            )),
            (Some((unit, people)), Some(most)) => Some(format!(
                "one {unit} is one person, {rounds} rounds for {people} here: in {most} of their rounds what they tell is learnt from, in later ones they are answered and nothing is learnt; that and when a person comes is public"
            )),
            (None, Some(most)) => Some(format!("no person takes part in more than {most} rounds")),
            (None, None) => None,
        }
    }

    /// The guarantee with what it rests on here.
    pub(crate) fn conditions(&self, mut guarantee: Guarantee) -> Guarantee {
        if let Some(condition) = self.returning() {
            guarantee = guarantee.with_condition(condition);
        }
        for protected in &self.protected {
            guarantee = guarantee.with_condition(protected.clone());
        }
        let timing = "which rewards come, and when, is public and does not depend on people's data";
        let said = guarantee.conditions().iter().any(|condition| condition.contains(timing));
        if self.modifiers.detours() && !said { guarantee.with_condition(timing) } else { guarantee }
    }
}

/// Condition of every guarantee over a file: the parts that it does not cover.
pub(crate) const NOT_COVERED: &str =
    "curves, counts and remarks of the report are made from the file as it is, and are not covered";
