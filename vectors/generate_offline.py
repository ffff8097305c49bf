"""Off-policy estimates by numpy, for crates/lab/src/offline.rs: python3 vectors/generate_offline.py > vectors/offline.csv"""

import numpy as np

rng = np.random.default_rng(8)
n = 60
p = rng.uniform(0.05, 1.0, n)
agrees = rng.uniform(size=n) < 0.5
w = np.where(agrees, 1.0 / p, 0.0)
r = rng.uniform(-1.0, 2.0, n)
q_logged = rng.uniform(-1.0, 2.0, n)
q_policy = np.where(agrees, q_logged, rng.uniform(-1.0, 2.0, n))
z = 1.959963984540054  # scipy.stats.norm.ppf(0.975)


def interval(value, error):
    return [value, value - z * error, value + z * error]


ips = w * r
robust = q_policy + w * (r - q_logged)
normalised = ips.sum() / w.sum()
error = np.sqrt((w**2 * (r - normalised) ** 2).sum()) / w.sum()
expected = (
    interval(ips.mean(), ips.std(ddof=1) / np.sqrt(n))
    + interval(normalised, error)
    + interval(robust.mean(), robust.std(ddof=1) / np.sqrt(n))
    + [w.sum() ** 2 / (w**2).sum()]
)
print("# weight,reward,predicted,predicted of the policy; then IPS, self-normalised, doubly robust (value, low, high), effective n")
for row in zip(w, r, q_logged, q_policy):
    print(",".join(repr(float(x)) for x in row))
print("expected," + ",".join(repr(float(x)) for x in expected))
