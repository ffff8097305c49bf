"""Made-up files for the nonlinear_*.toml, with nothing but Python: python3 examples/make_shapes.py

Three tables in which no straight line tells classes apart: rings.csv, three rings around a point; squares.csv, a board of four squares (XOR); and
hours.csv, an hour of the day, of which 7 to 10 has one class and 18 to 22 another. One line in ten has a class by chance.
"""

import math
import random
from pathlib import Path

random.seed(11)
folder = Path("results/shapes")
folder.mkdir(parents=True, exist_ok=True)


def write(name, names, draw, classes):
    with open(folder / name, "w") as out:
        out.write(",".join(names + ["label"]) + "\n")
        for _ in range(20_000):
            numbers, label = draw()
            label = random.choice(classes) if random.random() < 0.1 else label
            out.write(",".join(f"{x:.4f}" for x in numbers) + f",{label}\n")


def ring():
    x, y = random.uniform(-1, 1), random.uniform(-1, 1)
    return [x, y], "inner" if math.hypot(x, y) < 0.45 else "middle" if math.hypot(x, y) < 0.85 else "outer"


def square():
    x, y = random.uniform(-1, 1), random.uniform(-1, 1)
    return [x, y], "same" if (x > 0) == (y > 0) else "different"


def hour():
    at = random.uniform(0, 24)
    return [at], "commute" if 7 <= at < 10 else "evening" if 18 <= at < 22 else "other"


write("rings.csv", ["x", "y"], ring, ["inner", "middle", "outer"])
write("squares.csv", ["x", "y"], square, ["same", "different"])
write("hours.csv", ["hour"], hour, ["commute", "evening", "other"])
