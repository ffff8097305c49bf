//! # reticent-python
//!
//! The compiled part of the Python package `reticent`: it converts types and contains no algorithm.
//!
//! | file | contents |
//! | --- | --- |
//! | `error` | exceptions, with the core's messages |
//! | `convert`, `integers` | numpy arrays as slices; dictionaries as the core's parameters; whole numbers by the names of their arguments |
//! | `fork_guard` | detection of forks, so that a forked child never draws its parent's noise |
//! | `arms` | decision sets, built once or filled from an array |
//! | `features` | one public rule from records to arms |
//! | `guarantee`, `privacy` | guarantees; events, accountant, calculator, noise |
//! | `decision` | decisions, rewards and tickets, one by one and in batches |
//! | `outlook` | whether a plan can work |
//! | `ticketed`, `linucb`, `online_linucb`, `nonprivate` | bandits without privacy, the tickets of their decisions, and their common calls |
//! | `joint`, `joint_facts`, `joint_storage` | the bandit with a trusted curator: its calls, its guarantee and counts, its files |
//! | `episodes` | the bandit for fixed public actions |
//! | `policy` | a released policy by itself |
//! | `messages` | models, reports and batches |
//! | `local`, `shuffle` | device and report server, and the shuffler between them |
//! | `device` | a device from a loop's protocol, with its count of reports |
//! | `sealed` | a device of a loop with a shuffler: reports priced, counted and sealed |
//! | `feature_reward`, `online_ucb` | device and report server of bandits whose confidence set comes from an online learner |
//! | `simulated` | the private learners on simulation noise |
//! | `safe`, `online`, `convex` | safe coordinators, online learners, bandits over sets |
//! | `lab`, `play`, `audit` | experiments, and Python environments and policies in the same runner and the same audit |

mod arms;
mod audit;
mod convert;
mod convex;
mod decision;
mod device;
mod episodes;
mod error;
mod feature_reward;
mod features;
mod fork_guard;
mod guarantee;
mod integers;
mod joint;
mod joint_facts;
mod joint_storage;
mod lab;
mod linucb;
mod local;
mod messages;
mod nonprivate;
mod online;
mod online_linucb;
mod online_ucb;
mod outlook;
mod play;
mod policy;
mod privacy;
mod safe;
mod sealed;
mod shuffle;
mod simulated;
mod ticketed;

/// The compiled part of `reticent`; import `reticent` instead.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        arms::Arms,
        audit::audit_policies,
        convex::{ConvexBandit, LocalValue, PlayDecision, ValueReport},
        decision::{Decision, Observation},
        device::{Choice, Device},
        episodes::{Episode, EpisodesBandit},
        feature_reward::{FeatureReward, FeatureRewardReport, SimulatedDevices},
        features::Features,
        fork_guard::{_forked, _forking},
        guarantee::Guarantee,
        joint::JointBandit,
        lab::{_over_trials, certify, merge, paper_experiments, reproduce, run, to_toml},
        linucb::LinUcb,
        local::{LocalPlan, Person, Server},
        messages::{Batch, Model, Report},
        online::{LinearModel, OnlineLearner, Randomizer},
        online_linucb::OnlineLinUcb,
        online_ucb::{Anytime, Combiner, OnlineUcb},
        outlook::Outlook,
        play::{Environment, play_trial},
        policy::Policy,
        privacy::{
            Accountant, Event, delta, discrete_gaussian, discrete_laplace, epsilon,
            shuffle_epsilon, sigma,
        },
        safe::{Agent, Coordinator, SafeDecision, SafePlan, SafeReport, plan_safety},
        sealed::SealedDevice,
        shuffle::{ShufflePlan, ShuffleServer, Shuffler},
        simulated::{SimulatedBandit, SimulatedPerson, SimulatedShuffler, SimulationNoise, seeds},
    };
    use crate::{error, fork_guard};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        fork_guard::notice();
        if let Some(commit) = option_env!("RETICENT_COMMIT") {
            reticent_lab::built_from(commit);
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("ReticentError", module.py().get_type::<error::ReticentError>())?;
        module.add("HorizonExceeded", module.py().get_type::<error::HorizonExceeded>())?;
        module.add("StaleState", module.py().get_type::<error::StaleState>())
    }
}
