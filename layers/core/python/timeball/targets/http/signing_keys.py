"""The keys that sign webhooks: read when the first call needs one, and kept for a while.

Invariants: a secret is read only for its own tenant, by its name; no message and no log of this process contains a key.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.tenants.key import may_name
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.ports.clock import Clock
from timeball.ports.errors import UnavailableError
from timeball.ports.secrets import Secrets, SecretUnreadableError
from timeball.targets.http.request import parse_key

KEPT_MS: Final = 5 * MINUTE_MS
"""How long a key is used before its secret is read again: a rotation takes this long to be known everywhere."""
KEPT_UNANSWERED_MS: Final = HOUR_MS
"""How long a key is used at the most while Secrets Manager does not answer."""
ASKED_AGAIN_MS: Final = 10 * SECOND_MS
"""How long after a refusal, or no answer, a secret is not read again: a hundred calls a second may need it."""

MOST_KEPT: Final = 1_000

Keys = tuple[bytes, ...]


class NoKeyError(Exception):
    """A call cannot be signed; the message is a sentence."""


@dataclass(frozen=True)
class _Known:
    """The result for a secret: its keys, or why it has none; until when (ms) it is not read again."""

    keys: Keys | None
    why: str
    read_at: int
    until: int


class KeyRing:
    """The secrets that a process has read."""

    def __init__(self, secrets: Secrets, prefix: str, clock: Clock) -> None:
        self._secrets, self._prefix, self._clock = secrets, prefix, clock
        self._known: dict[str, _Known] = {}

    def known(self, tenant: str, name: str) -> Keys | None:
        """Return the keys of a tenant's secret, the newest first; None if it must be read. Raises NoKeyError."""
        if not may_name(name, tenant, self._prefix):
            raise NoKeyError(f"The secret {name} is none of this tenant's.")
        found = self._known.get(name)
        return None if found is None or self._clock.now() >= found.until else _keys(name, found)

    def find(self, name: str) -> _Known:
        """Read a secret; it blocks. Without an answer, the keys that are known remain in use for a while."""
        now, before = self._clock.now(), self._known.get(name)
        again_at = now + ASKED_AGAIN_MS
        try:
            values = self._secrets.live_values(name)
        except SecretUnreadableError as why:
            return _Known(None, str(why), now, again_at)
        except UnavailableError:
            if before is not None and before.keys is not None and now < before.read_at + KEPT_UNANSWERED_MS:
                return _Known(before.keys, "", before.read_at, again_at)
            return _Known(None, "Secrets Manager did not answer", now, again_at)
        keys = [parse_key(value) for value in values]
        if not keys or keys[0] is None:
            return _Known(None, "its value is no key: that is whsec_, and 24 to 64 bytes in base64", now, again_at)
        return _Known(tuple(key for key in keys if key is not None), "", now, now + KEPT_MS)

    def keep(self, name: str, found: _Known) -> Keys:
        """Store a result, and drop the oldest one if there are too many. Raises NoKeyError."""
        self._known.pop(name, None)
        self._known[name] = found
        if len(self._known) > MOST_KEPT:
            del self._known[next(iter(self._known))]
        return _keys(name, found)


def _keys(name: str, found: _Known) -> Keys:
    if found.keys is None:
        raise NoKeyError(f"The secret {name} could not be read: {found.why}.")
    return found.keys


class KeyFetcher:
    """Fetches keys for the calls of one loop; among calls that need the same secret at once, one reads it."""

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring
        self._reading: dict[str, asyncio.Lock] = {}

    async def keys(self, tenant: str, name: str) -> Keys:
        """Return the keys of a tenant's secret, the newest first. Raises NoKeyError."""
        if (keys := self._ring.known(tenant, name)) is not None:
            return keys
        async with self._reading.setdefault(name, asyncio.Lock()):
            if (keys := self._ring.known(tenant, name)) is not None:
                return keys
            return self._ring.keep(name, await asyncio.to_thread(self._ring.find, name))
