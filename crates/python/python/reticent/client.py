"""A client of the service: rank requests and rewards, and devices that talk to it.

    client = reticent.Client("https://decide.example", "home", key=KEY)
    answer = client.rank([{"id": "a"}, {"id": "b"}], context={"age": 31}, person="anna")
    show(answer.action)
    client.reward(answer.event_id, 1.0)

Calls are repeated, and counted once: ids are fixed before the first send, and the same bytes are sent again. Every call ends within `timeout`. If the service
is away, `rank` answers with the caller's first action and says so. Nothing of a context, a person or a reward stands in an error.
"""

from __future__ import annotations

import json
import math
import os
import threading
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import quote

from ._core import ReticentError
from ._device import Flushed, ServiceDevice, ServiceChoice
from ._http import Answer, Endpoint, Problem, ServiceError, UnreachableError
from ._limits import Limits

__all__ = ["Client", "Flushed", "Problem", "RankAnswer", "Ranked", "ServiceChoice", "ServiceDevice", "ServiceError", "UnreachableError"]

# Events that were answered with a fall-back and are remembered, at most.
_MOST_FALLBACKS = 100_000


@dataclass(frozen=True)
class Ranked:
    """An action with its probability."""

    id: str
    probability: float


@dataclass(frozen=True)
class RankAnswer:
    """The answer to a rank request: the action to take."""

    action: str
    """The id of the action."""
    event_id: str
    """The id for rewards and activations."""
    ranking: tuple[Ranked, ...] = ()
    """All actions with their probabilities, the chosen one first; empty after a fall-back."""
    fallback: bool = False
    """True if the service was away, and this is the caller's first action. Rewards of the event are not sent."""
    reason: ServiceError | UnreachableError | None = None
    """The reason of a fall-back."""


class Client:
    """A client of one loop. Threads may share it.

    `address` is the service's, `loop` the loop's name, `key` a key with the roles that are used. `timeout` is the time for one call with all its `retries`, in
    seconds. `roots` is a PEM file of certificates to trust in place of the system's. Without TLS the service must be on this machine, unless `insecure` says
    that the network between is trusted.
    """

    def __init__(
        self,
        address: str,
        loop: str,
        *,
        key: str | None = None,
        timeout: float = 2.0,
        retries: int = 2,
        roots: str | os.PathLike[str] | None = None,
        insecure: bool = False,
    ) -> None:
        self._endpoint = Endpoint(address, key=key, timeout=timeout, retries=retries, roots=roots, insecure=insecure)
        self._options: dict[str, Any] = {"timeout": timeout, "retries": retries, "roots": roots, "insecure": insecure}
        self._loop = _text("loop", loop)
        self._head: str | None = None
        self._fallbacks: dict[str, None] = {}
        self._lock = threading.Lock()

    def rank(
        self,
        actions: Sequence[Mapping[str, Any]],
        *,
        context: Mapping[str, Any] | None = None,
        person: str | None = None,
        exclude: Collection[str] = (),
        defer: bool = False,
        event_id: str | None = None,
    ) -> RankAnswer:
        """Chooses one of these actions, each `{"id": ..., "features": ...}`, the caller's own choice first.

        If the service is away, the caller's first action that is not excluded is answered, with `fallback` and the `reason`, and rewards for the event are not
        sent. A refusal (a wrong key, a field that cannot be used) is raised as `ServiceError`. An answer that was lost may belong to an event that the service
        has stored: with `defer` it counts only after `activate`.
        """
        ids = _ids(actions)
        event_id = str(uuid.uuid4()) if event_id is None else _text("event_id", event_id)
        request: dict[str, Any] = {"event_id": event_id, "actions": [dict(action) for action in actions]}
        optional = {"person": person, "context": context, "exclude": list(exclude) or None, "defer": defer or None}
        request.update({name: value for name, value in optional.items() if value is not None})
        # A value that cannot be written is refused before the service is asked.
        body = _written(request)
        try:
            found = self._call("/rank", body)
            answer = _read(found)
        except (ServiceError, UnreachableError) as error:
            allowed = [action for action in ids if action not in exclude]
            # Without an action there is nothing to fall back to.
            if not error.temporary or not allowed:
                raise
            self._remember(event_id)
            return RankAnswer(allowed[0], event_id, fallback=True, reason=error)
        with self._lock:
            self._fallbacks.pop(event_id, None)
        return answer

    def reward(self, event_id: str, value: float, *, idempotency_key: str | None = None) -> bool:
        """A reward for an event. Repeated under the same key it counts once.

        Returns whether it was sent: it is not for an event that this client answered with a fall-back, because the service does not know what was shown.
        Another process does not know that: hand on `answer.fallback` with the id, and send no reward where it is true.
        """
        try:
            value = float(value)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise ReticentError("value: got no finite number; expected a finite number as the reward")
        key = str(uuid.uuid4()) if idempotency_key is None else _text("idempotency_key", idempotency_key)
        return self._of_event(event_id, "reward", _written({"value": value, "idempotency_key": key}))

    def activate(self, event_id: str) -> bool:
        """A deferred event was shown. Returns whether that was sent, as `reward` does."""
        return self._of_event(event_id, "activate", None)

    def device(
        self,
        storage: str | os.PathLike[str],
        *,
        level: int | None = None,
        most_epsilon: float = 8.0,
        most_delta: float = 1e-5,
        most_reports: int = 1000,
        shortest_period: int = 86_400,
        shuffler: str | None = None,
        shuffler_roots: str | os.PathLike[str] | None = None,
    ) -> ServiceDevice:
        """An installation of one person in a loop with `trust = "device"` or `"shuffler"`: it chooses and adds the noise itself.

        `storage` is a folder of this installation: how many reports it has made is counted there, and reports wait there until they have arrived. `level` is the
        index of the person's level of epsilon, by default the smallest. `shuffler` is the address of the loop's shuffler, which gets no key.

        The person's own limits, whatever the service publishes: epsilon and delta of all reports of a period together, reports in a period, and the seconds of a
        period, at least. Behind a shuffler the noise is priced by this device's own accountant, half of a batch being honest or fewer where
        the loop says so, and the period has no end.
        """
        through = None
        if shuffler is not None:
            options = self._options if shuffler_roots is None else {**self._options, "roots": shuffler_roots}
            through = Endpoint(shuffler, key=None, **options)
        limits = Limits(most_epsilon, most_delta, most_reports, shortest_period)
        return ServiceDevice(self._endpoint, through, self._loop, storage, level, limits)

    def close(self) -> None:
        """Closes idle connections. The client opens new ones when it is used again."""
        self._endpoint.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._endpoint.origin!r}, {self._loop!r})"

    def _call(self, path: str, body: bytes | None) -> Answer:
        answer = self._endpoint.call("POST", f"/v1/loops/{quote(self._loop, safe='')}{path}", body, head=self._head)
        self._head = answer.head or self._head
        return answer

    def _of_event(self, event_id: str, call: str, body: bytes | None) -> bool:
        event_id = _text("event_id", event_id)
        with self._lock:
            if event_id in self._fallbacks:
                return False
        self._call(f"/events/{quote(event_id, safe='')}/{call}", body)
        return True

    def _remember(self, event_id: str) -> None:
        with self._lock:
            self._fallbacks[event_id] = None
            while len(self._fallbacks) > _MOST_FALLBACKS:
                del self._fallbacks[next(iter(self._fallbacks))]


def _ids(actions: Sequence[Mapping[str, Any]]) -> list[str]:
    ids = [action.get("id") if isinstance(action, Mapping) else None for action in actions]
    if not ids or not all(isinstance(each, str) for each in ids):
        raise ReticentError('actions: got what cannot be used; expected at least one, each as {"id": TEXT, "features": {...}}')
    return [str(each) for each in ids]


def _text(name: str, text: object) -> str:
    if not isinstance(text, str) or not text:
        raise ReticentError(f"{name}: got what cannot be used; expected a text that is not empty")
    return text


def _read(found: Answer) -> RankAnswer:
    answer = found.json()
    try:
        ranking = tuple(Ranked(str(each["id"]), float(each["probability"])) for each in answer["ranking"])
        return RankAnswer(str(answer["action"]), str(answer["event_id"]), ranking)
    except (KeyError, TypeError, ValueError):
        raise UnreachableError(found.address, "the answer is not one of this service") from None


def _written(value: dict[str, Any]) -> bytes:
    """As JSON. The encoder's own errors may hold a person's data."""
    try:
        return json.dumps(value, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError, RecursionError):
        pass
    raise ReticentError("rank request: got what cannot be written as JSON; expected texts, finite numbers, true and false, lists and dictionaries")


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    return value.item() if hasattr(value, "item") else _refuse()


def _refuse() -> None:
    raise TypeError
