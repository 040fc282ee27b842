"""The authorizer: find the tenant of a request's API key; the API function refuses requests without one.

Invariant: a request counts as a tenant's only if its key's row was read within the last minute, so a revoked key stops
working within a minute. If the table cannot be read, the authorizer raises, and API Gateway answers 500.

The authorizer admits a caller without a valid key, but without a tenant, because only the API function can answer with
a documented problem: for a refusal by an authorizer, API Gateway answers with a body of its own, a bare `{"message":
"Forbidden"}`. For an invalid key, the API function learns the reason, and the tenant if it is known, and counts the
request. A text with a wrong checksum is not a key and costs no read.

A session key is found with its API key and tenant in the same single read, so it ends within a minute of its API key.
A session that is read is also noted as used, at most once in some minutes; that is the only thing written here. If it
cannot be written, the request passes, and the next read tries again.

Each process counts the requests of each tenant, and those of all callers without a valid key as if they were one more
tenant; counting costs no request. For a tenant over its quota, the API function answers without a read of the store.
Unknown callers over the bound are refused here and do not reach the API function. A text that looks like an attempt's
token is always admitted, because only the API function can verify it.
"""

import hmac
import json
import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

from timeball.domain.attempts.callback_token import CALLBACK_PREFIX
from timeball.domain.model.tenants.key import Key, Role, hash_of, id_in
from timeball.domain.model.tenants.session import Session, has_session_key, role_of, session_in, used
from timeball.domain.model.tenants.tenant import NO_DEFAULTS, NO_QUOTAS, Defaults, Tenant
from timeball.domain.sharing.submit_budget import used_until
from timeball.ports.clock import Clock
from timeball.ports.errors import UnavailableError
from timeball.ports.tenants import Holders

log = logging.getLogger(__name__)

CACHE_MS: Final = 60_000
CACHE_ENTRIES: Final = 10_000
MAX_KEY_LENGTH: Final = 256

_STRANGERS: Final = ""
"""Stands for callers without a valid key; no tenant has this name."""
_Entry = TypeVar("_Entry")


@dataclass(frozen=True)
class _Holder:
    """A known key and its tenant; with a session, one of its session keys, by its hash."""

    tenant: Tenant
    key: Key
    session: Session | None = None
    hashed: str = ""

    def role(self, now: int) -> Role | None:
        """Return the role that the key or the session key has at an instant (ms); None if it is not valid."""
        if self.session is not None:
            return role_of(self.session, self.key, self.hashed, now)
        return self.key.role if self.key.is_valid(now) else None

    def context(self, role: Role) -> dict[str, str]:
        """Return what the API function learns; values in an authorizer's context must be text."""
        context = {"tenant": self.tenant.name, "keyId": self.key.key_id, "role": str(role)}
        if self.session is not None:
            context["session"] = self.session.session_id
        if self.key.name:
            context["keyName"] = json.dumps(self.key.name)
        if self.key.tags:
            context["tags"] = json.dumps(dict(self.key.tags))
        if self.tenant.quotas != NO_QUOTAS:
            context["quotas"] = json.dumps(asdict(self.tenant.quotas))
        if self.tenant.defaults != NO_DEFAULTS:
            context["defaults"] = _defaults(self.tenant.defaults)
        return context if self.tenant.disabled_at is None else {**context, "disabled": "true"}


def _defaults(defaults: Defaults) -> str:
    """Return defaults as JSON; null if they have targets, whose headers may be secret: the API then reads the row."""
    if defaults.notify is not None:
        return "null"
    return json.dumps({name: value for name, value in asdict(defaults).items() if name != "notify"})


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
        role = None if holder is None else holder.role(self._clock.now())
        if holder is not None and role is not None:
            return _passed(self._context(holder, role))
        if authorization is not None and _is_token(authorization):
            return _passed({})
        if not self._takes(_STRANGERS, self._per_second):
            return {"isAuthorized": False}
        if authorization is None:
            return _passed({})
        return _passed({"refused": _why(key, holder), **({"refusedOf": holder.tenant.name} if holder else {})})

    def _context(self, holder: _Holder, role: Role) -> dict[str, str]:
        """Return the context for a valid key: its holder, or that its tenant makes too many requests."""
        own = holder.tenant.quotas.requests_per_second
        per_second = self._per_second if own is None else own
        if not self._takes(holder.tenant.name, per_second):
            return {"throttled": str(per_second)}
        return holder.context(role)

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
        session_id = session_in(text)
        holder = self._find(text, hashed) if session_id is None else self._find_session(session_id, hashed)
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

    def _find_session(self, session_id: str, hashed: str) -> _Holder | None:
        tenant, key, session = self._holders.find_session(session_id)
        if tenant is None or tenant.deleted_at is not None or key is None or session is None:
            return None
        if not has_session_key(session, hashed):
            return None
        if role_of(session, key, hashed, self._clock.now()) is not None:
            session = self._noted(session)
        return _Holder(tenant, key, session, hashed)

    def _noted(self, session: Session) -> Session:
        """Return a session as it is after its use was noted, if that was due."""
        now = self._clock.now()
        after = used(session, now)
        if after is None:
            return session
        try:
            self._holders.note_use(session, after, now)
        except UnavailableError:
            log.warning("the use of session %s was not noted", session.session_id)
        return after


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
    is_short = scheme.lower() == "bearer" and len(key) <= MAX_KEY_LENGTH
    return key if is_short and (id_in(key) or session_in(key)) is not None else None


def _is_token(authorization: str) -> bool:
    """Say whether it looks like an attempt's token, which the API function verifies."""
    return authorization.partition(" ")[2].strip().startswith(CALLBACK_PREFIX)


def _why(key: str | None, holder: _Holder | None) -> str:
    """Return why a key is invalid."""
    if key is None:
        return "malformed"
    if holder is None:
        return "unknown"
    is_ended = holder.session is not None and holder.session.ended_at is not None
    return "revoked" if is_ended or holder.key.revoked_at is not None else "expired"
