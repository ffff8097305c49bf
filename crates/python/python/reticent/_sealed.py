"""A person's half of a loop with a shuffler: reports are sealed once, and what is sent again are the same bytes.

    version u8 | protocol 32 | model u64 | key id 8 | salt 16 | encapsulated key 32 | ciphertext

The outer id, which is bound to what is sealed, is a hash of the model's number and the random salt. Nothing that the server claims about the noise is
believed: the plan is confirmed by this device's own accountant, within the person's limits. Sealing is HPKE in base mode (RFC 9180) with X25519, HKDF-SHA256 and ChaCha20-Poly1305. The curve and the cipher are those of the package `cryptography`
(`pip install 'reticent[shuffler]'`).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _files
from ._core import Choice, Features, Model, Person, ReticentError
from ._limits import Limits

_VERSION = 2
_INFO = b"reticent sealed report 2"
_KEM = b"KEM" + struct.pack(">H", 0x0020)
_SUITE = b"HPKE" + struct.pack(">HHH", 0x0020, 0x0001, 0x0003)


@dataclass(frozen=True)
class Chosen:
    """A choice that waits for its reward: raw features, which stay on the device, and the model that chose."""

    features: tuple[float, ...]
    model: bytes

    def __repr__(self) -> str:
        return "Chosen()"


class ShuffledHalf:
    """What makes, counts and seals reports. The count is a file that all processes of an installation share; the smallest number of reports that a plan of this
    installation was made for stands before it."""

    def __init__(self, plan: bytes, sealing: Mapping[str, Any], loop: str, spent: Path, limits: Limits) -> None:
        _cryptography()
        self._spent = spent
        self._plan = plan
        self._loop = loop
        try:
            self._values = int(sealing["values"])
            batch, honest, generation = int(sealing["batch"]), int(sealing["honest"]), int(str(sealing["generation"]), 16)
            rule = sealing["features"]
            constant, projection = bool(rule["constant"]), rule["projection"]
            self._features = Features(rule["context"], rule["action"], rule["cross"], constant=constant, projection=projection)
        except (KeyError, TypeError, ValueError) as error:
            raise ReticentError(f"the loop's sealing cannot be used ({type(error).__name__}): update the older half") from None
        # Where the shuffler sums, the server has no key that reports are sealed to.
        agreed, self._visits = Person.confirm_report_plan(
            plan,
            loop,
            self._features,
            generation=generation,
            batch=batch,
            honest=honest,
            summed=sealing.get("public_key") is None,
            most_epsilon=limits.most_epsilon,
            most_delta=limits.most_delta,
            most_reports=limits.most_reports,
        )
        self._protocol = hashlib.sha256(agreed).digest()
        self._model: bytes | None = None
        self._key = b""

    def seal_to(self, key: object) -> None:
        """Reports from now on are sealed to this key of 64 hexadecimal digits."""
        try:
            self._key = bytes.fromhex(str(key))
        except ValueError:
            self._key = b""
        if len(self._key) != 32:
            raise ReticentError("public_key is unreadable: give the address of the loop's shuffler, and fetch it again")

    def set_model(self, model: bytes) -> None:
        self._model = bytes(Model(model))

    def choose(self, context: Mapping[str, Any], actions: Sequence[Mapping[str, Any]]) -> tuple[int, Choice | Chosen]:
        if self._model is None:
            raise ReticentError("model is missing: refresh first")
        arms = self._features.arms(dict(context), [dict(action) for action in actions])
        index = self._person()[0].choose(self._model, arms)
        return index, Chosen(tuple(float(number) for number in arms.array()[index]), self._model)

    def report(self, choice: Choice | Chosen, reward: float) -> bytes:
        if not isinstance(choice, Chosen):
            raise ReticentError("choice is of another loop: choose again")
        with _files.locked(self._spent.with_suffix(".lock")):
            person, most = self._person()
            if self._left(person, most) == 0:
                raise ReticentError(f"reports left is 0: at most {most} reports leave this installation: no more do")
            report = person.report(choice.model, list(choice.features), reward)
            sealed = self._seal(Model(choice.model).sequence, report.values)
            _files.write(self._spent, struct.pack("<Q", most) + person.spent)
        return sealed

    @property
    def reports_left(self) -> int:
        return self._left(*self._person())

    def _left(self, person: Person, most: int) -> int:
        made = self._visits - person.reports_left
        return max(0, most - made)

    def _person(self) -> tuple[Person, int]:
        """The half as it was counted last, and how many reports it may make in all."""
        try:
            kept = self._spent.read_bytes()
        except FileNotFoundError:
            return Person.from_report_plan(self._plan), self._visits
        if len(kept) < 8:
            raise ReticentError(f"{self._spent} has {len(kept)} bytes: give the file back that this installation stored last")
        (most,) = struct.unpack("<Q", kept[:8])
        return Person.from_report_plan(self._plan, spent=kept[8:]), min(most, self._visits)

    def _seal(self, model: int, values: Sequence[float]) -> bytes:
        if len(values) != self._values:
            raise ReticentError("values: the loop's reports have another length; fetch the protocol again")
        key_id = hashlib.sha256(_counted(b"seal key") + _counted(self._key)).digest()[:8]
        salt = secrets.token_bytes(16)
        outer_id = hashlib.sha256(_counted(b"outer id") + _counted(struct.pack("<Q", model)) + _counted(salt)).digest()[:16]
        loop = self._loop.encode()
        begin = bytes([_VERSION]) + self._protocol
        associated = begin + _counted(loop) + key_id + outer_id
        plain = struct.pack(f"<{len(values)}d", *values)
        return begin + struct.pack("<Q", model) + key_id + salt + seal(self._key, plain, associated)


def seal(key: bytes, plain: bytes, associated: bytes, info: bytes = _INFO) -> bytes:
    """The encapsulated key and the ciphertext of what only the holder of the private key reads."""
    x25519, cipher = _cryptography()
    own = x25519.X25519PrivateKey.generate()
    encapsulated: bytes = own.public_key().public_bytes_raw()
    try:
        agreed = own.exchange(x25519.X25519PublicKey.from_public_bytes(key))
    except ValueError:
        raise ReticentError("public_key cannot be used: no report can be sealed to it; fetch it again") from None
    shared = _expand(_KEM, _extract(_KEM, b"", b"eae_prk", agreed), b"shared_secret", encapsulated + key, 32)
    context = b"\0" + _extract(_SUITE, b"", b"psk_id_hash", b"") + _extract(_SUITE, b"", b"info_hash", info)
    secret = _extract(_SUITE, shared, b"secret", b"")
    nonce = _expand(_SUITE, secret, b"base_nonce", context, 12)
    sealed: bytes = cipher.ChaCha20Poly1305(_expand(_SUITE, secret, b"key", context, 32)).encrypt(nonce, plain, associated)
    return encapsulated + sealed


def _extract(suite: bytes, salt: bytes, label: bytes, secret: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + secret, "sha256")


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """At most one block of SHA-256, which is all that this suite needs."""
    labelled = struct.pack(">H", length) + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, labelled + b"\1", "sha256")[:length]


def _counted(part: bytes) -> bytes:
    return struct.pack("<Q", len(part)) + part


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives.asymmetric import x25519
        from cryptography.hazmat.primitives.ciphers import aead
    except ImportError:
        raise ReticentError("the package `cryptography` is missing: pip install 'reticent[shuffler]'") from None
    return x25519, aead
