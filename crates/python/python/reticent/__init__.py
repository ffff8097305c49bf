"""Good decisions from people's data without learning the people's data.

    JointBandit                         a contextual bandit with a trusted curator; JointBandit.open keeps it in files
    EpisodesBandit -> Episode           one for actions that are fixed, public and the same for all people
    LocalPlan -> Person, Server         the same without a trusted party: devices and a server with messages between them
    Person.from_protocol -> Device, Choice              a device of a loop of the service, from one public message
    Person.from_sealing -> SealedDevice                 the same in a loop with a shuffler: reports leave it sealed
    ShufflePlan -> Person, Shuffler, ShuffleServer      the same behind a shuffler
    Features                            one public rule from records to vectors of norm at most 1
    LinUCB                              the same without privacy, to compare with
    OnlineUCB, Anytime, Combiner, FeatureReward         local trust, with an online learner at the server; the device's part
    OnlineLinUCB                        its confidence set without privacy
    SafePlan -> Agent, Coordinator      many agents inside a set of safe responses
    OnlineLearner, LinearModel, Randomizer              learning from gradients that people protect at their own levels
    ConvexBandit, LocalValue            slates, routes, assignments; the device's part under local trust
    Client                              a client of the service: rank, reward, activate, and devices
    reticent.privacy                    events, accountant, calculator, noise
    reticent.lab                        experiments, papers, sweeps on a cluster

Learners `decide` and `observe`; a ticket joins the two. Rewards may come late and in any order, but a missing reward is data too: report 0 for
a person who did nothing, or give a `window` after which the default reward counts. Every learner has a `guarantee` that an accountant
computed. Errors are `ReticentError`, and change nothing.
"""

import os as _os

from . import _core, client, lab, privacy
from ._core import (
    Agent,
    Anytime,
    Arms,
    Batch,
    Choice,
    Combiner,
    ConvexBandit,
    Coordinator,
    Decision,
    Device,
    Episode,
    EpisodesBandit,
    FeatureReward,
    FeatureRewardReport,
    Features,
    Guarantee,
    HorizonExceeded,
    JointBandit,
    LinearModel,
    LinUCB,
    LocalPlan,
    LocalValue,
    Model,
    Observation,
    OnlineLearner,
    OnlineLinUCB,
    OnlineUCB,
    Outlook,
    Person,
    PlayDecision,
    Policy,
    Randomizer,
    Report,
    ReticentError,
    SafeDecision,
    SafePlan,
    SafeReport,
    SealedDevice,
    Server,
    ShufflePlan,
    Shuffler,
    ShuffleServer,
    StaleState,
    ValueReport,
    __version__,
)
from .client import Client, ServiceError, UnreachableError

__all__ = [
    "Agent",
    "Anytime",
    "Arms",
    "Batch",
    "Choice",
    "Client",
    "Combiner",
    "ConvexBandit",
    "Coordinator",
    "Decision",
    "Device",
    "Episode",
    "EpisodesBandit",
    "FeatureReward",
    "FeatureRewardReport",
    "Features",
    "Guarantee",
    "HorizonExceeded",
    "JointBandit",
    "LinUCB",
    "LinearModel",
    "LocalPlan",
    "LocalValue",
    "Model",
    "Observation",
    "OnlineLearner",
    "OnlineLinUCB",
    "OnlineUCB",
    "Outlook",
    "Person",
    "PlayDecision",
    "Policy",
    "Randomizer",
    "Report",
    "ReticentError",
    "SafeDecision",
    "SafePlan",
    "SafeReport",
    "SealedDevice",
    "Server",
    "ServiceError",
    "ShufflePlan",
    "ShuffleServer",
    "Shuffler",
    "StaleState",
    "UnreachableError",
    "ValueReport",
    "client",
    "lab",
    "privacy",
]

# The process id detects forks already; this also lets the parent count them, and detects a child that has the id of a dead ancestor.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(before=_core._forking, after_in_child=_core._forked)
