"""Vectors of records under the newer keys of a rule: python3 vectors/generate_feature_maps.py > vectors/feature_maps.json

Cycles, bins, matches, products of three, weights, products of numbers and Fourier features, from the text of the rule alone: dense blocks, whole outer
products and sums over all pairs of words. What older rules have too comes from `generate_features.py`. The tests of core and of the Python package
compare every bit.
"""

import itertools
import math
import random

from generate_features import MASK, block, finalised, look, print_file, signs

KINDS = ("range", "categories", "hash", "cycle", "bins")


def turn(turns):
    """Sine and cosine of a part of a full turn, by nine terms of their series from the nearest quarter."""
    fraction = 4.0 * (turns - math.floor(turns))
    quarter = math.floor(fraction + 0.5)
    angle = (fraction - quarter) * (math.pi / 2.0)
    square = angle * angle
    sine = cosine = 1.0
    for two in range(18, 0, -2):
        sine = 1.0 - square / (two * (two + 1)) * sine
        cosine = 1.0 - square / ((two - 1) * two) * cosine
    sine = sine * angle
    found = [(sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine)][quarter % 4]
    rest = math.fmod(turns, 1.0) * 2.0 * math.pi
    assert abs(found[0] - math.sin(rest)) < 2e-15 and abs(found[1] - math.cos(rest)) < 2e-15
    return found


def flat(rule, path=""):
    """Features by path, each with the weight beside it."""
    found = {}
    for name, entry in rule.items():
        if set(entry) - {"weight"} <= set(KINDS) and not any(isinstance(entry[kind], dict) for kind in entry if kind != "hash"):
            found[path + name] = entry
        else:
            found.update(flat(entry, path + name + "."))
    return dict(sorted(found.items(), key=lambda item: item[0].encode()))


def number(value):
    """A number, or what became of it."""
    if value is None or isinstance(value, str) and not value.strip():
        return None, "missing"
    if isinstance(value, (list, dict)):
        return None, "mistyped"
    if isinstance(value, str):
        try:
            value = {"true": 1.0, "false": 0.0}[value] if value in ("true", "false") else float(value)
        except ValueError:
            return None, "mistyped"
    value = float(value)
    return (None, "missing") if math.isnan(value) else (value, None)


def coordinates(encoding, value):
    encoding = {kind: what for kind, what in encoding.items() if kind != "weight"}
    (kind, what), = encoding.items()
    if kind == "cycle":
        value, outcome = number(value)
        if value is not None and math.isinf(value):
            value, outcome = None, "mistyped"
        return ([0.0, 0.0] if value is None else list(turn(remainder(value, what) / what))), outcome
    if kind == "bins":
        value, outcome = number(value)
        edges = [-math.inf, *what, math.inf]
        inside = [value is not None and (low <= value < high or value == high == math.inf) for low, high in zip(edges, edges[1:])]
        return [float(here) for here in inside], outcome
    return block(encoding, value)


def remainder(value, period):
    """The remainder in [0, period), exactly where it is a double."""
    rest = math.fmod(value, period)
    return rest + period if rest < 0.0 else rest


def deviates(seed, count):
    """Sums of twelve uniform numbers less six, in units of 2^-32."""
    for n in range(count):
        words = [finalised(seed + (6 * n + k) * 0x9E3779B97F4A7C15 & MASK) for k in range(1, 7)]
        yield (sum((word & 0xFFFFFFFF) + (word >> 32) for word in words) - 6 * 2**32 + 6) / 2**32


def outer(*factors):
    cells = [1.0]
    for factor in factors:
        cells = [x * y for x in cells for y in factor]
    return cells


class Rule:
    def __init__(self, rule):
        self.rule = rule
        self.sides = {side: flat(rule.get(side, {})) for side in ("context", "action")}
        self.shares = dict(rule.get("weight", {}))
        for side, features in self.sides.items():
            self.shares |= {f"{side}.{name}": entry["weight"] for name, entry in features.items() if "weight" in entry}

    def vector(self, context, action, report):
        blocks, numbers = {}, []
        for side, record in (("context", context), ("action", action)):
            for name, encoding in self.sides[side].items():
                blocks[side, name], outcome = coordinates(encoding, look(record, name))
                if outcome:
                    counts = report[side].setdefault(name, {"clipped": 0, "unknown": 0, "missing": 0, "mistyped": 0})
                    counts[outcome] += 1
                if "range" in encoding or "cycle" in encoding:
                    numbers.append(blocks[side, name])
        parts = [(f"{side}.{name}", cells) for (side, name), cells in blocks.items()]
        cross = self.rule.get("cross", {})
        for *lefts, right in cross.get("with", []):
            parts.append(("*".join([*lefts, right]), outer(*(blocks["context", left] for left in lefts), blocks["action", right])))
        for left, right in cross.get("match", []):
            pairs = zip(blocks["context", left], blocks["action", right])
            parts.append((f"{left}=={right}", [sum(x * y for x, y in pairs)]))
        if products := self.rule.get("products"):
            parts.append(("products", self.crossed(products, self.monomials(numbers, products["degree"]), blocks)))
        if fourier := self.rule.get("fourier"):
            parts.append(("fourier", self.crossed(fourier, self.waves(numbers, fourier), blocks)))
        if self.rule.get("constant", True):
            parts.append(("constant", [1.0]))
        x, tail = self.weighted(parts)
        projection = self.rule.get("projection")
        return x + tail if projection is None else projected(x, tail, projection, report)

    def crossed(self, table, cells, blocks):
        return cells if table.get("with") is None else outer(cells, blocks["action", table["with"]])

    def monomials(self, numbers, degree):
        """All monomials of degree 2 to `degree`, by how often each appears among the products of `degree` factors in any order."""
        u = [x for cells in numbers for x in cells]
        found = []
        for factors in range(2, degree + 1):
            scale = [len(numbers)] if factors == 2 else [len(numbers) * math.sqrt(len(numbers))]
            for places in itertools.combinations_with_replacement(range(len(u)), factors):
                orders = len(set(itertools.permutations(places)))
                product = 1.0
                for place in places:
                    product *= u[place]
                found.append(product * (math.sqrt(orders) / scale[0] / math.sqrt(degree - 1)))
        return found

    def waves(self, numbers, fourier):
        u = [x for cells in numbers for x in cells]
        count, turns = fourier["count"], fourier["scale"] * (2.0 * math.pi)
        frequencies = [g / turns for g in deviates(fourier["seed"], count * len(u))]
        found = []
        for i in range(count):
            angle = 0.0
            for j, x in enumerate(u):
                angle += frequencies[i * len(u) + j] * x
            found += [part / math.sqrt(count) for part in turn(angle)]
        return found

    def weighted(self, parts):
        groups = self.rule.get("weighting") == "groups"
        if groups:
            self.shares = {name: 0.0 for name, _ in parts if name.startswith("context.")} | self.shares
        given = 0.0
        for name, _ in parts:
            given += self.shares.get(name, 0.0)
        total = 0.0
        for name, cells in parts:
            total += 0.0 if name in self.shares else math.sqrt(len(cells))
        x, tail = [], []
        for name, cells in parts:
            share = self.shares.get(name)
            if groups and share is None:
                weight = math.sqrt((1.0 - given) * self.in_group(name, cells, parts))
            else:
                weight = math.sqrt((1.0 - given) * math.sqrt(len(cells)) / total) if share is None else math.sqrt(share / max(given, 1.0))
            if share != 0.0:
                (tail if name == "constant" else x).extend(weight * z for z in cells)
        assert math.fsum(entry * entry for entry in x + tail) <= 1.0 + 1e-12
        return x, tail


    def in_group(self, name, cells, parts):
        """A fifth for the constant, two fifths for main effects and matches, two fifths for crosses and maps of numbers."""
        group = lambda other: "constant" if other == "constant" else "main" if other.startswith("action.") or "==" in other else "cross"
        free = [(other, math.sqrt(len(more))) for other, more in parts if other not in self.shares]
        shares, total, root = {"constant": 0.2, "main": 0.4, "cross": 0.4}, 0.0, 0.0
        for kind, share in shares.items():
            total += share if any(group(other) == kind for other, _ in free) else 0.0
        for other, more in free:
            root += more if group(other) == group(name) else 0.0
        return shares[group(name)] / total * (math.sqrt(len(cells)) / root)


def projected(x, tail, projection, report):
    k = projection["dimension"] - len(tail)
    y = [0.0] * k
    for j, value in enumerate(x):
        if value != 0.0:
            y = [entry + sign * value for entry, sign in zip(y, signs(projection["seed"], j, k))]
    y = [entry / math.sqrt(k) for entry in y]
    square = 0.0
    for entry in y:
        square += entry * entry
    norm, bound = math.sqrt(square), math.sqrt(1.0 - tail[0] * tail[0]) if tail else 1.0
    if norm > bound:
        report["shortened"] += 1
        y = [entry * (bound / norm) for entry in y]
    return y + tail


RADIO = {
    "context": {
        "hour": {"cycle": 24},
        "age": {"bins": [18, 30, 50.5]},
        "user": {"liked": {"categories": ["rock", "jazz", "folk"]}, "country": {"hash": {"buckets": 5}}},
    },
    "action": {"genre": {"categories": ["rock", "jazz", "folk"]}, "length": {"range": [0, 60]}},
    "cross": {"with": [["hour", "genre"], ["age", "length"]], "match": [["user.liked", "genre"]]},
}
PLACE = {
    "context": {"x": {"range": [-1, 1]}, "y": {"range": [-2, 2]}, "hour": {"cycle": 24}},
    "action": {"genre": {"categories": ["rock", "jazz", "folk"]}, "length": {"range": [0, 60]}},
}
WEIGHTS = {
    **RADIO,
    "context": {**RADIO["context"], "hour": {"cycle": 24, "weight": 0}, "age": {"bins": [0], "weight": 0.05}},
    "action": {"genre": {"categories": ["rock", "jazz", "folk"], "weight": 0.3}, "length": {"range": [0, 60]}},
}
RULES = {
    "cycles, bins and a match": RADIO,
    "products of three": {**RADIO, "cross": {"with": [["age", "hour", "genre"], ["user.liked", "user.country", "length"]]}},
    "matches of buckets and bins": {
        "context": {"liked": {"hash": {"buckets": 3}}, "age": {"bins": [20, 40]}},
        "action": {"genre": {"hash": {"buckets": 3}}, "for": {"bins": [20, 40]}},
        "cross": {"match": [["liked", "genre"], ["age", "for"]]},
    },
    "some weights": {**WEIGHTS, "weight": {"constant": 0.2, "user.liked==genre": 0.25}},
    "all weights": {
        **PLACE,
        "weight": {"context.x": 0, "context.y": 0, "context.hour": 0, "action.genre": 0.5, "action.length": 0.125, "constant": 0},
    },
    "ten tenths": {
        "context": {name: {"range": [0, 1], "weight": 0.1} for name in "abcdefgh"},
        "action": {"length": {"range": [0, 60], "weight": 0.1}},
        "weight": {"constant": 0.1},
    },
    "products of two numbers": {**PLACE, "products": {"degree": 2}},
    "products of three numbers by genre": {**PLACE, "products": {"degree": 3, "with": "genre"}},
    "fourier": {**PLACE, "fourier": {"count": 5, "scale": 0.5, "seed": 7}},
    "fourier by genre": {**PLACE, "fourier": {"count": 3, "scale": 2, "seed": 9007199254740991, "with": "genre"}, "weight": {"fourier": 0.5}},
    "groups": {**RADIO, "weighting": "groups"},
    "groups with some weights": {**WEIGHTS, "weighting": "groups", "weight": {"constant": 0.1, "age*length": 0, "user.liked==genre": 0.25}},
    "groups of maps of numbers": {**PLACE, "weighting": "groups", "products": {"degree": 2}, "fourier": {"count": 3, "scale": 2, "seed": 5, "with": "genre"}, "constant": False},
    "all, projected": {
        **RADIO,
        "products": {"degree": 2},
        "fourier": {"count": 8, "scale": 0.25, "seed": 0, "with": "length"},
        "projection": {"dimension": 20, "seed": 3},
    },
}


def drawn(rng):
    words = ["rock", "jazz", "folk", "many", "", "Bern", "17", "-1e3", "true", "nan", "inf"]
    leaf = lambda: rng.choice([None, True, rng.choice(words[:3]), rng.choice(words), rng.randint(-5, 90), rng.uniform(-3, 70), rng.uniform(-2, 2), [1]])
    names = ("hour", "age", "x", "y", "a", "b", "c", "liked", "genre", "for", "length", "user.country", "user.liked")
    record = {name: leaf() for name in names if rng.random() < 0.85}
    return rng.choice([record, record, [{"w": 1}, record]])


if __name__ == "__main__":
    rng = random.Random(41)
    likely = [
        ({"hour": h, "age": h * 5, "x": h / 12 - 1, "y": 1 - h / 20, "liked": word, "user": {"liked": word, "country": "CH"}}, {"genre": "jazz", "length": 2.5 * h, "for": 30})
        for h, word in zip((0, 1, 5.99, 6, 12, 17.5, 23, 24, -3), itertools.cycle(["rock", "jazz", "folk"]))
    ]
    print_file(RULES, likely + [(drawn(rng), drawn(rng)) for _ in range(30)], Rule)
