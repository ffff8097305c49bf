"""Writes data that ship with scikit-learn and statsmodels as CSV, so that the examples find real people.

    pip install scikit-learn statsmodels
    python examples/export_records.py            # writes into results/

No data are kept in this repository; they come from the installed packages.
"""

import csv
import pathlib
import random

import statsmodels.api as statsmodels
from sklearn.datasets import load_breast_cancer

FOLDER = pathlib.Path("results")


def write(name, names, rows):
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / name).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


# Three attributes a physician would ask for first, of 569 people; 1 is benign.
cancer = load_breast_cancer()
names = ["worst radius", "worst concave points", "worst texture"]
columns = [list(cancer.feature_names).index(name) for name in names]
rows = [[*(float(row[column]) for column in columns), int(label)] for row, label in zip(cancer.data, cancer.target)]
write("breast_cancer.csv", [*names, "benign"], rows)

# 6366 answers to a magazine's survey that few would answer in the clear (Fair 1978): an affair, or none?
survey = statsmodels.datasets.fair.load_pandas().data
names = ["rate_marriage", "yrs_married", "religious"]
rows = [[*(float(person[name]) for name in names), int(person["affairs"] > 0)] for _, person in survey.iterrows()]
random.Random(1).shuffle(rows)
write("survey.csv", [*names, "affair"], rows)

# The same in two parts, where every person has picked a level. The levels are invented: no data set comes with any.
levels = random.Random(2).choices(["inf", 16, 8, 0], weights=[1, 6, 2, 1], k=len(rows))
people = [[*row[:3], level, row[3]] for row, level in zip(rows, levels)]
held_out = len(rows) // 4
write("survey_people.csv", [*names, "epsilon", "affair"], people[held_out:])
write("survey_others.csv", [*names, "affair"], rows[:held_out])
