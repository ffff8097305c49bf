//! Online convex optimisation: learners that are fed one gradient at a time.
//!
//! ```text
//! weights -> loss of one person -> gradient -> clip -> randomiser -> learner -> weights
//! ```
//!
//! Van der Hoeven, "User-Specified Local Differential Privacy in Unconstrained Adaptive Online Learning" (2019): every person picks
//! their own noise and tells nobody how much; the learner needs no tuning and no bound on the competitor.
//!
//! | file | what it is |
//! | --- | --- |
//! | `gradient` | what a person sends, dense or sparse |
//! | `potential` | Algorithm 1: one dimension, four priors |
//! | `quadrature`, `closed_form`, `signed_log` | its stable evaluation |
//! | `mirror_descent` | directions on a ball or a box, and the baselines built on them |
//! | `reduction` | Algorithm 2: a direction and a length |
//! | `coordinatewise` | Algorithm 3: every coordinate by itself |
//! | `learner` | the front: either of them or their sum, saved and resumed |
//! | `evidence` | a gradient bound that the stream breaks, found under any noise |
//! | `loss`, `linear` | losses, and linear models in one pass |
//! | [`bounds`] | what may be said of regret: numeric, corrected, as printed |

pub mod bounds;
mod closed_form;
mod coordinatewise;
mod evidence;
mod gradient;
mod learner;
mod linear;
mod loss;
mod mirror_descent;
mod potential;
mod quadrature;
mod reduction;
mod signed_log;

pub use evidence::{BoundBroken, FALSE_ALARM};
pub use gradient::{Gradient, Report};
pub use learner::{Absorbed, Method, OnlineLearner, OnlineParams, OnlinePlan};
pub use linear::{LinearModel, Step};
pub use loss::Loss;
pub use mirror_descent::Geometry;
pub use potential::{Potential, Prior, Statistics};
pub use signed_log::{LARGEST_PREDICTION, SignedLog};
