"""Every choice of every enum has the name in Python that it has in a file: `vectors/choices.json`, which the laboratory's tests write and read."""

import json
import pathlib

import numpy
import pytest

import reticent

CHOICES = json.loads((pathlib.Path(__file__).parents[3] / "vectors" / "choices.json").read_text())

MAKE = {
    "joint": lambda **parameters: reticent.JointBandit(3, 1.0, 1e-6, 400, **parameters),
    "local": lambda **parameters: reticent.LocalPlan(3, 1.0, 1e-6, **parameters),
    "shuffle": lambda **parameters: reticent.ShufflePlan(3, 1.0, 1e-6, **parameters),
    "linucb": lambda **parameters: reticent.LinUCB(3, **parameters),
    "online_ucb": lambda **parameters: reticent.OnlineUCB(3, 1.0, 1e-6, 400, **parameters),
    "anytime": lambda **parameters: reticent.Anytime(3, 1.0, 1e-6, **parameters),
    "combiner": lambda **parameters: reticent.Combiner(3, 1.0, 1e-6, 400, **parameters),
    "online_linucb": lambda **parameters: reticent.OnlineLinUCB(3, 400, **parameters),
    "online_learner": lambda **parameters: reticent.OnlineLearner(3, 1.0, **parameters),
}


def needs_features(value):
    """True for the one rule that needs to know which coordinates are crosses."""
    return value == "two_level" or (isinstance(value, dict) and "two_level" in value)


def needs_fixed_actions(value):
    """True for the one rule that is for actions which are the same for all people."""
    return value == "episodes" or (isinstance(value, dict) and "episodes" in value)


@pytest.mark.parametrize("choices", CHOICES, ids=lambda choices: f"{choices['kind']}-{choices['key']}")
def test_every_choice_of_a_file_is_one_in_python(choices):
    make = MAKE[choices["kind"]]
    for value in choices["values"]:
        if needs_features(value):
            with pytest.raises(reticent.ReticentError, match="expected a table of features|expected tuned or thompson"):
                make(**choices["beside"], **{choices["key"]: value})
            continue
        if needs_fixed_actions(value):
            with pytest.raises(reticent.ReticentError, match="may depend on the person"):
                make(**choices["beside"], **{choices["key"]: value})
            continue
        make(**choices["beside"], **{choices["key"]: value})
    # Anything but a choice is refused, and the error says which there are.
    with pytest.raises((reticent.ReticentError, TypeError), match=choices["key"]):
        make(**choices["beside"], **{choices["key"]: "oak"})


def test_an_intercept_is_a_number_or_false():
    bounds = dict(dimension=3, epsilon=1.0, delta=1e-6, horizon=400)
    plain = reticent.JointBandit(**bounds).guarantee
    assert reticent.JointBandit(**bounds, intercept=False).guarantee.conditions == plain.conditions
    # Numbers of numpy are numbers.
    for number in (numpy.float32(0.5), numpy.float64(0.5), 0.5):
        reticent.JointBandit(**bounds, intercept=number)
    with pytest.raises(reticent.ReticentError, match="intercept: got true; .*the last feature that all arms share, as a number, or false"):
        reticent.JointBandit(**bounds, intercept=True)
    with pytest.raises(reticent.ReticentError, match="intercept: got 1; expected a number other than 0"):
        reticent.LinUCB(3, intercept=1)


def test_the_batch_of_a_shuffler_suits_the_horizon_by_default():
    suited = reticent.ShufflePlan(4, 1.0, 1e-5, horizon=600, aggregation="sum")
    given = reticent.ShufflePlan(4, 1.0, 1e-5, batch=37, aggregation="sum")
    assert suited.guarantee.conditions == given.guarantee.conditions and any("37" in condition for condition in given.guarantee.conditions)
    with pytest.raises(reticent.ReticentError, match="batch: missing; .*`horizon`"):
        reticent.ShufflePlan(4, 1.0, 1e-5)
    with pytest.raises(reticent.ReticentError, match="batch: got 601; no batch would ever be full"):
        reticent.ShufflePlan(4, 1.0, 1e-5, batch=601, horizon=600)


def test_a_regularizer_without_effect_is_refused():
    reticent.LinUCB(3, rule="certified", regularizer=2.0)
    for rule in ("tuned", "thompson", "fixed", None):
        with pytest.raises(reticent.ReticentError, match="regularizer: got 2; .*leave it out"):
            reticent.LinUCB(3, rule=rule, regularizer=2.0)


def test_messages_about_values_speak_of_no_file_and_of_no_rust():
    refused = [
        lambda: reticent.JointBandit(3, 1.0, 1e-6, 400, rule={"tuned": {"rigde": 3.0}}),
        lambda: reticent.JointBandit(3, 1.0, 1e-6, 400, mechanism="oak"),
        lambda: reticent.JointBandit(3, 1.0, 1e-6, forget=100.0, schedule="capped_geometric"),
        lambda: reticent.JointBandit(3, 1.0, 1e-6, 400).tick(),
        lambda: reticent.OnlineLearner(3, 1.0, method="gradient_descent"),
        lambda: reticent.OnlineLearner(3, 1.0, method={"sum": {"step": float("nan")}}),
        lambda: reticent.Randomizer.laplace([1.0, float("inf")], 1.0).guarantee(),
        lambda: reticent.Model(b"{}"),
        lambda: reticent.OnlineUCB(3, 1.0, 1e-6, 400, learner={"maler": {}}),
        stale,
    ]
    for call in refused:
        with pytest.raises(reticent.ReticentError) as error:
            call()
        text = str(error.value)
        assert not any(word in text for word in ("line 1", "column", "::", "resume_charged", "attribute_event", "`to_json`", "unit")), text


def stale():
    bandit = reticent.JointBandit(3, 1.0, 1e-6, 400)
    reticent.JointBandit.load(bandit.save(), releases_made=5)
