//! `kind = "local"` and `kind = "ldp_linucb"`: the protocol of `reticent::bandit::local`, one person a round.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use reticent::{
    bandit::{Arms, LocalParams, LocalPlan, Model, Rule, Server},
    noise::Noise,
    privacy::{Mode, TrustModel},
    randomize::{Bounds, Intercept, Levels, Method, Person, ReportParams},
    refuse_if,
    schema::{Count, Positive},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    BanditEnvironment, Budget, Start, Stepped, rule_remarks,
    saved::{SavedLearner, WarmStart},
};
use crate::{
    FastNoise, Result,
    algorithm::Certificate,
    audit::attack,
    papers::constants::local::PublishedMechanism,
    play::{Knowledge, Learner, trial::mix},
};

/// A model is published after each of the first `EAGER` reports, and then after every `EVERY` reports.
pub(super) const EAGER: u64 = 200;
pub(super) const EVERY: u64 = 20;

/// Keys of `kind = "local"`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalToml {
    /// Name in the report.
    pub name: Option<String>,
    /// Requested epsilon and delta.
    pub privacy: Budget,
    /// Levels of epsilon people bring, in place of one for all.
    #[schemars(with = "Option<Vec<Positive>>")]
    pub levels: Option<Vec<f64>>,
    /// Share of each level; by default all are equal.
    pub shares: Option<Vec<f64>>,
    /// Levels are hidden: no report says which level is its person's.
    #[serde(default)]
    pub hidden_levels: bool,
    /// Decision sets are public.
    #[serde(default)]
    pub public_arms: bool,
    /// The last feature of all arms, with which rewards are centred, or `false`: by default the environment's, where there is one.
    pub intercept: Option<Intercept>,
    /// Tells whether all arms have the largest norm, so that nothing has to hide their norms: by default as the environment knows.
    pub unit_arms: Option<bool>,
    /// The randomiser; by default the best. The Gram matrix of `known_gram` may be left out where the environment knows it.
    pub method: Option<Method>,
    /// Rule from noisy sums to a policy.
    #[serde(default)]
    pub rule: Rule,
    /// Largest age, in models, of the model under which a counted report was made; by default 1000.
    pub late_models: Option<u64>,
    /// Number of reports after which everything is forgotten: for a theta* that moves.
    #[schemars(with = "Option<Count>")]
    pub restart_every: Option<u64>,
    /// Largest number of reports of a person that the guarantee covers; if people return, later rounds are not learnt from.
    #[schemars(with = "Option<Count>")]
    pub contributions_per_person: Option<u64>,
    /// A file, or a folder of files one a trial, that an earlier run saved: the server goes on from there.
    pub warm_start: Option<PathBuf>,
    /// Folder in which each trial's server is saved.
    pub save: Option<PathBuf>,
    /// Folder in which each trial's decisions are logged, for `kind = "logged"`; they are people's data, which no server of this model sees.
    pub log: Option<PathBuf>,
}

impl LocalToml {
    /// The defaults of a file that gives the budget only.
    pub fn new(privacy: Budget) -> Self {
        LocalToml { privacy, ..LocalToml::default() }
    }

    /// The environment with blocks of parameters where its reports are made for them. Without a method of the caller's, embedded arms are
    /// taken where their best method has less noise, as with PrivUnit on x and z, which knows no blocks: what counts is what core's choice
    /// goes by, the noise of one report in a direction.
    pub(super) fn environment(&self, environment: &BanditEnvironment) -> Result<BanditEnvironment> {
        let environment = &environment.declaring(self.intercept, self.unit_arms)?;
        if environment.bounds.structure.is_dense() {
            return Ok(environment.clone());
        }
        let dense = environment.dense();
        match &self.method {
            Some(method) if method.has_blocks() => return Ok(environment.clone()),
            None if !self.public_arms => {}
            _ => return dense,
        }
        let Budget { epsilon, delta } = self.privacy;
        let noise = |environment: &BanditEnvironment| -> Result<f64> {
            let plan = ReportParams {
                contributions_per_person: self.contributions_per_person.unwrap_or(1),
                ..ReportParams::new(environment.bounds, epsilon, delta)
            };
            let precision = plan.check()?.precision(0)?;
            Ok(precision.matrix.hypot(precision.vector))
        };
        match dense {
            Ok(dense) if noise(&dense)? < noise(environment)? => Ok(dense),
            _ => Ok(environment.clone()),
        }
    }

    /// A key that would have no effect, or a level that is none, is refused and not passed over.
    fn can_have_effect(&self, environment: &BanditEnvironment) -> Result<()> {
        let none = self.levels.is_none();
        let remedy = "it is about levels: give them, or leave it out";
        refuse_if(none && self.hidden_levels, "hidden_levels", true, remedy)?;
        let remedy = "they are about levels: give them, or leave it out";
        refuse_if(none && self.shares.is_some(), "shares", "a value", remedy)?;
        let levels = self.levels.as_deref().unwrap_or_default();
        let remedy = "expected at least one epsilon; or leave it out";
        refuse_if(!none && levels.is_empty(), "levels", "[]", remedy)?;
        let people_return =
            self.contributions_per_person.is_some() && environment.returns.is_some();
        let remedy = "people of a file return, and a level is drawn for each round; expected one level; or leave contributions_per_person out";
        let value = format_args!("{levels:?}");
        refuse_if(levels.len() > 1 && people_return, "levels", value, remedy)?;
        for level in levels {
            let positive = level.is_finite() && *level > 0.0;
            refuse_if(!positive, "levels", level, "expected epsilons above 0")?;
        }
        if let Some(Method::KnownGram { reports, .. }) = self.method {
            let remedy =
                "all rounds would be spent exploring; expected fewer than there are rounds";
            refuse_if(reports >= environment.rounds, "reports", reports, remedy)?;
        }
        Ok(())
    }

    /// The method as it is given, with the environment's Gram matrix where one is left out.
    fn informed_method(&self, environment: &BanditEnvironment) -> Result<Option<Method>> {
        match (&self.method, &environment.uniform_gram) {
            (Some(Method::KnownGram { gram, reports }), known) if gram.is_empty() => {
                let Some(gram) = known else {
                    let remedy = "the Gram matrix of these arms is not known in advance: give its `gram`, or another method";
                    return Err(reticent::Error::invalid("method", "known_gram", remedy).into());
                };
                Ok(Some(Method::KnownGram { gram: gram.clone(), reports: *reports }))
            }
            (method, _) => Ok(method.clone()),
        }
    }

    pub(super) fn prepare(&self, environment: &BanditEnvironment) -> Result<Stepped> {
        let Budget { epsilon, delta } = self.privacy;
        self.can_have_effect(environment)?;
        let environment = &environment.with_contributions(self.contributions_per_person);
        let largest = |levels: &Vec<f64>| levels.iter().copied().fold(0.0, f64::max);
        if let Some(largest) = self.levels.as_ref().map(largest)
            && largest != epsilon
        {
            let remedy =
                format!("with levels it is what holds for everybody: their largest, {largest}");
            return Err(reticent::Error::invalid("epsilon", epsilon, remedy).into());
        }
        let epsilons = self.levels.clone().unwrap_or_else(|| vec![epsilon]);
        let equal = || vec![1.0 / epsilons.len() as f64; epsilons.len()];
        let shares = self.shares.clone().unwrap_or_else(equal);
        // How common levels are is checked by the core where the server must know it; here people are drawn by it.
        let hidden = Levels::Hidden { epsilons: epsilons.clone(), shares: shares.clone() };
        hidden.check()?;
        let levels = if self.hidden_levels { hidden } else { Levels::Public(epsilons.clone()) };
        let report = ReportParams {
            public_arms: self.public_arms,
            levels,
            method: self.informed_method(environment)?,
            contributions_per_person: self.contributions_per_person.unwrap_or(1),
            ..ReportParams::new(environment.bounds, epsilon, delta)
        };
        let rule = environment.informed(self.rule.clone(), &environment.bounds)?;
        let restart_every = self.restart_every;
        let defaults = LocalParams::from(report);
        let late_models = self.late_models.unwrap_or(defaults.late_models);
        let plan =
            LocalParams { rule: rule.clone(), restart_every, late_models, ..defaults }.check()?;
        let mut certificates = Vec::new();
        let mut weakest = plan.guarantee(0)?;
        for (level, brought) in epsilons.iter().enumerate() {
            let guarantee = plan.guarantee(level)?;
            if guarantee.epsilon() > weakest.epsilon() {
                weakest = guarantee.clone();
            }
            if epsilons.len() > 1 {
                let whom = format!("people who bring epsilon = {brought}");
                let guarantee = environment.conditions(guarantee.simulated());
                certificates.push(Certificate { whom, guarantee });
            }
        }
        let (attacked, bounds, levels) = (plan.clone(), environment.bounds, epsilons.len());
        let attacks = move || {
            let of = |level| {
                let guarantee = attacked.guarantee(level)?;
                Ok(attack::local::attacks(&attacked, level, &bounds, &guarantee))
            };
            Ok((0..levels).map(of).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
        };
        let mut remarks = vec![plan.reason().to_string()];
        remarks.extend(rule_remarks(&rule));
        let outlook = plan.outlook(self.restart_every.unwrap_or(environment.rounds));
        let name = self.name.clone().unwrap_or_else(|| format!("local ({epsilon}, {delta:e})"));
        let warm = self.warm_start.as_deref().map(WarmStart::open).transpose()?;
        if let Some(warm) = &warm {
            resumed(&plan, warm.first())?;
        }
        let mut stepped = Stepped::by_trial(name, environment, starter(plan, shares, warm.clone()));
        stepped.warm_start = warm;
        stepped.save.clone_from(&self.save);
        stepped.log.clone_from(&self.log);
        if let Some(warm) = &stepped.warm_start {
            for certificate in &mut certificates {
                let guarantee = certificate.guarantee.clone();
                certificate.guarantee = guarantee.with_condition(warm.condition());
            }
        }
        stepped.card.certificates = certificates;
        stepped.public_arms = self.public_arms;
        Ok(stepped
            .certified_by(weakest.simulated())
            .remarking(remarks)
            .with_outlook(Some(outlook))
            .attacked_by(attacks))
    }
}

/// The server that an earlier learner left, if it speaks the same protocol.
fn resumed(plan: &LocalPlan, saved: &SavedLearner) -> Result<Server> {
    let Knowledge::Server(bytes) = &saved.knowledge else {
        let remedy = "it holds the sums of a curator: start a `joint` or `linucb` learner with it";
        return Err(reticent::Error::invalid("warm_start", &saved.name, remedy).into());
    };
    let server = Server::load(bytes)?;
    let remedy = "it was trained with other bounds, levels, method or rule: use the same";
    refuse_if(server.plan() != plan, "warm_start", &saved.name, remedy)?;
    Ok(server)
}

/// Publication whose constants `ldp_linucb` takes in `paper` mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Constants {
    /// The public code of Chowdhury and Zhou, which OnlineUCB's figure compares with.
    #[default]
    PublicCode,
    /// The paper of Zheng et al., with that code's width.
    Zheng,
}

/// Keys of `kind = "ldp_linucb"`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LdpToml {
    /// Name in the report.
    pub name: Option<String>,
    /// Requested epsilon and delta.
    pub privacy: Budget,
    /// `exact`: the same message with exactly calibrated noise; `paper`: published constants.
    #[serde(default)]
    pub mode: Mode,
    /// Source of the constants in `paper` mode.
    #[serde(default)]
    pub constants: Constants,
    /// Rule from noisy sums to a policy, in `exact` mode.
    #[serde(default)]
    pub rule: Rule,
}

impl LdpToml {
    /// The defaults of a file that gives the budget only.
    pub fn new(privacy: Budget) -> Self {
        LdpToml { privacy, ..LdpToml::default() }
    }

    pub(super) fn prepare(&self, environment: &BanditEnvironment) -> Result<Stepped> {
        let Budget { epsilon, delta } = self.privacy;
        // Published constants have a width of their own, and a rule beside them is still one that means something.
        self.rule.check()?;
        let name = self.name.clone().unwrap_or_else(|| {
            let mode = if self.mode == Mode::Paper { ", published" } else { "" };
            format!("LDP-LinUCB{mode} ({epsilon}, {delta:e})")
        });
        let refused = self.mode == Mode::Exact && self.constants != Constants::default();
        let remedy = "published constants need mode = \"paper\"";
        refuse_if(refused, "constants", "zheng", remedy)?;
        // Neither publication centres rewards.
        let bounds = Bounds { intercept: None, unit_arms: false, ..environment.bounds };
        let (params, guarantee, remarks) = match self.mode {
            Mode::Exact => {
                let mut report = ReportParams::new(bounds, epsilon, delta);
                report.method = Some(Method::TriangleGaussian);
                let rule = environment.informed(self.rule.clone(), &bounds)?;
                let params = LocalParams { rule: rule.clone(), ..report.into() };
                let guarantee = params.check()?.guarantee(0)?.simulated();
                (params, guarantee, rule_remarks(&rule))
            }
            Mode::Paper => {
                let mechanism = match self.constants {
                    Constants::PublicCode => PublishedMechanism::PublicLdp,
                    Constants::Zheng => PublishedMechanism::Zheng,
                };
                let constants = environment.published(mechanism, self.privacy.delta, 1);
                let params = constants.local_params(bounds, epsilon)?;
                let guarantee =
                    environment.published_guarantee(&constants, epsilon, TrustModel::Local)?;
                (params, guarantee, Vec::new())
            }
        };
        let plan = params.check()?;
        // What the published constants are certified for is this environment's arms.
        let people = if self.mode == Mode::Paper { environment.bounds } else { bounds };
        let attacked = (plan.clone(), guarantee.clone());
        let attacks = move || Ok(attack::local::attacks(&attacked.0, 0, &people, &attacked.1));
        let stepped = Stepped::by_trial(name, environment, starter(plan, vec![1.0], None));
        Ok(stepped.certified_by(guarantee).remarking(remarks).attacked_by(attacks))
    }
}

fn starter(plan: LocalPlan, shares: Vec<f64>, warm: Option<WarmStart>) -> Start {
    Arc::new(move |trial, seed| {
        let server = match &warm {
            Some(warm) => resumed(&plan, &warm.of(trial)?)?,
            None => plan.server(),
        };
        let mut server = server.seeded(FastNoise::seeded(mix(seed, 1)).bits());
        let model = Arc::new(server.publish()?);
        let (noise, waiting) = (FastNoise::seeded(seed), BTreeMap::new());
        let (plan, shares) = (plan.clone(), shares.clone());
        Ok(Box::new(Protocol { plan, shares, server, model, noise, waiting, sent: None }))
    })
}

/// People and server of one trial.
struct Protocol {
    plan: LocalPlan,
    /// Share of each level.
    shares: Vec<f64>,
    server: Server,
    model: Arc<Model>,
    noise: FastNoise,
    /// People whose reward has not come, by round, with the model they acted on.
    waiting: BTreeMap<u64, (Person<FastNoise>, Arc<Model>)>,
    /// The last report, until it is read.
    sent: Option<Vec<f64>>,
}

impl Learner for Protocol {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        let mut left = self.noise.uniform();
        let level = self.shares.iter().position(|share| {
            left -= share;
            left < 0.0
        });
        // Shares that add up to a little less than 1 leave the last level.
        let level = level.unwrap_or(self.shares.len() - 1);
        let mut person = self.plan.person(level, FastNoise::seeded(self.noise.bits()))?;
        let arm = person.choose(&self.model, arms)?;
        self.waiting.insert(round, (person, self.model.clone()));
        Ok(arm)
    }

    fn probabilities(&self, arms: &Arms) -> Result<Option<Vec<f64>>> {
        let drawn = self.model.draws().then(|| self.model.probabilities(arms));
        Ok(drawn.transpose()?)
    }

    fn dismiss(&mut self, round: u64) {
        self.waiting.remove(&round);
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
        self.observe_in_block(round, 0, features, reward)
    }

    fn observe_in_block(
        &mut self,
        round: u64,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<()> {
        let Some((mut person, model)) = self.waiting.remove(&round) else { return Ok(()) };
        // One that comes too late, or after a restart, is refused by the server, and nothing changes.
        let report = person.report_in_block(&model, block, features, reward)?;
        self.sent = Some(report.values().to_vec());
        self.server.absorb(&report)?;
        let reports = self.server.reports();
        if reports <= EAGER || reports.is_multiple_of(EVERY) {
            self.model = Arc::new(self.server.publish()?);
        }
        Ok(())
    }

    fn sent(&mut self) -> Option<Vec<f64>> {
        self.sent.take()
    }

    fn knowledge(&self) -> Option<Knowledge> {
        Some(Knowledge::Server(self.server.save()))
    }
}
