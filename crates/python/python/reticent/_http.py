"""Requests to a service with a time limit and retries.

A request is repeated with the same bytes, and every request of this package may be: an event has an id, a reward an idempotency key, a report an id of its
own. The time limit holds for the whole call, slow answers included; only the look-up of a host's name is the system's and is not limited. Certificates are
always verified, redirections are not followed, and nothing is sent but the request and its key: no cookies, no credentials of an address.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import json
import os
import random
import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, cast
from urllib.parse import urlsplit

from ._core import ReticentError

# Answers after which the same request may succeed at once. 500 is left out: what failed once in the service fails again.
_RETRIED = frozenset({429, 502, 503, 504})
# Bytes of an answer, at most.
_MOST_ANSWER = 64 << 20
# Idle connections that are kept, and for how many seconds. The service closes those that are idle for 30.
_MOST_IDLE = 8
_IDLE_SECONDS = 20.0
# Seconds before the first retry. It doubles from retry to retry, and up to as much again is added, so that clients do not come back together.
_PAUSE = 0.1


@dataclass(frozen=True)
class Problem:
    """A problem as the service describes it (RFC 9457). Fields that it leaves out are empty."""

    type: str = ""
    title: str = ""
    detail: str = ""
    field: str = ""
    value: str = ""
    remedy: str = ""

    @classmethod
    def read(cls, found: object) -> Problem:
        """The problem of an answer; an empty one where the answer is none of the service's."""
        if not isinstance(found, Mapping):
            return cls()
        texts = {each.name: found.get(each.name) for each in fields(cls)}
        return cls(**{name: text for name, text in texts.items() if isinstance(text, str)})


class ServiceError(ReticentError):
    """The service refused a request, or failed: `status`, and `problem` with the field, its value and the remedy."""

    def __init__(self, status: int, problem: Problem) -> None:
        # Details about a field end with the remedy.
        remedy = "" if problem.remedy in problem.detail else problem.remedy
        said = "; ".join(text for text in (problem.detail, remedy) if text)
        super().__init__(said or f"the service answers with {status}")
        self.status = status
        self.problem = problem

    @property
    def field(self) -> str:
        """The field that cannot be used."""
        return self.problem.field

    @property
    def value(self) -> str:
        """Value that was given, or a description of it where it may be a person's data."""
        return self.problem.value

    @property
    def remedy(self) -> str:
        """The remedy."""
        return self.problem.remedy

    @property
    def temporary(self) -> bool:
        """True if the same request may succeed later."""
        return self.status in (408, 425, 429) or self.status >= 500

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.problem)


class UnreachableError(ReticentError):
    """The service did not answer in time, or at all, or something else answered."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address} did not answer: {reason}")
        self.address = address
        self.reason = reason

    @property
    def temporary(self) -> bool:
        """True if the same request may succeed later."""
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.address, self.reason)


@dataclass(frozen=True)
class Answer:
    """A successful answer."""

    body: bytes
    head: str | None
    address: str

    def json(self) -> dict[str, Any]:
        """The object in the body."""
        try:
            found = json.loads(self.body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise UnreachableError(self.address, "the answer is not one of this service")
        return found


class _Wire:
    """A socket whose every operation ends at one moment: a timeout of sockets alone would begin anew with every byte."""

    def __init__(self, wire: socket.socket) -> None:
        self.wire = wire
        self.deadline = 0.0

    def wait(self) -> socket.socket:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time is over")
        self.wire.settimeout(left)
        return self.wire

    def silent(self) -> bool:
        """True if nothing has come: on an idle connection that is its end."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.wire, selectors.EVENT_READ)
            return not selector.select(0)

    def sendall(self, data: bytes) -> None:
        self.wait().sendall(data)

    def makefile(self, *_: object) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        self.wire.close()


class _Reader(io.RawIOBase):
    def __init__(self, wire: _Wire) -> None:
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._wire.wait().recv_into(buffer)


class Endpoint:
    """A service at an address, asked with one key. Threads may share it."""

    def __init__(
        self,
        address: str,
        *,
        key: str | None,
        timeout: float,
        retries: int,
        roots: str | os.PathLike[str] | None,
        insecure: bool,
    ) -> None:
        parts = urlsplit(address)
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or "@" in parts.netloc:
            raise ReticentError("address: got what cannot be used; expected http://HOST:PORT or https://HOST:PORT, and the key as `key`")
        if parts.scheme == "http" and not insecure and not _is_loopback(host):
            raise ReticentError(
                f"address: got {parts.scheme}://{host}; what people do would cross the network in the clear; expected https://, or "
                "`insecure=True` inside a network that you trust"
            )
        if not 0 < timeout <= 3600:
            raise ReticentError(f"timeout: got {timeout}; expected seconds, above 0 and at most 3600")
        if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= 100:
            shown = retries if type(retries) is int else "no whole number"
            raise ReticentError(f"retries: got {shown}; expected a whole number from 0 to 100")
        if key is not None and not (key.isascii() and key.isprintable() and key):
            raise ReticentError("key: got what cannot be used; expected a key as `reticent-server key new` printed it")
        self._tls = ssl.create_default_context(cafile=roots) if parts.scheme == "https" else None
        self._host = host
        self._port = port or (443 if self._tls else 80)
        shown = f"[{host}]" if ":" in host else host
        self.origin = f"{parts.scheme}://{shown}:{self._port}"
        self._path = parts.path.rstrip("/")
        self.address = self.origin + self._path
        self._key = key
        self._timeout = timeout
        self._retries = retries
        self._idle: deque[tuple[int, float, http.client.HTTPConnection]] = deque()

    def call(self, method: str, path: str, body: bytes | None = None, *, head: str | None = None, kind: str = "application/json") -> Answer:
        """Sends a request, again after a pause if it failed for a while, until the time is over or it was repeated as often as may be."""
        headers = {"Accept": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        if head is not None:
            headers["Reticent-Head"] = head
        if body is not None:
            headers["Content-Type"] = kind
        end = time.monotonic() + self._timeout
        attempt = 0
        while True:
            # Every attempt has its share of the time, so that one lost packet does not take all of it.
            now = time.monotonic()
            deadline = now + max(0.001, (end - now) / (self._retries - attempt + 1))
            pause = _PAUSE * 2**attempt * (1 + random.random())
            failure: ServiceError | UnreachableError
            try:
                connection = self._kept() or self._connect(deadline)
                status, found, bytes_ = self._exchange(connection, deadline, method, self._path + path, body, headers)
                if 200 <= status < 300:
                    return Answer(bytes_, found.get("Reticent-Head"), self.origin)
                failure = ServiceError(status, _problem(bytes_))
                worthwhile = status in _RETRIED
                wanted = found.get("Retry-After") or ""
                pause = float(wanted) if wanted.isdecimal() and int(wanted) > 0 else pause
            except (OSError, http.client.HTTPException) as error:
                # The request is in none of these errors.
                failure = UnreachableError(self.origin, f"{type(error).__name__}: {error}")
                worthwhile = not isinstance(error, ssl.SSLCertVerificationError)
            if not worthwhile or attempt >= self._retries or time.monotonic() + pause >= end:
                raise failure
            time.sleep(pause)
            attempt += 1

    def close(self) -> None:
        """Closes idle connections."""
        while self._idle:
            self._idle.pop()[2].close()

    def _exchange(
        self, connection: http.client.HTTPConnection, deadline: float, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        cast(_Wire, connection.sock).deadline = deadline
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            found = response.read(_MOST_ANSWER + 1)
            if len(found) > _MOST_ANSWER:
                raise http.client.HTTPException("the answer is too long")
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        elif len(self._idle) < _MOST_IDLE:
            self._idle.append((os.getpid(), time.monotonic(), connection))
        else:
            connection.close()
        return response.status, response.headers, found

    def _kept(self) -> http.client.HTTPConnection | None:
        """An idle connection of this process: one that a parent left behind carries the parent's answers."""
        while True:
            try:
                process, since, connection = self._idle.pop()
            except IndexError:
                return None
            if process == os.getpid() and time.monotonic() - since < _IDLE_SECONDS and cast(_Wire, connection.sock).silent():
                return connection
            connection.close()

    def _connect(self, deadline: float) -> http.client.HTTPConnection:
        failure: OSError = OSError("the host has no address")
        for family, kind, protocol, _, address in socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM):
            plain = socket.socket(family, kind, protocol)
            try:
                wire = _Wire(plain)
                wire.deadline = deadline
                wire.wait().connect(address)
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._tls is not None:
                    wire.wire = self._tls.wrap_socket(wire.wait(), server_hostname=self._host)
            except OSError as error:
                plain.close()
                failure = error
                continue
            connection = http.client.HTTPConnection(self._host, self._port)
            # All that a connection does with its socket.
            connection.sock = wire
            return connection
        raise failure


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _problem(body: bytes) -> Problem:
    try:
        return Problem.read(json.loads(body))
    except ValueError:
        return Problem()
