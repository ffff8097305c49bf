//! OnlineUCB as it is deployed: the messages of [`local`](super::local) around any of its three servers.
//!
//! ```text
//! server: publish -> Model -> person: choose, clip, randomise -> Report (x~, y~) -> server: absorb -> publish ...
//! ```
//!
//! Models may be stale and reports late, lost or doubled, as in the local protocol. **Guarantee.** That of [`FeatureReward`] for a
//! person's one report; everything else is post-processing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Absorbed, Anytime, Arms, Combiner, Guide, Model, OnlineUcb, Policy, Report,
    local::{CONDITIONS, Inbox},
};
use crate::{
    Error, Result,
    error::finite_vector,
    hash,
    noise::Noise,
    privacy::Guarantee,
    randomize::{FeatureReward, FeatureRewardReport},
    wire,
};

const KIND: &str = "online ucb protocol 1";
/// Reports made under a model more than this many models old are refused.
const LATE_MODELS: u64 = 1000;

/// What a person's guarantee rests on besides the randomiser.
fn with_conditions(guarantee: Guarantee) -> Guarantee {
    CONDITIONS.iter().fold(guarantee, |g, c| g.with_condition(*c)).with_condition(
        "a person reports once: a device that is started anew is told that it has reported",
    )
}

/// What the servers of paper 0 have in common: [`OnlineUcb`], [`Anytime`], [`Combiner`].
pub trait OnlineEngine: Sized {
    /// The person's half.
    fn randomizer(&self) -> &FeatureReward;

    /// What is published for the next person.
    fn policy(&self) -> &Policy;

    /// Whose policy that is, where there are several.
    fn base(&self) -> usize;

    /// Learns from the report of a person who followed this base. An error changes nothing.
    fn learn(&mut self, base: usize, report: &FeatureRewardReport) -> Result<()>;

    /// Reports absorbed so far.
    fn reports(&self) -> u64;

    /// What may be promised to every person who sends one report.
    fn promise(&self) -> Result<Guarantee>;

    /// The whole state.
    fn to_bytes(&self) -> Vec<u8>;

    /// Continues from it.
    fn from_bytes(bytes: &[u8]) -> Result<Self>;
}

/// The same words for each server; what differs is whose policy is followed, and who learns.
macro_rules! engine {
    ($server:ty, $base:expr, $learn:expr) => {
        impl OnlineEngine for $server {
            fn randomizer(&self) -> &FeatureReward {
                self.randomizer()
            }

            fn policy(&self) -> &Policy {
                self.policy()
            }

            fn base(&self) -> usize {
                let base: fn(&Self) -> usize = $base;
                base(self)
            }

            fn learn(&mut self, base: usize, report: &FeatureRewardReport) -> Result<()> {
                let learn: fn(&mut Self, usize, &FeatureRewardReport) -> Result<()> = $learn;
                learn(self, base, report)
            }

            fn reports(&self) -> u64 {
                self.rounds()
            }

            fn promise(&self) -> Result<Guarantee> {
                self.guarantee()
            }

            fn to_bytes(&self) -> Vec<u8> {
                self.save()
            }

            fn from_bytes(bytes: &[u8]) -> Result<Self> {
                Self::load(bytes)
            }
        }
    };
}

engine!(OnlineUcb, |_| 0, |server, _, report| server.absorb(report));
engine!(Anytime, |_| 0, |server, _, report| server.absorb(report));
engine!(Combiner, Combiner::current, Combiner::absorb);

/// The server's half of the protocol around an engine.
///
/// ```
/// use reticent::{
///     bandit::{Absorbed, Arms, OnlineServer, OnlineUcbParams},
///     noise::SecureNoise,
///     randomize::FeatureRewardParams,
/// };
///
/// let randomizer = FeatureRewardParams::new(2, 10.0, 1e-6);
/// let mut server = OnlineServer::new(OnlineUcbParams::new(randomizer, 1000).check()?);
/// println!("{}", server.guarantee()?);
/// let model = server.publish();
///
/// // On the device:
/// let mut person = server.person(SecureNoise::from_system()?);
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// let arm = person.choose(&model, &arms)?;
/// let report = person.report(&model, &arms.arm(arm), 0.7)?;
///
/// // At the server:
/// assert_eq!(server.absorb(&report)?, Absorbed::Counted);
/// assert_eq!(server.absorb(&report)?, Absorbed::Duplicate);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineServer<E> {
    engine: E,
    protocol: u64,
    inbox: Inbox,
    /// Whose policy each model of the window was.
    bases: BTreeMap<u64, usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    engine: Vec<u8>,
    inbox: Inbox,
    bases: BTreeMap<u64, usize>,
}

impl<E: OnlineEngine> OnlineServer<E> {
    /// A protocol around a server.
    pub fn new(engine: E) -> Self {
        let protocol = hash::of_params("online ucb protocol 1", engine.randomizer().params());
        OnlineServer { engine, protocol, inbox: Inbox::new(LATE_MODELS), bases: BTreeMap::new() }
    }

    /// The server inside.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// The half of a person who has not reported yet.
    pub fn person<N: Noise>(&self, noise: N) -> OnlinePerson<N> {
        self.person_after(false, noise)
    }

    /// The half of a person of whom the device knows whether they have reported before.
    pub fn person_after<N: Noise>(&self, reported: bool, noise: N) -> OnlinePerson<N> {
        let randomizer = self.engine.randomizer().clone();
        OnlinePerson { randomizer, protocol: self.protocol, reported, clipped: 0, noise }
    }

    /// The next model, made from all reports so far.
    pub fn publish(&mut self) -> Model {
        let sequence = self.inbox.publish();
        self.bases.insert(sequence, self.engine.base());
        self.bases = self.bases.split_off(&self.inbox.oldest());
        let guide = Guide::Follow(self.engine.policy().clone());
        Model::new(self.protocol, sequence, self.engine.reports(), guide)
    }

    /// Takes a report in, once. An error, a duplicate and a late report change nothing.
    pub fn absorb(&mut self, report: &Report) -> Result<Absorbed> {
        if report.protocol() != self.protocol {
            let remedy = "it was made for a protocol with other parameters: refuse its sender";
            return Err(Error::invalid("protocol", format!("{:x}", report.protocol()), remedy));
        }
        if let Some(refused) = self.inbox.refusal(report)? {
            return Ok(refused);
        }
        let dimension = self.engine.randomizer().params().dimension;
        finite_vector("values", report.values(), dimension + 1)?;
        let largest = self.engine.randomizer().largest_entry();
        if let Some(value) = report.values().iter().find(|value| value.abs() > largest) {
            let remedy = format!("no honest report exceeds {largest}: refuse its sender");
            return Err(Error::invalid("values", value, remedy));
        }
        let (features, reward) = report.values().split_at(dimension);
        let pair = FeatureRewardReport { features: features.to_vec(), reward: reward[0] };
        let base = self.bases.get(&report.model()).copied().unwrap_or_default();
        self.engine.learn(base, &pair)?;
        self.inbox.remember(report);
        Ok(Absorbed::Counted)
    }

    /// What may be promised to every person.
    pub fn guarantee(&self) -> Result<Guarantee> {
        Ok(with_conditions(self.engine.promise()?))
    }

    /// The whole state. There is no secret in it, but whoever changes it changes what people are told to do.
    pub fn save(&self) -> Vec<u8> {
        let (engine, inbox) = (self.engine.to_bytes(), self.inbox.clone());
        wire::save(KIND, &Saved { engine, inbox, bases: self.bases.clone() })
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let Saved { engine, inbox, bases } = wire::load(KIND, bytes)?;
        Ok(OnlineServer { inbox, bases, ..OnlineServer::new(E::from_bytes(&engine)?) })
    }
}

/// The half on a person's device: one report, with a generator of its own.
#[derive(Debug)]
pub struct OnlinePerson<N> {
    randomizer: FeatureReward,
    protocol: u64,
    reported: bool,
    clipped: u64,
    noise: N,
}

impl<N: Noise> OnlinePerson<N> {
    /// The arm to play, as the model has it. An error changes nothing but the generator.
    pub fn choose(&mut self, model: &Model, arms: &Arms) -> Result<usize> {
        model.expect(self.protocol)?;
        model.choose(arms, self.randomizer.params().dimension, &mut self.noise)
    }

    /// The report of an arm played under `model` and its reward. An error makes no report and uses up none.
    pub fn report(&mut self, model: &Model, features: &[f64], reward: f64) -> Result<Report> {
        model.expect(self.protocol)?;
        if self.reported {
            let remedy = "the guarantee is for one report of a person: send no second one";
            return Err(Error::invalid("reports left", 0, remedy));
        }
        let interaction = self.randomizer.clip(features, reward)?;
        let pair = self.randomizer.randomize_clipped(&interaction, &mut self.noise)?;
        self.reported = true;
        self.clipped = u64::from(interaction.clipped());
        let mut values = pair.features;
        values.push(pair.reward);
        let id = [self.noise.bits(), self.noise.bits()];
        Ok(Report::new((self.protocol, model.sequence(), id), None, None, values))
    }

    /// 1 if the report was made from features or a reward outside their bounds, which were clipped. For the person's own device: no
    /// report carries it.
    pub fn clipped(&self) -> u64 {
        self.clipped
    }

    /// What this person may be promised.
    pub fn guarantee(&self) -> Result<Guarantee> {
        let guarantee = with_conditions(self.randomizer.guarantee()?);
        Ok(if N::PROTECTS_PEOPLE { guarantee } else { guarantee.simulated() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bandit::{AnytimeParams, CombinerParams, OnlineUcbParams},
        noise::SecureNoise,
        randomize::{FeatureRewardParams, testing::noise_alarm},
    };

    fn base(horizon: u64) -> OnlineUcbParams {
        OnlineUcbParams::new(FeatureRewardParams::new(2, 10.0, 1e-6), horizon)
    }

    fn arms() -> Arms {
        Arms::from_rows(2, &[[1.0, 0.0], [0.6, 0.8]]).unwrap()
    }

    fn report<E: OnlineEngine>(server: &OnlineServer<E>, model: &Model, seed: u64) -> Report {
        let mut person = server.person(SecureNoise::seeded(seed));
        let arm = person.choose(model, &arms()).unwrap();
        person.report(model, &arms().arm(arm), 0.5).unwrap()
    }

    #[test]
    fn late_lost_and_doubled_reports_are_as_in_the_local_protocol() {
        fn check<E: OnlineEngine>(engine: E) {
            let mut server = OnlineServer::new(engine);
            let first = server.publish();
            let mut last = first.clone();
            for seed in 0..40 {
                // Every third person acts on the first model; every fifth report is lost.
                let model = if seed % 3 == 0 { &first } else { &last };
                let report = report(&server, model, seed);
                // Messages survive the wire.
                let wire = serde_json::to_string(&report).unwrap();
                let report: Report = serde_json::from_str(&wire).unwrap();
                if seed % 5 == 0 {
                    continue;
                }
                let before = server.engine().reports();
                assert_eq!(server.absorb(&report).unwrap(), Absorbed::Counted);
                assert_eq!(server.engine().reports(), before + 1);
                let state = server.save();
                assert_eq!(server.absorb(&report).unwrap(), Absorbed::Duplicate);
                assert_eq!(server.save(), state, "a duplicate changes nothing");
                // A copy from disk knows the report too.
                let mut copy = OnlineServer::<E>::load(&state).unwrap();
                assert_eq!(copy.absorb(&report).unwrap(), Absorbed::Duplicate);
                last = server.publish();
                assert_eq!(last, copy.publish());
            }
            assert_eq!(server.engine().reports(), 32);
        }
        check(base(100).check().unwrap());
        check(AnytimeParams::new(base(1)).check().unwrap());
        check(CombinerParams::new(base(100)).check().unwrap());
    }

    #[test]
    fn a_report_teaches_the_base_whose_model_it_was_made_under() {
        let small = CombinerParams {
            anytime_constant: 1e-6,
            base_constant: 1e-6,
            deviation_constant: 0.05,
            ..CombinerParams::new(base(2000))
        };
        let mut server = OnlineServer::new(small.check().unwrap());
        let old = server.publish();
        let asked = server.engine().current();
        // Until another base is in charge.
        let mut seed = 0;
        while server.engine().current() == asked {
            seed += 1;
            let model = server.publish();
            let report = report(&server, &model, seed);
            server.absorb(&report).unwrap();
            assert!(seed < 1500, "no other base was ever asked");
        }
        server.publish();
        let before = server.engine().counts();
        server.absorb(&report(&server, &old, 9999)).unwrap();
        let after = server.engine().counts();
        assert_eq!(after[asked], before[asked] + 1);
    }

    #[test]
    fn what_a_person_sends_is_noisy_as_stated_and_clear_data_would_be_noticed() {
        let mut server = OnlineServer::new(base(100).check().unwrap());
        let model = server.publish();
        let deviation = server.engine().randomizer().deviation();
        let (truth, deviations) = ([0.6, 0.8, 0.5], [deviation; 3]);
        let mut seed = 0;
        let mut send = || {
            seed += 1;
            let mut person = server.person(SecureNoise::seeded(seed));
            person.report(&model, &[0.6, 0.8], 0.5).unwrap().values().to_vec()
        };
        assert!(!noise_alarm(&truth, &deviations, &mut send));
        // Planted: a device that forgets its noise.
        assert!(noise_alarm(&truth, &deviations, &mut || truth.to_vec()));
    }

    #[test]
    fn a_device_is_told_what_was_clipped_and_the_report_is_not() {
        let mut server = OnlineServer::new(base(100).check().unwrap());
        let model = server.publish();
        for (features, reward, clipped) in [
            ([0.6, 0.8], 0.5, 0),
            ([0.6, 0.8], 1.5, 1),
            ([6.0, 8.0], 0.5, 1),
            ([f64::MAX, -f64::MAX], f64::MAX, 1),
        ] {
            let mut person = server.person(SecureNoise::seeded(7));
            let report = person.report(&model, &features, reward).unwrap();
            assert_eq!(person.clipped(), clipped, "{features:?} {reward}");
            assert!(!serde_json::to_string(&report).unwrap().contains("clipped"));
            assert!(server.absorb(&report).is_ok());
        }
    }

    #[test]
    fn foreign_forged_and_second_reports_are_refused_and_change_nothing() {
        let mut server = OnlineServer::new(base(100).check().unwrap());
        let model = server.publish();
        let good = report(&server, &model, 1);
        let before = server.save();
        let other = FeatureRewardParams::new(2, 5.0, 1e-6);
        let mut stranger = OnlineServer::new(OnlineUcbParams::new(other, 100).check().unwrap());
        let foreign = stranger.publish();
        let foreign = report(&stranger, &foreign, 1);
        let mut huge = good.values().to_vec();
        huge[0] = 1e6;
        let name = (good.protocol(), 0, good.id());
        for bad in [
            foreign,
            Report::new(name, None, None, huge),
            Report::new(name, None, None, vec![0.0; 2]),
            Report::new((good.protocol(), 7, good.id()), None, None, good.values().to_vec()),
        ] {
            assert!(server.absorb(&bad).is_err());
        }
        let mut person = server.person(SecureNoise::seeded(2));
        assert!(person.report(&model, &[f64::NAN, 0.0], 0.5).is_err());
        person.report(&model, &[1.0, 0.0], 0.5).unwrap();
        let second = person.report(&model, &[1.0, 0.0], 0.5).unwrap_err().to_string();
        assert!(second.contains("one report"), "{second}");
        let mut restarted = server.person_after(true, SecureNoise::seeded(3));
        assert!(restarted.report(&model, &[1.0, 0.0], 0.5).is_err());
        assert_eq!(server.save(), before);
        let bytes = server.save();
        assert!(OnlineServer::<OnlineUcb>::load(&bytes[..bytes.len() / 2]).is_err());
        assert!(OnlineServer::<Anytime>::load(&bytes).is_err());
    }
}
