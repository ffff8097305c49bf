"""Writes published_local.csv: the exact delta of published mechanisms at the epsilon they claim, by mpmath at 40 digits.

    pip install mpmath && python vectors/generate_published_local.py > vectors/published_local.csv

Noise is copied from the publications; joint sensitivities are found by a search over pairs of people, not by the formulas the
library uses. Claimed: delta = 0.1, d = 5, 20 000 rounds, batches of 20.
"""

import random

from mpmath import erfc, exp, log, mp, mpf, sqrt

mp.dps = 40
N, BATCH, D, DELTA = 20000, 20, 5, mpf("0.1")


def normal_cdf(x):
    return erfc(-x / sqrt(2)) / 2


def delta_of(epsilon, mu):
    return normal_cdf(mu / 2 - epsilon / mu) - exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu)


def unit(v):
    norm = sum(x * x for x in v) ** 0.5
    return [x / norm for x in v]


def largest(person, distance, free):
    """The largest distance between two people, by random restarts and local search in doubles."""
    best = 0.0
    generator = random.Random(1)
    for _ in range(30):
        at = [generator.gauss(0, 1) for _ in range(2 * free)]
        value, step = distance(person(at[:free]), person(at[free:])), 0.5
        while step > 1e-6:
            improved = False
            for _ in range(30):
                there = [x + step * generator.gauss(0, 1) for x in at]
                new = distance(person(there[:free]), person(there[free:]))
                if new > value:
                    at, value, improved = there, new, True
            if not improved:
                step /= 2
        best = max(best, value)
    return best


def euclid(weights):
    return lambda a, b: sum(w * (x - y) ** 2 for w, x, y in zip(weights, a, b)) ** 0.5


def statistics(x, y):
    triangle = [x[i] * x[j] for i in range(len(x)) for j in range(i, len(x))]
    return triangle + [v * y for v in x]


def ball(low):
    """Any features of norm at most 1 with a reward in [low, 1], as a joint message."""

    def person(raw):
        norm = max(1.0, sum(v * v for v in raw[:3]) ** 0.5)
        return [v / norm for v in raw[:3]], min(1.0, max(low, raw[3]))

    return person


def arms_of_the_code(raw):
    """(v, 1) with |v| = 1 and a reward in [0, 1]."""
    return unit(raw[:4]) + [1.0], min(1.0, max(0.0, raw[4]))


# (M + M^T)/2 has half the variance off the diagonal.
symmetric = [1 if i == j else 2 for i in range(D) for j in range(i, D)] + [1] * D
equal = [1] * 20
x_and_y = lambda low: largest(lambda raw: ball(low)(raw)[0] + [ball(low)(raw)[1]], euclid([1] * 4), 4)
zheng = largest(lambda raw: statistics(*ball(-1.0)(raw)), euclid([1] * 9), 4)
code = largest(lambda raw: statistics(*arms_of_the_code(raw)), euclid(symmetric), 5)
triangle = largest(lambda raw: statistics(*arms_of_the_code(raw)), euclid(equal), 5)


def snap(value, square):
    """The search ends a little below the maximum it found; the square is recognised as a multiple of one half."""
    assert abs(value**2 - square) < 2e-3, (value**2, square)
    return sqrt(mpf(square))


snapped = {
    "online_ucb": snap(x_and_y(-1.0), 8),
    "online_ucb_unit_rewards": snap(x_and_y(0.0), 5),
    "zheng": snap(zheng, 4.5),
    "code": snap(code, 12),
    "triangle": snap(triangle, 8),
}


def mu(mechanism, epsilon, rounds=N):
    online = 2 * sqrt(2 * log(mpf("1.25") / DELTA)) / epsilon
    if mechanism in ("online_ucb", "online_ucb_unit_rewards"):
        return snapped[mechanism] / online
    if mechanism == "zheng":
        return snapped["zheng"] / (6 * sqrt(2 * log(mpf("2.5") / DELTA)) / epsilon)
    if mechanism == "public_ldp":
        return snapped["code"] / (sqrt(log(mpf("2.5") / DELTA)) / epsilon)
    if mechanism == "public_joint":
        node = sqrt(log(rounds)) * log(mpf("2.5") / DELTA) / epsilon
        return snapped["code"] * sqrt(int(rounds).bit_length()) / node
    if mechanism == "public_amplified":
        person = sqrt(log(mpf("2.5") * BATCH / DELTA)) / (epsilon * sqrt(BATCH))
        return snapped["code"] / (person * sqrt(BATCH))
    g = max(2 * sqrt(mpf(BATCH)), D, 4)
    scale = 1 if epsilon < 1 else 10
    b = scale * g**2 * log(D / DELTA) ** 2 / (epsilon**2 * BATCH)
    person = sqrt(mpf(2)) / g * sqrt(b * mpf("0.1875"))
    return snapped["triangle"] / (person * sqrt(BATCH))


print("# mechanism, epsilon, exact delta of what is claimed to be 0.1")
for mechanism in [
    "online_ucb",
    "online_ucb_unit_rewards",
    "zheng",
    "public_ldp",
    "public_joint",
    "public_amplified",
    "public_vector_sum",
]:
    for epsilon in ["0.2", "1", "10"]:
        print(f"{mechanism},{epsilon},{mp.nstr(delta_of(mpf(epsilon), mu(mechanism, mpf(epsilon))), 12)}")
# The tree behind public_joint has a level for every bit of the number of rounds.
for epsilon in ["0.2", "1", "10"]:
    long = delta_of(mpf(epsilon), mu("public_joint", mpf(epsilon), mpf(10) ** 6))
    print(f"# million rounds: public_joint,{epsilon},{mp.nstr(long, 12)}")
