"""The authorizer function: whose key is this? It says so, and the API function denies in the form of its problems.

Invariant: nobody passes as a tenant unless the row of their key was read within the last minute, so a key that is
revoked opens nothing a minute later; if the table cannot be read, it raises, and API Gateway answers 500.

A caller without a valid key is let through as nobody, for the API function alone can answer with a documented problem:
API Gateway answers what an authorizer refuses with a body of its own, a bare `{"message": "Forbidden"}`. Of a key that
opens nothing the API function is told why, and whose it is if that is known: it counts those requests. A text with a
wrong checksum is no key, and costs the table nothing.

Each process counts the requests of each tenant, and of all strangers together as if they were one more tenant; that
costs no request. A tenant that makes too many is told so by the API function, which then asks the store for nothing.
Strangers that send too many are refused here, and so do not cost the API function anything either. A text that looks
like the token of an attempt passes always, for the API function alone can tell whether it is one.
"""

import hmac
import json
import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final, TypeVar

from timeball.aws.dynamodb.collections.tenants import DynamoHolders
from timeball.aws.patience import Timed, in_time
from timeball.domain.attempts.callback_token import CALLBACK_PREFIX
from timeball.domain.model.tenants.key import Key, hash_of, id_in
from timeball.domain.model.tenants.quotas import NO_QUOTAS
from timeball.domain.model.tenants.tenant import Tenant
from timeball.domain.sharing.request_rate import used_until
from timeball.ports.clock import Clock
from timeball.ports.collections.tenants import Holders
from timeball.runtime.clock import SystemClock

CACHE_MS: Final = 60_000
CACHE_ENTRIES: Final = 10_000
MAX_KEY_LENGTH: Final = 256

_STRANGERS: Final = ""
"""No name of a tenant."""
_Entry = TypeVar("_Entry")


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
    """Finds the holder of each request's key, and remembers it for a minute, unknown keys too.

    Unknown keys have a memory of their own: strangers who send many displace no key of a tenant. `per_second` are the
    requests of a tenant that has no quota of them, and of strangers; 0: any.
    """

    def __init__(self, holders: Holders, clock: Clock, per_second: int = 0) -> None:
        self._holders = holders
        self._clock = clock
        self._per_second = per_second
        self._known: OrderedDict[str, tuple[int, _Holder | None]] = OrderedDict()
        self._unknown: OrderedDict[str, tuple[int, _Holder | None]] = OrderedDict()
        self._used_until_us: OrderedDict[str, int] = OrderedDict()

    def __call__(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer an event of payload format 2.0 in the simple form."""
        authorization = _authorization(event.get("headers") or {})
        key = _key_in(authorization)
        holder = None if key is None else self._holder(key)
        if holder is not None and holder.key.is_valid(self._clock.now()):
            return _passed(self._context(holder))
        if authorization is not None and _is_token(authorization):
            return _passed({})
        if not self._takes(_STRANGERS, self._per_second):
            return {"isAuthorized": False}
        if authorization is None:
            return _passed({})
        return _passed({"refused": _why(key, holder), **({"refusedOf": holder.tenant.name} if holder else {})})

    def _context(self, holder: _Holder) -> dict[str, str]:
        """Return what the API is told of a valid key: whose it is, or that its tenant makes too many requests."""
        own = holder.tenant.quotas.requests_per_second
        per_second = self._per_second if own is None else own
        if not self._takes(holder.tenant.name, per_second):
            return {"throttled": str(per_second)}
        return holder.context

    def _takes(self, of: str, per_second: int) -> bool:
        """Count a request of a tenant, or of strangers; say whether it is within so many a second (0: any)."""
        if not per_second:
            return True
        after = used_until(self._used_until_us.get(of, 0), self._clock.now(), per_second, 2 * per_second)
        if after is not None:
            _keep(self._used_until_us, of, after)
        return after is not None

    def _holder(self, text: str) -> _Holder | None:
        """Return the holder of a key, valid or not."""
        now, hashed = self._clock.now(), hash_of(text)
        for memory in (self._known, self._unknown):
            fresh_until, holder = memory.get(hashed, (0, None))
            if now < fresh_until:
                return holder
        holder = self._find(text, hashed)
        memory, other = (self._unknown, self._known) if holder is None else (self._known, self._unknown)
        other.pop(hashed, None)
        _keep(memory, hashed, (now + CACHE_MS, holder))
        return holder

    def _find(self, text: str, hashed: str) -> _Holder | None:
        key_id = id_in(text) or ""
        tenant, key = self._holders.find_holder(key_id)
        if tenant is None or tenant.deleted_at is not None:
            return None
        return _Holder(tenant, key) if key is not None and hmac.compare_digest(key.hashed, hashed) else None


def _keep(memory: OrderedDict[str, _Entry], name: str, entry: _Entry) -> None:
    """Remember an entry; of too many the oldest is forgotten."""
    memory[name] = entry
    memory.move_to_end(name)
    while len(memory) > CACHE_ENTRIES:
        memory.popitem(last=False)


def _passed(context: Mapping[str, str]) -> dict[str, Any]:
    return {"isAuthorized": True, "context": dict(context)}


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
    per_second = int(os.environ.get("TIMEBALL_REQUESTS_PER_SECOND", "0"))
    return Authorizer(DynamoHolders.open(os.environ["TIMEBALL_TENANTS_TABLE"]), SystemClock(), per_second)
