"""Writes gaussian.csv: the exact Gaussian mechanism on 10,400 points, by mpmath at 60 digits.

    pip install mpmath && python vectors/generate_gaussian.py > vectors/gaussian.csv

Every input is a double, taken exactly; every output is printed to 17 digits.
"""

import random

from mpmath import erfc, exp, log, mp, mpf, pi, sqrt

mp.dps = 60


def normal_cdf(x):
    return erfc(-x / sqrt(2)) / 2


def delta_of(epsilon, mu):
    return normal_cdf(mu / 2 - epsilon / mu) - exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu)


def solve(function, derivative, x):
    """Newton's method to 40 digits, halving the step while it leaves the domain or overshoots."""
    value = function(x)
    for _ in range(500):
        step = value / derivative(x)
        while x - step <= 0 or abs(function(x - step)) > abs(value):
            step /= 2
            if abs(step) < x * mpf(10) ** -45:
                return x
        x -= step
        value = function(x)
        if abs(step) < x * mpf(10) ** -40:
            return x
    raise ValueError("no convergence")


def mu_of(epsilon, delta):
    def function(mu):
        return log(delta_of(epsilon, mu) / delta)

    def derivative(mu):
        a = epsilon / mu - mu / 2
        return exp(-a * a / 2) / sqrt(2 * pi) / delta_of(epsilon, mu)

    return solve(function, derivative, sqrt(2 * epsilon) if delta > 0.1 else epsilon / sqrt(-2 * log(delta)))


def epsilon_of(delta, mu, near):
    def function(epsilon):
        return log(delta_of(epsilon, mu) / delta)

    def derivative(epsilon):
        return -exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu) / delta_of(epsilon, mu)

    return solve(function, derivative, near)


def points():
    chance = random.Random(20261115)
    for epsilon in (1e-6, 1e-3, 0.1, 0.2, 1.0, 2.0, 10.0, 1e3):
        for delta in (1e-300, 1e-100, 1e-12, 1e-6, 1e-5, 1e-3, 0.1, 0.5, 0.9, 0.999):
            yield epsilon, delta
    for _ in range(5160):
        yield 10 ** chance.uniform(-6, 3), 10 ** chance.uniform(-300, -0.001)
    for _ in range(5160):
        yield 10 ** chance.uniform(-6, 3), 10 ** chance.uniform(-15, -0.0005)


print("# epsilon, delta, mu(epsilon, delta), delta(epsilon, that mu as a double), epsilon(delta, that mu as a double)")
for epsilon, delta in points():
    exact = mu_of(mpf(epsilon), mpf(delta))
    mu = float(exact)
    back = delta_of(mpf(epsilon), mpf(mu))
    there = epsilon_of(mpf(delta), mpf(mu), mpf(epsilon))
    print(f"{epsilon!r},{delta!r},{mu!r},{mp.nstr(back, 17)},{mp.nstr(there, 17)}", flush=True)
