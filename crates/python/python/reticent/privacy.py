"""Events, their cost, calibration of noise, and the noise itself.

>>> from reticent import privacy
>>> round(privacy.sigma(epsilon=1.0, delta=1e-5), 4)         # the smallest Gaussian noise, exactly
3.7306
>>> round(privacy.epsilon(sigma=4.0, delta=1e-6, compose=30), 4)     # thirty releases of one person's data
7.0168
>>> mixture = privacy.Event.laplace(1.0, scale=2.0) + privacy.Event.gaussian(1.0, sigma=20.0) * 30
>>> mixture.epsilon(delta=1e-6) < 2.0
True

Noise is exact: integers drawn with ChaCha20 under a key from the system, never rounded floating-point numbers.
"""

from ._core import (
    Accountant,
    Event,
    Guarantee,
    delta,
    discrete_gaussian,
    discrete_laplace,
    epsilon,
    shuffle_epsilon,
    sigma,
)

__all__ = [
    "Accountant",
    "Event",
    "Guarantee",
    "delta",
    "discrete_gaussian",
    "discrete_laplace",
    "epsilon",
    "shuffle_epsilon",
    "sigma",
]
