//! `kind = "shuffle"`: SDP-LinUCB through a shuffler.

use reticent::{
    bandit::{
        Aggregation, Arms, Exploration, Model, Person, PublishedMechanism, ShuffleParams,
        ShufflePlan, ShuffleServer, Shuffler,
    },
    noise::Noise,
    privacy::{Mode, TrustModel},
    randomize::Bounds,
};
use serde::{Deserialize, Serialize};

use super::{Budget, Stepping, World, published, published_guarantee, trusted::tuned};
use crate::{FastNoise, Result, audit, simulate::Player};

/// What `kind = "shuffle"` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShuffleLines {
    /// What the report calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// Requested epsilon and delta, after shuffling.
    pub privacy: Budget,
    /// `exact`, or the constants of the code of Chowdhury and Zhou.
    #[serde(default)]
    pub mode: Mode,
    /// `sum` (vector sum) or `permute` (amplified).
    #[serde(default = "sum")]
    pub aggregation: Aggregation,
    /// Reports in a batch.
    #[serde(default = "twenty")]
    pub batch: u64,
    /// How noisy sums become a policy, in `exact` mode.
    #[serde(default)]
    pub exploration: Exploration,
}

fn sum() -> Aggregation {
    Aggregation::Sum
}

fn twenty() -> u64 {
    20
}

impl ShuffleLines {
    /// The defaults of a file that gives the budget only.
    pub fn new(privacy: Budget) -> Self {
        ShuffleLines {
            name: None,
            privacy,
            mode: Mode::Exact,
            aggregation: Aggregation::Sum,
            batch: 20,
            exploration: Exploration::default(),
        }
    }

    pub(super) fn contestant(&self, world: World, rounds: u64) -> Result<Stepping> {
        let Budget { epsilon, delta } = self.privacy;
        let form = match self.aggregation {
            Aggregation::Sum => "vector sum",
            Aggregation::Permute => "amplified",
        };
        let name = self.name.clone().unwrap_or_else(|| {
            let mode = if self.mode == Mode::Paper { ", published" } else { "" };
            format!("shuffle, {form}{mode} ({epsilon}, {delta:e})")
        });
        let (params, guarantee, remarks) = match self.mode {
            Mode::Exact => {
                let params = ShuffleParams {
                    exploration: self.exploration,
                    ..ShuffleParams::new(
                        world.bounds(),
                        epsilon,
                        delta,
                        self.batch,
                        self.aggregation,
                    )
                };
                let plan = params.check()?;
                let mut remarks = tuned(&self.exploration);
                remarks.push(format!("without the shuffler: {}", plan.local_guarantee()?));
                (params, plan.guarantee()?.simulated(), remarks)
            }
            Mode::Paper => {
                let mechanism = match self.aggregation {
                    Aggregation::Sum => PublishedMechanism::PublicVectorSum,
                    Aggregation::Permute => PublishedMechanism::PublicAmplified,
                };
                let constants = published(mechanism, self.privacy, world, rounds, self.batch);
                let guarantee = published_guarantee(&constants, epsilon, TrustModel::Shuffle)?;
                let bounds = Bounds { intercept: None, unit_arms: false, ..world.bounds() };
                let remark =
                    "priced by the batch-sum view; binomial noise as a Gaussian of its variance";
                // Vector sums at another norm than 1 can be priced but not run: then it is said when a trial starts.
                let params = match ShuffleParams::published(bounds, epsilon, constants) {
                    Ok(params) if constants.method().is_ok() => params,
                    _ => return Ok(priced_only(name, guarantee, remark, world)),
                };
                (params, guarantee, vec![remark.into()])
            }
        };
        let plan = params.check()?;
        let people = world.bounds();
        let (batch, form) = (params.batch, params.aggregation);
        let mut attacks = audit::shuffle::attacks(&plan, form, batch, &people, &guarantee)?;
        if self.mode == Mode::Exact {
            let local = plan.local_guarantee()?;
            attacks.extend(audit::local::attacks(plan.local(), 0, &people, &local));
        }
        let start = move |seed| {
            let mut noise = FastNoise::seeded(seed);
            let shuffler = plan.shuffler(FastNoise::seeded(noise.bits()))?;
            let mut server = plan.server();
            let model = server.publish()?;
            let plan = plan.clone();
            Ok(Box::new(Protocol { plan, server, shuffler, model, noise, person: None })
                as Box<dyn Player>)
        };
        Ok(Stepping {
            name,
            guarantee: Some(guarantee),
            certificates: Vec::new(),
            remarks,
            world,
            table: None,
            start: Box::new(start),
            attacks,
        })
    }
}

/// A contestant that can be certified and not run.
fn priced_only(
    name: String,
    guarantee: reticent::privacy::Guarantee,
    remark: &str,
    world: World,
) -> Stepping {
    let norm = world.norm;
    Stepping {
        name,
        guarantee: Some(guarantee),
        certificates: Vec::new(),
        remarks: vec![remark.into()],
        world,
        table: None,
        attacks: Vec::new(),
        start: Box::new(move |_| {
            let remedy = "vector sums are simulated for arms of norm 1";
            Err(reticent::Error::invalid("norm", norm, remedy).into())
        }),
    }
}

/// People, shuffler and server of one trial.
struct Protocol {
    plan: ShufflePlan,
    server: ShuffleServer,
    shuffler: Shuffler<FastNoise>,
    model: Model,
    noise: FastNoise,
    person: Option<Person<FastNoise>>,
}

impl Player for Protocol {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        let mut person = self.plan.person(FastNoise::seeded(self.noise.bits()))?;
        let arm = person.choose(&self.model, arms)?;
        self.person = Some(person);
        Ok(arm)
    }

    fn observe(&mut self, features: &[f64], reward: f64) -> Result<()> {
        let Some(mut person) = self.person.take() else { return Ok(()) };
        let report = person.report(&self.model, features, reward)?;
        if let Some(batch) = self.shuffler.take(&report)? {
            self.server.absorb(&batch)?;
            self.model = self.server.publish()?;
        }
        Ok(())
    }
}
