"""Experiments from Python: the runner of the command line, with results as arrays.

>>> from reticent import lab
>>> results = lab.run({
...     "name": "a private bandit on a gap environment",
...     "rounds": 20_000, "trials": 2, "seed": 7,
...     "environment": {"kind": "gap", "dimension": 5, "arms": 25, "gap": 0.1},
...     "algorithm": [{"kind": "linucb"}, {"kind": "joint", "privacy": {"epsilon": 1.0, "delta": 1e-6}}],
... })
>>> len(results.names), results.regret[results.names[0]].shape[0]
(2, 2)
>>> results.guarantees[results.names[1]]["epsilon"] <= 1.0
True

| file | contents |
| --- | --- |
| `experiment` | an experiment from a file, a text or a dictionary: run, certify, reproduce, plan |
| `engines` | its shards on this machine, on Ray or on Dask |
| `results` | its results: arrays, data frame, figure |
| `own` | your own environments and policies in the same loop and the same audit; a data set of classes as a bandit |
| `progress` | progress display in a notebook or on a terminal |
"""

from .._core import Environment, SimulatedBandit, SimulatedDevices, SimulatedPerson, SimulatedShuffler, SimulationNoise, trial_seeds
from .experiment import Certified, certify, merge, plan, reproduce, run
from .own import Classification, Findings, audit, play
from .results import Algorithm, Results

__all__ = [
    "Algorithm",
    "Certified",
    "Classification",
    "Environment",
    "Findings",
    "Results",
    "SimulatedBandit",
    "SimulatedDevices",
    "SimulatedPerson",
    "SimulatedShuffler",
    "SimulationNoise",
    "audit",
    "certify",
    "merge",
    "plan",
    "play",
    "reproduce",
    "run",
    "trial_seeds",
]
