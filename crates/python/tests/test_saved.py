"""Bytes that Python saves begin with their kind and version: golden files are read and written again, and foreign ones are refused by name."""

import json
import pathlib
import pickle

import numpy
import pytest

import reticent

WIRE = pathlib.Path(__file__).parents[3] / "vectors" / "wire"

# The class, how its bytes are read, and the golden file.
STATES = {
    "python_linucb": reticent.LinUCB.load,
    "python_online_linucb": reticent.OnlineLinUCB.load,
    "python_joint": lambda state: reticent.JointBandit.load(state, releases_made=1),
    "python_convex": lambda state: reticent.ConvexBandit.load(state, releases_made=0, decisions_made=1),
}


# Objects that follow from their parameters, and what their pickles call.
PICKLED = {
    "python_accountant": reticent.privacy.Accountant._load,
    "python_feature_reward": reticent.FeatureReward._load,
    "python_local_plan": reticent.LocalPlan._load,
    "python_shuffle_plan": reticent.ShufflePlan._load,
}

# The core's own states, under the core's kinds.
SERVERS = {"online_ucb": reticent.OnlineUCB.load, "anytime": reticent.Anytime.load, "combiner": reticent.Combiner.load}


def golden(kind):
    return (WIRE / f"{kind}.1.secure.bin").read_bytes()


def pickled(made):
    """The bytes in a pickle, which its class reads."""
    restore, (kind, method, (state,)) = made.__reduce__()
    assert getattr(kind, method)(state).__reduce__()[1][2] == (state,)
    return state


@pytest.mark.parametrize("kind", PICKLED)
def test_pickles_of_parameters_have_a_kind_and_a_version(kind):
    state = (WIRE / f"{kind}.1.bin").read_bytes()
    made = PICKLED[kind](state)
    assert pickled(made) == state
    again = pickle.loads(pickle.dumps(made))
    assert pickled(again) == state
    for other in (set(PICKLED) | set(SERVERS)) - {kind}:
        with pytest.raises(reticent.ReticentError, match=rf"saved state: got \d+ bytes .it holds a .{other} 1., not a .{kind} 1..; load it with the type that saved it"):
            PICKLED[kind]((WIRE / f"{other}.1.bin").read_bytes())
    for damaged in (b"", b"{}", state[:-1], state[:-9] + b"x" + state[-8:]):
        with pytest.raises(reticent.ReticentError):
            PICKLED[kind](damaged)


def test_what_is_pickled_goes_on_as_it_was():
    accountant = reticent.privacy.Accountant()
    accountant.spend(reticent.privacy.Event.gaussian(1.0, sigma=4.0), times=30)
    again = pickle.loads(pickle.dumps(accountant))
    assert again.events == accountant.events and again.epsilon(1e-6) == accountant.epsilon(1e-6)
    plan = reticent.ShufflePlan(2, 1.0, 1e-6, batch=50)
    again = pickle.loads(pickle.dumps(plan))
    assert again.guarantee.to_dict() == plan.guarantee.to_dict()
    # People of one plan and the shuffler of the other belong together.
    report = plan.person().report(again.server().publish(), [1.0, 0.0], 0.5)
    assert again.shuffler().absorb(report) is None


@pytest.mark.parametrize("kind", SERVERS)
def test_golden_servers_are_read_and_written_again(kind):
    state = (WIRE / f"{kind}.1.bin").read_bytes()
    server = SERVERS[kind](state)
    assert server.save() == state and pickle.loads(pickle.dumps(server)).save() == state
    for other in set(SERVERS) - {kind}:
        with pytest.raises(reticent.ReticentError, match=rf"saved state: got \d+ bytes .it holds a .{other} 1., not a .{kind} 1..; load it with the type that saved it"):
            SERVERS[kind]((WIRE / f"{other}.1.bin").read_bytes())


@pytest.mark.parametrize("kind", STATES)
def test_golden_states_are_read_and_written_again(kind):
    learner = STATES[kind](golden(kind))
    assert learner.save() == golden(kind)
    assert STATES[kind](learner.save()).save() == golden(kind)
    if kind != "python_convex":
        assert learner.open_decisions > 0 and len(learner.theta) == 2
        learner.decide(numpy.eye(2))
        assert learner.save() != golden(kind)


@pytest.mark.parametrize("kind", STATES)
def test_foreign_states_are_refused_by_kind_and_version(kind):
    for other in STATES:
        if other != kind:
            with pytest.raises(reticent.ReticentError, match=rf"saved state: got \d+ bytes .it holds a .{other} 1., not a .{kind} 1..; load it with the type that saved it"):
                STATES[kind](golden(other))
    state = golden(kind)
    for damaged in (b"", b"x", state[:-1], state[:40] + b"!" + state[41:], bytes(8) + state[8:]):
        with pytest.raises(reticent.ReticentError):
            STATES[kind](damaged)


def test_the_rule_of_features_is_a_message():
    text = (WIRE / "features.1.json").read_text()
    features = reticent.Features.from_json(text)
    assert features.to_json() == text and json.loads(text)["kind"] == "features"
    for foreign, words in [
        (text.replace('"features"', '"arms"', 1), 'kind: got "arms"; expected a message of kind "features"'),
        (text.replace('"version":1', '"version":2', 1), "version: got 2; this library reads version 1"),
        (text.replace('"kind":"features","version":1,', "", 1), 'in place of "kind"'),
    ]:
        with pytest.raises(reticent.ReticentError, match=words):
            reticent.Features.from_json(foreign)


def test_a_released_policy_decides_as_the_bandit_does():
    draws = numpy.random.default_rng(5)
    for rule in ("tuned", "thompson"):
        bandit = reticent.JointBandit(3, 8.0, 1e-6, 500, schedule="every_round", rule=rule)
        assert bandit.release() is None
        for _ in range(50):
            arms = draws.normal(size=(6, 3))
            policy = reticent.Policy(bytes(bandit.policy()))
            assert policy == bandit.policy() and (policy.theta == bandit.theta).all()
            ticket, arm = bandit.decide(arms)
            if rule == "tuned":
                assert policy.decide(arms) == arm
            probabilities = policy.probabilities(arms)
            assert abs(probabilities.sum() - 1.0) < 1e-12 and probabilities[arm] > 0.0
            # One word of randomness, one arm; over words, by these probabilities.
            assert policy.decide(arms, randomness=7) == policy.decide(arms, randomness=7)
            assert probabilities[policy.decide(arms)] > 0.0
            bandit.observe(ticket, 0.5)
        release = json.loads(bandit.release())
        assert (release["kind"], release["version"]) == ("release", 1)
    with pytest.raises(reticent.ReticentError, match='kind: got "release"'):
        reticent.Policy(bandit.release())
