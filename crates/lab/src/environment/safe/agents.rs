//! Agents and their responses.
//!
//! Setups 1 to 3 of paper 3, Appendix E: the simplex with c = (1, 1/4, 1/2), `f = 0.8 y_k + 0.1 (the others)` so that the best point is the
//! corner of agent k, `theta_k = (0, 0, 1/2)` and `-(1, 1, 1)/13` for the others, S = 1/2, K = 2, R = 0.001.

use reticent::{
    error::message,
    geometry::Polytope,
    safe::{Objective, Simplex},
    schema::{NotNegative, Positive},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{feeder::Feeder, polytope::SafeSetToml};
use crate::{Error, Result};

/// Keys of `kind = "agents"`: a setup of the paper, a feeder, or everything by hand.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentsToml {
    /// Setup 1, 2 or 3 of paper 3, Appendix E.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3))]
    pub setup: Option<u8>,
    /// A low-voltage feeder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feeder: Option<Feeder>,
    /// Y.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safe_set: Option<SafeSetToml>,
    /// f.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
    /// theta_m, one per agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<Vec<f64>>>,
    /// S.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Positive>")]
    pub parameter_bound: Option<f64>,
    /// K.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Positive>")]
    pub action_bound: Option<f64>,
    /// R: the deviation of a response around its mean; Gaussian.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<NotNegative>")]
    pub response_noise: Option<f64>,
}

/// Agents whose parameters the simulation knows.
#[derive(Debug, Clone, PartialEq)]
pub struct SafeEnvironment {
    /// Y.
    pub polytope: Polytope,
    /// f.
    pub objective: Objective,
    /// theta_m.
    pub parameters: Vec<Vec<f64>>,
    /// S.
    pub parameter_bound: f64,
    /// K.
    pub action_bound: f64,
    /// R.
    pub response_noise: f64,
    /// The feeder the agents live on, whose instruments are read in every round.
    pub feeder: Option<Feeder>,
}

impl AgentsToml {
    /// Setup 1, 2 or 3 of the paper.
    pub fn setup(number: u8) -> Self {
        AgentsToml { setup: Some(number), ..AgentsToml::default() }
    }

    /// The environment, or what stands in its way.
    pub fn environment(&self) -> Result<SafeEnvironment> {
        let by_hand = self.safe_set.is_some()
            || self.objective.is_some()
            || self.parameters.is_some()
            || self.parameter_bound.is_some()
            || self.action_bound.is_some()
            || self.response_noise.is_some();
        let environment = match (self.setup, &self.feeder, by_hand) {
            (Some(number), None, false) => published(number)?,
            (None, Some(feeder), false) => feeder.environment()?,
            (None, None, true) => self.by_hand()?,
            _ => {
                let remedy = "expected exactly one of: setup, feeder, or safe_set with objective, parameters, parameter_bound, action_bound and response_noise";
                return Err(reticent::Error::invalid("environment", "agents", remedy).into());
            }
        };
        environment.check()?;
        Ok(environment)
    }

    fn by_hand(&self) -> Result<SafeEnvironment> {
        let missing = |field: &str| Error::Experiment {
            reason: message(
                format!("environment.{field}"),
                "missing",
                "add it, or a setup, or a feeder",
            ),
        };
        Ok(SafeEnvironment {
            polytope: self.safe_set.as_ref().ok_or_else(|| missing("safe_set"))?.polytope()?,
            objective: self.objective.clone().ok_or_else(|| missing("objective"))?,
            parameters: self.parameters.clone().ok_or_else(|| missing("parameters"))?,
            parameter_bound: self.parameter_bound.ok_or_else(|| missing("parameter_bound"))?,
            action_bound: self.action_bound.ok_or_else(|| missing("action_bound"))?,
            response_noise: self.response_noise.ok_or_else(|| missing("response_noise"))?,
            feeder: None,
        })
    }
}

impl SafeEnvironment {
    /// Refuses true parameters that break the algorithms' assumptions: they would make every guarantee of safety void.
    fn check(&self) -> Result<()> {
        let agents = self.polytope.dimension();
        self.objective.check(agents)?;
        if self.parameters.len() != agents {
            let found = self.parameters.len();
            return Err(reticent::Error::Dimension {
                field: "parameters",
                expected: agents,
                found,
            }
            .into());
        }
        for theta in &self.parameters {
            let norm = reticent::special::euclidean_norm(theta);
            if theta.is_empty() || !norm.is_finite() || norm > self.parameter_bound * (1.0 + 1e-12)
            {
                let remedy = format!("expected at most parameter_bound = {}", self.parameter_bound);
                return Err(reticent::Error::invalid("norm of a parameter", norm, remedy).into());
            }
        }
        Ok(())
    }

    /// The true mean responses to actions.
    pub fn means(&self, actions: &[Vec<f64>]) -> Vec<f64> {
        let mean =
            |(x, theta): (&Vec<f64>, &Vec<f64>)| x.iter().zip(theta).map(|(x, t)| x * t).sum();
        actions.iter().zip(&self.parameters).map(mean).collect()
    }
}

fn published(number: u8) -> Result<SafeEnvironment> {
    let remedy = "paper 3 has setups 1, 2 and 3";
    reticent::refuse_if(!(1..=3).contains(&number), "setup", number, remedy)?;
    let corner = usize::from(number - 1);
    let mut weights = vec![0.1; 3];
    weights[corner] = 0.8;
    let mut parameters = vec![vec![-1.0 / 13.0; 3]; 3];
    parameters[corner] = vec![0.0, 0.0, 0.5];
    Ok(SafeEnvironment {
        polytope: Simplex::new(&[1.0, 0.25, 0.5])?.polytope()?,
        objective: Objective::Linear { weights },
        parameters,
        parameter_bound: 0.5,
        action_bound: 2.0,
        response_noise: 0.001,
        feeder: None,
    })
}
