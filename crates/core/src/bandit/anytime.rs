//! OnlineUCB without a horizon: epochs that double, each begun from nothing.
//!
//! ```text
//! epoch m = 0, 1, 2, ...: OnlineUCB with T = 2^m and Delta^2 = 2^(-m k), for 2^m rounds
//! ```
//!
//! Paper 0, Algorithm 9. **Guarantee.** That of OnlineUCB: a person's report is the same in every epoch. What was learnt is thrown away at
//! every doubling, and the ridge shrinks the estimate: it costs three to four times the regret of OnlineUCB with a known horizon.

use serde::{Deserialize, Serialize};

use super::{Assumptions, OnlineUcb, OnlineUcbParams, Policy, Width, online_ucb};
use crate::{
    Error, Result, error::not_negative, privacy::Guarantee, randomize::FeatureReward, refuse_if,
    wire,
};

/// Epochs of more rounds than this are not begun.
const MOST_EPOCHS: u32 = 62;

/// Parameters of [`Anytime`].
///
/// ```
/// use reticent::{bandit::{AnytimeParams, OnlineUcbParams}, randomize::{Bounds, FeatureRewardParams}};
/// let base = OnlineUcbParams::new(FeatureRewardParams::new(Bounds::unit(2), 10.0, 1e-6), 1);
/// let server = AnytimeParams::new(base).check()?;
/// assert_eq!(server.epoch(), 0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnytimeParams {
    /// Parameters that all epochs share; the horizon and the ridge are the epoch's own.
    pub base: OnlineUcbParams,
    /// k: the ridge of an epoch of n rounds is `n^-k`.
    pub power: f64,
}

impl AnytimeParams {
    /// The power 1/8 of Theorem E.1.
    pub fn new(base: OnlineUcbParams) -> Self {
        AnytimeParams { base, power: 0.125 }
    }

    /// A server in its first epoch, or the parameter that stands in the way.
    pub fn check(&self) -> Result<Anytime> {
        not_negative("power", self.power)?;
        Ok(Anytime {
            params: self.clone(),
            epoch: 0,
            finished: 0,
            current: self.epoch(0)?.check()?,
        })
    }

    /// Algorithm 1's parameters in epoch m.
    fn epoch(&self, epoch: u32) -> Result<OnlineUcbParams> {
        let remedy = format_args!("a stream of 2^{MOST_EPOCHS} reports does not exist");
        refuse_if(epoch > MOST_EPOCHS, "epoch", epoch, remedy)?;
        let horizon = 1 << epoch;
        let ridge = libm::pow(horizon as f64, -self.power);
        let plain = OnlineUcbParams { horizon, ridge, ..self.base.clone() };
        // A proved width rests on a gradient bound that grows with the epoch.
        match plain.width {
            Width::Constant(_) => Ok(plain),
            Width::Proved(Assumptions { smallest_eigenvalue, .. }) => {
                OnlineUcbParams::proved(plain.randomizer, horizon, smallest_eigenvalue, ridge)
            }
        }
    }
}

/// The report server of the anytime variant.
#[derive(Debug, Clone)]
pub struct Anytime {
    params: AnytimeParams,
    epoch: u32,
    /// Reports of finished epochs.
    finished: u64,
    current: OnlineUcb,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    params: AnytimeParams,
    epoch: u32,
    current: online_ucb::Saved,
}

impl Anytime {
    /// The server's parameters.
    pub fn params(&self) -> &AnytimeParams {
        &self.params
    }

    /// The device.
    pub fn randomizer(&self) -> &FeatureReward {
        self.current.randomizer()
    }

    /// Policy published for the next person.
    pub fn policy(&self) -> &Policy {
        self.current.policy()
    }

    /// m: the number of the current epoch.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Reports absorbed so far, in all epochs.
    pub fn rounds(&self) -> u64 {
        self.finished + self.current.rounds()
    }

    /// Learns from one report, and begins a new epoch when this one is full. An error changes nothing.
    pub fn absorb(&mut self, report: &[f64]) -> Result<()> {
        let horizon = self.current.params().horizon;
        // The next epoch is made before anything is changed.
        let next = match self.current.rounds() + 1 == horizon {
            true => Some(self.params.epoch(self.epoch + 1)?.check()?),
            false => None,
        };
        self.current.absorb(report)?;
        if let Some(next) = next {
            self.finished += horizon;
            self.epoch += 1;
            self.current = next;
        }
        Ok(())
    }

    /// Guarantee for every person who sends one report.
    pub fn guarantee(&self) -> Result<Guarantee> {
        self.randomizer().guarantee()
    }

    /// The whole state; nothing in it was not sent by people in this form.
    pub fn save(&self) -> Vec<u8> {
        wire::save(wire::kinds::ANYTIME, &self.saved())
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        wire::load::<Saved>(wire::kinds::ANYTIME, bytes)?.revive()
    }

    pub(super) fn saved(&self) -> Saved {
        Saved { params: self.params.clone(), epoch: self.epoch, current: self.current.saved() }
    }
}

impl Saved {
    pub(super) fn revive(self) -> Result<Anytime> {
        let Saved { params, epoch, current } = self;
        params.check()?;
        let current = current.revive()?;
        if *current.params() != params.epoch(epoch)? || current.rounds() >= 1 << epoch {
            let remedy = "its server does not follow from the parameters; restore another copy";
            return Err(Error::invalid("saved epoch", epoch, remedy));
        }
        Ok(Anytime { params, epoch, finished: (1 << epoch) - 1, current })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        noise::SecureNoise,
        randomize::{Bounds, FeatureRewardParams},
    };

    #[test]
    fn epochs_double_and_begin_from_nothing() {
        let randomizer = FeatureRewardParams::new(Bounds::unit(2), 10.0, 1e-6);
        for base in [
            OnlineUcbParams::new(randomizer.clone(), 1),
            OnlineUcbParams::proved(randomizer, 2, 0.0, 1.0).unwrap(),
        ] {
            let mut server = AnytimeParams::new(base).check().unwrap();
            let mut noise = SecureNoise::seeded(81);
            for round in 1_u64..=70 {
                let report = server.randomizer().report(&[0.6, 0.8], 1.0, &mut noise).unwrap();
                server.absorb(&report).unwrap();
                assert_eq!(server.rounds(), round);
                // Epoch m covers the rounds 2^m to 2^(m+1) - 1.
                assert_eq!(server.epoch(), (round + 1).ilog2());
                let params = server.current.params();
                assert_eq!(params.horizon, 1 << server.epoch());
                assert!((params.ridge - (params.horizon as f64).powf(-0.125)).abs() < 1e-15);
                let fresh = (round + 1).is_power_of_two();
                assert_eq!(server.current.rounds() == 0, fresh, "round {round}");
                assert_eq!(Anytime::load(&server.save()).unwrap().save(), server.save());
            }
            let mut saved = server.saved();
            saved.epoch += 1;
            assert!(saved.revive().is_err());
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let base = OnlineUcbParams::new(FeatureRewardParams::new(Bounds::unit(2), 10.0, 1e-6), 1);
        assert!(AnytimeParams { power: -1.0, ..AnytimeParams::new(base.clone()) }.check().is_err());
        let mut server = AnytimeParams::new(base).check().unwrap();
        let before = server.save();
        assert!(server.absorb(&[f64::NAN, 0.0, 0.0]).is_err());
        assert_eq!(server.save(), before);
    }
}
