"""The learner of classes.toml as a product would run it, with secure noise: python3 examples/make_classes.py && python examples/classes.py"""

import csv

import numpy
import reticent

with open("results/classes/signals.csv") as file:
    people = list(csv.DictReader(file))
states = sorted({person["label"] for person in people})  # public, as the numbers' ranges are
features = reticent.Features(context={f"x{i}": {"range": [0, 15]} for i in range(9)}, constant=False)
bandit = reticent.JointBandit(
    features.dimension + 1, epsilon=1.0, delta=1e-6, horizon=len(people), rewards=(0.0, 1.0),
    intercept=0.5**0.5, blocks=len(states))

right = 0
for person in people:
    label = person.pop("label")
    x = features.vector({name: float(cell) for name, cell in person.items()})
    # As a table has it: the direction of the features, and a constant as long as it.
    row = numpy.append(x / max(numpy.linalg.norm(x), 1e-300), 1.0) * 0.5**0.5
    arms = reticent.Arms(numpy.tile(row, (len(states), 1)), blocks=range(len(states)))
    ticket, arm = bandit.decide(arms)
    reward = float(states[arm] == label)
    bandit.observe(ticket, reward)
    right += int(reward)

print(f"right: {right / len(people):.4f} of {len(people)} people; (epsilon, delta) = ({bandit.guarantee.epsilon:.4f}, {bandit.guarantee.delta})")
