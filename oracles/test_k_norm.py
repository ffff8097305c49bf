"""K-norm noise against mpmath and numpy: radius and angle of the noise, without the coordinates that the accountant uses."""

import math

import numpy as np
import pytest
from mpmath import betainc, exp, gamma, inf, mp, mpf, quad
from numpy.polynomial.legendre import leggauss
from scipy.special import betainc as beta_ratio, gammaln

mp.dps = 25


def below(dimension, epsilon, x):
    """P(loss <= x): the radius is gamma distributed, and the cosine has to be below a bound that depends on it."""
    d, epsilon, x = mpf(dimension), mpf(epsilon), mpf(x)

    def of_radius(radius):
        cosine = x / epsilon - (epsilon**2 - x**2) / (2 * radius * epsilon)
        share = betainc((d - 1) / 2, (d - 1) / 2, 0, (1 + cosine) / 2, regularized=True)
        return radius ** (d - 1) * exp(-radius) / gamma(d) * share

    start = (epsilon - x) / 2
    return quad(of_radius, [start, start + 1, start + 5, start + 20, inf])


@pytest.mark.parametrize("dimension,epsilon", [(2, 1.0), (3, 0.5), (4, 3.0), (10, 2.0), (25, 1.0)])
def test_one_report_is_never_below_the_truth(account, dimension, epsilon):
    event = f'{{ kind = "k_norm", dimension = {dimension}, epsilon = {epsilon} }}'
    for share in (0.0, 0.2, 0.6):
        at = share * epsilon
        exact = 1 - below(dimension, epsilon, at) - exp(mpf(at)) * below(dimension, epsilon, -at)
        ours = account([event], epsilon=at)["delta"]
        assert float(exact) * (1 - 1e-9) <= ours <= 1.001 * float(exact) + 1e-15


def composed(dimension, epsilon, times, cells, up):
    """(losses, masses) of the composition, each cell's mass at its upper or its lower end."""
    edges = np.linspace(-epsilon, epsilon, cells + 1)
    nodes, weights = leggauss(400)
    cdf = np.zeros(cells + 1)
    for index, x in enumerate(edges):
        start = (epsilon - x) / 2
        span = dimension + 60 + 10 * math.sqrt(dimension)
        radius = start + span * (nodes + 1) / 2
        cosine = x / epsilon - (epsilon**2 - x**2) / (2 * radius * epsilon)
        share = beta_ratio((dimension - 1) / 2, (dimension - 1) / 2, np.clip((1 + cosine) / 2, 0, 1))
        density = np.exp((dimension - 1) * np.log(radius) - radius - gammaln(dimension))
        cdf[index] = (weights * density * share).sum() * span / 2
    masses = np.diff(cdf)
    size = 1 << (cells * times).bit_length()
    law = np.fft.irfft(np.fft.rfft(masses, size) ** times, size)
    step = 2 * epsilon / cells
    losses = -epsilon * times + step * (np.arange(size) + (times if up else 0))
    return losses, law


@pytest.mark.parametrize("dimension,epsilon,times", [(3, 1.0, 30), (10, 1.0, 30), (50, 1.0, 100), (4, 0.3, 200)])
def test_compositions_lie_between_the_roundings(account, dimension, epsilon, times):
    repeated = f'{{ kind = "repeated", times = {times}, event = {{ kind = "k_norm", dimension = {dimension}, epsilon = {epsilon} }} }}'
    ours = account([repeated], delta=1e-6)["epsilon"]

    def delta(up, at):
        losses, law = composed(dimension, epsilon, times, 4000, up)
        above = losses > at
        return (law[above] * -np.expm1(at - losses[above])).sum()

    # Rounded down it is below the truth, rounded up above it.
    assert delta(False, ours) <= 1e-6 < delta(True, ours)
    assert delta(False, 0.98 * ours) > 1e-6
    # Known-bad: one dimension more is priced below the truth.
    more = repeated.replace(f"dimension = {dimension}", f"dimension = {dimension + 1}")
    assert account([more], delta=1e-6)["epsilon"] < 0.999 * ours
