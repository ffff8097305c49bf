"""Shuffling against a direct sum with scipy's binomials."""

import math

import numpy as np
import pytest
from scipy.stats import binom


def clones_delta(epsilon_local, people, epsilon, clone):
    """Hockey-stick divergence of the pair of Feldman, McMillan and Talwar, summed outright."""
    a = 1 / (1 + math.exp(-epsilon_local))
    total = 0.0
    counts = np.arange(people)
    for clones, weight in zip(counts, binom.pmf(counts, people - 1, clone)):
        if weight < 1e-30:
            continue
        k = np.arange(clones + 2)
        below, here = binom.pmf(k - 1, clones, 0.5), binom.pmf(k, clones, 0.5)
        p = a * below + (1 - a) * here
        q = (1 - a) * below + a * here
        total += weight * np.maximum(p - math.exp(epsilon) * q, 0).sum()
    return total


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("epsilon_local,people,delta", [(0.5, 100, 1e-4), (1.0, 1000, 1e-6), (2.0, 1500, 1e-5)])
def test_epsilon_is_tight_for_the_pair_and_never_too_small(reticent, epsilon_local, people, delta, binary):
    arguments = ["--epsilon-local", epsilon_local, "--n", people, "--delta", delta]
    ours = reticent("privacy", "shuffle", *arguments, *(["--binary"] if binary else []))["epsilon"]
    clone = 2 / (math.exp(epsilon_local) + 1) if binary else math.exp(-epsilon_local)
    assert clones_delta(epsilon_local, people, ours, clone) <= delta * (1 + 1e-6)
    assert clones_delta(epsilon_local, people, 0.99 * ours, clone) > delta
