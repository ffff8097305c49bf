"""Good decisions from people's data without learning the people's data.

    JointBandit                         a contextual bandit with a trusted curator
    LocalPlan -> Person, Server         the same with nobody trusted: two halves with messages between them
    ShufflePlan -> Person, Shuffler, ShuffleServer      the same behind a shuffler
    LinUCB                              the same without privacy, to compare with
    SafePlan -> Agent, Coordinator      many agents inside a set of safe responses
    OnlineLearner, LinearModel, Randomizer              learning from gradients that everybody protects as they like
    ConvexBandit                        slates, routes, assignments
    reticent.privacy                    events, accountant, calculator, noise
    reticent.lab                        experiments, papers, sweeps on a cluster

Learners `decide` and `observe`; a ticket joins the two, so rewards may come late, in any order, or never. Every learner has a
`guarantee` that an accountant computed. Errors are `ReticentError`, and change nothing.
"""

import os as _os

from . import _core, lab, privacy
from ._core import (
    Agent,
    Arms,
    Batch,
    ConvexBandit,
    Coordinator,
    Decision,
    Guarantee,
    JointBandit,
    LinearModel,
    LinUCB,
    LocalPlan,
    Model,
    Observation,
    OnlineLearner,
    Person,
    PlayDecision,
    Randomizer,
    Report,
    ReticentError,
    SafeDecision,
    SafePlan,
    SafeReport,
    Server,
    ShufflePlan,
    Shuffler,
    ShuffleServer,
    __version__,
)

__all__ = [
    "Agent",
    "Arms",
    "Batch",
    "ConvexBandit",
    "Coordinator",
    "Decision",
    "Guarantee",
    "JointBandit",
    "LinUCB",
    "LinearModel",
    "LocalPlan",
    "Model",
    "Observation",
    "OnlineLearner",
    "Person",
    "PlayDecision",
    "Randomizer",
    "Report",
    "ReticentError",
    "SafeDecision",
    "SafePlan",
    "SafeReport",
    "Server",
    "ShufflePlan",
    "ShuffleServer",
    "Shuffler",
    "lab",
    "privacy",
]

# The process number finds forks by itself; this also finds a child that was given a dead ancestor's number.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_core._forked)
