"""The authorizer function: whose key is this? It only says so; the API function denies.

Invariant: nobody passes as a tenant unless the row of their key was read within the last minute, so a key that is
revoked opens nothing a minute later; if the table cannot be read, it raises, and API Gateway answers 500. The answer is
always "authorized", so that a caller without a valid key gets the documented problem of the API and not the gateway's
own. Of a key that opens nothing it says why, and whose it is if that is known: the API function counts those requests,
so that somebody who tries keys is seen.
"""

import hmac
import json
import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final

from timeball.aws.dynamodb.collections.tenants import DynamoHolders
from timeball.aws.patience import Timed, in_time
from timeball.domain.attempts.callback_token import CALLBACK_PREFIX
from timeball.domain.model.tenants.key import Key, hash_of, id_in
from timeball.domain.model.tenants.quotas import NO_QUOTAS
from timeball.domain.model.tenants.tenant import Tenant
from timeball.ports.clock import Clock
from timeball.ports.collections.tenants import Holders
from timeball.runtime.clock import SystemClock

CACHE_MS: Final = 60_000
CACHE_ENTRIES: Final = 10_000
MAX_KEY_LENGTH: Final = 256


@dataclass(frozen=True)
class _Holder:
    """A key that is known, and its tenant."""

    tenant: Tenant
    key: Key

    @property
    def context(self) -> dict[str, str]:
        """What the API is told; a context holds flat values only."""
        told = {"tenant": self.tenant.name, "keyId": self.key.key_id, "role": str(self.key.role)}
        if self.key.tags:
            told["tags"] = json.dumps(dict(self.key.tags))
        if self.tenant.quotas != NO_QUOTAS:
            told["quotas"] = json.dumps(asdict(self.tenant.quotas))
        return told if self.tenant.disabled_at is None else {**told, "disabled": "true"}


class Authorizer:
    """Finds the holder of each request's key, and remembers it for a minute, unknown keys too."""

    def __init__(self, holders: Holders, clock: Clock) -> None:
        self._holders = holders
        self._clock = clock
        self._known: OrderedDict[str, tuple[int, _Holder | None]] = OrderedDict()

    def __call__(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer an event of payload format 2.0 in the simple form."""
        authorization = _authorization(event.get("headers") or {})
        key = _key_in(authorization)
        holder = None if key is None else self._holder(key)
        if holder is not None and holder.key.is_valid(self._clock.now()):
            context = holder.context
        elif authorization is not None and not _is_token(authorization):
            context = {"refused": _why(key, holder), **({"refusedOf": holder.tenant.name} if holder else {})}
        else:
            context = {}
        return {"isAuthorized": True, "context": context}

    def _holder(self, text: str) -> _Holder | None:
        """Return the holder of a key, valid or not."""
        now, hashed = self._clock.now(), hash_of(text)
        fresh_until, holder = self._known.get(hashed, (0, None))
        if now >= fresh_until:
            holder = self._find(text, hashed)
            self._remember(hashed, now + CACHE_MS, holder)
        return holder

    def _find(self, text: str, hashed: str) -> _Holder | None:
        key_id = id_in(text) or ""
        tenant, key = self._holders.find_holder(key_id)
        if tenant is None or tenant.deleted_at is not None:
            return None
        return _Holder(tenant, key) if key is not None and hmac.compare_digest(key.hashed, hashed) else None

    def _remember(self, hashed: str, fresh_until: int, holder: _Holder | None) -> None:
        self._known[hashed] = (fresh_until, holder)
        self._known.move_to_end(hashed)
        while len(self._known) > CACHE_ENTRIES:
            self._known.popitem(last=False)


def _authorization(headers: Mapping[str, str]) -> str | None:
    return next((value for name, value in headers.items() if name.lower() == "authorization"), None)


def _key_in(authorization: str | None) -> str | None:
    """Return the key that an Authorization header carries, if it looks like one."""
    scheme, _, key = (authorization or "").partition(" ")
    key = key.strip()
    is_key = scheme.lower() == "bearer" and len(key) <= MAX_KEY_LENGTH and id_in(key) is not None
    return key if is_key else None


def _is_token(authorization: str) -> bool:
    """Say whether it is the token of an attempt, of which the API knows how to tell."""
    return authorization.partition(" ")[2].strip().startswith(CALLBACK_PREFIX)


def _why(key: str | None, holder: _Holder | None) -> str:
    """Return why a key opens nothing."""
    if key is None:
        return "malformed"
    if holder is None:
        return "unknown"
    return "expired" if holder.key.revoked_at is None else "revoked"


@in_time
def handler(event: Mapping[str, Any], context: Timed) -> dict[str, Any]:  # noqa: ARG001 - in_time asks it
    """Say whose key a request carries."""
    return _authorizer()(event)


@cache
def _authorizer() -> Authorizer:
    return Authorizer(DynamoHolders.open(os.environ["TIMEBALL_TENANTS_TABLE"]), SystemClock())
