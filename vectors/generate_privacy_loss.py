"""Writes privacy_loss.csv: known answers for composed privacy losses.

Needs numpy, mpmath and dp_accounting 0.6. Run: python generate_privacy_loss.py

`exact` rows are the truth to ten digits or better: Gaussian compositions by their closed form in mpmath; mechanisms whose losses
lie on a lattice by direct convolution, a sum of positive terms without cancellation; a single Laplace mechanism by
its closed form and many by the inversion integral of the closed moment generating function; discrete Gaussians by
direct convolution, as their loss is linear in the sum of the outputs.
`dp_accounting` rows are upper bounds by that library.
"""

import csv
import math
import pathlib

import mpmath
import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld

mpmath.mp.dps = 40
TARGETS = [1e-2, 1e-4, 1e-6, 1e-9, 1e-12]
rows = []


def add(mechanism, first, second, times, epsilon, delta, reference):
    if epsilon > 0 and delta > 0:
        rows.append([mechanism, repr(first), repr(second), times, repr(float(epsilon)), repr(float(delta)), reference])


def solve(delta_of, target, high):
    """Epsilon with delta_of(epsilon) about target, rounded so that the pair is exact again."""
    low = 0.0
    if delta_of(0.0) <= target:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) > target else (low, middle)
    return float(f"{(low + high) / 2:.9g}")


def curve(mechanism, first, second, times, delta_of, high):
    for target in TARGETS:
        epsilon = solve(delta_of, target, high)
        if epsilon is not None:
            add(mechanism, first, second, times, epsilon, delta_of(epsilon), "exact")


def power(pmf, times):
    """times-fold convolution by squaring, each entry a sum of positive terms."""
    result = np.ones(1)
    while times:
        if times & 1:
            result = np.convolve(result, pmf)
        times >>= 1
        if times:
            pmf = np.convolve(pmf, pmf)
    return result


def lattice_curve(losses, masses):
    def delta_of(epsilon):
        above = losses > epsilon
        return math.fsum(masses[above] * -np.expm1(epsilon - losses[above]))

    return delta_of


def lattice(mechanism, first, second, times, unit, pmf):
    """pmf of the loss at unit * (-m .. m), composed."""
    masses = power(np.array(pmf, dtype=float), times)
    half = (len(masses) - 1) // 2
    losses = unit * np.arange(-half, half + 1)
    curve(mechanism, first, second, times, lattice_curve(losses, masses), unit * half)


def gaussian_delta(mu):
    mu = mpmath.mpf(mu)
    return lambda e: mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


def laplace_delta(epsilon, times):
    """E(1 - e^(x - L))_+ = (1/2 pi i) int M(z)^times e^(-z x) / (z (z + 1)) dz, through the saddle point."""
    e, half = mpmath.mpf(epsilon), mpmath.mpf(1) / 2

    def moment(z):
        between = mpmath.exp(-e / 2) / 4 * (mpmath.exp((z + half) * e) - mpmath.exp(-(z + half) * e)) / (z + half)
        return (mpmath.exp(z * e) + mpmath.exp(-(1 + z) * e)) / 2 + between

    def delta_of(x):
        def exponent(z):
            return times * mpmath.log(moment(z)) - z * mpmath.mpf(x) - mpmath.log(z * (z + 1))

        low, high = mpmath.mpf("1e-9"), mpmath.mpf(400)
        for _ in range(60):
            middle = mpmath.sqrt(low * high)
            low, high = (middle, high) if mpmath.diff(exponent, middle) < 0 else (low, middle)
        width = 1 / mpmath.sqrt(mpmath.diff(exponent, low, 2))
        top = exponent(low)
        integral = mpmath.quad(
            lambda t: mpmath.re(mpmath.exp(exponent(mpmath.mpc(low, t)) - top)), [2 * width * j for j in range(9)]
        )
        return mpmath.exp(top) * integral / mpmath.pi

    return delta_of


def randomized_response(categories, epsilon):
    others = math.exp(epsilon) + categories - 1
    return [1 / others, (categories - 2) / others, math.exp(epsilon) / others]


for times in [1, 10, 100, 1000]:
    for sigma in [0.7, 4.0, 50.0]:
        mu = mpmath.sqrt(times) / mpmath.mpf(sigma)
        curve("gaussian", 1.0, sigma, times, gaussian_delta(mu), float(mu * (12 + mu)))
    for categories, epsilon in [(2, 0.1), (2, 1.0), (2, 5.0), (10, 0.5)]:
        pmf = randomized_response(categories, epsilon)
        lattice("randomized_response", categories, epsilon, times, epsilon, pmf)
    for cap, inside in [(0.1, 0.3), (0.7, 0.8)]:
        smaller = min(cap, 1 - cap)
        epsilon = math.log(inside * (1 - cap) / ((1 - inside) * cap))
        plus, minus = inside / cap * smaller, (1 - inside) / (1 - cap) * smaller
        lattice("priv_unit", cap, inside, times, epsilon, [minus, 1 - plus - minus, plus])
    for shift, scale in [(1, 2.0), (3, 30.0), (5, 4.0)]:
        ratio = math.exp(-1 / scale)
        pmf = np.zeros(2 * shift + 1)
        pmf[0], pmf[-1] = ratio**shift / (1 + ratio), 1 / (1 + ratio)
        for k in range(1, shift):
            pmf[2 * k] = (1 - ratio) / (1 + ratio) * ratio ** (shift - k)
        lattice("discrete_laplace", shift, scale, times, 1 / scale, pmf)
    for shift, sigma in [(1, 0.8), (1, 5.0), (3, 10.0)]:
        reach = math.ceil(20 * sigma)
        k = np.arange(-reach, reach + 1)
        pmf = np.exp(-0.5 * (k / sigma) ** 2)
        masses = power(pmf / math.fsum(pmf), times)
        half = (len(masses) - 1) // 2
        losses = (shift / sigma**2) * (np.arange(-half, half + 1) + times * shift / 2)
        curve("discrete_gaussian", shift, sigma, times, lattice_curve(losses, masses), losses[-1])
    for scale in [0.5, 3.0, 20.0]:
        if times == 1:
            curve("laplace", 1.0, scale, 1, lambda e: -math.expm1((e - 1 / scale) / 2), 1 / scale)
        one = pld.from_laplace_mechanism(scale, value_discretization_interval=1e-4)
        composed = one.self_compose(times) if times > 1 else one
        for target in TARGETS:
            epsilon = composed.get_epsilon_for_delta(target)
            add("laplace", 1.0, scale, times, epsilon, target, "dp_accounting")
            if times == 1000:  # fewer leave a second peak in the integrand, beyond where the quadrature ends
                add("laplace", 1.0, scale, times, epsilon, laplace_delta(1 / scale, times)(epsilon), "exact")
    one = pld.from_gaussian_mechanism(4.0, value_discretization_interval=1e-4)
    one = one.self_compose(times) if times > 1 else one
    for target in TARGETS:
        add("gaussian", 1.0, 4.0, times, one.get_epsilon_for_delta(target), target, "dp_accounting")
    one = pld.from_discrete_gaussian_mechanism(5.0, value_discretization_interval=1e-4)
    one = one.self_compose(times) if times > 1 else one
    for target in TARGETS:
        add("discrete_gaussian", 1, 5.0, times, one.get_epsilon_for_delta(target), target, "dp_accounting")
    one = pld.from_discrete_laplace_mechanism(1 / 30, sensitivity=3, value_discretization_interval=1e-4)
    one = one.self_compose(times) if times > 1 else one
    for target in TARGETS:
        add("discrete_laplace", 3, 30.0, times, one.get_epsilon_for_delta(target), target, "dp_accounting")
    noise = 10 / (math.exp(0.5) + 9)
    one = pld.from_randomized_response(noise, 10, value_discretization_interval=1e-4)
    one = one.self_compose(times) if times > 1 else one
    for target in TARGETS:
        add("randomized_response", 10, 0.5, times, one.get_epsilon_for_delta(target), target, "dp_accounting")

with open(pathlib.Path(__file__).with_name("privacy_loss.csv"), "w", newline="") as out:
    out.write("# Known answers for composed privacy losses; written by generate_privacy_loss.py.\n")
    out.write("# mechanism, its two parameters in the order of the fields of Event, number of compositions, epsilon, delta,\n")
    out.write("# and what delta is: `exact` (the truth) or `dp_accounting` (an upper bound by dp_accounting 0.6, interval 1e-4).\n")
    csv.writer(out, lineterminator="\n").writerows([["mechanism", "first", "second", "times", "epsilon", "delta", "reference"], *rows])
