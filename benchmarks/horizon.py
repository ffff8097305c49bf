"""Cost of not knowing the horizon: regret of the same stream with the right one, one 100 times too long, and none.

    pip install . && python benchmarks/horizon.py [rounds] [trials]

Noise is secure and so drawn anew in every run; environments are seeded, the same for all three.
"""

import sys

import numpy
import reticent
from reticent import lab

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
TRIALS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
HORIZONS = {"right": ROUNDS, "100 times too long": 100 * ROUNDS, "unknown": None}


def regret(horizon, seed):
    bandit = reticent.JointBandit(5, epsilon=1.0, delta=1e-6, horizon=horizon, rule={"certified": {"failure_probability": 1 / ROUNDS}})
    world = lab.Environment.gap(dimension=5, arms=25, gap=0.1, seed=seed)
    total = 0.0
    for _ in range(ROUNDS):
        ticket, arm = bandit.decide(world.arms())
        means = world.means()
        total += means.max() - means[arm]
        bandit.observe(ticket, world.reward(arm))
    return total


print(f"{ROUNDS} rounds, d = 5, K = 25, (1, 1e-6), {TRIALS} trials: mean regret, its standard error, and the mean beside the right horizon's")
base = None
for name, horizon in HORIZONS.items():
    regrets = numpy.array([regret(horizon, seed) for seed in range(TRIALS)])
    base = base or regrets.mean()
    print(f"{name:20} {regrets.mean():8.0f} +- {regrets.std(ddof=1) / TRIALS**0.5:4.0f}   {regrets.mean() / base:.2f}")
