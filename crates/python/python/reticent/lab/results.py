"""What came of an experiment: arrays, a data frame, a figure."""

from __future__ import annotations

import csv
import dataclasses
import html
import json
import os
import pathlib

import numpy


@dataclasses.dataclass
class Algorithm:
    """What came of one algorithm."""

    name: str
    #: The rounds after which the regret was recorded.
    rounds: numpy.ndarray
    #: One row a trial, one column a recorded round.
    regret: numpy.ndarray
    #: What may be promised, as in `summary.json`, or None; where `provenance` is "stated" nobody has checked it; of a run on seeded noise (`simulated`) what the same run on secure noise would.
    guarantee: dict | None = None
    nanoseconds_per_round: float | None = None

    @property
    def mean(self) -> numpy.ndarray:
        """The mean regret after every recorded round."""
        return self.regret.mean(axis=0)

    @property
    def standard_error(self) -> numpy.ndarray:
        """Its standard error; zero for a single trial, where it is unknown."""
        trials = len(self.regret)
        return self.regret.std(axis=0, ddof=1) / trials**0.5 if trials > 1 else numpy.zeros(self.regret.shape[1])


_SIMULATION = "* simulation: seeded noise protects nobody; the same run on secure noise would have this guarantee"


_STATED = "# stated, not checked: nothing shows that the policy does what this number is the price of; lab.audit can refute it"


def _stated(promise):
    return promise is not None and promise.get("provenance", "computed") == "stated"


def _simulated(promise):
    return promise is not None and bool(promise.get("simulated"))


class Results:
    """What came of an experiment, whether it ran here, on a cluster or on the command line.

    >>> from reticent import lab
    >>> class Always:
    ...     def choose(self, arms, round):
    ...         return 0
    ...     def observe(self, round, features, reward):
    ...         pass
    >>> results = lab.play(lambda seed: lab.Environment.gap(3, 5, seed=seed), {"always 0": lambda seed: Always()}, rounds=100, trials=3)
    >>> results.regret["always 0"].shape[0]
    3
    """

    def __init__(self, name, algorithms, summary=None, folder=None):
        self.name = name
        self.algorithms = list(algorithms)
        #: The whole of `summary.json`, where there is one.
        self.summary = summary
        self.folder = folder
        #: How many trials were computed, resumed and damaged, where they were run.
        self.outcome = None

    @classmethod
    def load(cls, folder: str | os.PathLike) -> Results:
        """Reads a folder that `run`, `reticent run` or `reticent merge` wrote."""
        folder = pathlib.Path(folder)
        summary = json.loads((folder / "summary.json").read_text())
        curves: dict[str, dict[int, list]] = {}
        with open(folder / "results.csv", newline="") as lines:
            for row in csv.DictReader(lines):
                trial = curves.setdefault(row["algorithm"], {}).setdefault(int(row["trial"]), [])
                trial.append((int(row["round"]), float(row["regret"])))
        algorithms = []
        for entry in summary["algorithms"]:
            trials = numpy.array([curves[entry["name"]][trial] for trial in sorted(curves[entry["name"]])])
            algorithms.append(
                Algorithm(
                    entry["name"],
                    trials[0, :, 0].astype(numpy.int64),
                    trials[:, :, 1],
                    entry["guarantee"],
                    entry["nanoseconds_per_round"],
                )
            )
        return cls(summary["name"], algorithms, summary, folder)

    def __getitem__(self, name: str) -> Algorithm:
        for algorithm in self.algorithms:
            if algorithm.name == name:
                return algorithm
        raise KeyError(f"{name!r}: there are {', '.join(map(repr, self.names))}")

    @property
    def names(self) -> list[str]:
        """The algorithms, in the experiment's order."""
        return [algorithm.name for algorithm in self.algorithms]

    @property
    def regret(self) -> dict[str, numpy.ndarray]:
        """Arrays (trial, recorded round) by name."""
        return {algorithm.name: algorithm.regret for algorithm in self.algorithms}

    @property
    def guarantees(self) -> dict[str, dict | None]:
        """What may be promised, by name; None where nothing is. Where `simulated` is true the noise was seeded and protected nobody."""
        return {algorithm.name: algorithm.guarantee for algorithm in self.algorithms}

    @property
    def final_regret(self) -> dict[str, float]:
        """The mean regret after the last round, by name."""
        return {algorithm.name: float(algorithm.mean[-1]) for algorithm in self.algorithms}

    def frame(self):
        """One line for every algorithm, trial and recorded round; needs pandas (`pip install "reticent[frame]"`)."""
        import pandas

        parts = []
        for algorithm in self.algorithms:
            trials, points = algorithm.regret.shape
            parts.append(
                pandas.DataFrame(
                    {
                        "algorithm": algorithm.name,
                        "trial": numpy.repeat(numpy.arange(trials), points),
                        "round": numpy.tile(algorithm.rounds, trials),
                        "regret": algorithm.regret.ravel(),
                    }
                )
            )
        return pandas.concat(parts, ignore_index=True)

    def plot(self, ax=None, *, log=True):
        """Mean regret with two standard errors; needs matplotlib (`pip install "reticent[plot]"`). Returns the axes."""
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.figure().add_subplot()
        for algorithm in self.algorithms:
            mean, band = algorithm.mean, 2 * algorithm.standard_error
            (line,) = ax.plot(algorithm.rounds, mean, label=algorithm.name)
            ax.fill_between(algorithm.rounds, mean - band, mean + band, color=line.get_color(), alpha=0.2, linewidth=0)
        if log:
            ax.set_xscale("log")
        ax.set_xlabel("round")
        ax.set_ylabel("regret")
        ax.set_title(self.name)
        ax.legend()
        return ax

    def _rows(self):
        for algorithm in self.algorithms:
            promise = algorithm.guarantee
            mark = (" *" if _simulated(promise) else "") + (" #" if _stated(promise) else "")
            yield (
                algorithm.name,
                f"{algorithm.mean[-1]:.6g}",
                f"{algorithm.standard_error[-1]:.2g}" if len(algorithm.regret) > 1 else "",
                "" if promise is None else f"{promise['epsilon']:.4g}{mark}",
                "" if promise is None else f"{promise['delta']:.0e}{mark}",
            )

    @property
    def _note(self):
        """What the marks say, where there are any."""
        promises = self.guarantees.values()
        notes = [note for note, marked in ((_SIMULATION, _simulated), (_STATED, _stated)) if any(map(marked, promises))]
        return "\n".join(notes)

    _HEADER = ("algorithm", "final regret", "standard error", "epsilon", "delta")

    def __repr__(self):
        rows = [self._HEADER, *self._rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(self._HEADER))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([self.name, *lines, *filter(None, [self._note])])

    def _repr_html_(self):
        def line(cells, tag):
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line(row, "td") for row in self._rows())
        note = f"<p>{html.escape(self._note)}</p>" if self._note else ""
        return f"<p>{html.escape(self.name)}</p><table>{line(self._HEADER, 'th')}{body}</table>{note}"
