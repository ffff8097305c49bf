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


def priv_unit_delta(cap, inside, people, epsilon):
    """Hockey-stick divergence of two opposite truths among uniform points, summed over all counts in the two caps."""
    high, low = inside / cap, (1 - inside) / (1 - cap)
    difference = min(cap, 1 - cap)
    elsewhere = low if cap <= 0.5 else high
    total = 0.0
    points = np.arange(people)
    for others, weight in zip(points, binom.pmf(points, people - 1, low)):
        if weight < 1e-15:
            continue
        n = others + 1
        for both, chance in zip(range(n + 1), binom.pmf(np.arange(n + 1), n, 2 * difference)):
            if weight * chance < 1e-17:
                continue
            first = np.arange(both + 1)
            rest = elsewhere * (n - both)
            p = high * first + low * (both - first) + rest
            q = low * first + high * (both - first) + rest
            gain = np.maximum(p - math.exp(epsilon) * q, 0) / n
            total += weight * chance * (binom.pmf(first, both, 0.5) * gain).sum()
    return total


@pytest.mark.parametrize(
    "cap,inside,people,delta",
    [(0.2, 0.7, 5, 1e-2), (0.24378611, 0.70432249, 150, 1e-6), (0.12919796, 0.74874518, 150, 1e-5), (0.6, 0.9, 60, 1e-4)],
)
def test_a_batch_of_priv_unit_is_its_pair_and_never_too_small(account, cap, inside, people, delta):
    event = f'{{ kind = "shuffled_priv_unit", cap = {cap}, inside = {inside}, people = {people} }}'
    ours = account([event], delta=delta)["epsilon"]
    assert priv_unit_delta(cap, inside, people, ours) <= delta * (1 + 1e-6)
    assert priv_unit_delta(cap, inside, people, 0.99 * ours) > delta
    # Known-bad: one person more among whom to hide.
    assert people > 100 or priv_unit_delta(cap, inside, people + 1, ours) < 0.999 * delta
