"""Made-up files for items.toml, logged.toml and the files thompson_*.toml, with nothing but Python: python3 examples/make_logs.py [lines of the log]

A newspaper: articles with a length and a topic, readers with an age, how they rated what they read (1 to 5), and a log of which of three
headlines was shown on the front page, with which probability, and whether it was clicked; and which topic each of 3000 visitors likes best.
"""

import random
import sys
from pathlib import Path

random.seed(8)
folder = Path("results/newspaper")
folder.mkdir(parents=True, exist_ok=True)
topics = ["politics", "sport", "science"]

articles = [(f"article {i}", random.randint(200, 2000), random.choice(topics)) for i in range(60)]
with open(folder / "articles.csv", "w") as out:
    out.write("item,words,topic\n")
    out.writelines(f"{name},{words},{topic}\n" for name, words, topic in articles)

readers = [(f"reader {i}", random.randint(18, 80)) for i in range(3000)]
with open(folder / "readers.csv", "w") as out:
    out.write("person,age\n")
    out.writelines(f"{name},{age}\n" for name, age in readers)


def liking(age, words, topic):
    """From 1 to 5: the young like science and short pieces, the old politics and long ones."""
    old = (age - 49) / 31
    long = (words - 1100) / 900
    return 3 + 0.9 * old * long + {"politics": 0.9 * old, "sport": 0.0, "science": -0.9 * old}[topic]


with open(folder / "ratings.csv", "w") as out:
    out.write("person,item,rating\n")
    for name, age in readers:
        for item, words, topic in random.sample(articles, random.randint(3, 8)):
            rating = min(5, max(1, round(liking(age, words, topic) + random.gauss(0, 0.5))))
            out.write(f"{name},{item},{rating}\n")

lines = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
shares = [0.5, 0.3, 0.2]
with open(folder / "log.csv", "w") as out:
    out.write("age,evening,device,headline,propensity,clicked\n")
    for _ in range(lines):
        age, evening = random.randint(18, 80), random.randint(0, 1)
        device = random.choice(["phone", "tablet", "computer"])
        shown = random.choices([0, 1, 2], shares)[0]
        old = (age - 49) / 31
        chance = [0.4 + 0.3 * old, 0.4 - 0.3 * old, 0.35 + 0.3 * (device == "phone") * evening][shown]
        clicked = int(random.random() < chance)
        out.write(f"{age},{evening},{device},{topics[shown]},{shares[shown]},{clicked}\n")

with open(folder / "favourites.csv", "w") as out:
    out.write("age,evening,device,topic\n")
    for _ in range(3000):
        age, evening = random.randint(18, 80), random.randint(0, 1)
        device = random.choice(["phone", "tablet", "computer"])
        old = (age - 49) / 31
        likes = [old, 0.8 * (device == "phone") * evening - 0.2, -old]
        noisy = [like + random.gauss(0, 0.4) for like in likes]
        out.write(f"{age},{evening},{device},{topics[noisy.index(max(noisy))]}\n")
print(f"wrote {folder}: articles, readers, ratings, favourites, and a log of {lines} lines")
