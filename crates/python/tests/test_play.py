"""`lab.play` and `lab.audit` with policies of a user: whom an audit attacks, what it says where nothing was tested, and errors that name field, value and remedy."""

import warnings

import numpy
import pytest
import reticent
from reticent import ReticentError, lab

STATED = reticent.privacy.Event.gaussian(sensitivity=1.0, sigma=5.0).guarantee("joint", delta=1e-6)


def environment(seed):
    return lab.Environment.sphere(dimension=3, arms=4, seed=seed)


class Indiscreet:
    """Leaks the reward of one person of the run: by later choices, or by an exception."""

    guarantee = STATED
    person, raises = 1, False

    def __init__(self, seed):
        self.remembered = 0.0

    def choose(self, arms, round):
        return int(round > self.person and self.remembered > 0.5)

    def observe(self, round, features, reward):
        if round == self.person:
            if self.raises and reward > 0.5:
                raise ValueError("too good")
            self.remembered = 0.0 if self.raises else reward


@pytest.mark.parametrize("person, raises", [(2, True), (7, False)])
def test_a_leak_about_one_person_of_twenty_is_detected(person, raises):
    # False alarms: 1e-6, by the confirmation of a violation. The laboratory's own tests attack more people, and runs of forty.
    leak = type("Leak", (Indiscreet,), {"person": person, "raises": raises})
    found = lab.audit(environment, {"leak": leak}, rounds=20, samples=1000)
    assert found.violated == ["leak"], found
    caught = [audit for audit in found.audits if audit["verdict"] == "violated"]
    assert any(audit["positions"]["worst"] == person for audit in caught)
    assert f"of 20; bound for that of round {person}" in repr(found)


def test_an_audit_that_tested_nothing_says_so():
    class Coin:
        guarantee = STATED

        def __init__(self, seed):
            self.draw = numpy.random.default_rng(seed)

        def choose(self, arms, round):
            return int(self.draw.integers(len(arms)))

        def observe(self, round, features, reward):
            pass

    found = lab.audit(environment, {"coin": Coin}, rounds=12, samples=1000)
    assert {audit["verdict"] for audit in found.audits} == {"vacuous"} and found.violated == []
    assert "choices never depended on data in this audit" in repr(found) and "consistent" not in repr(found)


def test_a_simulated_bandit_has_a_computed_guarantee():
    simulated = lambda seed: reticent.JointBandit.simulated(seed, dimension=3, epsilon=1.0, delta=1e-6, horizon=100)  # noqa: E731
    results = lab.play(environment, {"simulated": simulated}, rounds=50)
    assert results.guarantees["simulated"]["provenance"] == "computed" and "stated" not in repr(results)


class Broken:
    """An environment whose rewards are given."""

    def __init__(self, reward):
        self.value = reward

    def arms(self):
        return numpy.eye(2)

    def means(self):
        return numpy.array([0.2, 0.8])

    def reward(self, arm):
        return self.value


def test_rewards_that_are_not_finite_are_refused_and_clipped_ones_are_counted():
    learner = {"LinUCB": lambda seed: reticent.LinUCB(2)}
    for bad, shown in [(numpy.nan, "nan"), (numpy.inf, "inf"), ("much", "'much'"), (None, "None")]:
        with pytest.raises(ReticentError, match=f"reward: got .*{shown}.*; return a finite number"):
            lab.play(Broken(bad), learner, rounds=10)
    with pytest.warns(UserWarning, match="policy 'private' clipped 20 of 20 rewards"):
        lab.play(Broken(7.0), {"private": lambda seed: reticent.JointBandit(2, 1.0, 1e-6, 100)}, rounds=10, trials=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lab.play(Broken(0.5), {"private": lambda seed: reticent.JointBandit(2, 1.0, 1e-6, 100)}, rounds=10)


def test_a_policy_that_cannot_be_called_is_refused_by_name():
    class Good:
        guarantee = STATED

        def __init__(self, seed=0):
            pass

        def choose(self, arms, round):
            return 0

        def observe(self, round, features, reward):
            pass

    def but(**methods):
        return type("Policy", (Good,), methods)

    for policy, words in [
        (but(choose=lambda self, arms: 0), r"choose of policy 'x': got choose\(arms\); it is called as choose\(arms, round\); define"),
        (but(observe=lambda self, reward: None), r"observe of policy 'x': got observe\(reward\); .*observe\(round, features, reward\)"),
        (but(observe=None), "observe of policy 'x': missing; .*define observe"),
        (but(decide=lambda self: 0), r"decide of policy 'x': got decide\(\); it is called as decide\(arms\)"),
        (but(__init__=lambda self: None), "policy 'x': got .*; it is called with a seed; expected a function or a class of one argument"),
        (lambda seed: object(), "choose of policy 'x': missing; .*define choose"),
    ]:
        for called in (lambda: lab.play(environment, {"x": policy}, rounds=10), lambda: lab.audit(environment, {"x": policy}, rounds=10)):
            with pytest.raises(ReticentError, match=words):
                called()
    for policy, words in [
        (but(choose=lambda self, arms, round: None), "choice: got None; return the index of an arm"),
        (but(choose=lambda self, arms, round: -1), "choice: got -1"),
        (but(choose=lambda self, arms, round: 0.5), "choice: got 0.5"),
        (but(decide=lambda self, arms: 0, observe=lambda self, ticket, reward: None), "decision: got 0; return a ticket and the index"),
    ]:
        with pytest.raises(ReticentError, match=words):
            lab.play(environment, {"x": policy}, rounds=10)
