//! The noise of an audit: seeded, so that a verdict can be repeated, or the secure noise of a deployment.

use reticent::{
    Result,
    noise::{DiscreteGaussian, DiscreteLaplace, Noise, SecureNoise},
};

use crate::FastNoise;

/// Which noise the attacked code runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NoiseKind {
    /// Seeded and fast; the same code draws from it.
    #[default]
    Fast,
    /// Secure noise as deployed: exact laws, keyed by the operating system, different in every run.
    Secure,
}

/// A source of either kind. An audit protects nobody, whichever source it uses.
pub enum AuditNoise {
    /// Seeded.
    Fast(FastNoise),
    /// Deployed.
    Secure(Box<SecureNoise>),
}

impl AuditNoise {
    /// The source of one run.
    pub fn new(kind: NoiseKind, seed: u64) -> Result<Self> {
        Ok(match kind {
            NoiseKind::Fast => AuditNoise::Fast(FastNoise::seeded(seed)),
            NoiseKind::Secure => AuditNoise::Secure(Box::new(SecureNoise::from_system()?)),
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
            AuditNoise::Secure(noise) => noise.bits(),
        }
    }

    fn refresh(&mut self) -> Result<()> {
        match self {
            AuditNoise::Fast(noise) => noise.refresh(),
            AuditNoise::Secure(noise) => noise.refresh(),
        }
    }

    fn split(&mut self) -> Result<Self> {
        match self {
            AuditNoise::Fast(noise) => Ok(AuditNoise::Fast(noise.split()?)),
            AuditNoise::Secure(noise) => Ok(AuditNoise::Secure(Box::new(noise.split()?))),
        }
    }

    #[inline]
    fn discrete_gaussian(&mut self, law: &DiscreteGaussian) -> i64 {
        match self {
            AuditNoise::Fast(noise) => noise.discrete_gaussian(law),
            AuditNoise::Secure(noise) => noise.discrete_gaussian(law),
        }
    }

    #[inline]
    fn discrete_laplace(&mut self, law: &DiscreteLaplace) -> i64 {
        match self {
            AuditNoise::Fast(noise) => noise.discrete_laplace(law),
            AuditNoise::Secure(noise) => noise.discrete_laplace(law),
        }
    }

    #[inline]
    fn standard_normal(&mut self) -> f64 {
        match self {
            AuditNoise::Fast(noise) => noise.standard_normal(),
            AuditNoise::Secure(noise) => noise.standard_normal(),
        }
    }
}
