"""The Gaussian calculator against dp_accounting (single release) and mpmath (everything)."""

import random

import pytest
from dp_accounting.pld import common, privacy_loss_mechanism
from mpmath import erfc, exp, mp, mpf, sqrt

mp.dps = 50


def exact_delta(epsilon, mu):
    def cdf(x):
        return erfc(-x / sqrt(2)) / 2

    epsilon, mu = mpf(epsilon), mpf(mu)
    return cdf(mu / 2 - epsilon / mu) - exp(epsilon) * cdf(-mu / 2 - epsilon / mu)


CHANCE = random.Random(7)
POINTS = [
    (10 ** CHANCE.uniform(-2, 1.5), 10 ** CHANCE.uniform(-12, -1), CHANCE.choice([1, 1, 2, 30, 1000]))
    for _ in range(60)
]


def test_the_example_of_the_readme(reticent):
    sigma = reticent("privacy", "sigma", "--epsilon", 1, "--delta", 1e-5, "--sensitivity", 1)["sigma"]
    assert abs(float(exact_delta(1, 1 / mpf(sigma)) / mpf(1e-5)) - 1) < 1e-13


@pytest.mark.parametrize("epsilon,delta,times", POINTS)
def test_sigma_delta_and_epsilon_are_exact(reticent, epsilon, delta, times):
    release = ["--sensitivity", 1.5, "--compose", times]
    sigma = reticent("privacy", "sigma", "--epsilon", epsilon, "--delta", delta, *release)["sigma"]
    mu = mpf(1.5) * sqrt(times) / mpf(sigma)
    assert abs(float(exact_delta(epsilon, mu) / mpf(delta)) - 1) < 1e-10
    got = reticent("privacy", "delta", "--sigma", sigma, "--epsilon", epsilon, *release)["delta"]
    assert abs(float(mpf(got) / exact_delta(epsilon, mu)) - 1) < 1e-10
    got = reticent("privacy", "epsilon", "--sigma", sigma, "--delta", delta, *release)["epsilon"]
    assert abs(got / epsilon - 1) < 1e-9


@pytest.mark.parametrize("epsilon,delta", [(0.5, 1e-6), (1.0, 1e-5), (4.0, 1e-8)])
def test_sigma_agrees_with_dp_accounting(reticent, epsilon, delta):
    theirs = privacy_loss_mechanism.GaussianPrivacyLoss.from_privacy_guarantee(
        common.DifferentialPrivacyParameters(epsilon, delta)
    ).standard_deviation
    ours = reticent("privacy", "sigma", "--epsilon", epsilon, "--delta", delta)["sigma"]
    assert abs(ours / theirs - 1) < 1e-4
