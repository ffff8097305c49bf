//! Safe and private: decisions for many agents whose mean responses must stay in a polytope from the first round on.
//!
//! Paper 3 (Zibaie, Hutchinson, Pedarsani and Alizadeh, The safety-privacy tradeoff in linear bandits), and beyond it. Agent m answers an
//! action x_m with a response of mean `<theta_m, x_m>`, and tells the coordinator only a randomised version of it. The coordinator
//! wants f of the mean responses large and must keep them in `Y = {y : A y <= b}` (a [`Polytope`](crate::geometry::Polytope)) in every round.
//!
//! | file | contents |
//! | --- | --- |
//! | `objective` | f, a sum of linear or concave parts |
//! | `sharpness`, `projection` | how much of Y uncertainty takes away |
//! | `simplex` | the paper's simplex, for which both have closed forms |
//! | `agent` | the agent's part: a randomiser, a count of answers, reports |
//! | `estimate` | the coordinator's knowledge of one agent, and the confidence widths |
//! | `reach`, `trust_region` | what an action can be, as estimate and uncertainty |
//! | `optimum`, `columns` | the exact optimistic choice, with a certificate |
//! | `directional` | ROFUL's choice |
//! | `exploration` | actions that are safe whatever the parameters are |
//! | `coordinator` | the coordinator's part |
//! | `certificate` | what may be promised of safety, and what stands against it |
//! | `monitor` | true safety, in a simulation |

mod agent;
mod certificate;
mod columns;
mod coordinator;
mod directional;
mod estimate;
mod exploration;
mod monitor;
mod objective;
mod optimum;
mod projection;
mod reach;
mod sharpness;
mod simplex;
mod trust_region;

pub use agent::{Agent, AgentParams, AgentPlan, AgentReport, ResponsePrivacy};
pub use certificate::SafetyCertificate;
pub use coordinator::{
    Coordinator, CoordinatorParams, CoordinatorPlan, Decision, Rule, Safety, Ticket,
};
pub use directional::Target;
pub use estimate::{Confidence, dimension_logarithm};
pub use monitor::Monitor;
pub use objective::Objective;
pub use simplex::Simplex;

use estimate::Estimate;
