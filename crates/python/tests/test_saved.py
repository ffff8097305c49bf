"""What Python saves begins with its kind and version: golden files are read and written again, and foreign ones are refused by name."""

import json
import pathlib

import numpy
import pytest

import reticent

WIRE = pathlib.Path(__file__).parents[3] / "vectors" / "wire"

# The class, how its bytes are read, and the golden file.
STATES = {
    "python_linucb": reticent.LinUCB.load,
    "python_joint": lambda state: reticent.JointBandit.load(state, releases_made=1),
    "python_convex": lambda state: reticent.ConvexBandit.load(state, releases_made=0, decisions_made=1),
}


def golden(kind):
    return (WIRE / f"{kind}.1.secure.bin").read_bytes()


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
            with pytest.raises(reticent.ReticentError, match=rf"it holds a .{other} 1., not a .{kind} 1..: load it with the type that saved it"):
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
        (text.replace('"features"', '"arms"', 1), 'kind is "arms": give a message of kind "features"'),
        (text.replace('"version":1', '"version":2', 1), "version is 2: this library reads version 1"),
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
    with pytest.raises(reticent.ReticentError, match='kind is "release"'):
        reticent.Policy(bandit.release())
