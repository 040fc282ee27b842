"""The authorizer: find the tenant of a request's API key; the API function refuses requests without one.

Invariant: a request counts as a tenant's only if its key's row was read within the last minute, so a revoked key stops
working within a minute. If the table cannot be read, the authorizer raises, and API Gateway answers 500.

The authorizer admits a caller without a valid key, but without a tenant, because only the API function can answer with
a documented problem: for a refusal by an authorizer, API Gateway answers with a body of its own, a bare `{"message":
"Forbidden"}`. For an invalid key, the API function learns the reason, and the tenant if it is known, and counts the
request. A text with a wrong checksum is not a key and costs no read.

Each process counts the requests of each tenant, and those of all callers without a valid key as if they were one more
tenant; counting costs no request. For a tenant over its quota, the API function answers without a read of the store.
Unknown callers over the bound are refused here and do not reach the API function. A text that looks like an attempt's
token is always admitted, because only the API function can verify it.
"""

import hmac
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

from timeball.domain.attempts.callback_token import CALLBACK_PREFIX
from timeball.domain.model.tenants.key import Key, hash_of, id_in
from timeball.domain.model.tenants.tenant import NO_QUOTAS, Tenant
from timeball.domain.sharing.submit_budget import used_until
from timeball.ports.clock import Clock
from timeball.ports.tenants import Holders

CACHE_MS: Final = 60_000
CACHE_ENTRIES: Final = 10_000
MAX_KEY_LENGTH: Final = 256

_STRANGERS: Final = ""
"""Stands for callers without a valid key; no tenant has this name."""
_Entry = TypeVar("_Entry")


@dataclass(frozen=True)
class _Holder:
    """A known key and its tenant."""

    tenant: Tenant
    key: Key

    @property
    def context(self) -> dict[str, str]:
        """Return what the API function learns; values in an authorizer's context must be text."""
        context = {"tenant": self.tenant.name, "keyId": self.key.key_id, "role": str(self.key.role)}
        if self.key.tags:
            context["tags"] = json.dumps(dict(self.key.tags))
        if self.tenant.quotas != NO_QUOTAS:
            context["quotas"] = json.dumps(asdict(self.tenant.quotas))
        return context if self.tenant.disabled_at is None else {**context, "disabled": "true"}


class Authorizer:
    """Finds the holder of each request's key, and caches it for a minute, also that a key is unknown.

    Unknown keys have a cache of their own, so that callers who send many displace no tenant's key. `per_second` bounds
    the requests of a tenant without a quota of its own, and of unknown callers; 0: no bound.
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
        """Return the context for a valid key: its holder, or that its tenant makes too many requests."""
        own = holder.tenant.quotas.requests_per_second
        per_second = self._per_second if own is None else own
        if not self._takes(holder.tenant.name, per_second):
            return {"throttled": str(per_second)}
        return holder.context

    def _takes(self, of: str, per_second: int) -> bool:
        """Count a request of a tenant or of unknown callers; say whether it is within the bound (0: no bound)."""
        if not per_second:
            return True
        after = used_until(self._used_until_us.get(of, 0), self._clock.now(), per_second, 2 * per_second)
        if after is not None:
            _keep(self._used_until_us, of, after)
        return after is not None

    def _holder(self, text: str) -> _Holder | None:
        """Return the holder of a key, whether or not the key is valid."""
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
    """Store an entry in a cache, and evict the oldest entries beyond CACHE_ENTRIES."""
    memory[name] = entry
    memory.move_to_end(name)
    while len(memory) > CACHE_ENTRIES:
        memory.popitem(last=False)


def _passed(context: Mapping[str, str]) -> dict[str, Any]:
    return {"isAuthorized": True, "context": dict(context)}


def _authorization(headers: Mapping[str, str]) -> str | None:
    return next((value for name, value in headers.items() if name.lower() == "authorization"), None)


def _key_in(authorization: str | None) -> str | None:
    """Return the key in an Authorization header; None if it has none."""
    scheme, _, key = (authorization or "").partition(" ")
    key = key.strip()
    is_key = scheme.lower() == "bearer" and len(key) <= MAX_KEY_LENGTH and id_in(key) is not None
    return key if is_key else None


def _is_token(authorization: str) -> bool:
    """Say whether it looks like an attempt's token, which the API function verifies."""
    return authorization.partition(" ")[2].strip().startswith(CALLBACK_PREFIX)


def _why(key: str | None, holder: _Holder | None) -> str:
    """Return why a key is invalid."""
    if key is None:
        return "malformed"
    if holder is None:
        return "unknown"
    return "expired" if holder.key.revoked_at is None else "revoked"
