"""Made-up files for blocks.toml, with nothing but Python: python3 examples/make_classes.py

Two tables of the shape of well-known ones: letters.csv, 20,000 lines of 16 numbers from 0 to 15 and one of 26 letters, each written in four
styles; and signals.csv, 58,000 lines of nine numbers and one of seven states, of which one has 78.6 % of all lines.
"""

import random
from pathlib import Path

random.seed(5)
folder = Path("results/classes")
folder.mkdir(parents=True, exist_ok=True)


def write(name, lines, features, shares, styles, spread, noise):
    """Every class has some centres around one of its own; a line is a centre, with noise."""
    centres = {}
    for label in shares:
        own = [random.gauss(7.5, spread) for _ in range(features)]
        centres[label] = [[x + random.gauss(0, noise) for x in own] for _ in range(styles)]
    labels, weights = list(shares), list(shares.values())
    with open(folder / name, "w") as out:
        out.write(",".join([f"x{i}" for i in range(features)] + ["label"]) + "\n")
        for label in random.choices(labels, weights, k=lines):
            centre = random.choice(centres[label])
            cells = [min(15, max(0, round(random.gauss(x, noise)))) for x in centre]
            out.write(",".join(map(str, cells)) + f",{label}\n")


write("letters.csv", 20_000, 16, {chr(65 + i): 1 for i in range(26)}, 6, 1.1, 1.9)
states = {"a": 0.786, "b": 0.1535, "c": 0.0565, "d": 0.003, "e": 0.0006, "f": 0.0002, "g": 0.0002}
write("signals.csv", 58_000, 9, states, 2, 0.7, 1.3)
