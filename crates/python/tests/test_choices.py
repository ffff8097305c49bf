"""Every choice of every enum has the name in Python that it has in a file: `vectors/choices.json`, which the laboratory's tests write and read."""

import json
import pathlib

import pytest

import reticent

CHOICES = json.loads((pathlib.Path(__file__).parents[3] / "vectors" / "choices.json").read_text())

MAKE = {
    "joint": lambda **parameters: reticent.JointBandit(3, 1.0, 1e-6, 400, **parameters),
    "local": lambda **parameters: reticent.LocalPlan(3, 1.0, 1e-6, **parameters),
    "shuffle": lambda **parameters: reticent.ShufflePlan(3, 1.0, 1e-6, **parameters),
    "linucb": lambda **parameters: reticent.LinUCB(3, **parameters),
}


@pytest.mark.parametrize("choices", CHOICES, ids=lambda choices: f"{choices['kind']}-{choices['key']}")
def test_every_choice_of_a_file_is_one_in_python(choices):
    make = MAKE[choices["kind"]]
    for value in choices["values"]:
        make(**choices["beside"], **{choices["key"]: value})
    # What is no choice is refused, and the error says which there are.
    with pytest.raises((reticent.ReticentError, TypeError), match=choices["key"]):
        make(**choices["beside"], **{choices["key"]: "oak"})
