//! `kind = "shuffle"`: SDP-LinUCB through a shuffler.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use reticent::{
    bandit::{Aggregation, Arms, Model, Rule, ShuffleParams, ShufflePlan, ShuffleServer, Shuffler},
    noise::Noise,
    privacy::{Guarantee, Mode, TrustModel},
    randomize::{Bounds, Intercept, Person},
    schema::Count,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BanditEnvironment, Budget, Stepped, nothing_is_ignored, rule_remarks};
use crate::{
    FastNoise, Result,
    audit::attack,
    papers::constants::local::PublishedMechanism,
    play::{Learner, trial::mix},
};

/// Keys of `kind = "shuffle"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShuffleToml {
    /// Name in the report.
    pub name: Option<String>,
    /// Requested epsilon and delta, after shuffling.
    pub privacy: Budget,
    /// `exact`, or the constants of the code of Chowdhury and Zhou.
    #[serde(default)]
    pub mode: Mode,
    /// `sum` (vector sum) or `permute` (amplified); by default what carries more information, in `paper` mode the sum.
    pub aggregation: Option<Aggregation>,
    /// Reports in a batch; by default [`ShuffleParams::suited_batch`], in `paper` mode 20.
    #[schemars(with = "Option<Count>")]
    pub batch: Option<u64>,
    /// Number of people of a batch who randomise honestly; by default all.
    #[schemars(with = "Option<Count>")]
    pub honest: Option<u64>,
    /// The last feature of all arms, with which rewards are centred, or `false`: by default the environment's, where there is one.
    pub intercept: Option<Intercept>,
    /// Tells whether all arms have the largest norm, so that nothing has to hide their norms: by default as the environment knows.
    pub unit_arms: Option<bool>,
    /// Rule from noisy sums to a policy, in `exact` mode.
    #[serde(default)]
    pub rule: Rule,
    /// Largest number of reports of a person that the guarantee covers; if people return, later rounds are not learnt from.
    #[schemars(with = "Option<Count>")]
    pub contributions_per_person: Option<u64>,
    /// Folder in which each trial's decisions are logged, for `kind = "logged"`; they are people's data, which no server of this model sees.
    pub log: Option<PathBuf>,
}

impl ShuffleToml {
    /// The defaults of a file that gives the budget only.
    pub fn new(privacy: Budget) -> Self {
        ShuffleToml {
            name: None,
            privacy,
            mode: Mode::Exact,
            aggregation: None,
            batch: None,
            honest: None,
            intercept: None,
            unit_arms: None,
            rule: Rule::default(),
            contributions_per_person: None,
            log: None,
        }
    }

    pub(super) fn prepare(&self, environment: &BanditEnvironment) -> Result<Stepped> {
        let Budget { epsilon, delta } = self.privacy;
        let published = self.mode == Mode::Paper;
        // Published constants have a width of their own, and a rule beside them is still one that means something.
        self.rule.check()?;
        if let Rule::Episodes { width, growth } = self.rule {
            return self.episodes(environment, (width, growth));
        }
        let why = "published constants are for everybody honest, and for arms as they are";
        nothing_is_ignored(&[
            ("honest", self.honest.is_some() && published, why),
            ("intercept", self.intercept.is_some() && published, why),
            ("unit_arms", self.unit_arms.is_some() && published, why),
        ])?;
        let environment = &environment.declaring(self.intercept, self.unit_arms)?;
        let given = self.batch.or(published.then_some(20));
        let (dimension, rounds) = (environment.bounds.dimension, Some(environment.rounds));
        let batch = ShuffleParams::batch_or_suited(given, dimension, epsilon, rounds)?;
        if let (Some(most), Mode::Paper) = (self.contributions_per_person, self.mode) {
            let remedy = "published constants are for one report of each person: leave it out";
            return Err(reticent::Error::invalid("contributions_per_person", most, remedy).into());
        }
        let environment = &environment.with_contributions(self.contributions_per_person);
        let rule = environment.informed(self.rule.clone(), &environment.bounds)?;
        let exact = |aggregation| ShuffleParams {
            rule: rule.clone(),
            honest: self.honest,
            contributions_per_person: self.contributions_per_person.unwrap_or(1),
            ..ShuffleParams::new(environment.bounds, epsilon, delta, batch, aggregation)
        };
        let aggregation = match (self.aggregation, self.mode) {
            (Some(given), _) => given,
            (None, Mode::Exact) => exact(Aggregation::Sum).suited_aggregation()?,
            (None, Mode::Paper) => Aggregation::Sum,
        };
        let form = match aggregation {
            Aggregation::Sum => "vector sum",
            Aggregation::Permute => "amplified",
        };
        let name = self.name.clone().unwrap_or_else(|| {
            let mode = if self.mode == Mode::Paper { ", published" } else { "" };
            format!("shuffle, {form}{mode} ({epsilon}, {delta:e})")
        });
        let (params, guarantee, remarks) = match self.mode {
            Mode::Exact => {
                let params = exact(aggregation);
                let plan = params.check()?;
                let mut remarks = rule_remarks(&rule);
                remarks
                    .push(format!("without the shuffler: {}", plan.local_guarantee()?.simulated()));
                (params, plan.guarantee()?.simulated(), remarks)
            }
            Mode::Paper => {
                let mechanism = match aggregation {
                    Aggregation::Sum => PublishedMechanism::PublicVectorSum,
                    Aggregation::Permute => PublishedMechanism::PublicAmplified,
                };
                let constants = environment.published(mechanism, self.privacy.delta, batch);
                let guarantee =
                    environment.published_guarantee(&constants, epsilon, TrustModel::Shuffle)?;
                let bounds = Bounds { intercept: None, unit_arms: false, ..environment.bounds };
                let remark = "played and priced by the batch-sum view: the shuffler shows the sum of a batch only, which that code's does not; binomial noise as a Gaussian of its variance";
                // Vector sums at another norm than 1 can be priced but not run, which is said before any trial starts.
                let Ok(params) = constants.shuffle_params(bounds, epsilon) else {
                    return Ok(priced_only(name, guarantee, remark, environment));
                };
                (params, guarantee, vec![remark.into()])
            }
        };
        let plan = params.check()?;
        let people = environment.bounds;
        let (batch, form) = (params.batch, params.aggregation);
        let (attacked, certified, mode) = (plan.clone(), guarantee.clone(), self.mode);
        let attacks = move || {
            let mut attacks =
                attack::shuffle::attacks(&attacked, form, batch, &people, &certified)?;
            if mode == Mode::Exact {
                let local = attacked.local_guarantee()?;
                attacks.extend(attack::local::attacks(attacked.local(), 0, &people, &local));
            }
            Ok(attacks)
        };
        let outlook = (self.mode == Mode::Exact).then(|| plan.outlook(environment.rounds));
        let start = move |seed| {
            let mut noise = FastNoise::seeded(seed);
            let shuffler = plan.shuffler(FastNoise::seeded(noise.bits()))?;
            let mut server = plan.server().seeded(FastNoise::seeded(mix(seed, 1)).bits());
            let (model, waiting) = (Arc::new(server.publish()?), BTreeMap::new());
            let plan = plan.clone();
            let learner = Protocol { plan, server, shuffler, model, noise, waiting, sent: None };
            Ok(Box::new(learner) as Box<dyn Learner>)
        };
        let mut stepped = Stepped::new(name, environment, start).certified_by(guarantee);
        stepped.log.clone_from(&self.log);
        Ok(stepped.remarking(remarks).with_outlook(outlook).attacked_by(attacks))
    }
}

/// An algorithm that can be certified and not run.
fn priced_only(
    name: String,
    guarantee: Guarantee,
    remark: &str,
    environment: &BanditEnvironment,
) -> Stepped {
    let norm = environment.bounds.feature_bound;
    let remedy =
        "vector sums are simulated for arms of norm 1: it can be certified here, but not run";
    let refusal = reticent::Error::invalid("norm", norm, remedy);
    let reason = refusal.clone();
    let mut stepped = Stepped::new(name, environment, move |_| Err(reason.clone().into()));
    stepped.refusal = Some(refusal);
    stepped.certified_by(guarantee).remarking([remark.to_string()])
}

/// People, shuffler and server of one trial.
struct Protocol {
    plan: ShufflePlan,
    server: ShuffleServer,
    shuffler: Shuffler<FastNoise>,
    model: Arc<Model>,
    noise: FastNoise,
    /// People whose reward has not come, by round, with the model they acted on.
    waiting: BTreeMap<u64, (Person<FastNoise>, Arc<Model>)>,
    /// The sum of the last batch, until it is read.
    sent: Option<Vec<f64>>,
}

impl Learner for Protocol {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        let mut person = self.plan.person(FastNoise::seeded(self.noise.bits()))?;
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
        let Some((mut person, model)) = self.waiting.remove(&round) else { return Ok(()) };
        let report = person.report(&model, features, reward)?;
        if let Some(batch) = self.shuffler.absorb(&report)? {
            let mut sum = vec![0.0; report.values().len()];
            for content in batch.contents() {
                sum.iter_mut().zip(&content.values).for_each(|(sum, value)| *sum += value);
            }
            self.sent = Some(sum);
            self.server.absorb(&batch)?;
            self.model = Arc::new(self.server.publish()?);
        }
        Ok(())
    }

    fn sent(&mut self) -> Option<Vec<f64>> {
        self.sent.take()
    }
}
