"""A device with the service behind it: fetch, choose, report once. Nothing raw leaves it.

    counted in the ledger -> stored as bytes -> sent, the same bytes again until they have arrived

A crash between the first two loses the report and keeps its count: never more reports than the count says.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from . import _files
from ._core import Choice, Device, Person, ReticentError, SealedDevice
from ._http import Endpoint, Problem, ServiceError, UnreachableError
from ._limits import Limits

# Reports in one request, at most, and their bytes: a service takes 4 MiB.
_BATCH = 100
_BYTES = 1 << 20


@dataclass(frozen=True)
class ServiceChoice:
    """A choice of a device. It holds raw features and stays on the device."""

    index: int
    """Index of the action, counted from 0."""
    choice: Choice | None
    """The choice that a report is made from; none after a fall-back."""
    fallback: bool = False
    """True if there was no model yet, and this is the first action. It is not reported."""

    def __repr__(self) -> str:
        return f"ServiceChoice(index={self.index}, fallback={self.fallback})"


@dataclass(frozen=True)
class Flushed:
    """Outcome of sent reports."""

    taken: int
    """They have arrived, now or before."""
    refused: int
    """They were refused for good, and are dropped. They stay counted."""
    waiting: int
    """They are sent again by the next `flush`."""


class _Unsent:
    """Reports that were counted and have not arrived: one file each, the oldest first. Those that were made for another receiver have another ending."""

    def __init__(self, folder: Path, ending: str) -> None:
        self._folder, self._ending = folder, ending
        _files.make_folder(folder)

    def add(self, report: bytes) -> None:
        name = f"{time.time_ns():020}-{secrets.token_hex(8)}"
        _files.write(self._folder / f"{name}.{self._ending}", report)

    def all(self) -> list[tuple[Path, bytes]]:
        found = []
        for path in sorted(self._folder.glob(f"*.{self._ending}")):
            try:
                found.append((path, path.read_bytes()))
            except FileNotFoundError:
                # Another process has sent it meanwhile.
                continue
        return found

    def remove(self, paths: Iterable[Path]) -> None:
        for path in paths:
            path.unlink(missing_ok=True)


def _parts(waiting: list[tuple[Path, bytes]], most: int) -> list[list[tuple[Path, bytes]]]:
    """Reports of one request each: at most a fixed number, and no more bytes than a service takes, but one at least."""
    parts: list[list[tuple[Path, bytes]]] = []
    size = 0
    for one in waiting:
        size += len(one[1])
        if not parts or len(parts[-1]) == most or size > _BYTES:
            parts.append([])
            size = len(one[1])
        parts[-1].append(one)
    return parts


class ServiceDevice:
    """One installation of one person in a loop of devices, made by `Client.device`. Only reports leave it."""

    def __init__(
        self, server: Endpoint, shuffler: Endpoint | None, loop: str, storage: str | os.PathLike[str], level: int | None, limits: Limits
    ) -> None:
        self._server, self._shuffler = server, shuffler
        self._path = f"/v1/loops/{quote(loop, safe='')}"
        # Loops of the same name at different services are counted apart.
        scope = hashlib.sha256(json.dumps([server.origin, loop]).encode()).hexdigest()[:16]
        folder = Path(storage) / scope
        ledger = folder / "ledger"
        protocol = server.call("GET", f"{self._path}/protocol").body
        self._person: Device | SealedDevice
        if shuffler is None:
            if _kind(protocol) == "report_plan":
                raise ReticentError("shuffler: missing; reports of this loop go through one; add its address")
            self._person = Person.from_protocol(protocol, loop, ledger=ledger, level=level, **asdict(limits))
        else:
            if shuffler.address == server.address:
                raise ReticentError(
                    f"shuffler: got {shuffler.address}, the address of the server; reports would reach it with their sender; expected the address of `reticent-server shuffle`"
                )
            if level is not None:
                raise ReticentError("level: got a value; a batch behind a shuffler has one level of noise: leave it out")
            # Both are asked, so that a server cannot tell its devices anything else than its shuffler.
            sealing = [each.call("GET", f"{self._path}/sealing").body for each in (server, shuffler)]
            self._person = Person.from_sealing(protocol, *sealing, loop, ledger=ledger, **asdict(limits))
        self._unsent = _Unsent(folder / "unsent", "report" if shuffler is None else "sealed")
        self._has_model = False
        try:
            self.refresh()
        except (ServiceError, UnreachableError) as error:
            # It falls back to the first action until a model comes.
            if not error.temporary:
                raise

    def refresh(self) -> None:
        """Fetches the newest model."""
        # Without a tag of the model before: a server could name devices by their tags.
        self._person.set_model(self._server.call("GET", f"{self._path}/model").body)
        self._has_model = True

    def choose(self, context: Mapping[str, Any], actions: Sequence[Mapping[str, Any]]) -> ServiceChoice:
        """Chooses an action by the model; the first one, with `fallback`, if there is no model yet. The choice stays on the device.

        Actions are records of features, or `{"id": ..., "features": {...}}`.
        """
        if actions and not self._has_model:
            return ServiceChoice(0, None, fallback=True)
        records = [action["features"] if isinstance(action.get("features"), Mapping) else action for action in actions]
        choice = self._person.choose(dict(context), [dict(record) for record in records])
        return ServiceChoice(choice.index, choice)

    def report(self, chosen: ServiceChoice, reward: float) -> bytes | None:
        """Counts a report, stores it, and sends it with all that were not sent before. Returns its bytes; `None` after a fall-back, which is not reported.

        Beyond the period's count it is refused, and nothing is stored or sent.
        """
        if chosen.choice is None:
            return None
        try:
            report = bytes(self._person.report(chosen.choice, reward))
        except ReticentError:
            # With no report left to make, those that wait are sent all the same.
            self.flush()
            raise
        self._unsent.add(report)
        self.flush()
        return report

    def flush(self) -> Flushed:
        """Sends reports that have not arrived, as the bytes they are; those that the service cannot be reached for stay."""
        waiting = self._unsent.all()
        taken = refused = 0
        left = len(waiting)
        for part in _parts(waiting, _BATCH if self._shuffler is None else 1):
            try:
                outcomes = self._send([report for _, report in part])
            except (ServiceError, UnreachableError) as error:
                if not error.temporary:
                    raise
                # A report that the shuffler cannot take yet keeps no other waiting; all else would fail alike.
                if self._shuffler is not None and isinstance(error, ServiceError) and error.status == 503:
                    continue
                break
            self._unsent.remove(path for (path, _), outcome in zip(part, outcomes) if outcome != "waiting")
            taken += outcomes.count("taken")
            refused += outcomes.count("refused")
            left -= len(outcomes) - outcomes.count("waiting")
        return Flushed(taken, refused, left)

    @property
    def unsent(self) -> list[bytes]:
        """Reports that wait, as the bytes that are sent."""
        return [report for _, report in self._unsent.all()]

    @property
    def reports_left(self) -> int:
        """Reports that this installation may still make in this period."""
        return self._person.reports_left()

    def _send(self, reports: list[bytes]) -> list[str]:
        """Outcome of each report: `taken`, now or before; `refused`, as the same bytes would always be; or `waiting`."""
        if self._shuffler is not None:
            return [self._send_sealed(self._shuffler, report) for report in reports]
        body = b'{"reports":[' + b",".join(reports) + b"]}"
        answer = self._server.call("POST", f"{self._path}/reports/batch", body)
        results = answer.json().get("results")
        if not isinstance(results, list) or len(results) != len(reports):
            raise UnreachableError(answer.address, "the answer is not one of this service")
        return [_outcome(result) for result in results]

    def _send_sealed(self, shuffler: Endpoint, report: bytes) -> str:
        try:
            shuffler.call("POST", f"{self._path}/reports", report, kind="application/octet-stream")
        except ServiceError as error:
            # An error of this report, and not of the call.
            if error.status in (410, 422):
                return "refused"
            raise
        return "taken"


def _kind(message: bytes) -> object:
    """The kind of a message; a text without a kind is refused by its reader."""
    try:
        fields = json.loads(message)
    except ValueError:
        return None
    return fields.get("kind") if isinstance(fields, dict) else None


def _outcome(result: object) -> str:
    if not isinstance(result, Mapping):
        return "waiting"
    if result.get("outcome") is not None:
        return "taken"
    problem = result.get("problem")
    status = problem.get("status") if isinstance(problem, Mapping) else None
    return "refused" if isinstance(status, int) and not ServiceError(status, Problem()).temporary else "waiting"
