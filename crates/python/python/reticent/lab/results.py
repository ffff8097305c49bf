"""The results of an experiment: arrays, a data frame, a figure."""

from __future__ import annotations

import csv
import dataclasses
import functools
import html
import json
import os
import pathlib

import numpy

from .. import _core


@dataclasses.dataclass
class Algorithm:
    """The results of one algorithm."""

    name: str
    #: The rounds after which the regret was recorded.
    rounds: numpy.ndarray
    #: One row a trial, one column a recorded round.
    regret: numpy.ndarray
    # : The guarantee, as in `summary.json`, or None; not checked if `provenance` is "stated"; for a run on seeded noise (`simulated`), that
    # of the same run on secure noise.
    guarantee: dict | None = None
    nanoseconds_per_round: float | None = None
    #: Other measures by name, as in `summary.json`: accuracy, the estimates from a log, ... with `mean` and `interval_95`.
    measures: dict[str, dict] = dataclasses.field(default_factory=dict)
    # : The measure that is shown before the regret, if any.
    headline: str | None = None

    @property
    def mean(self) -> numpy.ndarray:
        """The mean regret after every recorded round."""
        return self.regret.mean(axis=0)

    @property
    def standard_error(self) -> numpy.ndarray:
        """Its standard error; zero for a single trial, where it is unknown."""
        trials = len(self.regret)
        return self.regret.std(axis=0, ddof=1) / trials**0.5 if trials > 1 else numpy.zeros(self.regret.shape[1])

    @property
    def median(self) -> numpy.ndarray:
        """The median regret over trials after every recorded round."""
        return numpy.median(self.regret, axis=0)

    @property
    def percentile_95(self) -> numpy.ndarray:
        """The 95th percentile of the regret over trials."""
        return numpy.percentile(self.regret, 95, axis=0)

    @functools.cached_property
    def _over_trials(self):
        return _core._over_trials(self.rounds.tolist(), self.regret.tolist())

    @property
    def interval_95(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Lower and upper end of the interval of 95 % for the mean, as in tables and figures; NaN for fewer than three trials."""
        low, high, _ = self._over_trials
        return numpy.array(low), numpy.array(high)

    @property
    def stuck(self) -> numpy.ndarray:
        """Trials that stopped learning, as a mask: late losses per round at least half the early ones, and a total loss of at least twice the median."""
        return numpy.array(self._over_trials[2], dtype=bool)


_SIMULATION = "* simulation: seeded noise protects no person; the same run on secure noise would have this guarantee"


_STATED = "# stated, not checked: nothing shows that the policy does what this number is the price of; lab.audit can refute it"


def _stated(promise):
    return promise is not None and promise.get("provenance", "computed") == "stated"


def _simulated(promise):
    return promise is not None and bool(promise.get("simulated"))


class Results:
    """The results of an experiment that ran here, on a cluster or on the command line.

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
        #: The numbers of computed, resumed and damaged trials, if the experiment was run by this process.
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
                    dict(entry.get("measures", [])),
                    entry.get("headline"),
                )
            )
        return cls(summary["name"], algorithms, summary, folder)

    def __getitem__(self, name: str) -> Algorithm:
        for algorithm in self.algorithms:
            if algorithm.name == name:
                return algorithm
        raise KeyError(f"name: got {name!r}; expected one of {', '.join(map(repr, self.names))}")

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
        """The guarantees by name; None for algorithms without one. If `simulated` is true, the noise was seeded and protected no person."""
        return {algorithm.name: algorithm.guarantee for algorithm in self.algorithms}

    @property
    def final_regret(self) -> dict[str, float]:
        """The mean regret after the last round, by name."""
        return {algorithm.name: float(algorithm.mean[-1]) for algorithm in self.algorithms}

    @property
    def measures(self) -> dict[str, dict[str, dict]]:
        """Measures other than the regret, by algorithm and name."""
        return {algorithm.name: algorithm.measures for algorithm in self.algorithms}

    def table(self):
        """One line for every algorithm: the headline measure, the regret over trials, the guarantee; needs pandas."""
        import pandas

        def line(algorithm):
            low, high = algorithm.interval_95
            first = algorithm.measures.get(algorithm.headline, {})
            ends = first.get("interval_95") or (None, None)
            named = {algorithm.headline: first.get("mean"), f"{algorithm.headline}, low": ends[0], f"{algorithm.headline}, high": ends[1]}
            promise = algorithm.guarantee or {}
            return {
                "algorithm": algorithm.name,
                **(named if first else {}),
                "mean": algorithm.mean[-1],
                "standard_error": algorithm.standard_error[-1],
                "low": low[-1],
                "high": high[-1],
                "median": algorithm.median[-1],
                "percentile_95": algorithm.percentile_95[-1],
                "stuck_trials": int(algorithm.stuck.sum()),
                "trials": len(algorithm.regret),
                "epsilon": promise.get("epsilon"),
                "delta": promise.get("delta"),
                # "computed" by the accountant, or "stated" by a user and not checked.
                "certificate": promise.get("provenance"),
                "simulated": promise.get("simulated"),
            }

        return pandas.DataFrame([line(algorithm) for algorithm in self.algorithms]).set_index("algorithm")

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
        """Mean regret with its interval of 95 %, and the median dotted; needs matplotlib (`pip install "reticent[plot]"`). Returns the axes."""
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.figure().add_subplot()
        for algorithm in self.algorithms:
            stuck = f", {algorithm.stuck.sum()} of {len(algorithm.stuck)} stuck" if algorithm.stuck.any() else ""
            (line,) = ax.plot(algorithm.rounds, algorithm.mean, label=algorithm.name + stuck)
            ax.fill_between(algorithm.rounds, *algorithm.interval_95, color=line.get_color(), alpha=0.2, linewidth=0)
            if len(algorithm.regret) > 2:
                ax.plot(algorithm.rounds, algorithm.median, ":", color=line.get_color(), linewidth=1, label="_median")
        if log:
            ax.set_xscale("log")
        ax.set_xlabel("round")
        ax.set_ylabel("regret")
        ax.set_title(self.name)
        ax.legend()
        return ax

    @property
    def _headline(self):
        """The headline measure, if it is the same for all algorithms."""
        first = {algorithm.headline for algorithm in self.algorithms}
        return first.pop() if len(first) == 1 else None

    def _rows(self):
        for algorithm in self.algorithms:
            promise = algorithm.guarantee
            mark = (" *" if _simulated(promise) else "") + (" #" if _stated(promise) else "")
            first = algorithm.measures.get(self._headline, {})
            ends = first.get("interval_95")
            several = len(algorithm.regret) > 1
            low, high = (end[-1] for end in algorithm.interval_95)
            value = first.get("mean")
            yield (
                algorithm.name,
                *([] if self._headline is None else ["" if value is None else f"{value:.4g}", f"{ends[0]:.4g} to {ends[1]:.4g}" if ends else ""]),
                f"{algorithm.mean[-1]:.6g}",
                f"{algorithm.standard_error[-1]:.2g}" if several else "",
                f"{low:.5g} to {high:.5g}" if several else "",
                f"{algorithm.median[-1]:.6g}",
                f"{algorithm.percentile_95[-1]:.6g}",
                f"{algorithm.stuck.sum()} of {len(algorithm.stuck)}" if len(algorithm.stuck) > 2 else "",
                "" if promise is None else f"{promise['epsilon']:.4g}{mark}",
                "" if promise is None else f"{promise['delta']:.0e}{mark}",
            )

    @property
    def _note(self):
        """The explanation of the marks, if there are any."""
        promises = self.guarantees.values()
        notes = [note for note, marked in ((_SIMULATION, _simulated), (_STATED, _stated)) if any(map(marked, promises))]
        return "\n".join(notes)

    @property
    def _header(self):
        first = () if self._headline is None else (self._headline, "95 % interval")
        regret = ("final regret", "standard error", "95 % interval", "median", "95th percentile", "stuck")
        return ("algorithm", *first, *regret, "epsilon", "delta")

    def __repr__(self):
        rows = [self._header, *self._rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(self._header))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([self.name, *lines, *filter(None, [self._note])])

    def _repr_html_(self):
        def line(cells, tag):
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line(row, "td") for row in self._rows())
        note = f"<p>{html.escape(self._note)}</p>" if self._note else ""
        return f"<p>{html.escape(self.name)}</p><table>{line(self._header, 'th')}{body}</table>{note}"
