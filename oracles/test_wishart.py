"""Theorem 8 of Shariff and Sheffet (Theorem 4.1 of Sheffet 2015), on which the Wishart variants rest, by the exact chi-square law.

Let W ~ W_p(I, k) and |v| = l <= 1. The density of M + W over that of M + v v^T + W at X is, with s = v^T (X - M)^-1 v,
(1 - s)^(-(k-p-1)/2) e^(-l^2/2), and 1/(v^T W^-1 v) l^2 ~ chi-square(k-p+1): the loss of adding or removing one row is a
monotone function of one chi-square. Replacing a row is removing one and adding another, so (epsilon/2, delta_1) both ways gives
(epsilon, (1 + e^(epsilon/2)) delta_1).
"""

import numpy as np
import pytest
from scipy.stats import chi2


def worst_delta(epsilon, p, k):
    """The largest delta at epsilon of adding or of removing a row, over lengths of the row."""
    squares = np.linspace(0.01, 1, 100)
    half, law = (k - p - 1) / 2, chi2(k - p + 1)
    s = -np.expm1(-(epsilon + squares / 2) / half)
    removed = law.cdf(squares / s) - np.exp(epsilon) * law.cdf(squares * (1 - s) / s)
    s = -np.expm1((epsilon - squares / 2) / half)
    s = np.where(s > 0, s, 1e-300)
    added = law.sf(squares * (1 - s) / s) - np.exp(epsilon) * law.sf(squares / s)
    return max(removed.max(), added.max())


def replaced(epsilon, p, k):
    return (1 + np.exp(epsilon / 2)) * worst_delta(epsilon / 2, p, k)


@pytest.mark.parametrize("epsilon", [0.999, 0.3, 0.039])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("p", [2, 6, 65])
def test_the_theorem_holds_and_a_hundredth_of_its_degrees_would_not_do(epsilon, delta, p):
    noise = 28 / epsilon**2 * np.log(4 / delta)
    assert replaced(epsilon, p, p + np.ceil(noise)) <= delta
    # Planted: this bound is not vacuous; it refuses far too little noise.
    assert replaced(epsilon, p, p + np.ceil(noise / 100)) > delta
