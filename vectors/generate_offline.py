"""Off-policy estimates and their betting intervals by numpy and scipy, for crates/lab/src/environment/offline: python3 vectors/generate_offline.py > vectors/offline.csv

Independent of the Rust code: cumulative sums over whole arrays, and the ends as roots of the largest capital (scipy.optimize.brentq).
"""

import numpy as np
from scipy.optimize import brentq

ALPHA, STAKE = 0.05, 0.75
LOW, HIGH = -1.0, 2.0  # the range of rewards
LARGEST = 20.0  # 1 / the least propensity


def largest_capital(m, x, u, side):
    """log of the largest capital minus log 2/alpha."""
    n = len(u)
    before = np.arange(n)
    weight = 1.0 + np.cumsum(x)
    mean = (0.5 + np.cumsum(x * u)) / weight
    squares = 0.25 + np.concatenate([[0.0], np.cumsum((x * (u - mean)) ** 2)[:-1]])
    bets = np.sqrt(2 * np.log(2 / ALPHA) / (n * squares / (before + 1)))
    limit = STAKE / (m if side > 0 else 1 - m)
    factors = 1 + side * np.minimum(bets, limit) * x * (u - m)
    return np.log(factors).cumsum().max() - np.log(2 / ALPHA)


def ends(x, u):
    lower = lambda m: largest_capital(m, x, u, 1)
    upper = lambda m: largest_capital(m, x, u, -1)
    tiny = 1e-15
    low = brentq(lower, tiny, 1 - tiny, xtol=1e-15) if lower(tiny) >= 0 else 0.0
    high = brentq(upper, tiny, 1 - tiny, xtol=1e-15) if upper(1 - tiny) >= 0 else 1.0
    return low, high


def stated(value, x, u, start=0.0, stop=1.0):
    places = [start + (stop - start) * end for end in ends(x, u)]
    return [LOW + (HIGH - LOW) * unit for unit in [value, *np.clip(places, 0.0, 1.0)]]


def log(seed, n, rewards):
    rng = np.random.default_rng(seed)
    p = rng.uniform(1 / LARGEST, 1.0, n)
    agrees = rng.uniform(size=n) < 0.5
    w = np.where(agrees, 1.0 / p, 0.0)
    r = rewards(rng, n)
    q_logged = rng.uniform(LOW, HIGH, n)
    q_policy = np.where(agrees, q_logged, rng.uniform(LOW, HIGH, n))
    return w, r, q_logged, q_policy


def expected(w, r, q_logged, q_policy):
    r, q_logged, q_policy = ((z - LOW) / (HIGH - LOW) for z in (r, q_logged, q_policy))
    ips, robust = w * r, q_policy + w * (r - q_logged)
    width = 2 * LARGEST - 1
    seen = w > 0
    ones = np.ones(len(w))
    return (
        stated(ips.mean(), ones, ips / LARGEST, 0.0, LARGEST)
        + stated((w * r).sum() / w.sum(), w[seen] / LARGEST, r[seen])
        + stated(robust.mean(), ones, (robust - (1 - LARGEST)) / width, 1 - LARGEST, LARGEST)
        + stated(r.mean(), ones, r)
        + [w.sum() ** 2 / (w**2).sum()]
    )


logs = [
    (8, 400, lambda rng, n: rng.uniform(LOW, HIGH, n)),
    (9, 300, lambda rng, n: np.where(rng.uniform(size=n) < 0.02, HIGH, LOW)),  # rare rewards
    (10, 300, lambda rng, n: np.full(n, LOW)),  # none at all
]
print("# weight,reward,predicted,predicted of the policy; then IPS, self-normalised, doubly robust, logged (value, low, high), effective n")
for log_of in logs:
    lines = log(*log_of)
    for row in zip(*lines):
        print(",".join(repr(float(x)) for x in row))
    print("expected," + ",".join(repr(float(x)) for x in expected(*lines)))
