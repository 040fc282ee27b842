"""The authorizer function: whose key is this? It only says so; the API function denies.

Invariant: nobody passes as a tenant unless the row of their key was read within the last minute; if the table
cannot be read, it raises, and API Gateway answers 500. The answer is always "authorized", so that a caller
without a valid key gets the documented problem of the API and not the gateway's own.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from timeball.aws.dynamodb.tenants import DynamoTenants
from timeball.aws.patience import Timed, in_time
from timeball.domain.model.tenant import KEY_PREFIX, KeyHolder, hash_of
from timeball.ports.tenants import Tenants

CACHE_MS: Final = 60_000
CACHE_ENTRIES: Final = 10_000
MAX_KEY_LENGTH: Final = 256


class Authorizer:
    """Finds the holder of each request's key, and remembers it for a minute, unknown keys too."""

    def __init__(self, tenants: Tenants, now: Callable[[], int]) -> None:
        self._tenants = tenants
        self._now = now
        self._known: OrderedDict[str, tuple[int, KeyHolder | None]] = OrderedDict()

    def __call__(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer an event of payload format 2.0 in the simple form."""
        holder = self._holder(_bearer(event.get("headers") or {}))
        context = {"tenant": holder.tenant, "keyId": holder.key_id} if holder else {}
        return {"isAuthorized": True, "context": context}

    def _holder(self, key: str | None) -> KeyHolder | None:
        if key is None:
            return None
        now = self._now()
        hashed = hash_of(key)
        fresh_until, holder = self._known.get(hashed, (0, None))
        if now >= fresh_until:
            holder = self._tenants.find_holder(hashed)
            self._remember(hashed, now + CACHE_MS, holder)
        return holder if holder and holder.is_valid(now) else None

    def _remember(self, hashed: str, fresh_until: int, holder: KeyHolder | None) -> None:
        self._known[hashed] = (fresh_until, holder)
        self._known.move_to_end(hashed)
        while len(self._known) > CACHE_ENTRIES:
            self._known.popitem(last=False)


def _bearer(headers: Mapping[str, str]) -> str | None:
    """Return the key that the Authorization header carries, if it looks like one."""
    for name, value in headers.items():
        if name.lower() == "authorization":
            scheme, _, key = value.partition(" ")
            key = key.strip()
            if (
                scheme.lower() == "bearer"
                and key.startswith(KEY_PREFIX)
                and key.isascii()
                and len(key) <= MAX_KEY_LENGTH
            ):
                return key
    return None


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Say whose key a request carries."""
    return _authorizer()(event)


@cache
def _authorizer() -> Authorizer:
    tenants = DynamoTenants.open(os.environ["TIMEBALL_TENANTS_TABLE"])
    return Authorizer(tenants, lambda: time.time_ns() // 1_000_000)
