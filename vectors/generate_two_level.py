"""Vectors for crates/core/src/bandit/rule/two_level: python3 vectors/generate_two_level.py > vectors/two_level.json (needs numpy)

Independent of the Rust code: monomials are found by evaluating products on random records, and the formulas are dense matrices. The test of core
compares theta and the covariance that parameters are drawn from, in the units of the release.
"""

import itertools
import json

import numpy as np

TAU = {0: 1.0, 1: 0.2, 2: 0.1}
LARGEST, REWARDS, SWEEPS = 0.6, 0.8, 4


def coordinates(features, parts):
    """For each coordinate its (feature, cell) pairs, its weight and the cells of its part."""
    found = []
    for of, weight in parts:
        cells = np.prod([features[f][0] for f in of if features[f][1]], initial=1.0)
        for choice in itertools.product(*[range(features[f][0]) for f in of]):
            found.append((list(zip(of, choice)), weight, cells))
    return found


def records(features, count, rng):
    """Values of all cells: independent uniform categories, some missing, and numbers in [-1, 1]."""
    tables = []
    for size, indicator in features:
        if indicator:
            table = np.zeros((count, size))
            chosen = np.minimum(rng.geometric(0.4, count) - 1, size)
            known = chosen < size
            table[np.arange(count)[known], chosen[known]] = 1.0
        else:
            table = rng.uniform(-0.6, 1.0, (count, size))
        tables.append(table)
    return tables


def vectors(features, parts, tables):
    columns = []
    for cells, weight, _ in coordinates(features, parts):
        column = np.full(len(tables[0]), 1.0)
        for feature, cell in cells:
            column = column * tables[feature][:, cell]
        columns.append(column)
    return np.array(columns).T


def monomials(features, parts):
    """Number of the monomial of each pair, -1 where it is identically zero: products on records that meet all combinations of categories."""
    rng = np.random.default_rng(5)
    tables = []
    combinations = list(itertools.product(*[range(size) if indicator else [0] for size, indicator in features]))
    for place, (size, indicator) in enumerate(features):
        if indicator:
            tables.append(np.array([np.eye(size)[c[place]] for c in combinations]))
        else:
            tables.append(rng.uniform(0.3, 0.9, (len(combinations), size)))
    z = vectors(features, parts, tables)
    d = z.shape[1]
    weights = np.array([w for _, w, _ in coordinates(features, parts)])
    number, seen = np.full((d, d), -1), {}
    for i in range(d):
        for j in range(i, d):
            key = tuple(np.round(z[:, i] * z[:, j], 9))
            if any(key) and weights[i] > 0 and weights[j] > 0:
                number[i, j] = number[j, i] = seen.setdefault(key, len(seen))
    return number, len(seen)


def two_level(features, parts, gram, vector, deviations, vector_deviations, feature_bound, reward_bound):
    found = coordinates(features, parts)
    d = len(found)
    w = np.array([weight for _, weight, _ in found]) / feature_bound
    cells = np.array([c for _, _, c in found])
    level = np.array([len(factors) for factors, _, _ in found])
    number, count = monomials(features, parts)
    g = gram / feature_bound**2
    sg = np.maximum(deviations / feature_bound**2, 1e-6)
    u = vector / (feature_bound * reward_bound)
    su = np.maximum(vector_deviations / (feature_bound * reward_bound), 1e-6)

    mean, variance = np.zeros(count), np.zeros(count)
    for k in range(count):
        i, j = np.nonzero(np.triu(number == k))
        scale = w[i] * w[j]
        precision = (scale / sg[i, j]) ** 2
        mean[k] = np.sum(precision * g[i, j] / scale) / precision.sum()
        variance[k] = 1 / precision.sum()
    c = d - 1
    n = max(mean[number[c, c]], 1.0)
    q, left, total, square = np.zeros(d), np.zeros(d), np.zeros(d), {}
    for i in np.nonzero(w)[0]:
        t, k = n / cells[i], number[i, i]
        a = t**2 / (t**2 + variance[k])
        q[i], left[i] = np.clip(t + a * (mean[k] - t), 0.02 * t, n), a * variance[k]
        if i == c:
            q[i], left[i] = n, 0.0
        square[k] = i
        if number[i, c] == k:
            total[i] = q[i]
        else:
            expected = (0.5 * t) ** 2
            total[i] = mean[number[i, c]] * expected / (expected + variance[number[i, c]])
    of_factors = {tuple(sorted(factors)): i for i, (factors, _, _) in enumerate(found) if w[i] > 0}
    G, V = np.zeros((d, d)), np.zeros((d, d))
    for i in range(d):
        for j in range(d):
            k = number[i, j]
            if k < 0:
                continue
            if k in square:
                value, rest = q[square[k]], left[square[k]]
            else:
                shared = tuple(sorted(set(found[i][0]) & set(found[j][0])))
                common = total[of_factors.get(shared, c)]
                common = common if common > 0 else n
                product = total[i] * total[j] / common
                spread = (0.3 * q[i] * q[j] / common) ** 2
                share = spread / (spread + variance[k])
                value, rest = product + share * (mean[k] - product), share * variance[k]
            G[i, j], V[i, j] = w[i] * w[j] * value, (w[i] * w[j]) ** 2 * rest

    A = np.nonzero((level < 2) & (w > 0))[0]
    tau = np.array([TAU[level[i]] for i in A])
    prior = (tau / w[A]) ** 2
    D = np.sqrt(su[A] ** 2 + V[np.ix_(A, A)] @ prior)
    e, Q = np.linalg.eigh(G[np.ix_(A, A)] / np.outer(D, D))
    e = np.maximum(e, 0)
    H = D[:, None] * Q
    P = np.diag(1 / prior) + (H * (e**2 / (1 + REWARDS * e))) @ H.T
    theta, deviation = np.zeros(d), np.zeros(d)

    def fit_mains():
        theta[A] = 0
        rest = u[A] - G[A] @ theta
        theta[A] = np.linalg.solve(P, H @ (e / (1 + REWARDS * e) * (Q.T @ (rest / D))))

    crosses, first = [], 0
    for of, weight in parts:
        size = int(np.prod([features[f][0] for f in of], initial=1))
        if len(of) == 2 and weight > 0:
            crosses.append(np.arange(first, first + size))
        first += size
    fit_mains()
    for _ in range(SWEEPS):
        for part in crosses:
            gi = G[part, part]
            r = u[part] - G[part] @ theta + gi * theta[part]
            v = su[part] ** 2 + V[np.ix_(part, A)] @ theta[A] ** 2 + REWARDS * gi
            t0 = (TAU[2] / w[part[0]]) ** 2
            t_found = np.sum(r**2 - v) / np.sum(gi**2)
            error = np.sqrt(2 * np.sum(v**2)) / np.sum(gi**2)
            t = np.clip(t0 + (t_found - t0) * t0**2 / (t0**2 + error**2), t0 / 100, (LARGEST / w[part[0]]) ** 2)
            rho = t * gi**2 / (t * gi**2 + v)
            theta[part], deviation[part] = rho * r / gi, rho * np.sqrt(v) / gi
        fit_mains()
    inverse = np.linalg.inv(P)
    of_mains = inverse @ (H * (e**2 / (1 + REWARDS * e))) @ H.T @ inverse
    of_mains += 1e-9 * of_mains.diagonal().max() * np.eye(len(A))
    covariance = np.diag(deviation**2)
    covariance[np.ix_(A, A)] = of_mains
    return theta * reward_bound / feature_bound, covariance * (reward_bound / feature_bound) ** 2


def case(name, features, parts, people, noise, feature_bound, reward_bound, seed):
    rng = np.random.default_rng(seed)
    found = coordinates(features, parts)
    weights = np.array([weight for _, weight, _ in found])
    x = vectors(features, parts, records(features, people, rng)) * weights
    d = len(found)
    effects = rng.normal(size=d) * 0.4
    means = np.clip(x @ effects, -1, 1)
    y = reward_bound * np.where(rng.uniform(size=people) < 0.5 * (1 + means), 1.0, -1.0)
    deviations = noise * feature_bound**2 * (np.ones((d, d)) + (np.sqrt(2) - 1) * np.eye(d))
    vector_deviations = np.full(d, 1.5 * noise * feature_bound * reward_bound)
    draws = rng.normal(size=(d, d))
    gram = x.T @ x + deviations * (np.triu(draws) + np.triu(draws, 1).T)
    vector = x.T @ y + vector_deviations * rng.normal(size=d)
    theta, covariance = two_level(features, parts, gram, vector, deviations, vector_deviations, feature_bound, reward_bound)
    upper = np.triu_indices(d)
    return {
        "name": name,
        "features": [{"coordinates": size, "indicator": indicator} for size, indicator in features],
        "parts": [{"of": of, "weight": weight} for of, weight in parts],
        "feature_bound": feature_bound,
        "reward_bound": reward_bound,
        "sums": gram[upper].tolist() + vector.tolist(),
        "deviations": deviations[upper].tolist() + vector_deviations.tolist(),
        "theta": theta.tolist(),
        "covariance": covariance[upper].tolist(),
    }


def main():
    one_hot = [(3, True), (2, True), (4, True)]
    crossed = [([2], 0.6), ([0, 2], 0.5), ([1, 2], 0.3), ([], 0.5)]
    mixed = [(2, True), (1, False), (3, True), (2, False)]
    numbers = [([0], 0.0), ([1], 0.2), ([2], 0.5), ([3], 0.3), ([0, 2], 0.4), ([1, 2], 0.3), ([1, 3], 0.2), ([], 0.5)]
    doubled = [(of, 2.0 * weight) for of, weight in numbers]
    cases = [
        case("categories", one_hot, crossed, 3000, 20.0, 1.0, 1.0, 1),
        case("categories without noise", one_hot, crossed, 500, 0.0, 1.0, 1.0, 2),
        case("numbers, noise above the signal", mixed, numbers, 200, 40.0, 1.0, 1.0, 3),
        case("numbers in other units", mixed, doubled, 4000, 10.0, 2.0, 3.0, 4),
    ]
    print(json.dumps(cases))


main()
