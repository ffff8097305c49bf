"""An experiment from a file, a text or a dictionary."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Union

from .. import _core
from . import engines
from .own import Classification
from .progress import reporter
from .results import Results

Config = Union[str, os.PathLike, Mapping[str, Any]]
Path = Union[str, os.PathLike]


def _text(config, folder=None):
    """The text of the experiment file."""
    if isinstance(config, dict):
        config = dict(config)
        environment = config.get("environment")
        if isinstance(environment, Classification):
            if folder is None:
                raise _core.ReticentError("folder: missing; the runner needs the data set as a file beside the results; expected a folder")
            config["environment"] = environment._table(folder)
        return _core.to_toml(config)
    if isinstance(config, os.PathLike) or "\n" not in config:
        path = pathlib.Path(config)
        try:
            return path.read_text()
        except OSError as error:
            raise _core.ReticentError(
                f"config: got {str(path)!r}; {error.strerror or error}; expected a file, its text or a dictionary"
            ) from None
    return config


def _base(config):
    """The folder that paths of a file are relative to; none for a text or a dictionary, whose paths are relative to where Python runs."""
    if isinstance(config, os.PathLike) or isinstance(config, str) and "\n" not in config:
        return str(pathlib.Path(config).absolute().parent)
    return None


def _overrides(overrides):
    """`{"algorithm.privacy.epsilon": 0.5}` as the command line writes it."""
    return [f"{path}={json.dumps(value)}" for path, value in (overrides or {}).items()]


def run(
    config: Config,
    folder: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    engine: str = "local",
    shard: tuple[int, int] | None = None,
    shards: int | None = None,
    client: Any = None,
    keep_going: bool = False,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Any:
    """Runs an experiment and returns its `Results`.

    config      a TOML file, which its paths are relative to, its text, or a dictionary; a list in place of a value makes a grid
    folder      where results, figures and report are written; finished trials there are not computed again. None keeps nothing
    overrides   other values for some keys, such as {"algorithm.privacy.epsilon": 0.5}
    engine      "local", "ray" or "dask": the last two spread `shards` parts over a cluster
    client      for dask, a `distributed.Client`; for ray, the address of a cluster. None starts one here
    shard       (index, of): only this part, into `folder`; returns the counts of trials, and `merge` joins the folders
    progress    True, False, or a function of (done, all); by default it shows in notebooks

    Ctrl-C stops after the trials that have started; the same call continues from there.

    >>> from reticent import lab
    >>> text = '''
    ... name = "fixed arms"
    ... rounds = 5_000
    ... [environment]
    ... kind = "gap"
    ... dimension = 3
    ... arms = 5
    ... [[algorithm]]
    ... kind = "joint"
    ... privacy = { epsilon = [0.5, 2.0], delta = 1e-6 }
    ... '''
    >>> [round(g["epsilon"], 3) <= e for g, e in zip(lab.run(text).guarantees.values(), (0.5, 2.0))]
    [True, True]
    """
    if folder is None:
        if shard is not None:
            raise _core.ReticentError("folder: missing; the results of a shard are needed for `merge`; expected a folder")
        with tempfile.TemporaryDirectory(prefix="reticent-") as temporary:
            results = run(
                config,
                pathlib.Path(temporary) / "results",
                overrides,
                engine=engine,
                shards=shards,
                client=client,
                keep_going=keep_going,
                progress=progress,
            )
            results.folder = None
            return results
    folder = pathlib.Path(folder)
    text, changes = _text(config, folder), _overrides(overrides)
    with reporter(progress) as tell:
        if engine == "local":
            outcome = _core.run(text, folder, changes, shard, keep_going, tell, _base(config))
        elif shard is not None:
            raise _core.ReticentError(f"shard: got {shard}; an engine makes the shards itself; give it the number of `shards`")
        else:
            outcome = engines.run(engine, text, folder, changes, shards, client, keep_going, tell, _base(config))
    if shard is not None:
        return outcome
    results = Results.load(folder)
    results.outcome = outcome
    return results


def merge(parts: Iterable[Path], folder: Path) -> Results:
    """Joins folders that ran shards of one experiment, and returns its `Results`."""
    _core.merge([pathlib.Path(part) for part in parts], pathlib.Path(folder))
    return Results.load(folder)


class Certified(NamedTuple):
    """The guarantee of an algorithm, and remarks about it."""

    guarantee: _core.Guarantee | None
    remarks: list[str]


def certify(config: Config, overrides: Mapping[str, Any] | None = None) -> dict[str, Certified]:
    """The guarantee and remarks of every algorithm of an experiment, by name; nothing is run.

    >>> from reticent import lab
    >>> config = {"name": "x", "rounds": 1000, "environment": {"kind": "gap", "dimension": 3, "arms": 5},
    ...           "algorithm": [{"kind": "joint", "privacy": {"epsilon": 1.0, "delta": 1e-6}}]}
    >>> [(guarantee, remarks)] = lab.certify(config).values()
    >>> guarantee.delta, remarks[0]
    (1e-06, 'the width is tuned by simulation: no confidence set is certified')
    """
    with tempfile.TemporaryDirectory(prefix="reticent-") as temporary:
        found = _core.certify(_text(config, pathlib.Path(temporary) / "results"), _overrides(overrides), _base(config))
    return {name: Certified(guarantee, remarks) for name, guarantee, remarks in found}


def reproduce(
    experiment: str | None = None,
    folder: Path = "results/reproduce",
    *,
    full: bool = False,
    seed: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> list[dict[str, Any]]:
    """Runs the papers' experiments, such as "paper1/figure4", and returns their claims with a verdict on each.

    `full` runs at the papers' own scale; `seed` replaces the seed of the trials. Ctrl-C takes effect between experiments.
    """
    wanted = _core.paper_experiments(experiment)
    done = []
    with reporter(progress) as tell:
        for index, (name, _) in enumerate(wanted):
            done += _core.reproduce(name, pathlib.Path(folder), full, seed)
            if tell is not None:
                tell(index + 1, len(wanted))
    return done


def plan(config: Config) -> dict[str, Any]:
    """The privacy levels that a safe system can offer its agents, and their cost, from a plan file, its text or a dictionary."""
    return _core.plan_safety(_text(config))
