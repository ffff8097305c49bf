"""Whole numbers that are negative or too large: a ValueError that names the argument, its value and a remedy, wherever one is taken."""

import pathlib
import re

import numpy
import pytest

import reticent
from reticent import _core, lab, privacy

ARMS = numpy.eye(3)
JOINT = dict(dimension=3, epsilon=1.0, delta=1e-6, horizon=400)
LOCAL = dict(dimension=3, epsilon=1.0, delta=1e-6)
SAFE = dict(dimension=2, parameter_bound=1.0, action_bound=4.0, response_noise=0.01, privacy=None)


def joint(**more):
    return reticent.JointBandit(**{**JOINT, **more})


def local(**more):
    return reticent.LocalPlan(**{**LOCAL, **more})


def shuffle(**more):
    return reticent.ShufflePlan(**{**LOCAL, "batch": 50, **more})


def convex(**more):
    return reticent.ConvexBandit(**{"set": {"kind": "simplex", "outcomes": 3}, "lipschitz": 1.0, "horizon": 64, **more})


def safe(agent=SAFE, **more):
    return reticent.SafePlan([[1, 1], [-1, 0], [0, -1]], [3, 1, 1], [1.0, 1.0], [agent, agent], **more)


def person():
    plan = local()
    return plan.person(), plan.server().publish()


ONLINE = dict(dimension=3, epsilon=1.0, delta=1e-6, horizon=9)

CALLS = [
    *[(name, lambda n, name=name: joint(**{name: n})) for name in ("dimension", "horizon", "contributions_per_person", "restart_every", "blocks", "shared")],
    *[(name, lambda n, name=name: reticent.LinUCB(**{"dimension": 3, name: n})) for name in ("dimension", "restart_every", "seed", "blocks", "shared")],
    *[(name, lambda n, name=name: local(**{name: n})) for name in ("dimension", "contributions_per_person", "late_models", "restart_every", "blocks", "shared")],
    *[(name, lambda n, name=name: shuffle(**{name: n})) for name in ("dimension", "batch", "horizon", "honest", "contributions_per_person")],
    *[(name, lambda n, name=name: convex(**{name: n})) for name in ("horizon", "contributions_per_person", "batch")],
    ("exploration", lambda n: safe(exploration=n)),
    ("dimension", lambda n: safe({**SAFE, "dimension": n})),
    ("seed", lambda n: reticent.JointBandit.simulated(n, **JOINT)),
    ("now", lambda n: joint().decide(ARMS, now=n)),
    ("time", lambda n: joint().close_before(n)),
    ("people", lambda n: joint().decide_many(ARMS, people=n)),
    ("people", lambda n: reticent.LinUCB(3).decide_many(ARMS, people=n)),
    ("releases_made", lambda n: reticent.JointBandit.load(joint().save(), n)),
    ("charged_before", lambda n: reticent.JointBandit.load(joint().save(), 1, n)),
    ("randomness", lambda n: joint().policy().decide(ARMS, randomness=n)),
    ("people", lambda n: local().outlook(n)),
    ("people", lambda n: shuffle().outlook(n)),
    ("level", lambda n: local().person(n)),
    ("level", lambda n: local().guarantee(n)),
    ("seed", lambda n: local().simulated_person(n)),
    ("seed", lambda n: shuffle().simulated_shuffler(n)),
    ("block", lambda n: person()[0].report(person()[1], [0.1, 0.2, 0.3], 0.5, block=n)),
    ("block", lambda n: local().server().expected_reward([0.1, 0.2, 0.3], block=n)),
    ("batches_made", lambda n: reticent.Shuffler.load(shuffle().shuffler().save(), n)),
    ("ticket", lambda n: convex().observe(n, 0.5)),
    ("ticket", lambda n: convex().dismiss(n)),
    ("releases_made", lambda n: reticent.ConvexBandit.load(convex().save(), n, 0)),
    ("decisions_made", lambda n: reticent.ConvexBandit.load(convex().save(), 0, n)),
    ("responses", lambda n: safe().guarantee(n)),
    ("index", lambda n: safe().agent(n)),
    ("agent", lambda n: safe().coordinator().estimate(n)),
    ("ticket", lambda n: safe().coordinator().dismiss(n)),
    ("ticket", lambda n: safe().agent(0).report(n, 0.1)),
    ("answers_given", lambda n: reticent.Agent.load(safe().agent(0).save(), n)),
    ("decisions_made", lambda n: reticent.Coordinator.load(safe().coordinator().save(), n)),
    *[(name, lambda n, name=name: reticent.OnlineUCB(**{**ONLINE, name: n})) for name in ("dimension", "horizon")],
    *[(name, lambda n, name=name: reticent.Combiner(**{**ONLINE, name: n})) for name in ("dimension", "horizon")],
    *[(name, lambda n, name=name: reticent.OnlineLinUCB(**{"dimension": 3, "horizon": 9, name: n})) for name in ("dimension", "horizon")],
    ("dimension", lambda n: reticent.Anytime(n, 1.0, 1e-6)),
    ("dimension", lambda n: reticent.FeatureReward(n, 1.0, 1e-6)),
    ("seed", lambda n: reticent.FeatureReward(3, 1.0, 1e-6).simulated(n)),
    ("base", lambda n: reticent.Combiner(**ONLINE).absorb(n, reticent.FeatureReward(3, 1.0, 1e-6).report([0.1, 0.2, 0.3], 0.5))),
    ("dimension", lambda n: reticent.OnlineLearner(n, 1.0)),
    ("dimension", lambda n: reticent.LinearModel(n, 1.0, "logistic")),
    ("dimension", lambda n: reticent.Randomizer.k_norm(n, 1.0, 1.0)),
    ("dimension", lambda n: reticent.Randomizer.l1(n, 1.0, 1.0)),
    ("reports", lambda n: reticent.Randomizer.l1(2, 1.0, 1.0).guarantee(reports=n)),
    ("sensitivity", lambda n: privacy.Event.discrete_gaussian(n, 2.0)),
    ("sensitivity", lambda n: privacy.Event.discrete_laplace(n, 2.0)),
    ("categories", lambda n: privacy.Event.randomized_response(n, 1.0)),
    ("people", lambda n: privacy.Event.shuffled(1.0, n)),
    ("times", lambda n: privacy.Event.pure(1.0) * n),
    ("times", lambda n: privacy.Accountant().spend(privacy.Event.pure(1.0), n)),
    ("compose", lambda n: privacy.sigma(1.0, 1e-6, compose=n)),
    ("compose", lambda n: privacy.delta(1.0, 1.0, compose=n)),
    ("compose", lambda n: privacy.epsilon(1.0, 1e-6, compose=n)),
    ("n", lambda n: privacy.shuffle_epsilon(1.0, n, 1e-6)),
    ("sigma", lambda n: privacy.discrete_gaussian(n)),
    ("size", lambda n: privacy.discrete_gaussian(3, size=n)),
    ("numerator", lambda n: privacy.discrete_laplace(n)),
    ("denominator", lambda n: privacy.discrete_laplace(3, n)),
    ("dimension", lambda n: lab.Environment.gap(n, 25)),
    ("arms", lambda n: lab.Environment.gap(5, n)),
    ("seed", lambda n: lab.Environment.gap(5, 25, seed=n)),
    ("seed", lambda n: lab.Environment.sphere(n)),
    ("arm", lambda n: lab.Environment.gap(5, 25).reward(n)),
    ("seed", lambda n: lab.trial_seeds(n, 0, "it")),
    ("trial", lambda n: lab.trial_seeds(0, n, "it")),
    ("seed", lambda n: lab.SimulationNoise(n)),
    *[(name, lambda n, name=name: reticent.Person.from_protocol(b"{}", "home", in_memory=True, **{name: n})) for name in ("level", "most_reports", "shortest_period")],
    *[(name, lambda n, name=name: reticent.Person.from_sealing(b"{}", b"{}", b"{}", "home", in_memory=True, **{name: n})) for name in ("most_reports", "shortest_period")],
    ("number", lambda n: reticent.EpisodesBandit([[1.0, 0.0], [0.0, 1.0]], 1.0, 1e-6).observe(n, 1.0)),
    ("ones", lambda n: reticent.EpisodesBandit([[1.0, 0.0], [0.0, 1.0]], 1.0, 1e-6, trust="shuffle").absorb(n)),
    ("rounds", lambda n: _core.play_trial(lab.Environment.gap(5, 25), reticent.LinUCB(5), n)),
    ("shard", lambda n: _core.run("", "", shard=(n, 2))),
]


@pytest.mark.parametrize(("field", "call"), CALLS, ids=[f"{at}-{field}" for at, (field, _) in enumerate(CALLS)])
def test_numbers_out_of_range_name_their_argument(field, call):
    for number in (-1, 2**64):
        with pytest.raises(reticent.ReticentError, match=rf"^{field}: got {number}; expected a whole number from 0"):
            call(number)
    with pytest.raises((TypeError, ValueError), match=f"{field}: got (half|.*half.*); expected"):
        call("half")


def test_every_argument_that_is_a_whole_number_is_in_the_list():
    """The names of arguments that the stubs annotate as `int` are those above."""
    stub = pathlib.Path(reticent.__file__).with_name("_core.pyi").read_text()
    # `_copy` is for pickles; `window` is a choice, as in a file.
    internal = {"decisions", "window"}
    assert set(re.findall(r"\b(\w+): int\b", stub)) - internal == {field for field, _ in CALLS} - {"shard"}


def test_a_window_out_of_range_is_named():
    for number in (-1, 2**64):
        with pytest.raises(reticent.ReticentError, match=f"^window: got {number}; "):
            joint(window=number)
