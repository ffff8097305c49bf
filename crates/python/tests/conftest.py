"""Fixtures of the tests."""

import numpy
import pytest


@pytest.fixture
def arms():
    """Twenty-five unit arms of five features."""
    rows = numpy.random.default_rng(7).standard_normal((25, 5))
    return rows / numpy.linalg.norm(rows, axis=1, keepdims=True)


EXPERIMENT = """
name = "two bandits"
rounds = 20_000
trials = 4
seed = 7

[environment]
kind = "gap"
dimension = 3
arms = 5
gap = 0.2

[[algorithm]]
kind = "linucb"

[[algorithm]]
kind = "joint"
privacy = { epsilon = [1.0, 4.0], delta = 1e-6 }
"""


@pytest.fixture
def experiment():
    """Twelve trials in all, a few milliseconds each."""
    return EXPERIMENT


def pytest_collection_modifyitems(items):
    """Tests that fork come first: a child of a process that has had other threads may wait for them for ever."""
    items.sort(key=lambda item: item.path.name != "test_copies.py")
