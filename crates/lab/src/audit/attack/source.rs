//! The noise of an audit: seeded, so that a verdict can be repeated, or the secure noise of a deployment.
//!
//! Seeded noise draws its own, faster forms of the laws, so that an attack on it says nothing about the samplers of a deployment. Those are
//! attacked on secure noise by `audit::zoo` and compared with their laws by `audit::samplers`.

use reticent::{
    Result,
    noise::{DiscreteGaussian, DiscreteLaplace, Noise, SecureNoise},
};

use crate::FastNoise;

/// Noise that the attacked code runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NoiseKind {
    /// Seeded and fast; the same code draws from it.
    #[default]
    Fast,
    /// Secure noise as deployed: exact laws, keyed by the operating system, different in every run.
    Secure,
    /// Secure noise whose draws are halved: a planted mistake, for the audit's own test of its power.
    Halved,
}

/// A source of either kind. An audit protects no person, whichever source it uses.
pub enum AuditNoise {
    /// Seeded.
    Fast(FastNoise),
    /// Deployed.
    Secure(Box<SecureNoise>),
    /// Deployed, with a planted mistake.
    Halved(Box<SecureNoise>),
}

impl AuditNoise {
    /// The source of one run.
    pub fn new(kind: NoiseKind, seed: u64) -> Result<Self> {
        Ok(match kind {
            NoiseKind::Fast => AuditNoise::Fast(FastNoise::seeded(seed)),
            NoiseKind::Secure => AuditNoise::Secure(Box::new(SecureNoise::from_system()?)),
            NoiseKind::Halved => AuditNoise::Halved(Box::new(SecureNoise::from_system()?)),
        })
    }
}

impl Noise for AuditNoise {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "audit";

    #[inline]
    fn bits(&mut self) -> u64 {
        match self {
            AuditNoise::Fast(noise) => noise.bits(),
            AuditNoise::Secure(noise) | AuditNoise::Halved(noise) => noise.bits(),
        }
    }

    fn refresh(&mut self) -> Result<()> {
        match self {
            AuditNoise::Fast(noise) => noise.refresh(),
            AuditNoise::Secure(noise) | AuditNoise::Halved(noise) => noise.refresh(),
        }
    }

    /// As the source does it in a deployment: secure noise takes a new key before every release.
    fn rekey(&mut self) -> Result<()> {
        match self {
            AuditNoise::Fast(noise) => noise.rekey(),
            AuditNoise::Secure(noise) | AuditNoise::Halved(noise) => noise.rekey(),
        }
    }

    fn split(&mut self) -> Result<Self> {
        match self {
            AuditNoise::Fast(noise) => Ok(AuditNoise::Fast(noise.split()?)),
            AuditNoise::Secure(noise) => Ok(AuditNoise::Secure(Box::new(noise.split()?))),
            AuditNoise::Halved(noise) => Ok(AuditNoise::Halved(Box::new(noise.split()?))),
        }
    }

    #[inline]
    fn discrete_gaussian(&mut self, law: &DiscreteGaussian) -> i64 {
        match self {
            AuditNoise::Fast(noise) => noise.discrete_gaussian(law),
            AuditNoise::Secure(noise) => noise.discrete_gaussian(law),
            AuditNoise::Halved(noise) => noise.discrete_gaussian(law) / 2,
        }
    }

    #[inline]
    fn discrete_laplace(&mut self, law: &DiscreteLaplace) -> i64 {
        match self {
            AuditNoise::Fast(noise) => noise.discrete_laplace(law),
            AuditNoise::Secure(noise) => noise.discrete_laplace(law),
            AuditNoise::Halved(noise) => noise.discrete_laplace(law) / 2,
        }
    }

    #[inline]
    fn standard_normal(&mut self) -> f64 {
        match self {
            AuditNoise::Fast(noise) => noise.standard_normal(),
            AuditNoise::Secure(noise) => noise.standard_normal(),
            AuditNoise::Halved(noise) => noise.standard_normal() / 2.0,
        }
    }
}
