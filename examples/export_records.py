"""Writes data that ship with scikit-learn as CSV, so that `reticent run examples/breast_cancer.toml` finds real people.

    pip install scikit-learn
    python examples/export_records.py            # writes results/breast_cancer.csv and results/digits.csv

No data are kept in this repository; they come from the installed package.
"""

import csv
import pathlib

from sklearn.datasets import load_breast_cancer, load_digits

FOLDER = pathlib.Path("results")


def write(name, names, rows, labels):
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / name).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*(name.replace(",", " ") for name in names), "label"])
        for row, label in zip(rows, labels):
            writer.writerow([*(repr(float(value)) for value in row), int(label)])


cancer = load_breast_cancer()
write("breast_cancer.csv", cancer.feature_names, cancer.data, cancer.target)
# Three attributes a physician would ask for first.
few = [list(cancer.feature_names).index(name) for name in ("worst radius", "worst concave points", "worst texture")]
write("breast_cancer_few.csv", cancer.feature_names[few], cancer.data[:, few], cancer.target)
digits = load_digits()
write("digits.csv", digits.feature_names, digits.data, digits.target >= 5)
