"""Your own environments and policies in the laboratory's simulation and audit, and classification data sets as bandits."""

from __future__ import annotations

import copy
import csv
import inspect
import json
import os
import pathlib
import warnings
from collections.abc import Mapping
from typing import Any

import numpy
import numpy.typing

from .. import _core
from .results import Algorithm, Results


def play(
    environment: Any,
    policies: Mapping[str, Any],
    rounds: int,
    trials: int = 1,
    seed: int = 0,
    *,
    delay: float = 0.0,
    lost: float = 0.0,
    name: str = "play",
) -> Results:
    """Plays every policy in the environment, trial by trial, and returns `Results`.

    environment     a function of a seed that makes one, or one that is copied for each policy: an object with `arms()`, which opens a
                    round and returns an array with one arm a row, `means()` and `reward(arm)`
    policies        functions of a seed that make one, by name: a learner of this package, or any object with
                    `decide(arms) -> (ticket, arm)` and `observe(ticket, reward)`, or with
                    `choose(arms, round) -> arm` and `observe(round, features, reward)`
    delay, lost     rewards come `delay` rounds late on average, and a share `lost` of them never

    A learner of this package has a computed guarantee. A `guarantee` of any other object is shown as stated, not checked: `audit`
    runs the policy to refute it. A reward that is not finite is refused; rewards that a learner of this package clips to its bounds are counted
    in a warning.

    >>> import reticent
    >>> from reticent import lab
    >>> results = lab.play(
    ...     lambda seed: lab.Environment.gap(dimension=5, arms=25, gap=0.1, seed=seed),
    ...     {
    ...         "LinUCB": lambda seed: reticent.LinUCB(5),
    ...         "private": lambda seed: reticent.JointBandit(5, epsilon=1.0, delta=1e-6, horizon=2000),
    ...     },
    ...     rounds=2000,
    ... )
    >>> results.final_regret["LinUCB"] < results.final_regret["private"]
    True
    """
    if trials < 1:
        raise _core.ReticentError(f"trials: got {trials}; expected a whole number above 0")
    algorithms = []
    for label, policy in policies.items():
        curves, promise, clipped = [], None, 0
        for trial in range(trials):
            # Every trial has its own seed, and all policies get the same environments.
            number = (seed + 1) * 1_000_003 + trial
            trial_environment = environment(number) if _makes(environment, "arms") else copy.deepcopy(environment)
            learner = policy
            if _makes(policy, "decide", "choose"):
                learner = _made(label, policy, number)
            elif trials > 1:
                raise _core.ReticentError(
                    f"policy {label!r}: got one object; expected a function that makes a new one for every trial"
                )
            _check(label, learner)
            recorded, regret, count = _core.play_trial(trial_environment, learner, rounds, delay, lost, number)
            clipped += count
            curves.append(regret)
            promise = _promise(learner)
        if clipped:
            warnings.warn(
                f"policy {label!r} clipped {clipped} of {rounds * trials} rewards: they lie outside its bounds, and it learns from other numbers than the "
                "environment's; give it their range, such as rewards=(0.0, 10.0)",
                stacklevel=2,
            )
        promise = None if promise is None else promise.to_dict()
        algorithms.append(Algorithm(label, recorded.astype(numpy.int64), numpy.array(curves), promise))
    return Results(name, algorithms)


def _makes(value, *methods):
    """True if `value` is a function or a class that makes an object, not an object with one of these methods."""
    return isinstance(value, type) or (callable(value) and not any(hasattr(value, method) for method in methods))


def _made(label, policy, seed):
    """A policy of this seed."""
    if not _takes(policy, 1):
        raise _core.ReticentError(f"policy {label!r}: got {policy!r}; it is called with a seed; expected a function or a class of one argument")
    return policy(seed)


def _check(label, learner):
    """Refuses a policy whose methods cannot be called as they will be; exceptions that they raise are not touched."""
    ways = {"decide": "arms", "observe": "ticket, reward"} if hasattr(learner, "decide") else {"choose": "arms, round", "observe": "round, features, reward"}
    for method, arguments in ways.items():
        function = getattr(learner, method, None)
        if not callable(function) or not _takes(function, arguments.count(",") + 1):
            given = f"got {method}{inspect.signature(function)}" if callable(function) else "missing"
            raise _core.ReticentError(f"{method} of policy {label!r}: {given}; it is called as {method}({arguments}); define {method}(self, {arguments})")


def _takes(function, count):
    """True if a function can be called with this number of arguments, as far as Python knows."""
    try:
        inspect.signature(function).bind(*range(count))
    except ValueError:
        return True
    except TypeError:
        return False
    return True


#: Learners that own the aggregator whose guarantee they state. They cannot be subclassed, so their type determines their behaviour.
_OURS = (_core.JointBandit, _core.SimulatedBandit, _core.LinUCB)


def _promise(learner):
    """The guarantee of a policy: computed for our own learners, stated for everything else."""
    promise = getattr(learner, "guarantee", None)
    if not isinstance(promise, _core.Guarantee):
        return None
    return promise if type(learner) in _OURS else promise.stated()


class Findings:
    """The results of an audit; printed as a table."""

    def __init__(self, document: str, table: str) -> None:
        found = json.loads(document)
        #: One dictionary for every attack, with the fields of `reticent audit --json`.
        self.audits: list[dict[str, Any]] = found["audits"]
        #: Policies that were not attacked, with the reason.
        self.not_audited: list[dict[str, str]] = found["not_audited"]
        self._table = table

    @property
    def violated(self) -> list[str]:
        """The policies whose guarantee was refuted, at the given confidence."""
        names = [audit["algorithm"] for audit in self.audits if audit["verdict"] == "violated"]
        return list(dict.fromkeys(names))

    def __repr__(self) -> str:
        return self._table.rstrip("\n")


def audit(
    environment: Any,
    policies: Mapping[str, Any],
    rounds: int = 160,
    *,
    rewards: tuple[float, float] = (0.0, 1.0),
    samples: int | None = None,
    seed: int = 1,
    confidence: float = 0.95,
) -> Findings:
    """Runs every policy many times with one person's features and reward replaced, and reports whether its guarantee can be true.

    environment     as for `play`; its people are drawn once, and are the same in every run
    policies        functions of a seed that make one, by name, as for `play`; their `guarantee` is attacked
    rewards         the lowest and the highest reward: the replaced person has one of the two
    samples         runs of each of the two data sets; by default enough to refute the guarantee

    The replaced people are the first one, some drawn at random from all rounds, and those whom a screening suspects; the table and the field
    `positions` of every audit name their rounds. An adversary sees the choices made for all people after that person, and the exceptions of the
    policy. `violated`: the guarantee is false, with a false-alarm rate of 1e-6. `consistent`: these attacks do not refute it, which proves
    nothing. `vacuous`: choices never depended on data in this audit, so nothing was tested; give more rounds.

    >>> import reticent
    >>> from reticent import lab
    >>> class Leak:
    ...     guarantee = reticent.privacy.Event.gaussian(sensitivity=1.0, sigma=5.0).guarantee("joint", delta=1e-6)
    ...     last = 0.0
    ...     def choose(self, arms, round):
    ...         return int(self.last > 0.5)
    ...     def observe(self, round, features, reward):
    ...         self.last = reward
    >>> environment = lambda seed: lab.Environment.sphere(dimension=3, arms=4, seed=seed)
    >>> lab.play(environment, {"leak": lambda seed: Leak()}, rounds=100).guarantees["leak"]["provenance"]
    'stated'
    >>> lab.audit(environment, {"leak": lambda seed: Leak()}, rounds=12, samples=1000).violated       # the leak is obvious
    ['leak']
    """
    if rounds < 2:
        raise _core.ReticentError(f"rounds: got {rounds}; expected a whole number above 1")
    named = []
    for label, policy in policies.items():
        if not _makes(policy, "decide", "choose"):
            raise _core.ReticentError(f"policy {label!r}: got one object; expected a function that makes a new one for every run")
        learner = _made(label, policy, seed)
        _check(label, learner)
        named.append((label, policy, _promise(learner)))
    people, others = (_record(environment, number, rounds) for number in (seed, seed + 1))
    return Findings(*_core.audit_policies(named, people, others, rewards, (samples, seed, confidence)))


def _record(environment, seed, rounds):
    """Decision sets of an environment with the reward of the first arm of each."""
    started = environment(seed) if _makes(environment, "arms") else copy.deepcopy(environment)
    return [(numpy.array(started.arms(), dtype=float), float(started.reward(0))) for _ in range(rounds)]


class Classification:
    """A scikit-learn data set as a bandit: one arm per class, reward 1 for the right one.

    Every round a line is drawn. The arms are those of `kind = "table"` in an experiment file: columns scaled to [-1, 1] by
    their own ranges, which must be public, in one block for each class, and a constant they share. It can be given to `play`, or as the
    environment of `run`, which can compare all trust models.

    `run` reads files, so it writes the data, without protection, to `<folder>.private-data.csv`: beside the folder of results, which people
    share, and not in it; readable by its owner only. The same call needs it again to continue; delete it when you are done.

    >>> import numpy, reticent
    >>> from reticent import lab
    >>> X = numpy.random.default_rng(1).uniform(-1, 1, (300, 2))
    >>> y = numpy.where(X[:, 0] > 0, "right", "left")
    >>> data = lab.Classification(X, y)
    >>> data.dimension, data.classes.tolist()
    (7, ['left', 'right'])
    >>> results = lab.play(data, {"LinUCB": reticent.LinUCB(data.dimension)}, rounds=2000)
    >>> results.final_regret["LinUCB"] < 500       # guessing errs in half of the rounds
    True
    """

    def __init__(self, X: numpy.typing.ArrayLike, y: numpy.typing.ArrayLike, seed: int = 0) -> None:
        self.X = numpy.asarray(X, dtype=float)
        labels = numpy.asarray(y)
        if self.X.ndim != 2 or labels.shape != self.X.shape[:1]:
            raise _core.ReticentError(
                f"X, y: got shapes {self.X.shape}, {labels.shape}; expected one line of X for every entry of y"
            )
        if not numpy.isfinite(self.X).all():
            raise _core.ReticentError("X: got values that are not finite; fill in missing values, or leave the line out")
        self.classes, self.y = numpy.unique(labels.astype(str), return_inverse=True)
        if not 2 <= len(self.classes) <= 100:
            raise _core.ReticentError(f"y: got {len(self.classes)} different values; one arm is made of each; expected 2 to 100")
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        span = numpy.where(high > low, high - low, 1.0)
        scaled = numpy.where(high > low, 2.0 * (self.X - low) / span - 1.0, 0.0)
        lines = numpy.hstack([scaled, numpy.ones((len(scaled), 1))])
        self._lines = lines / numpy.linalg.norm(lines, axis=1, keepdims=True) / numpy.sqrt(2.0)
        self.dimension = len(self.classes) * lines.shape[1] + 1
        self._draw = numpy.random.default_rng(seed)
        self._class = None

    @property
    def bounds(self) -> dict:
        """The bounds for a bandit, `reticent.JointBandit(**data.bounds, epsilon=1.0, delta=1e-6, horizon=20_000)`: arms share a constant, and
        rewards are 0 or 1."""
        return {"dimension": self.dimension, "rewards": (0.0, 1.0), "intercept": float(numpy.sqrt(0.5))}

    def arms(self) -> numpy.ndarray:
        """Opens a round: a line, as one arm for every class."""
        index = self._draw.integers(len(self._lines))
        self._class = self.y[index]
        width = self._lines.shape[1]
        arms = numpy.zeros((len(self.classes), self.dimension))
        for arm in range(len(self.classes)):
            arms[arm, arm * width : (arm + 1) * width] = self._lines[index]
        arms[:, -1] = numpy.sqrt(0.5)
        return arms

    def means(self) -> numpy.ndarray:
        """1 for the line's class and 0 for every other."""
        return (numpy.arange(len(self.classes)) == self._class).astype(float)

    def reward(self, arm: int) -> float:
        """1 if the arm is the line's class."""
        return float(arm == self._class)

    def _table(self, folder):
        """The data set as a file, for the runner: beside the folder that people share, not in it."""
        folder = pathlib.Path(folder).absolute()
        path = folder.with_name(folder.name + ".private-data.csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)    # an old file would keep its old permissions
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*(f"x{column}" for column in range(self.X.shape[1])), "class"])
            writer.writerows([*map(repr, map(float, line)), self.classes[c]] for line, c in zip(self.X, self.y))
        return {"kind": "table", "file": str(path), "label": "class"}
