"""Vectors of records for crates/core/src/features: python3 vectors/generate_features.py > vectors/features.json

Independent of the Rust code: dense vectors, outer products and a whole matrix of signs, from the text of the rule alone. The tests of core and of
the Python package compare every bit, and the counts.
"""

import json
import math
import random
from decimal import Decimal

MASK = (1 << 64) - 1


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


def finalised(word):
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
    return word ^ word >> 31


def flat(rule, path=""):
    """Features by path, of a table that may be nested."""
    found = {}
    for name, entry in rule.items():
        if isinstance(entry.get("range", entry.get("categories")), list) or isinstance(entry.get("hash", {}).get("buckets"), int):
            found[path + name] = entry
        else:
            found.update(flat(entry, path + name + "."))
    return dict(sorted(found.items(), key=lambda item: item[0].encode()))


def look(record, path):
    if isinstance(record, list):
        return next((found for member in record if (found := look(member, path)) is not None), None)
    if not isinstance(record, dict):
        return None
    if record.get(path) is not None:
        return record[path]
    names = path.split(".")
    for cut in range(len(names) - 1, 0, -1):
        head, tail = ".".join(names[:cut]), ".".join(names[cut:])
        if head in record and (found := look(record[head], tail)) is not None:
            return found
    return None


def word(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        # The shortest decimals that give the number back, without an exponent; 3.0 is 3 and -0.0 is 0.
        text = format(Decimal(repr(value + 0.0)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)


def block(encoding, value):
    """Dense coordinates of one feature, and what became of its value."""
    (kind, what), = encoding.items()
    size = {"range": lambda: 1, "categories": lambda: len(what), "hash": lambda: what["buckets"]}[kind]()
    zero = [0.0] * size
    if value is None or isinstance(value, str) and not value.strip():
        return zero, "missing"
    if isinstance(value, (list, dict)):
        return zero, "mistyped"
    if kind == "range":
        if isinstance(value, str):
            try:
                value = {"true": 1.0, "false": 0.0}[value] if value in ("true", "false") else float(value)
            except ValueError:
                return zero, "mistyped"
        value = float(value)
        if math.isnan(value):
            return zero, "missing"
        low, high = map(float, what)
        half = 0.5 * high - 0.5 * low
        place = min(1.0, max(-1.0, (0.5 * value - 0.5 * low) / half * 2.0 - 1.0))
        return [place], None if low <= value <= high else "clipped"
    value = word(value)
    if kind == "categories":
        listed = [word(entry) for entry in what]
        return ([float(entry == value) for entry in listed], None) if value in listed else (zero, "unknown")
    zero[finalised(fnv1a(value.encode())) * size >> 64] = 1.0
    return zero, None


class Rule:
    def __init__(self, rule):
        self.context, self.action = flat(rule.get("context", {})), flat(rule.get("action", {}))
        self.pairs = rule.get("cross", {}).get("with", [])
        self.constant, self.projection = rule.get("constant", True), rule.get("projection")

    def vector(self, context, action, report):
        blocks = {}
        for side, features, record in (("context", self.context, context), ("action", self.action, action)):
            for name, encoding in features.items():
                blocks[side, name], outcome = block(encoding, look(record, name))
                if outcome:
                    counts = report[side].setdefault(name, {"clipped": 0, "unknown": 0, "missing": 0, "mistyped": 0})
                    counts[outcome] += 1
        parts = list(blocks.values())
        parts += [[x * y for x in blocks["context", left] for y in blocks["action", right]] for left, right in self.pairs]
        parts += [[1.0]] if self.constant else []
        total = 0.0
        for part in parts:
            total += math.sqrt(len(part))
        weights = [math.sqrt(math.sqrt(len(part)) / total) for part in parts]
        x = [weight * z for weight, part in zip(weights, parts) for z in part]
        if self.projection is None:
            return x
        tail = [x.pop()] if self.constant else []
        k = self.projection["dimension"] - len(tail)
        columns = [signs(self.projection["seed"], j, k) for j in range(len(x))]
        y = [0.0] * k
        for column, value in zip(columns, x):
            if value != 0.0:
                y = [entry + sign * value for entry, sign in zip(y, column)]
        y = [entry / math.sqrt(k) for entry in y]
        square = 0.0
        for entry in y:
            square += entry * entry
        norm, bound = math.sqrt(square), math.sqrt(1.0 - tail[0] * tail[0]) if tail else 1.0
        if norm > bound:
            report["shortened"] += 1
            y = [entry * (bound / norm) for entry in y]
        return y + tail


def signs(seed, j, k):
    words = -(-k // 64)
    outputs = [finalised(seed + (j * words + n + 1) * 0x9E3779B97F4A7C15 & MASK) for n in range(words)]
    return [1.0 if outputs[i // 64] >> i % 64 & 1 else -1.0 for i in range(k)]


LOOP = {
    "context": {"age": {"range": [18, 80]}, "device": {"categories": ["phone", "computer"]}},
    "action": {"topic": {"categories": ["news", "sport", "music"]}, "length": {"range": [0, 60]}},
    "cross": {"with": [["device", "topic"]]},
}
NESTED = {
    "context": {"user": {"age": {"range": [0.1, 99.7]}, "city": {"hash": {"buckets": 7}}}, "stars": {"categories": [1, 2.5, "many", True]}},
    "action": {"id": {"hash": {"buckets": 32}}, "price.net": {"range": [-3, 1e3]}},
    "cross": {"with": [["user.city", "id"], ["user.age", "price.net"], ["stars", "price.net"]]},
}
RULES = {
    "loop": LOOP,
    "nested": NESTED,
    "without a constant": {**NESTED, "constant": False},
    "context only": {"context": {"a": {"range": [-1, 1]}}},
    "projected": {**LOOP, "projection": {"dimension": 6, "seed": 1}},
    "projected to many": {**NESTED, "projection": {"dimension": 70, "seed": 9007199254740991}},
    "projected without a constant": {**NESTED, "constant": False, "projection": {"dimension": 64, "seed": 0}},
}
RECORDS = [
    ({"age": 31, "device": "phone"}, {"topic": "sport", "length": 12.5}),
    ({"age": "31", "device": "computer"}, {"topic": "music", "length": "1.25e1"}),
    ({"age": 17.99, "device": "tablet"}, {"topic": "", "length": -4}),
    ({"age": None, "device": 3}, {}),
    ({}, {"topic": ["news"], "length": "long"}),
    ([{"user": {"age": 50}}, {"user.city": "Zürich", "stars": 2.5}], [{"id": "a-1"}, {"price": {"net": 17}}]),
    ({"user": [{"age": 1e300}, {"city": "Bern"}], "stars": True}, {"id": 12345678901234567890, "price.net": "999.99"}),
    ({"user": {"age": True, "city": 3.0}, "stars": "1"}, {"id": 3, "price": {"net": False}}),
    ({"user": 3, "stars": 1.0}, {"id": -0.0, "price": {"net": {"deep": 1}}}),
    ({"user": {"age": "NaN", "city": 1e22}, "stars": "2.50"}, {"id": 0.1, "price": {"net": "inf"}}),
    ({"a": 0.3}, {}),
    ([], []),
]


def drawn(rng):
    """Any record that some rule above looks at."""
    words = ["phone", "computer", "news", "sport", "music", "many", "x", "", "0", "Bern", "東京", "17", "-1e3", "true"]
    leaf = lambda: rng.choice([None, True, rng.choice(words), rng.choice(words), rng.randint(-5, 90), rng.uniform(-10, 110), [1], {"z": 1}])
    record = {name: leaf() for name in ("age", "device", "topic", "length", "stars", "id", "a", "user.city") if rng.random() < 0.8}
    record |= {name: {"age": leaf(), "city": leaf(), "net": leaf()} for name in ("user", "price") if rng.random() < 0.8}
    return rng.choice([record, [record], [{"w": 1}, record]])


def print_file(rules, records, checked=Rule):
    """All rules on all records, as the tests read them."""
    cases = []
    for name, rule in rules.items():
        report = {"context": {}, "action": {}, "shortened": 0}
        plan = checked(rule)
        vectors = [plan.vector(context, action, report) for context, action in records]
        cases.append({"name": name, "rule": rule, "report": report, "vectors": vectors})
    print('{"records": [')
    print(",\n".join(json.dumps(record, ensure_ascii=False) for record in records))
    print('], "cases": [')
    for index, case in enumerate(cases):
        head = json.dumps({key: case[key] for key in ("name", "rule", "report")}, ensure_ascii=False)
        print(("," if index else "") + head[:-1] + ', "vectors": [')
        # A vector is written as its entries that are not zero: index, value.
        rows = [json.dumps([[i, x] for i, x in enumerate(vector) if x != 0.0]) for vector in case["vectors"]]
        print(",\n".join(rows))
        print('], "dimension": %d}' % len(case["vectors"][0]))
    print("]}")


if __name__ == "__main__":
    rng = random.Random(7)
    print_file(RULES, RECORDS + [(drawn(rng), drawn(rng)) for _ in range(40)])
