"""Ids of new resources: random, or a hash of the Idempotency-Key, so that a repeat names the same resource."""

import hashlib
from collections.abc import Callable
from enum import Enum
from typing import Final

ID_BYTES: Final = 16

_CROCKFORD: Final = "0123456789abcdefghjkmnpqrstvwxyz"


class NewId(Enum):
    """The ids of a kind of resource: what they begin with, and what sets their hashes apart."""

    JOB = ("job_", b"timeball-job-id")
    TASK = ("task_", b"timeball-task-id")
    EVENT = ("evt_", b"timeball-eventid")
    OPERATION = ("op_", b"timeball-operat.")
    FREEZE = ("frz_", b"timeball-freeze")
    BACKFILL = ("", b"timeball-backfil")
    """A backfill's id is also part of the ids of its runs."""

    def __init__(self, prefix: str, person: bytes) -> None:
        self._prefix, self._person = prefix, person

    def of(self, owner: str, key: str | None, draw: Callable[[], bytes]) -> str:
        """Return the id that an owner's Idempotency-Key names, or without a key that of 16 bytes as drawn.

        An id ends in 26 characters of Crockford's base 32, which has no look-alikes.
        """
        bits = draw() if key is None else self._hashed(f"{owner}\x1f{key}")
        number = int.from_bytes(bits[:ID_BYTES])
        digits = (ID_BYTES * 8 + 4) // 5
        return self._prefix + "".join(_CROCKFORD[number >> 5 * digit & 31] for digit in reversed(range(digits)))

    def _hashed(self, named: str) -> bytes:
        # No part can contain the separator: a tenant's name is printable, a key is visible ASCII.
        return hashlib.blake2b(named.encode(), digest_size=ID_BYTES, person=self._person).digest()


def fingerprint(canonical_body: bytes) -> str:
    """Return a digest that identifies the body of a request."""
    return hashlib.blake2b(canonical_body, digest_size=ID_BYTES).hexdigest()
