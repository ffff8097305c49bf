//! The terms of a guarantee: trust model, unit of protection, mode, provenance, and a publication's claim.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Tightness;
use crate::{
    Result,
    error::{not_negative, probability, requested_delta},
    refuse_if,
};

/// Trust model: the parties that see which data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustModel {
    /// All parties see everything: no privacy.
    None,
    /// A curator sees the data; everything later people see is protected (joint differential privacy).
    Joint,
    /// A shuffler breaks the link between people and weakly randomised reports.
    Shuffle,
    /// No trusted party: each report is randomised before it leaves the person.
    Local,
}

/// Unit of protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// One interaction: a person who comes twice is two units.
    Interaction,
    /// One person, who takes part at most this often.
    Person {
        /// The most often one person takes part.
        #[serde(with = "crate::wire::count")]
        at_most: u64,
    },
}

/// Relation between neighbouring data sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Neighbours {
    /// One unit's data are replaced by any other data.
    ReplaceOne,
}

/// Source of the constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Calibrated by the accountant: what is requested is what holds.
    #[default]
    Exact,
    /// Constants given by a person who makes a [`Claim`] for them, as a publication does; for reproduction.
    Paper,
}

/// Source of a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// Computed: the accountant priced the event of the aggregator or randomiser that the learner owns.
    #[default]
    Computed,
    /// Stated by a user about code that the accountant has not seen.
    Stated,
}

/// A guarantee that a publication or a user claims. It changes no guarantee: it is printed beside what the accountant finds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The epsilon claimed.
    pub epsilon: f64,
    /// The delta claimed.
    pub delta: f64,
    /// Publication that claims it.
    pub source: String,
}

impl Claim {
    /// A claim of (epsilon, delta), and where it stands.
    pub fn new(epsilon: f64, delta: f64, source: impl Into<String>) -> Self {
        Claim { epsilon, delta, source: source.into() }
    }

    /// Refuses numbers that claim nothing.
    pub fn check(&self) -> Result<()> {
        not_negative("claimed epsilon", self.epsilon)?;
        probability("claimed delta", self.delta)?;
        // It is printed in certificates, and may come from another party's message.
        let refused = self.source.len() > 200 || self.source.chars().any(char::is_control);
        let remedy = "expected one line of at most 200 bytes";
        refuse_if(refused, "source of the claim", self.source.len(), remedy)?;
        Ok(())
    }
}

/// Refuses a delta that is not accepted. Noise that is given with a claim is priced at whatever delta the claim is made for.
pub(crate) fn check_delta(delta: f64, noise_is_given: bool, claim: Option<&Claim>) -> Result<()> {
    claim.map_or(Ok(()), Claim::check)?;
    match noise_is_given && claim.is_some() {
        true => probability("delta", delta).map(drop),
        false => requested_delta(delta).map(drop),
    }
}

/// A [`Claim`] beside what the accountant finds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedClaim {
    /// The epsilon claimed.
    pub epsilon: f64,
    /// The delta claimed.
    pub delta: f64,
    /// Publication that claims it.
    pub source: String,
    /// The delta that the accountant finds at the claimed epsilon.
    pub true_delta: f64,
    /// True if that delta is attained, or only an upper bound.
    pub tightness: Tightness,
}

impl CheckedClaim {
    /// Returns whether the accountant proves the claim for the mechanism as implemented.
    pub fn holds(&self) -> bool {
        self.true_delta <= self.delta
    }

    fn verdict(&self) -> &'static str {
        match (self.holds(), self.tightness) {
            (true, _) => "the claim is true",
            (false, Tightness::Exact) => "the claim is FALSE",
            (false, Tightness::UpperBound) => "the claim is NOT PROVEN",
        }
    }
}

impl fmt::Display for TrustModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrustModel::None => "non-private",
            TrustModel::Joint => "central (trusted curator)",
            TrustModel::Shuffle => "shuffle (trusted shuffler)",
            TrustModel::Local => "local",
        })
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Provenance::Computed => "computed by the accountant",
            Provenance::Stated => "stated, not checked",
        })
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Interaction => f.write_str("one interaction"),
            Unit::Person { at_most: 1 } => f.write_str("one person, who takes part once"),
            Unit::Person { at_most } => {
                write!(f, "one person, who takes part at most {at_most} times")
            }
        }
    }
}

impl fmt::Display for CheckedClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "({}, {:e}) by {}; the accountant's delta there is {}: {}",
            self.epsilon,
            self.delta,
            self.source,
            if self.true_delta < 1e-99 {
                "below 1e-99".into()
            } else {
                format!("{:.3e}", self.true_delta)
            },
            self.verdict()
        )
    }
}
