//! From lines in a TOML file to a learner, and its trials.

use std::sync::Arc;

use reticent::{
    convex::{
        AnySet, BanditCounts, Baseline, DecisionSet, DoublingBandit, LinearOracle, Map, Play,
        PlayDecision, PlayTicket, PrivateBandit, PrivateBanditParams, Protection, Territory,
        ValueObservation,
    },
    noise::Noise,
    privacy::Mode,
    release::Mechanism,
    schema::{Count, Delta, Positive},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Algorithm, LossToml};
use crate::{
    FastNoise, Result,
    algorithm::{Bound, Card, RunnableAlgorithm, Side},
    audit::attack::{self, Attack, Attacks},
    papers::constants::{convex, regret},
    play::trial::{Checkpoint, Measure, Trial, mix, name_hash},
};

/// Keys of `kind = "private_bandit"`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BanditToml {
    /// Name in the report.
    pub name: Option<String>,
    /// Requested privacy; none if it is left out.
    pub privacy: Option<Budget>,
    /// Trust model.
    pub trust: Trust,
    /// Correlation over time of the noise of a trusted curator.
    pub mechanism: Option<Mechanism>,
    /// `exact`, or the publication's noise.
    pub mode: Mode,
    /// Batch, smoothing, step and play.
    pub settings: Settings,
    /// Domain of losses; around the set as printed, inside it by default.
    pub territory: Option<Territory>,
    /// Points or vertices.
    pub play: Play,
    /// Pairs of opposite directions.
    pub antithetic: Option<bool>,
    /// Origin from which values are measured.
    pub baseline: Option<Baseline>,
    /// Sums of all batches but the last.
    pub stale: Option<bool>,
    /// The mirror map.
    pub map: Option<Map>,
    /// Rounds in a batch.
    #[schemars(with = "Option<Count>")]
    pub batch: Option<u64>,
    /// zeta.
    #[schemars(with = "Option<Positive>")]
    pub smoothing: Option<f64>,
    /// eta.
    #[schemars(with = "Option<Positive>")]
    pub step: Option<f64>,
    /// Largest number of losses about the same person; 1 by default.
    #[schemars(with = "Option<Count>")]
    pub contributions_per_person: Option<u64>,
    /// The learner does not know the horizon: losses of the first of its doubling epochs.
    #[schemars(with = "Option<Count>")]
    pub first_epoch: Option<u64>,
    /// Line 14 with its printed sign, for comparison: it climbs.
    pub printed_sign: bool,
}

/// Requested privacy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Requested epsilon.
    #[schemars(with = "Positive")]
    pub epsilon: f64,
    /// Requested delta; Laplace noise and delta = 0 if it is left out.
    #[schemars(with = "Option<Delta>")]
    pub delta: Option<f64>,
}

/// Trust model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// A curator.
    #[default]
    Joint,
    /// No trusted party.
    Local,
}

/// Sets of defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Settings {
    /// The best we know.
    #[default]
    Default,
    /// Those of Algorithm 1.
    Published,
}

/// Keys of the baselines.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BaselineToml {
    /// Name in the report.
    pub name: Option<String>,
    /// Requested privacy, where the method has any.
    pub privacy: Option<Budget>,
}

/// Keys that were given; those without effect are refused.
fn protection(
    privacy: Option<Budget>,
    trust: Trust,
    mechanism: Option<Mechanism>,
) -> Result<Protection> {
    let refuse = |field, remedy| Err(reticent::Error::invalid(field, "a value", remedy).into());
    if mechanism.is_some()
        && !matches!((privacy, trust), (Some(Budget { delta: Some(_), .. }), Trust::Joint))
    {
        return refuse(
            "mechanism",
            "it is a curator's, with privacy = { epsilon, delta }: leave it out",
        );
    }
    let mechanism = mechanism.unwrap_or_default();
    Ok(match (privacy, trust) {
        (None, _) => Protection::None,
        (Some(Budget { delta: Some(_), .. }), Trust::Local) => {
            return refuse(
                "delta",
                "with trust = \"local\" every report is purely private: leave it out",
            );
        }
        (Some(Budget { epsilon, .. }), Trust::Local) => Protection::Local { epsilon },
        (Some(Budget { epsilon, delta: Some(delta) }), _) => {
            Protection::Central { epsilon, delta, mechanism }
        }
        (Some(Budget { epsilon, delta: None }), _) => Protection::CentralPure { epsilon },
    })
}

/// A learner ready to be simulated.
pub(super) struct ConvexAlgorithm {
    card: Card,
    params: PrivateBanditParams,
    lines: LossToml,
    printed_sign: bool,
    doubling: bool,
    /// The lemma on its regret at the horizon, with its number and the largest regret there is.
    lemma: Option<(&'static str, f64, f64)>,
}

impl ConvexAlgorithm {
    pub(super) fn new(algorithm: &Algorithm, lines: &LossToml, rounds: u64) -> Result<Self> {
        let set = lines.set.build()?;
        let lipschitz = lines.lipschitz(&set)?;
        let mut remarks = Vec::new();
        let (name, mut params, printed_sign) = match algorithm {
            Algorithm::PrivateBandit(bandit) => {
                let params = bandit.params(&set, lipschitz, rounds)?;
                let name = bandit.name.clone().unwrap_or("private bandit".into());
                if bandit.mode == Mode::Paper {
                    remarks.push("The publication's noise: at epsilon = 1 nothing is learnt under it at any horizon we tested.".into());
                }
                if bandit.printed_sign {
                    remarks.push("Line 14 with its printed sign climbs.".into());
                }
                (name, params, bandit.printed_sign)
            }
            Algorithm::GarberKretzu(baseline) => {
                let remedy = "garber_kretzu is not private: leave it out";
                reticent::refuse_if(baseline.privacy.is_some(), "privacy", "a value", remedy)?;
                let params = convex::garber_kretzu(&set, lipschitz, rounds)?;
                (baseline.name.clone().unwrap_or("Garber and Kretzu".into()), params, false)
            }
            Algorithm::SmithThakurta(baseline) => {
                let tree = Mechanism::Tree { levels: None };
                let tree = baseline.privacy.and_then(|budget| budget.delta).map(|_| tree);
                let protection = protection(baseline.privacy, Trust::Joint, tree)?;
                let params = convex::smith_thakurta(lipschitz, rounds, protection);
                (baseline.name.clone().unwrap_or("Smith and Thakurta".into()), params, false)
            }
        };
        let lemma = match printed_sign {
            true => None,
            false => regret::convex::of_params(&params, set.shape()),
        };
        let most = rounds as f64 * lipschitz * set.shape().diameter();
        let lemma = lemma.map(|(lemma, value)| (lemma, value, most));
        params.values = lines.values();
        let doubling = matches!(algorithm, Algorithm::PrivateBandit(b) if b.first_epoch.is_some());
        let plan = params.check(set)?;
        let tuning = plan.tuning();
        remarks.push(format!(
            "batch {}, smoothing {:.4}, step {:.3e}, sensitivity {:.3}",
            tuning.batch,
            tuning.smoothing,
            tuning.step,
            plan.sensitivity()
        ));
        let guarantee = match params.protection {
            Protection::None => None,
            _ if doubling => {
                let set = Shared(Arc::new(lines.set.build()?)).set()?;
                Some(
                    DoublingBandit::start(params.clone(), set, FastNoise::seeded(0))?
                        .guarantee()?,
                )
            }
            _ => Some(plan.guarantee()?.simulated()),
        };
        if doubling {
            remarks.push("Of the first epoch; later ones have their own.".into());
        }
        let attacked = (params.clone(), lines.set.clone());
        let attacks = guarantee.clone().map_or_else(Attacks::default, |guarantee| {
            let (params, set) = attacked;
            Attacks::new(move || attack::convex::attacks(&params, set.build()?, &guarantee))
        });
        let lines = lines.clone();
        let card = Card { name, guarantee, attacks, remarks, ..Card::default() };
        Ok(ConvexAlgorithm { card, params, lines, printed_sign, doubling, lemma })
    }
}

impl ConvexAlgorithm {
    /// Range of values.
    fn range(&self) -> Result<(f64, f64)> {
        let set = self.lines.set.build()?;
        let widest = (0.0, self.params.lipschitz * set.shape().diameter());
        Ok(self.params.values.unwrap_or(widest))
    }
}

/// The bandit that a trial plays, and that an audit plays.
fn start(
    params: &PrivateBanditParams,
    set: AnySet,
    doubling: bool,
    noise: FastNoise,
) -> Result<Box<dyn Bandit>> {
    Ok(if doubling {
        let set = Shared(Arc::new(set)).set()?;
        Box::new(DoublingBandit::start(params.clone(), set, noise)?)
    } else {
        Box::new(params.check(set)?.start(noise)?)
    })
}

impl BanditToml {
    fn params(&self, set: &AnySet, lipschitz: f64, rounds: u64) -> Result<PrivateBanditParams> {
        let protection = protection(self.privacy, self.trust, self.mechanism)?;
        let remedy = "expected the rounds of the first epoch, above 0";
        reticent::refuse_if(self.first_epoch == Some(0), "first_epoch", 0, remedy)?;
        let rounds = self.first_epoch.unwrap_or(rounds);
        let mut params = match self.settings {
            Settings::Published => convex::algorithm_1(set, lipschitz, rounds, protection)?,
            Settings::Default => PrivateBanditParams::new(lipschitz, rounds, protection),
        };
        if self.mode == Mode::Paper {
            let remedy = "published noise is for a known horizon: leave it out";
            reticent::refuse_if(self.first_epoch.is_some(), "first_epoch", rounds, remedy)?;
            params = convex::with_printed_noise(params, set.shape())?;
        }
        params.play = self.play;
        params.contributions_per_person = self.contributions_per_person.unwrap_or(1);
        params.territory = self.territory.unwrap_or(params.territory);
        params.antithetic = self.antithetic.unwrap_or(params.antithetic);
        params.baseline = self.baseline.unwrap_or(params.baseline);
        params.stale = self.stale.unwrap_or(params.stale);
        params.map = self.map.unwrap_or(params.map);
        params.batch = self.batch.or(params.batch);
        params.smoothing = self.smoothing.or(params.smoothing);
        params.step = self.step.or(params.step);
        Ok(params)
    }
}

impl crate::algorithm::sealed::Sealed for ConvexAlgorithm {}

impl RunnableAlgorithm for ConvexAlgorithm {
    fn card(&self) -> &Card {
        &self.card
    }

    /// The lemmas are about the horizon that the constants are made for: they say nothing of earlier rounds.
    fn bounds(&self, rounds: u64) -> Vec<Bound> {
        let bound = |&(lemma, value, trivial): &(&'static str, f64, f64)| Bound {
            theorem: lemma.into(),
            side: Side::Upper,
            value: if rounds == self.params.horizon { value } else { f64::INFINITY },
            trivial,
        };
        self.lemma.iter().map(bound).collect()
    }

    fn learner_attacks(&self) -> Result<Vec<Attack>> {
        let Some(guarantee) = self.guarantee() else { return Ok(Vec::new()) };
        let set = self.lines.set.build()?;
        let batch = self.params.check(set)?.tuning().batch;
        let params = self.params.clone();
        let rounds = (attack::convex::BATCHES * batch + 1).min(params.horizon);
        // In its first epoch, beyond which no audit goes, a learner without a horizon is this one; what takes time to start is the price
        // of its later epochs.
        let set = self.lines.set.clone();
        let range = self.range()?;
        let view = move |high: bool, seed: u64| -> Result<Vec<f64>> {
            let mut bandit = start(&params, set.build()?, false, FastNoise::seeded(seed))?;
            let mut points = Vec::new();
            for round in 0..rounds {
                let decision = bandit.decide()?;
                if round > 0 && round % batch == 0 {
                    points.extend(decision.point.iter().take(attack::convex::COORDINATES));
                }
                let value = match (round < params.contributions_per_person, high) {
                    (false, _) => 0.5 * (range.0 + range.1),
                    (true, true) => range.1,
                    (true, false) => range.0,
                };
                bandit.observe(decision.ticket, value)?;
            }
            Ok(points)
        };
        Ok(if rounds > batch { vec![attack::convex::points(view, guarantee)] } else { Vec::new() })
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        // Every algorithm meets the same losses in the same trial; its own noise is its own.
        let seed = mix(seed, trial);
        let mut losses = self.lines.losses(seed)?;
        let noise = FastNoise::seeded(mix(seed, name_hash(self.name())));
        let mirrored = self.range()?;
        let mut bandit = start(&self.params, self.lines.set.build()?, self.doubling, noise)?;
        let mut curve = Vec::with_capacity(checkpoints.len());
        let (mut regret, mut round, mut clipped) = (0.0, 0, 0_u64);
        let gauge = crate::play::watch::Gauge::current();
        for &checkpoint in checkpoints {
            while round < checkpoint {
                gauge.reached(round)?;
                let decision = bandit.decide()?;
                let (value, lost) = losses.play(&decision.point);
                regret += lost;
                // A value mirrored in its range has the opposite slope: the printed sign.
                let value = if self.printed_sign { mirrored.0 + mirrored.1 - value } else { value };
                // Locally protected learners do not count what was clipped; the simulation may.
                clipped += u64::from(bandit.observe(decision.ticket, value)?.clipped);
                round += 1;
            }
            curve.push(Checkpoint { round, regret });
        }
        let counts = bandit.counts();
        let per_round = |value: f64| value / round.max(1) as f64;
        let measures = [
            ("regret relative to staying at the centre", per_round(regret) / losses.centre()),
            ("values clipped, share of rounds", per_round(clipped as f64)),
            (
                "oracle calls a batch",
                counts.map.oracle_calls as f64 / counts.map.maps.max(1) as f64,
            ),
            ("descents that ran out of calls", counts.map.unconverged as f64),
            ("mean squared distance of vertices from points", counts.vertex_variance),
        ];
        let measures = measures.map(|(what, value)| Measure { what, value }).to_vec();
        Ok(Trial { curve, measures })
    }
}

/// A learner that knows its horizon, or one that does not.
trait Bandit {
    fn decide(&mut self) -> reticent::Result<PlayDecision>;
    fn observe(&mut self, ticket: PlayTicket, value: f64) -> reticent::Result<ValueObservation>;
    fn counts(&self) -> BanditCounts;
}

impl<O: LinearOracle, N: Noise> Bandit for PrivateBandit<O, N> {
    fn decide(&mut self) -> reticent::Result<PlayDecision> {
        self.decide()
    }

    fn observe(&mut self, ticket: PlayTicket, value: f64) -> reticent::Result<ValueObservation> {
        self.observe(ticket, value)
    }

    fn counts(&self) -> BanditCounts {
        self.counts()
    }
}

impl<O: LinearOracle + Clone, N: Noise> Bandit for DoublingBandit<O, N> {
    fn decide(&mut self) -> reticent::Result<PlayDecision> {
        self.decide()
    }

    fn observe(&mut self, ticket: PlayTicket, value: f64) -> reticent::Result<ValueObservation> {
        self.observe(ticket, value)
    }

    fn counts(&self) -> BanditCounts {
        self.counts()
    }
}

/// Epochs share one set.
#[derive(Clone)]
struct Shared(Arc<AnySet>);

impl Shared {
    fn set(self) -> reticent::Result<DecisionSet<Shared>> {
        let shape = self.0.shape().clone();
        DecisionSet::new(self, shape)
    }
}

impl LinearOracle for Shared {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        self.0.oracle().minimize(direction, vertex);
    }

    fn project(&self, point: &mut [f64]) -> bool {
        self.0.oracle().project(point)
    }

    fn project_entropic(&self, log_weights: &mut [f64]) -> bool {
        self.0.oracle().project_entropic(log_weights)
    }
}
